/* Lua binding of a line editor: libedit by dlopen, so that a machine without it only lacks editing.
 * What happens at TAB, and what is kept of the history, Lua says (lua/perigee/cli/repl.lua). */
#include <dlfcn.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "bind.h"
#include "value.h"

#define EDITOR_META "perigee.line_editor"
#define LIBRARY "libedit.so.2"

/* The part of histedit.h that is used. */
typedef struct edit_line EditLine;
typedef struct edit_history History;
typedef struct line_info {
  const char *buffer, *cursor, *last;
} line_info;
typedef struct hist_event {
  int number;
  const char *text;
} hist_event;

enum { SET_PROMPT = 0, SET_EDITOR = 2, SET_SIGNAL = 3, SET_BIND = 4, SET_TTY = 8 };
enum { SET_FUNCTION = 9, SET_HISTORY = 10, SET_CLIENT = 14 };
enum { HISTORY_SIZE = 1, HISTORY_ENTER = 10, HISTORY_UNIQUE = 20 };
enum { DID_NOTHING = 0, DID_END = 2, DID_CHANGE = 4, DID_REDISPLAY = 8, DID_BEEP = 9 };
enum { LINES_MOST = 1000 };

typedef struct editor {
  EditLine *(*init)(const char *, FILE *, FILE *, FILE *);
  void (*end)(EditLine *);
  const char *(*gets)(EditLine *, int *);
  int (*set)(EditLine *, int, ...);
  int (*get)(EditLine *, int, ...);
  const line_info *(*line)(EditLine *);
  int (*insert)(EditLine *, const char *);
  History *(*history_init)(void);
  void (*history_end)(History *);
  int (*history)(History *, hist_event *, int, ...);
  void *library;
  EditLine *edit;
  History *past;
  lua_State *L; /* the state that is reading */
  bool interrupted;
  char prompt[64];
} editor;

/* Fill *slot with a function; both are pointers of one size, which POSIX guarantees for dlsym. */
static bool find(void *library, const char *symbol, void *slot) {
  void *address = dlsym(library, symbol);
  memcpy(slot, &address, sizeof address);
  return address;
}

static bool find_all(editor *e) {
  void *from = e->library;
  return find(from, "el_init", &e->init) && find(from, "el_end", &e->end) &&
         find(from, "el_gets", &e->gets) && find(from, "el_set", &e->set) &&
         find(from, "el_get", &e->get) && find(from, "el_line", &e->line) &&
         find(from, "el_insertstr", &e->insert) && find(from, "history_init", &e->history_init) &&
         find(from, "history_end", &e->history_end) && find(from, "history", &e->history);
}

/* ---- what libedit calls: it knows only the EditLine ---- */

static editor *editor_of(EditLine *edit) {
  int (*get)(EditLine *, int, ...);
  editor *e = NULL;
  void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_NOLOAD);
  if (library && find(library, "el_get", &get)) get(edit, SET_CLIENT, &e);
  if (library) dlclose(library); /* the editor has it open, too */
  return e;
}

static char *prompt_of(EditLine *edit) {
  return editor_of(edit)->prompt;
}

/* TAB: Lua is asked with the text before the cursor what to insert and what to show. */
static unsigned char on_tab(EditLine *edit, int key) {
  (void)key;
  editor *e = editor_of(edit);
  const line_info *line = e->line(edit);
  lua_State *L = e->L;
  int top = lua_gettop(L);
  unsigned char done = DID_BEEP;
  lua_getiuservalue(L, 1, 1);
  lua_pushlstring(L, line->buffer, (size_t)(line->cursor - line->buffer));
  if (lua_pcall(L, 1, 2, 0) == LUA_OK) {
    const char *text = lua_tostring(L, -2), *shown = lua_tostring(L, -1);
    if (text && *text && e->insert(edit, text) == 0) {
      done = DID_CHANGE;
    } else if (shown && *shown) {
      printf("\n%s\n", shown);
      done = DID_REDISPLAY;
    }
  }
  lua_settop(L, top);
  return done;
}

static unsigned char on_interrupt(EditLine *edit, int key) {
  (void)key;
  editor_of(edit)->interrupted = true;
  return DID_END;
}

/* ---- for Lua ---- */

static editor *check_editor(lua_State *L) {
  return luaL_checkudata(L, 1, EDITOR_META);
}

static int editor_close(lua_State *L) {
  editor *e = check_editor(L);
  if (e->edit) e->end(e->edit);
  if (e->past) e->history_end(e->past);
  if (e->library) dlclose(e->library);
  e->edit = NULL, e->past = NULL, e->library = NULL;
  return 0;
}

/* Keys as in emacs, TAB completes, control-C gives the line up; the user's ~/.editrc is not read,
 * for what it binds would be tested by nobody. */
static void set_up(editor *e) {
  hist_event event;
  e->set(e->edit, SET_CLIENT, e);
  e->set(e->edit, SET_PROMPT, prompt_of);
  e->set(e->edit, SET_EDITOR, "emacs");
  e->set(e->edit, SET_SIGNAL, 0);
  e->set(e->edit, SET_HISTORY, e->history, e->past);
  e->history(e->past, &event, HISTORY_SIZE, LINES_MOST);
  e->history(e->past, &event, HISTORY_UNIQUE, 1);
  e->set(e->edit, SET_FUNCTION, "perigee-tab", "complete", on_tab);
  e->set(e->edit, SET_FUNCTION, "perigee-interrupt", "give the line up", on_interrupt);
  e->set(e->edit, SET_BIND, "^I", "perigee-tab", NULL);
  e->set(e->edit, SET_BIND, "^C", "perigee-interrupt", NULL);
  e->set(e->edit, SET_BIND, "^R", "em-inc-search-prev", NULL);
  e->set(e->edit, SET_TTY, "-d", "-isig", NULL);
}

/* libedit drops what the locale has no letters for. Only letters: numbers keep their point. */
static void use_utf8(void) {
  const char *locale = setlocale(LC_CTYPE, "");
  if (!locale || !strcmp(locale, "C") || !strcmp(locale, "POSIX")) setlocale(LC_CTYPE, "C.UTF-8");
}

/* core.line_editor(complete): an editor of standard input's lines, or nil without libedit.
 * complete(text before the cursor) returns what to insert, or nil and what to show. */
static int core_line_editor(lua_State *L) {
  luaL_checktype(L, 1, LUA_TFUNCTION);
  editor *e = lua_newuserdatauv(L, sizeof *e, 1);
  memset(e, 0, sizeof *e);
  luaL_setmetatable(L, EDITOR_META);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, 1);
  use_utf8();
  e->library =
      dlopen(LIBRARY, RTLD_NOW | RTLD_NODELETE); /* what it keeps in globals stays its own */
  if (!e->library || !find_all(e)) return 0;
  e->edit = e->init("perigee", stdin, stdout, stderr);
  e->past = e->history_init();
  if (!e->edit || !e->past) return 0;
  set_up(e);
  return 1;
}

/* editor:read(prompt): a line without its end; false after control-C; nil at the end. */
static int editor_read(lua_State *L) {
  editor *e = check_editor(L);
  int length = 0;
  snprintf(e->prompt, sizeof e->prompt, "%s", luaL_checkstring(L, 2));
  if (!e->edit) return 0;
  e->L = L, e->interrupted = false;
  const char *line = e->gets(e->edit, &length);
  e->L = NULL;
  if (e->interrupted) {
    lua_pushboolean(L, 0);
    return 1;
  }
  if (!line || length <= 0) return 0;
  if (line[length - 1] == '\n') length--;
  lua_pushlstring(L, line, (size_t)length);
  return 1;
}

/* editor:add(line): the newest of the history. */
static int editor_add(lua_State *L) {
  editor *e = check_editor(L);
  hist_event event;
  const char *line = luaL_checkstring(L, 2);
  if (e->edit) e->history(e->past, &event, HISTORY_ENTER, line);
  return 0;
}

void pg_bind_line(lua_State *L) {
  static const luaL_Reg functions[] = {{"line_editor", core_line_editor}, {NULL, NULL}};
  static const luaL_Reg methods[] = {
      {"read", editor_read}, {"add", editor_add}, {"close", editor_close}, {NULL, NULL}};
  luaL_newmetatable(L, EDITOR_META);
  luaL_newlib(L, methods);
  lua_setfield(L, -2, "__index");
  lua_pushcfunction(L, editor_close);
  lua_pushvalue(L, -1);
  lua_setfield(L, -3, "__gc");
  lua_setfield(L, -2, "__close");
  lua_pop(L, 1);
  luaL_setfuncs(L, functions, 0);
}
