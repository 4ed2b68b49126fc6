/* The Lua module hash.keyset: 64-bit keys, hash tables of them, and what is wrong with a table that
 * somebody else filled. */
#include <math.h>
#include <string.h>

#include "bind/bind.h"

#define EMPTY UINT64_MAX
#define FOR_BETWEEN 0x9e3779b97f4a7c15u /* another number from the same seed */

enum { UNIT = 4, CHUNKS = 64, EVICTIONS = 10000, AHEAD = 16 };

/* How slots are tried: one after the other, bucket after bucket, or in two buckets only. */
typedef enum rule { LINEAR, BUCKET, CUCKOO } rule;
typedef enum distribution { UNIFORM, ZIPF, DUPLICATES } distribution;

typedef struct table {
  uint64_t *slot;
  uint64_t slots, units; /* a unit is a bucket, or a slot where slots are tried singly */
  uint64_t unit;         /* slots in it */
  rule probing;
} table;

/* ---- keys: a one-to-one function of numbers, which only the seed tells ---- */

static uint64_t mix(uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

static uint64_t unshift(uint64_t x, int shift) {
  uint64_t y = x;
  for (int done = shift; done < 64; done += shift) y = x ^ y >> shift;
  return y;
}

/* The factors are 1 / those of mix modulo 2^64. */
static uint64_t unmix(uint64_t x) {
  x = unshift(x, 31) * 0x319642b2d24d8ec3u;
  x = unshift(x, 27) * 0x96de1b173f119089u;
  return unshift(x, 30);
}

/* Mixed once, keys could be turned back by a kernel, which would know ids and what is in no table
 * without a search: so a secret comes between two times. */
typedef struct secret {
  uint64_t offset, between;
} secret;

static uint64_t key_of(const secret *s, uint64_t id) {
  return mix(mix(s->offset + id) ^ s->between);
}

static uint64_t id_in(const secret *s, uint64_t key) {
  return unmix(unmix(key) ^ s->between) - s->offset;
}

/* Ids are far below 2^33, those of keys that are in no table included; none makes the empty word.
 */
static secret secret_of(uint64_t seed) {
  secret s = {.offset = mix(seed) >> 1, .between = mix(seed ^ FOR_BETWEEN)};
  if (id_in(&s, EMPTY) < (uint64_t)1 << 34) s.offset += (uint64_t)1 << 35;
  return s;
}

/* A permutation of 0 .. n - 1: one of the next power of two, until it hits. */
static uint64_t shuffled(uint64_t i, uint64_t n, uint64_t seed) {
  int bits = 1;
  while ((uint64_t)1 << bits < n) bits++;
  const uint64_t mask = ((uint64_t)1 << bits) - 1;
  do {
    for (uint64_t round = 0; round < 3; round++) {
      i = (i * (2 * mix(seed + round) + 1) + mix(seed - round)) & mask;
      i ^= i >> (bits / 2 + 1);
    }
  } while (i >= n);
  return i;
}

/* The id of element e: each of `ids` occurs at least once. */
static uint64_t id_of(distribution kind, uint64_t e, uint64_t ids, uint64_t seed) {
  if (e < ids) return e;
  if (kind != ZIPF) return e % ids;
  const double u = (double)(mix(seed + e) >> 11) * 0x1p-53;
  const uint64_t id = (uint64_t)exp(u * log((double)ids + 1)) - 1;
  return id < ids ? id : ids - 1;
}

/* ---- tables ---- */

static uint64_t place(uint64_t hash, uint64_t count) {
  return (hash >> 32) * count >> 32;
}

static uint64_t home(const table *t, uint64_t key) {
  return place(key * 0x9e3779b97f4a7c15u, t->units);
}

static uint64_t other(const table *t, uint64_t key) {
  return place((key ^ key >> 29) * 0xd1342543de82ef95u, t->units);
}

static uint64_t *slots_of(const table *t, uint64_t unit) {
  return t->slot + unit * t->unit;
}

/* The place in its unit of the first slot with this content, t->unit if there is none. */
static uint64_t among(const table *t, uint64_t unit, uint64_t content) {
  uint64_t i = 0;
  while (i < t->unit && slots_of(t, unit)[i] != content) i++;
  return i;
}

static bool put(const table *t, uint64_t unit, uint64_t key) {
  const uint64_t i = among(t, unit, EMPTY);
  if (i < t->unit) slots_of(t, unit)[i] = key;
  return i < t->unit;
}

static uint64_t following(const table *t, uint64_t unit) {
  return unit + 1 == t->units ? 0 : unit + 1;
}

static bool insert_cuckoo(const table *t, uint64_t key) {
  uint64_t unit = home(t, key);
  if (put(t, unit, key)) return true;
  unit = other(t, key);
  for (uint64_t step = 0; step < EVICTIONS; step++) {
    if (put(t, unit, key)) return true;
    uint64_t *victim = &slots_of(t, unit)[mix(key + step) % UNIT];
    const uint64_t evicted = *victim;
    *victim = key;
    key = evicted;
    unit = home(t, key) == unit ? other(t, key) : home(t, key);
  }
  return false;
}

static bool insert(const table *t, uint64_t key) {
  if (t->probing == CUCKOO) return insert_cuckoo(t, key);
  uint64_t unit = home(t, key);
  for (uint64_t i = 0; i < t->units; i++, unit = following(t, unit))
    if (put(t, unit, key)) return true;
  return false;
}

/* In an order that the seed alone decides; what follows is fetched in advance. */
static bool fill(const table *t, secret s, uint64_t ids) {
  memset(t->slot, 0xff, t->slots * sizeof *t->slot);
  for (uint64_t id = 0; id < ids; id++) {
    __builtin_prefetch(slots_of(t, home(t, key_of(&s, id + AHEAD))), 1);
    if (!insert(t, key_of(&s, id))) return false;
  }
  return true;
}

/* The slot of a key, or UINT32_MAX. */
static uint32_t find_in(const table *t, uint64_t unit, uint64_t key) {
  const uint64_t i = among(t, unit, key);
  return i < t->unit ? (uint32_t)(unit * t->unit + i) : UINT32_MAX;
}

static uint32_t find(const table *t, uint64_t key) {
  uint64_t unit = home(t, key);
  uint32_t at = find_in(t, unit, key);
  if (t->probing == CUCKOO) return at != UINT32_MAX ? at : find_in(t, other(t, key), key);
  for (uint64_t i = 1; i < t->units && at == UINT32_MAX; i++) {
    if (among(t, unit, EMPTY) < t->unit) break;
    unit = following(t, unit);
    at = find_in(t, unit, key);
  }
  return at;
}

/* ---- judging ---- */

typedef enum fault { NONE, FOREIGN, TWICE, MISPLACED, COUNT } fault;

typedef struct judge {
  const table *t;
  const uint32_t *counts; /* NULL: not judged */
  uint32_t *times;        /* how often each id occurs among the input keys */
  uint8_t *seen;          /* ids that are in the table */
  secret secret;
  uint64_t ids, fault_at;
  fault fault;
} judge;

/* Full units in a row before this one: keys may stand that far behind their home. */
static uint64_t full_before(const table *t, uint64_t unit) {
  uint64_t run = 0;
  while (run + 1 < t->units) {
    unit = unit ? unit - 1 : t->units - 1;
    if (among(t, unit, EMPTY) < t->unit) break;
    run++;
  }
  return run;
}

static bool stands(const table *t, uint64_t unit, uint64_t key, uint64_t run) {
  const uint64_t first = home(t, key);
  if (t->probing == CUCKOO) return unit == first || unit == other(t, key);
  return (unit >= first ? unit - first : unit + t->units - first) <= run;
}

static fault look(const judge *j, uint64_t at, uint64_t run) {
  const uint64_t key = j->t->slot[at];
  if (key == EMPTY) return j->counts && j->counts[at] ? COUNT : NONE;
  const uint64_t id = id_in(&j->secret, key);
  if (id >= j->ids) return FOREIGN;
  if (__atomic_exchange_n(&j->seen[id], 1, __ATOMIC_RELAXED)) return TWICE;
  if (!stands(j->t, at / j->t->unit, key, run)) return MISPLACED;
  return j->counts && j->counts[at] != j->times[id] ? COUNT : NONE;
}

/* Units first .. last - 1, up to the first fault. */
static void look_through(judge *j, uint64_t first, uint64_t last) {
  const table *t = j->t;
  uint64_t run = first < last && t->probing != CUCKOO ? full_before(t, first) : 0;
  for (uint64_t unit = first; unit < last; unit++) {
    for (uint64_t at = unit * t->unit; at < (unit + 1) * t->unit; at++) {
      const fault found = look(j, at, run);
      if (found == NONE) continue;
#ifdef _OPENMP
#pragma omp critical
#endif
      if (at < j->fault_at) j->fault_at = at, j->fault = found;
      return;
    }
    run = among(t, unit, EMPTY) < t->unit ? 0 : run + (run + 1 < t->units);
  }
}

static void count_ids(judge *j, const uint64_t *keys, uint64_t n) {
#ifdef _OPENMP
#pragma omp parallel for
#endif
  for (uint64_t i = 0; i < n; i++) {
    const uint64_t id = id_in(&j->secret, keys[i]);
    if (id < j->ids) __atomic_fetch_add(&j->times[id], 1, __ATOMIC_RELAXED);
  }
}

static void look_everywhere(judge *j) {
  const uint64_t units = j->t->units;
#ifdef _OPENMP
#pragma omp parallel for schedule(dynamic, 1)
#endif
  for (uint64_t c = 0; c < CHUNKS; c++)
    look_through(j, units * c / CHUNKS, units * (c + 1) / CHUNKS);
}

/* Pushes what is wrong, or nil. */
static int push_fault(lua_State *L, const judge *j) {
  const uint64_t at = j->fault_at;
  const unsigned long long key = j->fault == NONE ? 0 : j->t->slot[at];
  char text[160];
  if (j->fault == NONE) return lua_pushnil(L), 1;
  if (j->fault == COUNT && key == EMPTY)
    snprintf(text, sizeof text, "counts[%llu] = %u, but the slot is empty", (unsigned long long)at,
             j->counts[at]);
  else if (j->fault == COUNT)
    snprintf(text, sizeof text, "counts[%llu] = %u, but key 0x%016llx occurs %u times",
             (unsigned long long)at, j->counts[at], key, j->times[id_in(&j->secret, key)]);
  else
    snprintf(text, sizeof text, "table[%llu] = 0x%016llx, %s", (unsigned long long)at, key,
             j->fault == FOREIGN ? "which is no key of the input"
             : j->fault == TWICE ? "which is in the table twice"
                                 : "where this key would not be found");
  return lua_pushstring(L, text), 1;
}

static int push_verdict(lua_State *L, const judge *j) {
  if (j->fault != NONE) return push_fault(L, j);
  uint64_t missing = 0, first = 0;
  for (uint64_t id = j->ids; id-- > 0;)
    if (!j->seen[id]) missing++, first = id;
  if (missing == 0) return lua_pushnil(L), 1;
  char text[160];
  snprintf(text, sizeof text, "key 0x%016llx is not in the table; %llu of %llu are missing",
           (unsigned long long)key_of(&j->secret, first), (unsigned long long)missing,
           (unsigned long long)j->ids);
  return lua_pushstring(L, text), 1;
}

/* ---- Lua ---- */

static uint64_t check_count(lua_State *L, int arg) {
  const lua_Integer count = luaL_checkinteger(L, arg);
  if (count < 1 || count > UINT32_MAX) pg_lua_argument(L, arg, "a number from 1 to 2^32 - 1");
  return (uint64_t)count;
}

static distribution check_kind(lua_State *L, int arg) {
  static const char *const names[] = {"uniform", "zipf", "duplicates", NULL};
  return (distribution)luaL_checkoption(L, arg, NULL, names);
}

static table check_table(lua_State *L, int arg, pg_array *array) {
  static const char *const names[] = {"linear", "bucket", "cuckoo", NULL};
  const rule probing = (rule)luaL_checkoption(L, arg, NULL, names);
  if (array->count == 0 || array->count % UNIT || array->count > UINT32_MAX)
    pg_lua_argument(L, arg, "a table of a multiple of 4 slots below 2^32");
  const uint64_t unit = probing == LINEAR ? 1 : UNIT;
  return (table){array->data, array->count, array->count / unit, unit, probing};
}

static int new_keys(lua_State *L, uint64_t absent) {
  const uint64_t seed = (uint64_t)luaL_checkinteger(L, 1);
  const uint64_t n = check_count(L, 2), ids = check_count(L, 3);
  const distribution kind = check_kind(L, 4);
  const secret s = secret_of(seed);
  uint64_t *key = pg_lua_new_vector(L, "u64", (int64_t)n)->data;
#ifdef _OPENMP
#pragma omp parallel for
#endif
  for (uint64_t i = 0; i < n; i++) {
    const uint64_t e = shuffled(i, n, seed);
    const uint64_t id = id_of(kind, e, ids, seed);
    key[i] = key_of(&s, id + (mix(~seed + e) & 1 ? absent : 0));
  }
  return 1;
}

/* keys(seed, n, ids, kind) -> u64[n]: `ids` different keys, in any order. kind "uniform" and
 * "duplicates": each occurs as often as any other; "zipf": key k of the remaining n - ids with
 * probability log((k + 2) / (k + 1)) / log(ids + 1), that is nearly as 1 / (k + 1). */
static int keys(lua_State *L) {
  return new_keys(L, 0);
}

/* queries(seed, n, ids, kind) -> u64[n]: the same keys, but about half of them changed into ones
 * that do not occur among keys(seed, ...). */
static int queries(lua_State *L) {
  return new_keys(L, (uint64_t)1 << 32);
}

/* table(seed, ids, slots, probing) -> u64[slots] with the keys of keys(seed, n, ids, ...); nil when
 * they do not all find a place, which only few seeds of cuckoo tables do. */
static int new_table(lua_State *L) {
  const uint64_t seed = (uint64_t)luaL_checkinteger(L, 1);
  const uint64_t ids = check_count(L, 2), slots = check_count(L, 3);
  pg_array *array = pg_lua_new_vector(L, "u64", (int64_t)slots);
  const table t = check_table(L, 4, array);
  if (!fill(&t, secret_of(seed), ids)) lua_pushnil(L);
  return 1;
}

/* find(table, queries, probing) -> u32[queries]: the slot of each, 0xffffffff where there is none.
 */
static int find_all(lua_State *L) {
  const table t = check_table(L, 3, pg_lua_check_array(L, 1, PG_U64));
  const pg_array *queries = pg_lua_check_array(L, 2, PG_U64);
  const uint64_t *query = queries->data, n = queries->count;
  uint32_t *at = pg_lua_new_vector(L, "u32", (int64_t)n)->data;
#ifdef _OPENMP
#pragma omp parallel for
#endif
  for (uint64_t i = 0; i < n; i++) at[i] = find(&t, query[i]);
  return 1;
}

/* judge(seed, ids, table, probing [, keys, counts]) -> nil, or what is wrong: the table must hold
 * each key of that seed once, where a search finds it; counts (u32, one a slot) how often it occurs
 * among `keys`, 0 for empty slots. */
static int judge_table(lua_State *L) {
  lua_settop(L, 6);
  const uint64_t seed = (uint64_t)luaL_checkinteger(L, 1), ids = check_count(L, 2);
  const table t = check_table(L, 4, pg_lua_check_array(L, 3, PG_U64));
  const pg_array *keys = lua_isnil(L, 5) ? NULL : pg_lua_check_array(L, 5, PG_U64);
  const pg_array *counts = keys ? pg_lua_check_array(L, 6, PG_U32) : NULL;
  if (counts && counts->count != t.slots) pg_lua_argument(L, 6, "one count a slot");
  judge j = {.t = &t,
             .counts = counts ? counts->data : NULL,
             .secret = secret_of(seed),
             .ids = ids,
             .fault_at = UINT64_MAX};
  j.seen = lua_newuserdatauv(L, ids, 0);
  memset(j.seen, 0, ids);
  if (counts) {
    j.times = lua_newuserdatauv(L, ids * sizeof *j.times, 0);
    memset(j.times, 0, ids * sizeof *j.times);
    count_ids(&j, keys->data, keys->count);
  }
  look_everywhere(&j);
  return push_verdict(L, &j);
}

PG_API int luaopen_hash_keyset(lua_State *L) {
  static const luaL_Reg functions[] = {{"keys", keys},         {"queries", queries},
                                       {"table", new_table},   {"find", find_all},
                                       {"judge", judge_table}, {NULL, NULL}};
  luaL_newlib(L, functions);
  return 1;
}
