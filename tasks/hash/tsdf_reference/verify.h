/* Judges a volume that a kernel made against the model: the gate of the workload.
 * A report is a plain value; the volume's arrays belong to the caller. */
#ifndef TSDF_VERIFY_H
#define TSDF_VERIFY_H

#include "bounds.h"
#include "model.h"

enum { TSDF_CHECKS_MAX = 16, TSDF_DETAIL_MAX = 320 };

typedef struct tsdf_check {
  const char *name; /* a constant */
  bool ok;
  char detail[TSDF_DETAIL_MAX]; /* what is wrong, with numbers and the first place; or what was seen
                                 */
} tsdf_check;

typedef struct tsdf_report {
  int count;
  bool ok; /* all of them */
  tsdf_check checks[TSDF_CHECKS_MAX];
} tsdf_report;

typedef struct tsdf_volume {
  const tsdf_entry *table;
  uint32_t size; /* entries, a power of two */
  const int32_t *coord;
  int32_t block_count;
  uint64_t drop_count;
  uint32_t capacity;
  const float *sums[TSDF_SUMS]; /* tsdf, weight, r, g, b */
  /* Of each block of each sum: 0, it is zero for certain and is not looked at. NULL: not known. */
  const uint8_t *touched[TSDF_SUMS];
} tsdf_volume;

typedef struct tsdf_table_facts {
  uint32_t blocks, optional_blocks,
      dropped;        /* distinct keys; of these optional; of these without block */
  double probes_mean; /* entries looked at until a key is found, over the keys */
  uint32_t probes_max;
  uint64_t probes; /* the same added up over all samples of the plain walk */
} tsdf_table_facts;

/* Begin with report->count 0. Each appends checks. */
void tsdf_verify_table(const tsdf_model *model, const tsdf_volume *volume, tsdf_report *report,
                       tsdf_table_facts *facts);

/* The place in the pool of each of the model's blocks by a valid table: -1 not there, -2 dropped.
 */
void tsdf_places(const tsdf_model *model, const tsdf_volume *volume, int32_t *places);

typedef struct tsdf_sum_facts {
  uint64_t voxels, additions; /* that may be touched, and terms that may be added */
  double rejected;            /* weight that a cap kept out, over all weight offered */
  double tightness; /* largest |got - expected| over its bound, where only rounding counts */
} tsdf_sum_facts;

/* Needs a model with sums. weight_cap 0: none. Errors: PG_MEMORY. */
pg_code tsdf_verify_sums(const tsdf_model *model, const tsdf_volume *volume, const int32_t *places,
                         double weight_cap, tsdf_report *report, tsdf_sum_facts *facts,
                         pg_error *error);

/* The zero crossings of tsdf / weight along the grid's axes lie within `limit` voxels of the
 * sphere. */
void tsdf_verify_sphere(const tsdf_model *model, const tsdf_volume *volume, const int32_t *places,
                        const double centre[3], double radius, double limit, tsdf_report *report,
                        double *worst, uint64_t *crossings);

/* Append a check. */
void tsdf_report_add(tsdf_report *report, const char *name, bool ok, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
