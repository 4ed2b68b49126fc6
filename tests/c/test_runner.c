/* The runner's requests, in-process over a fake device: modules, buffers, guards, faults, bad
 * input. Expected values are formulas; the fake checks every access of the runner by itself. */
#include "bench.h"

/* ---- host code of a task ---- */

typedef struct library {
  json_t *given; /* what the runner said to "prepare" */
  int calls, set;
  bool missing;
} library;

static pg_code library_prepare(void *state, const json_t *request, const json_t *given,
                               json_t *reply, pg_error *error) {
  library *l = state;
  (void)request;
  if (l->missing) return pg_fail(error, PG_ENVIRONMENT, "no such library");
  json_decref(l->given);
  l->given = json_deep_copy(given);
  json_object_set_new(reply, "library", json_string("fake"));
  return PG_OK;
}

/* Writes 42 to the first byte of buffer 1 of the set. */
static pg_code library_call(void *state, int set, pg_error *error) {
  library *l = state;
  (void)error;
  json_t *addresses = json_array_get(json_object_get(l->given, "sets"), (size_t)set);
  uint8_t *to = (uint8_t *)(uintptr_t)json_integer_value(json_array_get(addresses, 1));
  *to = 42;
  l->calls++;
  l->set = set;
  return PG_OK;
}

static void an_expert_is_prepared_once_and_called_for_each_set(void **state) {
  bench *b = *state;
  library l = {0};
  const pg_expert expert = {.state = &l, .prepare = library_prepare, .call = library_call};
  make_buffers(b, 2);
  bad(ask(b, "{'op':'prepare'}"), "unsupported", "runs no host code");
  pg_runner_trust(b->runner, &expert);
  bad(ask(b, "{'op':'run','set':0,'plan':[{'expert':true}]}"), "invalid", "no host code is ready");
  good(ask(b, "{'op':'prepare'}"));
  assert_int_equal(json_integer_value(json_object_get(l.given, "stream")), 77);
  assert_int_equal(json_array_size(json_object_get(l.given, "sets")), 2);
  good(ask(b, "{'op':'run','set':1,'plan':[{'expert':true}]}"));
  assert_int_equal(l.calls, 1);
  assert_int_equal(l.set, 1);
  good(ask(b, "{'op':'read','set':1,'buffers':[{'index':1,'at':1024}]}"));
  assert_int_equal(b->shared[1024], 42);
  pg_ptr told = pg_buffers_at(&b->runner->buffers, 1, 1);
  good(ask(b, "{'op':'time','method':'cold','sets':[0,1],'plan':[{'expert':true}],'move':true}"));
  assert_int_equal(l.calls, 3);
  assert_true(pg_buffers_at(&b->runner->buffers, 1, 1) == told);
  bad(ask(b, "{'op':'run','set':0,'plan':[{'expert':true,'kernel':1}]}"), "invalid", "kernel");
  json_decref(l.given);
}

static void an_expert_without_its_library_is_not_ready(void **state) {
  bench *b = *state;
  library l = {0};
  const pg_expert expert = {.state = &l, .prepare = library_prepare, .call = library_call};
  make_buffers(b, 1);
  pg_runner_trust(b->runner, &expert);
  good(ask(b, "{'op':'prepare'}"));
  make_buffers(b, 1); /* whose addresses nobody has told it */
  bad(ask(b, "{'op':'run','set':0,'plan':[{'expert':true}]}"), "invalid", "no host code is ready");
  l.missing = true;
  bad(ask(b, "{'op':'prepare'}"), "environment", "no such library");
  bad(ask(b, "{'op':'run','set':0,'plan':[{'expert':true}]}"), "invalid", "no host code is ready");
  json_decref(l.given);
}

/* ---- opening and loading ---- */

static void open_says_what_the_device_is(void **state) {
  bench *b = *state;
  json_t *r = ask(b, "{'op':'open','device':'fake:gpu','limit_s':1.5}");
  json_t *info = json_object_get(r, "info");
  assert_string_equal(json_string_value(json_object_get(info, "name")), "a fake");
  assert_int_equal(json_integer_value(json_object_get(info, "l2_bytes")), FAKE_L2);
  assert_true(json_is_true(json_object_get(info, "gpu_clock")));
  assert_true(device(b)->limit_s == 1.5);
  good(r);
}

static void requests_need_what_comes_before_them(void **state) {
  (void)state;
  bench b = {.runner = pg_runner_new(fake_open)};
  bad(ask(&b, "{'op':'load','image':'fake'}"), "invalid", "no device is open");
  bad(ask(&b, "{'op':'open','device':'nonsense:9'}"), "not_found", "nonsense:9");
  bad(ask(&b, "{'op':'load','image':'fake'}"), "invalid", "no device is open");
  good(ask(&b, "{'op':'open','device':'fake'}"));
  bad(ask(&b, "{'op':'run','set':0,'plan':[]}"), "invalid", "there are no buffers");
  bad(ask(&b, "{'op':'time','method':'cold','sets':[0],'plan':[]}"), "invalid", "no buffers");
  bad(ask(&b, "{'op':'buffers','sets':1,'buffers':[{'name':'x','bytes':4,'role':'input','at':0}]}"),
      "range", "the 0 bytes of shared memory");
  good(ask(&b, "{'op':'buffers','sets':1,'buffers':[]}"));
  bad(ask(&b, "{'op':'run','set':0,'plan':[%s]}", saxpy), "invalid", "no module is loaded");
  bad(ask(&b, "{'op':'fly'}"), "not_found", "\"fly\"");
  bad(ask(&b, "{'op':7}"), "invalid", "\"op\": expected a string, got 7");
  bad(ask(&b, "[]"), "invalid", "\"op\": expected a string, got nothing");
  pg_runner_free(b.runner);
}

static void load_lists_kernels_with_their_parameters(void **state) {
  json_t *r = ask(*state, "{'op':'load','image':'fake'}");
  json_t *list = json_object_get(r, "kernels"), *k = json_array_get(list, 0);
  json_t *params = json_object_get(k, "params");
  assert_int_equal(json_array_size(list), FAKE_KERNELS);
  assert_string_equal(json_string_value(json_object_get(k, "name")), "saxpy");
  assert_int_equal(json_array_size(params), 4);
  json_t *a = json_array_get(params, 2);
  assert_string_equal(json_string_value(json_object_get(a, "kind")), "f");
  assert_int_equal(json_integer_value(json_object_get(a, "size")), 4);
  assert_int_equal(json_integer_value(json_object_get(k, "registers")), 10);
  good(r);
}

/* Names of template instances run to thousands of letters; two may differ in the last only. */
static void long_names_of_kernels_are_told_whole(void **state) {
  (void)state;
  enum { LETTERS = 1000 };
  char name[2][LETTERS + 1];
  bench b = {.runner = pg_runner_new(pg_device_open)};
  for (int i = 0; i < 2; i++) {
    memset(name[i], 'k', LETTERS);
    name[i][LETTERS - 1] = (char)('a' + i);
    name[i][LETTERS] = 0;
  }
  good(ask(&b, "{'op':'open','device':'sim'}"));
  good(ask(&b, "{'op':'buffers','sets':1,'buffers':[]}"));
  json_t *r = ask(&b,
                  "{'op':'load','image':'.version 7.0\\n.target sm_70\\n.address_size 64\\n"
                  ".visible .entry %s() { ret; }\\n.visible .entry %s() { trap; }\\n'}",
                  name[0], name[1]);
  for (size_t i = 0; i < 2; i++) {
    json_t *kernel = json_array_get(json_object_get(r, "kernels"), i);
    assert_string_equal(json_string_value(json_object_get(kernel, "name")), name[i]);
  }
  good(r);
  const char *run = "{'op':'run','set':0,'plan':[{'launch':'%s','grid':1,'block':1,'args':[]}]}";
  good(ask(&b, run, name[0]));
  bad(ask(&b, run, name[1]), "launch_error", "trap");
  pg_runner_free(b.runner);
}

static void a_module_that_does_not_load_leaves_the_old_one(void **state) {
  bench *b = *state;
  make_buffers(b, 1);
  json_t *r = ask(b, "{'op':'load','image':'junk','name':'bad.ptx'}");
  assert_string_equal(error_field(r, "where"), "bad.ptx:1");
  bad(r, "syntax", "not an image");
  assert_int_equal(device(b)->live_modules, 1);
  good(ask(b, "{'op':'run','set':0,'plan':[%s]}", saxpy));
  good(ask(b, "{'op':'load','image':'fake2'}"));
  assert_int_equal(device(b)->live_modules, 1);
}

/* ---- buffers ---- */

static int count_names(const fake *f, const char *name, size_t bytes, bool read_only) {
  int n = 0;
  for (int i = 0; i < f->name_count; i++)
    n += strcmp(f->names[i].name, name) == 0 && f->names[i].bytes == bytes &&
         f->names[i].read_only == read_only;
  return n;
}

static void inputs_exist_once_and_state_and_outputs_once_a_set(void **state) {
  bench *b = *state;
  make_buffers(b, 3);
  assert_int_equal(count_names(device(b), "x", 32, true), 1);
  assert_int_equal(count_names(device(b), "t", 32, false), 3);
  assert_int_equal(count_names(device(b), "z", 3, false), 3);
  assert_int_equal(count_names(device(b), "y", 7, false), 3);
  assert_int_equal(device(b)->name_count, 10);
  assert_int_equal(device(b)->live_blocks, 10 + 1 + 1); /* the master of t, the bank of zones */
}

static void a_run_computes_and_read_brings_it_back(void **state) {
  bench *b = *state;
  make_buffers(b, 2);
  json_t *r = ask(b, "{'op':'run','set':1,'plan':[%s],'poison':3735928559,'seed':5}", saxpy);
  assert_true(json_is_null(json_object_get(r, "canary")));
  assert_int_equal(json_array_size(json_object_get(r, "inputs_changed")), 0);
  assert_true(json_real_value(json_object_get(r, "wall_us")) >= 0);
  assert_true(json_is_false(json_object_get(r, "gpu_clock")));
  json_t *counters = json_object_get(r, "counters");
  assert_int_equal(json_integer_value(json_object_get(counters, "launches")), 1);
  good(r);
  good(ask(b, "{'op':'read','set':1,'buffers':[{'index':1,'at':1024}]}"));
  const float *t = (const float *)(b->shared + 1024);
  for (int i = 0; i < 8; i++) assert_true(t[i] == 100.0f * (float)i + 2.5f * (float)i);
}

static void every_run_starts_from_the_initial_state_and_poisoned_outputs(void **state) {
  static const uint8_t poisoned[7] = {0x44, 0x33, 0x22, 0x11, 0x44, 0x33, 0x22};
  static const uint8_t filled[3] = {90, 90, 90};
  bench *b = *state;
  make_buffers(b, 2);
  for (int round = 0; round < 2; round++) {
    good(ask(b, "{'op':'run','set':0,'plan':[%s,{'memset':3,'byte':1},{'memset':2,'byte':9}]}",
             saxpy));
    memset(b->shared, 0, 1024); /* the masters do not depend on shared memory any more */
    good(ask(b, "{'op':'run','set':0,'plan':[],'poison':%u}", 0x11223344U));
    good(ask(b, "{'op':'read','set':0,'buffers':[{'index':1,'at':1024},{'index':2,'at':2048},"
                "{'index':3,'at':4096}]}"));
    const float *t = (const float *)(b->shared + 1024);
    for (int i = 0; i < 8; i++) assert_true(t[i] == 100.0f * (float)i);
    assert_memory_equal(b->shared + 2048, filled, 3);
    assert_memory_equal(b->shared + 4096, poisoned, 7);
  }
}

static void sets_are_independent(void **state) {
  bench *b = *state;
  make_buffers(b, 2);
  good(ask(b, "{'op':'run','set':0,'plan':[]}"));
  good(ask(b, "{'op':'run','set':1,'plan':[%s]}", saxpy));
  good(ask(b, "{'op':'read','set':0,'buffers':[{'index':1,'at':1024}]}"));
  assert_true(((const float *)(b->shared + 1024))[7] == 700.0f);
}

/* x and t have two versions each: set s starts from version s % 2. */
static void sets_take_turns_at_the_versions_of_the_contents(void **state) {
  bench *b = *state;
  for (int i = 0; i < 8; i++) {
    ((float *)b->shared)[i] = 1;
    ((float *)(b->shared + 64))[i] = 10;
    ((float *)(b->shared + 128))[i] = (float)i;
    ((float *)(b->shared + 192))[i] = 20;
  }
  good(ask(b, "{'op':'buffers','sets':3,'buffers':[{'name':'x','bytes':32,'role':'input','at':"
              "[0,128]},{'name':'t','bytes':32,'role':'state','at':[64,192]}]}"));
  assert_int_equal(count_names(device(b), "x", 32, true), 2);
  assert_int_equal(count_names(device(b), "t", 32, false), 3);
  for (int set = 0; set < 3; set++) {
    good(ask(b, "{'op':'run','set':%d,'plan':[%s]}", set, saxpy));
    good(ask(b, "{'op':'read','set':%d,'buffers':[{'index':1,'at':1024}]}", set));
    const float *t = (const float *)(b->shared + 1024);
    for (int i = 0; i < 8; i++) assert_true(t[i] == (set == 1 ? 20 + 2.5f * (float)i : 10 + 2.5f));
  }
  json_t *r = ask(b, "{'op':'run','set':1,'plan':[{'launch':'wild','grid':[1],'block':[1],'args':"
                     "[{'buffer':0},{'i':3}]}]}");
  json_t *changed = json_object_get(r, "inputs_changed");
  assert_string_equal(json_string_value(json_array_get(changed, 0)), "x");
  good(r);
}

/* A version that is left open holds zeros until its contents come, which is right before a sample:
 * the one before has not seen them. */
static void contents_come_right_before_a_sample(void **state) {
  static const char timed[] = "'op':'time','method':'cold','sets':[1,1],'plan':[{'copy':[1,0]}]";
  bench *b = *state;
  float *shared = (float *)b->shared;
  shared[16] = 3;
  shared[24] = 4;
  good(ask(b, "{'op':'buffers','sets':3,'buffers':["
              "{'name':'x','bytes':32,'role':'input','at':[0,null]},"
              "{'name':'y','bytes':32,'role':'output','judged':true}]}"));
  for (int at = 64; at <= 96; at += 32) {
    good(ask(b,
             "{%s,'keep':0,'keep_in':2,"
             "'renew':{'sample':1,'version':1,'buffers':[{'index':0,'at':%d}]}}",
             timed, at));
    for (int set = 1; set <= 2; set++)
      good(ask(b, "{'op':'read','set':%d,'buffers':[{'index':1,'at':%d}]}", set, 1024 * set));
    assert_true(shared[256] == shared[at / 4]);
    assert_true(shared[512] == (at == 64 ? 0 : 3)); /* what came the last time */
  }
  bad(ask(b, "{%s,'renew':{'sample':2,'version':1,'buffers':[]}}", timed), "invalid",
      "from 0 to 1");
  bad(ask(b, "{%s,'renew':{'sample':0,'version':2,'buffers':[{'index':0,'at':0}]}}", timed),
      "invalid", "x has no contents of version 2");
  bad(ask(b, "{%s,'renew':1}", timed), "invalid", "expected an object");
}

static void empty_buffers_are_buffers(void **state) {
  bench *b = *state;
  good(ask(
      b,
      "{'op':'buffers','sets':2,'buffers':[{'name':'x','bytes':0,'role':'input','at':65536},"
      "{'name':'t','bytes':0,'role':'state','at':65536},{'name':'y','bytes':0,'role':'output'}]}"));
  good(ask(b, "{'op':'run','set':1,'plan':[{'memset':2},{'copy':[2,0]}]}"));
  good(ask(b, "{'op':'read','set':1,'buffers':[{'index':2,'at':65536}]}"));
  good(ask(b, "{'op':'time','method':'cold','sets':[0,1],'plan':[]}"));
}

static void too_much_memory_is_said_and_nothing_stays(void **state) {
  (void)state;
  bench *b = new_bench("fake:small"); /* 1 MiB */
  bad(ask(b, "{'op':'buffers','sets':8,'buffers':[{'name':'y','bytes':1000000,'role':'output'}]}"),
      "out_of_memory", "8 sets of 1 buffers need 8131072 bytes");
  assert_int_equal(device(b)->live_blocks, 0);
  /* fits by the sum, but something else has taken a part of the device */
  device(b)->limit = 900000;
  b->runner->device->ops = &fake_ops;
  pg_ptr other;
  assert_int_equal(fake_alloc(b->runner->device, 500000, &other, NULL), PG_OK);
  bad(ask(b, "{'op':'buffers','sets':4,'buffers':[{'name':'y','bytes':150000,'role':'output'}]}"),
      "out_of_memory", "were free and taken");
  assert_int_equal(device(b)->live_blocks, 1);
  assert_int_equal(fake_free(b->runner->device, other, NULL), PG_OK);
  free_bench(b);
}

static void contents_must_lie_in_shared_memory(void **state) {
  static const char *places[] = {"65537", "65536", "65505", "9223372036854775807"};
  bench *b = *state;
  for (int i = 0; i < 4; i++) {
    json_t *r = ask(b,
                    "{'op':'buffers','sets':1,'buffers':[{'name':'a','bytes':0,'role':'output'},"
                    "{'name':'x','bytes':32,'role':'input','at':%s}]}",
                    places[i]);
    assert_string_equal(error_field(r, "where"), "buffers[1] x");
    bad(r, "range", "outside the 65536 bytes");
    make_buffers(b, 1);
    bad(ask(b, "{'op':'read','set':0,'buffers':[{'index':0,'at':%s}]}", places[i]), "range",
        "outside the 65536 bytes");
  }
  bad(ask(b, "{'op':'read','set':0,'buffers':[{'index':0,'at':-1}]}"), "invalid", "got -1");
  bad(ask(b, "{'op':'read','set':0,'buffers':[{'index':4,'at':0}]}"), "invalid", "from 0 to 3");
  bad(ask(b, "{'op':'read','set':1,'buffers':[]}"), "invalid", "from 0 to 0");
}

static void descriptions_of_buffers_are_checked(void **state) {
  static const struct {
    const char *spec, *code, *words;
  } cases[] = {
      {"{'name':'x','bytes':-1,'role':'output'}", "invalid", "\"bytes\": expected an integer"},
      {"{'name':'x','bytes':1e300,'role':'output'}", "invalid", "\"bytes\": expected an integer"},
      {"{'name':'x','bytes':70368744177665,'role':'output'}", "invalid", "\"bytes\""},
      {"{'name':'x','bytes':70368744177664,'role':'output'}", "out_of_memory", "fake has"},
      {"{'name':'','bytes':1,'role':'output'}", "range", "1 to 63 bytes"},
      {"{'bytes':1,'role':'output'}", "invalid", "\"name\": expected a string, got nothing"},
      {"{'name':'x','bytes':1,'role':'victim'}", "invalid",
       "input, state, output or scratch, got \"victim\""},
      {"{'name':'x','bytes':1,'role':'input'}", "invalid", "either \"at\" or \"fill\""},
      {"{'name':'x','bytes':1,'role':'state','at':0,'fill':0}", "invalid", "either"},
      {"{'name':'x','bytes':1,'role':'state','fill':256}", "invalid", "from 0 to 255, got 256"},
      {"{'name':'x','bytes':1,'role':'output','fill':0}", "invalid", "neither"},
      {"{'name':'x','bytes':1,'role':'output','at':[0]}", "invalid", "neither"},
      {"{'name':'x','bytes':1,'role':'input','at':[]}", "range", "1 to 17 versions, got 0"},
      {"{'name':'x','bytes':1,'role':'input','at':[0,-1]}", "invalid", "got -1"},
      {"{'name':'x','bytes':1,'role':'input','at':'0'}", "invalid", "offsets >= 0"},
      {"{'name':'x','bytes':9,'role':'input','at':[0,65528]}", "range", "lie outside"},
      {"{'name':'x','bytes':1,'role':'input','at':[0,1]},"
       "{'name':'t','bytes':1,'role':'state','at':[0,1,2]}",
       "invalid", "3 versions, where buffers before have 2"},
      {"{'name':'x','bytes':1,'role':'output','size':0}", "invalid", "unknown field \"size\""},
      {"17", "invalid", "expected an object"},
  };
  bench *b = *state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    bad(ask(b, "{'op':'buffers','sets':1,'buffers':[%s]}", cases[i].spec), cases[i].code,
        cases[i].words);
    assert_int_equal(device(b)->live_blocks, 0);
  }
  bad(ask(b, "{'op':'buffers','sets':0,'buffers':[]}"), "invalid", "from 1 to 256, got 0");
  bad(ask(b, "{'op':'buffers','sets':1}"), "invalid", "\"buffers\": expected a list");
  bad(ask(b, "{'op':'buffers','sets':1,'buffers':[{'name':'x','bytes':1,'role':'output'},"
             "{'name':'x','bytes':1,'role':'output'}]}"),
      "invalid", "two buffers are called x");
}

/* ---- guards ---- */

static const struct {
  int buffer;
  const char *name;
  long offset; /* of the byte changed, from the start of the buffer */
  const char *side;
  long distance;
} writes[] = {
    {3, "y", 7, "after", 0},          {3, "y", 7 + 4095, "after", 4095}, {3, "y", -1, "before", 1},
    {3, "y", -4096, "before", 4096},  {0, "x", 32, "after", 0},          {0, "x", -1, "before", 1},
    {1, "t", 32 + 100, "after", 100}, {2, "z", 3, "after", 0},
};

static void check_canary(json_t *r, int i, int set) {
  json_t *c = json_object_get(r, "canary");
  assert_string_equal(json_string_value(json_object_get(c, "buffer")), writes[i].name);
  assert_string_equal(json_string_value(json_object_get(c, "side")), writes[i].side);
  assert_int_equal(json_integer_value(json_object_get(c, "offset")), writes[i].distance);
  assert_int_equal(json_integer_value(json_object_get(c, "set")), writes[i].buffer == 0 ? 0 : set);
  good(r);
}

static void a_write_beside_a_buffer_is_found(void **state) {
  bench *b = *state;
  make_buffers(b, 2);
  for (int i = 0; i < (int)(sizeof writes / sizeof *writes); i++) {
    char step[256];
    snprintf(step, sizeof step,
             "{'launch':'wild','grid':[1],'block':[1],'args':[{'buffer':%d},{'i':%ld}]}",
             writes[i].buffer, writes[i].offset);
    check_canary(ask(b, "{'op':'run','set':1,'plan':[%s],'seed':%d}", step, i), i, 1);
    check_canary(ask(b, "{'op':'time','method':'cold','sets':[1],'plan':[%s]}", step), i, 1);
    json_t *r = ask(b, "{'op':'run','set':1,'plan':[],'seed':%d}", i);
    assert_true(json_is_null(json_object_get(r, "canary"))); /* zones are written afresh */
    good(r);
  }
}

/* What is in them and what nobody has looked at yet come along; nothing is left behind. */
static void buffers_move_before_samples(void **state) {
  bench *b = *state;
  const pg_buffers *buffers = &b->runner->buffers;
  make_buffers(b, 2);
  good(ask(b, "{'op':'run','set':1,'plan':[%s]}", saxpy));
  good(ask(b, "{'op':'time','method':'cold','sets':[0],'guards':false,'plan':[{'launch':'wild',"
              "'grid':[1],'block':[1],'args':[{'buffer':3},{'i':7}]}]}"));
  pg_ptr t = pg_buffers_at(buffers, 1, 1), y = pg_buffers_at(buffers, 3, 0);
  int blocks = device(b)->live_blocks;
  device(b)->left = 0;
  json_t *r = ask(b, "{'op':'time','method':'cold','sets':[0],'plan':[],'move':true}");
  json_t *c = json_object_get(r, "canary");
  assert_string_equal(json_string_value(json_object_get(c, "buffer")), "y");
  assert_string_equal(json_string_value(json_object_get(c, "side")), "after");
  good(r);
  assert_true(pg_buffers_at(buffers, 1, 1) != t && pg_buffers_at(buffers, 3, 0) != y);
  assert_int_equal(device(b)->left, 0);
  assert_int_equal(device(b)->live_blocks, blocks);
  good(ask(b, "{'op':'read','set':1,'buffers':[{'index':1,'at':1024}]}"));
  for (int i = 0; i < 8; i++)
    assert_true(((float *)(b->shared + 1024))[i] == 100.0f * (float)i + 2.5f * (float)i);
  good(ask(b, "{'op':'run','set':0,'plan':[]}")); /* from masters that moved, too */
  t = pg_buffers_at(buffers, 1, 1);
  assert_int_equal(pg_buffers_move(&b->runner->buffers, 1000, NULL), PG_OK); /* needs more */
  device(b)->limit = device(b)->live_bytes + 1000;
  good(ask(b, "{'op':'time','method':'cold','sets':[0],'plan':[],'move':true}")); /* no room */
  assert_true(pg_buffers_at(buffers, 1, 1) == t);
  assert_int_equal(device(b)->live_blocks, blocks);
}

static void canaries_follow_the_seed_and_differ_between_zones(void **state) {
  bench *b = *state;
  uint8_t first[PG_ZONE];
  make_buffers(b, 1);
  good(ask(b, "{'op':'run','set':0,'plan':[],'seed':1}"));
  const uint8_t *before = (const uint8_t *)(uintptr_t)b->runner->buffers.list[3].base[0];
  const uint8_t *after = before + PG_ZONE + 7;
  memcpy(first, before, PG_ZONE);
  assert_memory_not_equal(before, after, PG_ZONE);
  good(ask(b, "{'op':'run','set':0,'plan':[],'seed':2}"));
  assert_memory_not_equal(before, first, PG_ZONE);
  good(ask(b, "{'op':'run','set':0,'plan':[],'seed':'1'}"));
  assert_memory_equal(before, first, PG_ZONE);
  good(ask(b, "{'op':'run','set':0,'plan':[]}")); /* without a seed: random */
  assert_memory_not_equal(before, first, PG_ZONE);
}

static void a_changed_input_is_named(void **state) {
  bench *b = *state;
  make_buffers(b, 1);
  for (int byte = 0; byte < 32; byte += 31) {
    json_t *r = ask(b,
                    "{'op':'run','set':0,'plan':[{'launch':'wild','grid':[1],'block':[1],"
                    "'args':[{'buffer':0},{'i':%d}]}]}",
                    byte);
    json_t *list = json_object_get(r, "inputs_changed");
    assert_int_equal(json_array_size(list), 1);
    assert_string_equal(json_string_value(json_array_get(list, 0)), "x");
    good(r);
    make_buffers(b, 1);
  }
}

static void a_changed_master_is_found(void **state) {
  bench *b = *state;
  make_buffers(b, 1);
  json_t *r = ask(b, "{'op':'run','set':0,'plan':[{'launch':'spoil','grid':[1],'block':[1],"
                     "'args':[{'i':32}]}]}");
  json_t *c = json_object_get(r, "canary");
  assert_string_equal(json_string_value(json_object_get(c, "buffer")), "t");
  assert_string_equal(json_string_value(json_object_get(c, "side")), "master");
  good(r);
}

/* ---- faults ---- */

static const char trap[] = "{'launch':'trap','grid':[1],'block':[1],'args':[]}";

static void a_fault_comes_with_all_that_is_known(void **state) {
  bench *b = *state;
  make_buffers(b, 1);
  json_t *r = ask(b, "{'op':'run','set':0,'plan':[%s]}", trap);
  json_t *f = json_object_get(r, "fault");
  assert_string_equal(json_string_value(json_object_get(f, "kind")), "out_of_bounds");
  assert_string_equal(json_string_value(json_object_get(f, "allocation")), "y");
  assert_string_equal(json_string_value(json_object_get(f, "file")), "trap.cu");
  assert_int_equal(json_integer_value(json_object_get(f, "line")), 7);
  assert_int_equal(json_integer_value(json_array_get(json_object_get(f, "thread"), 2)), 6);
  assert_int_equal(json_integer_value(json_object_get(f, "distance")), 4);
  assert_string_equal(json_string_value(json_object_get(f, "address")), "18446744073709551615");
  bad(r, "launch_error", "kernel trap was stopped");
  good(ask(b, "{'op':'run','set':0,'plan':[%s]}", saxpy)); /* a simulator goes on */
  r = ask(b, "{'op':'time','method':'cold','sets':[0],'plan':[%s]}", trap);
  assert_non_null(json_object_get(r, "fault"));
  bad(r, "launch_error", "stopped");
  r = ask(b,
          "{'op':'run','set':0,'plan':[{'launch':'nothing','grid':[1],'block':[9999],'args':[]}]}");
  bad(r, "launch_error", "too large");
}

static void a_gpu_that_faulted_answers_no_more(void **state) {
  bench *b = *state;
  make_buffers(b, 1);
  bad(ask(b, "{'op':'run','set':0,'plan':[%s]}", trap), "launch_error", "stopped");
  bad(ask(b, "{'op':'run','set':0,'plan':[]}"), "launch_error", "the device stopped: kernel trap");
  good(ask(b, "{'op':'open','device':'fake:gpu'}"));
}

/* ---- anything ---- */

/* A seeded generator of its own: the tests must not depend on the code under test. */
static uint64_t draw(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

static json_t *random_value(uint64_t *s, int depth) {
  static const char *words[] = {"x",
                                "input",
                                "state",
                                "output",
                                "fake",
                                "saxpy",
                                "cold",
                                "hot",
                                "batch",
                                "NaN",
                                "18446744073709551615",
                                "-1",
                                "",
                                "nothing",
                                "trap"};
  static const json_int_t numbers[] = {0,     1,          2,          7,         8,        64,
                                       255,   256,        4096,       65535,     65536,    -1,
                                       -4096, 4294967295, 4294967296, INT64_MAX, INT64_MIN};
  switch (draw(s) % (depth > 0 ? 9 : 6)) {
  case 0: return json_null();
  case 1: return json_boolean(draw(s) & 1);
  case 2: return json_real(draw(s) & 1 ? 1e300 : -0.5);
  case 3: return json_string(words[draw(s) % (sizeof words / sizeof *words)]);
  case 4:
  case 5: return json_integer(numbers[draw(s) % (sizeof numbers / sizeof *numbers)]);
  case 6: {
    json_t *list = json_array();
    for (uint64_t n = draw(s) % 4; n > 0; n--)
      json_array_append_new(list, random_value(s, depth - 1));
    return list;
  }
  default: {
    static const char *keys[] = {"op",     "i",    "f",    "u",     "buffer", "offset",
                                 "launch", "grid", "args", "index", "at"};
    json_t *object = json_object();
    for (uint64_t n = draw(s) % 4; n > 0; n--)
      json_object_set_new(object, keys[draw(s) % (sizeof keys / sizeof *keys)],
                          random_value(s, depth - 1));
    return object;
  }
  }
}

/* Replace one value somewhere in `json` by a random one. */
static void mutate(json_t *json, uint64_t *s) {
  size_t n = json_is_object(json) ? json_object_size(json) : json_array_size(json);
  if (n == 0) return;
  size_t pick = draw(s) % n;
  const char *key = NULL;
  json_t *child = NULL;
  if (json_is_object(json)) {
    void *at = json_object_iter(json);
    while (pick--) at = json_object_iter_next(json, at);
    key = json_object_iter_key(at);
    child = json_object_iter_value(at);
  } else {
    child = json_array_get(json, pick);
  }
  if ((json_is_object(child) || json_is_array(child)) && draw(s) % 4) {
    mutate(child, s);
  } else if (key) {
    char copy[64];
    snprintf(copy, sizeof copy, "%s", key);
    if (draw(s) % 8 == 0)
      json_object_del(json, copy);
    else
      json_object_set_new(json, copy, random_value(s, 2));
  } else {
    json_array_set_new(json, pick, random_value(s, 2));
  }
}

static const char *seeds[] = {
    "{\"op\":\"open\",\"device\":\"fake\",\"limit_s\":1}",
    "{\"op\":\"load\",\"image\":\"fake\",\"name\":\"x\"}",
    "{\"op\":\"buffers\",\"sets\":2,\"buffers\":[{\"name\":\"x\",\"bytes\":64,\"role\":\"input\","
    "\"at\":0},"
    "{\"name\":\"t\",\"bytes\":64,\"role\":\"state\",\"fill\":1},{\"name\":\"y\",\"bytes\":64,"
    "\"role\":\"output\"}]}",
    "{\"op\":\"run\",\"set\":1,\"poison\":1,\"seed\":\"3\",\"plan\":[{\"launch\":\"saxpy\","
    "\"grid\":[1,1,1],"
    "\"block\":[1,1,1],\"args\":[{\"buffer\":1},{\"buffer\":0,\"offset\":4},{\"f\":1},{\"i\":3}]},"
    "{\"memset\":2,\"byte\":1,\"bytes\":3,\"offset\":1},{\"copy\":[2,0],\"bytes\":5}]}",
    "{\"op\":\"export\",\"set\":1,\"poison\":7,\"plan\":[{\"copy\":[2,1],\"bytes\":9},{\"launch\":"
    "\"tensor\",\"grid\":[1],\"block\":[1],\"cluster\":[1],\"args\":[{\"tensor_map\":1,\"dtype\":"
    "\"f32\","
    "\"shape\":[2,4],\"box\":[1,2],\"swizzle\":32,\"offset\":16}]}]}",
    "{\"op\":\"run\",\"set\":0,\"plan\":[{\"launch\":\"wild\",\"grid\":[1],\"block\":[1],"
    "\"args\":[{\"buffer\":1},{\"i\":70}]}]}",
    "{\"op\":\"read\",\"set\":0,\"buffers\":[{\"index\":0,\"at\":0},{\"index\":2,\"at\":4096}]}",
    "{\"op\":\"time\",\"method\":\"batch\",\"sets\":[0,1],\"batch\":2,\"poison\":7,\"warmup\":1,"
    "\"plan\":[{\"launch\":\"nothing\",\"grid\":[1],\"block\":[1],\"args\":[]}]}",
    "{\"op\":\"time\",\"method\":\"cold\",\"sets\":[0,1],\"poison\":7,\"plan\":[]}",
};

/* A pg_error is a reply of at most a few KiB; the rest is bounded by the limits on lists. */
static void reply_is_sane(json_t *reply) {
  assert_true(json_is_object(reply));
  assert_true(json_is_boolean(json_object_get(reply, "ok")));
  if (json_is_false(json_object_get(reply, "ok"))) {
    assert_int_not_equal(pg_code_parse(error_field(reply, "code")), PG_CODE_COUNT);
    assert_string_not_equal(error_field(reply, "code"), "internal");
    assert_string_not_equal(error_field(reply, "message"), "");
  }
  char *text = json_dumps(reply, 0);
  assert_non_null(text);
  assert_true(strlen(text) < 1 << 20);
  free(text);
}

static void any_request_gets_a_sane_answer(void **state) {
  bench *b = *state;
  uint64_t s = 20260101;
  int succeeded = 0;
  for (int round = 0; round < 20000; round++) {
    json_t *request = json_loads(seeds[draw(&s) % (sizeof seeds / sizeof *seeds)], 0, NULL);
    for (uint64_t n = draw(&s) % 4; n > 0; n--) mutate(request, &s);
    json_t *reply = pg_runner_handle(b->runner, request);
    reply_is_sane(reply);
    succeeded += json_is_true(json_object_get(reply, "ok"));
    json_decref(reply);
    json_decref(request);
    if (b->runner->device) assert_int_equal(device(b)->violations, 0);
  }
  assert_in_range(succeeded, 2000, 18000); /* else the mutations reach nothing, or change nothing */
  good(ask(b, "{'op':'open','device':'fake'}"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(open_says_what_the_device_is, setup, teardown),
      cmocka_unit_test(requests_need_what_comes_before_them),
      cmocka_unit_test_setup_teardown(an_expert_is_prepared_once_and_called_for_each_set, setup,
                                      teardown),
      cmocka_unit_test_setup_teardown(an_expert_without_its_library_is_not_ready, setup, teardown),
      cmocka_unit_test_setup_teardown(load_lists_kernels_with_their_parameters, setup, teardown),
      cmocka_unit_test(long_names_of_kernels_are_told_whole),
      cmocka_unit_test_setup_teardown(a_module_that_does_not_load_leaves_the_old_one, setup,
                                      teardown),
      cmocka_unit_test_setup_teardown(inputs_exist_once_and_state_and_outputs_once_a_set, setup,
                                      teardown),
      cmocka_unit_test_setup_teardown(a_run_computes_and_read_brings_it_back, setup, teardown),
      cmocka_unit_test_setup_teardown(every_run_starts_from_the_initial_state_and_poisoned_outputs,
                                      setup, teardown),
      cmocka_unit_test_setup_teardown(sets_are_independent, setup, teardown),
      cmocka_unit_test_setup_teardown(contents_come_right_before_a_sample, setup, teardown),
      cmocka_unit_test_setup_teardown(sets_take_turns_at_the_versions_of_the_contents, setup,
                                      teardown),
      cmocka_unit_test_setup_teardown(empty_buffers_are_buffers, setup, teardown),
      cmocka_unit_test(too_much_memory_is_said_and_nothing_stays),
      cmocka_unit_test_setup_teardown(contents_must_lie_in_shared_memory, setup, teardown),
      cmocka_unit_test_setup_teardown(descriptions_of_buffers_are_checked, setup, teardown),
      cmocka_unit_test_setup_teardown(a_write_beside_a_buffer_is_found, setup, teardown),
      cmocka_unit_test_setup_teardown(buffers_move_before_samples, setup, teardown),
      cmocka_unit_test_setup_teardown(canaries_follow_the_seed_and_differ_between_zones, setup,
                                      teardown),
      cmocka_unit_test_setup_teardown(a_changed_input_is_named, setup, teardown),
      cmocka_unit_test_setup_teardown(a_changed_master_is_found, setup, teardown),
      cmocka_unit_test_setup_teardown(a_fault_comes_with_all_that_is_known, setup, teardown),
      cmocka_unit_test_setup_teardown(a_gpu_that_faulted_answers_no_more, setup_gpu, teardown),
      cmocka_unit_test_setup_teardown(any_request_gets_a_sane_answer, setup, teardown),
  };
  return cmocka_run_group_tests_name("runner", tests, NULL, NULL);
}
