#!/bin/bash
# `make install` into another root: the tools work from there, through their links, with nothing of this tree.
# shellcheck disable=SC2317 # functions are called through ok
. "$(dirname "$0")/lib.sh"
t_dir
needs_sandbox

san=()
[[ $D2K_BUILD != *-san ]] || san=(SAN=1)
run make -s -C "$D2K_ROOT" BIN="$D2K_BIN" BUILD="$D2K_BUILD" DESTDIR="$PWD/root" PREFIX=/opt install "${san[@]}"
exits 0 "make install"
export D2K_PYTHON=${D2K_PYTHON:-$D2K_ROOT/.venv/bin/python3} PATH=$PWD/root/opt/bin:$PATH
unset D2K_ROOT
run d2k-prompt --task swiglu-dual-fp8-quant --arm without
exits 0 "d2k-prompt finds the tasks"
installed=$PWD/root/opt/lib/d2k
run d2k-build --tier smoke --task swiglu-dual-fp8-quant --source "$installed/tasks/swiglu-dual-fp8-quant/baseline.py"
is "$(jq -r .build.status out)" ok "d2k-build builds"
mv out built.jsonl
run d2k-time --device cpu built.jsonl
is "$(jq -r .time.status out)" correct "d2k-time checks"
for tool in prompt agent build time judge score; do
	ok grep -q "^.SH OPTIONS" "root/opt/share/man/man1/d2k-$tool.1" -- "the man page of d2k-$tool"
done
run "$installed/pipelines/paired" --help
exits 0 "the pipelines are there"
t_done
