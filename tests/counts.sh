#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Counts instructions on the hot paths and compares them with bench/counts.txt: more than
# 10 % above is a failure.  Instructions don't depend on what else the machine does.
#
#   tests/counts.sh [--renew]      --renew writes the file anew
#
# The numbers belong to one compiler and to AVX2; with others nothing is compared.
set -u
cd "$(dirname "$0")/.." || exit 2
baseline=bench/counts.txt
margin=10

skip() {
	echo "skipped: instruction counts: $*"
	echo '0 passed, 0 failed, 1 skipped'
	exit 0
}

command -v valgrind > /dev/null || skip 'valgrind is not there'
[ "$(uname -m)" = x86_64 ] || skip 'the numbers are of x86_64'
grep -q -w avx2 /proc/cpuinfo || skip 'the numbers are of a CPU with AVX2'
compiler=$(gcc -dumpfullversion 2> /dev/null) || skip 'the numbers are of gcc'
if [ "${1-}" != --renew ]; then
	was=$(sed -n 's/^# gcc //p' "$baseline")
	[ "$compiler" = "$was" ] || skip "the numbers are of gcc $was, this is $compiler"
fi
make --no-print-directory build/bin/muster-count > /dev/null || exit 1

out=$(mktemp -d) || exit 2
trap 'rm -rf "$out"' EXIT
# Those of the bench alone: another function may have such a name.
names=$(nm build/bin/muster-count | sed -n 's/.* t \(counted_[a-z_]*\)$/\1/p' |
	while read -r name; do grep -q "\<$name\>" bench/main_count.c && echo "$name"; done)
# shellcheck disable=SC2086,SC2046 # lists of words
if ! valgrind --tool=callgrind --callgrind-out-file="$out/part" \
	--dump-after=count_anew $(printf -- "--dump-after=%s " $names) \
	build/bin/muster-count bench/data/pod.json > "$out/log" 2>&1; then
	cat "$out/log"
	exit 1
fi
# One part for each function that was left.
for part in "$out"/part.*; do
	name=$(sed -n 's/^desc: Trigger: --dump-after=counted_//p' "$part")
	[ -n "$name" ] && echo "$name $(sed -n 's/^totals: //p' "$part")"
done | sort > "$out/counts"
[ -s "$out/counts" ] || { echo 'counts.sh: nothing was counted'; exit 1; }

if [ "${1-}" = --renew ]; then
	{
		# shellcheck disable=SC2016 # Markdown's ticks
		echo '# Instructions of bench/main_count.c, written by `make counts-baseline`.'
		echo "# gcc $compiler"
		cat "$out/counts"
	} > "$baseline"
	cat "$baseline"
	exit 0
fi
awk -v margin="$margin" '
	NR == FNR { if ($1 != "#") was[$1] = $2; next }
	{
		if (!($1 in was)) { printf "%-14s %12d  has no number in the file\n", $1, $2; failed++; next }
		seen[$1] = 1
		percent = ($2 - was[$1]) * 100 / was[$1]
		word = percent > margin ? "FAIL: more than the margin" : percent < -margin ? "less: renew the file" : "ok"
		printf "%-14s %12d instructions, was %12d, %+6.1f %% (margin %d %%)  %s\n", $1, $2, was[$1], percent, margin, word
		if (percent > margin) failed++
		else passed++
	}
	END {
		for (name in was)
			if (!(name in seen)) { printf "%s was not counted\n", name; failed++ }
		printf "%d passed, %d failed\n", passed, failed
		exit failed > 0
	}' "$baseline" "$out/counts"
