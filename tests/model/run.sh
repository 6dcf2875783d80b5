#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Proves the models with spin: every interleaving, and how many states that were.
# A model is to be believed only when its weakened variants fail, so they are run too.
#
#   tests/model/run.sh [MODEL [FLAGS...]]     all, or whether this one is proved
set -u
cd "$(dirname "$0")" || exit 2
if ! command -v spin > /dev/null; then
	echo "skipped: models need spin"
	echo "0 passed, 0 failed, 1 skipped"
	exit 0
fi
models=$PWD
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2

# Sets states and errors; errors is empty when nothing was searched to the end.
search() { # MODEL FLAGS...
	local model=$1
	shift
	states='' errors=''
	spin "$@" -a "$models/$model.pml" > spin.log 2>&1 || return
	${CC:-cc} -O1 -w -DSAFETY -DMEMLIM=1024 -o pan pan.c >> spin.log 2>&1 || return
	./pan -m1000000 > pan.log 2>&1
	grep -q 'max search depth too small\|out of memory\|pan: reached' pan.log && return
	errors=$(sed -n 's/.*errors: \([0-9]*\).*/\1/p' pan.log)
	states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' pan.log)
}

expect() { # proved|refuted MODEL FLAGS...
	local want=$1 model=$2
	shift
	mkdir "$work/$*" && cd "$work/$*" || return 1
	search "$@"
	shift
	if { [ "$want" = proved ] && [ "$errors" = 0 ]; } || { [ "$want" = refuted ] && [ "${errors:-0}" -gt 0 ]; }; then
		echo "ok   $model${*:+ $*}: $want, $states states"
	else
		echo "FAIL $model${*:+ $*}: not $want, errors: ${errors:-none told}"
		tail -n 15 spin.log pan.log 2>/dev/null | sed 's/^/     | /'
		return 1
	fi
}

if [ $# -gt 0 ]; then
	expect proved "$@"
	exit
fi
# Each in a shell of its own, as many at a time as there are CPUs.
passed=0 failed=0 running=0
collect() {
	if wait -n; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
	running=$((running - 1))
}
while read -ra one; do
	[ "$running" -lt "$(nproc)" ] || collect
	expect "${one[@]}" &
	running=$((running + 1))
done << END
proved wake
refuted wake -DNO_F1
refuted wake -DNO_F2
refuted wake -DNO_RECHECK
refuted wake -DDOORBELL_FIRST
proved ring
proved ring -DCELLS=5
refuted ring -DNO_R1
refuted ring -DNO_R2
refuted ring -DNO_PUBLISH_BEFORE_WAIT
proved lease
refuted lease -DUNTIL_FROM_ANSWER
refuted lease -DRENEW=4
refuted lease -DTRUST_FIRST_SIGHT
refuted lease -DNO_VERSION
proved fence
refuted fence -DNO_FENCE
refuted fence -DNO_LOOK
refuted fence -DOLD_LOOK
refuted fence -DNO_VERSION
END
while [ "$running" -gt 0 ]; do collect; done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
