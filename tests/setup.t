#!/bin/bash
# tools/setup: what it says without root, what it runs with root, and that it is silent and quick afterwards. Packages
# are not really installed here: apt-get, pkg-config, id and python3 are stand-ins in a PATH of their own.
. "$(dirname "$0")/lib.sh"
t_dir

mkdir -p project/tools path
cp "$D2K_ROOT/tools/setup" project/tools/
for tool in bash sh env cat cut dirname flock gcc as ld ln make mkdir prlimit rm sha256sum touch; do
	file=$(PATH=/usr/bin:/bin command -v $tool) && ln -s "$file" path/
done
stand_in() { # NAME, and the program on stdin
	{ echo '#!/bin/bash' && cat; } >"path/$1"
	chmod +x "path/$1"
}
export SCRATCH=$PWD
stand_in id <<<'echo "${FAKE_UID-0}"'
stand_in pkg-config <<<'exit 0'
stand_in bwrap <<<'exit 0'
# making an environment puts this program into it; all calls are written down
stand_in python3 <<'END'
echo "python3 $*" >>"$SCRATCH/calls"
if [ "$1 $2" = "-m venv" ]; then
	mkdir -p "$3/bin"
	ln -s "$SCRATCH/path/python3" "$3/bin/"
fi
END
# installing a package makes a program of its name, where this test wants one
stand_in apt-get <<'END'
echo "apt-get $*" >>"$SCRATCH/calls"
for package; do
	case $package in jq | parallel) ln -s "$SCRATCH/path/bwrap" "$SCRATCH/path/$package" ;; esac
done
END
# shellcheck disable=SC2317 # called through run
setup() { PATH=$PWD/path project/tools/setup "$@"; }

FAKE_UID=1000 run setup
exits 1 "not root: it stops"
line="apt-get install -qq --no-install-recommends parallel jq"
is "$(<err)" "setup: run this first: sudo $line" "and prints the one line to run"
ok test ! -e project/.venv -- "nothing is made"

mv path/apt-get apt-get
run setup
exits 1 "no apt-get: it stops"
is "$(<err)" "setup: missing (by their Debian names): parallel jq" "and says what is missing"
mv apt-get path/

: >calls
run setup
exits 0 "root"
is "$(grep '^apt-get' calls)" "apt-get update -qq"$'\n'"$line" "only what is missing is installed"
like "$(<calls)" 'triton==3\.9\.0 .*nvidia-cuda-nvrtc==13\.0\.88' "and the pinned wheels"
is "$(<out)" "" "nothing on standard output"

: >calls
run setup
exits 0 "again"
is "$(cat out err calls)" "" "nothing is said, asked or done"
run setup --tests
exits 1 "the tests need more"
like "$(<err)" "still missing: .*shellcheck" "which the stand-in does not install"
echo '# another pin' >>project/tools/setup
: >calls
run setup
exits 0 "setup has changed"
like "$(<calls)" 'pip install' "so it looks again"
run setup --nonsense
exits 2 "an unknown argument"
run "$D2K_ROOT/tools/setup" --help
like "$(head -n 1 out)" '^example: ' "--help begins with an example"
t_done
