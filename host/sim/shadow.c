/* Shadow of global memory: a directory of pages. See shadow.h. */
#include "shadow.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef _Atomic(sim_page *) page_slot;

struct sim_shadow {
  uint64_t base, bytes;
  page_slot *pages; /* address space only; touched where there are allocations */
  size_t map_bytes;
  atomic_ullong held; /* bytes in cells */
  uint64_t limit;
};

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

void sim_bits_set(uint64_t *bits, uint64_t first, uint64_t count, bool value) {
  for (uint64_t w = first / 64; w * 64 < first + count; w++) {
    uint64_t mask = word_mask(w, first, first + count);
    bits[w] = value ? bits[w] | mask : bits[w] & ~mask;
  }
}

/* ---- pages ---- */

pg_code sim_shadow_new(uint64_t base, uint64_t bytes, uint64_t limit, sim_shadow **out,
                       pg_error *error) {
  sim_shadow *s = calloc(1, sizeof *s);
  if (!s) return pg_fail(error, PG_MEMORY, "no memory for the simulator's checks");
  s->base = base;
  s->bytes = bytes;
  s->limit = limit;
  s->map_bytes = bytes / SIM_PAGE_BYTES * sizeof *s->pages;
  void *map = mmap(NULL, s->map_bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) {
    free(s);
    return pg_fail(error, PG_MEMORY, "no address space for the simulator's checks");
  }
  s->pages = map;
  *out = s;
  return PG_OK;
}

static void free_page(sim_page *page) {
  if (!page) return;
  free(page->bits);
  free(page->cells);
  free(page->sync);
  free(page);
}

/* Pages exist below allocations only, and memory.c drops those. */
void sim_shadow_free(sim_shadow *s) {
  if (!s) return;
  munmap(s->pages, s->map_bytes);
  free(s);
}

static page_slot *slot_of(const sim_shadow *s, uint64_t address) {
  return address - s->base < s->bytes ? &s->pages[(address - s->base) / SIM_PAGE_BYTES] : NULL;
}

sim_page *sim_shadow_page(sim_shadow *s, uint64_t address) {
  page_slot *slot = slot_of(s, address);
  if (!slot) return NULL;
  sim_page *page = atomic_load_explicit(slot, memory_order_acquire);
  if (page) return page;
  sim_page *fresh = calloc(1, sizeof *fresh);
  if (!fresh) return NULL;
  atomic_flag_clear(&fresh->lock);
  fresh->shift = 3;
  if (atomic_compare_exchange_strong(slot, &page, fresh)) return fresh;
  free(fresh);
  return page;
}

const sim_page *sim_shadow_look(const sim_shadow *s, uint64_t address) {
  page_slot *slot = slot_of(s, address);
  return slot ? atomic_load_explicit(slot, memory_order_acquire) : NULL;
}

void sim_shadow_drop(sim_shadow *s, uint64_t address, uint64_t bytes) {
  uint64_t first = address / SIM_PAGE_BYTES * SIM_PAGE_BYTES;
  for (uint64_t at = first; at < address + bytes; at += SIM_PAGE_BYTES) {
    page_slot *slot = slot_of(s, at);
    sim_page *page = slot ? atomic_exchange(slot, NULL) : NULL;
    if (page) atomic_fetch_sub(&s->held, page->held);
    free_page(page);
  }
}

bool sim_shadow_take(sim_shadow *s, uint64_t bytes) {
  if (atomic_fetch_add(&s->held, bytes) + bytes <= s->limit) return true;
  atomic_fetch_sub(&s->held, bytes);
  return false;
}

void sim_page_lock(sim_page *page) {
  for (int spins = 0; atomic_flag_test_and_set_explicit(&page->lock, memory_order_acquire);) {
    if (++spins > 200) sched_yield();
  }
}

void sim_page_unlock(sim_page *page) {
  atomic_flag_clear_explicit(&page->lock, memory_order_release);
}

bool sim_page_any(const sim_page *page, uint32_t offset, uint32_t bytes) {
  if (page->written != SIM_PARTLY) return page->written == SIM_WHOLLY;
  return sim_bits_any(page->bits, offset, bytes);
}

static void set_bytes(sim_page *page, uint32_t offset, uint32_t bytes, bool written) {
  if (page->written == (written ? SIM_WHOLLY : SIM_NEVER)) return;
  if (bytes == SIM_PAGE_BYTES) {
    page->written = written ? SIM_WHOLLY : SIM_NEVER;
    return;
  }
  if (!page->bits) page->bits = malloc(SIM_PAGE_BYTES / 8);
  if (!page->bits) { /* rather miss a read than report one that is right */
    page->written = SIM_WHOLLY;
    return;
  }
  if (page->written != SIM_PARTLY)
    memset(page->bits, page->written == SIM_WHOLLY ? 255 : 0, SIM_PAGE_BYTES / 8);
  page->written = SIM_PARTLY;
  sim_bits_set(page->bits, offset, bytes, written);
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
  page_slot *slot = slot_of(s, address);
  sim_page *page = slot ? atomic_load(slot) : NULL;
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
