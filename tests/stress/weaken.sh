#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A stress program is to be believed only after it failed: this takes one memory
# order or fence after the other away and asserts that its program then fails.
#
#   tests/stress/weaken.sh        each variant in a folder build-*weak-*
#
# Orders are for ThreadSanitizer to miss, which needs no luck.  A missing full fence
# is none of its business; there the CPU itself has to reorder, and does, within
# some thousand rounds on two CPUs (tried again a few times on a busy machine).
set -u
cd "$(dirname "$0")/../.." || exit 2
export TSAN_OPTIONS=halt_on_error=1
passed=0
failed=0
log=$(mktemp) || exit 2
trap 'rm -f "$log"' EXIT

# The programs here need these files: the other libraries stay empty.
FILES='ipc/ring.c ipc/wake.c ipc/segment.c ipc/abi.c core/daemon/recorder.c core/daemon/policy.c ipc/logline.c ipc/clean.c ipc/memory.c core/world/snapshots.c'
build() { # FOLDER SAN PROGRAM FLAGS
	make --no-print-directory -j2 B="$1" SAN="$2" LIB_core= \
		lib_src="$FILES" CFLAGS="$4" \
		"$1/stress/$3" > "$log" 2>&1
}

result() { # OK? TEXT
	if [ "$1" = yes ]; then
		passed=$((passed + 1))
		echo "ok   $2"
	else
		failed=$((failed + 1))
		echo "FAIL $2"
		tail -n 20 "$log" | sed 's/^/     | /'
	fi
}

# The message of the failure counts as well: a crash or a bad build is none.
expect_failure() { # LABEL SAN PROGRAM TRIES PATTERN [ARGUMENT]...
	local label=$1 san=$2 program=$3 tries=$4 pattern=$5 folder
	shift 5
	folder=build${san:+-$san}-weak-$(echo "$label" | tr '[:upper:]' '[:lower:]')
	if ! build "$folder" "$san" "$program" "-DMUSTER_WEAKEN_$label"; then
		result no "$program without $label does not build"
		return
	fi
	for ((i = 1; i <= tries; i++)); do
		if ! timeout 240 "$folder/stress/$program" "$@" > "$log" 2>&1 && grep -q "$pattern" "$log"; then
			result yes "$program fails without $label"
			return
		fi
	done
	result no "$program did not notice that $label is missing"
}

expect_success() { # PROGRAM [ARGUMENT]...
	local program=$1
	shift
	# Two threads that spin for each other on one CPU are a hundred times slower.
	if build build-weak-none "" "$program" "" && timeout 240 "build-weak-none/stress/$program" "$@" > "$log" 2>&1; then
		result yes "$program passes with every order in place"
	else
		result no "$program fails with every order in place"
	fi
}

for label in R1 A1 R2 A2; do
	expect_failure "$label" thread stress_ring 3 'ThreadSanitizer: data race'
done
for label in R3 A3; do
	expect_failure "$label" thread stress_wake 3 'ThreadSanitizer: data race' 0 0 5000
done
for label in RECORDER_R1 RECORDER_R2; do
	expect_failure "$label" thread stress_recorder 3 'ThreadSanitizer: data race'
done
for label in RCU_GRACE RCU_DEREFERENCE RCU_ASSIGN; do
	expect_failure "$label" thread stress_snapshots 3 'ThreadSanitizer: \(data race\|heap-use-after-free\)'
done
if [ "$(nproc)" -ge 2 ]; then
	for label in F1 F2; do
		expect_failure "$label" "" stress_wake 5 'a wake was lost' 2000000 0 0
	done
else
	echo "skipped: F1 and F2 need two CPUs"
fi
expect_success stress_wake 300000 500 500
expect_success stress_ring

if [ "$(nproc)" -ge 2 ]; then
	echo "$passed passed, $failed failed"
else
	echo "$passed passed, $failed failed, 2 skipped"
fi
[ "$failed" -eq 0 ]
