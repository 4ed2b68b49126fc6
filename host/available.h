/* Memory that this process can still get. Owns nothing. */
#ifndef PG_AVAILABLE_H
#define PG_AVAILABLE_H

#include <stddef.h>

/* Bytes that the kernel could give without swapping: the machine's, or its container's when that is
 * less; SIZE_MAX where neither is told. Linux promises more and kills the process later, so whoever
 * wants much asks first. */
size_t pg_available_memory(void);

#endif
