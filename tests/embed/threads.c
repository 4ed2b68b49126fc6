/* Hosts are independent: two threads, each with a host, a device, a compiler and a primitive of its
 * own. Ends with `done`, or says which thread got something else than it must. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <perigee.h>

enum { ROUNDS = 20 };

static int number(pg_call *call, void *context) {
  return pg_call_give_integer(call, *(const int *)context);
}

static const char script[] =
    "local pg = require 'perigee'\n"
    "mine = (mine or 0) + number()\n"
    "local dev <close> = pg.device 'sim,workers=1'\n"
    "local x = pg.array('i32', 100):random { dist = 'integer', first = "
    "number(), last = number() }\n"
    "local source = 'extern \"C\" __global__ void add(int* x, int n) { x[threadIdx.x] += n; }'\n"
    "local add = dev:compile { name = 'add.cu', source = source, define = { HOST = number() } }\n"
    "local buffer = dev:upload(x)\n"
    "add:kernel('add'):launch { grid = 1, block = 100, args = { buffer, number() } }\n"
    "local back = buffer:download()\n"
    "return mine + back[99]\n";

static void *work(void *argument) {
  int mine = (int)(intptr_t)argument;
  pg_error *error = pg_error_new();
  pg_host *host = NULL;
  intptr_t bad =
      pg_host_open(&host, error) || pg_host_primitive(host, "number", number, &mine, error);
  for (int round = 1; !bad && round <= ROUNDS; round++) {
    char *result = NULL;
    bad = pg_host_text(host, script, "=script", &result, error) || !result ||
          atoi(result) != mine * round + 2 * mine;
    pg_text_free(result);
  }
  if (bad) printf("host %d: %s\n", mine, pg_error_message(error));
  pg_host_close(host);
  pg_error_free(error);
  return (void *)bad;
}

int main(void) {
  pthread_t thread[2];
  void *bad[2];
  for (intptr_t i = 0; i < 2; i++)
    if (pthread_create(&thread[i], NULL, work, (void *)(i + 1))) return 1;
  for (int i = 0; i < 2; i++) pthread_join(thread[i], &bad[i]);
  if (!bad[0] && !bad[1]) puts("done");
  return bad[0] || bad[1];
}
