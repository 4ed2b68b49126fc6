/* Memory of one parsed module: a bump arena, interned names and growing scratch arrays.
 * An arena owns all it hands out, to its end; a ptx_vec is scratch that ptx_vec_free frees. */
#ifndef PG_SIM_PTX_ARENA_H
#define PG_SIM_PTX_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ptx_block;

typedef struct ptx_arena {
  struct ptx_block *blocks; /* newest first */
  char *next, *end;         /* what is left of the newest small block */
  size_t block_bytes;       /* size of the next block: doubles up to a bound */
} ptx_arena;

void *ptx_arena_alloc(ptx_arena *arena, size_t bytes); /* zeros, aligned to 16; NULL: no memory */
void ptx_arena_free(ptx_arena *arena);

struct ptx_binding;
struct ptx_mnemonic;

/* A name of the module, and what it means at the place being parsed: with the meaning held in the
 * name itself, finding the register behind an operand takes no search. */
typedef struct ptx_sym {
  struct ptx_binding *top;       /* innermost name of the function that is in scope */
  struct ptx_binding *range;     /* innermost register range with this prefix */
  struct ptx_mnemonic *mnemonic; /* opcode and modifiers, once used as an instruction */
  struct ptx_sym *prefix;        /* "%r" of "%r12"; NULL when not split yet, or unsplittable */
  uint32_t prefix_index;         /* 12 of "%r12" */
  bool split;                    /* prefix and prefix_index are computed */
  uint8_t word;                  /* ptx_word: a directive known to the parser */
  uint8_t type;                  /* ptx_type of ".u32" */
  uint8_t global;                /* ptx_global: what the module declares by this name */
  int global_index;
  int declared_in;  /* serial of the last function that declared it */
  int declarations; /* how often that function did */
  uint32_t hash, length;
  char name[]; /* zero-terminated */
} ptx_sym;

typedef struct ptx_symbols {
  ptx_arena *arena;
  ptx_sym **slots; /* open addressing, power of two */
  uint32_t capacity, count;
} ptx_symbols;

enum { PTX_HASH_SEED = (int)2166136261u };

/* One step of the hash (FNV-1a), so that the lexer hashes while it scans. */
static inline uint32_t ptx_hash_step(uint32_t hash, char c) {
  return (hash ^ (uint8_t)c) * 16777619u;
}

/* The one symbol of that spelling, added when new; NULL: no memory. */
ptx_sym *ptx_intern_hashed(ptx_symbols *symbols, const char *name, size_t length, uint32_t hash);
ptx_sym *ptx_intern(ptx_symbols *symbols, const char *name, size_t length);
void ptx_symbols_free(ptx_symbols *symbols); /* the table; the names stay in the arena */

typedef struct ptx_vec {
  void *items;
  int count, capacity;
} ptx_vec;

/* Room for `more` zeroed items behind the last, which are then counted; NULL: no memory. Items
 * move. */
void *ptx_vec_push(ptx_vec *vec, size_t item_bytes, int more);
void ptx_vec_free(ptx_vec *vec);

#endif
