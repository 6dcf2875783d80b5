# Queues by records: they come, change and go while gangs wait and run.  Amounts of queues are cpu in milli; after each
# record core_valid() counts again what queues use.  "why g: queue BY at ID" has the number of enum queue_by.
scene tree
queue root id=0
queue a id=1 limit=4000
queue b id=2
node n1 cpu=8 memory=64

story a_limit_and_its_end
use tree
pods 5 p cpu=1 queue=1
plan
	bind p-0 n1
	bind p-1 n1
	bind p-2 n1
	bind p-3 n1
	why p-4: queue 1 at 1, cpu 0 of 1000
bound p-0
drop pod p-0
plan
	bind p-4 n1

story a_limit_is_lowered_and_raised
# QUE-11: what runs goes on.
use tree
pods 3 p cpu=1 queue=1
plan
	bind p-0 n1
	bind p-1 n1
	bind p-2 n1
queue a id=1 limit=1000
pod q cpu=1 queue=1
plan
	why q: queue 1 at 1, cpu 0 of 1000
queue a id=1 limit=4000
plan
	bind q n1

story a_queue_is_removed_and_made_again
# QUE-12: what waits has no queue, what runs counts at the root until the queue is there again.
use tree
queue a id=1 limit=1000
pods 2 p cpu=1 queue=1
plan
	bind p-0 n1
	why p-1: queue 1 at 1, cpu 0 of 1000
queue a id=1 gone
plan after 3000
	why p-1: queue 5 at -1
queue a id=1 limit=2000
plan
	bind p-1 n1

story a_parent_that_is_missing_parks_the_subtree
use tree
queue c id=3 parent=4
queue d id=5 parent=3
pod p cpu=1 queue=5
plan
	why p: queue 9 at 5
queue up id=4
plan
	bind p n1

story a_cycle_parks_both
use tree
queue c id=3 parent=4
queue d id=4 parent=3
pod p cpu=1 queue=4
plan
	why p: queue 9 at 4
queue c id=3
plan
	bind p n1

story without_the_root_queues_are_not_read
queue a id=1 limit=1000
node n1 cpu=8 memory=64
pods 2 p cpu=1 queue=1
plan
	bind p-0 n1
	bind p-1 n1

story a_pod_moves_to_another_queue
use tree
queue a id=1 limit=1000
pods 2 p cpu=1 queue=1
plan
	bind p-0 n1
	why p-1: queue 1 at 1, cpu 0 of 1000
pod p-0 cpu=1 queue=2 node=n1
plan
	bind p-1 n1

story members_that_are_not_alike_can_start_as_long_as_some_fit
# No node has room for s2, so the plan has the large one: the limit is told, not that the gang never starts.
use tree
queue a id=1 limit=3000
gang g quorum=2
pod big gang=g cpu=3 queue=1
pod s1 gang=g cpu=1 queue=1
pod s2 gang=g cpu=1 memory=99 queue=1
plan
	gang g waiting 0/2 of 3
	why g: queue 1 at 1, cpu 3000 of 4000

story of_unlike_members_those_start_that_the_queue_lets
use tree
queue a id=1 limit=3000
gang g quorum=2
pod big gang=g cpu=3 queue=1
pod s1 gang=g cpu=1 queue=1
pod s2 gang=g cpu=1 queue=1
plan
	bind s1 n1
	bind s2 n1
	gang g binding 2/2 of 3
	why g: room 0 of 1
	why g: queue 1 at 1, cpu 1000 of 3000

story a_member_starts_whose_room_the_plan_gave_to_one_that_the_queue_refuses
# Seed 1022023.  n1 has room for the large one alone, or for the small ones.
queue root id=0
queue a id=1 limit=2000
node n1 cpu=3 memory=64
gang g quorum=1
pod big gang=g cpu=3 queue=1
pod s1 gang=g cpu=1 queue=1
pod s2 gang=g cpu=1 queue=1
plan
	bind s1 n1
	gang g binding 1/1 of 3
	why g: room 0 of 1, 1 short of cpu
	bind s2 n1

# r runs until 100 s, when p is promised 60 of memory; the large member leaves it, the small one does not.
scene small_beside_promise promises
cluster hold_ms=0 promises=$promises grain_ms=1
queue root id=0
queue a id=1 limit=2000
queue b id=2
node n1 cpu=4 memory=64 gpu=1
pod r gpu=1 run=100 queue=2
plan
	bind r n1
pod p cpu=1 memory=60 gpu=1 run=50 queue=2
plan
	on p=-
gang g quorum=1
pod big gang=g cpu=3 queue=1
pod small gang=g cpu=2 memory=60 queue=1

story promises_judge_where_a_member_goes_whose_room_the_plan_gave_away
use small_beside_promise 64
plan
	on small=-

story without_promises_it_starts
use small_beside_promise 0
plan
	on small=n1

story a_fifo_queue_whose_first_gang_is_another_now
# b, which never fits, is the first; its priority is lowered, so c is.
queue root id=0
queue a id=1 fifo
node n1 cpu=4 memory=64
gang b quorum=8 priority=5
pods 8 b gang=b cpu=1 queue=1
pod c cpu=1 queue=1
plan
	placed c*=0
plan after 5000
	placed c*=0
gang b quorum=8 priority=-5
plan after 5000
	placed c*=1

# 10 nodes of 8, full of pods of b, which always has more that wait; a's gang asks for all of them.
scene full_of_b hold_ms promises
cluster hold_ms=$hold_ms promises=$promises grain_ms=1
queue root id=0
queue a id=1
queue b id=2
node n0 n1 n2 n3 n4 n5 n6 n7 n8 n9 cpu=8 memory=64

story que_18_a_gang_of_the_whole_cluster_holds
# Ends are not known.  Until it holds, what ends is b's again; then it is kept for the gang.
use full_of_b 60000 0
pods 10 r cpu=8 queue=2
plan
	placed r*=10
gang big quorum=10
pods 10 big gang=big cpu=8 queue=1 created=1000
pods 20 s cpu=8 queue=2 created=2000
plan
	placed big*=0 s*=0
drop pod r-0
plan
	placed big*=0 s*=1
ticks 40
	ledger held=1
drop pod r-1 r-2 r-3 r-4 r-5
tick 2000
drop pod r-6 r-7 r-8
tick 2000
	placed big*=0 s*=1
drop pod r-9 s-0
tick 2000
	placed big*=10 s*=0

story que_18_a_gang_of_the_whole_cluster_is_promised
# With known ends: who would be in its way does not start, also in what ends early.
use full_of_b 0 64
pods 10 r cpu=8 run=100 queue=2
plan
	placed r*=10
gang big quorum=10
pods 10 big gang=big cpu=8 run=50 queue=1 created=1000
pods 10 s cpu=8 run=100 queue=2 created=2000
pod x cpu=8 run=10 queue=2 created=3000
plan
	start big=100
	placed s*=0
tick 60000
drop pod r-0
plan
	start big=100
	placed big*=0 s*=0
	on x=n0
drop pod x
tick 40000
drop pod r-1 r-2 r-3 r-4 r-5 r-6 r-7 r-8 r-9
plan
	placed big*=10 s*=0

story a_promise_counts_in_the_order_of_queues
# a and b have half of the nodes each.  a1 is the oldest and is promised the first start; then a has more than b, and
# the second promise is b's, though a2 is older.
use full_of_b 0 2
pods 5 ra cpu=8 run=100 queue=1
pods 5 rb cpu=8 run=100 queue=2
plan
	placed ra*=5 rb*=5
gang a1 quorum=1
pods 1 a1 gang=a1 cpu=8 run=50 queue=1 created=1000
gang a2 quorum=1
pods 1 a2 gang=a2 cpu=8 run=50 queue=1 created=2000
gang b1 quorum=1
pods 1 b1 gang=b1 cpu=8 run=50 queue=2 created=3000
plan
	start a1=100 a2=- b1=100

story who_is_first_by_share_is_promised_the_start_after_one_that_was_due
# One promise at a time, which b1 got as the first that waited.  When it is due a has less than b.  b1 goes first all
# the same: the next promise is then given in the order of shares, to a1.
use full_of_b 0 1
pods 4 ra cpu=8 run=200 queue=1
pods 6 rb cpu=8 run=200 queue=2
plan
	placed ra*=4 rb*=6
gang b1 quorum=1
pods 1 b1 gang=b1 cpu=8 run=50 queue=2 created=1000
plan
	start b1=200
gang a1 quorum=1
pods 1 a1 gang=a1 cpu=8 run=50 queue=1 created=2000
gang b2 quorum=1
pods 1 b2 gang=b2 cpu=8 run=50 queue=2 created=3000
plan
	start b1=200 a1=- b2=-
drop pod rb-0
plan
	placed b1*=1
	start a1=50 b2=-

story que_19_without_history_age_decides
# a had all for an hour, and nothing runs: both have a share of 0.
use full_of_b 0 0
gang first quorum=10
pods 10 first gang=first cpu=8 queue=1
plan
	placed first*=10
gang b1 quorum=10
gang a1 quorum=10
gang b2 quorum=10
pods 10 b1 gang=b1 cpu=8 queue=2 created=1000
pods 10 a1 gang=a1 cpu=8 queue=1 created=2000
pods 10 b2 gang=b2 cpu=8 queue=2 created=3000
tick 3600000
drop pod first-0 first-1 first-2 first-3 first-4 first-5 first-6 first-7 first-8 first-9
tick 1000
	placed b1*=10 a1*=0 b2*=0
drop pod b1-0 b1-1 b1-2 b1-3 b1-4 b1-5 b1-6 b1-7 b1-8 b1-9
tick 1000
	placed b1*=0 a1*=10 b2*=0
drop pod a1-0 a1-1 a1-2 a1-3 a1-4 a1-5 a1-6 a1-7 a1-8 a1-9
tick 1000
	placed a1*=0 b2*=10

story que_19_of_one_age_the_name_decides
use full_of_b 0 0
gang bee quorum=10
gang ay quorum=10
pods 10 bee gang=bee cpu=8 queue=2 created=5000
pods 10 ay gang=ay cpu=8 queue=1 created=5000
plan
	placed ay*=10 bee*=0
