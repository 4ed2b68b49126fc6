/* Hosts over libperigee-host.so on a real device: two in two threads, each with Lua, a primitive of
 * this program and its own device; a task is judged from within Lua. Argument: the device. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <perigee.h>

static const char script[] =
    "local pg = require 'perigee'\n"
    "local dev <close> = pg.device(SPEC)\n"
    "local mod = dev:compile { name = 'twice.cu', source = [[\n"
    "  extern \"C\" __global__ void twice(float* y, int n) {\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < n) y[i] = 2 * y[i];\n"
    "  }]] }\n"
    "local x = pg.array('f32', 5000)\n"
    "ramp(x, NUMBER)\n"
    "local y = dev:upload(x)\n"
    "mod:kernel('twice'):launch { grid = 20, block = 256, args = { y, 5000 } }\n"
    "local wrong, got = 0, y:download()\n"
    "for i = 0, 4999 do if got[i] ~= 2 * (NUMBER + i) then wrong = wrong + 1 end end\n"
    "local task = pg.catalogue.find('vector/saxpy')[1]\n"
    "local records = pg.run(task, { device = SPEC, set = { n = 5000 }, budget = 0.05 })\n"
    "local verdicts, timed = {}, 0\n"
    "for i, r in ipairs(records) do\n"
    "  verdicts[i] = r.verdict\n"
    "  timed = timed + (r.time and 1 or 0)\n"
    "end\n"
    "return ('%d wrong, %s, %d timed'):format(wrong, table.concat(verdicts, ' '), timed)\n";

typedef struct guest {
  const char *spec;
  int number, failed;
  char *result;
  char message[512];
} guest;

/* ramp(array, first): first, first + 1, ... */
static int ramp(pg_call *call, void *context) {
  const guest *one = context;
  pg_array *array;
  double first;
  if (pg_call_array(call, 0, &array) || pg_call_number(call, 1, &first) || first != one->number)
    return pg_call_fail(call, "expected an array and this host's number");
  for (size_t i = 0; i < pg_array_count(array); i++) pg_array_set(array, i, first + (double)i);
  return 0;
}

static void *visit(void *context) {
  guest *one = context;
  pg_error *error = pg_error_new();
  pg_host *host = NULL;
  char head[160];
  snprintf(head, sizeof head, "SPEC, NUMBER = '%s', %d\n", one->spec, one->number);
  one->failed = pg_host_open(&host, error) || pg_host_primitive(host, "ramp", ramp, one, error) ||
                pg_host_text(host, head, "=head", NULL, error) ||
                pg_host_text(host, script, "=script", &one->result, error);
  if (one->failed)
    snprintf(one->message, sizeof one->message, "%s: %s", pg_error_code(error),
             pg_error_message(error));
  pg_host_close(host);
  pg_error_free(error);
  return NULL;
}

int main(int argc, char **argv) {
  const char *spec = argc > 1 ? argv[1] : "cuda:0";
  guest guests[2] = {{.spec = spec, .number = 3}, {.spec = spec, .number = 70}};
  pthread_t threads[2];
  int passed = 0;
  for (int i = 0; i < 2; i++)
    if (pthread_create(&threads[i], NULL, visit, &guests[i])) return 1;
  for (int i = 0; i < 2; i++) {
    const guest *one = &guests[i];
    pthread_join(threads[i], NULL);
    int good =
        !one->failed && one->result && !strcmp(one->result, "0 wrong, passed passed, 2 timed");
    passed += good;
    printf("%s host %d: %s\n", good ? "ok" : "not ok", i,
           one->failed   ? one->message
           : one->result ? one->result
                         : "no result");
    pg_text_free(one->result);
  }
  printf("%d passed, %d failed\n", passed, 2 - passed);
  return passed < 2;
}
