/* What sim:check remembers of global memory, in pages of 4 KiB made when first needed: of every
 * byte whether it was ever written, of every word who accessed it and what its atomics published.
 * A shadow owns its pages; a page's fields are touched under its lock once kernels run. */
#ifndef PG_SIM_SHADOW_H
#define PG_SIM_SHADOW_H

#include <stdatomic.h>

#include "memory.h"

enum { SIM_PAGE_BYTES = 4096 };

typedef enum sim_written { SIM_NEVER, SIM_PARTLY, SIM_WHOLLY } sim_written;

struct sim_cell;
struct sim_channel;

typedef struct sim_page {
  atomic_flag lock;
  uint8_t written;        /* a sim_written */
  uint8_t shift;          /* a cell covers 1 << shift bytes: 3, 2 or 0 once smaller accesses came */
  uint64_t *bits;         /* SIM_PARTLY: one a byte */
  struct sim_cell *cells; /* race.c; NULL until a kernel touches the page */
  struct sim_channel **sync; /* sync.c: of each word, NULL until an atomic publishes something */
  uint32_t held;             /* bytes of cells and sync */
} sim_page;

typedef struct sim_shadow sim_shadow;

/* Of the addresses [base, base + bytes); what races take is at most `limit` bytes. */
pg_code sim_shadow_new(uint64_t base, uint64_t bytes, uint64_t limit, sim_shadow **out,
                       pg_error *error);
void sim_shadow_free(sim_shadow *shadow);
/* The page of an address, made when there is none; NULL outside, and when memory is short. */
sim_page *sim_shadow_page(sim_shadow *shadow, uint64_t address);
/* The page, NULL when there is none. */
const sim_page *sim_shadow_look(const sim_shadow *shadow, uint64_t address);
/* Bytes that the host writes, or declares never written. */
void sim_shadow_set(sim_shadow *shadow, uint64_t address, uint64_t bytes, bool written);
/* A copy moves what is known of its bytes. */
void sim_shadow_copy(sim_shadow *shadow, uint64_t to, uint64_t from, uint64_t bytes);
void sim_shadow_drop(sim_shadow *shadow, uint64_t address, uint64_t bytes); /* freed memory */
/* Account for bytes that pages hold beside themselves (cells); false when the limit is reached. */
bool sim_shadow_take(sim_shadow *shadow, uint64_t bytes);

void sim_page_lock(sim_page *page);
void sim_page_unlock(sim_page *page);
/* Whether any of [offset, offset + bytes) was written; sets them. Offsets are inside the page. */
bool sim_page_any(const sim_page *page, uint32_t offset, uint32_t bytes);
void sim_page_mark(sim_page *page, uint32_t offset, uint32_t bytes);

/* The same on a plain bitmap: shared and local memory. */
bool sim_bits_any(const uint64_t *bits, uint64_t first, uint64_t count);
void sim_bits_set(uint64_t *bits, uint64_t first, uint64_t count, bool value);

#endif
