# Capacity reserved for pods of other schedulers (EVENT_CLAIM, the scheduler extender): all
# schedulers share one account of each node.

story reserve_capacity
# Reserved capacity is closed to gangs; the pod's own binding replaces the reservation.
node n1 n2 cpu=4 memory=8
pod theirs cpu=3 foreign
assume theirs n1 n2 keep_ms=60000
	assume theirs n1
gang g quorum=2
pods 2 g gang=g cpu=4
	placed g*=0
# It is bound to that node, which changes nothing.
pod theirs cpu=3 foreign node=n1
tick 120000
	placed g*=0
drop pod theirs
	placed g*=2

story get_nothing_that_is_reserved
# kube-scheduler doesn't see muster's reservations and takes n1 for empty.
node n1 cpu=4 memory=8
node n2 cpu=1 memory=8
gang g quorum=2
pods 2 g gang=g cpu=2
plan
skip
pod theirs cpu=2 foreign
assume theirs n1 keep_ms=60000
	assume theirs nowhere, 2 short of cpu
confirm g*
assume theirs n1 keep_ms=60000
	assume theirs nowhere, 2 short of cpu
	gang g placed 2/2 of 2

story expire
# After keep_ms, whatever else changes of the pod.
node n1 cpu=4 memory=8
pod theirs cpu=4 foreign
assume theirs n1 keep_ms=5000
	assume theirs n1
pod ours cpu=4
	why ours: room 0 of 1, 1 short of cpu, cpu 0 of 4000
pod theirs cpu=4 foreign priority=3
tick 4000
	on ours=-
tick 2000
	on ours=n1

story end_with_the_pod_and_move_with_it
# A second assume request replaces the first; the other scheduler may bind the pod elsewhere.
node n1 n2 cpu=4 memory=8
pod a b cpu=4 foreign
assume a n1 n2 keep_ms=60000
assume b n1 n2 keep_ms=60000
	assume a n1
	assume b n2
assume a n1 keep_ms=60000
	assume a n1
drop pod b
pod a cpu=4 foreign node=n2
pod ours cpu=4
	on ours=n1

story survive_a_new_frontend
# For at most 30 s.
node n1 cpu=4 memory=8
pod theirs cpu=4 foreign
assume theirs n1 keep_ms=60000
plan
skip
begin
node n1 cpu=4 memory=8
pod theirs cpu=4 foreign
pod ours cpu=4
	on ours=-
tick 31000
	on ours=n1

story get_nothing_of_a_backfill_reservation
node n1 cpu=4 memory=8
pod runs cpu=1 node=n1
gang big quorum=4
pods 4 big gang=big cpu=1
plan
tick 65000
	ledger holds=1
skip
pod theirs cpu=1 foreign
assume theirs n1 keep_ms=60000
	assume theirs nowhere

story wait_for_space_in_the_command_ring
node n1 cpu=4 memory=8
pod theirs cpu=4 foreign
synced
ring 0
assume theirs n1 keep_ms=60000
	nothing
ring any
	assume theirs n1

story expire_in_any_order
# A later request may expire first.
node n1 cpu=4 memory=8
pod long short cpu=2 foreign
assume long n1 keep_ms=60000
assume short n1 keep_ms=5000
pod ours cpu=2
	on ours=-
tick 5000
	on ours=n1
pod next cpu=2
tick 54000
	on next=-
tick 1000
	on next=n1

story of_the_journal_have_the_time_that_it_names
# Both processes died after the other scheduler had its answer.
begin
node n1 cpu=4 memory=8
pod theirs cpu=4 foreign node=n1 intended keep_ms=60000
pod ours cpu=4
	why ours: room 0 of 1, 1 short of cpu, cpu 0 of 4000
tick 59000
	on ours=-
tick 2000
	on ours=n1
