#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A program under valgrind, with its children: a read of memory that nobody wrote, or that
# is not ours, and memory that nobody can give back any more fail it.  No suppressions.
#
#   tests/valgrind.sh PROGRAM [ARGUMENT]...
cd "$(dirname "$0")/.." || exit 2
exec valgrind -q --trace-children=yes --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite \
	--show-leak-kinds=definite "$@"
