/* Checks of the table: which keys it holds, that each is reachable, and that blocks were given out
 * once. */
#include "verify.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void tsdf_report_add(tsdf_report *report, const char *name, bool ok, const char *format, ...) {
  if (report->count == TSDF_CHECKS_MAX) return;
  if (report->count == 0) report->ok = true;
  tsdf_check *check = &report->checks[report->count++];
  check->name = name;
  check->ok = ok;
  report->ok &= ok;
  va_list args;
  va_start(args, format);
  vsnprintf(check->detail, sizeof check->detail, format, args);
  va_end(args);
}

/* How often something was wrong, and the first time. */
typedef struct fault {
  uint64_t count;
  char first[TSDF_DETAIL_MAX - 64];
} fault;

__attribute__((format(printf, 2, 3))) static void wrong(fault *f, const char *format, ...) {
  if (f->count++ > 0) return;
  va_list args;
  va_start(args, format);
  vsnprintf(f->first, sizeof f->first, format, args);
  va_end(args);
}

static void add_fault(tsdf_report *report, const char *name, const fault *f, const char *passed) {
  if (f->count == 0)
    tsdf_report_add(report, name, true, "%s", passed);
  else if (f->count == 1)
    tsdf_report_add(report, name, false, "%s", f->first);
  else
    tsdf_report_add(report, name, false, "%s; and %llu more", f->first,
                    (unsigned long long)(f->count - 1));
}

typedef struct audit {
  const tsdf_model *model;
  const tsdf_volume *volume;
  uint32_t *slots;  /* of each block of the model: its slot + 1, 0 not seen */
  uint32_t *owners; /* of each place in the pool: its slot + 1 */
  fault keys, twice, lost, reach, empty, blocks, coord;
  uint32_t distinct, dropped, optional;
} audit;

static const char *block_text(const int32_t at[3], char text[48]) {
  snprintf(text, 48, "(%d, %d, %d)", at[0], at[1], at[2]);
  return text;
}

/* Entries that a lookup of the key in `slot` reads, 0 when an empty one stops it before. */
static uint32_t probe_length(const tsdf_volume *volume, uint32_t slot) {
  int32_t at[3];
  tsdf_key_block(volume->table[slot].key, at);
  const uint32_t mask = volume->size - 1;
  uint32_t length = 1;
  for (uint32_t i = tsdf_hash(at) & mask; i != slot; i = (i + 1) & mask, ++length)
    if (volume->table[i].key == TSDF_EMPTY) return 0;
  return length;
}

/* The block that an entry names: published, in the pool, given out once, with its coordinates. */
static void audit_place(audit *a, uint32_t slot, const int32_t at[3]) {
  const tsdf_volume *v = a->volume;
  const int32_t place = v->table[slot].block;
  char text[48];
  block_text(at, text);
  if (place == TSDF_DROPPED) {
    ++a->dropped;
    return;
  }
  if (place == TSDF_PENDING) {
    wrong(&a->blocks, "slot %u, block %s: claimed, but no block index was ever published", slot,
          text);
    return;
  }
  if (place < 0 || (uint32_t)place >= v->capacity) {
    wrong(&a->blocks, "slot %u, block %s: index %d lies outside the pool of %u", slot, text, place,
          v->capacity);
    return;
  }
  if (a->owners[place]) {
    wrong(&a->blocks, "slot %u, block %s: index %d was given to slot %u as well", slot, text, place,
          a->owners[place] - 1);
    return;
  }
  a->owners[place] = slot + 1;
  const int32_t *c = &v->coord[3 * (size_t)place];
  if (c[0] != at[0] || c[1] != at[1] || c[2] != at[2])
    wrong(&a->coord, "coord[%d] is (%d, %d, %d), its key says %s", place, c[0], c[1], c[2], text);
}

static void audit_entry(audit *a, uint32_t slot) {
  const tsdf_entry *entry = &a->volume->table[slot];
  if (entry->key == TSDF_EMPTY) {
    if (entry->block != TSDF_PENDING)
      wrong(&a->empty, "slot %u has no key but block %d", slot, entry->block);
    return;
  }
  int32_t at[3];
  char text[48];
  tsdf_key_block(entry->key, at);
  block_text(at, text);
  const uint32_t number = tsdf_keymap_find(&a->model->map, entry->key);
  if (number == UINT32_MAX) {
    wrong(&a->keys, "slot %u holds key %lld, block %s, that no point touches", slot,
          (long long)entry->key, text);
    return;
  }
  if (a->slots[number]) {
    wrong(&a->twice, "block %s stands in slots %u and %u", text, a->slots[number] - 1, slot);
    return;
  }
  a->slots[number] = slot + 1;
  ++a->distinct;
  const tsdf_block *block = &a->model->blocks[number];
  a->optional += !block->certain;
  if (probe_length(a->volume, slot) == 0)
    wrong(&a->reach, "block %s in slot %u cannot be found: its probe chain from slot %u is broken",
          text, slot, tsdf_hash(at) & (a->volume->size - 1));
  if (block->initial >= 0 && entry->block != block->initial)
    wrong(&a->blocks, "block %s had index %d before and has %d now", text, block->initial,
          entry->block);
  audit_place(a, slot, at);
}

static void find_lost(audit *a) {
  char text[48];
  for (uint32_t b = 0; b < a->model->map.count; ++b)
    if (a->model->blocks[b].certain && !a->slots[b])
      wrong(&a->lost, "block %s is missing", block_text(a->model->blocks[b].at, text));
}

/* Indices are 0..count-1, all of them, and the counters say what the table shows. */
static void check_counts(audit *a, tsdf_report *report) {
  const tsdf_volume *v = a->volume;
  const uint32_t given = a->distinct < v->capacity ? a->distinct : v->capacity;
  for (uint32_t i = 0; i < given; ++i)
    if (!a->owners[i]) wrong(&a->blocks, "no key has block index %u of 0..%u", i, given - 1);
  add_fault(report, "block indices", &a->blocks, "each of 0..count-1 once");
  add_fault(report, "coordinates", &a->coord, "coord agrees with the keys");
  tsdf_report_add(report, "block_count", v->block_count == (int64_t)a->distinct,
                  "block_count is %d, the table has %u keys", v->block_count, a->distinct);
  const uint32_t drops = a->distinct - given;
  tsdf_report_add(
      report, "drops", v->drop_count == drops && a->dropped == drops,
      "drop_count is %llu, entries without a block %u, expected %u (%u keys, pool of %u)",
      (unsigned long long)v->drop_count, a->dropped, drops, a->distinct, v->capacity);
}

static void take_facts(const audit *a, tsdf_table_facts *facts) {
  double total = 0;
  *facts = (tsdf_table_facts){
      .blocks = a->distinct, .optional_blocks = a->optional, .dropped = a->dropped};
  for (uint32_t b = 0; b < a->model->map.count; ++b) {
    if (!a->slots[b]) continue;
    const uint32_t length = probe_length(a->volume, a->slots[b] - 1);
    if (length > facts->probes_max) facts->probes_max = length;
    total += length;
    facts->probes += (uint64_t)length * a->model->blocks[b].samples;
  }
  facts->probes_mean = a->distinct ? total / a->distinct : 0;
}

void tsdf_verify_table(const tsdf_model *model, const tsdf_volume *volume, tsdf_report *report,
                       tsdf_table_facts *facts) {
  audit *a = calloc(1, sizeof *a);
  if (a) {
    a->model = model;
    a->volume = volume;
    a->slots = calloc(model->map.count + 1, sizeof *a->slots);
    a->owners = calloc((size_t)volume->capacity + 1, sizeof *a->owners);
  }
  if (!a || !a->slots || !a->owners) {
    tsdf_report_add(report, "table", false, "not judged: out of memory");
    goto out;
  }
  for (uint32_t slot = 0; slot < volume->size; ++slot) audit_entry(a, slot);
  find_lost(a);
  add_fault(report, "no foreign key", &a->keys, "every key is touched by a point");
  add_fault(report, "each key once", &a->twice, "no key stands twice");
  add_fault(report, "no lost block", &a->lost,
            "every block that a point certainly touches is there");
  add_fault(report, "reachable", &a->reach, "every key is found by its probe chain");
  add_fault(report, "empty entries", &a->empty, "entries without a key are untouched");
  check_counts(a, report);
  take_facts(a, facts);
out:
  if (a) {
    free(a->slots);
    free(a->owners);
  }
  free(a);
}

void tsdf_places(const tsdf_model *model, const tsdf_volume *volume, int32_t *places) {
  for (uint32_t b = 0; b < model->map.count; ++b) places[b] = -1;
  for (uint32_t slot = 0; slot < volume->size; ++slot) {
    const tsdf_entry *entry = &volume->table[slot];
    if (entry->key == TSDF_EMPTY) continue;
    const uint32_t number = tsdf_keymap_find(&model->map, entry->key);
    const bool valid = entry->block >= 0 && (uint32_t)entry->block < volume->capacity;
    if (number != UINT32_MAX) places[number] = valid ? entry->block : TSDF_DROPPED;
  }
}
