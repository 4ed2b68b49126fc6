/* The cache model of sim:profile, with the geometry of an H200: sets of 16 lines, the one unused
 * for the longest time gives way. */
#include "cache.h"

#include <stdlib.h>
#include <string.h>

enum {
  MULTIPROCESSORS = 132,
  WAYS = 16,
  LINE = 128,
  SECTORS = 4, /* of a line */
  L1_KIB = 256,
  L2_KIB = 60 * 1024,
  SM_THREADS = 2048,
  SM_BLOCKS = 32,
  BLOCK_RESERVED = 1024 /* bytes of shared memory that the system takes of each block */
};

/* Sizes of shared memory that a multiprocessor can be set to; the rest of its 256 KiB is L1. */
static const uint32_t CARVEOUT_KIB[] = {0, 8, 16, 32, 64, 100, 132, 164, 196, 228};
enum { CARVEOUTS = sizeof CARVEOUT_KIB / sizeof *CARVEOUT_KIB };

/* In two lines of the host's cache: a search reads the first, what it finds is in the second. */
typedef struct set {
  _Alignas(128) uint32_t tag[WAYS]; /* line number + 1, its low 32 bits: of 512 GiB; 0: none */
  uint16_t used[WAYS];              /* tick of the last access */
  uint8_t has[WAYS];                /* two bits a sector: the first of each, the second of each */
  uint32_t epoch;                   /* behind the cache's: the set is to be emptied */
  uint16_t tick;
} set;

/* What the two bits of a sector say. L1: all of it is there; something of it is. L2: the first
 * partition has it; the second. */
enum { WHOLE, SOME };

typedef struct cache {
  set *sets;
  uint32_t set_count, epoch;
} cache;

struct sim_caches {
  cache l1[MULTIPROCESSORS], l2;
  void *memory; /* of all sets */
};

/* ---- the caches of a launch ---- */

/* The smallest setting that holds the shared memory of as many blocks as fit otherwise. */
static uint32_t l1_kib(uint32_t threads, uint64_t shared_bytes) {
  uint64_t blocks = SM_THREADS / (threads ? threads : 1), each = shared_bytes + BLOCK_RESERVED;
  if (blocks > SM_BLOCKS) blocks = SM_BLOCKS;
  uint64_t wanted = shared_bytes ? blocks * each : 0;
  for (int i = 0; i < CARVEOUTS; i++) {
    if (CARVEOUT_KIB[i] * 1024ull >= wanted) return L1_KIB - CARVEOUT_KIB[i];
  }
  return L1_KIB - CARVEOUT_KIB[CARVEOUTS - 1];
}

static uint32_t sets_of(uint32_t kib) {
  return kib * 1024 / LINE / WAYS;
}

sim_caches *sim_caches_new(uint32_t threads, uint64_t shared_bytes) {
  sim_caches *c = calloc(1, sizeof *c);
  if (!c) return NULL;
  uint32_t l1_sets = sets_of(l1_kib(threads, shared_bytes)), l2_sets = sets_of(L2_KIB);
  /* calloc, and room to align: pages that no access touches cost nothing. */
  c->memory = calloc(MULTIPROCESSORS * l1_sets + l2_sets + 1, sizeof(set));
  if (!c->memory) {
    free(c);
    return NULL;
  }
  uintptr_t start = (uintptr_t)c->memory, unit = _Alignof(set);
  set *sets = (set *)((start + unit - 1) / unit * unit);
  for (uint32_t i = 0; i < MULTIPROCESSORS; i++)
    c->l1[i] = (cache){.sets = sets + i * l1_sets, .set_count = l1_sets};
  c->l2 = (cache){.sets = sets + MULTIPROCESSORS * l1_sets, .set_count = l2_sets};
  return c;
}

void sim_caches_free(sim_caches *c) {
  if (!c) return;
  free(c->memory);
  free(c);
}

/* ---- one cache ---- */

/* Lines that lie a power of two apart are spread over the sets, as in the hardware. */
static set *set_of(const cache *c, uint64_t sector) {
  uint64_t number = sector / SECTORS;
  uint64_t mixed = (number ^ number >> 17) * 0x9e3779b97f4a7c15ull;
  return &c->sets[(mixed >> 32) * c->set_count >> 32];
}

static uint32_t tag_of(uint64_t sector) {
  return (uint32_t)(sector / SECTORS) + 1;
}

static int find(const set *s, uint32_t tag) {
  for (int i = 0; i < WAYS; i++) {
    if (s->tag[i] == tag) return i;
  }
  return -1;
}

static int oldest(const set *s) {
  int least = 0;
  for (int i = 1; i < WAYS; i++) {
    if (s->used[i] < s->used[least]) least = i;
  }
  return least;
}

/* The ticks of a set start again, in the same order. */
static void renumber(set *s) {
  uint16_t rank[WAYS] = {0};
  for (int i = 0; i < WAYS; i++) {
    for (int j = 0; j < WAYS; j++) rank[i] = (uint16_t)(rank[i] + (s->used[j] < s->used[i]));
  }
  memcpy(s->used, rank, sizeof rank);
  s->tick = WAYS;
}

/* What the cache has of the sector's line, which is now the newest of its set; when it was not
 * there the oldest has given way to it. */
static uint8_t *claim(cache *c, uint64_t sector) {
  set *s = set_of(c, sector);
  uint32_t tag = tag_of(sector);
  if (s->epoch != c->epoch) {
    memset(s->has, 0, sizeof s->has);
    s->epoch = c->epoch;
  }
  int i = find(s, tag);
  if (i < 0) {
    i = oldest(s);
    s->tag[i] = tag;
    s->has[i] = 0;
  }
  if (s->tick == UINT16_MAX) renumber(s);
  s->used[i] = ++s->tick;
  return &s->has[i];
}

/* The bit that says `which` of the sector. */
static uint8_t bit_of(uint64_t sector, int which) {
  return (uint8_t)(1u << (sector % SECTORS * 2 + (uint32_t)which));
}

void sim_caches_expect(const sim_caches *c, uint32_t multiprocessor, uint64_t sector) {
  const char *l1 = (const char *)set_of(&c->l1[multiprocessor], sector);
  const char *l2 = (const char *)set_of(&c->l2, sector);
  __builtin_prefetch(l1);
  __builtin_prefetch(l1 + 64);
  __builtin_prefetch(l2);
  __builtin_prefetch(l2 + 64);
}

/* ---- L1 ---- */

bool sim_l1_load(sim_caches *c, uint32_t multiprocessor, uint64_t sector) {
  uint8_t *has = claim(&c->l1[multiprocessor], sector);
  bool hit = *has & bit_of(sector, WHOLE);
  *has |= bit_of(sector, WHOLE) | bit_of(sector, SOME);
  return hit;
}

bool sim_l1_store(sim_caches *c, uint32_t multiprocessor, uint64_t sector, bool covered) {
  uint8_t *has = claim(&c->l1[multiprocessor], sector);
  bool hit = *has & bit_of(sector, SOME);
  *has |= bit_of(sector, SOME);
  if (covered) *has |= bit_of(sector, WHOLE);
  return hit;
}

void sim_l1_drop(sim_caches *c, uint32_t multiprocessor, uint64_t sector) {
  set *s = set_of(&c->l1[multiprocessor], sector);
  int i = find(s, tag_of(sector));
  if (i >= 0) s->has[i] &= (uint8_t) ~(bit_of(sector, WHOLE) | bit_of(sector, SOME));
}

void sim_l1_empty(sim_caches *c, uint32_t multiprocessor) {
  c->l1[multiprocessor].epoch++;
}

/* ---- L2 ---- */

/* The partition that a multiprocessor is wired to, and the one that memory belongs to, 4 KiB by
 * 4 KiB. Which they are on a chip is not known; that it is half and half is. */
static int side_of_multiprocessor(uint32_t multiprocessor) {
  return multiprocessor / 2 % 2;
}

static int side_of_memory(uint64_t sector) {
  return (int)((sector >> 7) * 0x9e3779b97f4a7c15ull >> 63);
}

bool sim_l2_access(sim_caches *c, uint32_t multiprocessor, uint64_t sector, sim_ask kind) {
  int near = side_of_multiprocessor(multiprocessor), home = side_of_memory(sector);
  uint8_t *has = claim(&c->l2, sector);
  bool had = *has & bit_of(sector, near);
  if (kind != SIM_ASK_LOAD) *has &= (uint8_t)~bit_of(sector, !home); /* a copy is stale */
  *has |= bit_of(sector, home);
  if (kind != SIM_ASK_ATOMIC) *has |= bit_of(sector, near); /* else done at home, no copy */
  /* A store needs no data from memory; an atomic of the other half is handed on. */
  return had || kind == SIM_ASK_STORE || (kind == SIM_ASK_ATOMIC && near != home);
}

bool sim_l2_more(sim_caches *c, uint32_t multiprocessor, uint64_t sector) {
  int near = side_of_multiprocessor(multiprocessor), home = side_of_memory(sector);
  uint8_t *has = claim(&c->l2, sector), bit = bit_of(sector ^ 1, near);
  if (*has & bit) return false;
  *has |= bit | bit_of(sector ^ 1, home);
  return true;
}
