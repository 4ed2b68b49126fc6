/* Removing a folder that a stranger has filled. Owns nothing. */
#ifndef PG_REMOVE_H
#define PG_REMOVE_H

#include <stdbool.h>

/* Remove a folder and all below, however deep it goes and whatever its folders permit; no link is
 * followed. False when something is left. */
bool pg_remove_folder(const char *path);

#endif
