/* Perigee's public C API. Its declarations are in perigee_cdef.h, which holds no directives, so
 * that LuaJIT's ffi.cdef reads that file as it is; read it, it is the manual. */
#ifndef PERIGEE_H
#define PERIGEE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#include "perigee_cdef.h"

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
