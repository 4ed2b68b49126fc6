/* Lua binding of SQLite: databases and rows, no policy (that is lua/perigee/store.lua).
 * Values are bound, never pasted: nil, booleans (0 and 1), integers, floats and strings. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <sqlite3.h>

#include "bind.h"
#include "value.h"

#define DB_META "perigee.sqlite"
#define ROWS_META "perigee.sqlite_rows"

enum { BUSY_MS = 20000 }; /* how long a writer waits for another */

typedef struct database {
  sqlite3 *handle; /* NULL once closed */
} database;

typedef struct rows {
  sqlite3_stmt *statement; /* NULL once finished; its user value keeps the database alive */
} rows;

/* ---- errors ---- */

static pg_code code_of(int result) {
  switch (result & 0xff) {
  case SQLITE_NOMEM: return PG_MEMORY;
  case SQLITE_BUSY:
  case SQLITE_LOCKED: return PG_TIMEOUT;
  case SQLITE_CONSTRAINT:
  case SQLITE_MISMATCH:
  case SQLITE_MISUSE:
  case SQLITE_AUTH: return PG_INVALID;
  case SQLITE_RANGE:
  case SQLITE_TOOBIG: return PG_RANGE;
  case SQLITE_ERROR: return PG_SYNTAX;
  default: return PG_IO; /* full, read-only, no database, corrupt, cannot open, ... */
  }
}

static const char *hint_of(int result) {
  switch (result & 0xff) {
  case SQLITE_FULL: return "make room on the disk, or name another file";
  case SQLITE_READONLY:
  case SQLITE_PERM: return "it can only be read here; to write, name a file that may be written";
  case SQLITE_CANTOPEN: return "does its folder exist, and may it be written?";
  case SQLITE_NOTADB: return "it is some other file: name another";
  case SQLITE_CORRUPT: return "sqlite3 FILE .recover may save what is in it";
  case SQLITE_AUTH: return "what is only read attaches no other file and writes none";
  case SQLITE_BUSY: return "another process holds it: wait for that, or name another file";
  default: return "";
  }
}

/* The file of a database; "memory" for one without. */
static const char *name_of(sqlite3 *handle) {
  const char *name = handle ? sqlite3_db_filename(handle, "main") : NULL;
  return name && *name ? name : "memory";
}

static int raise(lua_State *L, sqlite3 *handle, const char *file, int result) {
  pg_error error;
  pg_fail(&error, code_of(result), "SQLite: %s",
          handle ? sqlite3_errmsg(handle) : sqlite3_errstr(result));
  if (*hint_of(result)) pg_hint(&error, "%s", hint_of(result));
  pg_where(&error, "%s", file);
  return pg_lua_raise(L, &error);
}

static sqlite3 *check_database(lua_State *L) {
  database *db = luaL_checkudata(L, 1, DB_META);
  if (db->handle) return db->handle;
  pg_error error;
  pg_fail(&error, PG_INVALID, "this database was closed");
  pg_lua_raise(L, &error);
  return NULL;
}

/* ---- databases ---- */

/* A connection that only reads a file may still attach another and write that, and so does
 * VACUUM INTO. */
static int attaches_nothing(void *unused, int action, const char *a, const char *b, const char *c,
                            const char *d) {
  (void)unused, (void)a, (void)b, (void)c, (void)d;
  return action == SQLITE_ATTACH ? SQLITE_DENY : SQLITE_OK;
}

/* core.sqlite(path [, {readonly = false}]): a database, made when it is not there. With
 * `readonly` no statement writes this or any other file. Raises io with the file. */
static int open_database(lua_State *L) {
  static const char *const names[] = {"readonly", NULL};
  size_t length;
  const char *path = pg_lua_check_string(L, 1, &length);
  if (length == 0 || strlen(path) != length) return pg_lua_argument(L, 1, "path");
  pg_lua_check_options(L, 2, names);
  int readonly = pg_lua_option_boolean(L, 2, "readonly", 0);
  database *db = lua_newuserdatauv(L, sizeof *db, 0);
  db->handle = NULL;
  luaL_setmetatable(L, DB_META);
  int flags = readonly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  int result = sqlite3_open_v2(path, &db->handle, flags, NULL);
  if (result) return raise(L, db->handle, path, result);
  sqlite3_extended_result_codes(db->handle, 1);
  sqlite3_busy_timeout(db->handle, BUSY_MS);
  if (readonly) sqlite3_set_authorizer(db->handle, attaches_nothing, NULL);
  return 1;
}

/* db:exec(sql): statements that return nothing, one after the other. */
static int database_exec(lua_State *L) {
  sqlite3 *handle = check_database(L);
  size_t length;
  const char *sql = pg_lua_check_string(L, 2, &length);
  int result = sqlite3_exec(handle, sql, NULL, NULL, NULL);
  if (result) return raise(L, handle, name_of(handle), result);
  return 0;
}

/* Open rows finish on their own: the handle goes when the last of them does. */
static int database_close(lua_State *L) {
  database *db = luaL_checkudata(L, 1, DB_META);
  sqlite3_close_v2(db->handle);
  db->handle = NULL;
  return 0;
}

/* ---- statements ---- */

static int bind_value(lua_State *L, sqlite3_stmt *statement, int place, int index) {
  size_t length;
  const char *text;
  switch (lua_type(L, index)) {
  case LUA_TNIL: return sqlite3_bind_null(statement, place);
  case LUA_TBOOLEAN: return sqlite3_bind_int(statement, place, lua_toboolean(L, index));
  case LUA_TNUMBER:
    if (lua_isinteger(L, index))
      return sqlite3_bind_int64(statement, place, lua_tointeger(L, index));
    return sqlite3_bind_double(statement, place, lua_tonumber(L, index));
  case LUA_TSTRING:
    text = lua_tolstring(L, index, &length);
    return sqlite3_bind_text64(statement, place, text, length, SQLITE_TRANSIENT, SQLITE_UTF8);
  default: return pg_lua_argument(L, index, "nil, boolean, number or string");
  }
}

/* Bind the arguments from `first` on to the statement's parameters, of which there must be as many.
 */
static void bind_values(lua_State *L, sqlite3 *handle, sqlite3_stmt *statement, int first) {
  int wanted = sqlite3_bind_parameter_count(statement), given = lua_gettop(L) - first;
  if (wanted != given) {
    pg_error error;
    pg_fail(&error, PG_INVALID, "the statement has %d parameters, got %d values", wanted, given);
    pg_lua_raise(L, &error);
  }
  for (int i = 0; i < wanted; i++) {
    int result = bind_value(L, statement, i + 1, first + i);
    if (result) raise(L, handle, name_of(handle), result);
  }
}

/* Push the userdata of the one statement at index 2, with the values from index 3 on bound. */
static rows *push_statement(lua_State *L, sqlite3 *handle) {
  size_t length;
  const char *sql = pg_lua_check_string(L, 2, &length), *rest;
  if (length > INT_MAX) pg_lua_argument(L, 2, "a shorter statement");
  rows *all = lua_newuserdatauv(L, sizeof *all, 1);
  all->statement = NULL;
  luaL_setmetatable(L, ROWS_META);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, 1);
  int result = sqlite3_prepare_v2(handle, sql, (int)length + 1, &all->statement, &rest);
  if (result) raise(L, handle, name_of(handle), result);
  if (!all->statement || rest[strspn(rest, " \t\r\n;")]) {
    pg_error error;
    pg_fail(&error, PG_INVALID, "the SQL text has %s statement",
            all->statement ? "more than one" : "no");
    pg_hint(&error, "one statement at a time, for example: SELECT count(*) FROM records");
    pg_lua_raise(L, &error);
  }
  bind_values(L, handle, all->statement, 3);
  return all;
}

static int finish(rows *all) {
  int result = sqlite3_finalize(all->statement);
  all->statement = NULL;
  return result;
}

/* db:run(sql, values...): one statement that returns no rows. Gives the number of rows changed and
 * the id of the last one inserted. */
static int database_run(lua_State *L) {
  sqlite3 *handle = check_database(L);
  rows *all = push_statement(L, handle);
  int result;
  do result = sqlite3_step(all->statement);
  while (result == SQLITE_ROW);
  if (result != SQLITE_DONE) return raise(L, handle, name_of(handle), result);
  finish(all);
  lua_pushinteger(L, sqlite3_changes(handle));
  lua_pushinteger(L, sqlite3_last_insert_rowid(handle));
  return 2;
}

static void push_column(lua_State *L, sqlite3_stmt *statement, int column) {
  switch (sqlite3_column_type(statement, column)) {
  case SQLITE_INTEGER: lua_pushinteger(L, sqlite3_column_int64(statement, column)); break;
  case SQLITE_FLOAT: lua_pushnumber(L, sqlite3_column_double(statement, column)); break;
  case SQLITE_NULL: lua_pushnil(L); break;
  default: {
    const void *bytes = sqlite3_column_blob(statement, column); /* before _bytes, as it says */
    lua_pushlstring(L, bytes ? bytes : "", (size_t)sqlite3_column_bytes(statement, column));
  }
  }
}

/* The iterator of db:rows. */
static int next_row(lua_State *L) {
  rows *all = luaL_checkudata(L, 1, ROWS_META);
  if (!all->statement) return 0;
  int result = sqlite3_step(all->statement);
  if (result == SQLITE_DONE) return finish(all), 0;
  sqlite3 *handle = sqlite3_db_handle(all->statement);
  if (result != SQLITE_ROW) return raise(L, handle, name_of(handle), result);
  int columns = sqlite3_column_count(all->statement);
  lua_createtable(L, 0, columns);
  for (int i = 0; i < columns; i++) {
    push_column(L, all->statement, i);
    lua_setfield(L, -2, sqlite3_column_name(all->statement, i));
  }
  return 1;
}

/* for row in db:rows(sql, values...) do: each row as a table by column names; NULL is absent. The
 * loop's end, however it comes, ends the statement. The second value has `columns()`. */
static int database_rows(lua_State *L) {
  push_statement(L, check_database(L));
  int all = lua_gettop(L);
  lua_pushcfunction(L, next_row);
  lua_pushvalue(L, all);
  lua_pushnil(L);
  lua_pushvalue(L, all);
  return 4;
}

/* Names of the columns, in order. */
static int rows_columns(lua_State *L) {
  const rows *all = luaL_checkudata(L, 1, ROWS_META);
  int columns = all->statement ? sqlite3_column_count(all->statement) : 0;
  lua_createtable(L, columns, 0);
  for (int i = 0; i < columns; i++) {
    lua_pushstring(L, sqlite3_column_name(all->statement, i));
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

static int rows_close(lua_State *L) {
  finish(luaL_checkudata(L, 1, ROWS_META));
  return 0;
}

static void make_metatable(lua_State *L, const char *name, const luaL_Reg *methods,
                           lua_CFunction close) {
  luaL_newmetatable(L, name);
  lua_pushcfunction(L, close);
  lua_setfield(L, -2, "__gc");
  lua_pushcfunction(L, close);
  lua_setfield(L, -2, "__close");
  lua_newtable(L);
  luaL_setfuncs(L, methods, 0);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
}

void pg_bind_sqlite(lua_State *L) {
  static const luaL_Reg database_methods[] = {{"exec", database_exec},
                                              {"run", database_run},
                                              {"rows", database_rows},
                                              {"close", database_close},
                                              {NULL, NULL}};
  static const luaL_Reg rows_methods[] = {{"columns", rows_columns}, {NULL, NULL}};
  make_metatable(L, DB_META, database_methods, database_close);
  make_metatable(L, ROWS_META, rows_methods, rows_close);
  lua_pushcfunction(L, open_database);
  lua_setfield(L, -2, "sqlite");
}
