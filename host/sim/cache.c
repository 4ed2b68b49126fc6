/* The cache model of sim:profile, with the geometry of an H200: sets of 16 lines, the one unused
 * for the longest time gives way. */
#include "cache.h"

#include <stdlib.h>

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

typedef struct line {
  uint64_t tag;     /* line number + 1; 0: empty */
  uint32_t used;    /* tick of the last access */
  uint32_t present; /* sectors */
} line;

typedef struct cache {
  line *lines; /* sets * WAYS */
  uint64_t sets;
  uint32_t tick;
} cache;

struct sim_caches {
  cache l1[MULTIPROCESSORS], l2;
};

static bool make(cache *c, uint64_t kib) {
  c->sets = kib * 1024 / LINE / WAYS;
  c->lines = calloc(c->sets * WAYS, sizeof *c->lines);
  return c->lines != NULL;
}

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

sim_caches *sim_caches_new(uint32_t threads, uint64_t shared_bytes) {
  sim_caches *c = calloc(1, sizeof *c);
  if (!c) return NULL;
  bool ok = make(&c->l2, L2_KIB);
  uint32_t kib = l1_kib(threads, shared_bytes);
  for (int i = 0; i < MULTIPROCESSORS && ok; i++) ok = make(&c->l1[i], kib);
  if (ok) return c;
  sim_caches_free(c);
  return NULL;
}

void sim_caches_free(sim_caches *c) {
  if (!c) return;
  for (int i = 0; i < MULTIPROCESSORS; i++) free(c->l1[i].lines);
  free(c->l2.lines);
  free(c);
}

/* Lines that lie a power of two apart are spread over the sets, as in the hardware. */
static line *set_of(cache *c, uint64_t number) {
  uint64_t mixed = (number ^ number >> 17) * 0x9e3779b97f4a7c15ull;
  return c->lines + (mixed >> 32) % c->sets * WAYS;
}

/* The line with this number; NULL, and in *victim the one to give up for it, when it is not there.
 */
static line *find(cache *c, uint64_t number, line **victim) {
  line *set = set_of(c, number);
  *victim = set;
  for (int i = 0; i < WAYS; i++) {
    if (set[i].tag == number + 1) return &set[i];
    if (set[i].used < (*victim)->used) *victim = &set[i];
  }
  return NULL;
}

/* Whether the sector was there; with `fill` it is afterwards. */
static bool touch(cache *c, uint64_t sector, bool fill) {
  line *victim, *l = find(c, sector / SECTORS, &victim);
  uint32_t bit = 1u << sector % SECTORS;
  bool hit = l && l->present & bit;
  if (!l && !fill) return false;
  if (!l) {
    l = victim;
    *l = (line){.tag = sector / SECTORS + 1};
  }
  l->used = ++c->tick;
  if (fill) l->present |= bit;
  return hit;
}

bool sim_l1_load(sim_caches *c, uint32_t multiprocessor, uint64_t sector) {
  return touch(&c->l1[multiprocessor], sector, true);
}

bool sim_l1_store(sim_caches *c, uint32_t multiprocessor, uint64_t sector) {
  return touch(&c->l1[multiprocessor], sector, false);
}

void sim_l1_drop(sim_caches *c, uint32_t multiprocessor, uint64_t sector) {
  line *victim, *l = find(&c->l1[multiprocessor], sector / SECTORS, &victim);
  if (l) l->present &= ~(1u << sector % SECTORS);
}

bool sim_l2_access(sim_caches *c, uint64_t sector, bool store) {
  return touch(&c->l2, sector, true) || store;
}
