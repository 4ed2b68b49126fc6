/* The interval around the binary64 value of each sum of a voxel in which every correct kernel's sum
 * lies. They follow from the model alone, so that they are found once for all volumes it judges. */
#ifndef TSDF_BOUNDS_H
#define TSDF_BOUNDS_H

#include "model.h"

enum { TSDF_SUMS = 5 }; /* tsdf, weight, r, g, b */

typedef struct tsdf_bound {
  double low[TSDF_SUMS], high[TSDF_SUMS];
  uint32_t additions, optional; /* terms; of these, such as may fall to another voxel */
} tsdf_bound;

/* What one term per unit of weight is at least and at most: needed where a cap keeps terms out. */
typedef struct tsdf_extremes {
  double least[TSDF_SUMS], most[TSDF_SUMS];
} tsdf_extremes;

struct tsdf_bounds {
  uint32_t *before;        /* of each block: voxels with terms in the blocks before it */
  tsdf_bound *list;        /* of every voxel with terms */
  tsdf_extremes *extremes; /* the same; NULL until a cap is judged */
};

/* Keep the bounds of a model with sums, once; with extremes when `capped`. Where they would take
 * more than 1 GB they are not kept, which is no error. */
void tsdf_bounds_keep(tsdf_model *model, bool capped);
void tsdf_bounds_free(struct tsdf_bounds *bounds); /* NULL is fine */

/* The bounds of the voxels of one block, one after the other: those kept, or computed. */
typedef struct tsdf_bounds_reader {
  const tsdf_model *model;
  uint32_t block, next; /* `next`: of the voxels with terms */
  tsdf_bound own;
  tsdf_extremes own_extremes;
} tsdf_bounds_reader;

tsdf_bounds_reader tsdf_bounds_of(const tsdf_model *model, uint32_t block);

/* The bound of voxel `local`, which must be asked for in order; NULL: it has no terms, so its sums
 * are 0. `extremes` may be NULL. Both live until the next call. */
const tsdf_bound *tsdf_bounds_next(tsdf_bounds_reader *reader, uint32_t local,
                                   const tsdf_extremes **extremes);

#endif
