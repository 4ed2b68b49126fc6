/* The C API's timing: a caller's launches between two events of the device, until the median is
 * known well. The same rules as lua/perigee/measure.lua. */
#include "api.h"

#include <stdbool.h>
#include <stdlib.h>

#include "../device.h"
#include "../now.h"
#include "../stats.h"

enum { WARMUP = 3, SAMPLES_MOST = 2000, SAMPLES_LEAST = 20, SIM_MOST = 20, SIM_LEAST = 3 };
static const double budget_s = 1.0, narrow = 0.0025;

typedef struct watch {
  pg_device *device;
  pg_event *start, *stop;
  pg_ptr flush; /* memory twice as large as L2, written before a cold sample; 0: none */
  size_t flush_bytes;
  int (*body)(void *);
  void *context;
} watch;

static pg_code open_watch(watch *w, bool cold, const pg_device_info *info, pg_error *error) {
  pg_device *device = w->device;
  pg_code code = device->ops->event_new(device, &w->start, error);
  if (!code) code = device->ops->event_new(device, &w->stop, error);
  if (code || !cold || !info->gpu_clock) return code; /* the simulator's caches are not timed */
  w->flush_bytes = 2 * info->l2_bytes + (64u << 20);
  return device->ops->alloc(device, w->flush_bytes, &w->flush, error);
}

static void close_watch(watch *w) {
  pg_device *device = w->device;
  if (w->flush) device->ops->free(device, w->flush, NULL);
  if (w->start) device->ops->event_free(device, w->start);
  if (w->stop) device->ops->event_free(device, w->stop);
}

static pg_code sample(const watch *w, double *us, pg_error *error) {
  pg_device *device = w->device;
  pg_code code = PG_OK;
  if (w->flush) code = device->ops->fill(device, w->flush, 1, 1, w->flush_bytes, NULL, error);
  if (!code) code = device->ops->event_record(device, w->start, NULL, error);
  if (code) return code;
  int answer = w->body(w->context);
  if (answer) return pg_fail(error, PG_INVALID, "the body of the measurement returned %d", answer);
  code = device->ops->event_record(device, w->stop, NULL, error);
  return code ? code : device->ops->event_elapsed(device, w->start, w->stop, us, error);
}

static pg_code take_samples(const watch *w, bool gpu, double *samples, pg_summary *out,
                            pg_error *error) {
  size_t most = gpu ? SAMPLES_MOST : SIM_MOST, least = gpu ? SAMPLES_LEAST : SIM_LEAST, count = 0;
  double ignored, started;
  pg_code code = PG_OK;
  for (int i = 0; !code && i < (gpu ? WARMUP : 1); i++) code = sample(w, &ignored, error);
  started = pg_now();
  while (!code && count < most) {
    code = sample(w, &samples[count], error);
    if (code || ++count < least) continue;
    if (pg_now() - started > budget_s) break;
    if (count % 8) continue;
    code = pg_summarize(samples, count, out, error);
    if (!code && out->relative_half < narrow) break;
  }
  return code ? code : pg_summarize(samples, count, out, error);
}

int pg_measure(pg_device *device, int (*body)(void *context), void *context, int cold,
               pg_times *out, pg_error *error) {
  pg_device_info info;
  pg_summary summary;
  NEED(device);
  NEED(body);
  NEED(out);
  pg_code code = device->ops->info(device, &info, error);
  if (code) return (int)code;
  double *samples = malloc(SAMPLES_MOST * sizeof *samples);
  if (!samples) return (int)pg_fail(error, PG_MEMORY, "no memory for samples");
  watch w = {.device = device, .body = body, .context = context};
  code = open_watch(&w, cold, &info, error);
  if (!code) code = take_samples(&w, info.gpu_clock, samples, &summary, error);
  close_watch(&w);
  free(samples);
  if (code) return (int)code;
  *out = (pg_times){.median = summary.median,
                    .low = summary.ci95[0],
                    .high = summary.ci95[1],
                    .min = summary.min,
                    .max = summary.max,
                    .samples = summary.samples,
                    .gpu_clock = info.gpu_clock};
  return 0;
}
