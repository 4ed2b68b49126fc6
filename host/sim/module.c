/* Modules of the simulator: variables placed and initialised, kernels lowered and described. */
#include "module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

/* ---- variables ---- */

static void *host(uint64_t at) {
  return (void *)(uintptr_t)at;
}

static pg_code write_relocations(const ptx_module *m, const ptx_var *v, uint64_t address,
                                 const uint64_t *addresses, const char *name, pg_error *error) {
  for (int i = 0; i < v->reloc_count; i++) {
    uint64_t value = 0;
    for (int j = 0; j < m->var_count; j++) {
      if (m->vars[j].name == v->relocs[i].symbol) value = addresses[j];
    }
    if (!value) value = sim_code_address(m, v->relocs[i].symbol);
    if (!value) {
      pg_fail(error, PG_UNSUPPORTED, "the initialiser of %s takes the address of %s", v->name,
              v->relocs[i].symbol);
      return pg_where(error, "%s:%d", name, v->line);
    }
    value += (uint64_t)v->relocs[i].addend;
    memcpy((uint8_t *)host(address) + v->relocs[i].at, &value, (size_t)v->relocs[i].bytes);
  }
  return PG_OK;
}

static pg_code place_variable(sim_memory *memory, const ptx_var *v, const char *name,
                              uint64_t *address, pg_error *error) {
  *address = 0;
  if (v->space == PTX_SHARED) return PG_OK;
  uint64_t bytes = v->count * ptx_type_bytes(v->type);
  if (v->is_extern || bytes == 0) {
    pg_fail(error, PG_UNSUPPORTED, "variable %s is declared and never defined", v->name);
    return pg_where(error, "%s:%d", name, v->line);
  }
  pg_code code = sim_memory_alloc(memory, bytes, address, error);
  if (code) return code;
  if (v->init) memcpy(host(*address), v->init, bytes);
  sim_shadow *shadow = sim_memory_shadow(memory);
  if (shadow) sim_shadow_set(shadow, *address, bytes, true);
  return sim_memory_name(memory, *address, bytes, v->name, v->space == PTX_CONST, error);
}

static pg_code place_variables(sim_memory *memory, const ptx_module *m, const char *name,
                               uint64_t **out, pg_error *error) {
  uint64_t *addresses = calloc((size_t)m->var_count + 1, sizeof *addresses);
  if (!addresses) return pg_fail(error, PG_MEMORY, "no memory for module variables");
  *out = addresses;
  pg_code code = PG_OK;
  for (int i = 0; i < m->var_count && !code; i++) {
    code = place_variable(memory, &m->vars[i], name, &addresses[i], error);
  }
  for (int i = 0; i < m->var_count && !code; i++) {
    if (addresses[i])
      code = write_relocations(m, &m->vars[i], addresses[i], addresses, name, error);
  }
  return code;
}

static void release_variables(sim_memory *memory, const uint64_t *addresses, int count) {
  for (int i = 0; addresses && i < count; i++) sim_memory_release(memory, addresses[i], NULL);
}

/* ---- loading ---- */

void sim_module_free(sim_memory *memory, pg_module *m) {
  if (m->program) release_variables(memory, m->program->var_address, m->program->source->var_count);
  sim_program_free(m->program);
  pg_ptx_scan_free(&m->scan);
  free(m->kernels);
  free(m->name);
  free(m);
}

static pg_code lower_module(sim_memory *memory, const sim_program_kind *kind, pg_module *m,
                            ptx_module *source, pg_error *error) {
  uint64_t *addresses = NULL;
  pg_code code = place_variables(memory, source, m->name, &addresses, error);
  if (!code) code = sim_lower(source, m->name, addresses, kind, &m->program, error);
  if (code) {
    release_variables(memory, addresses, source->var_count);
    free(addresses);
    ptx_free(source);
  }
  return code;
}

static pg_code make_kernels(pg_module *m, pg_error *error) {
  m->kernels = calloc(m->program->func_count + 1, sizeof *m->kernels);
  if (!m->kernels) return pg_fail(error, PG_MEMORY, "no memory for a module");
  for (size_t i = 0; i < m->program->func_count; i++) {
    const sim_func *f = &m->program->funcs[i];
    m->kernels[i] = (pg_kernel){f, pg_ptx_scan_find(&m->scan, f->source->name)};
  }
  return PG_OK;
}

pg_code sim_module_load(sim_memory *memory, const sim_program_kind *kind, const void *image,
                        size_t bytes, const char *name, pg_module **out, pg_error *error) {
  if (bytes >= 4 && memcmp(image, "\177ELF", 4) == 0) {
    pg_fail(error, PG_UNSUPPORTED, "%s is machine code; the simulator executes PTX", name);
    return pg_hint(error, "compile to PTX (nvcc -ptx)");
  }
  ptx_module *source = NULL;
  pg_code code = ptx_parse(image, bytes, name, &source, error);
  if (code) return code;
  pg_module *m = calloc(1, sizeof *m);
  if (m) m->name = strdup(name);
  if (!m || !m->name) {
    free(m);
    ptx_free(source);
    return pg_fail(error, PG_MEMORY, "no memory for a module");
  }
  code = lower_module(memory, kind, m, source, error);
  if (!code) code = pg_ptx_scan_text(image, bytes, &m->scan, error);
  if (!code) code = make_kernels(m, error);
  if (code) {
    sim_module_free(memory, m);
    return code;
  }
  *out = m;
  return PG_OK;
}

/* ---- what a module holds ---- */

const char *sim_kernel_name(pg_device *d, pg_module *m, int index) {
  (void)d;
  if (index < 0 || (size_t)index >= m->program->func_count) return NULL;
  return m->program->funcs[index].source->name;
}

pg_code sim_global(pg_device *d, pg_module *m, const char *name, pg_ptr *at, size_t *bytes,
                   pg_error *error) {
  (void)d;
  const ptx_module *source = m->program->source;
  for (int i = 0; i < source->var_count; i++) {
    if (!m->program->var_address[i] || strcmp(source->vars[i].name, name) != 0) continue;
    *at = m->program->var_address[i];
    *bytes = source->vars[i].count * ptx_type_bytes(source->vars[i].type);
    return PG_OK;
  }
  return pg_fail(error, PG_NOT_FOUND, "%s has no variable %.100s", m->name, name);
}

pg_code sim_kernel(pg_device *d, pg_module *m, const char *name, pg_kernel **out, pg_error *error) {
  char known[PG_HINT_MAX - 32] = "";
  for (int i = 0; sim_kernel_name(d, m, i); i++) {
    const char *has = sim_kernel_name(d, m, i);
    if (strcmp(has, name) == 0) {
      *out = &m->kernels[i];
      return PG_OK;
    }
    size_t n = strlen(known);
    snprintf(known + n, sizeof known - n, "%s%s", n ? ", " : "", has);
  }
  pg_fail(error, PG_NOT_FOUND, "%s has no kernel named %s", m->name, name);
  return pg_hint(error, known[0] ? "it has: %s" : "it has none%s", known);
}

uint64_t sim_static_shared(const sim_func *f) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < f->shared_count; i++) bytes += f->shared[i].bytes;
  return bytes;
}

pg_code sim_kernel_info(pg_device *d, pg_kernel *k, pg_kernel_info *info, pg_error *error) {
  (void)d;
  const ptx_func *f = k->func->source;
  *info = (pg_kernel_info){.registers = -1,
                           .param_count = f->param_count,
                           .param_bytes = k->func->param_bytes,
                           .local_bytes = (int)k->func->local_bytes,
                           .shared_bytes = (int)sim_static_shared(k->func),
                           .max_threads = SIM_MAX_THREADS};
  snprintf(info->name, sizeof info->name, "%s", f->name);
  if (f->param_count > PG_PARAM_MAX) {
    return pg_fail(error, PG_UNSUPPORTED, "kernel %s has %d parameters, the limit is %d", f->name,
                   f->param_count, PG_PARAM_MAX);
  }
  for (int i = 0; i < f->param_count; i++) {
    const ptx_var *v = &f->params[i];
    info->params[i] = (pg_param){.offset = k->func->param_offset[i],
                                 .size = (uint32_t)v->count * ptx_type_bytes(v->type),
                                 .kind = k->entry ? k->entry->params[i].kind : '?'};
  }
  uint32_t most = f->reqntid[0] ? f->reqntid[0] * f->reqntid[1] * f->reqntid[2]
                                : f->maxntid[0] * f->maxntid[1] * f->maxntid[2];
  if (most) info->max_threads = (int)most;
  return PG_OK;
}
