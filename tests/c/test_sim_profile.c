/* sim:profile: the rules of the cache model, each as an H200 showed it; sectors of atomics against
 * what Nsight Compute counted there; counts by source line; warps that take turns. */
#include "sim/cache.h"
#include "sim_tests.h"

/* ---- the cache model ---- */

enum {
  HERE = 0,
  BESIDE = 1,
  ACROSS = 2
}; /* multiprocessors: two of one half of L2, one of the other */

static sim_caches *caches_for(uint32_t threads, uint64_t shared) {
  sim_caches *c = sim_caches_new(threads, shared);
  assert_non_null(c);
  return c;
}

static int make_caches(void **state) {
  *state = caches_for(256, 0);
  return 0;
}

static int drop_caches(void **state) {
  sim_caches_free(*state);
  return 0;
}

static void loads_bring_in(void **state) {
  assert_false(sim_l1_load(*state, HERE, 40));
  assert_true(sim_l1_load(*state, HERE, 40));
  assert_false(sim_l1_load(*state, HERE, 41)); /* sector by sector */
  assert_false(sim_l1_load(*state, BESIDE, 40));
}

static void stores_hit_what_is_there(void **state) {
  assert_false(sim_l1_store(*state, HERE, 40, false));
  assert_true(sim_l1_store(*state, HERE, 40, false)); /* of a store */
  sim_l1_load(*state, HERE, 80);
  assert_true(sim_l1_store(*state, HERE, 80, false)); /* of a load */
  assert_true(sim_l1_load(*state, HERE, 80));         /* and it keeps its value */
}

static void loads_hit_what_was_stored_whole(void **state) {
  sim_l1_store(*state, HERE, 40, false);
  assert_false(sim_l1_load(*state, HERE, 40));
  sim_l1_store(*state, HERE, 80, true);
  assert_true(sim_l1_load(*state, HERE, 80));
}

static void atomics_and_fences_take_away(void **state) {
  for (uint64_t s = 40; s < 44; s++) sim_l1_load(*state, HERE, s);
  sim_l1_drop(*state, HERE, 41);
  sim_l1_drop(*state, HERE, 999); /* never there */
  assert_true(sim_l1_load(*state, HERE, 40));
  assert_false(sim_l1_load(*state, HERE, 41));
  sim_l1_load(*state, BESIDE, 40);
  sim_l1_empty(*state, HERE);
  for (uint64_t s = 40; s < 44; s++) assert_false(sim_l1_load(*state, HERE, s));
  assert_true(sim_l1_load(*state, HERE, 40)); /* once */
  assert_true(sim_l1_load(*state, BESIDE, 40));
}

/* Part of the second pass over so many KiB that hits. */
static double second_pass(sim_caches *c, uint32_t kib) {
  uint32_t sectors = kib * 1024 / 32, hits = 0;
  for (uint32_t s = 0; s < sectors; s++) sim_l1_load(c, HERE, s);
  for (uint32_t s = 0; s < sectors; s++) hits += sim_l1_load(c, HERE, s);
  return (double)hits / sectors;
}

/* What a block's threads and shared memory leave of 256 KiB. On the H200 224 KiB were found again
 * without shared memory, of 320 nothing. */
static void size_of_l1(void **state) {
  (void)state;
  static const struct {
    uint32_t threads;
    uint64_t shared;
    uint32_t fits, too_much;
  } CASES[] = {{1024, 0, 192, 384},
               {1024, 40 * 1024, 96, 256},  /* two blocks: 100 KiB */
               {256, 4 * 1024, 128, 320},   /* eight: 64 KiB */
               {1024, 227 * 1024, 16, 64}}; /* one */
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
    sim_caches *c = caches_for(CASES[i].threads, CASES[i].shared);
    double fits = second_pass(c, CASES[i].fits);
    sim_caches_free(c);
    c = caches_for(CASES[i].threads, CASES[i].shared);
    double too_much = second_pass(c, CASES[i].too_much);
    sim_caches_free(c);
    if (fits < 0.9 || too_much > 0.1) fail_msg("case %zu: %g, %g", i, fits, too_much);
  }
}

static void oldest_gives_way(void **state) {
  enum { LINES = 1 << 18 }; /* many times the sets' ticks */
  for (uint64_t i = 0; i < LINES; i++) {
    sim_l1_load(*state, HERE, 0);
    sim_l1_load(*state, HERE, 4 * (i + 1));
  }
  assert_true(sim_l1_load(*state, HERE, 0));
  assert_true(sim_l1_load(*state, HERE, 4ull * LINES));
  assert_false(sim_l1_load(*state, HERE, 4));
}

enum { MANY = 8192 }; /* sectors: 256 KiB, that is 64 pages of 4 KiB */

static int hits(sim_caches *c, uint32_t multiprocessor, sim_ask kind) {
  int n = 0;
  for (uint64_t s = 0; s < MANY; s++) n += sim_l2_access(c, multiprocessor, s, kind);
  return n;
}

static void about_half(int n) {
  if (n < MANY * 3 / 8 || n > MANY * 5 / 8) fail_msg("%d of %d", n, MANY);
}

static void halves_of_l2(void **state) {
  assert_int_equal(hits(*state, HERE, SIM_ASK_LOAD), 0);
  assert_int_equal(hits(*state, BESIDE, SIM_ASK_LOAD), MANY);
  about_half(hits(*state, ACROSS, SIM_ASK_LOAD)); /* what belongs to its half */
  assert_int_equal(hits(*state, ACROSS, SIM_ASK_LOAD), MANY);
}

static void stores_always_hit(void **state) {
  assert_int_equal(hits(*state, HERE, SIM_ASK_STORE), MANY);
  assert_int_equal(hits(*state, BESIDE, SIM_ASK_LOAD), MANY);
  about_half(hits(*state, ACROSS, SIM_ASK_LOAD));
}

static void atomics_are_handed_on(void **state) {
  about_half(hits(*state, HERE, SIM_ASK_ATOMIC));
  assert_int_equal(hits(*state, HERE, SIM_ASK_ATOMIC), MANY);
  about_half(hits(*state, HERE, SIM_ASK_LOAD)); /* no copy was made of the others */
}

static void changes_make_copies_stale(void **state) {
  hits(*state, HERE, SIM_ASK_LOAD);
  hits(*state, ACROSS, SIM_ASK_LOAD);
  hits(*state, HERE, SIM_ASK_ATOMIC);
  about_half(hits(*state, ACROSS, SIM_ASK_LOAD));
}

static void memory_comes_64_bytes_at_a_time(void **state) {
  assert_false(sim_l2_access(*state, HERE, 6, SIM_ASK_LOAD));
  assert_true(sim_l2_more(*state, HERE, 6));
  assert_true(sim_l2_access(*state, HERE, 7, SIM_ASK_LOAD));
  assert_false(sim_l2_access(*state, HERE, 5, SIM_ASK_LOAD)); /* the line's other pair */
  sim_l2_access(*state, HERE, 4, SIM_ASK_LOAD);
  assert_false(sim_l2_more(*state, HERE, 5)); /* it is there already */
}

/* ---- counters ---- */

static int open_profile(void **state) {
  (void)state;
  sim_open(PG_SIM_PROFILE, 1, NULL);
  return 0;
}

static pg_counters counted(void) {
  pg_counters c;
  ops()->counters(sim.device, &c, true);
  assert_true(c.complete);
  return c;
}

static const char ATOMICS[] =
    ".entry red_u32(.param .u64 p, .param .u64 offset) {"
    " .reg .b64 %p, %o; .reg .b32 %t, %b;"
    " ld.param.u64 %p, [p]; ld.param.u64 %o, [offset]; mov.u32 %t, %tid.x;"
    " mad.wide.u32 %o, %t, 4, %o; ld.global.u32 %b, [%o]; mad.wide.u32 %p, %b, 4, %p;"
    " red.global.add.u32 [%p], 1; ret; }"
    ".entry atom_u64(.param .u64 p, .param .u64 offset) {"
    " .reg .b64 %p, %o, %d; .reg .b32 %t, %b;"
    " ld.param.u64 %p, [p]; ld.param.u64 %o, [offset]; mov.u32 %t, %tid.x;"
    " mad.wide.u32 %o, %t, 4, %o; ld.global.u32 %b, [%o]; mad.wide.u32 %p, %b, 8, %p;"
    " atom.global.add.u64 %d, [%p], 1; ret; }"
    ".entry red_v4(.param .u64 p, .param .u64 offset) {"
    " .reg .b64 %p, %o; .reg .b32 %t, %b; .reg .f32 %f;"
    " ld.param.u64 %p, [p]; ld.param.u64 %o, [offset]; mov.u32 %t, %tid.x; mov.f32 %f, 0f3F800000;"
    " mad.wide.u32 %o, %t, 4, %o; ld.global.u32 %b, [%o]; mad.wide.u32 %p, %b, 16, %p;"
    " red.relaxed.gpu.global.add.v4.f32 [%p], {%f, %f, %f, %f}; ret; }";

static uint32_t mix(uint32_t x) {
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  return x ^ x >> 16;
}

enum { RUNS, RANDOM, CYCLES }; /* lanes in runs of c on one word; a random one of c; lane mod c */

static uint32_t offset_of(int how, uint32_t lane, uint32_t c, uint32_t stride) {
  if (how == RUNS) return lane / c * stride;
  return (how == RANDOM ? mix(lane * 977 + c * 31 + stride) : lane) % c * stride;
}

/* l1tex__t_sectors_pipe_lsu_mem_global_op_red (and _atom) of one warp on an H200, ncu 2025.3; a
 * vector is one request. The rule is a sector below the GPU in one of the rows of vectors. */
static void sectors_of_atomics(void **state) {
  (void)state;
  static const struct {
    int how;
    uint32_t c, stride, lanes, red_u32, atom_u64, red_v4;
  } MEASURED[] = {
      {RUNS, 1, 1, 32, 4, 8, 16},      {RUNS, 2, 1, 32, 4, 8, 16},
      {RUNS, 4, 1, 32, 4, 8, 16},      {RUNS, 8, 1, 32, 8, 8, 16},
      {RUNS, 16, 1, 32, 16, 16, 0},    {RUNS, 32, 1, 32, 32, 32, 32},
      {RUNS, 1, 2, 32, 8, 16, 32},     {RUNS, 1, 8, 32, 32, 32, 32},
      {RUNS, 2, 8, 32, 32, 32, 32},    {RUNS, 32, 1, 17, 17, 17, 17},
      {RUNS, 1, 1, 20, 3, 5, 10},      {CYCLES, 16, 1, 32, 4, 8, 16},
      {CYCLES, 2, 1, 32, 16, 16, 16},  {CYCLES, 4, 32, 32, 32, 32, 32},
      {RANDOM, 8, 1, 32, 6, 12, 21},   {RANDOM, 32, 1, 32, 10, 18, 26},
      {RANDOM, 64, 1, 32, 12, 18, 24}, {RANDOM, 512, 1, 32, 27, 31, 32}}; /* 0: not measured */
  sim_load(ATOMICS);
  pg_ptr p = put(NULL, 16 << 14, "p"), offset = put(NULL, 4 * 32, "offset");
  for (size_t i = 0; i < sizeof MEASURED / sizeof *MEASURED; i++) {
    uint32_t at[32];
    for (uint32_t k = 0; k < 32; k++)
      at[k] = offset_of(MEASURED[i].how, k, MEASURED[i].c, MEASURED[i].stride);
    ok(ops()->upload(sim.device, offset, at, sizeof at, NULL, &sim.error));
    const uint64_t want[] = {MEASURED[i].red_u32, MEASURED[i].atom_u64, MEASURED[i].red_v4};
    static const char *const NAMES[] = {"red_u32", "atom_u64", "red_v4"};
    for (int k = 0; k < 3; k++) {
      ok(launch(NAMES[k], 1, MEASURED[i].lanes, 0, with(2, p, offset)));
      pg_counters c = counted();
      assert_int_equal(c.global_atomic_requests, 1);
      uint64_t is = c.global_atomic_sectors + (k == 2 && MEASURED[i].c == 64);
      if (want[k] && is != want[k])
        fail_msg("row %zu, %s: %d sectors", i, NAMES[k], (int)c.global_atomic_sectors);
    }
  }
}

static void a_fence_empties_l1(void **state) {
  (void)state;
#define TWICE(name, between)                                                           \
  ".entry " name "(.param .u64 p) { .reg .b64 %p; .reg .b32 %a; ld.param.u64 %p, [p];" \
  " ld.global.u32 %a, [%p]; " between " ld.global.u32 %a, [%p]; ret; }"
  sim_load(TWICE("nothing", "") TWICE("block", "fence.acq_rel.cta;")
               TWICE("gpu", "fence.acq_rel.gpu;") TWICE("old", "membar.gl;")
                   TWICE("acquire", "ld.acquire.gpu.global.u32 %a, [%p+64];")
                       TWICE("barrier", "bar.sync 0;")
                           TWICE("relaxed", "ld.relaxed.gpu.global.u32 %a, [%p];"));
#undef TWICE
  static const struct {
    const char *name;
    uint32_t hits;
  } CASES[] = {{"nothing", 1}, {"block", 1},   {"gpu", 0},    {"old", 0},
               {"acquire", 0}, {"barrier", 1}, {"relaxed", 0}};
  pg_ptr p = put(NULL, 128, "p");
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
    ok(launch(CASES[i].name, 1, 1, 0, with(1, p)));
    if (counted().l1_hit_sectors != CASES[i].hits) fail_msg("%s", CASES[i].name);
  }
}

/* ---- by line ---- */

static const char LINES[] =
    ".file 1 \"k.cu\"\n"
    ".entry lines(.param .u64 p) {\n"
    " .reg .b64 %p; .reg .b32 %t, %a, %i; .reg .pred %q;\n"
    " .shared .align 4 .b8 sh[4096];\n"
    " .loc 1 3 0\n"
    " ld.param.u64 %p, [p]; mov.u32 %t, %tid.x; mad.wide.u32 %p, %t, 4, %p;\n"
    " .loc 1 4 0\n"
    " ld.global.u32 %a, [%p];\n"
    " mov.u32 %i, 0;\n"
    " .loc 1 5 0\n"
    "LOOP: add.u32 %i, %i, 1; setp.lt.u32 %q, %i, 10; @%q bra LOOP;\n"
    " .loc 1 6 0\n"
    " shl.b32 %t, %t, 7; and.b32 %t, %t, 4095; mov.u32 %i, sh; add.u32 %i, %i, %t;\n"
    " st.shared.u32 [%i], %a;\n"
    " .loc 1 7 0\n"
    " red.global.add.u32 [%p], 1;\n"
    " ret;\n"
    "}\n";

static const pg_line *line(const pg_profile *p, int number) {
  for (size_t i = 0; i < p->line_count; i++) {
    if (p->lines[i].line == number) return &p->lines[i];
  }
  fail_msg("no line %d", number);
  return NULL;
}

static void counts_by_line(void **state) {
  (void)state;
  enum { WARPS = 2, BLOCKS = 3, ALL = WARPS * BLOCKS };
  sim_load(LINES);
  pg_ptr p = put(NULL, 4 * 32 * WARPS, "p");
  ok(launch("lines", BLOCKS, 32 * WARPS, 0, with(1, p)));
  const pg_profile *profile = ops()->profile(sim.device);
  assert_int_equal(profile->line_count, 5);
  uint64_t warp_instructions = 0;
  for (size_t i = 0; i < profile->line_count; i++) {
    assert_string_equal(profile->lines[i].file, "k.cu");
    warp_instructions += profile->lines[i].counters.warp_instructions;
  }
  assert_int_equal(line(profile, 3)->counters.warp_instructions, 3 * ALL);
  assert_int_equal(line(profile, 4)->counters.global_load_requests, ALL);
  assert_int_equal(line(profile, 4)->counters.global_load_sectors, 4 * ALL);
  assert_int_equal(line(profile, 5)->counters.warp_instructions, 30 * ALL);
  assert_int_equal(line(profile, 5)->counters.thread_instructions, 32 * 30 * ALL);
  assert_int_equal(line(profile, 6)->counters.shared_requests, ALL);
  assert_int_equal(line(profile, 6)->counters.shared_wavefronts, 32 * ALL); /* one bank */
  assert_int_equal(line(profile, 7)->counters.global_atomic_sectors, 4 * ALL);
  assert_int_equal(line(profile, 7)->counters.global_load_requests, 0);
  assert_int_equal(counted().warp_instructions, warp_instructions);
  assert_int_equal(ops()->profile(sim.device)->line_count, 0); /* forgotten with the sum */
}

/* ---- turns ---- */

/* All blocks wait for each other, by a load and by an atomic, more of them than take turns. */
static void blocks_wait_for_all(void **state) {
  (void)state;
  enum { BLOCKS = 150, THREADS = 512 };
  sim_load(".entry meet(.param .u64 p) { .reg .b64 %p; .reg .b32 %t, %n, %a; .reg .pred %q;"
           " ld.param.u64 %p, [p]; mov.u32 %t, %tid.x; mov.u32 %n, %nctaid.x;"
           " setp.ne.u32 %q, %t, 0; @%q bra JOIN;"
           " red.global.add.u32 [%p], 1;"
           "LOAD: ld.volatile.global.u32 %a, [%p]; setp.lt.u32 %q, %a, %n; @%q bra LOAD;"
           " red.global.add.u32 [%p+4], 1;"
           "ATOM: atom.global.add.u32 %a, [%p+4], 0; setp.lt.u32 %q, %a, %n; @%q bra ATOM;"
           "JOIN: bar.sync 0; ret; }");
  pg_ptr p = put(NULL, 8, "p");
  ok(launch("meet", BLOCKS, THREADS, 0, with(1, p)));
  uint32_t got[2];
  get(got, p, sizeof got);
  assert_int_equal(got[0], BLOCKS);
  assert_int_equal(got[1], BLOCKS);
}

/* Warps that read and then write the same word meet as they would on a GPU: all see it unwritten.
 */
static void warps_meet(void **state) {
  (void)state;
  enum { WARPS = 8, BLOCKS = 40 };
  sim_load(".entry claim(.param .u64 p) { .reg .b64 %p; .reg .b32 %a; .reg .pred %q;"
           " ld.param.u64 %p, [p]; ld.volatile.global.u32 %a, [%p]; setp.ne.u32 %q, %a, 0;"
           " @%q ret; atom.global.cas.b32 %a, [%p], 0, 1; ret; }");
  pg_ptr p = put(NULL, 4, "p");
  ok(launch("claim", BLOCKS, 32 * WARPS, 0, with(1, p)));
  pg_counters c = counted();
  assert_int_equal(c.global_atomic_requests, WARPS * BLOCKS);
  assert_int_equal(c.global_atomic_sectors, 32 * WARPS * BLOCKS);
}

#define CACHES(name) cmocka_unit_test_setup_teardown(name, make_caches, drop_caches)
#define PROFILE(name) cmocka_unit_test_setup_teardown(name, open_profile, sim_close)

int main(void) {
  const struct CMUnitTest tests[] = {
      CACHES(loads_bring_in),
      CACHES(stores_hit_what_is_there),
      CACHES(loads_hit_what_was_stored_whole),
      CACHES(atomics_and_fences_take_away),
      cmocka_unit_test(size_of_l1),
      CACHES(oldest_gives_way),
      CACHES(halves_of_l2),
      CACHES(stores_always_hit),
      CACHES(atomics_are_handed_on),
      CACHES(changes_make_copies_stale),
      CACHES(memory_comes_64_bytes_at_a_time),
      PROFILE(sectors_of_atomics),
      PROFILE(a_fence_empties_l1),
      PROFILE(counts_by_line),
      PROFILE(blocks_wait_for_all),
      PROFILE(warps_meet),
  };
  return cmocka_run_group_tests_name("sim:profile", tests, NULL, NULL);
}
