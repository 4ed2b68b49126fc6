/* The simulator as a backend, through the device interface that everything else uses. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "device.h"

typedef struct sim {
  pg_device *device;
  pg_module *module;
  pg_ptr at[BUFFERS];
  pg_error error;
} sim;

static void must(sim *s, pg_code code) {
  if (code) die("%s (%s)", s->error.message, s->error.where);
}

static void sim_buffer(backend *b, int index, size_t bytes) {
  sim *s = b->state;
  must(s, s->device->ops->free(s->device, s->at[index], &s->error));
  must(s, s->device->ops->alloc(s->device, bytes, &s->at[index], &s->error));
}

static void sim_write(backend *b, int index, const void *from, size_t bytes) {
  sim *s = b->state;
  must(s, s->device->ops->upload(s->device, s->at[index], from, bytes, NULL, &s->error));
}

static void sim_read(backend *b, int index, void *to, size_t bytes) {
  sim *s = b->state;
  must(s, s->device->ops->download(s->device, to, s->at[index], bytes, NULL, &s->error));
}

static void sim_launch(backend *b, const char *name, const uint32_t blocks[2],
                       const uint32_t threads[2], const arg *args, int count) {
  sim *s = b->state;
  uint8_t params[256];
  pg_kernel_info info;
  pg_launch launch = {.grid = {blocks[0], blocks[1], 1}, .block = {threads[0], threads[1], 1}};
  must(s, s->device->ops->kernel(s->device, s->module, name, &launch.kernel, &s->error));
  must(s, s->device->ops->kernel_info(s->device, launch.kernel, &info, &s->error));
  for (int i = 0; i < count; i++) {
    const arg *a = &args[i];
    const void *value = a->kind == 'b'   ? (const void *)&s->at[a->u]
                        : a->kind == 'u' ? (const void *)&a->u
                                         : (const void *)&a->f;
    memcpy(params + info.params[i].offset, value, info.params[i].size);
  }
  launch.params = params;
  launch.param_bytes = info.param_bytes;
  must(s, s->device->ops->launch(s->device, &launch, NULL, &s->error));
}

static void sim_finish(backend *b) {
  sim *s = b->state;
  must(s, s->device->ops->sync(s->device, &s->error));
}

static char *read_text(const char *path, size_t *bytes) {
  FILE *file = fopen(path, "rb");
  char *text = calloc(1, 1 << 20);
  if (!file || !text) die("cannot read %s", path);
  *bytes = fread(text, 1, (1 << 20) - 1, file);
  fclose(file);
  return text;
}

backend *sim_backend(const char *spec, const char *ptx_file) {
  backend *b = calloc(1, sizeof *b);
  sim *s = calloc(1, sizeof *s);
  if (!b || !s) die("no memory");
  *b = (backend){spec, s, sim_buffer, sim_write, sim_read, sim_launch, sim_finish};
  size_t bytes;
  char *text = read_text(ptx_file, &bytes);
  must(s, pg_device_open(spec, &s->device, &s->error));
  must(s, s->device->ops->load(s->device, text, bytes, ptx_file, &s->module, &s->error));
  free(text);
  return b;
}
