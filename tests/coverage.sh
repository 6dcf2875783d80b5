#!/bin/bash
# Lines and branches that tests reach, counted by gcov: unit tests, the simulator and some
# process tests, built with SAN=coverage.
#
#   tests/coverage.sh [--report]      --report: what the last run counted, again
#
# A branch of an assertion that can't fail is none.  A daemon that is killed counts nothing,
# and neither does one whose seccomp filter forbids it to open files at its end, muster-core.
# Goals: core 95 % of lines and 85 % of branches, frontend 90 % of lines.  Exit 1 when a
# test failed or a goal is missed.
set -u
cd "$(dirname "$0")/.." || exit 2
build="build-coverage"
seeds=300
processes='life gangs metrics extender fsck lease logs status latency checkers dialects rules policy
	gang_lives limits offline verdicts config bad_input watch ctl interlock'

commands() {
	for program in "$build"/unit/test_*; do
		[ -x "$program" ] && [ -f "tests/unit/${program##*/}.c" ] && echo "$program"
	done
	echo "$build/bin/muster-sim --seeds $seeds"
	for name in $processes; do
		[ -f "tests/process/test_$name.py" ] && echo "python3 tests/process/test_$name.py"
	done
}

if [ "${1:-}" != --report ]; then
	find $build/obj -name '*.gcda' -delete
	commands | MUSTER_BUILD=$build tests/run.sh build/test-logs-coverage || failed=1
fi
gcovr --root . --object-directory $build/obj --filter 'core/' --filter 'ipc/' --filter 'frontend/' --filter 'ctl/' \
	--exclude-branches-by-pattern '\s*(static_)?assert\(.*' --gcov-ignore-parse-errors \
	--json-summary-pretty --output $build/coverage.json $build/obj > $build/gcovr.log 2>&1 || {
	tail -n 20 $build/gcovr.log
	exit 1
}
python3 tests/coverage.py $build/coverage.json || failed=1
[ -z "${failed:-}" ]
