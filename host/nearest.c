/* Nearest names by edit distance (optimal string alignment), over the first letters of long names.
 */
#include "nearest.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

enum { LETTERS = 63 };

static size_t min3(size_t a, size_t b, size_t c) {
  size_t least = a < b ? a : b;
  return least < c ? least : c;
}

static bool same(char a, char b) {
  return tolower((unsigned char)a) == tolower((unsigned char)b);
}

static size_t distance(const char *a, const char *b) {
  size_t n = strnlen(a, LETTERS), m = strnlen(b, LETTERS);
  size_t rows[3][LETTERS + 1];
  size_t *before = rows[0], *last = rows[1], *row = rows[2];
  for (size_t j = 0; j <= m; j++) last[j] = j;
  memcpy(before, last, sizeof rows[0]);
  for (size_t i = 1; i <= n; i++) {
    row[0] = i;
    for (size_t j = 1; j <= m; j++) {
      row[j] = min3(last[j] + 1, row[j - 1] + 1, last[j - 1] + !same(a[i - 1], b[j - 1]));
      bool swapped = i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]);
      if (swapped && before[j - 2] + 1 < row[j]) row[j] = before[j - 2] + 1;
    }
    size_t *spare = before;
    before = last;
    last = row;
    row = spare;
  }
  return last[m];
}

const char *pg_nearest(const char *wanted, const char *const *names, size_t count) {
  size_t letters = strnlen(wanted, LETTERS);
  size_t limit = letters > 8 ? letters / 3 : letters > 4 ? 2 : 1, least = limit + 1;
  const char *best = NULL;
  for (size_t i = 0; i < count; i++) {
    size_t edits = distance(wanted, names[i]), other = strnlen(names[i], LETTERS);
    size_t longer = letters > other ? letters : other;
    if (edits < least && edits < longer) { /* "x" is not nearly "y": something must be left */
      best = names[i];
      least = edits;
    }
  }
  return best;
}
