/* The recursive #include scan. It knows no macros, so it follows every #include and __has_include
 * there is. */
#include "includes.h"

#include <ctype.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../hash.h"

/* Compilers refuse headers nested deeper than 200 or so; here each level takes stack. */
enum { FILES_MAX = 8192, FILE_BYTES_MAX = 16 << 20, DEPTH_MAX = 256 };

void pg_manifest_add(pg_manifest *manifest, const char *format, ...) {
  va_list args, again;
  if (manifest->failed) return;
  va_start(args, format);
  va_copy(again, args);
  int length = vsnprintf(NULL, 0, format, args);
  va_end(args);
  size_t needed = manifest->bytes + (size_t)length + 1;
  if (length >= 0 && needed > manifest->room) {
    size_t room = needed > 2 * manifest->room ? needed : 2 * manifest->room;
    char *grown = realloc(manifest->text, room);
    if (grown) {
      manifest->text = grown;
      manifest->room = room;
    }
  }
  if (length < 0 || needed > manifest->room) {
    manifest->failed = true;
  } else {
    vsnprintf(manifest->text + manifest->bytes, (size_t)length + 1, format, again);
    manifest->bytes += (size_t)length;
  }
  va_end(again);
}

void pg_manifest_free(pg_manifest *manifest) {
  free(manifest->text);
  memset(manifest, 0, sizeof *manifest);
}

typedef struct scan {
  const pg_include_path *path;
  pg_manifest *manifest;
  char **seen; /* files already scanned */
  int seen_count, depth;
  bool certain;
} scan;

static char *read_file(const char *path, size_t *bytes) {
  struct stat status;
  if (stat(path, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size > FILE_BYTES_MAX)
    return NULL;
  FILE *file = fopen(path, "rb");
  char *text = file ? malloc((size_t)status.st_size + 1) : NULL;
  if (text) {
    *bytes = fread(text, 1, (size_t)status.st_size, file);
    text[*bytes] = '\0';
  }
  if (file) fclose(file);
  return text;
}

static bool is_file(const char *path) {
  struct stat status;
  return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

/* Length of the folder part of a path, slash included; 0 for a bare name. */
static int folder_length(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? (int)(slash + 1 - path) : 0;
}

/* Where a header is found; *system says whether that is the toolkit. */
static bool resolve(const scan *s, const char *from, const char *header, bool quoted,
                    char out[PATH_MAX], bool *system) {
  *system = false;
  if (header[0] == '/') return snprintf(out, PATH_MAX, "%s", header) < PATH_MAX && is_file(out);
  if (quoted && snprintf(out, PATH_MAX, "%.*s%s", folder_length(from), from, header) < PATH_MAX &&
      is_file(out))
    return true;
  for (int i = 0; i < s->path->count; i++) {
    if (snprintf(out, PATH_MAX, "%s/%s", s->path->folders[i], header) >= PATH_MAX) continue;
    *system = i >= s->path->system;
    if (is_file(out)) return true;
  }
  return false;
}

/* One spelling for all that name a file in a folder (a.h, ./a.h, b/../a.h), for what it includes
 * depends on its folder only. */
static bool settle(const char *path, char out[PATH_MAX]) {
  char folder[PATH_MAX], real[PATH_MAX];
  int length = folder_length(path);
  snprintf(folder, sizeof folder, "%.*s", length ? length : 1, length ? path : ".");
  return realpath(folder, real) && snprintf(out, PATH_MAX, "%s/%s", real, path + length) < PATH_MAX;
}

static bool seen(scan *s, const char *path) {
  char settled[PATH_MAX];
  bool full = s->seen_count == FILES_MAX || !settle(path, settled);
  for (int i = 0; !full && i < s->seen_count; i++)
    if (!strcmp(s->seen[i], settled)) return true;
  if (full || !(s->seen[s->seen_count] = strdup(settled))) {
    s->certain = false; /* more than anybody includes */
    return true;
  }
  s->seen_count++;
  return false;
}

static void scan_text(scan *s, const char *text, const char *name, bool system);

static void scan_header(scan *s, const char *from, const char *header, bool quoted,
                        bool from_system) {
  char path[PATH_MAX], hex[PG_SHA_HEX];
  bool system;
  if (!resolve(s, from, header, quoted, path, &system)) {
    pg_manifest_add(s->manifest, "absent %s\n", header);
    return;
  }
  if (seen(s, path)) return;
  size_t bytes = 0;
  char *text = read_file(path, &bytes);
  if (!text) {
    s->certain = false;
    return;
  }
  pg_sha256(text, bytes, hex);
  pg_manifest_add(s->manifest, "header %s %s\n", path, hex);
  if (strlen(text) != bytes) s->certain = false; /* a zero byte would end the scan early */
  if (++s->depth > DEPTH_MAX)
    s->certain = false;
  else
    scan_text(s, text, path, system || from_system);
  s->depth--;
  free(text);
}

/* What a compiler takes for nothing: blanks, comments, ends of lines behind a backslash. */
static const char *skip_blank(const char *at) {
  for (;;) {
    size_t splice = at[0] != '\\' ? 0 : at[1] == '\n' ? 2 : at[1] == '\r' && at[2] == '\n' ? 3 : 0;
    if (at[0] == '/' && at[1] == '*') {
      const char *close = strstr(at + 2, "*/");
      if (!close) return at + strlen(at);
      at = close + 2;
    } else if (splice) {
      at += splice;
    } else if (*at && strchr(" \t\r\v\f", *at)) {
      at++;
    } else {
      return at;
    }
  }
}

/* <name> or "name" at `at`, or uncertainty. */
static void scan_operand(scan *s, const char *at, const char *from, bool system) {
  char header[512];
  at = skip_blank(at);
  const char *close = *at == '<' ? strchr(at, '>') : *at == '"' ? strchr(at + 1, '"') : NULL;
  if (close && (size_t)(close - at - 1) < sizeof header &&
      !memchr(at, '\n', (size_t)(close - at))) {
    snprintf(header, sizeof header, "%.*s", (int)(close - at - 1), at + 1);
    scan_header(s, from, header, *at == '"', system);
  } else if (!system) { /* a macro; the toolkit's own are settled by the toolkit's version */
    s->certain = false;
  }
}

/* What follows an #include on a line that starts at `at`; NULL when it is none. A word that goes on
 * in the next line may be one, and its rest is no operand. */
static const char *include_operand(const char *at) {
  at = skip_blank(at);
  if (*at == '#')
    at++;
  else if (at[0] == '%' && at[1] == ':')
    at += 2;
  else
    return NULL;
  at = skip_blank(at);
  size_t letters = strspn(at, "include");
  if (at[letters] == '\\' && !strncmp(at, "include", letters)) return at + letters;
  if (strncmp(at, "include", 7) != 0) return NULL;
  at += 7;
  if (!strncmp(at, "_next", 5)) at += 5;
  return isalnum((unsigned char)*at) || *at == '_' ? NULL : at;
}

/* A directive stands at the start of a line, or behind a comment that ends there. */
static const char *next_start(const char *at) {
  for (at += strcspn(at, "\n*"); *at; at += strcspn(at, "\n*")) {
    if (*at++ == '\n') return at;
    if (*at == '/') return at + 1;
  }
  return NULL;
}

static void scan_text(scan *s, const char *text, const char *name, bool system) {
  for (const char *at = text; at; at = next_start(at)) {
    const char *operand = include_operand(at);
    if (operand) scan_operand(s, operand, name, system);
  }
  for (const char *at = strstr(text, "__has_include"); at; at = strstr(at + 1, "__has_include")) {
    const char *open = at + strcspn(at, "(\n");
    if (*open == '(') scan_operand(s, open + 1, name, true);
  }
  if (!system &&
      (strstr(text, "__DATE__") || strstr(text, "__TIME__") || strstr(text, "__TIMESTAMP__")))
    s->certain = false;
}

bool pg_includes_scan(const char *source, const char *name, const char *const *first,
                      int first_count, const pg_include_path *path, pg_manifest *manifest) {
  scan s = {.path = path, .manifest = manifest, .certain = true};
  s.seen = calloc(FILES_MAX, sizeof *s.seen);
  if (!s.seen) return false;
  for (int i = 0; i < first_count; i++) scan_header(&s, name, first[i], true, false);
  scan_text(&s, source, name, false);
  for (int i = 0; i < s.seen_count; i++) free(s.seen[i]);
  free(s.seen);
  return s.certain && !manifest->failed;
}
