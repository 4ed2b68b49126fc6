/* Source places of PTX: .file and .loc, with the chain of inlined calls. */
#include "ptx_parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct source_point {
  uint64_t file, line, column;
} source_point;

static source_point parse_point(ptx_parser *p) {
  source_point at;
  at.file = ptx_small(p, "a file number", UINT32_MAX);
  at.line = ptx_small(p, "a line number", INT32_MAX);
  at.column = ptx_small(p, "a column", UINT32_MAX);
  return at;
}

static ptx_place_entry **bucket_of(ptx_parser *p, source_point at) {
  uint64_t hash = (at.file * 31 + at.line) * 1021 + at.column;
  return &p->buckets[(hash ^ hash >> 17) % PTX_PLACE_BUCKETS];
}

static bool is_at(const ptx_place_entry *entry, source_point at) {
  return entry->file == at.file && entry->line == at.line && entry->column == at.column;
}

/* The newest place of this function at that point: inlined_at names the .loc of the call. */
static ptx_place_entry *newest(ptx_parser *p, source_point at) {
  ptx_place_entry *entry = *bucket_of(p, at);
  for (; entry && entry->serial == p->serial; entry = entry->bucket)
    if (is_at(entry, at)) return entry;
  return NULL;
}

/* Equal places are shared, else an unrolled loop would hold thousands of the same. */
static ptx_place_entry *add_place(ptx_parser *p, source_point at, const ptx_place *inlined_at) {
  ptx_place_entry **bucket = bucket_of(p, at);
  for (ptx_place_entry *e = *bucket; e && e->serial == p->serial; e = e->bucket)
    if (is_at(e, at) && e->place.inlined_at == inlined_at) return e;
  ptx_place_entry *entry = ptx_lex_alloc(&p->lex, sizeof *entry);
  *entry = (ptx_place_entry){.place = {.line = (int)at.line, .inlined_at = inlined_at},
                             .file = at.file,
                             .line = at.line,
                             .column = at.column,
                             .serial = p->serial,
                             .bucket = *bucket,
                             .older = p->places};
  *bucket = p->places = entry;
  return entry;
}

/* "function_name LABEL[+4]" and "inlined_at FILE LINE COLUMN" behind a comma */
static const ptx_place *inlined(ptx_parser *p) {
  ptx_lex *lex = &p->lex;
  const ptx_place *out = NULL;
  while (ptx_lex_accept(lex, ',')) {
    ptx_sym *key = ptx_name(p, "function_name or inlined_at");
    if (strcmp(key->name, "function_name") == 0) {
      ptx_name(p, "a label");
      ptx_offset(p);
    } else if (strcmp(key->name, "inlined_at") == 0) {
      source_point at = parse_point(p);
      ptx_place_entry *call = newest(p, at);
      out = &(call ? call : add_place(p, at, NULL))->place;
    } else {
      ptx_lex_fail(lex, ptx_lex_pos(lex), "`%.60s` is no attribute of .loc", key->name);
    }
  }
  return out;
}

void ptx_loc_directive(ptx_parser *p) {
  ptx_lex_next(&p->lex);
  source_point at = parse_point(p);
  const ptx_place *call = inlined(p);
  /* line 0 is code without a line of its own: what was inlined belongs to the call, the rest to the
   * line before it */
  if (at.line)
    p->place = &add_place(p, at, call)->place;
  else if (call)
    p->place = call;
}

static const char *take_string(ptx_parser *p) {
  ptx_lex *lex = &p->lex;
  if (!ptx_lex_is(lex, PTX_TOK_STRING)) ptx_lex_expected(lex, "a file name");
  const char *from = lex->tok.start, *to = lex->tok.end;
  char *out = ptx_lex_alloc(lex, (size_t)(to - from) + 1), *end = out;
  while (from < to) {
    if (*from == '\\' && (from[1] == '\\' || from[1] == '"')) from++;
    *end++ = *from++;
  }
  ptx_lex_next(lex);
  return ptx_lex_intern(lex, out, (size_t)(end - out))->name;
}

/* .file 1 "name"[, time, size]; a second string is the name, the first its folder. */
void ptx_file_directive(ptx_parser *p) {
  ptx_lex *lex = &p->lex;
  ptx_lex_next(lex);
  bool numbered = ptx_lex_is(lex, PTX_TOK_INT);
  uint64_t id = numbered ? ptx_small(p, "a file number", UINT32_MAX) : 0;
  const char *name = take_string(p);
  if (ptx_lex_is(lex, PTX_TOK_STRING)) {
    const char *file = take_string(p);
    size_t bytes = strlen(name) + strlen(file) + 2;
    char *path = ptx_lex_alloc(lex, bytes);
    snprintf(path, bytes, "%s/%s", name, file);
    name = *file == '/' ? file : path;
  }
  while (ptx_lex_accept(lex, ',')) ptx_small(p, "a time or size", UINT64_MAX);
  if (!numbered) return;
  *PTX_PUSH(p, &p->files, ptx_file) = (ptx_file){id, p->files.count, name};
}

static int by_id(const void *a, const void *b) {
  const ptx_file *x = a, *y = b;
  if (x->id != y->id) return x->id < y->id ? -1 : 1;
  return (x->order > y->order) - (x->order < y->order);
}

static const char *file_name(const ptx_parser *p, uint64_t id) {
  int low = 0, high = p->files.count; /* the first entry of that number */
  while (low < high) {
    int middle = low + (high - low) / 2;
    if (PTX_AT(&p->files, const ptx_file, middle)->id < id)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == p->files.count) return NULL;
  const ptx_file *file = PTX_AT(&p->files, const ptx_file, low);
  return file->id == id ? file->name : NULL;
}

void ptx_name_places(ptx_parser *p) {
  if (p->files.count) qsort(p->files.items, (size_t)p->files.count, sizeof(ptx_file), by_id);
  for (ptx_place_entry *entry = p->places; entry; entry = entry->older)
    entry->place.file = file_name(p, entry->file);
  for (int f = 0; f < p->funcs.count; f++) {
    ptx_func *func = PTX_AT(&p->funcs, ptx_func, f);
    for (int i = 0; i < func->instr_count; i++) {
      ptx_instr *instr = &func->body[i];
      if (!instr->place) continue;
      instr->file = instr->place->file;
      instr->file_line = instr->place->line;
    }
  }
}
