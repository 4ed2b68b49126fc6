#!/bin/bash
# The libraries: what they export and need, and programs in C, LuaJIT, Lua and Python that are built and run against an
# installation in a folder of its own, with pkg-config alone. What compiles CUDA C++ is skipped without NVRTC.
. tests/shell/tap.sh
build=${BUILD:-build}
top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT
export PERIGEE_CACHE=$top/cache
unset PERIGEE_HOME # found from where the library is
nvrtc=$(.ci/deps --where nvrtc) && nvrtc=$(realpath "$nvrtc") && export PERIGEE_NVRTC=$nvrtc

needs_nvrtc() { # NAME COMMAND...: check NAME "$(run COMMAND...)" WANT, where WANT is the last
  if [[ $nvrtc ]]; then check "$1" "$(run "${@:2:$#-2}")" "${@:$#}"; else skip "$1" "no NVRTC"; fi
}

# A folder with a space: what is installed and removed is that folder, not another whose name begins like it.
mkdir "$top/staged"
touch "$top/staged/bystander"
make -s install BUILD="$build" PREFIX=/opt/pg DESTDIR="$top/staged root" >"$top/log" 2>&1
check "install" "$(echo $?; cat "$top/log")" "0"
make -s install BUILD="$build" PREFIX=/opt/pg DESTDIR="$top/staged root" >"$top/log" 2>&1
check "and again, over itself" "$(echo $?; cat "$top/log"; ls "$top/staged")" "0*bystander"
ln -s "staged root" "$top/root" # flags of pkg-config are words
prefix=$top/root/opt/pg
cp -R examples/embed "$top/" && cp tests/embed/* "$top/embed"
cd "$top" || exit 1
# The installation is staged: DESTDIR comes before what the .pc files say.
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$top/root
export LD_LIBRARY_PATH=$prefix/lib

exports() { nm -D --defined-only "$1" | awk '{ print $3 }'; }
declared=$(sed -n '/^\/\* ---- hosts/q;p' "$prefix/include/perigee_cdef.h" | grep -o 'pg_[a-z_]*(' | tr -d '(' | sort -u)
check "libperigee.so exports what the header declares" "$(exports "$prefix/lib/libperigee.so" | sort)" "$declared"
check "and needs no Lua" "$(readelf -d "$prefix/lib/libperigee.so" | grep -ci 'needed.*lua')" 0
for file in lib/libperigee-host.so lib/lua/5.4/perigee.so; do
  check "$file exports nothing else than pg_* and luaopen_*" \
    "$(exports "$prefix/$file" | grep -Ev '^(pg_|luaopen_)')" ""
done
check "perigee.so links no Lua" "$(readelf -d "$prefix/lib/lua/5.4/perigee.so" | grep -ci 'needed.*lua')" 0
check "soname" "$(readelf -d "$prefix/lib/libperigee-host.so" | grep SONAME)" "*[[]libperigee-host.so.0[]]*"
check "pkg-config knows the version" "$(pkg-config --modversion perigee)" "$(pkg-config --modversion perigee-host)"

compile() { # SOURCE PACKAGE [FLAG...]: its messages and status
  # shellcheck disable=SC2046
  ${CC:-gcc} -std=c11 -Wall -Wextra -Werror -pthread "${@:3}" "$1" $(pkg-config --cflags --libs "$2") -o "${1%.c}" 2>&1
  echo "status $?"
}
run() { # COMMAND...: output and status
  timeout 60 "$@" 2>&1 </dev/null
  echo "status $?"
}

check "core.c compiles without warnings" "$(compile embed/core.c perigee)" "status 0"
needs_nvrtc "and runs" embed/core sim:check "0 wrong; sim time * us*status 0"
check "and tells an error" "$(run embed/core sum)" "unknown device \"sum\"*did you mean sim*status 1"
check "such as a missing compiler" "$(PERIGEE_NVRTC=/nowhere run embed/core sim)" "*/nowhere holds no libnvrtc*unset*status 1"
check "each program in C has 40 lines" "$(wc -l <embed/core.c) $(wc -l <embed/host.c)" "40 40"
check "host.c compiles without warnings" "$(compile embed/host.c perigee-host)" "status 0"
check "and runs" "$(run embed/host)" '{"back":6.5,"device":"sim","last":6.5}*status 0'
printf '#include <perigee.h>\nint main() { return pg_version()[0] == 0; }\n' >embed/plus.cc
if command -v g++ >/dev/null; then
  flags=$(pkg-config --cflags --libs perigee)
  # shellcheck disable=SC2086
  check "a program in C++" "$(g++ embed/plus.cc $flags -o embed/plus 2>&1; run embed/plus)" "status 0"
fi

sed -i "s|here .. \"/../../lua|\"$prefix/share/perigee/lua|" embed/axpy.lua
needs_nvrtc "LuaJIT" luajit embed/axpy.lua sim:check "0 of 1000 elements wrong*status 0"
check "its errors are tables that print" "$(run luajit embed/axpy.lua sum)" "*unknown device \"sum\"*did you mean sim*status 1"
needs_nvrtc "Python" python3 embed/axpy.py "$prefix/lib/libperigee.so" sim:check "0 of 1000 elements wrong*status 0"
check "which says what it wants" "$(run python3 embed/axpy.py)" "usage: *LIBPERIGEE.SO*status 1"

export LUA_CPATH="$prefix/lib/lua/5.4/?.so;;"
needs_nvrtc "stock Lua" lua5.4 "$prefix/share/perigee/examples/hello.lua" "31 \* 31 =*961*status 0"
check "with the C modules of tasks" "$(run lua5.4 -e 'require "perigee"; print(require "hash.keyset")')" "table:*status 0"
printf '%s\n' 'local pg = require "perigee"' 'print(pg.check(pg.catalogue.find("vector/saxpy")[1],' \
  "  '$prefix/share/perigee/kernels/vector/saxpy.cu', { device = 'sim:check' }).verdict)" >check.lua
check "and the judge, whose processes are the installed command" "$(run lua5.4 check.lua)" "passed*status 0"
check "without it, an error with the fix" "$(PERIGEE_BIN=/nowhere run lua5.4 check.lua)" \
  "*PERIGEE_BIN is '/nowhere', which is no program*unset it*status 1"

mkdir alone && cp "$prefix/lib/lua/5.4/perigee.so" alone
check "nor far from it" \
  "$(PERIGEE_HOME=$prefix/share/perigee LUA_CPATH="$top/alone/?.so" run lua5.4 check.lua)" \
  "*the command 'perigee'*is not beside $top/alone/perigee.so nor in ../bin*set PERIGEE_BIN*status 1"

functions=$(grep -o '\bpg_[a-z_]*(' "$prefix/include/perigee_cdef.h" | tr -d '(' | sort -u)
check "api.c calls every function of the header" "$(comm -23 <(echo "$functions") <(grep -o '\bpg_[a-z_]*' embed/api.c | sort -u))" ""
check "api.c compiles" "$(compile embed/api.c perigee-host)" "status 0"
saxpy=$prefix/share/perigee/kernels/vector/saxpy.cu
each() { # NAME COMMAND...: the tests that it prints
  local line
  run "${@:2}" >each.log
  while read -r line; do check "$1: ${line#*ok - }" "$line" "ok -*"; done < <(grep -E '^(not )?ok - ' each.log)
  check "$1: all ran" "$(tail -n 5 each.log)" "*done*status 0"
}
each api embed/api "$saxpy" "$(pkg-config --modversion perigee)"
[[ $nvrtc ]] && check "api: with the compiler" "$(grep -c "PTX of an architecture" each.log)" 1
each jit luajit embed/jit.lua "$prefix/share/perigee/lua/perigee/jit.lua" "$saxpy"
each "jit.lua in Perigee" "$prefix/bin/perigee" embed/jit.lua "$prefix/share/perigee/lua/perigee/jit.lua" "$saxpy"
check "threads.c compiles" "$(compile embed/threads.c perigee-host)" "status 0"
check "two hosts in two threads" "$(run embed/threads)" "done*status 0"
needs_nvrtc "each with a compiler" embed/threads nvrtc "done*status 0"
check "nothing is left of what they made" "$(find "$PERIGEE_CACHE/native" -mindepth 1 ! -name '*.so')" ""

cd - >/dev/null || exit 1
make -s uninstall PREFIX=/opt/pg DESTDIR="$top/staged root"
check "uninstall leaves no file" "$(find "$top/root/" -type f -o -type l)" ""
check "and takes no other" "$(ls "$top/staged")" bystander
finish
