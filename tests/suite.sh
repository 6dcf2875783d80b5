#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The commands that `make test` runs, one a line, for tests/run.sh.
#
#   tests/suite.sh [unit|stress|process]...     all by default
cd "$(dirname "$0")/.." || exit 2
[ $# -gt 0 ] || set -- unit stress process

for part in "$@"; do
	case $part in
	unit)
		echo 'tests/layers.sh'
		echo 'tests/scripts.sh'
		echo 'tests/tidy.sh'
		echo 'tests/mutate.py --check'
		for source in tests/unit/*/test_*.c tests/unit/*/*/test_*.c tests/unit/*/*/*/test_*.c; do
			source=${source#tests/}
			echo "build-address/${source%.c}"
		done
		# The simulator: its seeds are its tests.
		echo 'build/bin/muster-sim --seeds 1000'
		# Alone: they may have to build, as the ones before.
		echo '!tests/counts.sh'
		echo '!tests/docs.sh'
		;;
	stress)
		# Alone: an order is weakened here and must be seen to fail.
		echo '!make --no-print-directory test-stress'
		;;
	process)
		echo '!python3 tests/scenarios/run.py'
		# Alone: those that use all CPUs, count system calls or tell how long something took.
		# The others mostly wait, so more than there are CPUs run at a time; the longest begin.
		alone='bench demo limits scale simulate_live syscalls'
		first='kill packages preempting port reports page extender'
		echo '@3'
		echo 'python3 tests/faults/run.py --quick'
		for name in $first; do
			echo "python3 tests/process/test_$name.py"
		done
		for script in tests/process/test_*.py; do
			name=$(basename "$script" .py)
			case " $first $alone " in
			*" ${name#test_} "*) ;;
			*) echo "python3 $script" ;;
			esac
		done
		for name in $alone; do
			echo "!python3 tests/process/test_$name.py"
		done
		;;
	*)
		echo "tests/suite.sh: no part named $part" >&2
		exit 2
		;;
	esac
done
