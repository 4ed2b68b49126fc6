#!/bin/bash
# Interactive mode on a terminal of its own (prompt.py): evaluation, control-C, and with libedit editing, TAB, history.
. tests/shell/tap.sh
build=${BUILD:-build}

python3 -c 'import pty' 2>/dev/null || { echo "ok 1 - interactive mode # SKIP no python3 with pty"; exit; }
folder=$(mktemp -d)
echo 'return require "perigee.core".line_editor(print) ~= nil' >"$folder/editor.lua"

play() { # KIND: prompt.py prints a line a step
  python3 tests/shell/prompt.py "$build/perigee" "$folder" "$1" || bad=1
}

play dumb
check "without an editor nothing is remembered" "$(find "$folder" -name history)" ""
if "$build/perigee" "$folder/editor.lua" </dev/null >/dev/null; then
  play edited
  check "history is kept line by line" "$(head -n 1 "$folder/perigee/history")" "1 + 1"
else
  echo "ok - editing, completion and history # SKIP no libedit.so.2 (Debian: libedit2)"
fi
rm -rf "$folder"
exit $bad
