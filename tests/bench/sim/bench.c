/* `make bench-sim`: the simulator's modes, PoCL and Oclgrind on the same kernels and inputs, taking
 * turns; every run is verified, medians give the rates, and SIMULATOR.md's goals are judged.
 *   bench_sim [--cpu] [KERNEL...]     --cpu: processor time instead of wall time, for a busy
 * machine bench_sim --one KERNEL            one run on Oclgrind; what the program calls itself for
 */
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "stats.h"

#define HERE "tests/bench/sim/"

enum { SIM, CHECK, PROFILE, POCL, OCLGRIND, BACKENDS, ROUNDS = 9, ROUNDS_OCLGRIND = 3 };

static const char *const NAMES[BACKENDS] = {"sim", "sim:check", "sim:profile", "PoCL", "Oclgrind"};

_Noreturn void die(const char *format, ...) {
  va_list args;
  va_start(args, format);
  fprintf(stderr, "bench_sim: ");
  vfprintf(stderr, format, args);
  fprintf(stderr, "\n");
  va_end(args);
  exit(3);
}

static double seconds(bool cpu) {
  struct timespec t;
  clock_gettime(cpu ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Seconds of one verified run. */
static double run(const workload *w, const bench *b, backend *on, bool cpu) {
  bench_reset(b, on);
  double start = seconds(cpu);
  w->run(b, on);
  on->finish(on);
  double took = seconds(cpu) - start;
  const char *wrong = w->check(b, on);
  if (wrong) die("%s on %s: %s", w->name, on->name, wrong);
  return took;
}

/* ---- Oclgrind: a program of its own ---- */

static int run_one(const char *name, bool cpu) {
  for (const workload *w = WORKLOADS; w->name; w++) {
    if (strcmp(w->name, name) != 0) continue;
    bench b;
    backend *on = opencl_backend("Oclgrind", HERE "kernels.cl");
    bench_make(&b, w, w->small);
    bench_attach(&b, on);
    printf("%.9f\n", run(w, &b, on, cpu));
    bench_free(&b);
    return 0;
  }
  die("no kernel named %s", name);
}

static double run_oclgrind(const workload *w, bool cpu) {
  char self[512], command[1024];
  ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
  if (n < 0) die("cannot find myself");
  self[n] = 0;
  snprintf(command, sizeof command, "oclgrind '%s' %s --one %s", self, cpu ? "--cpu" : "", w->name);
  FILE *child = popen(command, "r");
  double took = 0;
  if (!child || fscanf(child, "%lf", &took) != 1 || pclose(child) != 0)
    die("%s did not run under oclgrind", w->name);
  return took;
}

/* ---- all of them ---- */

/* Items a second in millions, of the median run. */
static double rate(const double *took, size_t n, double items) {
  pg_summary s;
  pg_error error;
  if (pg_summarize(took, n, &s, &error)) die("%s", error.message);
  return items / s.median * 1e-6;
}

/* Rates are taken at the full size, but of Oclgrind, and of sim:check beyond the insert, whose goal
 * is about it. */
static void measure(const workload *w, backend *const on[BACKENDS], bool cpu,
                    double rates[BACKENDS]) {
  double took[BACKENDS][ROUNDS];
  bench full, little;
  bench_make(&full, w, w->n);
  bench_make(&little, w, w->small);
  const bench *b[OCLGRIND] = {&full, w == WORKLOADS ? &full : &little, &full, &full};
  for (int i = 0; i < OCLGRIND; i++) {
    bench_attach(b[i], on[i]);
    run(w, b[i], on[i], cpu); /* PoCL compiles here, pages are touched */
  }
  for (int round = 0; round < ROUNDS; round++) {
    for (int k = 0; k < OCLGRIND; k++) {
      int i = (k + round) % OCLGRIND;
      took[i][round] = run(w, b[i], on[i], cpu);
    }
    if (round < ROUNDS_OCLGRIND) took[OCLGRIND][round] = run_oclgrind(w, cpu);
  }
  for (int i = 0; i < OCLGRIND; i++) rates[i] = rate(took[i], ROUNDS, b[i]->items);
  rates[OCLGRIND] = rate(took[OCLGRIND], ROUNDS_OCLGRIND, little.items);
  bench_free(&full);
  bench_free(&little);
}

static void print_row(const workload *w, const double r[BACKENDS]) {
  printf("%-10s %-11s %9.1f %9.1f %11.1f %9.1f %9.2f  %6.2f %6.2f %8.2f %9.0f\n", w->name, w->unit,
         r[SIM], r[CHECK], r[PROFILE], r[POCL], r[OCLGRIND], r[SIM] / r[POCL], r[CHECK] / r[POCL],
         r[PROFILE] / r[POCL], r[SIM] / r[OCLGRIND]);
  fflush(stdout);
}

static bool goal(const char *what, double got, double wanted) {
  bool met = got >= wanted;
  printf("%s  %-44s %6.2f, the goal is %.1f\n", met ? "met   " : "MISSED", what, got, wanted);
  return met;
}

static bool wanted(const workload *w, char **names, int count) {
  for (int i = 0; i < count; i++) {
    if (!strcmp(names[i], w->name)) return true;
  }
  return count == 0;
}

int main(int argc, char **argv) {
  bool cpu = argc > 1 && !strcmp(argv[1], "--cpu"), met = true;
  argv += 1 + cpu;
  argc -= 1 + cpu;
  if (argc == 2 && !strcmp(argv[0], "--one")) return run_one(argv[1], cpu);
  backend *on[BACKENDS] = {0};
  for (int i = SIM; i <= PROFILE; i++) on[i] = sim_backend(NAMES[i], HERE "kernels.ptx");
  on[POCL] = opencl_backend("Portable", HERE "kernels.cl");
  double insert[BACKENDS] = {0}, log_sum = 0;
  int others = 0;
  printf("rates by %s time, ratios to PoCL and of sim to Oclgrind\n", cpu ? "processor" : "wall");
  printf("%-10s %-11s %9s %9s %11s %9s %9s  %6s %6s %8s %9s\n", "kernel", "", "sim", "sim:check",
         "sim:profile", "PoCL", "Oclgrind", "sim", "check", "profile", "Oclgrind");
  for (const workload *w = WORKLOADS; w->name; w++) {
    double rates[BACKENDS];
    if (!wanted(w, argv, argc)) continue;
    measure(w, on, cpu, rates);
    print_row(w, rates);
    if (w == WORKLOADS) {
      memcpy(insert, rates, sizeof insert);
    } else {
      log_sum += log(rates[SIM] / rates[POCL]);
      others++;
    }
  }
  if (insert[POCL] > 0) {
    met &= goal("insert: sim against PoCL", insert[SIM] / insert[POCL], 0.8);
    met &= goal("insert: sim against Oclgrind", insert[SIM] / insert[OCLGRIND], 50);
    met &= goal("insert: sim:check against PoCL", insert[CHECK] / insert[POCL], 0.2);
    met &= goal("insert: sim:profile against PoCL", insert[PROFILE] / insert[POCL], 0.1);
  }
  if (others)
    met &= goal("geometric mean of the others, sim against PoCL", exp(log_sum / others), 0.1);
  return met ? 0 : 1;
}
