/* Shadow of memory: pages, and a directory of those of global memory. See shadow.h. */
#include "shadow.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- bitmaps ---- */

/* The bits of one word that [first, end) covers. */
static uint64_t word_mask(uint64_t word, uint64_t first, uint64_t end) {
  uint64_t mask = ~0ull;
  if (first > word * 64) mask &= ~0ull << (first & 63);
  if (end < word * 64 + 64) mask &= ~(~0ull << (end & 63));
  return mask;
}

bool sim_bits_any(const uint64_t *bits, uint64_t first, uint64_t count) {
  for (uint64_t w = first / 64; w * 64 < first + count; w++) {
    if (bits[w] & word_mask(w, first, first + count)) return true;
  }
  return false;
}

void sim_bits_set(uint64_t *bits, uint64_t first, uint64_t count) {
  for (uint64_t w = first / 64; w * 64 < first + count; w++)
    bits[w] |= word_mask(w, first, first + count);
}

/* ---- the directory ---- */

pg_code sim_shadow_new(uint64_t base, uint64_t bytes, uint64_t limit, sim_shadow **out,
                       pg_error *error) {
  sim_shadow *s = calloc(1, sizeof *s);
  if (!s) return pg_fail(error, PG_MEMORY, "no memory for the simulator's checks");
  s->base = base;
  s->bytes = bytes;

  s->map_bytes = bytes / SIM_PAGE_BYTES * sizeof *s->pages;
  void *map = mmap(NULL, s->map_bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) {
    free(s);
    return pg_fail(error, PG_MEMORY, "no address space for the simulator's checks");
  }
  s->pages = map;
  sim_slabs_init(&s->slabs, limit);
  *out = s;
  return PG_OK;
}

/* Pages exist below allocations only, and memory.c drops those. */
void sim_shadow_free(sim_shadow *s) {
  if (!s) return;
  munmap(s->pages, s->map_bytes);
  sim_slabs_clear(&s->slabs);
  free(s);
}

static sim_page_slot *slot_of(const sim_shadow *s, uint64_t address) {
  return address - s->base < s->bytes ? &s->pages[(address - s->base) / SIM_PAGE_BYTES] : NULL;
}

sim_page *sim_shadow_page(sim_shadow *s, uint64_t address) {
  sim_page *page = sim_shadow_look(s, address);
  sim_page_slot *slot = slot_of(s, address);
  if (page || !slot) return page;
  sim_page *fresh = aligned_alloc(_Alignof(sim_page), sizeof *fresh);
  if (!fresh) return NULL;
  sim_page_init(fresh);
  if (atomic_compare_exchange_strong(slot, &page, fresh)) return fresh;
  free(fresh);
  return page;
}

void sim_shadow_drop(sim_shadow *s, uint64_t address, uint64_t bytes) {
  uint64_t first = address / SIM_PAGE_BYTES * SIM_PAGE_BYTES;
  for (uint64_t at = first; at < address + bytes; at += SIM_PAGE_BYTES) {
    sim_page_slot *slot = slot_of(s, at);
    sim_page *page = slot ? atomic_exchange(slot, NULL) : NULL;
    if (!page) continue;
    sim_page_clear(page, s);
    free(page);
  }
}

/* ---- pages ---- */

void sim_page_init(sim_page *page) {
  memset(page, 0, sizeof *page);
  atomic_flag_clear(&page->lock);
  page->shift = 3;
}

void sim_page_clear(sim_page *page, sim_shadow *s) {
  uintptr_t tag = page->cells;
  void *cells = (void *)(tag & ~(uintptr_t)63);
  if (s) {
    sim_slabs_give(&s->slabs, page->rows, sim_rows_bytes(page->shift));
    sim_slabs_give(&s->slabs, cells, sim_cells_bytes(tag & 63));
  } else {
    free(page->rows);
    free(cells);
  }
  free((void *)page->bits);
  free(page->sync);
}

void sim_page_lock(sim_page *page) {
  for (int spins = 0; atomic_flag_test_and_set_explicit(&page->lock, memory_order_acquire);) {
    if (++spins > 200) sched_yield();
  }
}

void sim_page_unlock(sim_page *page) {
  atomic_flag_clear_explicit(&page->lock, memory_order_release);
}

/* ---- which bytes were written ---- */

bool sim_page_any(const sim_page *page, uint32_t offset, uint32_t bytes) {
  uint8_t written = atomic_load_explicit(&page->written, memory_order_acquire);
  if (written != SIM_PARTLY) return written == SIM_WHOLLY;
  for (uint32_t w = offset / 64; w * 64 < offset + bytes; w++) {
    uint64_t word = atomic_load_explicit(&page->bits[w], memory_order_relaxed);
    if (word & word_mask(w, offset, offset + bytes)) return true;
  }
  return false;
}

bool sim_page_all(const sim_page *page, uint32_t offset, uint32_t bytes) {
  uint8_t written = atomic_load_explicit(&page->written, memory_order_acquire);
  if (written != SIM_PARTLY) return written == SIM_WHOLLY;
  for (uint32_t w = offset / 64; w * 64 < offset + bytes; w++) {
    uint64_t word = atomic_load_explicit(&page->bits[w], memory_order_relaxed);
    if (~word & word_mask(w, offset, offset + bytes)) return false;
  }
  return true;
}

/* The page's bits, made from what it is as a whole; false: no memory. */
static bool make_bits(sim_page *page) {
  if (page->written == SIM_PARTLY) return true;
  bool all = page->written == SIM_WHOLLY;
  if (!page->bits) page->bits = malloc(SIM_PAGE_BYTES / 8);
  if (!page->bits) return false;
  for (int w = 0; w < SIM_PAGE_BYTES / 64; w++)
    atomic_store_explicit(&page->bits[w], all ? ~0ull : 0, memory_order_relaxed);
  page->missing = all ? 0 : SIM_PAGE_BYTES;
  atomic_store_explicit(&page->written, SIM_PARTLY, memory_order_release);
  return true;
}

static void set_bytes(sim_page *page, uint32_t offset, uint32_t bytes, bool written) {
  uint8_t whole = written ? SIM_WHOLLY : SIM_NEVER;
  if (page->written == whole) return;
  if (bytes == SIM_PAGE_BYTES) {
    page->written = whole;
    return;
  }
  if (!make_bits(page)) { /* rather miss a read than report one that is right */
    page->written = SIM_WHOLLY;
    return;
  }
  int set = 0;
  for (uint32_t w = offset / 64; w * 64 < offset + bytes; w++) {
    uint64_t mask = word_mask(w, offset, offset + bytes);
    uint64_t old = atomic_load_explicit(&page->bits[w], memory_order_relaxed);
    uint64_t now = written ? old | mask : old & ~mask;
    set += __builtin_popcountll(now) - __builtin_popcountll(old);
    atomic_store_explicit(&page->bits[w], now, memory_order_relaxed);
  }
  page->missing = (uint16_t)(page->missing - set);
  if (!page->missing) page->written = SIM_WHOLLY;
}

void sim_page_mark(sim_page *page, uint32_t offset, uint32_t bytes) {
  set_bytes(page, offset, bytes, true);
}

void sim_shadow_set(sim_shadow *s, uint64_t address, uint64_t bytes, bool written) {
  while (bytes > 0) {
    uint32_t offset = (uint32_t)(address & (SIM_PAGE_BYTES - 1));
    uint64_t room = SIM_PAGE_BYTES - offset, n = bytes < room ? bytes : room;
    sim_page *page = sim_shadow_page(s, address);
    if (page) set_bytes(page, offset, (uint32_t)n, written);
    address += n;
    bytes -= n;
  }
}

static bool one_written(sim_shadow *s, uint64_t address) {
  const sim_page *page = sim_shadow_look(s, address);
  return page && sim_page_any(page, (uint32_t)(address & (SIM_PAGE_BYTES - 1)), 1);
}

/* Runs of equal state, so that whole pages cost little. */
void sim_shadow_copy(sim_shadow *s, uint64_t to, uint64_t from, uint64_t bytes) {
  for (uint64_t i = 0; i < bytes;) {
    bool written = one_written(s, from + i);
    uint64_t n = 1;
    while (i + n < bytes && one_written(s, from + i + n) == written) n++;
    sim_shadow_set(s, to + i, n, written);
    i += n;
  }
}
