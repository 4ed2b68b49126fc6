/* Scanning PTX text statement by statement: .version, .entry signatures, uses of parameters as
 * addresses. The simulator has the real parser; this one only has to be right about signatures and
 * quick about the rest. */
#include "ptx_scan.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct token {
  const char *at;
  size_t length; /* 0: the end */
} token;

typedef struct scanner {
  const char *next, *end;
} scanner;

static bool word_char(char c) {
  return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%' || c == '.' || c == ':';
}

static void skip_line(scanner *s) {
  const char *line = memchr(s->next, '\n', (size_t)(s->end - s->next));
  s->next = line ? line : s->end;
}

static void skip_space(scanner *s) {
  while (s->next < s->end) {
    if (isspace((unsigned char)*s->next)) {
      s->next++;
    } else if (s->end - s->next >= 2 && s->next[0] == '/' && s->next[1] == '/') {
      skip_line(s);
    } else if (s->end - s->next >= 2 && s->next[0] == '/' && s->next[1] == '*') {
      const char *close = memmem(s->next + 2, (size_t)(s->end - s->next - 2), "*/", 2);
      s->next = close ? close + 2 : s->end;
    } else {
      return;
    }
  }
}

/* A word, a quoted string, or one character. */
static token take(scanner *s) {
  skip_space(s);
  token t = {s->next, 0};
  if (s->next == s->end || *s->next == '\0') return t;
  if (*s->next == '"') {
    const char *close = memchr(s->next + 1, '"', (size_t)(s->end - s->next - 1));
    s->next = close ? close + 1 : s->end;
  } else if (word_char(*s->next)) {
    while (s->next < s->end && word_char(*s->next)) s->next++;
  } else {
    s->next++;
  }
  t.length = (size_t)(s->next - t.at);
  return t;
}

static bool is(token t, const char *text) {
  return t.length == strlen(text) && !memcmp(t.at, text, t.length);
}

static bool starts(token t, const char *text) {
  size_t n = strlen(text);
  return t.length >= n && !memcmp(t.at, text, n);
}

static bool same(token a, token b) {
  return a.length == b.length && !memcmp(a.at, b.at, a.length);
}

static uint32_t number(token t) {
  uint64_t value = 0;
  for (size_t i = 0; i < t.length && isdigit((unsigned char)t.at[i]); i++) {
    value = value * 10 + (uint64_t)(t.at[i] - '0');
    if (value > UINT32_MAX) return UINT32_MAX;
  }
  return (uint32_t)value;
}

/* ".u64" -> 8 bytes of kind 'i'. False when the word is no type. */
static bool type_of(token t, uint32_t *bytes, char *kind) {
  if (t.length < 3 || t.at[0] != '.' || !strchr("busf", t.at[1])) return false;
  uint32_t bits = number((token){t.at + 2, t.length - 2});
  if (bits != 8 && bits != 16 && bits != 32 && bits != 64 && bits != 128) return false;
  *bytes = bits / 8;
  /* .b32 says only the size: it may hold a float. */
  *kind = t.at[1] == 'f' ? 'f' : t.at[1] == 'b' ? '?' : 'i';
  return true;
}

/* What a signature says of one parameter, and the names by which the body refers to it. */
typedef struct formal {
  token name;
  token reg; /* the register that ld.param put it in */
} formal;

static uint32_t align_up(uint32_t at, uint32_t align) {
  return (uint32_t)(((uint64_t)at + align - 1) / align * align);
}

/* One parameter, up to its ',' or ')', which is returned. */
static token scan_param(scanner *s, pg_param *param, formal *names, uint32_t *at) {
  uint32_t bytes = 0, align = 0, count = 1;
  char kind = '?';
  bool pointer = false, array = false;
  token t = take(s);
  for (; t.length && !is(t, ",") && !is(t, ")"); t = take(s)) {
    if (is(t, ".ptr")) {
      pointer = true;
    } else if (is(t, ".align")) {
      uint32_t n = number(take(s));
      if (!pointer) align = n; /* after .ptr it is the pointee's */
    } else if (is(t, "[")) {
      count = number(take(s));
      array = true;
    } else if (t.at[0] != '.' && word_char(t.at[0])) {
      names->name = t;
    } else {
      type_of(t, &bytes, &kind);
    }
  }
  if (array) kind = 'b';
  if (pointer) kind = 'p';
  if (align == 0 || align > 4096) align = bytes ? bytes : 1;
  uint64_t size = (uint64_t)bytes * count;
  param->offset = align_up(*at, align);
  param->size = size > 65536 ? 65536 : (uint32_t)size;
  param->kind = kind;
  *at = param->offset + param->size;
  return t;
}

static void scan_signature(scanner *s, pg_ptx_entry *entry, formal *names) {
  scanner ahead = *s;
  if (!is(take(&ahead), "(")) return;
  *s = ahead;
  if (is(take(&ahead), ")")) {
    *s = ahead;
    return;
  }
  token t = {NULL, 0};
  uint32_t at = 0;
  do {
    pg_param extra;
    formal unnamed;
    bool kept = entry->param_count < PG_PARAM_MAX;
    t = scan_param(s, kept ? &entry->params[entry->param_count] : &extra,
                   kept ? &names[entry->param_count] : &unnamed, &at);
    entry->param_count++;
  } while (is(t, ","));
  entry->param_bytes = at;
}

enum { STATEMENT = 8 }; /* tokens looked at; nothing of interest is longer */

/* A register loaded from a parameter and used as an address makes the parameter a pointer. */
static void note_use(pg_ptx_entry *entry, formal *names, const token *words, int count) {
  int known = entry->param_count < PG_PARAM_MAX ? entry->param_count : PG_PARAM_MAX;
  if (count == 6 && starts(words[0], "ld.param.") && is(words[3], "[")) {
    for (int i = 0; i < known; i++)
      if (same(names[i].name, words[4])) names[i].reg = words[1];
    return;
  }
  token address = {NULL, 0};
  if (count == 4 && starts(words[0], "cvta.to.")) address = words[3];
  for (int i = 1; !address.length && i + 1 < count; i++)
    if (is(words[i], "[") && words[i + 1].at[0] == '%') address = words[i + 1];
  for (int i = 0; address.length && i < known; i++)
    if (names[i].reg.length && same(names[i].reg, address) && entry->params[i].size == 8)
      entry->params[i].kind = 'p';
}

static bool is_trap(const token *words, int count) {
  return count >= 1 && (is(words[count - 1], "trap") || is(words[count - 1], "brkpt"));
}

static pg_ptx_entry *add_entry(pg_ptx_scan *out, token name) {
  if ((out->entry_count & (out->entry_count - 1)) == 0) { /* full at every power of two */
    size_t room = out->entry_count ? 2 * (size_t)out->entry_count : 1;
    pg_ptx_entry *grown = realloc(out->entries, room * sizeof *grown);
    if (!grown) return NULL;
    out->entries = grown;
  }
  pg_ptx_entry *entry = &out->entries[out->entry_count];
  memset(entry, 0, sizeof *entry);
  entry->name = strndup(name.at, name.length);
  if (!entry->name) return NULL;
  out->entry_count++;
  return entry;
}

static void scan_version(scanner *s, pg_ptx_scan *out) {
  token t = take(s);
  const char *dot = memchr(t.at, '.', t.length);
  if (!dot) return;
  out->version_major = (int)number(t);
  out->version_minor = (int)number((token){dot + 1, (size_t)(t.at + t.length - dot - 1)});
}

pg_code pg_ptx_scan_text(const char *text, size_t bytes, pg_ptx_scan *out, pg_error *error) {
  memset(out, 0, sizeof *out);
  scanner s = {text, text + bytes};
  formal names[PG_PARAM_MAX];
  pg_ptx_entry *entry = NULL; /* whose body is being read */
  token words[STATEMENT];
  int count = 0;
  for (token t = take(&s); t.length; t = take(&s)) {
    if (is(t, ".version") && !out->version_major) {
      scan_version(&s, out);
    } else if (is(t, ".entry")) {
      memset(names, 0, sizeof names);
      entry = add_entry(out, take(&s));
      if (!entry) {
        pg_ptx_scan_free(out);
        return pg_fail(error, PG_MEMORY, "out of memory reading PTX");
      }
      scan_signature(&s, entry, names);
      count = 0;
    } else if (is(t, ".func")) {
      entry = NULL;
    } else if (is(t, ".loc") || is(t, ".file")) { /* the directives that end with the line */
      skip_line(&s);
      count = 0;
    } else if (t.at[t.length - 1] == ':') { /* a label */
      count = 0;
    } else if (is(t, ";") || is(t, "{") || is(t, "}")) {
      if (entry) note_use(entry, names, words, count);
      out->traps = out->traps || is_trap(words, count);
      count = 0;
    } else if (count < STATEMENT) {
      words[count++] = t;
    }
  }
  return PG_OK;
}

void pg_ptx_scan_free(pg_ptx_scan *scan) {
  for (int i = 0; i < scan->entry_count; i++) free(scan->entries[i].name);
  free(scan->entries);
  memset(scan, 0, sizeof *scan);
}

const pg_ptx_entry *pg_ptx_scan_find(const pg_ptx_scan *scan, const char *name) {
  for (int i = 0; i < scan->entry_count; i++)
    if (!strcmp(scan->entries[i].name, name)) return &scan->entries[i];
  return NULL;
}
