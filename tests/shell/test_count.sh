#!/bin/bash
# tests/count.awk, tests/run and tests/cheats/run.lua: what counts as passed and as failed.
. tests/shell/tap.sh

count() { # STATUS LINE...
  printf '%s\n' "${@:2}" | awk -v status="$1" -f tests/count.awk
}

check "passes are counted" "$(count 0 1..2 'ok 1 - a' 'ok 2 - b')" "2 0 0"
check "LuaUnit's padded lines are counted" "$(count 2 1..2 $'ok     1\tT.a' $'not ok 2\tT.b')" "1 1 0"
check "failures are counted" "$(count 1 1..2 'ok 1 - a' 'not ok 2 - b')" "1 1 0"
check "both forms of a skip are skips" "$(count 0 1..3 'not ok 1 # SKIP a' $'ok 2\t# SKIP b' 'ok 3 - c')" "1 0 2"
check "several groups in one program add up" "$(count 0 1..1 'ok 1 - a' '# ok - g' 1..1 'ok 1 - b')" "2 0 0"
check "tests lost to a death have failed" "$(count 0 1..3 'ok 1 - a')" "1 2 0"
check "a death after the last test is a failure" "$(count 139 1..1 'ok 1 - a')" "1 1 0"
check "a death before any test is a failure" "$(count 127 'no such file')" "0 1 0"
check "no test at all is a failure" "$(count 0 '')" "0 1 0"
check "an exit status adds nothing to counted failures" "$(count 1 1..1 'not ok 1 - a')" "0 1 0"
# make's n: what is to be built is only printed.
check "a pattern that names no suite is a failure" "$(MAKEFLAGS=n tests/run nosuch 2>&1 | tail -3)" \
  "no suite is named \*nosuch\**0 passed, 1 failed"
check "nor is one that names no exhibit of the museum" "$("${BUILD:-build}/perigee" tests/cheats/run.lua raise 2>&1; echo $?)" \
  "no exhibit has 'raise' in its name; did you mean 'race'?"$'\n'2
finish
