#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Commands for tests/run.sh, one a line: by default those of `make test`, which is to take less than 7
# minutes of two CPUs.  What takes longer, and rarely finds what the others don't, is `long`.
#
#   tests/suite.sh [unit|stress|process|long]...     the first three by default
cd "$(dirname "$0")/.." || exit 2
[ $# -gt 0 ] || set -- unit stress process
# Process tests: those that use all CPUs, count system calls or tell how long something took run
# alone.  The others mostly wait, so more than there are CPUs run at a time; the longest begin.
alone='bench demo limits scale simulate_live syscalls'
first='kill preempting volumes queues_live'
long='packages memory port reports queue_churn page extender claims_live claims_several journal explain stall tenant_limits preemption promises monitoring bench scale syscalls'

is_one_of() { # NAME LIST
	case " $2 " in *" $1 "*) ;; *) return 1 ;; esac
}
test_of() { echo "python3 tests/process/test_$1.py"; }

for part in "$@"; do
	case $part in
	unit)
		echo 'tests/layers.sh'
		echo 'tests/scripts.sh'
		echo 'tests/tidy.sh'
		echo 'tests/mutate.py --check'
		# The simulator: its seeds are its tests, and `make campaign` plays the others.  The longest begin.
		echo 'build/bin/muster-sim --seeds 400'
		echo 'build-address/unit/core/test_stories'
		for source in tests/unit/*/test_*.c tests/unit/*/*/test_*.c tests/unit/*/*/*/test_*.c; do
			source=${source#tests/}
			[ "$source" = unit/core/test_stories.c ] || echo "build-address/${source%.c}"
		done
		# Alone: they may have to build, as the ones before.
		echo '!tests/counts.sh'
		echo '!tests/docs.sh'
		;;
	stress)
		# Alone: they race.
		echo '!make --no-print-directory test-stress FEW=1'
		;;
	process)
		echo '!python3 tests/scenarios/run.py'
		echo '@4'
		echo 'python3 tests/faults/run.py --quick'
		for name in $first; do
			test_of "$name"
		done
		for script in tests/process/test_*.py; do
			name=$(basename "$script" .py)
			is_one_of "${name#test_}" "$first $alone $long" || echo "python3 $script"
		done
		for name in $alone; do
			is_one_of "$name" "$long" || echo "!$(test_of "$name")"
		done
		;;
	long)
		# Alone: an order is weakened here and must be seen to fail.
		echo '!make --no-print-directory test-stress'
		echo '@4'
		for name in $long; do
			is_one_of "$name" "$alone" || test_of "$name"
		done
		for name in $alone; do
			is_one_of "$name" "$long" && echo "!$(test_of "$name")"
		done
		;;
	*)
		echo "tests/suite.sh: no part named $part" >&2
		exit 2
		;;
	esac
done
