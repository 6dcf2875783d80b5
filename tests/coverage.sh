#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Lines and branches that tests reach, counted by gcov: unit tests, the simulator and some
# process tests, built with SAN=coverage.
#
#   tests/coverage.sh [--report]      --report: what the last run counted, again
#
# A branch of an assertion that can't fail is none.  A process that is killed counts nothing;
# such a build has no filter of system calls, so that both daemons count at their end.
# Goals, per cent of lines: core 95 and 85 of branches, frontend 90, ipc 90, ctl 85.  Exit 1 when
# a test failed or a goal is missed.
set -u
cd "$(dirname "$0")/.." || exit 2
build="build-coverage"
seeds=300

# Files of tests/process, and which of their tests when not all: those that reach lines which
# nothing else does, the longest first.
processes() {
	cat <<- END
		claims_live
		claims_several
		volumes
		promises
		queues_live
		gang_lives
		lease
		extender
		interlock
		status
		fsck
		life
		watch
		top
		monitoring test_alerts_fire
		gangs
		gangs_from_afar
		dialects
		explain test_numbers_and_what_ifs test_priority test_a_live_cluster test_bad_words test_a_live_scheduler_with_reservations test_gangs_that_stand_behind_all_others
		rules
		limits
		page test_the_page_says_what_musterctl_says test_without_a_core test_only_get test_the_page_and_its_policy
		config
		ctl
		completion
		examples
		bad_input
		policy
		offline
		latency
		verdicts
		what_if
		claims test_devices test_pods_of_one_claim_share_its_device test_members_of_a_gang_get_their_devices test_bad_input_names_object_field_and_value test_a_selector_that_is_not_known_refuses_the_pod
		devices
		gpu_shares
		queues
		preempt
		preemption
		preempting test_as_many_go_as_have_to test_no_pod_goes_in_vain test_a_higher_gang_takes_the_nomination_over test_budgets test_a_victim_that_does_not_go test_the_preemptor_is_deleted test_room_elsewhere test_without_the_right_it_explains
		nodes
		metrics
		replay test_killed_core_leaves_it_readable test_what_can_not_be_recorded_or_replayed
		logs
		checkers
	END
}

commands() {
	local name tests
	processes | while read -r name tests; do
		[ -f "tests/process/test_$name.py" ] || echo "echo no test_$name.py; false"
		echo "python3 tests/process/test_$name.py${tests:+ $tests}"
	done
	echo "$build/bin/muster-sim --seeds $seeds"
	for program in tests/unit/*/test_*.c tests/unit/*/*/test_*.c tests/unit/*/*/*/test_*.c; do
		program=${program#tests/}
		echo "$build/${program%.c}"
	done
}

if [ "${1:-}" != --report ]; then
	find $build/obj -name '*.gcda' -delete
	commands | MUSTER_BUILD=$build MUSTER_TEST_JOBS=${MUSTER_TEST_JOBS:-3} tests/run.sh build/test-logs-coverage || failed=1
fi
gcovr --root . --object-directory $build/obj --filter 'core/' --filter 'ipc/' --filter 'frontend/' --filter 'ctl/' \
	--exclude-branches-by-pattern '\s*(static_)?assert\(.*' --gcov-ignore-parse-errors \
	--json-summary-pretty --output $build/coverage.json $build/obj > $build/gcovr.log 2>&1 || {
	tail -n 20 $build/gcovr.log
	exit 1
}
python3 tests/coverage.py $build/coverage.json || failed=1
[ -z "${failed:-}" ]
