/* What timed samples wrote, and on which inputs: digests, the sample that is kept, contents that
 * come late. Over the simulator, whose kernels are real. */
#include "bench.h"

enum { N = 301 };

/* add(const int *x, int *y): y[i] = x[i] + 1, of N elements. mark(low, high, value): a word
 * wherever it is = value. */
static const char image[] =
    ".version 7.0\\n.target sm_70\\n.address_size 64\\n"
    ".visible .entry add(.param .u64 x, .param .u64 y){ .reg .b64 %rd<6>; .reg .b32 %r<6>;"
    "ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y]; mov.u32 %r1, %tid.x;"
    "mul.wide.u32 %rd3, %r1, 4; add.u64 %rd1, %rd1, %rd3; add.u64 %rd2, %rd2, %rd3;"
    "ld.global.u32 %r2, [%rd1]; add.u32 %r2, %r2, 1; st.global.u32 [%rd2], %r2; ret; }"
    ".visible .entry mark(.param .u32 low, .param .u32 high, .param .u64 value){"
    ".reg .b64 %rd<3>; .reg .b32 %r<3>; ld.param.u32 %r1, [low]; ld.param.u32 %r2, [high];"
    "ld.param.u64 %rd2, [value]; mov.b64 %rd1, {%r1, %r2}; st.global.u64 [%rd1], %rd2; ret; }";

#define LAUNCH "{'launch':'add','grid':1,'block':301,'args':[{'buffer':0},{'buffer':1}]}"

/* x has three versions, 100 v + i, of which the last comes later; there are four sets. */
static int setup_sim(void **state) {
  bench *b = calloc(1, sizeof *b);
  assert_non_null(b);
  b->runner = pg_runner_new(pg_device_open);
  pg_runner_share(b->runner, b->shared, SHARED);
  good(ask(b, "{'op':'open','device':'sim'}"));
  good(ask(b, "{'op':'load','image':'%s'}", image));
  for (int k = 0; k < 2; k++)
    for (int i = 0; i < N; i++) ((int *)(b->shared + 2048 * k))[i] = 1000 * k + i;
  good(ask(b, "{'op':'buffers','sets':4,'buffers':[{'name':'x','bytes':1204,'role':'input',"
              "'at':[0,2048,null]},{'name':'y','bytes':1204,'role':'output','judged':true},"
              "{'name':'rest','bytes':8,'role':'output'}]}"));
  *state = b;
  return 0;
}

static int teardown_sim(void **state) {
  bench *b = *state;
  pg_runner_free(b->runner);
  free(b);
  return 0;
}

/* splitmix64's mix of every word, with the runner's key; the second buffer is part 1. */
static uint64_t expected_digest(bench *b, const uint8_t *data, size_t bytes, uint64_t part) {
  const uint64_t *key = b->runner->digest.key;
  uint64_t sum = 0;
  for (size_t i = 0; i < bytes / 8 + bytes % 8; i++) {
    uint64_t z = 0;
    if (i < bytes / 8)
      memcpy(&z, data + 8 * i, 8);
    else
      z = data[bytes / 8 * 8 + i - bytes / 8];
    z = (z ^ key[0]) + i * 0x9e3779b97f4a7c15U;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
    z ^= key[1] + part;
    z = (z ^ z >> 27) * 0x94d049bb133111ebU;
    sum += z ^ z >> 31;
  }
  return sum;
}

static uint64_t number(const json_t *v) {
  uint64_t n = (uint64_t)json_integer_value(v);
  if (json_is_string(v)) assert_true(pg_parse_u64(json_string_value(v), &n));
  return n;
}

static uint64_t digest_of_run(bench *b, int set) {
  json_t *r = ask(b, "{'op':'run','set':%d,'digest':true,'plan':[" LAUNCH "]}", set);
  uint64_t digest = number(json_object_get(r, "digest"));
  good(r);
  return digest;
}

static const int *read_set(bench *b, int set) {
  good(ask(b, "{'op':'read','set':%d,'buffers':[{'index':1,'at':8192}]}", set));
  return (const int *)(b->shared + 8192);
}

static void a_digest_is_that_of_the_judged_results(void **state) {
  bench *b = *state;
  int want[N];
  for (int k = 0; k < 2; k++) {
    uint64_t digest = digest_of_run(b, k);
    for (int i = 0; i < N; i++) want[i] = 1000 * k + i + 1;
    assert_true(digest == expected_digest(b, (const uint8_t *)want, sizeof want, 1));
    assert_true(digest == digest_of_run(b, k)); /* whatever the poison of the rest */
  }
  assert_true(digest_of_run(b, 0) != digest_of_run(b, 1));
}

/* 4 N bytes are no whole number of words: the last bytes count, each in its place. */
static void every_byte_counts(void **state) {
  bench *b = *state;
  uint8_t bytes[13], changed[13];
  pg_digest *g = &b->runner->digest;
  pg_device *d = b->runner->device;
  pg_error e;
  uint64_t digest, other;
  pg_ptr at;
  digest_of_run(b, 0);
  for (int i = 0; i < 13; i++) bytes[i] = (uint8_t)(7 * i);
  assert_int_equal(d->ops->alloc(d, sizeof bytes, &at, &e), PG_OK);
  assert_int_equal(d->ops->upload(d, at, bytes, sizeof bytes, NULL, &e), PG_OK);
  assert_int_equal(pg_digest_of(g, at, sizeof bytes, &digest, NULL, &e), PG_OK);
  assert_true(digest == expected_digest(b, bytes, sizeof bytes, 0));
  for (size_t i = 0; i < sizeof bytes; i++) {
    memcpy(changed, bytes, sizeof bytes);
    changed[i] ^= 1;
    assert_int_equal(d->ops->upload(d, at, changed, sizeof bytes, NULL, &e), PG_OK);
    assert_int_equal(pg_digest_of(g, at, sizeof bytes, &other, NULL, &e), PG_OK);
    assert_true(other != digest && other == expected_digest(b, changed, sizeof bytes, 0));
  }
  d->ops->free(d, at, NULL);
}

static void the_first_sample_that_differs_is_kept(void **state) {
  bench *b = *state;
  unsigned long long zero = digest_of_run(b, 0), one = digest_of_run(b, 1);
  json_t *r = ask(b,
                  "{'op':'time','method':'cold','sets':[0,1,0,1],'warmup':1,'plan':[" LAUNCH "],"
                  "'right':['%llu','%llu'],'keep_in':3}",
                  zero, one);
  assert_int_equal(json_array_size(json_object_get(r, "differ")), 0);
  assert_null(json_object_get(r, "kept"));
  good(r);
  /* The digest of set 1 is called wrong, that of set 0 is not known. */
  r = ask(b,
          "{'op':'time','method':'cold','sets':[0,1,0,1],'plan':[" LAUNCH "],"
          "'right':[null,'%llu'],'keep_in':3}",
          one ^ 1);
  json_t *differ = json_object_get(r, "differ"), *kept = json_object_get(r, "kept");
  assert_int_equal(json_array_size(differ), 2);
  for (size_t i = 0; i < 2; i++)
    assert_int_equal(json_integer_value(json_array_get(differ, i)), 2 * i + 1);
  assert_int_equal(json_integer_value(json_object_get(kept, "sample")), 1);
  assert_int_equal(json_integer_value(json_object_get(kept, "set")), 1);
  good(r);
  for (int i = 0; i < N; i++) assert_int_equal(read_set(b, 3)[i], 1000 + i + 1);
}

/* Four samples, after each of which a kernel writes what is right for the first to slot `slot`. */
static json_t *time_and_mark(bench *b, size_t slot, unsigned long long zero,
                             unsigned long long one) {
  pg_ptr at = b->runner->digest.slots + 8 * slot;
  return ask(b,
             "{'op':'time','method':'cold','sets':[0,1,0,1],'plan':[" LAUNCH ",{'launch':'mark',"
             "'grid':1,'block':1,'args':[{'u':'%llu'},{'u':'%llu'},{'u':'%llu'}]}],"
             "'right':['%llu','%llu']}",
             (unsigned long long)(at & UINT32_MAX), (unsigned long long)(at >> 32), zero, zero,
             one);
}

/* A digest is sealed before the candidate runs again. Beside them nothing is. */
static void a_digest_that_is_written_afterwards_is_seen(void **state) {
  bench *b = *state;
  unsigned long long zero = digest_of_run(b, 0), one = digest_of_run(b, 1);
  assert_int_equal(pg_digest_need(&b->runner->digest, b->runner->device, 4, NULL), PG_OK);
  json_t *r = time_and_mark(b, b->runner->digest.count + 1, zero, one);
  assert_int_equal(json_array_size(json_object_get(r, "differ")), 0);
  assert_true(json_is_null(json_object_get(r, "canary")));
  good(r);
  r = time_and_mark(b, 0, zero, one);
  assert_int_equal(json_array_size(json_object_get(r, "differ")), 0); /* the lie looks right */
  const json_t *canary = json_object_get(r, "canary");
  assert_string_equal(json_string_value(json_object_get(canary, "side")), "master");
  good(r);
}

static void a_sample_that_was_chosen_is_kept(void **state) {
  bench *b = *state;
  json_t *r = ask(b, "{'op':'time','method':'cold','sets':[1,0,1],'plan':[" LAUNCH "],'keep':1,"
                     "'keep_in':3}");
  json_t *kept = json_object_get(r, "kept");
  assert_null(json_object_get(r, "differ"));
  assert_int_equal(json_integer_value(json_object_get(kept, "sample")), 1);
  assert_int_equal(json_integer_value(json_object_get(kept, "set")), 0);
  good(r);
  for (int i = 0; i < N; i++) assert_int_equal(read_set(b, 3)[i], i + 1);
}

static void each_launch_of_a_batch_has_a_digest(void **state) {
  bench *b = *state;
  unsigned long long zero = digest_of_run(b, 0), one = digest_of_run(b, 1);
  json_t *r = ask(b,
                  "{'op':'time','method':'batch','batch':2,'sets':[0,1,1,0],'plan':[" LAUNCH "],"
                  "'right':['%llu','%llu'],'keep_in':3}",
                  zero, one + 1);
  assert_int_equal(json_array_size(json_object_get(r, "differ")), 2);
  json_t *kept = json_object_get(r, "kept");
  assert_int_equal(json_integer_value(json_object_get(kept, "sample")), 0);
  assert_int_equal(json_integer_value(json_object_get(kept, "set")), 1);
  good(r);
  for (int i = 0; i < N; i++) assert_int_equal(read_set(b, 3)[i], 1000 + i + 1);
}

/* Two hot samples; what `buffer` says comes as contents of `version` right before the second. */
static json_t *time_late(bench *b, int version, const char *buffer) {
  return ask(b,
             "{'op':'time','method':'hot','sets':[0,2],'plan':[" LAUNCH "],"
             "'renew':{'sample':1,'version':%d,'buffers':[{%s}]}}",
             version, buffer);
}

static void contents_may_come_late(void **state) {
  bench *b = *state;
  good(ask(b, "{'op':'run','set':2,'plan':[" LAUNCH "]}"));
  for (int i = 0; i < N; i++) assert_int_equal(read_set(b, 2)[i], 1); /* zeros before */
  for (int i = 0; i < N; i++) ((int *)(b->shared + 4096))[i] = 7 * i;
  json_t *r = time_late(b, 2, "'index':0,'at':4096");
  assert_int_equal(json_array_size(json_object_get(r, "inputs_changed")), 0);
  good(r);
  for (int i = 0; i < N; i++) assert_int_equal(read_set(b, 2)[i], 7 * i + 1);
  bad(time_late(b, 3, "'index':0,'at':0"), "invalid", "x has no contents of version 3");
  bad(time_late(b, 0, "'index':1,'at':0"), "invalid", "y has no contents");
  bad(time_late(b, 0, "'index':0,'at':65000"), "range", "outside");
  bad(time_late(b, 0, "'index':0"), "invalid", "\"at\"");
}

/* A copy that a kernel has found and changed would be put back as if it were right. */
static void copies_of_variables_are_hashed(void **state) {
  bench *b = *state;
  pg_device *d = b->runner->device;
  pg_globals g;
  pg_error e;
  json_t *missing = json_array(), *names = json_pack("[s,s]", "kept", "other");
  pg_module *module;
  bool changed = true;
  uint8_t byte = 9;
  static const char variables[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                                  ".global .u32 kept[3] = {1, 2, 3};\n.global .u64 other;\n";
  digest_of_run(b, 0);
  assert_int_equal(d->ops->load(d, variables, sizeof variables - 1, "v.ptx", &module, &e), PG_OK);
  assert_int_equal(
      pg_globals_keep(&g, d, b->runner->stream, &b->runner->digest, module, names, missing, &e),
      PG_OK);
  assert_int_equal(g.count, 2);
  assert_int_equal(pg_globals_changed(&g, &changed, &e), PG_OK);
  assert_false(changed);
  assert_int_equal(d->ops->upload(d, g.list[0].copy + 11, &byte, 1, NULL, &e), PG_OK);
  assert_int_equal(pg_globals_changed(&g, &changed, &e), PG_OK);
  assert_true(changed);
  pg_globals_free(&g);
  d->ops->unload(d, module);
  json_decref(missing);
  json_decref(names);
}

static void what_is_asked_about_samples_is_checked(void **state) {
  bench *b = *state;
  static const char *cases[][2] = {
      {"'sets':[0,1],'keep':2,'keep_in':3", "from 0 to 1, got 2"},
      {"'sets':[0,1],'keep':1", "\"keep\" needs \"keep_in\""},
      {"'sets':[0,1],'keep_in':4", "from 0 to 3, got 4"},
      {"'sets':[0,1],'right':[1.5]", "digests or null, got 1.5"},
      {"'sets':[0,1],'right':['x']", "digests or null"},
      {"'sets':[0,1],'right':7", "\"right\": expected a list"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    bad(ask(b, "{'op':'time','method':'hot','plan':[" LAUNCH "],%s}", cases[i][0]), "invalid",
        cases[i][1]);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_sim, teardown_sim)
  const struct CMUnitTest tests[] = {
      TEST(a_digest_is_that_of_the_judged_results),
      TEST(every_byte_counts),
      TEST(a_digest_that_is_written_afterwards_is_seen),
      TEST(the_first_sample_that_differs_is_kept),
      TEST(a_sample_that_was_chosen_is_kept),
      TEST(each_launch_of_a_batch_has_a_digest),
      TEST(contents_may_come_late),
      TEST(copies_of_variables_are_hashed),
      TEST(what_is_asked_about_samples_is_checked),
  };
  return cmocka_run_group_tests_name("samples", tests, NULL, NULL);
}
