/* The points are walked in chunks, in parallel where OpenMP is present; chunks are merged in order,
 * so the result does not depend on the number of threads. */
#include "model.h"

#include "bounds.h"
#include "fail.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNKS = 64 };

typedef struct chunk {
  uint32_t begin, end; /* points */
  tsdf_keymap map;
  tsdf_block *blocks;
  uint32_t block_room;
  uint32_t *voxels;  /* of each sample: 512 * block of the chunk + index */
  uint32_t *records; /* of each sample: 2 * point + optional */
  size_t count, room;
  uint64_t samples, optional_samples;
  uint32_t *global; /* block of the chunk -> block of the model */
  pg_code code;
  pg_error error;
} chunk;

uint32_t tsdf_local(const int32_t voxel[3]) {
  return (uint32_t)((voxel[0] & 7) | (voxel[1] & 7) << 3 | (voxel[2] & 7) << 6);
}

void tsdf_block_of(const int32_t voxel[3], int32_t block[3]) {
  for (int a = 0; a < 3; ++a) block[a] = voxel[a] >> 3;
}

static pg_code out_of_memory(pg_error *error) {
  return tsdf_fail(error, PG_MEMORY, "the reference ran out of memory");
}

static void chunk_free(chunk *c) {
  tsdf_keymap_free(&c->map);
  free(c->blocks);
  free(c->voxels);
  free(c->records);
  free(c->global);
}

/* The chunk's block of a hit; UINT32_MAX without memory. */
static uint32_t chunk_block(chunk *c, const tsdf_hit *hit) {
  int32_t at[3];
  tsdf_block_of(hit->voxel, at);
  const uint32_t known = c->map.count;
  const uint32_t number = tsdf_keymap_add(&c->map, tsdf_key(at));
  if (number < known || number == UINT32_MAX) return number;
  if (c->map.room > c->block_room) {
    tsdf_block *blocks = realloc(c->blocks, c->map.room * sizeof *blocks);
    if (!blocks) return UINT32_MAX;
    c->blocks = blocks;
    c->block_room = c->map.room;
  }
  c->blocks[number] = (tsdf_block){.at = {at[0], at[1], at[2]}, .initial = -1};
  return number;
}

static bool chunk_record(chunk *c, uint32_t voxel, uint32_t record) {
  if (c->count == c->room) {
    const size_t room = c->room ? 2 * c->room : 4096;
    uint32_t *voxels = realloc(c->voxels, room * sizeof *voxels);
    if (voxels) c->voxels = voxels;
    uint32_t *records = realloc(c->records, room * sizeof *records);
    if (records) c->records = records;
    if (!voxels || !records) return false;
    c->room = room;
  }
  c->voxels[c->count] = voxel;
  c->records[c->count++] = record;
  return true;
}

static pg_code chunk_hit(chunk *c, const tsdf_input *in, uint32_t point, const tsdf_hit *hit) {
  const uint32_t number = chunk_block(c, hit);
  if (number == UINT32_MAX) return out_of_memory(&c->error);
  tsdf_block *block = &c->blocks[number];
  block->certain |= !hit->optional;
  block->nominal |= hit->nominal;
  block->samples += hit->nominal;
  c->samples += hit->nominal;
  const uint32_t voxel = number * TSDF_BLOCK_VOXELS + tsdf_local(hit->voxel);
  if (in->sums && !chunk_record(c, voxel, point << 1 | hit->optional))
    return out_of_memory(&c->error);
  return PG_OK;
}

static pg_code check_weight(const tsdf_input *in, uint32_t i, pg_error *error) {
  if (!in->sums || (in->weights[i] > 0 && in->weights[i] <= 1e9f)) return PG_OK;
  return tsdf_fail(error, PG_RANGE, "the weight of point %u is %g: it must lie in (0, 1e9]", i,
                   (double)in->weights[i]);
}

/* A point must have a direction, and all its samples must lie where keys reach (2^20 blocks each
 * way). */
static pg_code check_point(const tsdf_input *in, uint32_t i, const tsdf_ray *ray, pg_error *error) {
  const float *p = &in->points[3 * (size_t)i];
  const double reach =
      ((1 << 20) - 2) * 8.0 * in->view.voxel - in->view.steps * (double)in->view.voxel;
  for (int a = 0; a < 3; ++a) {
    if (fabs((double)p[a]) <= reach) continue;
    tsdf_fail(error, PG_RANGE, "point %u is (%g, %g, %g): coordinates must lie within %g m", i,
              (double)p[0], (double)p[1], (double)p[2], reach);
    return tsdf_hint(error, "scale or move the scene, or use larger voxels");
  }
  if (ray->length > 1e-18 && ray->length < 1e18) return PG_OK;
  tsdf_fail(error, PG_RANGE, "point %u is (%g, %g, %g): it has no direction from the camera there",
            i, (double)p[0], (double)p[1], (double)p[2]);
  return tsdf_hint(error, "move the camera");
}

static pg_code chunk_walk(chunk *c, const tsdf_input *in) {
  tsdf_hit hits[TSDF_HITS_MAX];
  for (uint32_t i = c->begin; i < c->end; ++i) {
    const tsdf_ray ray = tsdf_ray_to(&in->view, &in->points[3 * (size_t)i]);
    pg_code code = check_point(in, i, &ray, &c->error);
    if (!code) code = check_weight(in, i, &c->error);
    if (code) return code;
    for (int s = -in->view.steps; s <= in->view.steps; ++s) {
      const int count = tsdf_sample(&in->view, &ray, s, hits);
      c->optional_samples += count > 0 && hits[0].optional;
      for (int h = 0; h < count; ++h)
        if ((code = chunk_hit(c, in, i, &hits[h]))) return code;
    }
  }
  return PG_OK;
}

/* The model's block of a key, added when new; NULL without memory. */
static tsdf_block *model_block(tsdf_model *model, int64_t key, uint32_t *number) {
  const uint32_t known = model->map.count, room = model->map.room;
  *number = tsdf_keymap_add(&model->map, key);
  if (*number == UINT32_MAX) return NULL;
  if (model->map.room > room) {
    tsdf_block *blocks = realloc(model->blocks, model->map.room * sizeof *blocks);
    if (!blocks) return NULL;
    model->blocks = blocks;
  }
  tsdf_block *block = &model->blocks[*number];
  if (*number == known) {
    *block = (tsdf_block){.initial = -1};
    tsdf_key_block(key, block->at);
  }
  return block;
}

static pg_code merge_blocks(tsdf_model *model, chunk *c, pg_error *error) {
  c->global = malloc((c->map.count + 1) * sizeof *c->global);
  if (!c->global) return out_of_memory(error);
  for (uint32_t b = 0; b < c->map.count; ++b) {
    tsdf_block *to = model_block(model, c->map.keys[b], &c->global[b]);
    if (!to) return out_of_memory(error);
    to->certain |= c->blocks[b].certain;
    to->nominal |= c->blocks[b].nominal;
    to->samples += c->blocks[b].samples;
  }
  model->samples += c->samples;
  model->optional_samples += c->optional_samples;
  return PG_OK;
}

/* Sort the samples by voxel: count, add up, scatter; within a voxel in order of the points. */
static pg_code sort_records(tsdf_model *model, chunk *chunks, pg_error *error) {
  const size_t voxels = (size_t)model->map.count * TSDF_BLOCK_VOXELS;
  size_t total = 0;
  for (int k = 0; k < CHUNKS; ++k) total += chunks[k].count;
  if (total >= UINT32_MAX || voxels >= UINT32_MAX)
    return tsdf_fail(error, PG_RANGE, "too many samples (%zu) or voxels (%zu): the limit is 2^32",
                     total, voxels);
  uint32_t *first = model->first = calloc(voxels + 2, sizeof *first);
  model->records = malloc((total + 1) * sizeof *model->records);
  if (!first || !model->records) return out_of_memory(error);
  for (int k = 0; k < CHUNKS; ++k) {
    chunk *c = &chunks[k];
    for (size_t i = 0; i < c->count; ++i) {
      const uint32_t block = c->global[c->voxels[i] / TSDF_BLOCK_VOXELS];
      c->voxels[i] = block * TSDF_BLOCK_VOXELS + c->voxels[i] % TSDF_BLOCK_VOXELS;
      ++first[c->voxels[i] + 2];
    }
  }
  for (size_t v = 2; v < voxels + 2; ++v) first[v] += first[v - 1];
  for (int k = 0; k < CHUNKS; ++k)
    for (size_t i = 0; i < chunks[k].count; ++i)
      model->records[first[chunks[k].voxels[i] + 1]++] = chunks[k].records[i];
  return PG_OK;
}

/* The blocks of the volume before come first; every correct kernel leaves them where they are. */
static pg_code adopt_initial(tsdf_model *model, pg_error *error) {
  const tsdf_input *in = &model->in;
  for (uint32_t slot = 0; slot < in->initial_size; ++slot) {
    const tsdf_entry *entry = &in->initial[slot];
    if (entry->key == TSDF_EMPTY) continue;
    const uint32_t known = model->map.count;
    uint32_t number;
    tsdf_block *block = model_block(model, entry->key, &number);
    if (!block) return out_of_memory(error);
    if (number != known || entry->block < 0)
      return tsdf_fail(error, PG_INVALID, "slot %u of the initial table is not valid", slot);
    block->initial = entry->block;
    block->certain = block->nominal = true;
  }
  model->initial_blocks = model->map.count;
  return PG_OK;
}

static void walk_chunks(chunk *chunks, const tsdf_input *in) {
#ifdef _OPENMP
#pragma omp parallel for schedule(dynamic, 1)
#endif
  for (int k = 0; k < CHUNKS; ++k) {
    chunks[k].begin = (uint32_t)((uint64_t)in->n * k / CHUNKS);
    chunks[k].end = (uint32_t)((uint64_t)in->n * (k + 1) / CHUNKS);
    chunks[k].code = chunk_walk(&chunks[k], in);
  }
}

static pg_code build(tsdf_model *model, chunk *chunks, pg_error *error) {
  pg_code code = adopt_initial(model, error);
  if (code) return code;
  walk_chunks(chunks, &model->in);
  for (int k = 0; k < CHUNKS; ++k) {
    if (chunks[k].code) {
      *error = chunks[k].error;
      return chunks[k].code;
    }
    if ((code = merge_blocks(model, &chunks[k], error))) return code;
  }
  for (uint32_t b = 0; b < model->map.count; ++b) {
    model->certain_blocks += model->blocks[b].certain;
    model->nominal_blocks += model->blocks[b].nominal;
  }
  return model->in.sums ? sort_records(model, chunks, error) : PG_OK;
}

pg_code tsdf_model_new(tsdf_model *model, const tsdf_input *in, pg_error *error) {
  *model = (tsdf_model){.in = *in};
  if (in->n > INT32_MAX)
    return tsdf_fail(error, PG_RANGE, "at most 2^31 - 1 points, got %u", in->n);
  chunk *chunks = calloc(CHUNKS, sizeof *chunks);
  if (!chunks) return out_of_memory(error);
  const pg_code code = build(model, chunks, error);
  for (int k = 0; k < CHUNKS; ++k) chunk_free(&chunks[k]);
  free(chunks);
  if (code) tsdf_model_free(model);
  return code;
}

void tsdf_model_free(tsdf_model *model) {
  tsdf_keymap_free(&model->map);
  free(model->blocks);
  free(model->first);
  free(model->records);
  tsdf_bounds_free(model->bounds);
  *model = (tsdf_model){0};
}

static void insert(tsdf_entry *table, uint32_t mask, const tsdf_block *block, int64_t key,
                   int32_t place) {
  uint32_t slot = tsdf_hash(block->at) & mask;
  while (table[slot].key != TSDF_EMPTY) slot = (slot + 1) & mask;
  table[slot].key = key;
  table[slot].block = place;
}

pg_code tsdf_model_volume(const tsdf_model *model, tsdf_choice choice, tsdf_entry *table,
                          uint32_t size, int32_t *coord, uint32_t capacity, int32_t *block_count,
                          uint64_t *drop_count, pg_error *error) {
  const uint32_t wanted = choice == TSDF_NOMINAL ? model->nominal_blocks : model->map.count;
  if (wanted > size) {
    tsdf_fail(error, PG_RANGE, "a table of %u entries cannot hold %u blocks", size, wanted);
    return tsdf_hint(error, "set table_size to a power of two of at least %u", wanted);
  }
  memset(table, 0xff, size * sizeof *table);
  memset(coord, 0, (size_t)capacity * 3 * sizeof *coord);
  uint32_t next = model->initial_blocks;
  *drop_count = 0;
  for (uint32_t b = 0; b < model->map.count; ++b) {
    const tsdf_block *block = &model->blocks[b];
    if (choice == TSDF_NOMINAL && !block->nominal) continue;
    int32_t place = block->initial >= 0 ? block->initial : (int32_t)next++;
    if ((uint32_t)place < capacity) {
      memcpy(&coord[3 * (size_t)place], block->at, sizeof block->at);
    } else {
      place = TSDF_DROPPED;
      ++*drop_count;
    }
    insert(table, size - 1, block, model->map.keys[b], place);
  }
  *block_count = (int32_t)next;
  return PG_OK;
}
