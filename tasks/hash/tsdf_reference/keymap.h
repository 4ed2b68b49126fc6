/* From block keys to consecutive numbers, in order of arrival. A map owns its memory;
 * tsdf_keymap_free is safe on a zeroed one. */
#ifndef TSDF_KEYMAP_H
#define TSDF_KEYMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TSDF_EMPTY INT64_C(-1)

typedef struct tsdf_keymap {
  int64_t *keys; /* number -> key */
  uint32_t count, room;
  uint32_t *slots; /* number + 1; 0: empty */
  uint32_t mask;
} tsdf_keymap;

void tsdf_keymap_free(tsdf_keymap *map);
/* The number of a key, which is added when new; UINT32_MAX when memory ran out. */
uint32_t tsdf_keymap_add(tsdf_keymap *map, int64_t key);
/* The number of a key, UINT32_MAX when it is not there. */
uint32_t tsdf_keymap_find(const tsdf_keymap *map, int64_t key);

/* The key of a block and back, and the hash of the workload (all 32 bits). */
int64_t tsdf_key(const int32_t block[3]);
void tsdf_key_block(int64_t key, int32_t block[3]);
uint32_t tsdf_hash(const int32_t block[3]);

#endif
