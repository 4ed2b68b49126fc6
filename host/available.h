/* Memory that this process may have, and can still get. Owns nothing. */
#ifndef PG_AVAILABLE_H
#define PG_AVAILABLE_H

#include <stddef.h>

typedef struct pg_memory {
  size_t total;     /* bytes: the machine's, or its container's limit when that is less */
  size_t available; /* bytes that the kernel could give without swapping */
} pg_memory;        /* SIZE_MAX: not told */

/* As the files below `root` say ("" in earnest): proc/meminfo, and the limits of the control groups
 * (version 2 and 1) that the process is in. */
pg_memory pg_memory_below(const char *root);

/* Linux promises more and kills the process later, so whoever wants much asks first. */
size_t pg_available_memory(void);
size_t pg_total_memory(void);

#endif
