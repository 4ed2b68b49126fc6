/* Memory of machine and container as pg_memory_below reads it, from trees of files made here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "available.h"

static char root[64];

static int make_root(void **state) {
  (void)state;
  strcpy(root, "/tmp/perigee-memory-XXXXXX");
  return mkdtemp(root) ? 0 : 1;
}

static int remove_root(void **state) {
  (void)state;
  char command[128];
  snprintf(command, sizeof command, "rm -rf %s", root);
  return system(command);
}

static void put(const char *path, const char *text) {
  char command[512];
  snprintf(command, sizeof command, "mkdir -p $(dirname %s/%s) && printf '%s' > %s/%s", root, path,
           text, root, path);
  assert_int_equal(system(command), 0);
}

static const char MACHINE[] = "MemTotal:    1000 kB\\nMemFree:   10 kB\\nMemAvailable: 600 kB\\n";

static void expect(size_t total, size_t available) {
  pg_memory m = pg_memory_below(root);
  assert_int_equal(m.total, total);
  assert_int_equal(m.available, available);
}

static void nothing_is_told(void **state) {
  (void)state;
  expect(SIZE_MAX, SIZE_MAX);
}

static void machine_alone(void **state) {
  (void)state;
  put("proc/meminfo", MACHINE);
  expect(1024000, 614400);
  put("proc/self/cgroup", "0::/\\n");
  expect(1024000, 614400);
}

/* The group itself is not limited, one above it is. */
static void version_2(void **state) {
  (void)state;
  put("proc/meminfo", MACHINE);
  put("proc/self/cgroup", "1:name=systemd:/x\\n0::/user/mine\\n");
  put("sys/fs/cgroup/user/mine/memory.max", "max\\n");
  put("sys/fs/cgroup/user/mine/memory.stat", "anon 70000\\nfile 5\\nkernel 8\\nshmem 1000\\n");
  expect(1024000, 614400);
  put("sys/fs/cgroup/user/memory.max", "200000\\n");
  put("sys/fs/cgroup/user/memory.stat", "anon 90000\\nfile 5\\ninactive_anon 7\\nshmem 2000\\n");
  expect(200000, 108000);
  put("sys/fs/cgroup/user/mine/memory.max", "71500\\n");
  expect(71500, 500);
  put("sys/fs/cgroup/user/mine/memory.max", "70000\\n"); /* more is used already */
  expect(70000, 0);
}

/* In a container the path may be the host's: the limit is at the root of the mount. */
static void version_2_in_a_container(void **state) {
  (void)state;
  put("proc/meminfo", MACHINE);
  put("proc/self/cgroup", "0::/docker/0123\\n");
  put("sys/fs/cgroup/memory.max", "300000\\n");
  put("sys/fs/cgroup/memory.stat", "anon 100000\\nshmem 0\\n");
  expect(300000, 200000);
}

static void version_1(void **state) {
  (void)state;
  put("proc/meminfo", MACHINE);
  put("proc/self/cgroup", "9:cpu,cpuacct:/\\n4:pids,memory:/job/7\\n0::/\\n");
  put("sys/fs/cgroup/memory/job/7/memory.stat",
      "cache 1\\nrss 2\\nhierarchical_memory_limit 500000\\ntotal_cache 3\\ntotal_rss 40000\\n"
      "total_rss_huge 9\\ntotal_shmem 10000\\n");
  expect(500000, 450000);
  put("proc/self/cgroup", "4:memory:/foreign\\n");
  put("sys/fs/cgroup/memory/memory.stat", "hierarchical_memory_limit 9223372036854771712\\n");
  expect(1024000, 614400);
  put("sys/fs/cgroup/memory/memory.stat", "hierarchical_memory_limit 400\\ntotal_rss 100\\n");
  expect(400, 300);
}

static void this_machine(void **state) {
  (void)state;
  assert_in_range(pg_available_memory(), 1, pg_total_memory());
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_root, remove_root)
  const struct CMUnitTest tests[] = {
      TEST(nothing_is_told),          TEST(machine_alone), TEST(version_2),
      TEST(version_2_in_a_container), TEST(version_1),     TEST(this_machine),
  };
  return cmocka_run_group_tests_name("available memory", tests, NULL, NULL);
}
