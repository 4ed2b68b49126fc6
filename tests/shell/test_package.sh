#!/bin/bash
# What `make dist` and `make install` make runs from anywhere, with an empty environment.
. tests/shell/tap.sh
build=${BUILD:-build}
top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT

elsewhere() { # COMMAND...: its output and status, far from the sources
  (cd "$top" && env -i PATH=/usr/bin:/bin HOME="$top" "$@" 2>&1 </dev/null)
  echo "status $?"
}
paths='local found = package.searchpath(arg[1], package.path) or package.searchpath(arg[1], package.cpath)
print(found or "nowhere")'
echo "$paths" >"$top/where.lua"

folder="$top/a folder"
check "dist makes a folder" "$(.ci/dist "$build" "$folder" 2>&1; echo "status $?")" "*status 0"
check "its version" "$(elsewhere "$folder/perigee" --version)" "perigee *status 0"
check "its own argparse" "$(elsewhere "$folder/perigee" where.lua argparse)" "$folder/lua/argparse.lua*status 0"
check "its own OpenMP run time" "$([[ ! -e $build/lib/libgomp.so.1 && -e $folder/lib/libgomp.so.1 ]] && echo there)" there
check "its list has every task" "$(elsewhere "$folder/perigee" list)" "*vector/saxpy*status 0"
check "it runs one" "$(elsewhere "$folder/perigee" run vector/saxpy --device sim:check)" "*passed*status 0"

# shellcheck disable=SC2086  # MAKE is a command with options
${MAKE:-make} -s install BUILD="$build" PREFIX=/usr DESTDIR="$top/root" >"$top/log" 2>&1
check "install brings the command" "$(elsewhere "$top/root/usr/bin/perigee" list)" "*vector/saxpy*status 0"
check "which runs a task" "$(elsewhere "$top/root/usr/bin/perigee" run vector/saxpy --device sim:check)" "*passed*status 0"
for module in "$build"/lib/*/*.so; do
  name=${module#"$build"/lib/}
  name=${name%.so}
  check "and finds module $name" "$(elsewhere "$top/root/usr/bin/perigee" where.lua "${name//\//.}")" \
    "$top/root/usr/share/perigee/lib/$name.so*status 0"
done
${MAKE:-make} -s uninstall PREFIX=/usr DESTDIR="$top/root"
check "uninstall leaves no file" "$(find "$top/root" -type f)" ""
finish
