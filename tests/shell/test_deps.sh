#!/bin/bash
# .ci/deps: quiet and quick when all is there; otherwise exactly what is missing, installed or named.
# shellcheck disable=SC2016  # the bodies of fakes expand when they run
. tests/shell/tap.sh
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
for tool in bash env dirname mktemp tail grep cat rm; do ln -s "$(command -v $tool)" "$bin/$tool"; done

deps() { # ARGUMENT...: on a machine that has the tools in $bin only
  PATH=$bin CC=gcc .ci/deps "$@" 2>&1 </dev/null
  echo "status $?"
}
fake() { # TOOL BODY
  printf '#!/bin/bash\n%s\n' "$2" >"$bin/$1"
  chmod +x "$bin/$1"
}

check "says nothing when nothing is missing" "$(.ci/deps build test 2>&1; echo "status $?")" "status 0"
check "and takes under 100 ms" "$(takes_less 100000 .ci/deps build test)" yes

check "without apt: names the packages" "$(deps build)" \
  "deps: missing: gcc make (Debian's names), and there is no apt-get here.*status 3"
check "--check: names the packages and the target" "$(deps --check build)" "*missing: gcc make*make deps*status 3"
check "an unknown group is refused" "$(deps nonsense)" "*unknown group 'nonsense'*status 3"
check "a compiler by path that is not there" "$(CC=/nowhere/gcc .ci/deps build 2>&1; echo "status $?")" \
  "*CC names /nowhere/gcc*status 3"
check "a compiler that no package brings under that name" "$(CC='ccache nocc -m64' .ci/deps --check build 2>&1)" \
  "*missing: nocc *"

# An apt-get without lists: installs only after an update, and then brings gcc and make.
fake sudo 'while [[ $1 == -* ]]; do shift; done; exec "$@"'
fake apt-get 'echo "$*" >>"'"$bin"'/calls"
case "$*" in
  *update*) : >"'"$bin"'/updated" ;;
  *install*) [[ -e "'"$bin"'/updated" ]] || exit 100
             for tool in gcc make; do printf "#!/bin/bash\n" >"'"$bin"'/$tool"; /bin/chmod +x "'"$bin"'/$tool"; done ;;
esac'
check "installs what is missing, with one update" "$(deps build)" "deps: installing gcc make*status 0"
check "and asked apt for just that" "$(tail -n 1 "$bin/calls")" "* install -y --no-install-recommends gcc make"
check "in three calls" "$(grep -c . "$bin/calls")" 3
check "then asks no more" "$(deps build)" "status 0"

rm "$bin/gcc"
fake apt-get 'exit 0'
check "an installation that brought nothing is an error" "$(deps build)" "*installed, but still not found: gcc*status 3"
fake apt-get 'echo "E: no network"; exit 100'
check "one that failed shows why" "$(deps build)" "*E: no network*could not install: gcc*status 3"
finish
