/* A C program that carries the scripting inside, over libperigee-host.so: Lua text calls a C
 * function. cc host.c $(pkg-config --cflags --libs perigee-host) && ./a.out */
#include <stdio.h>
#include <perigee.h>

/* smooth(array, factor): each element becomes a mean with its left neighbour; returns the last. */
static int smooth(pg_call *call, void *context) {
  pg_array *a;
  double factor;
  (void)context;
  if (pg_call_array(call, 0, &a)) return pg_call_fail(call, "argument #1: expected an array");
  if (pg_call_number(call, 1, &factor)) return pg_call_fail(call, "argument #2: expected a number");
  size_t n = pg_array_count(a);
  for (size_t i = n; i-- > 1;)
    pg_array_set(a, i, factor * pg_array_get(a, i) + (1 - factor) * pg_array_get(a, i - 1));
  return pg_call_give_number(call, n ? pg_array_get(a, n - 1) : 0);
}

static const char script[] =
    "local pg = require 'perigee'\n"
    "local x = pg.array('f32', 8)\n"
    "for i = 0, 7 do x[i] = i end\n"
    "local last = smooth(x, 0.5)\n"
    "local dev = pg.device('sim:check')\n"
    "return { last = last, device = dev:info().kind, back = dev:upload(x):download()[7] }\n";

int main(void) {
  pg_error *error = pg_error_new();
  pg_host *host = NULL;
  char *result = NULL;
  int failed = pg_host_open(&host, error) ||
               pg_host_primitive(host, "smooth", smooth, NULL, error) ||
               pg_host_text(host, script, "=script", &result, error);
  if (failed) fprintf(stderr, "%s\n%s\n", pg_error_message(error), pg_error_hint(error));
  if (result) puts(result);
  pg_text_free(result);
  pg_host_close(host);
  pg_error_free(error);
  return failed;
}
