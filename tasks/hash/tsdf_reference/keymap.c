/* Open addressing with a good mixing hash of its own: the reference must not share the workload's
 * probe chains. */
#include "keymap.h"

#include <stdlib.h>

void tsdf_keymap_free(tsdf_keymap *map) {
  free(map->keys);
  free(map->slots);
  *map = (tsdf_keymap){0};
}

/* The finaliser of SplitMix64 (Steele, Lea and Flood, 2014). */
static uint32_t mix(int64_t key) {
  uint64_t x = (uint64_t)key;
  x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
  return (uint32_t)(x ^ x >> 31);
}

static bool grow(tsdf_keymap *map) {
  const uint32_t room = map->room ? 2 * map->room : 64;
  int64_t *keys = realloc(map->keys, room * sizeof *keys);
  if (keys) map->keys = keys;
  uint32_t *slots = calloc((size_t)2 * room, sizeof *slots);
  if (!keys || !slots) {
    free(slots);
    return false;
  }
  free(map->slots);
  map->slots = slots;
  map->room = room;
  map->mask = 2 * room - 1;
  for (uint32_t i = 0; i < map->count; ++i) {
    uint32_t slot = mix(map->keys[i]) & map->mask;
    while (slots[slot]) slot = (slot + 1) & map->mask;
    slots[slot] = i + 1;
  }
  return true;
}

uint32_t tsdf_keymap_find(const tsdf_keymap *map, int64_t key) {
  if (map->count == 0) return UINT32_MAX;
  for (uint32_t slot = mix(key) & map->mask;; slot = (slot + 1) & map->mask) {
    const uint32_t number = map->slots[slot];
    if (number == 0) return UINT32_MAX;
    if (map->keys[number - 1] == key) return number - 1;
  }
}

uint32_t tsdf_keymap_add(tsdf_keymap *map, int64_t key) {
  const uint32_t known = tsdf_keymap_find(map, key);
  if (known != UINT32_MAX) return known;
  if (map->count == map->room && !grow(map)) return UINT32_MAX;
  uint32_t slot = mix(key) & map->mask;
  while (map->slots[slot]) slot = (slot + 1) & map->mask;
  map->keys[map->count] = key;
  map->slots[slot] = ++map->count;
  return map->count - 1;
}

static const int64_t BIAS = 1 << 20, FIELD = (1 << 21) - 1;

int64_t tsdf_key(const int32_t block[3]) {
  return (block[0] + BIAS) << 42 | (block[1] + BIAS) << 21 | (block[2] + BIAS);
}

void tsdf_key_block(int64_t key, int32_t block[3]) {
  for (int a = 0; a < 3; ++a) block[a] = (int32_t)((key >> (42 - 21 * a) & FIELD) - BIAS);
}

uint32_t tsdf_hash(const int32_t block[3]) {
  return (uint32_t)block[0] * 73856093u ^ (uint32_t)block[1] * 19349663u ^
         (uint32_t)block[2] * 83492791u;
}
