/* What sim:check remembers of memory, in pages of 4 KiB: of every byte whether it was ever written,
 * of every word who accessed it and what its atomics published. A shadow owns the pages of global
 * memory, made when first needed; a block those of its shared memory. Fields of a global page
 * change under its lock once kernels run; who reads one without it uses atomic loads. */
#ifndef PG_SIM_SHADOW_H
#define PG_SIM_SHADOW_H

#include <stdatomic.h>

#include "memory.h"
#include "slab.h"

enum { SIM_PAGE_BYTES = 4096 };
/* A row is 32 cells. */
enum { SIM_ROW_BYTES = 128, SIM_CELL_BYTES = 64, SIM_ROW_SHIFT = 5 };

/* Of a page whose cells cover 1 << shift bytes. */
static inline size_t sim_cells_bytes(uint32_t shift) {
  return (size_t)SIM_PAGE_BYTES >> shift << 6;
}
static inline size_t sim_rows_bytes(uint32_t shift) {
  return (size_t)SIM_PAGE_BYTES >> shift >> SIM_ROW_SHIFT << 7;
}

typedef enum sim_written { SIM_NEVER, SIM_PARTLY, SIM_WHOLLY } sim_written;

struct sim_channel;

typedef struct sim_page {
  _Alignas(64) atomic_flag lock;
  _Atomic uint8_t written;    /* a sim_written */
  uint16_t missing;           /* SIM_PARTLY: bytes that were not */
  _Atomic uint32_t run;       /* row.c: of which launch, or run of a block, `opened` is */
  _Atomic uint64_t opened[2]; /* a bit a row: its cells know, no longer the row */
  struct sim_row *rows;       /* NULL until a kernel touches the page */
  _Atomic uintptr_t cells;    /* address and shift of the cells; 0 until a row is opened */
  _Atomic uint64_t *bits;     /* SIM_PARTLY: one a byte */
  _Atomic(struct sim_channel **)
      sync; /* order.c: of each word, NULL until an atomic publishes something */

  uint8_t shift; /* a cell covers 1 << shift bytes: 3, 2 or 0 once smaller ones came */
  bool marked;   /* some row knows something of this run */
} sim_page;

_Static_assert(sizeof(sim_page) == 64, "one line of the processor's cache");

typedef _Atomic(sim_page *) sim_page_slot;

typedef struct sim_shadow {
  uint64_t base, bytes;
  sim_page_slot *pages; /* address space only; touched where there are allocations */
  size_t map_bytes;
  sim_slabs slabs; /* rows and cells */
} sim_shadow;

/* Of the addresses [base, base + bytes); what races take is at most `limit` bytes. */
pg_code sim_shadow_new(uint64_t base, uint64_t bytes, uint64_t limit, sim_shadow **out,
                       pg_error *error);
void sim_shadow_free(sim_shadow *shadow);
/* The page of an address, made when there is none; NULL outside, and when memory is short. */
sim_page *sim_shadow_page(sim_shadow *shadow, uint64_t address);
/* The page, NULL when there is none. */
static inline sim_page *sim_shadow_look(const sim_shadow *s, uint64_t address) {
  if (address - s->base >= s->bytes) return NULL;
  return atomic_load_explicit(&s->pages[(address - s->base) / SIM_PAGE_BYTES],
                              memory_order_acquire);
}
/* Bytes that the host writes, or declares never written. */
void sim_shadow_set(sim_shadow *shadow, uint64_t address, uint64_t bytes, bool written);
/* A copy moves what is known of its bytes. */
void sim_shadow_copy(sim_shadow *shadow, uint64_t to, uint64_t from, uint64_t bytes);
void sim_shadow_drop(sim_shadow *shadow, uint64_t address, uint64_t bytes); /* freed memory */

void sim_page_init(sim_page *page);
void sim_page_clear(sim_page *page, sim_shadow *shadow); /* what it holds; NULL: is not of one */
void sim_page_lock(sim_page *page);
void sim_page_unlock(sim_page *page);
/* Whether any, or all, of [offset, offset + bytes) was written; sets them. Inside the page. */
bool sim_page_any(const sim_page *page, uint32_t offset, uint32_t bytes);
bool sim_page_all(const sim_page *page, uint32_t offset, uint32_t bytes);
void sim_page_mark(sim_page *page, uint32_t offset, uint32_t bytes); /* under its lock */

/* The same on a plain bitmap: local memory. */
bool sim_bits_any(const uint64_t *bits, uint64_t first, uint64_t count);
void sim_bits_set(uint64_t *bits, uint64_t first, uint64_t count);

#endif
