/* What workers answer, as JSON: texts made safe, and the structs of device.h field by field.
 * Nothing here fails: without memory a field is missing, and the sender reports that it could not
 * answer. */
#include "request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

json_t *pg_json_text(const char *text, size_t most) {
  size_t bytes = strlen(text), keep = bytes < most ? bytes : most;
  char *copy = malloc(keep + 64);
  if (!copy) return NULL;
  memcpy(copy, text, keep);
  copy[keep] = 0;
  if (keep < bytes) {
    while (keep > 0 && ((unsigned char)text[keep] & 0xC0) == 0x80)
      keep--; /* not inside a character */
    snprintf(copy + keep, 64, "\n... %zu bytes more", bytes - keep);
  }
  json_t *json = json_string(copy);
  if (!json) {
    for (char *c = copy; *c; c++)
      if ((unsigned char)*c >= 0x80) *c = '?';
    json = json_string(copy);
  }
  free(copy);
  return json;
}

json_t *pg_json_words(const char *text) {
  json_t *list = json_array();
  while (*text) {
    size_t length = strcspn(text, " ");
    if (length > 0) json_array_append_new(list, json_stringn(text, length));
    text += length + (text[length] == ' ');
  }
  return list;
}

json_t *pg_json_u64(uint64_t value) {
  char text[24];
  if (value <= INT64_MAX) return json_integer((json_int_t)value);
  snprintf(text, sizeof text, "%llu", (unsigned long long)value);
  return json_string(text);
}

static void set_text(json_t *object, const char *key, const char *text) {
  json_object_set_new(object, key, pg_json_text(text, PG_MESSAGE_MAX));
}

static void set_integer(json_t *object, const char *key, long long value) {
  json_object_set_new(object, key, json_integer(value));
}

static json_t *triple(const uint32_t v[3]) {
  return json_pack("[I,I,I]", (json_int_t)v[0], (json_int_t)v[1], (json_int_t)v[2]);
}

json_t *pg_reply_error(const pg_error *error) {
  json_t *e = json_object(), *reply = json_object();
  set_text(e, "code", pg_code_name(error->code));
  set_text(e, "message", error->message);
  set_text(e, "hint", error->hint);
  set_text(e, "where", error->where);
  json_object_set_new(reply, "ok", json_false());
  json_object_set_new(reply, "error", e);
  return reply;
}

static json_t *other_access(const pg_fault *f) {
  json_t *o = json_object();
  json_object_set_new(o, "block", triple(f->other_block));
  json_object_set_new(o, "thread", triple(f->other_thread));
  set_text(o, "file", f->other_file);
  set_integer(o, "line", f->other_line);
  set_integer(o, "ptx_line", f->other_ptx_line);
  set_text(o, "instruction", f->other_instruction);
  return o;
}

json_t *pg_json_fault(const pg_fault *f) {
  json_t *o = json_object();
  set_text(o, "kind", pg_fault_name(f->kind));
  set_text(o, "text", f->text);
  set_text(o, "kernel", f->kernel);
  json_object_set_new(o, "located", json_boolean(f->located));
  if (!f->located) return o;
  json_object_set_new(o, "block", triple(f->block));
  json_object_set_new(o, "thread", triple(f->thread));
  set_text(o, "file", f->file);
  set_integer(o, "line", f->line);
  set_integer(o, "ptx_line", f->ptx_line);
  set_text(o, "instruction", f->instruction);
  json_object_set_new(o, "address", pg_json_u64(f->address));
  set_integer(o, "access_bytes", f->access_bytes);
  set_text(o, "space", f->space);
  set_text(o, "allocation", f->allocation);
  json_object_set_new(o, "allocation_base", pg_json_u64(f->allocation_base));
  json_object_set_new(o, "allocation_bytes", pg_json_u64(f->allocation_bytes));
  set_integer(o, "distance", f->distance);
  if (f->times) set_integer(o, "times", (long long)f->times);
  if (f->other_ptx_line) json_object_set_new(o, "other", other_access(f));
  return o;
}

json_t *pg_json_info(const pg_device_info *i) {
  json_t *o = json_object();
  set_text(o, "spec", i->spec);
  set_text(o, "kind", i->kind);
  set_text(o, "name", i->name);
  set_text(o, "driver", i->driver);
  set_integer(o, "cc_major", i->cc_major);
  set_integer(o, "cc_minor", i->cc_minor);
  set_integer(o, "multiprocessors", i->multiprocessors);
  set_integer(o, "max_threads_per_block", i->max_threads_per_block);
  json_object_set_new(o, "max_grid", triple(i->max_grid));
  json_object_set_new(o, "max_block", triple(i->max_block));
  json_object_set_new(o, "shared_per_block", pg_json_u64(i->shared_per_block));
  json_object_set_new(o, "shared_per_block_optin", pg_json_u64(i->shared_per_block_optin));
  json_object_set_new(o, "l2_bytes", pg_json_u64(i->l2_bytes));
  json_object_set_new(o, "memory_bytes", pg_json_u64(i->memory_bytes));
  json_object_set_new(o, "memory_gbs", json_real(i->memory_gbs));
  json_object_set_new(o, "gpu_clock", json_boolean(i->gpu_clock));
  return o;
}

json_t *pg_json_kernel(const pg_kernel_info *k) {
  json_t *o = json_object(), *params = json_array();
  set_text(o, "name", k->name);
  for (int i = 0; i < k->param_count && i < PG_PARAM_MAX; i++) {
    const char kind[2] = {k->params[i].kind, 0};
    json_array_append_new(
        params, json_pack("{s:I,s:s}", "size", (json_int_t)k->params[i].size, "kind", kind));
  }
  json_object_set_new(o, "params", params);
  set_integer(o, "param_bytes", k->param_bytes);
  set_integer(o, "registers", k->registers);
  set_integer(o, "local_bytes", k->local_bytes);
  set_integer(o, "shared_bytes", k->shared_bytes);
  set_integer(o, "max_threads", k->max_threads);
  return o;
}

json_t *pg_json_health(const pg_health *h) {
  return json_pack("{s:i,s:i,s:i,s:i,s:I}", "sm_clock_mhz", h->sm_clock_mhz, "memory_clock_mhz",
                   h->memory_clock_mhz, "temperature_c", h->temperature_c, "power_mw", h->power_mw,
                   "throttle_reasons", (json_int_t)h->throttle_reasons);
}

json_t *pg_json_counters(const pg_counters *c) {
  json_t *o = json_object();
  uint64_t any = 0;
#define PG_X(name, text)                               \
  json_object_set_new(o, #name, pg_json_u64(c->name)); \
  any |= c->name;
  PG_COUNTERS(PG_X)
#undef PG_X
  json_object_set_new(o, "complete", json_boolean(c->complete));
  if (any || c->complete) return o;
  json_decref(o);
  return json_null();
}

static json_t *line_object(const pg_line *line) {
  json_t *o = json_object();
  set_text(o, "file", line->file);
  set_integer(o, "line", line->line);
#define PG_X(name, text) \
  if (line->counters.name) json_object_set_new(o, #name, pg_json_u64(line->counters.name));
  PG_COUNTERS(PG_X)
#undef PG_X
  return o;
}

json_t *pg_json_profile(const pg_profile *p) {
  json_t *o = json_object(), *lines = json_array(), *hot = json_array();
  for (size_t i = 0; i < p->line_count; i++)
    json_array_append_new(lines, line_object(&p->lines[i]));
  for (int i = 0; i < PG_HOT_MAX && p->hot[i].collisions; i++) {
    json_t *h = json_object();
    json_object_set_new(h, "address", pg_json_u64(p->hot[i].address));
    json_object_set_new(h, "collisions", pg_json_u64(p->hot[i].collisions));
    json_array_append_new(hot, h);
  }
  json_object_set_new(o, "lines", lines);
  json_object_set_new(o, "hot", hot);
  return o;
}
