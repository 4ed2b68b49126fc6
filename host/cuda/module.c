/* Modules and kernels of the CUDA device: loading PTX or a cubin, and what a kernel's parameters
 * are. */
#include "state.h"

#include <ctype.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../nearest.h"

enum { LOG_BYTES = 8192 };

/* ---- what the driver's refusal of an image means ---- */

/* The oldest CUDA whose driver reads PTX of this version (PTX ISA, release history); 0 when not
 * known. */
static int cuda_for_ptx(int major, int minor) {
  if (major < 7 || major > 9) return 0;
  if (major == 8 && minor >= 6) return 12000 + 10 * (minor + 1);
  return (major + 4) * 1000 + 10 * minor;
}

static pg_code explain_version(const pg_cuda *cuda, const pg_module *module, pg_error *error) {
  int major = module->scan.version_major, minor = module->scan.version_minor;
  int needs = cuda_for_ptx(major, minor), has = cuda->driver.version;
  char which[48] = "a newer driver";
  if (needs)
    snprintf(which, sizeof which, "a driver for CUDA %d.%d or newer", needs / 1000,
             needs % 1000 / 10);
  pg_fail(error, PG_UNSUPPORTED, "%s is PTX %d.%d, which needs %s; this one is for CUDA %d.%d",
          module->name, major, minor, which, has / 1000, has % 1000 / 10);
  return pg_hint(error, "update the driver, or compile with NVRTC %d.x (PERIGEE_NVRTC=its folder)",
                 has / 1000);
}

/* The driver's log reads "ptxas application ptx input, line 12; error : ...". */
static pg_code explain_log(const pg_module *module, const char *log, pg_code code,
                           pg_error *error) {
  const char *line = strstr(log, ", line ");
  int number = line ? atoi(line + 7) : 0;
  const char *what = line ? strchr(line, ':') : NULL; /* after "error" or "fatal", padded */
  what = what ? what + 1 : log;
  while (isspace((unsigned char)*what)) what++;
  int length = (int)strcspn(what, "\n");
  if (number > 0) {
    pg_fail(error, code, "%s:%d: %.*s", module->name, number, length, what);
    return pg_where(error, "%s:%d", module->name, number);
  }
  pg_fail(error, code, "%s: %.*s", module->name, length, what);
  return pg_where(error, "%s", module->name);
}

static pg_code explain_load(pg_cuda *cuda, const pg_module *module, cu_result result,
                            const char *log, pg_error *error) {
  if (result == PG_CU_UNSUPPORTED_PTX_VERSION && module->scan.version_major)
    return explain_version(cuda, module, error);
  if (result == PG_CU_NO_BINARY_FOR_GPU) {
    pg_fail(error, PG_UNSUPPORTED, "%s holds no code for this GPU (compute capability %d.%d)",
            module->name, cuda->info.cc_major, cuda->info.cc_minor);
    return pg_hint(error, "compile it for compute_%d%d or an older one", cuda->info.cc_major,
                   cuda->info.cc_minor);
  }
  if (result == PG_CU_INVALID_PTX && log[0])
    return explain_log(module, log, pg_driver_code(result), error);
  pg_code code = pg_cuda_check(cuda, result, error, module->name);
  if (log[0]) pg_hint(error, "the driver says: %.400s", log);
  return code;
}

/* ---- loading ---- */

static const char elf_magic[4] = {'\177', 'E', 'L', 'F'};
static const char fat_magic[4] = {'\x50', '\xed', '\x55',
                                  '\xba'}; /* several cubins and PTX in one */

static bool is_binary(const char *image, size_t bytes) {
  return bytes >= 4 && (!memcmp(image, elf_magic, 4) || !memcmp(image, fat_magic, 4));
}

static bool within(uint64_t at, uint64_t size, size_t bytes) {
  return at <= bytes && size <= bytes - at;
}

/* The driver takes no size and follows the offsets that it finds, so a file that was cut short
 * would make it read past the end. True when every part that the headers name lies inside. */
static bool is_whole(const char *image, size_t bytes) {
  uint64_t fat_bytes;
  Elf64_Ehdr head;
  if (!memcmp(image, fat_magic, 4)) {
    if (bytes < 16) return false;
    memcpy(&fat_bytes, image + 8, 8);
    return within(16, fat_bytes, bytes);
  }
  if (bytes < sizeof head) return false;
  memcpy(&head, image, sizeof head);
  if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_ident[EI_DATA] != ELFDATA2LSB) return false;
  if (!within(head.e_phoff, (uint64_t)head.e_phnum * head.e_phentsize, bytes)) return false;
  if (!within(head.e_shoff, (uint64_t)head.e_shnum * sizeof(Elf64_Shdr), bytes)) return false;
  for (unsigned i = 0; i < head.e_shnum; i++) {
    Elf64_Shdr section;
    memcpy(&section, image + head.e_shoff + i * sizeof section, sizeof section);
    if (section.sh_type != SHT_NOBITS && !within(section.sh_offset, section.sh_size, bytes))
      return false;
  }
  return true;
}

static pg_code load_image(pg_cuda *cuda, pg_module *module, const char *image, pg_error *error) {
  char log[LOG_BYTES] = "";
  unsigned options[] = {PG_CU_JIT_ERROR_LOG_BUFFER, PG_CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                        PG_CU_JIT_GENERATE_LINE_INFO};
  void *values[] = {log, (void *)(uintptr_t)sizeof log, (void *)(uintptr_t)1};
  cu_result result = cuda->driver.ModuleLoadDataEx(&module->handle, image, 3, options, values);
  log[sizeof log - 1] = '\0';
  return result ? explain_load(cuda, module, result, log, error) : PG_OK;
}

static pg_code load_binary(pg_cuda *cuda, pg_module *module, const char *image, size_t bytes,
                           pg_error *error) {
  if (is_whole(image, bytes)) return load_image(cuda, module, image, error);
  pg_fail(error, PG_SYNTAX, "%s is a cubin that was cut short, or no 64-bit one", module->name);
  return pg_where(error, "%s", module->name);
}

static pg_code load_text(pg_cuda *cuda, pg_module *module, const char *text, size_t bytes,
                         pg_error *error) {
  pg_code code = pg_ptx_scan_text(text, bytes, &module->scan, error);
  if (code) return code;
  if (!module->scan.version_major) {
    pg_fail(error, PG_SYNTAX, "%s is neither PTX (no .version directive) nor a cubin",
            module->name);
    return pg_where(error, "%s", module->name);
  }
  char *copy = strndup(text, bytes); /* the driver reads up to a zero, which may lie past `bytes` */
  if (!copy) return pg_fail(error, PG_MEMORY, "out of memory for %zu bytes of PTX", bytes);
  code = load_image(cuda, module, copy, error);
  free(copy);
  return code;
}

static pg_code add_name(pg_module *module, const char *name, pg_error *error) {
  module->names[module->name_count] = strdup(name);
  if (!module->names[module->name_count])
    return pg_fail(error, PG_MEMORY, "out of memory for kernel names");
  module->name_count++;
  return PG_OK;
}

/* Names of a cubin's kernels, where the driver (12.4) lists them. */
static unsigned list_functions(pg_cuda *cuda, const pg_module *module, CUfunction **out) {
  const pg_driver *driver = &cuda->driver;
  unsigned count = 0;
  *out = NULL;
  if (!driver->ModuleGetFunctionCount || !driver->ModuleEnumerateFunctions || !driver->FuncGetName)
    return 0;
  if (driver->ModuleGetFunctionCount(&count, module->handle) || count == 0) return 0;
  *out = calloc(count, sizeof **out);
  if (!*out || driver->ModuleEnumerateFunctions(*out, count, module->handle)) return 0;
  return count;
}

static pg_code list_names(pg_cuda *cuda, pg_module *module, pg_error *error) {
  CUfunction *functions = NULL;
  bool text = module->scan.version_major != 0;
  unsigned count =
      text ? (unsigned)module->scan.entry_count : list_functions(cuda, module, &functions);
  pg_code code = PG_OK;
  module->names = calloc(count + 1, sizeof *module->names);
  if (!module->names) code = pg_fail(error, PG_MEMORY, "out of memory for kernel names");
  for (unsigned i = 0; !code && i < count; i++) {
    const char *name = NULL;
    if (text)
      name = module->scan.entries[i].name;
    else
      cuda->driver.FuncGetName(&name, functions[i]);
    if (name) code = add_name(module, name, error);
  }
  free(functions);
  return code;
}

pg_code pg_cuda_load(pg_device *device, const void *image, size_t bytes, const char *name,
                     pg_module **out, pg_error *error) {
  pg_cuda *cuda = (pg_cuda *)device;
  *out = NULL;
  pg_code code = pg_cuda_use(cuda, error);
  if (code) return code;
  pg_module *module = calloc(1, sizeof *module);
  if (!module) return pg_fail(error, PG_MEMORY, "out of memory for a module");
  snprintf(module->name, sizeof module->name, "%s", name && name[0] ? name : "module");
  module->next = cuda->modules;
  cuda->modules = module;
  code = is_binary(image, bytes) ? load_binary(cuda, module, image, bytes, error)
                                 : load_text(cuda, module, image, bytes, error);
  if (!code) code = list_names(cuda, module, error);
  if (code)
    pg_cuda_unload(device, module);
  else
    *out = module;
  return code;
}

void pg_cuda_unload(pg_device *device, pg_module *module) {
  pg_cuda *cuda = (pg_cuda *)device;
  if (!module) return;
  pg_module **link = &cuda->modules;
  while (*link && *link != module) link = &(*link)->next;
  if (*link) *link = module->next;
  if (cuda->last && cuda->last->module == module) cuda->last = NULL;
  cuda->driver.CtxSetCurrent(cuda->context);
  if (module->handle) cuda->driver.ModuleUnload(module->handle);
  while (module->kernels) {
    pg_kernel *kernel = module->kernels;
    module->kernels = kernel->next;
    free(kernel);
  }
  for (int i = 0; i < module->name_count; i++) free(module->names[i]);
  free(module->names);
  pg_ptx_scan_free(&module->scan);
  free(module);
}

const char *pg_cuda_kernel_name(pg_device *device, pg_module *module, int index) {
  (void)device;
  return index >= 0 && index < module->name_count ? module->names[index] : NULL;
}

pg_code pg_cuda_global(pg_device *device, pg_module *module, const char *name, pg_ptr *at,
                       size_t *bytes, pg_error *error) {
  pg_cuda *cuda = (pg_cuda *)device;
  CUdeviceptr pointer = 0;
  pg_code code = pg_cuda_use(cuda, error);
  if (code) return code;
  cu_result result = cuda->driver.ModuleGetGlobal(&pointer, bytes, module->handle, name);
  *at = pointer;
  return pg_cuda_check(cuda, result, error, name);
}

/* ---- kernels ---- */

/* Offsets and sizes as the driver has them (12.4), kinds from the text. Without text: by size
 * alone. */
static pg_code find_params(pg_cuda *cuda, pg_kernel *kernel, const pg_ptx_entry *entry,
                           pg_error *error) {
  pg_kernel_info *info = &kernel->info;
  int count = entry ? entry->param_count : 0;
  size_t offset, size;
  if (cuda->driver.FuncGetParamInfo) {
    for (count = 0; !cuda->driver.FuncGetParamInfo(kernel->function, (size_t)count, &offset, &size);
         count++) {
      if (count >= PG_PARAM_MAX) continue;
      pg_param *param = &info->params[count];
      *param = (pg_param){(uint32_t)offset, (uint32_t)size, '?'};
      if (entry && count < entry->param_count && entry->params[count].size == size)
        param->kind = entry->params[count].kind;
    }
  } else if (entry) {
    memcpy(info->params, entry->params, sizeof info->params);
  } else {
    pg_fail(error, PG_UNSUPPORTED, "this driver does not tell the parameters of a cubin's kernels");
    return pg_hint(error, "load PTX instead, or use a driver for CUDA 12.4 or newer");
  }
  if (count > PG_PARAM_MAX)
    return pg_fail(error, PG_UNSUPPORTED, "kernel %s has %d parameters, more than %d", info->name,
                   count, PG_PARAM_MAX);
  info->param_count = count;
  if (count) info->param_bytes = info->params[count - 1].offset + info->params[count - 1].size;
  return PG_OK;
}

static pg_code find_limits(pg_cuda *cuda, pg_kernel *kernel, pg_error *error) {
  const struct {
    unsigned attribute;
    int *to;
  } asked[] = {
      {PG_CU_FUNC_NUM_REGS, &kernel->info.registers},
      {PG_CU_FUNC_LOCAL_SIZE_BYTES, &kernel->info.local_bytes},
      {PG_CU_FUNC_SHARED_SIZE_BYTES, &kernel->info.shared_bytes},
      {PG_CU_FUNC_MAX_THREADS_PER_BLOCK, &kernel->info.max_threads},
  };
  for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
    cu_result result =
        cuda->driver.FuncGetAttribute(asked[i].to, asked[i].attribute, kernel->function);
    if (result) return pg_cuda_check(cuda, result, error, "asking what a kernel needs");
  }
  size_t fixed = (size_t)kernel->info.shared_bytes, limit = cuda->info.shared_per_block;
  kernel->shared_allowed = fixed < limit ? (uint32_t)(limit - fixed) : 0;
  return PG_OK;
}

static pg_code unknown_kernel(const pg_module *module, const char *name, pg_error *error) {
  char list[300] = "";
  size_t used = 0;
  for (int i = 0; i < module->name_count && used + 2 < sizeof list; i++)
    used +=
        (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", module->names[i]);
  pg_fail(error, PG_NOT_FOUND, "%s has no kernel %s", module->name, name);
  pg_where(error, "%s", module->name);
  const char *near =
      pg_nearest(name, (const char *const *)module->names, (size_t)module->name_count);
  if (near) return pg_hint(error, "did you mean %s? Its kernels: %s", near, list);
  return list[0] ? pg_hint(error, "its kernels: %s (extern \"C\" keeps a plain name)", list)
                 : pg_hint(error, "it has no kernels: mark one extern \"C\" __global__");
}

pg_code pg_cuda_kernel(pg_device *device, pg_module *module, const char *name, pg_kernel **out,
                       pg_error *error) {
  pg_cuda *cuda = (pg_cuda *)device;
  *out = NULL;
  const pg_ptx_entry *entry = pg_ptx_scan_find(&module->scan, name);
  bool whole = strlen(name) < PG_KERNEL_NAME_MAX - 1; /* else info.name may be cut */
  for (pg_kernel *k = module->kernels; whole && k && !*out; k = k->next)
    if (!strcmp(k->info.name, name)) *out = k;
  if (*out) return PG_OK;
  pg_code code = pg_cuda_use(cuda, error);
  if (code) return code;
  CUfunction function = NULL;
  cu_result result = cuda->driver.ModuleGetFunction(&function, module->handle, name);
  if (result == PG_CU_NOT_FOUND) return unknown_kernel(module, name, error);
  if (result) return pg_cuda_check(cuda, result, error, "looking up a kernel");
  for (pg_kernel *k = module->kernels; k && !*out; k = k->next)
    if (k->function == function) *out = k;
  if (*out) return PG_OK;
  pg_kernel *kernel = calloc(1, sizeof *kernel);
  if (!kernel) return pg_fail(error, PG_MEMORY, "out of memory for a kernel");
  kernel->function = function;
  kernel->module = module;
  snprintf(kernel->info.name, sizeof kernel->info.name, "%s", name);
  code = find_params(cuda, kernel, entry, error);
  if (!code) code = find_limits(cuda, kernel, error);
  if (code) {
    free(kernel);
    return code;
  }
  kernel->next = module->kernels;
  module->kernels = kernel;
  *out = kernel;
  return PG_OK;
}

pg_code pg_cuda_kernel_info(pg_device *device, pg_kernel *kernel, pg_kernel_info *out,
                            pg_error *error) {
  (void)device, (void)error;
  *out = kernel->info;
  return PG_OK;
}
