#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs test commands and adds up what they say.
#
#   tests/run.sh LOGDIR < commands        one shell command a line
#
# A command says how many tests it ran by a Criterion synthesis line or by a
# line "N passed, M failed[, K skipped]"; one that says nothing counts as one
# test.  A command that fails without a failed test counts one failure, and so
# does a test of Criterion that leaks or dies in its teardown: Criterion lets
# both pass.  Two run at a time; a line that starts with "!" runs alone, after
# those before it, and a line "@N" says that N of those behind it run at a time.
# Prints a line for each and closes on the sum; exit 1 when anything failed.
set -u
logdir=${1:?usage: tests/run.sh LOGDIR < commands}
timeout_s=${MUSTER_TEST_TIMEOUT_S:-300}
jobs=${MUSTER_TEST_JOBS:-2}
mkdir -p "$logdir"
rm -f "$logdir"/*.log "$logdir"/*.sum

run_one() { # LOGDIR COMMAND
	local name log rc start end counts
	name=$(printf '%s' "$2" | sed 's/^[A-Z_]*=[^ ]* //; s/[^A-Za-z0-9_.-][^A-Za-z0-9_.-]*/_/g' | tail -c 60)
	log=$1/$name.log
	start=$(date +%s%N)
	timeout -k 10 "$timeout_s" bash -c "$2" > "$log" 2>&1 < /dev/null
	rc=$?
	end=$(date +%s%N)
	counts=$(sed 's/\x1b\[[0-9;]*m//g' "$log" | awk -v rc="$rc" '
		/Synthesis: Tested: / {
			gsub(/[|:]/, " ")
			for (i = 1; i < NF; i++) {
				if ($i == "Passing") p += $(i + 1)
				if ($i == "Failing" || $i == "Crashing") f += $(i + 1)
			}
			seen = 1
		}
		/^\[----\] Warning! The test .* exited during its setup or teardown/ { ends++ }
		/ERROR: LeakSanitizer: detected memory leaks/ { ends++ }
		/^([A-Za-z0-9_-]+: )?[0-9]+ passed, [0-9]+ failed(, [0-9]+ skipped)?$/ {
			sub(/^[A-Za-z0-9_-]+: /, ""); lp = $1; lf = $3; ls = $5; line = 1
		}
		END {
			if (line) { p += lp; f += lf; s += ls; seen = 1 }
			p -= ends; f += ends # Criterion lets them pass
			if (!seen) { p = rc == 0; f = rc != 0 }
			else if (rc != 0 && !f) f = 1
			print p + 0, f + 0, s + 0
		}')
	echo "$counts" > "$1/$name.sum"
	# shellcheck disable=SC2086 # three numbers
	set -- $counts "$2"
	local took=$(((end - start) / 1000000))
	if [ "$2" -eq 0 ]; then
		printf 'ok    %4d passed  %6d ms  %s\n' "$1" "$took" "$4"
		grep -h '^skipped: ' "$log"
		[ -z "${MUSTER_TEST_FIGURES:-}" ] || grep -hE '^(figure: |seeds [0-9])' "$log"
	else
		printf 'FAIL  %4d failed  %6d ms  %s (exit %d)\n' "$2" "$took" "$4" "$rc"
		# Daemons under test say much that is no cause.
		grep -av 'level=info' "$log" | tail -n 40 | sed 's/^/      | /'
	fi
}

while IFS= read -r command; do
	[ -n "$command" ] || continue
	if [ "${command#@}" != "$command" ]; then
		jobs=${MUSTER_TEST_JOBS:-${command#@}}
		continue
	fi
	if [ "${command#!}" != "$command" ]; then
		wait
		run_one "$logdir" "${command#!}"
		continue
	fi
	while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done
	run_one "$logdir" "$command" &
done
wait

awk '{ p += $1; f += $2; s += $3 } END {
	if (s) printf "%d passed, %d failed, %d skipped\n", p, f, s
	else printf "%d passed, %d failed\n", p, f
	exit f > 0 || p == 0
}' "$logdir"/*.sum
