/* What a volume must hold: the blocks that points touch, and for each voxel the points that are
 * added to it. A model owns its memory; the points, weights and colours belong to the caller and
 * must outlive it. */
#ifndef TSDF_MODEL_H
#define TSDF_MODEL_H

#include "error.h"
#include "keymap.h"
#include "walk.h"

enum { TSDF_BLOCK_VOXELS = 512 };

typedef struct tsdf_entry { /* as the kernels see it */
  int64_t key;
  int32_t block, pad;
} tsdf_entry;

enum { TSDF_PENDING = -1, TSDF_DROPPED = -2 };

typedef struct tsdf_input {
  tsdf_view view;
  const float *points; /* x, y, z each */
  const float *weights;
  const uint8_t *colors; /* r, g, b each */
  uint32_t n;
  bool sums; /* keep which points meet which voxel */
  /* The volume before: its table, all of it valid; NULL for an empty one. */
  const tsdf_entry *initial;
  uint32_t initial_size;
} tsdf_input;

typedef struct tsdf_block {
  int32_t at[3];
  int32_t initial;  /* its place in the pool before; -1: none */
  bool certain;     /* every correct kernel inserts it */
  bool nominal;     /* the plain binary32 walk inserts it */
  uint32_t samples; /* of the plain binary32 walk */
} tsdf_block;

typedef struct tsdf_model {
  tsdf_input in;
  tsdf_keymap map;    /* key -> number of the block */
  tsdf_block *blocks; /* the initial ones first, then in order of the points */
  /* The points of voxel v = 512 * block + index: records[first[v]] up to first[v + 1], each the
   * point's number times 2, plus 1 when the sample is optional. NULL without sums. */
  uint32_t *first, *records;
  uint64_t samples, optional_samples; /* of the plain walk; of any that may fall either way */
  uint32_t initial_blocks, certain_blocks, nominal_blocks;
  struct tsdf_bounds *bounds; /* of the sums, once they are kept: bounds.h */
} tsdf_model;

/* Errors: PG_RANGE (a point at the camera, not finite, or too far for the keys; too many samples),
 * PG_INVALID (the initial table), PG_MEMORY. On error the model is empty. */
pg_code tsdf_model_new(tsdf_model *model, const tsdf_input *in, pg_error *error);
void tsdf_model_free(tsdf_model *model); /* safe on a zeroed one */

/* Index of a voxel within its block, x fastest; and its block. */
uint32_t tsdf_local(const int32_t voxel[3]);
void tsdf_block_of(const int32_t voxel[3], int32_t block[3]);

typedef enum tsdf_choice { TSDF_NOMINAL, TSDF_EVERY } tsdf_choice;

/* Fill the reference's own volume: blocks of the plain walk, or every one that may occur. `coord`
 * has room for `capacity` blocks. Errors: PG_RANGE when the table cannot hold the keys. */
pg_code tsdf_model_volume(const tsdf_model *model, tsdf_choice choice, tsdf_entry *table,
                          uint32_t size, int32_t *coord, uint32_t capacity, int32_t *block_count,
                          uint64_t *drop_count, pg_error *error);

#endif
