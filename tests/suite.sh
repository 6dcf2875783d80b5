#!/bin/sh
# The commands that `make test` runs, one a line, for tests/run.sh.
#
#   tests/suite.sh [unit|stress|process]...     all by default
cd "$(dirname "$0")/.." || exit 2
[ $# -gt 0 ] || set -- unit stress process

for part in "$@"; do
	case $part in
	unit)
		echo 'tests/layers.sh'
		for source in tests/unit/test_*.c; do
			name=$(basename "$source" .c)
			echo "build-address/unit/$name"
		done
		# Lets allocations fail, which a sanitizer's own allocator doesn't.
		for name in test_core_memory test_model_memory test_volume_memory; do
			echo "make --no-print-directory build/unit/$name > /dev/null && build/unit/$name"
		done
		# Alone: they may have to build, as the ones before.
		echo '!tests/counts.sh'
		echo '!tests/docs.sh'
		;;
	stress)
		# Alone: an order is weakened here and must be seen to fail.
		echo '!make --no-print-directory test-stress'
		;;
	process)
		for script in tests/process/test_*.py; do
			[ -e "$script" ] && echo "!python3 $script"
		done
		;;
	*)
		echo "tests/suite.sh: no part named $part" >&2
		exit 2
		;;
	esac
done
