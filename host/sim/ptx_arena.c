/* Memory of one parsed module: a bump arena, interned names and growing scratch arrays. */
#include "ptx_arena.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

typedef struct ptx_block {
  struct ptx_block *older;
  size_t pad; /* keeps the bytes behind it aligned to 16 */
} ptx_block;

enum { BLOCK_MIN = 16 << 10, BLOCK_MAX = 1 << 20, ALIGN = 16, TABLE_MIN = 1024 };

static char *new_block(ptx_arena *arena, size_t bytes) {
  /* calloc: large blocks come from the system as zeros and cost nothing until touched */
  ptx_block *block = calloc(1, sizeof *block + bytes);
  if (!block) return NULL;
  block->older = arena->blocks;
  arena->blocks = block;
  return (char *)(block + 1);
}

void *ptx_arena_alloc(ptx_arena *arena, size_t bytes) {
  if (bytes > SIZE_MAX / 2) return NULL;
  bytes = (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
  if (bytes > BLOCK_MIN / 4) return new_block(arena, bytes);
  if (bytes > (size_t)(arena->end - arena->next)) {
    size_t size = arena->block_bytes ? arena->block_bytes : BLOCK_MIN;
    char *block = new_block(arena, size);
    if (!block) return NULL;
    arena->next = block;
    arena->end = block + size;
    arena->block_bytes = size < BLOCK_MAX ? size * 2 : size;
  }
  void *out = arena->next;
  arena->next += bytes;
  return out;
}

void ptx_arena_free(ptx_arena *arena) {
  for (ptx_block *block = arena->blocks; block;) {
    ptx_block *older = block->older;
    free(block);
    block = older;
  }
  *arena = (ptx_arena){0};
}

static bool grow_table(ptx_symbols *symbols) {
  uint32_t capacity = symbols->capacity ? symbols->capacity * 2 : TABLE_MIN;
  ptx_sym **slots = calloc(capacity, sizeof *slots);
  if (!slots) return false;
  for (uint32_t i = 0; i < symbols->capacity; i++) {
    ptx_sym *sym = symbols->slots[i];
    if (!sym) continue;
    uint32_t at = sym->hash & (capacity - 1);
    while (slots[at]) at = (at + 1) & (capacity - 1);
    slots[at] = sym;
  }
  free(symbols->slots);
  symbols->slots = slots;
  symbols->capacity = capacity;
  return true;
}

ptx_sym *ptx_intern_hashed(ptx_symbols *symbols, const char *name, size_t length, uint32_t hash) {
  if (symbols->count >= symbols->capacity / 2 && !grow_table(symbols)) return NULL;
  uint32_t mask = symbols->capacity - 1, at = hash & mask;
  for (ptx_sym *sym; (sym = symbols->slots[at]); at = (at + 1) & mask)
    if (sym->hash == hash && sym->length == length && memcmp(sym->name, name, length) == 0)
      return sym;
  ptx_sym *sym = ptx_arena_alloc(symbols->arena, sizeof *sym + length + 1);
  if (!sym) return NULL;
  sym->hash = hash;
  sym->length = (uint32_t)length;
  memcpy(sym->name, name, length);
  symbols->slots[at] = sym;
  symbols->count++;
  return sym;
}

ptx_sym *ptx_intern(ptx_symbols *symbols, const char *name, size_t length) {
  uint32_t hash = (uint32_t)PTX_HASH_SEED;
  for (size_t i = 0; i < length; i++) hash = ptx_hash_step(hash, name[i]);
  return ptx_intern_hashed(symbols, name, length, hash);
}

void ptx_symbols_free(ptx_symbols *symbols) {
  free(symbols->slots);
  *symbols = (ptx_symbols){0};
}

void *ptx_vec_push(ptx_vec *vec, size_t item_bytes, int more) {
  if (more > INT_MAX / 2 - vec->count) return NULL;
  int need = vec->count + more;
  if (need > vec->capacity) {
    int capacity = vec->capacity ? vec->capacity : 32;
    while (capacity < need) capacity *= 2;
    void *items = realloc(vec->items, (size_t)capacity * item_bytes);
    if (!items) return NULL;
    vec->items = items;
    vec->capacity = capacity;
  }
  char *out = (char *)vec->items + (size_t)vec->count * item_bytes;
  memset(out, 0, (size_t)more * item_bytes);
  vec->count = need;
  return out;
}

void ptx_vec_free(ptx_vec *vec) {
  free(vec->items);
  *vec = (ptx_vec){0};
}
