/* Random programs of loads, stores, atomics and barriers in sim:check, against a model that knows
 * nothing of rows, cells and clocks: accesses of different threads to a byte race when no barrier
 * of the block lies between them and one of them is a plain write. */
#include "rng.h"
#include "sim_tests.h"

enum { BLOCKS = 2, THREADS = 96, ALL = BLOCKS * THREADS, STEPS = 24, BYTES = 4096, PROGRAMS = 600 };

/* What a thread does in a step. An access is of so many bytes at an offset of global memory, or of
 * shared memory from BYTES on. */
typedef enum kind {
  NONE,
  LOAD,
  STORE,
  LOAD_16,
  STORE_8,
  LOAD_1,
  STORE_1,
  VOLATILE,
  ADD,
  BARRIER
} kind;

static const struct {
  uint32_t bytes;
  bool writes, strong;
} KINDS[] = {
    [LOAD] = {4, false, false},    [STORE] = {4, true, false},   [LOAD_16] = {16, false, false},
    [STORE_8] = {8, true, false},  [LOAD_1] = {1, false, false}, [STORE_1] = {1, true, false},
    [VOLATILE] = {4, false, true}, [ADD] = {4, true, true}};

/* The script holds a word a step and thread: kind, and the offset above it. */
static const char PTX[] =
    ".version 7.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry play(.param .u64 p_script, .param .u64 p_memory) {\n"
    ".reg .pred %p<12>; .reg .b32 %r<16>; .reg .b64 %rd<12>; .reg .b16 %h<2>;\n"
    ".shared .align 16 .b8 own[4096];\n"
    "ld.param.u64 %rd1, [p_script]; ld.param.u64 %rd2, [p_memory];\n"
    "mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %nctaid.x;\n"
    /* Shared memory is written first. */
    "mov.u64 %rd3, own; cvta.shared.u64 %rd4, %rd3; mov.u32 %r5, %r1;\n"
    "FILL: mul.wide.u32 %rd5, %r5, 4; add.u64 %rd5, %rd4, %rd5; st.u32 [%rd5], %r5;\n"
    "add.u32 %r5, %r5, %r3; setp.lt.u32 %p1, %r5, 1024; @%p1 bra FILL;\n"
    "bar.sync 0;\n"
    "mad.lo.u32 %r6, %r2, %r3, %r1; mul.wide.u32 %rd6, %r6, 4; add.u64 %rd1, %rd1, %rd6;\n"
    "mul.lo.u32 %r7, %r3, %r4; mul.wide.u32 %rd7, %r7, 4; mov.u32 %r8, 0;\n"
    "cvt.u16.u32 %h0, %r1;\n" /* each thread stores its own value: equal ones may not race */
    "NEXT: ld.global.u32 %r9, [%rd1]; add.u64 %rd1, %rd1, %rd7;\n"
    "and.b32 %r10, %r9, 15; shr.u32 %r11, %r9, 4;\n"
    "setp.eq.u32 %p1, %r10, 9; @%p1 bra MEET;\n"
    "setp.lt.u32 %p2, %r11, 4096; sub.u32 %r12, %r11, 4096; selp.u32 %r12, %r11, %r12, %p2;\n"
    "selp.u64 %rd8, %rd2, %rd4, %p2; cvt.u64.u32 %rd9, %r12; add.u64 %rd8, %rd8, %rd9;\n"
    "setp.eq.u32 %p1, %r10, 1; @%p1 ld.u32 %r13, [%rd8];\n"
    "setp.eq.u32 %p1, %r10, 2; @%p1 st.u32 [%rd8], %r6;\n"
    "setp.eq.u32 %p1, %r10, 3; @%p1 ld.v4.u32 {%r12, %r13, %r14, %r15}, [%rd8];\n"
    "setp.eq.u32 %p1, %r10, 4; @%p1 st.v2.u32 [%rd8], {%r8, %r8};\n"
    "setp.eq.u32 %p1, %r10, 5; @%p1 ld.u8 %h1, [%rd8];\n"
    "setp.eq.u32 %p1, %r10, 6; @%p1 st.u8 [%rd8], %h0;\n"
    "setp.eq.u32 %p1, %r10, 7; @%p1 ld.volatile.u32 %r13, [%rd8];\n"
    "setp.eq.u32 %p1, %r10, 8; @%p1 atom.add.u32 %r13, [%rd8], 1;\n"
    "bra ON;\nMEET: bar.sync 0;\n"
    "ON: add.u32 %r8, %r8, 1; setp.lt.u32 %p1, %r8, 24; @%p1 bra NEXT;\nret;\n}\n";

typedef struct program {
  uint32_t word[STEPS][ALL];
  uint64_t drawn, seed;
} program;

static uint32_t draw(program *p, uint32_t bound) {
  return (uint32_t)pg_rng_below(p->seed, 1, p->drawn++, bound);
}

/* ---- making programs ---- */

/* Slots of a warp's lanes: mostly in a place of its own, and mostly in a row. */
static void aim(program *p, uint32_t warp, uint32_t bytes, uint32_t slot[32]) {
  bool shared = draw(p, 2), apart = draw(p, 40) != 0;
  uint32_t room = apart ? 512 : BYTES, pattern = draw(p, 14);
  uint32_t base = apart ? (shared ? warp % 3 : warp) * 512 : 0, wide = 32 * bytes;
  uint32_t first = draw(p, (room - wide) / bytes + 1) * bytes, step = 1u << draw(p, 3);
  for (uint32_t i = 0; i < 32; i++) {
    uint32_t at = pattern < 7     ? first + i * bytes                 /* in a row */
                  : pattern < 10  ? first                             /* all at one place */
                  : pattern == 10 ? first + i / 16 * bytes            /* half of them each */
                  : pattern == 11 ? (first + i * bytes * step) % room /* with gaps */
                  : pattern == 12 ? first + (31 - i) * bytes
                                  : draw(p, room / bytes) * bytes;
    slot[i] = (shared ? BYTES : 0) + base + at;
  }
}

static uint32_t some_lanes(program *p) {
  uint32_t how = draw(p, 6), a = draw(p, 32), b = draw(p, 32);
  if (how == 0) return 1u << (a % 2 ? a : 0);
  if (how == 1) return ~0u << a;
  if (how == 2) return pg_rng_u32(p->seed, 2, a * 32 + b);
  return ~0u;
}

/* One access of lanes of a warp, inside their slots. */
static void add_access(program *p, uint32_t s, uint32_t warp, uint32_t bytes,
                       const uint32_t slot[32], uint32_t most, uint32_t stores) {
  uint32_t lanes = some_lanes(p), k = 1 + draw(p, most);
  if (k >= LOAD_1 && k <= STORE_1 && draw(p, 3)) k = LOAD; /* most pages keep larger cells */
  if (KINDS[k].writes && draw(p, stores)) k = LOAD;
  if (KINDS[k].bytes > bytes) k = LOAD;
  uint32_t inside = draw(p, bytes / KINDS[k].bytes) * KINDS[k].bytes;
  for (uint32_t i = 0; i < 32; i++)
    p->word[s][warp * 32 + i] = lanes >> i & 1 ? k | (slot[i] + inside) << 4 : NONE;
}

/* Steps between barriers in which each warp keeps its slots. atomics: with them, what a word
 * remembers of strong writes may be displaced. */
static void make(program *p, uint64_t seed, bool atomics) {
  memset(p, 0, sizeof *p);
  p->seed = seed;
  uint32_t steps = 2 + draw(p, STEPS - 1), stores = 1 + draw(p, 8);
  for (uint32_t s = 0, n; s < steps; s += n + 1) {
    n = 1 + draw(p, 5);
    for (uint32_t warp = 0; warp < ALL / 32; warp++) {
      uint32_t slot[32], bytes = 4u << draw(p, 3);
      aim(p, warp, bytes, slot);
      for (uint32_t k = 0; k < n && s + k < steps; k++)
        add_access(p, s + k, warp, bytes, slot, atomics ? ADD : STORE_1, stores);
    }
    for (uint32_t t = 0; t < ALL && s + n < steps; t++) p->word[s + n][t] = BARRIER;
  }
}

/* ---- the model ---- */

typedef struct access {
  uint32_t thread, epoch;
  kind kind;
} access;

static bool unordered(const access *a, const access *b) {
  if (a->thread == b->thread) return false;
  return a->thread / THREADS != b->thread / THREADS || a->epoch == b->epoch;
}

static bool races(const access *a, const access *b) {
  bool plain = (KINDS[a->kind].writes && !KINDS[a->kind].strong) ||
               (KINDS[b->kind].writes && !KINDS[b->kind].strong);
  return plain && unordered(a, b);
}

/* Bytes of global memory, then those of each block's shared memory. */
enum { PLACES = (1 + BLOCKS) * BYTES };

typedef struct entry {
  access access;
  struct entry *next; /* of the same byte */
} entry;

/* The accesses to a byte so far, and one more; whether it races with any. */
static bool meets(entry **bytes, entry *now) {
  for (const entry *e = *bytes; e; e = e->next) {
    if (races(&e->access, &now->access)) return true;
  }
  now->next = *bytes;
  *bytes = now;
  return false;
}

static bool expect_race(const program *p) {
  static entry entries[STEPS * ALL * 16], *bytes[PLACES];
  uint32_t epoch[BLOCKS] = {0}, count = 0;
  memset(bytes, 0, sizeof bytes);
  for (int s = 0; s < STEPS; s++) {
    for (uint32_t t = 0; t < ALL; t++) {
      uint32_t word = p->word[s][t], block = t / THREADS, at = word >> 4;
      kind k = word & 15;
      if (k == BARRIER && t % THREADS == 0) epoch[block]++;
      if (k == NONE || k == BARRIER) continue;
      if (at >= BYTES) at += block * BYTES;
      for (uint32_t i = 0; i < KINDS[k].bytes; i++) {
        entries[count].access = (access){t, epoch[block], k};
        if (meets(&bytes[at + i], &entries[count++])) return true;
      }
    }
  }
  return false;
}

/* ---- the simulator ---- */

static bool found_race(const program *p, pg_ptr script, pg_ptr memory) {
  static pg_fault list[PG_FINDING_MAX];
  pg_ptr params[2] = {script, memory};
  pg_launch l = {.grid = {BLOCKS, 1, 1},
                 .block = {THREADS, 1, 1},
                 .params = params,
                 .param_bytes = sizeof params};
  bool race = false, fails = false; /* to the model weak writes are races */
  ok(ops()->upload(sim.device, script, p->word, sizeof p->word, NULL, &sim.error));
  ok(ops()->kernel(sim.device, sim.module, "play", &l.kernel, &sim.error));
  pg_code code = ops()->launch(sim.device, &l, NULL, &sim.error);
  int n = ops()->findings(sim.device, list, PG_FINDING_MAX, true);
  for (int i = 0; i < n; i++) {
    fails |= list[i].kind == PG_FAULT_RACE;
    race |= list[i].kind == PG_FAULT_RACE || list[i].kind == PG_FAULT_WEAK_WRITE;
    if (list[i].kind != PG_FAULT_RACE && list[i].kind != PG_FAULT_WEAK_READ &&
        list[i].kind != PG_FAULT_WEAK_WRITE)
      fail_msg("%s", list[i].text);
  }
  assert_int_equal(code != PG_OK, fails);
  return race;
}

static void agree(int workers, uint64_t seed, bool atomics) {
  pg_sim_options options = {.mode = PG_SIM_CHECK, .workers = workers, .seed = seed, .limit_s = 20};
  static program p;
  pg_ptr script, memory;
  int count[2] = {0};
  ok(pg_sim_open(&options, &sim.device, &sim.error));
  ok(ops()->load(sim.device, PTX, strlen(PTX), "play.ptx", &sim.module, &sim.error));
  ok(ops()->alloc(sim.device, sizeof p.word, &script, &sim.error));
  ok(ops()->alloc(sim.device, BYTES, &memory, &sim.error));
  ok(ops()->fill(sim.device, memory, 0, 1, BYTES, NULL, &sim.error));
  for (uint64_t i = 0; i < PROGRAMS; i++) {
    make(&p, i, atomics);
    bool want = expect_race(&p), got = found_race(&p, script, memory);
    if (want != got && !(atomics && want))
      fail_msg("program %d: %s", (int)i, want ? "a race was not found" : "there is no race");
    count[want]++;
  }
  ops()->close(sim.device);
  memset(&sim, 0, sizeof sim);
  /* Both outcomes are common, or this says little. */
  assert_true(count[0] > PROGRAMS / 5 && count[1] > PROGRAMS / 5);
}

static void test_races_are_found_and_nothing_else(void **state) {
  (void)state;
  agree(1, 0, false);
  agree(1, 3, false);
  agree(2, 0, false);
}

static void test_atomics_and_volatile_accesses_are_no_false_alarm(void **state) {
  (void)state;
  agree(1, 0, true);
  agree(2, 5, true);
}

/* 64 threads store their numbers to one word: all but the first meet the one before. */
static void test_a_cause_is_reported_once_with_its_number(void **state) {
  (void)state;
  pg_fault list[PG_FINDING_MAX];
  sim_open(PG_SIM_CHECK, 1, NULL);
  sim_load(".visible .entry all(.param .u64 p_to) { .reg .b32 %r<2>; .reg .b64 %rd<2>;\n"
           "ld.param.u64 %rd1, [p_to]; mov.u32 %r1, %tid.x; st.global.u32 [%rd1], %r1; ret; }\n");
  assert_int_equal(launch("all", 1, 64, 0, with(1, put(NULL, 4, "to"))), PG_LAUNCH);
  assert_int_equal(ops()->findings(sim.device, list, PG_FINDING_MAX, true), 1);
  assert_int_equal(list[0].times, 63);
  sim_close(NULL);
}

/* Of two warps each thread executes BODY on memory of words: what is found, and whether it is a
 * verdict. %r1 is the thread's number, %rd1 global and %rd2 shared memory; `written`: the words of
 * global memory had a value before. */
static pg_fault_kind found(const char *body, bool written, bool *failed) {
  static char ptx[2048];
  pg_fault list[PG_FINDING_MAX];
  snprintf(ptx, sizeof ptx,
           ".visible .entry play(.param .u64 p_to) { .reg .pred %%p<2>; .reg .b32 %%r<6>;\n"
           ".reg .b64 %%rd<6>; .shared .align 8 .b8 own[512];\n"
           "ld.param.u64 %%rd1, [p_to]; mov.u64 %%rd2, own; mov.u32 %%r1, %%tid.x;\n"
           "setp.eq.u32 %%p1, %%r1, 0; mul.wide.u32 %%rd3, %%r1, 4; add.u64 %%rd3, %%rd1, %%rd3;\n"
           "%s ret; }\n",
           body);
  sim_open(PG_SIM_CHECK, 1, NULL);
  sim_load(ptx);
  pg_ptr to = put(NULL, 512, "to");
  if (!written) ok(ops()->forget(sim.device, to, 512, &sim.error));
  *failed = launch("play", 1, 64, 0, with(1, to)) != PG_OK;
  int count = ops()->findings(sim.device, list, PG_FINDING_MAX, true);
  sim_close(NULL);
  return count > 0 ? list[0].kind : PG_FAULT_NONE;
}

static void test_outcomes_that_are_all_values_are_weak(void **state) {
  (void)state;
  static const struct {
    const char *body;
    bool written;
    pg_fault_kind want;
  } cases[] = {
      /* One value from all, in shared memory and in words of it; and two values. */
      {"st.shared.u32 [%rd2], 7;", true, PG_FAULT_WEAK_WRITE},
      {"st.global.u64 [%rd1], %rd1;", false, PG_FAULT_WEAK_WRITE},
      {"and.b32 %r2, %r1, 32; st.shared.u32 [%rd2], %r2;", true, PG_FAULT_RACE},
      {"st.global.v2.u32 [%rd1], {%r3, %r3};", true, PG_FAULT_RACE},
      /* Two values at last, or another thread's atomic. */
      {"st.global.u32 [%rd1], 7; st.global.u32 [%rd1], %r1;", true, PG_FAULT_RACE},
      {"@%p1 atom.global.add.u32 %r2, [%rd1], 1; st.global.u32 [%rd1], 7;", true, PG_FAULT_RACE},
      /* Who reads gets 0 or 7, where there was a 0 and nothing is to be waited for. */
      {"@%p1 st.global.u32 [%rd1], 7; ld.global.u32 %r2, [%rd1];", true, PG_FAULT_WEAK_WRITE},
      {"ld.global.u32 %r2, [%rd1]; @%p1 st.global.u32 [%rd1], 7;", true, PG_FAULT_WEAK_WRITE},
      {"@%p1 st.global.u32 [%rd1], 7; ld.global.u32 %r2, [%rd1];", false, PG_FAULT_RACE},
      {"@%p1 st.global.u32 [%rd1], 7; bar.warp.sync 0xffffffff; ld.global.u32 %r2, [%rd1];", true,
       PG_FAULT_RACE},
      {"@%p1 st.shared.u32 [%rd2], 7; ld.shared.u32 %r2, [%rd2];", true, PG_FAULT_RACE},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    bool failed;
    pg_fault_kind got = found(cases[i].body, cases[i].written, &failed);
    if (got != cases[i].want)
      fail_msg("%s: %s instead of %s", cases[i].body, pg_fault_name(got),
               pg_fault_name(cases[i].want));
    assert_int_equal(failed, got == PG_FAULT_RACE);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_races_are_found_and_nothing_else),
      cmocka_unit_test(test_atomics_and_volatile_accesses_are_no_false_alarm),
      cmocka_unit_test(test_a_cause_is_reported_once_with_its_number),
      cmocka_unit_test(test_outcomes_that_are_all_values_are_weak),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
