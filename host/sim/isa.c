/* The instruction table: the entries of vec_*.c for the best instruction set of this processor,
 * sorted by key once a process. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "isa.h"

#define TABLES(isa)                                        \
  extern const sim_entry sim_alu_##isa[], sim_mem_##isa[]; \
  extern const sim_surveyor sim_survey_##isa;
TABLES(base)
#ifdef __x86_64__
TABLES(avx2)
TABLES(avx512)
#endif

extern const sim_entry sim_scalar[];

static struct {
  pthread_once_t once;
  sim_entry *sorted;
  size_t count;
} table = {.once = PTHREAD_ONCE_INIT};

const char *sim_isa_name(void) {
#ifdef __x86_64__
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512cd")) {
    return "AVX-512";
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("bmi2")) {
    return "AVX2";
  }
#endif
  return "plain C";
}

static int by_key(const void *a, const void *b) {
  return strcmp(((const sim_entry *)a)->key, ((const sim_entry *)b)->key);
}

static size_t add(const sim_entry *from, sim_entry *to) {
  size_t n = 0;
  for (; from[n].key; n++) {
    if (to) to[n] = from[n];
  }
  return n;
}

static void sort(void) {
  const sim_entry *alu = sim_alu_base, *mem = sim_mem_base;
#ifdef __x86_64__
  const char *name = sim_isa_name();
  if (strcmp(name, "AVX-512") == 0) {
    alu = sim_alu_avx512;
    mem = sim_mem_avx512;
  } else if (strcmp(name, "AVX2") == 0) {
    alu = sim_alu_avx2;
    mem = sim_mem_avx2;
  }
#endif
  const sim_entry *const parts[] = {alu, mem, sim_scalar};
  enum { PARTS = sizeof parts / sizeof *parts };
  size_t n = 0;
  for (int i = 0; i < PARTS; i++) n += add(parts[i], NULL);
  table.sorted = malloc(n * sizeof *table.sorted);
  if (!table.sorted) return;
  for (int i = 0; i < PARTS; i++) table.count += add(parts[i], table.sorted + table.count);
  qsort(table.sorted, table.count, sizeof *table.sorted, by_key);
}

const sim_entry *sim_find_entry(const char *key) {
  pthread_once(&table.once, sort);
  sim_entry wanted = {.key = key};
  return table.count ? bsearch(&wanted, table.sorted, table.count, sizeof wanted, by_key) : NULL;
}

sim_surveyor sim_find_survey(void) {
#ifdef __x86_64__
  const char *name = sim_isa_name();
  if (strcmp(name, "AVX-512") == 0) return sim_survey_avx512;
  if (strcmp(name, "AVX2") == 0) return sim_survey_avx2;
#endif
  return sim_survey_base;
}
