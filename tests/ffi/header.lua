-- A C library's header as the preprocessor gives it, read whole, and functions of it called: LuaJIT
-- and Perigee must print the same line. Argument: the text, "NAME.i"; tests/ffi/run makes it.

local ffi = require "ffi"
local C = ffi.C
local path = ...
local name = path:match "([^/]+)%.i$"
local number = ffi.tonumber or tonumber -- LuaJIT's own takes cdata

local function int(i) return ffi.new("int", i) end

local CALLS = {}

CALLS["stdio.h"] = function()
  local text, value, word = ffi.new "char[32]", ffi.new "int[1]", ffi.new "char[8]"
  local written = C.snprintf(text, 32, "%d, %s.", int(42), "told")
  return written, ffi.string(text), C.sscanf("17 bytes", "%d %7s", value, word),
    value[0], ffi.string(word)
end

CALLS["stdlib.h"] = function()
  local parts, rest = C.div(17, 5), ffi.new "char *[1]"
  return parts.quot, parts.rem, C.strtol("0x1fz", rest, 16), ffi.string(rest[0]),
    C.abs(-3), C.atof "2.5"
end

CALLS["string.h"] = function()
  local text = ffi.new("char[64]", "middle")
  C.memmove(text + 1, text, 6)
  return ffi.string(text), C.strlen(text), ffi.string(C.strstr("a needle", "need")),
    C.strerror_r(2, text, 64), ffi.string(text)
end

CALLS["wchar.h"] = function()
  local text = ffi.new("wchar_t[4]", { 65, 0x3b1, 66, 0 })
  return C.wcslen(text), C.wcschr(text, 66) - text,
    C.wcstol(ffi.new("wchar_t[3]", { 52, 50, 0 }), nil, 10)
end

CALLS["pthread.h"] = function()
  local lock = ffi.new "pthread_mutex_t"
  local size = ffi.sizeof(lock)
  return size, C.pthread_mutex_init(lock, nil), C.pthread_mutex_lock(lock),
    C.pthread_mutex_trylock(lock),
    C.pthread_mutex_unlock(lock), C.pthread_mutex_destroy(lock),
    C.pthread_equal(C.pthread_self(), C.pthread_self()) ~= 0
end

CALLS["sys/types.h"] = function()
  return ffi.sizeof "u_int8_t", ffi.sizeof "u_int16_t", ffi.sizeof "u_int32_t",
    ffi.sizeof "u_int64_t", ffi.sizeof "fd_set", ffi.alignof "int16_t", ffi.new("u_int8_t", 255),
    ffi.new("int64_t", -1)
end

CALLS["sys/socket.h"] = function()
  local pair, got = ffi.new "int[2]", ffi.new "char[8]"
  local made = C.socketpair(1, 1, 0, pair)
  return made, C.send(pair[0], "over", 5, 0), C.recv(pair[1], got, 8, 0), ffi.string(got),
    ffi.sizeof "struct sockaddr_storage", ffi.alignof "struct sockaddr_storage",
    ffi.offsetof("struct msghdr", "msg_flags")
end

CALLS["sys/stat.h"] = function()
  local about = ffi.new "struct stat"
  return C.stat("/", about), about.st_mode, ffi.sizeof(about), about.st_nlink > 0
end

CALLS["time.h"] = function()
  local at, parts, text = ffi.new("time_t[1]", 86400 * 366), ffi.new "struct tm", ffi.new "char[32]"
  C.gmtime_r(at, parts)
  return parts.tm_year, parts.tm_yday, C.strftime(text, 32, "%Y-%m-%d", parts), ffi.string(text)
end

CALLS["unistd.h"] = function()
  local ends, got = ffi.new "int[2]", ffi.new "char[8]"
  return C.pipe(ends), C.write(ends[1], "pipe", 4), C.read(ends[0], got, 8), ffi.string(got),
    C.close(ends[0]), C.access("/nowhere", 0)
end

CALLS["fcntl.h"] = function()
  local at = C.open("/dev/null", 0)
  return at > 2, C.fcntl(at, 3) % 4, C.fcntl(-1, 3)
end

CALLS["signal.h"] = function()
  local set = ffi.new "sigset_t"
  return C.sigemptyset(set), C.sigaddset(set, 10), C.sigismember(set, 10), C.sigismember(set, 12),
    ffi.sizeof(set)
end

CALLS["semaphore.h"] = function()
  local one = ffi.new "sem_t"
  return C.sem_init(one, 0, 1), C.sem_trywait(one), C.sem_trywait(one), ffi.sizeof(one)
end

CALLS["netdb.h"] = function()
  return ffi.string(C.gai_strerror(-2)), ffi.sizeof "struct addrinfo",
    ffi.offsetof("struct addrinfo", "ai_next")
end

CALLS["zlib.h"] = function()
  local z = ffi.load "z"
  local text = ("what repeats "):rep(20)
  local packed, size = ffi.new "Bytef[256]", ffi.new("uLongf[1]", 256)
  local back, length = ffi.new "Bytef[512]", ffi.new("uLongf[1]", 512)
  return z.crc32(0, "123456789", 9), z.compress(packed, size, text, #text), number(size[0]) < #text,
    z.uncompress(back, length, packed, size[0]), ffi.string(back, number(length[0])) == text
end

CALLS["jansson.h"] = function() -- json_decref is inline: its body is in the header
  local json = ffi.load "jansson"
  local list = json.json_loads("[1, 2.5, \"x\"]", 0, nil)
  local size, real, text = json.json_array_size(list), json.json_array_get(list, 1),
    json.json_array_get(list, 2)
  real, text = json.json_real_value(real), ffi.string(json.json_string_value(text))
  json.json_delete(list)
  return number(size), real, text
end

CALLS["sqlite3.h"] = function()
  local sqlite = ffi.load "sqlite3"
  local db, statement = ffi.new "sqlite3 *[1]", ffi.new "sqlite3_stmt *[1]"
  sqlite.sqlite3_open(":memory:", db)
  sqlite.sqlite3_prepare_v2(db[0], "select 6 * 7", -1, statement, nil)
  return sqlite.sqlite3_step(statement[0]), sqlite.sqlite3_column_int(statement[0], 0),
    sqlite.sqlite3_finalize(statement[0]), sqlite.sqlite3_close(db[0])
end

CALLS["complex.h"] = function()
  local m = ffi.load "m"
  local root, narrow = m.csqrt(-4), m.conjf(ffi.new("complex float", 1, 2))
  local product = m.cpow(ffi.new("complex", 0, 1), 2)
  return root.re, root.im, narrow.re, narrow.im, m.cabs(ffi.new("complex", 3, 4)),
    ("%.3f %.3f"):format(product.re, product.im), m.cimag(m.cproj(ffi.new("complex", 5, 6)))
end

CALLS["cmocka.h"] = function() return ffi.sizeof "struct CMUnitTest", ffi.sizeof "jmp_buf" end

-- ---- one line ----------------------------------------------------------------------------------

local function text(value)
  if type(value) == "string" or type(value) == "boolean" then return tostring(value) end
  return ("%.14g"):format(number(value))
end

name = name:gsub("+", "/")
ffi.cdef(assert(io.open(path)):read "*a")
local function line(...)
  local list = { ... }
  for i = 1, select("#", ...) do list[i] = text(list[i]) end
  print(("%s: %s"):format(name, table.concat(list, " ")))
end
line(CALLS[name]())
