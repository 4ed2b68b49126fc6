/* Compiling in a process of its own: a request becomes a pg_compile_request and its result a reply.
 * Logs are cut, so that a flood of errors stays an answer. */
#include "compiler.h"

#include <stdlib.h>
#include <string.h>

#include "confine.h"
#include "request.h"
#include "tool.h"

enum { LIST_MOST = 256, LOG_MOST = 1 << 18 };

static json_t *success(const pg_compiler *compiler, const pg_compile_result *result) {
  json_t *reply = json_object(), *lowered = json_array();
  for (int i = 0; i < result->lowered_count; i++)
    json_array_append_new(lowered, pg_json_text(result->lowered[i], PG_MESSAGE_MAX));
  json_object_set_new(reply, "ok", json_true());
  json_object_set_new(reply, "ptx", pg_json_text(result->ptx, SIZE_MAX - 64));
  json_object_set_new(reply, "log", pg_json_text(result->log ? result->log : "", LOG_MOST));
  json_object_set_new(reply, "seconds", json_real(result->seconds));
  json_object_set_new(reply, "cached", json_boolean(result->cached));
  json_object_set_new(reply, "compiler", pg_json_text(result->compiler, PG_WHERE_MAX));
  json_object_set_new(reply, "lowered", lowered);
  json_object_set_new(reply, "sandbox", pg_json_words(compiler->sandbox));
  return reply;
}

static json_t *failure(const pg_error *error, const pg_compile_result *result) {
  json_t *reply = pg_reply_error(error);
  if (result->log) json_object_set_new(reply, "log", pg_json_text(result->log, LOG_MOST));
  if (*result->compiler)
    json_object_set_new(reply, "compiler", pg_json_text(result->compiler, PG_WHERE_MAX));
  return reply;
}

static pg_code parse(const json_t *request, pg_compile_request *c, const char **options,
                     const char **expressions, pg_error *error) {
  const char *op = "", *language = "cuda";
  bool cache = true;
  pg_code code = pg_req_string(request, "op", &op, error);
  if (code) return code;
  if (strcmp(op, "compile") != 0) {
    pg_fail(error, PG_NOT_FOUND, "a compiler has no request \"%.60s\"", op);
    return pg_hint(error, "its requests are compile, prepare and tool");
  }
  code = pg_opt_string(request, "lang", &language, error);
  if (!code && strcmp(language, "cuda") != 0)
    code = pg_fail(error, PG_UNSUPPORTED, "no compiler for language \"%.60s\" (cuda has one)",
                   language);
  if (!code) code = pg_req_string(request, "source", &c->source, error);
  if (!code) code = pg_opt_string(request, "name", &c->name, error);
  if (!code) code = pg_opt_string(request, "arch", &c->arch, error);
  if (!code) code = pg_opt_bool(request, "cache", &cache, error);
  if (!code) code = pg_opt_strings(request, "options", LIST_MOST, options, &c->option_count, error);
  if (!code)
    code =
        pg_opt_strings(request, "expressions", LIST_MOST, expressions, &c->expression_count, error);
  c->no_cache = !cache;
  return code;
}

/* Loading the compiler's library takes longer than compiling a small kernel: it can be done ahead.
 * A library that is missing is for the compilation to report. */
static json_t *prepare(void) {
  char version[64] = "", path[PG_WHERE_MAX] = "";
  json_t *reply = json_object();
  pg_compiler_info(version, sizeof version, path, sizeof path, NULL);
  json_object_set_new(reply, "ok", json_true());
  json_object_set_new(reply, "compiler", pg_json_text(version, sizeof version));
  return reply;
}

static bool is_op(const json_t *request, const char *name) {
  const char *op = json_string_value(json_object_get(request, "op"));
  return op && strcmp(op, name) == 0;
}

/* What the compiler may read: its include path, and what the request says besides. */
typedef struct reading {
  char *sandbox;
  const char *more[LIST_MOST];
  int count;
} reading;

static pg_code confine(void *context, const pg_compile_reach *reach, pg_error *error) {
  const reading *r = context;
  const char *folders[2 * LIST_MOST + 8];
  int count = 0;
  (void)error;
  for (int i = 0; i < reach->folder_count && i < LIST_MOST + 8; i++)
    folders[count++] = reach->folders[i];
  for (int i = 0; i < r->count; i++) folders[count++] = r->more[i];
  pg_confine_compiler(&(pg_compile_reach){folders, count, reach->cache}, r->sandbox);
  return PG_OK;
}

static json_t *compile(pg_compiler *compiler, const json_t *request) {
  const char *options[LIST_MOST], *expressions[LIST_MOST];
  reading may_read = {.sandbox = compiler->sandbox};
  pg_compile_request c = {.name = "candidate.cu",
                          .options = options,
                          .expressions = expressions,
                          .confine = confine,
                          .context = &may_read};
  pg_compile_result result = {0};
  pg_error error = {0};
  pg_code code = parse(request, &c, options, expressions, &error);
  if (!code)
    code = pg_opt_strings(request, "reach", LIST_MOST, may_read.more, &may_read.count, &error);
  if (!code && compiler->used) {
    code =
        pg_fail(&error, PG_INVALID, "this compiler has compiled, and is confined to that source");
    pg_hint(&error, "start another one");
  }
  if (!code) {
    compiler->used = true;
    code = pg_compile(&c, &result, &error);
  }
  json_t *reply = code ? failure(&error, &result) : success(compiler, &result);
  pg_compile_free(&result);
  return reply;
}

json_t *pg_compiler_handle(pg_compiler *compiler, const json_t *request) {
  if (is_op(request, "prepare")) return prepare();
  if (is_op(request, "tool")) return pg_tool_handle(request);
  return compile(compiler, request);
}
