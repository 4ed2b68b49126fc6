/* Device memory of the simulator: allocations in one reserved region, and the range table.
 * Addresses are handed out upwards, round after round through the region, so that a freed place is
 * used again as late as can be and a stale pointer is told. */
#include "memory.h"

#include "../available.h"
#include "shadow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- ranges ---- */

/* Index of the first range whose base lies above address. */
static size_t upper(const sim_ranges *ranges, uint64_t address) {
  size_t low = 0, high = ranges->count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (ranges->items[middle].base <= address)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

pg_code sim_ranges_add(sim_ranges *ranges, sim_range range, pg_error *error) {
  if (ranges->count == ranges->capacity) {
    size_t capacity = ranges->capacity ? ranges->capacity * 2 : 16;
    sim_range *items = realloc(ranges->items, capacity * sizeof *items);
    if (!items) return pg_fail(error, PG_MEMORY, "no memory for %zu address ranges", capacity);
    ranges->items = items;
    ranges->capacity = capacity;
  }
  size_t at = upper(ranges, range.base);
  memmove(ranges->items + at + 1, ranges->items + at, (ranges->count - at) * sizeof range);
  ranges->items[at] = range;
  ranges->count++;
  return PG_OK;
}

const sim_range *sim_ranges_find(const sim_ranges *ranges, uint64_t address, uint64_t bytes) {
  size_t at = upper(ranges, address);
  if (at == 0) return NULL;
  const sim_range *r = &ranges->items[at - 1];
  return bytes <= r->bytes && address - r->base <= r->bytes - bytes ? r : NULL;
}

static uint64_t gap(const sim_range *r, uint64_t address) {
  if (address < r->base) return r->base - address;
  return address - r->base < r->bytes ? 0 : address - r->base - r->bytes + 1;
}

const sim_range *sim_ranges_nearest(const sim_ranges *ranges, uint64_t address) {
  if (ranges->count == 0) return NULL;
  size_t at = upper(ranges, address);
  if (at == 0) return &ranges->items[0];
  const sim_range *below = &ranges->items[at - 1];
  if (at == ranges->count) return below;
  const sim_range *above = &ranges->items[at];
  return gap(above, address) < gap(below, address) ? above : below;
}

void sim_ranges_free(sim_ranges *ranges) {
  free(ranges->items);
  *ranges = (sim_ranges){0};
}

/* ---- allocations ---- */

typedef struct allocation {
  uint64_t base, bytes;
  uint64_t serial; /* 1, 2, ... in the order in which they were made */
  bool freed;      /* the record is kept to tell stale pointers */
  bool named;      /* kernels may only touch its named parts */
} allocation;

struct sim_memory {
  uint8_t *region;
  uint64_t region_bytes, live, limit;
  uint64_t next;     /* where the next allocation is looked for: an offset in the region */
  allocation *items; /* sorted by base */
  size_t count, capacity;
  uint64_t serial;
  sim_ranges names;   /* named parts; each owns its name */
  sim_shadow *shadow; /* sim:check, else NULL */
};

/* The region is address space only; pages are committed as they are touched. */
static const uint64_t REGION_BYTES = 1ull << 40;
/* Distance between allocations: a far miss must not land in a neighbour. */
static const uint64_t GAP_BYTES = 1ull << 20;

/* A freed allocation is remembered until so many were made since. */
enum { REMEMBERED = 4096 };

/* So many tenths of what the machine, or its container, has. */
static uint64_t share(int tenths) {
  size_t total = pg_total_memory();
  return total == SIZE_MAX ? 1ull << 30 : total / 10 * (uint64_t)tenths;
}

pg_code sim_memory_new(sim_memory **out, pg_error *error) {
  sim_memory *m = calloc(1, sizeof *m);
  if (!m) return pg_fail(error, PG_MEMORY, "no memory for the simulator");
  /* Halve until the machine grants it: address space may be limited (ulimit -v). */
  for (m->region_bytes = REGION_BYTES; m->region_bytes >= 1ull << 28; m->region_bytes /= 2) {
    void *at = mmap((void *)0x600000000000, m->region_bytes, PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at != MAP_FAILED) {
      m->region = at;
      break;
    }
  }
  if (!m->region) {
    free(m);
    pg_fail(error, PG_MEMORY, "no address space for the simulator's device memory");
    return pg_hint(error, "raise the limit on virtual memory (ulimit -v)");
  }
  m->limit = share(7);
  *out = m;
  return PG_OK;
}

void sim_memory_free(sim_memory *m) {
  if (!m) return;
  for (size_t i = 0; m->shadow && i < m->count; i++)
    sim_shadow_drop(m->shadow, m->items[i].base, m->items[i].bytes);
  sim_shadow_free(m->shadow);
  munmap(m->region, m->region_bytes);
  for (size_t i = 0; i < m->names.count; i++) free((char *)m->names.items[i].name);
  sim_ranges_free(&m->names);
  free(m->items);
  free(m);
}

uint64_t sim_memory_total(const sim_memory *m) {
  return m->limit;
}

static uint64_t round_up(uint64_t value, uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

/* Index of the first allocation that starts above address. */
static size_t above(const sim_memory *m, uint64_t address) {
  size_t low = 0, high = m->count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (m->items[middle].base <= address)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* The last allocation that starts at or below address, live or freed. */
static allocation *find(const sim_memory *m, uint64_t address) {
  size_t i = above(m, address);
  return i ? &m->items[i - 1] : NULL;
}

/* An allocation takes whole pages and half a gap on both sides. */
static uint64_t mapped(uint64_t bytes) {
  return round_up(bytes, 4096);
}

static uint64_t offset_of(const sim_memory *m, const allocation *a) {
  return a->base - (uint64_t)(uintptr_t)m->region - GAP_BYTES / 2;
}

static uint64_t end_of(const sim_memory *m, const allocation *a) {
  return offset_of(m, a) + mapped(a->bytes) + GAP_BYTES;
}

/* The first offset from `from` on where `need` bytes hold no live allocation; UINT64_MAX: none. */
static uint64_t find_room(const sim_memory *m, uint64_t from, uint64_t need) {
  uint64_t at = from, start = (uint64_t)(uintptr_t)m->region + from;
  size_t first = above(m, start);
  for (size_t i = first ? first - 1 : 0; i < m->count; i++) {
    const allocation *a = &m->items[i];
    if (a->freed || end_of(m, a) <= at) continue;
    if (offset_of(m, a) >= at + need) return at;
    at = end_of(m, a);
  }
  return at <= m->region_bytes && m->region_bytes - at >= need ? at : UINT64_MAX;
}

/* Drop the records of what was freed long ago, or lay in [begin, end). */
static void forget_freed(sim_memory *m, uint64_t begin, uint64_t end) {
  size_t kept = 0;
  for (size_t i = 0; i < m->count; i++) {
    allocation a = m->items[i];
    bool overlaps = offset_of(m, &a) < end && begin < end_of(m, &a);
    if (a.freed && (overlaps || a.serial + REMEMBERED < m->serial)) continue;
    m->items[kept++] = a;
  }
  m->count = kept;
}

/* Enter an allocation at an offset without live ones. */
static pg_code enter(sim_memory *m, uint64_t offset, uint64_t bytes, pg_error *error) {
  uint64_t base = (uint64_t)(uintptr_t)m->region + offset + GAP_BYTES / 2;
  uint64_t end = offset + mapped(bytes) + GAP_BYTES;
  size_t at = above(m, base);
  bool among = at < m->count || (at && end_of(m, &m->items[at - 1]) > offset);
  if (among || m->count == m->capacity) forget_freed(m, offset, end);
  if (m->count == m->capacity) {
    size_t capacity = m->capacity ? m->capacity * 2 : 64;
    allocation *items = realloc(m->items, capacity * sizeof *items);
    if (!items) return pg_fail(error, PG_MEMORY, "no memory for an allocation record");
    m->items = items;
    m->capacity = capacity;
  }
  at = above(m, base);
  memmove(m->items + at + 1, m->items + at, (m->count - at) * sizeof *m->items);
  m->items[at] = (allocation){.base = base, .bytes = bytes, .serial = ++m->serial};
  m->count++;
  m->next = end;
  return PG_OK;
}

static pg_code refuse(const sim_memory *m, uint64_t bytes, pg_error *error) {
  return pg_fail(error, PG_MEMORY, "%llu bytes of device memory asked, %llu of %llu are free",
                 (unsigned long long)bytes, (unsigned long long)(m->limit - m->live),
                 (unsigned long long)m->limit);
}

pg_code sim_memory_alloc(sim_memory *m, uint64_t bytes, uint64_t *out, pg_error *error) {
  *out = 0;
  if (bytes == 0) return pg_fail(error, PG_RANGE, "an allocation of 0 bytes");
  if (bytes > m->limit - m->live) return refuse(m, bytes, error);
  uint64_t need = mapped(bytes) + GAP_BYTES, offset = find_room(m, m->next, need);
  if (offset == UINT64_MAX) offset = find_room(m, 0, need);
  if (offset == UINT64_MAX) {
    pg_fail(error, PG_MEMORY, "no room for %llu bytes in the %llu bytes of address space",
            (unsigned long long)bytes, (unsigned long long)m->region_bytes);
    return pg_hint(error, "every allocation takes 1 MiB more than its size; make fewer, or free");
  }
  void *at = m->region + offset + GAP_BYTES / 2;
  if (mprotect(at, mapped(bytes), PROT_READ | PROT_WRITE) != 0) {
    pg_fail(error, PG_MEMORY, "the system refused %llu bytes of device memory",
            (unsigned long long)bytes);
    return pg_hint(error, "each live allocation takes two mappings of sysctl vm.max_map_count");
  }
  /* A kernel's accesses are scattered: large pages spare most misses of the address translation. */
  madvise(at, mapped(bytes), MADV_HUGEPAGE);
  pg_code code = enter(m, offset, bytes, error);
  if (code) return code;
  m->live += bytes;
  *out = (uint64_t)(uintptr_t)at;
  return PG_OK;
}

static bool inside(const allocation *a, uint64_t address, uint64_t bytes) {
  return a && bytes <= a->bytes && address - a->base <= a->bytes - bytes;
}

static void forget_names(sim_memory *m, const allocation *a) {
  size_t kept = 0;
  for (size_t i = 0; i < m->names.count; i++) {
    sim_range r = m->names.items[i];
    if (inside(a, r.base, 0))
      free((char *)r.name);
    else
      m->names.items[kept++] = r;
  }
  m->names.count = kept;
}

pg_code sim_memory_release(sim_memory *m, uint64_t address, pg_error *error) {
  if (address == 0) return PG_OK;
  allocation *a = find(m, address);
  if (!a || a->base != address || a->freed) {
    return pg_fail(error, PG_RANGE, "0x%llx is not the start of a live allocation",
                   (unsigned long long)address);
  }
  /* A new mapping, which joins those around it: their number is limited. */
  if (mmap((void *)(uintptr_t)a->base, mapped(a->bytes), PROT_NONE,
           MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED)
    return pg_fail(error, PG_MEMORY, "the system did not take back device memory");
  if (a->named) forget_names(m, a);
  if (m->shadow) sim_shadow_drop(m->shadow, a->base, a->bytes);
  a->freed = true;
  m->live -= a->bytes;
  return PG_OK;
}

pg_code sim_memory_name(sim_memory *m, uint64_t start, uint64_t bytes, const char *name,
                        bool read_only, pg_error *error) {
  pg_code code = sim_memory_check(m, start, bytes, error);
  if (code) return code;
  char *copy = strdup(name ? name : "");
  if (!copy) return pg_fail(error, PG_MEMORY, "no memory for a name");
  code = sim_ranges_add(
      &m->names, (sim_range){.base = start, .bytes = bytes, .read_only = read_only, .name = copy},
      error);
  if (code)
    free(copy);
  else
    find(m, start)->named = true;
  return code;
}

pg_code sim_memory_watch(sim_memory *m, uint64_t race_bytes, pg_error *error) {
  m->limit = share(5);
  return sim_shadow_new((uint64_t)(uintptr_t)m->region, m->region_bytes,
                        race_bytes ? race_bytes : share(3), &m->shadow, error);
}

sim_shadow *sim_memory_shadow(const sim_memory *m) {
  return m->shadow;
}

pg_code sim_memory_check(const sim_memory *m, uint64_t address, uint64_t bytes, pg_error *error) {
  const allocation *a = find(m, address);
  if (inside(a, address, bytes) && !a->freed) return PG_OK;
  return pg_fail(error, PG_RANGE, "0x%llx + %llu bytes is not inside a live allocation",
                 (unsigned long long)address, (unsigned long long)bytes);
}

pg_code sim_memory_ranges(const sim_memory *m, sim_ranges *out, pg_error *error) {
  *out = (sim_ranges){0};
  for (size_t i = 0; i < m->count; i++) {
    const allocation *a = &m->items[i];
    if (a->freed || a->named) continue;
    pg_code code =
        sim_ranges_add(out, (sim_range){.base = a->base, .bytes = a->bytes, .name = ""}, error);
    if (code) return code;
  }
  for (size_t i = 0; i < m->names.count; i++) {
    pg_code code = sim_ranges_add(out, m->names.items[i], error);
    if (code) return code;
  }
  return PG_OK;
}

const char *sim_memory_ghost(const sim_memory *m, uint64_t address, char *text, size_t bytes) {
  const allocation *a = find(m, address);
  if (!a || !a->freed || !inside(a, address, 1)) return NULL;
  snprintf(text, bytes, "a freed allocation of %llu bytes", (unsigned long long)a->bytes);
  return text;
}
