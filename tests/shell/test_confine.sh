#!/bin/bash
# What a candidate's compiler may reach, by the command: host code that Triton and Rust run while they compile is
# confined, and where it cannot be, such a candidate needs --trust.
. tests/shell/tap.sh
perigee=$(realpath "${BUILD:-build}/perigee")
top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT
export PERIGEE_CACHE=off PERIGEE_PYTHON=$top/python
echo "the answer is 42" >"$top/secret"

# In place of Python with Triton: what a candidate could try at import. The judge's id is a line of the source, which
# this shell writes and then becomes the judge.
cat >"$top/python" <<END
#!/bin/bash
case \$1 in -c) printf '3.0.0\n' && exit ;; esac
try() { if "\${@:2}" >/dev/null 2>&1; then echo "\$1 done" >&2; else echo "\$1 denied" >&2; fi; }
try own-file bash -c 'echo x >own && cat own && rm own'
try program ls /usr/bin
try secret cat $top/secret
try password cat /etc/passwd
try write touch $top/new
try tmp mktemp
try home ls ~
judge=\$(tail -n 1 mine.py)
try kill kill -0 \$PPID
try judge kill -0 "\${judge#\#}"
try judge-memory cat "/proc/\${judge#\#}/environ"
try pin taskset -p 1 "\${judge#\#}"
try renice renice -n 19 -p "\${judge#\#}"
try reschedule chrt -b -p 0 "\${judge#\#}"
try ionice ionice -c 3 -p "\${judge#\#}"
try pin-itself taskset -p ffff \$\$
try session setsid true
try namespace unshare -r true
try network bash -c ': </dev/tcp/127.0.0.1/9'
try environment cat /proc/\$PPID/environ
exit 127 # which is no sign of a program that is missing
END
chmod +x "$top/python"

log_of() { # ARGUMENTS: what a check of mine.py printed
  # shellcheck disable=SC2016
  bash -c 'echo "#$$" >"$1/mine.py" && exec "$2" check vector/saxpy "$1/mine.py" --device sim "${@:3}"' \
    - "$top" "$perigee" "$@" 2>&1
  echo "status $?"
}
held() { # NAME: 1 when runners here get this restriction
  "$perigee" doctor | grep -q "^ok *sandbox.*[ ,]$1\(,\|\$\)" && echo 1 || echo 0
}

if [[ $(held landlock)$(held seccomp) == 11 ]]; then
  check "a toolchain that is not in its place does not run" "$(log_of)" "*mine.py: environment*there is no program*status 3"
  # It tells its own place, as Python tells its folders.
  sed -i "s/printf '3.0.0.n'/printf '3.0.0\\\\n%s\\\\n' \"\$0\"/" "$top/python"
  log=$(log_of)
  check "a compiler that fails is a compile error" "$log" "*mine.py: compile_error*status 1"
  for name in own-file program; do check "it may use: $name" "$log" "*$name done*"; done
  for name in secret password write tmp home kill judge judge-memory pin renice reschedule ionice session namespace \
    network environment; do
    check "it may not reach: $name" "$log" "*$name denied*"
  done
  check "and nothing was written" "$(ls "$top")" $'mine.py\npython\nsecret'
else
  echo "ok 1 # SKIP this kernel cannot confine a compiler"
  number=1
fi

export PERIGEE_SANDBOX=off
check "what cannot be confined is not run" "$(log_of)" "*mine.py: environment*cannot confine it*--trust*status 3"
log=$(log_of --trust)
check "but with --trust" "$log" "*mine.py: compile_error*status 1"
for name in judge pin renice; do check "and there it could: $name" "$log" "*$name done*"; done
unset PERIGEE_SANDBOX

# ---- files that a compiler is asked to include ----

cat >"$top/includes.rs" <<END
#![no_std]
static TEXT: &str = include_str!("$top/secret");
const _: () = panic!("{}", TEXT);
END
log=$(env -u PERIGEE_CACHE "$perigee" check vector/saxpy "$top/includes.rs" --device sim 2>&1)
if [[ $log == *"environment"*rustc* ]]; then
  echo "# no rustc here"
elif [[ $(held landlock) == 1 ]]; then
  check "Rust's include_str! is an error" "$log" "*compile_error*"
  check "that tells nothing" "$(grep -c "answer is" <<<"$log")" 0
fi
if .ci/deps --where nvrtc >/dev/null && [[ $(held landlock) == 1 ]]; then
  printf '#include "%s"\nextern "C" __global__ void saxpy() {}\n' "$top/secret" >"$top/includes.cu"
  check "a header in the candidate's folder is its own" \
    "$("$perigee" check vector/saxpy "$top/includes.cu" --device sim 2>&1)" "*answer is 42*"
  mkdir "$top/deeper" && mv "$top/includes.cu" "$top/deeper"
  log=$("$perigee" check vector/saxpy "$top/deeper/includes.cu" --device sim 2>&1)
  check "one elsewhere is an error" "$log" "*compile_error*cannot open source file*"
  check "that tells nothing" "$(grep -c "answer is" <<<"$log")" 0
fi

# A task's own implementations may share headers below the folder that holds tasks/; a candidate reads its folder.
if .ci/deps --where nvrtc >/dev/null; then
  mkdir -p "$top/lab/"{tasks,kernels,common}
  echo '#define TWICE 2' >"$top/lab/common/b.cuh"
  sed 's/^extern/#include "..\/common\/b.cuh"\nextern/' tests/candidates/saxpy/right.cu >"$top/lab/kernels/a.cu"
  sed 's#kernels/vector/saxpy.cu#kernels/a.cu#; s#"vector/saxpy"#"lab/saxpy"#' tasks/vector/saxpy.lua >"$top/lab/tasks/saxpy.lua"
  check "an implementation includes what lies beside its folder" \
    "$("$perigee" run "$top/lab/tasks/saxpy.lua" --impl naive --device sim 2>&1)" "*naive *passed*"
  [[ $(held landlock) == 0 ]] || check "a candidate does not" \
    "$("$perigee" check vector/saxpy "$top/lab/kernels/a.cu" --device sim 2>&1)" "*compile_error*cannot open source file*"
fi

# ---- what the record says ----

record=$("$perigee" run vector/saxpy --impl naive --device sim --json 2>/dev/null)
for name in landlock seccomp no-capabilities; do
  check "the record of a run says $name of the runner" \
    "$(grep -c "\"sandbox\":\[[^]]*\"$name\"" <<<"$record")" "$(held $name)"
done
if .ci/deps --where nvrtc >/dev/null; then
  check "and of the compiler" "$(grep -c '"compiler_sandbox":\[[^]]*"landlock"' <<<"$record")" "$(held landlock)"
fi
finish
