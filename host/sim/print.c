/* What kernels say: vprintf to the standard output of this process, and failed assertions. */
#include <stdio.h>
#include <string.h>

#include "access.h"
#include "control.h"

enum { LINE_MAX_BYTES = 4096, SPEC_MAX = 32, NAME_MAX_BYTES = 120, PRINT_COST = 64 };

/* Where one lane's printf stands: the text so far, the next argument in the caller's buffer. */
typedef struct printer {
  sim_warp *w;
  const sim_op *op;
  int lane;
  uint64_t arguments; /* address of the next one */
  char text[LINE_MAX_BYTES];
  size_t used;
  int count;
  bool failed;
} printer;

static bool read_lane(sim_warp *w, const sim_op *op, int lane, uint64_t address, void *out,
                      uint32_t bytes) {
  const uint8_t *at = sim_lane_pointer(w, op, lane, address, bytes);
  if (at) memcpy(out, at, bytes);
  return at != NULL;
}

/* A zero-terminated string of the device; cut where it exceeds the buffer. */
static bool read_string(sim_warp *w, const sim_op *op, int lane, uint64_t address, char *out,
                        size_t bytes) {
  for (size_t i = 0; i + 1 < bytes; i++) {
    if (!read_lane(w, op, lane, address + i, &out[i], 1)) return false;
    if (!out[i]) return true;
  }
  out[bytes - 1] = 0;
  return true;
}

static void advance(printer *p, int written) {
  size_t room = sizeof p->text - p->used;
  if (written > 0) p->used += (size_t)written < room ? (size_t)written : room - 1;
}

/* Arguments lie in the buffer in order, each at a multiple of its size. */
static uint64_t next_argument(printer *p, uint32_t bytes) {
  uint64_t value = 0;
  p->arguments = (p->arguments + bytes - 1) / bytes * bytes;
  p->failed |= !read_lane(p->w, p->op, p->lane, p->arguments, &value, bytes);
  p->arguments += bytes;
  p->count++;
  return value;
}

#define SAY(value) advance(p, snprintf(p->text + p->used, sizeof p->text - p->used, spec, value))

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static void convert(printer *p, char *spec, size_t length, int longs) {
  char kind = spec[length - 1], string[LINE_MAX_BYTES / 2];
  uint64_t bits;
  double real;
  switch (kind) {
  case 'd':
  case 'i':
  case 'u':
  case 'o':
  case 'x':
  case 'X':
  case 'c':
    bits = next_argument(p, longs ? 8 : 4);
    if (longs)
      SAY((long long)bits);
    else
      SAY((int)(uint32_t)bits);
    break;
  case 'p': SAY((void *)(uintptr_t)next_argument(p, 8)); break;
  case 's':
    bits = next_argument(p, 8);
    p->failed = p->failed || !read_string(p->w, p->op, p->lane, bits, string, sizeof string);
    if (!p->failed) SAY(string);
    break;
  default:
    bits = next_argument(p, 8);
    memcpy(&real, &bits, sizeof real);
    SAY(real);
  }
}
#pragma GCC diagnostic pop

/* At "%": flags, width, precision, size and conversion; returns the end. A spec that is none is
 * printed as it is. */
static const char *specification(printer *p, const char *from) {
  const char *at = from + 1;
  int longs = 0;
  at += strspn(at, "-+ #0");
  at += strspn(at, "0123456789");
  if (*at == '.') at += 1 + strspn(at + 1, "0123456789");
  const char *size = at;
  for (; *at == 'l' || *at == 'h' || *at == 'z' || *at == 'j' || *at == 't'; at++)
    longs += *at != 'h';
  bool known = *at && strchr("diuoxXcpsfFeEgGaA", *at) && size - from < SPEC_MAX - 8;
  if (!known) {
    advance(p, snprintf(p->text + p->used, sizeof p->text - p->used, "%%"));
    return from + (from[1] == '%' ? 2 : 1);
  }
  char spec[SPEC_MAX];
  bool whole = strchr("diuoxX", *at) != NULL;
  snprintf(spec, sizeof spec, "%.*s%s%c", (int)(size - from), from, longs && whole ? "ll" : "",
           *at);
  convert(p, spec, strlen(spec), longs && whole);
  return at + 1;
}

static bool print_lane(printer *p, const char *format) {
  while (*format && !p->failed) {
    size_t plain = strcspn(format, "%");
    advance(p, snprintf(p->text + p->used, sizeof p->text - p->used, "%.*s", (int)plain, format));
    format += plain;
    if (*format == '%') format = specification(p, format);
  }
  if (!p->failed) fwrite(p->text, 1, p->used, stdout);
  return !p->failed;
}

#define FOR_LANES(i, m)                                                           \
  for (uint32_t rest_ = (m), i; rest_ && (i = (uint32_t)__builtin_ctz(rest_), 1); \
       rest_ &= rest_ - 1)

static uint64_t argument(sim_warp *w, const sim_call *call, uint32_t lane, uint32_t index) {
  uint64_t value = 0;
  memcpy(&value, sim_frame_local(w, w->frame, lane) + call->args[index].offset,
         call->args[index].bytes);
  return value;
}

/* vprintf(format, arguments): one lane after the other, each text in one piece. It is as slow as a
 * loop, so it uses up the quantum: a flood of texts must not outlive the time limit. */
const sim_op *sim_op_print(sim_warp *w, const sim_op *op) {
  const sim_call *call = (const sim_call *)(uintptr_t)op->imm;
  FOR_LANES(lane, w->mask) {
    char format[LINE_MAX_BYTES];
    printer p = {.w = w, .op = op, .lane = (int)lane, .arguments = argument(w, call, lane, 1)};
    uint64_t at = argument(w, call, lane, 0);
    if (!read_string(w, op, p.lane, at, format, sizeof format)) return NULL;
    if (!print_lane(&p, format)) return NULL;
    if (call->ret_count)
      memcpy(sim_frame_local(w, w->frame, lane) + call->rets[0].offset, &p.count, 4);
  }
  w->budget -= PRINT_COST;
  return w->budget < 0 ? sim_quantum(w, op + 1) : op + 1;
}

/* __assertfail(message, file, line, function, size of a character) */
const sim_op *sim_op_assert_fail(sim_warp *w, const sim_op *op) {
  const sim_call *call = (const sim_call *)(uintptr_t)op->imm;
  uint32_t lane = (uint32_t)__builtin_ctz(w->mask);
  char message[NAME_MAX_BYTES], file[NAME_MAX_BYTES], function[NAME_MAX_BYTES];
  struct {
    char *text;
    uint32_t index;
  } strings[] = {{message, 0}, {file, 1}, {function, 3}};
  for (int i = 0; i < 3; i++) {
    uint64_t at = argument(w, call, lane, strings[i].index);
    if (!read_string(w, op, (int)lane, at, strings[i].text, NAME_MAX_BYTES)) return NULL;
  }
  return sim_fault(w, op, PG_FAULT_TRAP, (int)lane, 0, "%s:%u: assertion `%s` of %s failed", file,
                   (uint32_t)argument(w, call, lane, 2), message, function);
}
