/* Device memory of the simulator: one reserved region of address space, allocations between red
 * zones, and the sorted table of ranges against which every access is checked. Device addresses of
 * global memory are host addresses; the other spaces have windows that no host mapping can reach.
 */
#ifndef PG_SIM_MEMORY_H
#define PG_SIM_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../error.h"

/* Generic addresses of the other spaces: above user space, below 2^48. */
#define SIM_SHARED_WINDOW 0x0000810000000000ull
#define SIM_LOCAL_WINDOW 0x0000820000000000ull
#define SIM_PARAM_WINDOW 0x0000830000000000ull
#define SIM_WINDOW_BYTES 0x0000000100000000ull

typedef enum sim_class { SIM_GLOBAL, SIM_SHARED, SIM_LOCAL, SIM_PARAM } sim_class;

typedef struct sim_range {
  uint64_t base, bytes;
  uint8_t class;
  bool read_only;
  const char *name;
} sim_range;

typedef struct sim_ranges {
  sim_range *items; /* sorted by base, disjoint */
  size_t count, capacity;
} sim_ranges;

pg_code sim_ranges_add(sim_ranges *ranges, sim_range range, pg_error *error); /* keeps it sorted */
/* The range that holds [address, address + bytes), or NULL. */
const sim_range *sim_ranges_find(const sim_ranges *ranges, uint64_t address, uint64_t bytes);
/* The range nearest to address; NULL only when there is none. */
const sim_range *sim_ranges_nearest(const sim_ranges *ranges, uint64_t address);
void sim_ranges_free(sim_ranges *ranges);

typedef struct sim_memory sim_memory;
struct sim_shadow;

pg_code sim_memory_new(sim_memory **out, pg_error *error);
void sim_memory_free(sim_memory *memory);
uint64_t sim_memory_total(const sim_memory *memory); /* bytes that may be allocated */
pg_code sim_memory_alloc(sim_memory *memory, uint64_t bytes, uint64_t *out, pg_error *error);
pg_code sim_memory_release(sim_memory *memory, uint64_t address, pg_error *error);
/* Restrict what kernels may access of an allocation to its named parts. */
pg_code sim_memory_name(sim_memory *memory, uint64_t start, uint64_t bytes, const char *name,
                        bool read_only, pg_error *error);
/* Host-side access: PG_RANGE unless [address, address + bytes) lies in one live allocation. */
pg_code sim_memory_check(const sim_memory *memory, uint64_t address, uint64_t bytes,
                         pg_error *error);
/* sim:check: from now on remember which bytes were written; what races take is at most
 * `race_bytes`, 0: three tenths of the machine's. Leaves less for allocations. */
pg_code sim_memory_watch(sim_memory *memory, uint64_t race_bytes, pg_error *error);
struct sim_shadow *sim_memory_shadow(const sim_memory *memory); /* NULL when not watched */
/* Copy of the kernel-visible ranges, sorted. */
pg_code sim_memory_ranges(const sim_memory *memory, sim_ranges *out, pg_error *error);
/* "a freed allocation of 4096 bytes" when address lies in one, else NULL; for fault reports. */
const char *sim_memory_ghost(const sim_memory *memory, uint64_t address, char *text, size_t bytes);

#endif
