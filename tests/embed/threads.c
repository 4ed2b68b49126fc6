/* Hosts are independent: two threads, each with a host, a device, a compiler, libraries, a judge
 * and a primitive of its own. `threads nvrtc` compiles CUDA C++, without it PTX is loaded. Ends
 * with `done`, or says which thread got something else than it must. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <perigee.h>

enum { ROUNDS = 20 };

static int number(pg_call *call, void *context) {
  return pg_call_give_integer(call, *(const int *)context);
}

static const char cuda[] =
    "how = { name = 'add.cu', define = { HOST = number() },\n"
    "  source = 'extern \"C\" __global__ void add(int* x, int n) { x[threadIdx.x] += n; }' }\n";
static const char ptx[] =
    "how = { name = 'add.ptx', lang = 'ptx', source = [[\n"
    ".version 7.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry add(.param .u64 x, .param .u32 n) {\n"
    ".reg .b64 %a<3>; .reg .b32 %r<4>;\n"
    "ld.param.u64 %a1, [x]; ld.param.u32 %r1, [n];\n"
    "mov.u32 %r2, %tid.x; mul.wide.u32 %a2, %r2, 4; add.s64 %a1, %a1, %a2;\n"
    "ld.global.u32 %r3, [%a1]; add.u32 %r3, %r3, %r1; st.global.u32 [%a1], %r3; ret; }]] }\n";

/* Each round: a device, arrays, a kernel and a launch; a callback through the ffi; libraries, where
 * they are. In the first rounds C that both threads compile at the same time; in the first, a task
 * that is run. */
static const char script[] =
    "local pg, ffi = require 'perigee', require 'ffi'\n"
    "mine, round = (mine or 0) + number(), (round or 0) + 1\n"
    "local dev <close> = pg.device 'sim,workers=1'\n"
    "local x = pg.array('i32', 100):random { dist = 'integer', first = number(), last = number() "
    "}\n"
    "local add = dev:compile(how)\n"
    "local buffer = dev:upload(x)\n"
    "add:kernel('add'):launch { grid = 1, block = 100, args = { buffer, number() } }\n"
    "local call = ffi.cast('int (*)(int)', function(n) return n * number() end)\n"
    "assert(call(21) == 21 * number(), 'callback')\n"
    "call:free()\n"
    "local one = pg.array('f64', { 2, 2 })\n"
    "one[0], one[3] = number(), number()\n"
    "local uses = {\n"
    "  blas = function(lib) return lib.gemm(one, one)[3] == number() ^ 2 end,\n"
    "  lapack = function(lib) return lib.solve(one, one)[0] == 1 end,\n"
    "  fft = function(lib) return lib.forward(one)[2] == number() end,\n"
    "  gsl = function(lib) return lib.gamma(number() + 4) == 1 / lib.gammainv(number() + 4) end,\n"
    "}\n"
    "for name, use in pairs(uses) do\n"
    "  local lib = require('perigee.lib.' .. name)\n"
    "  assert(not lib.available() or use(lib), name)\n"
    "end\n"
    "if round <= 6 then\n"
    "  local source = ('int thread_%d(int x) { return x + %d; }'):format(round, round)\n"
    "  local lib = pg.native { source = source }\n"
    "  assert(lib['thread_' .. round](number()) == round + number(), 'native')\n"
    "end\n"
    "if round == 1 then\n"
    "  local task = pg.catalogue.find('vector/saxpy')[1]\n"
    "  local records = pg.run(task, { device = 'sim', impls = { 'naive' } })\n"
    "  assert(records[1].verdict == 'passed', 'judge')\n"
    "end\n"
    "return mine + buffer:download()[99]\n";

typedef struct job {
  int mine;
  const char *kernel;
  int bad;
} job;

static void *work(void *argument) {
  job *j = argument;
  pg_error *error = pg_error_new();
  pg_host *host = NULL;
  j->bad = pg_host_open(&host, error) ||
           pg_host_primitive(host, "number", number, &j->mine, error) ||
           pg_host_text(host, j->kernel, "=kernel", NULL, error);
  for (int round = 1; !j->bad && round <= ROUNDS; round++) {
    char *result = NULL;
    j->bad = pg_host_text(host, script, "=script", &result, error) || !result;
    if (!j->bad && atoi(result) != j->mine * round + 2 * j->mine) {
      printf("host %d, round %d: %s\n", j->mine, round, result);
      j->bad = 1;
    }
    pg_text_free(result);
  }
  if (j->bad) printf("host %d: %s (%s)\n", j->mine, pg_error_message(error), pg_error_where(error));
  pg_host_close(host);
  pg_error_free(error);
  return NULL;
}

int main(int argc, char **argv) {
  const char *kernel = argc > 1 && !strcmp(argv[1], "nvrtc") ? cuda : ptx;
  job jobs[2] = {{.mine = 1, .kernel = kernel}, {.mine = 2, .kernel = kernel}};
  pthread_t thread[2];
  for (int i = 0; i < 2; i++)
    if (pthread_create(&thread[i], NULL, work, &jobs[i])) return 1;
  for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
  if (!jobs[0].bad && !jobs[1].bad) puts("done");
  return jobs[0].bad || jobs[1].bad;
}
