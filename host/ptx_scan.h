/* A scan of PTX text for what the driver does not tell: version, kernels, and the kinds of their
 * parameters. A pg_ptx_scan owns its entries. Any text is safe; what is malformed is left to the
 * driver's own parser. */
#ifndef PG_PTX_SCAN_H
#define PG_PTX_SCAN_H

#include "device.h"

typedef struct pg_ptx_entry {
  char *name;
  int param_count; /* may exceed PG_PARAM_MAX; params holds the first ones */
  pg_param params[PG_PARAM_MAX];
  uint32_t param_bytes;
} pg_ptx_entry;

typedef struct pg_ptx_scan {
  int version_major, version_minor; /* of the PTX ISA; 0 when the text does not say */
  bool traps;                       /* some instruction is a trap or brkpt */
  int entry_count;
  pg_ptx_entry *entries;
} pg_ptx_scan;

/* Kinds of parameters: 'f' for .f16 .f32 .f64; 'b' for byte arrays (structs); 'p' for 64 bits that
 * are marked .ptr or that the body uses as an address; '?' for .b32 and the like, which may hold
 * anything; else 'i'. NVRTC writes a pointer that the kernel never uses just like a 64-bit integer:
 * it is 'i'. */
pg_code pg_ptx_scan_text(const char *text, size_t bytes, pg_ptx_scan *out, pg_error *error);
void pg_ptx_scan_free(pg_ptx_scan *scan);
const pg_ptx_entry *pg_ptx_scan_find(const pg_ptx_scan *scan, const char *name);

#endif
