# Promised starts (core/timeline/timeline.h), ../spec/queues.md section 16: BF-1 to BF-9 and BF-12 to BF-14.
# Ten nodes of one core, so that ten members here are a hundred there; the grain is a millisecond,
# and a promise is shown in whole seconds.  A gang that has ended is dropped.
scene ten_nodes depth
cluster hold_ms=0 promises=$depth grain_ms=1
node n0 n1 n2 n3 n4 n5 n6 n7 n8 n9 cpu=1 memory=8

scene job name members run
gang $name quorum=$members
pods $members $name gang=$name cpu=1 run=$run
plan

story bf_1_short_job_in_front
# 0: 5/100, 1: 10/100, 2: 6/100, 20: 1/10.
use ten_nodes 64
use job a 5 100
tick 1000
use job b 10 100
tick 1000
use job c 6 100
	placed a*=5
	start b=100 c=200
tick 18000
use job d 1 10
	placed d*=1
	start b=100 c=200
	ledger backfilled=1

story bf_2_conservative
# 0: 7/100, 1: 8/100, 2: 9/100, 50: 2/250: the last one would delay b and c.
use ten_nodes 64
use job a 7 100
tick 1000
use job b 8 100
tick 1000
use job c 9 100
	start b=100 c=200
tick 48000
use job d 2 250
	placed d*=0
	start b=100 c=200 d=300
	reason d: held 0 of 2 by promises for c
# Also when it has a promise of its own.
node n10 cpu=0 memory=8
tick 3000
plan
	reason d: held 0 of 2 by promises for c

story bf_3_easy
# With one promise the last one starts at once: c has none, and is promised 300 when b starts.
use ten_nodes 1
use job a 7 100
tick 1000
use job b 8 100
tick 1000
use job c 9 100
	start b=100 c=-
tick 48000
use job d 2 250
	placed d*=2
	start b=100
drop pod a-0 a-1 a-2 a-3 a-4 a-5 a-6
tick 50010
	placed b*=8
	start c=300

story bf_4_early_end
# a ends at 60: all are earlier, none is later.
use ten_nodes 64
use job a 7 100
tick 1000
use job b 8 100
tick 1000
use job c 9 100
tick 48000
use job d 2 250
tick 10000
drop pod a-0 a-1 a-2 a-3 a-4 a-5 a-6
	placed b*=8
	start c=160 d=260

story bf_5_not_planned_anew_in_the_order_of_the_queue
# 0: 5/30, 1: 3/40, 2: 8/30, 3: 6/10 on ten nodes; b ends at 21, a at 30.  Planning c and d anew in
# the order of the queue at 21 would start d at 45, which was told 30.
use ten_nodes 64
use job a 5 30
tick 1000
use job b 3 40
	placed b*=3
tick 1000
use job c 8 30
tick 1000
use job d 6 10
	start c=41 d=30
tick 18000
drop pod b-0 b-1 b-2
	placed d*=0
	start d=30 c=40
	ledger backfilled=0
tick 9010
drop pod a-0 a-1 a-2 a-3 a-4
	placed d*=6
	ledger backfilled=1
tick 5000
drop pod d-0 d-1 d-2 d-3 d-4 d-5
	placed c*=8
	ledger backfilled=1

story bf_6_soft_end_that_is_overrun
# Expected to end at 120 and runs to 500, with a grain of a minute: by as long as it is overrun, but
# by a minute at least, the promise moves to 180, 240, 360 and 600, and comes back when it ends.
cluster hold_ms=0 promises=64 grain_ms=60000
node n0 cpu=1 memory=8
pod a cpu=1 node=n0 scheduled=20 expected=100
pod b cpu=1
	start b=120
tick 120001
	start b=180:EndOverrun
tick 60000
	start b=240:EndOverrun
tick 60000
	start b=360:EndOverrun
tick 120000
	start b=600:EndOverrun
	ledger overruns_soft=1 overruns_hard=0
drop pod a
	on b=n0

story an_overrun_is_counted_once_whatever_frontends_come
# a outlived its end before the next frontend came, c does after it, and d while there was none.
cluster hold_ms=0 promises=64 grain_ms=60000
node n0 n1 n2 cpu=1 memory=8
pod a cpu=1 node=n0 scheduled=20 expected=100
pod c cpu=1 node=n1 scheduled=20 run=400
pod d cpu=1 node=n2 scheduled=20 run=160
pod b cpu=1
	start b=120
tick 120001
	start b=180:EndOverrun
	ledger overruns_soft=1 overruns_hard=0
tick 10000
begin
tick 60000
node n0 n1 n2 cpu=1 memory=8
pod a cpu=1 node=n0 scheduled=20 expected=100
pod c cpu=1 node=n1 scheduled=20 run=400
pod d cpu=1 node=n2 scheduled=20 run=160
pod b cpu=1
	start b=240
	ledger overruns_soft=1 overruns_hard=1
tick 240000
	ledger overruns_soft=1 overruns_hard=2

story an_overrun_is_not_counted_again_by_a_new_core
# a and c outlived their ends before this core began, e does so after it.
cluster hold_ms=0 promises=64 grain_ms=60000 at_ms=300000
node n0 n1 n2 cpu=1 memory=8
pod a cpu=1 node=n0 scheduled=20 expected=100
pod c cpu=1 node=n1 scheduled=20 run=160
pod e cpu=1 node=n2 scheduled=20 expected=340
pod b cpu=1
	ledger overruns_soft=0 overruns_hard=0
tick 60000
	ledger overruns_soft=1 overruns_hard=0
tick 600000
	ledger overruns_soft=1 overruns_hard=0

story a_binding_within_a_sixth_of_the_grain_moves_nobody
# Planned at 45 for 70 s: it would end at 115, so at 120 by the grain.  Its binding takes 7 s.
cluster hold_ms=0 promises=64 grain_ms=60000
node n0 cpu=1 memory=8
tick 45000
pod a cpu=1 run=70
plan
pod b cpu=1
	start b=180
pod a cpu=1 node=n0 scheduled=52 run=70
tick 1000
	start b=180

story an_end_is_exact_once_the_binding_is_known
cluster hold_ms=0 promises=64 grain_ms=60000
node n0 cpu=1 memory=8
tick 45000
pod a cpu=1 run=70
plan
pod b cpu=1
	start b=180
pod a cpu=1 node=n0 scheduled=46 run=70
tick 5000
	start b=120

story soft_end_moves_to_the_hard_one_at_most
cluster hold_ms=0 promises=64 grain_ms=60000
node n0 cpu=1 memory=8
pod a cpu=1 node=n0 scheduled=60 expected=60 run=90
pod b cpu=1
	start b=120
tick 120001
	start b=180:EndOverrun
	ledger overruns_soft=1 overruns_hard=0
tick 60000
	start b=240:EndOverrun
	ledger overruns_soft=1 overruns_hard=1

story bf_7_unknown_end
# No promise: nobody knows when a ends.  It gets an end by an edit.
cluster hold_ms=0 promises=64 grain_ms=1
node n0 cpu=1 memory=8
pod a cpu=1 node=n0 scheduled=1
pod b cpu=1
	start b=-
pod a cpu=1 node=n0 scheduled=1 run=50
ticks 2
	start b=51

story pods_that_last_have_no_end
# Decision 047: a number that their user wrote changes nothing.
cluster hold_ms=0 promises=64 grain_ms=1
node n0 cpu=1 memory=8
pod a cpu=1 node=n0 scheduled=1 expected=50 lasts
pod b cpu=1
	start b=-

story bf_8_node_lost
# A gang of four on four nodes; one is cordoned and comes back.
cluster hold_ms=0 promises=64 grain_ms=1
node n0 n1 n2 n3 cpu=8 memory=8
pod a b c d cpu=1 node=n0 scheduled=1 run=50
gang g quorum=4
pods 4 g gang=g cpu=8
	start g=51
node n4 cpu=1 memory=8
pod e cpu=1 node=n4 scheduled=1 run=90
node n4 cpu=8 memory=8
node n3 cpu=8 memory=8 cordoned
	start g=91:NodeLost
node n3 cpu=8 memory=8
	start g=51:NodeLost

story bf_9_outranked
# A gang of higher priority needs the room: it is promised first, the other one moves, by name.
cluster hold_ms=0 promises=64 grain_ms=1
node n0 cpu=1 memory=8
pod a cpu=1 node=n0 scheduled=1 run=100
pod b cpu=1 run=30
	start b=101
pod c cpu=1 priority=100 run=60
	start c=101 b=161:Outranked

story barred_by_a_promise_that_has_no_place_left
# Sums suffice: wide needs all of n1 at 101, where long would be until 500.
cluster hold_ms=0 promises=64 grain_ms=1
node n1 cpu=4 memory=8
node n2 cpu=3 memory=1
pod b cpu=3 node=n1 scheduled=1 run=100
pod wide cpu=4 run=50
	start wide=101
pod long cpu=1 memory=4 run=500
	on long=-
	reason long: held 0 of 1 by promises for wide

story bf_12_unknown_length
# Its end is not known: it takes only what no promise will ever use.
use ten_nodes 64
use job a 9 100
use job b 9 100
	start b=100
pod c cpu=1
pod d cpu=1
	placed c*=1
	placed d*=0

story soft_length_counts_as_unknown
# A gang that waits is planned by its enforced length alone ...
use ten_nodes 64
use job a 9 100
use job b 10 100
pod c cpu=1 expected=50
	placed c*=0

story soft_length_by_setting
# ... unless core.backfillBySoft.
cluster hold_ms=0 promises=64 grain_ms=1 by_soft=1
node n0 n1 n2 n3 n4 n5 n6 n7 n8 n9 cpu=1 memory=8
use job a 9 100
use job b 10 100
pod c cpu=1 expected=50
	placed c*=1

story bf_13_kept_over_a_restart
# The times of before are placed first, in their order, whatever the order of the queue.
use ten_nodes 64
pod a cpu=1 node=n0 scheduled=1 run=100
pod b cpu=1 node=n1 scheduled=1 run=200
node n2 n3 n4 n5 n6 n7 n8 n9 cpu=1 memory=8 cordoned
pod d cpu=1 run=500 created=10
pod c cpu=1 run=500 created=20
promised d at=201
promised c at=101
	start d=201 c=101

story restored_to_the_first_time_that_is_left
# The time of before can't be placed again: it moves, and says so.
use ten_nodes 64
node n1 n2 n3 n4 n5 n6 n7 n8 n9 cpu=1 memory=8 cordoned
pod a cpu=1 node=n0 scheduled=1 run=100
pod b cpu=1
promised b at=50
	start b=101:Restarted

story restored_for_its_oldest_member
# A member that came later has another annotation.
use ten_nodes 64
node n2 n3 n4 n5 n6 n7 n8 n9 cpu=1 memory=8 cordoned
pod a cpu=1 node=n0 scheduled=1 run=100
pod b cpu=1 node=n1 scheduled=1 run=200
gang g quorum=2
pod g-0 gang=g cpu=1 created=10
pod g-1 gang=g cpu=1 created=20
promised g-1 at=900
promised g-0 at=50
promised g-1 at=800
plan
	start g=201:Restarted

story bf_14_as_slurm_says
# At 0: 7/120 (runs 70), 8/120 (60), 9/120 (60), 2/60 (45), 2/180 (100), 10/60 (10).
use ten_nodes 64
use job a 7 120
use job b 8 120
use job c 9 120
use job d 2 60
use job e 2 180
use job f 10 60
	placed a*=7
	placed d*=2
	start b=120 c=240 e=60 f=360
tick 45000
drop pod d-0 d-1
	placed e*=2
tick 25000
drop pod a-0 a-1 a-2 a-3 a-4 a-5 a-6
	placed b*=8
tick 60000
drop pod b-0 b-1 b-2 b-3 b-4 b-5 b-6 b-7
	placed c*=0
tick 15000
drop pod e-0 e-1
	placed c*=9
tick 60000
drop pod c-0 c-1 c-2 c-3 c-4 c-5 c-6 c-7 c-8
	placed f*=10

story a_queue_that_refuses_a_gang_ends_its_promise
# g may start by its limit, and is promised 100.  h of the same queue starts beside the promise: now the limit bars g,
# and w has the room of its promise.  When h is gone, g is behind w.
use ten_nodes 64
queue root id=0
queue a id=1 limit=8000
queue b id=2
gang r quorum=7
pods 7 r gang=r cpu=1 run=100 queue=2
plan
	placed r*=7
gang g quorum=6
pods 6 g gang=g cpu=1 run=100 queue=1
plan
	start g=100
gang h quorum=3
pods 3 h gang=h cpu=1 run=50 queue=1
plan
	placed h*=3
	start g=-
gang w quorum=10
pods 10 w gang=w cpu=1 run=100 queue=2
plan
	start w=100 g=-
drop pod h-0 h-1 h-2
plan
	start w=100 g=200

story a_hold_keeps_no_node_from_a_promise
# big asks for more than its members do, so it is never promised a start, and holds what it could
# use.  b was promised the room of a, and starts then.
cluster hold_ms=3000 promises=64 grain_ms=1
node n0 n1 cpu=1 memory=8
pod a cpu=1 node=n0 scheduled=1 run=100
pod there cpu=1 node=n1
pod b cpu=1 run=10
	start b=101
gang big quorum=1 cpu=2 priority=5
pods 1 big gang=big cpu=1 priority=5
ticks 30
	ledger held=1
	start b=101
drop pod a
tick 10
	on b=n0

story a_promised_gang_that_can_be_promised_nothing_any_more
# With minResources it is not known what it will take.
use ten_nodes 64
use job a 9 100
use job b 9 100
	start b=100
gang b quorum=9 cpu=1
plan
	start b=-

story of_unlike_members_some_may_start
# All of them have no room, which is no reason to keep back as many as its quorum needs.
cluster hold_ms=0 promises=64 grain_ms=1
node n0 cpu=2 memory=8
pod a cpu=1 node=n0
gang g quorum=1
pod g-0 gang=g cpu=1 run=100
pod g-1 gang=g cpu=2 run=100
plan
	placed g*=1

story a_partially_bound_gang_outranks_all_promises
# The binding of its second member is refused, and the room of that is gone (decision 046).
cluster hold_ms=0 promises=64 grain_ms=1
node n0 cpu=1 memory=8
pod a cpu=1 node=n0 scheduled=1 run=100
node n1 cpu=2 memory=8
gang g quorum=2
pods 2 g gang=g cpu=1 run=60
plan
	placed g*=2
pod b cpu=1 run=30 priority=100
	start b=60
bound g-0
refused g-1 retry_ms=100
node n1 cpu=1 memory=8
tick 5000
	start g=60 b=101:Outranked

story a_promise_that_moves_earlier_outranks_a_lower_one
cluster hold_ms=0 promises=64 grain_ms=1
node n0 cpu=2 memory=8
pod a cpu=1 node=n0 scheduled=1 run=50
pod b cpu=1 node=n0 scheduled=1 run=100
gang h quorum=2
pods 2 h gang=h cpu=1 run=100 priority=5
plan
pod l cpu=1 run=30
plan
	start h=101 l=51
tick 30000
drop pod b
plan
	start h=51 l=151:Outranked

story a_promise_of_a_pod_that_counts_in_no_gang
# Promised by an instance whose scheduler the pod was: it is another's now.
cluster hold_ms=0 promises=64 grain_ms=1
node n0 cpu=1 memory=8
pod a cpu=1 node=n0 scheduled=1 run=50
pod b cpu=1 foreign
pod d cpu=1
promised b at=60
	start d=51

story what_was_retained_lets_a_promise_move_earlier
# g-1 was refused, and its room is kept for it; b is promised the room of a.  When g-1 is deleted b starts in its room.
cluster hold_ms=0 promises=64 grain_ms=1
node n0 cpu=1 memory=8
node n1 cpu=2 memory=8
pod a cpu=1 node=n0 scheduled=1 run=100
gang g quorum=2
pods 2 g gang=g cpu=1
plan
	placed g*=2
bound g-0
refused g-1 retry_ms=50000
pod b cpu=1 run=30
	start b=101
drop pod g-1
plan
	on b=n1

story a_promise_on_the_end_of_what_is_refused_moves
# g-1 was refused: nobody knows when what it retains ends, so b is promised the later end of a.
cluster hold_ms=0 promises=64 grain_ms=1
node n0 cpu=2 memory=8
node n1 cpu=2 memory=8
pod a cpu=2 node=n1 scheduled=1 run=300
gang g quorum=2
pods 2 g gang=g cpu=1 run=100
plan
	placed g*=2
bound g-0
pod b cpu=2 run=30
	start b=100
refused g-1 retry_ms=50000
	start b=301:EndOverrun

story who_waits_behind_a_promise_that_is_no_more
# b needs all nodes, so c, which nobody knows the end of, waits for it.  With minResources b is promised nothing.
use ten_nodes 64
use job a 9 100
use job b 10 100
pod c cpu=1
	start b=100 c=200
gang b quorum=10 cpu=1
plan
	start b=-
	placed c*=1

story a_pod_that_ends_or_is_relabelled_ends_no_later
# Its capacity is counted anew, by class and by whether it is being deleted; it goes on as it began.
cluster hold_ms=0 promises=64 grain_ms=1
node n0 cpu=1 memory=8
pod a cpu=1 node=n0 scheduled=1 run=100
pod b cpu=1
	start b=101
tick 50000
pod a cpu=1 node=n0 scheduled=1 run=100 deleting
plan
	start b=101

story a_pod_that_outlived_its_end_and_is_deleted_ends_no_later
cluster hold_ms=0 promises=64 grain_ms=60000
node n0 cpu=1 memory=8
pod a cpu=1 node=n0 scheduled=20 run=100
pod b cpu=1
	start b=120
tick 240001
	start b=360:EndOverrun
tick 60000
pod a cpu=1 node=n0 scheduled=20 run=100 deleting
plan
	start b=360:EndOverrun

story a_start_is_that_of_the_pod_and_not_of_one_before_it
# a runs on a node that is not known, and ends; c has its number now.
cluster hold_ms=0 promises=64 grain_ms=1
node n0 cpu=1 memory=8
pod a cpu=1 foreign scheduled=1 run=100
drop pod a
tick 50000
pod c cpu=1 run=100
plan
	on c=n0
pod b cpu=1
	start b=150

story an_end_that_is_edited_moves_promises_of_a_cluster_at_rest
# Nothing else happens: within four seconds b is told.
cluster hold_ms=0 promises=64 grain_ms=1
node n0 cpu=1 memory=8
pod a cpu=1 node=n0 scheduled=1 run=600
pod b cpu=1
	start b=601
pod a cpu=1 node=n0 scheduled=1 run=100
ticks 4
	start b=101
pod a cpu=1 node=n0 scheduled=1 run=300
ticks 4
	start b=301:EndOverrun
pod a cpu=1 node=n0 scheduled=1
ticks 4
	start b=-

story an_end_beyond_the_window_promises_nothing_until_it_is_inside
# Nothing else happens: the core plans b again when the end of a is 100 s ahead.
cluster hold_ms=0 promises=64 grain_ms=1000 window_ms=100000
node n0 cpu=1 memory=8
pod a cpu=1 node=n0 scheduled=1 run=599
pod b cpu=1 run=10
	start b=-
tick 450000
	start b=-
ticks 40
	start b=600

story a_promised_end_comes_into_the_window_as_well
# c would start when b has ended, at 160.
cluster hold_ms=0 promises=64 grain_ms=1000 window_ms=100000
node n0 cpu=1 memory=8
pod a cpu=1 node=n0 scheduled=1 run=79
pod b cpu=1 run=80
pod c cpu=1 run=10
	start b=80 c=-
ticks 25
	start b=80 c=160

story a_promise_that_stands_moves_past_the_window
# As bf_6, with less than the last move ahead.
cluster hold_ms=0 promises=64 grain_ms=60000 window_ms=150000
node n0 cpu=1 memory=8
pod a cpu=1 node=n0 scheduled=20 expected=100
pod b cpu=1
	start b=120
tick 120001
	start b=180:EndOverrun
tick 60000
tick 60000
	start b=360:EndOverrun
tick 120000
	start b=600:EndOverrun
drop pod a
	on b=n0

story a_promise_outlives_no_shape_that_it_asks_for
# b asks for something else, so no pod has its old shape; c comes first in the queue, and is planned
# as if b had no promise.
cluster hold_ms=0 promises=64 grain_ms=1
node n0 cpu=2 memory=8
pod a cpu=1 node=n0 scheduled=1 run=100
pod b cpu=2 run=30 created=20
	start b=101
pod b cpu=2 memory=1 run=30 created=20
drop shapes
pod c cpu=1 run=200 created=10
	on c=n0
	start b=200:GangChanged

story capacity_in_parts_of_nodes_delays_a_promise
# Each node of two cores has two pods.  The first twelve that end free a core of each node: eleven times at which the sums
# suffice for a whole node.  Whole nodes are free from 101 s on, one each second.
cluster hold_ms=0 promises=2 grain_ms=1
node n0 n1 n2 n3 n4 n5 n6 n7 n8 n9 n10 n11 cpu=2 memory=8
pod a0 cpu=1 node=n0 run=10
pod b0 cpu=1 node=n0 run=100
pod a1 cpu=1 node=n1 run=11
pod b1 cpu=1 node=n1 run=101
pod a2 cpu=1 node=n2 run=12
pod b2 cpu=1 node=n2 run=102
pod a3 cpu=1 node=n3 run=13
pod b3 cpu=1 node=n3 run=103
pod a4 cpu=1 node=n4 run=14
pod b4 cpu=1 node=n4 run=104
pod a5 cpu=1 node=n5 run=15
pod b5 cpu=1 node=n5 run=105
pod a6 cpu=1 node=n6 run=16
pod b6 cpu=1 node=n6 run=106
pod a7 cpu=1 node=n7 run=17
pod b7 cpu=1 node=n7 run=107
pod a8 cpu=1 node=n8 run=18
pod b8 cpu=1 node=n8 run=108
pod a9 cpu=1 node=n9 run=19
pod b9 cpu=1 node=n9 run=109
pod a10 cpu=1 node=n10 run=20
pod b10 cpu=1 node=n10 run=110
pod a11 cpu=1 node=n11 run=21
pod b11 cpu=1 node=n11 run=111
plan
pod one cpu=2 run=50
gang two quorum=2
pods 2 two gang=two cpu=2 run=50
plan
	start one=101 two=103

story a_start_that_breaks_a_promise_is_tried_again_before_it
# At 10 s the first node with room for y is n1, which x is promised; at 12 s n0 is free.
cluster hold_ms=0 promises=64 grain_ms=1
node n0 cpu=1 memory=8
node n1 n2 cpu=2 memory=8
pod a cpu=1 node=n0 run=12
pod b cpu=2 node=n1 run=10
pod c cpu=2 node=n2 run=1000
plan
gang x quorum=2
pods 2 x gang=x cpu=2 run=100
plan
	start x=1001
pod y cpu=1 run=5000
plan
	start x=1001 y=13

story what_starts_at_the_same_time_need_not_be_placed_first
# From 5 s on the sums suffice for g.  At 10 s the pod of y would take n0 first, but the gang comes before it, and y has n1.
cluster hold_ms=0 promises=64 grain_ms=1
node n0 cpu=2 memory=8
node n1 cpu=1 memory=8
node n2 n3 cpu=1 memory=1
pod a cpu=2 node=n0 run=10
pod b cpu=1 node=n1 run=10
pod c cpu=1 node=n2 run=5
pod d cpu=1 node=n3 run=5
plan
pod y cpu=1 memory=8 run=100
plan
	start y=11
gang g quorum=1
pod g-0 gang=g cpu=2 run=100
plan
	start g=11 y=11

story precedence_beside_promises_ends
# 600 s after the gang first needed it (decision 046), also without backfill reservations.
cluster hold_ms=0 promises=64 grain_ms=1
node n0 cpu=1 memory=8
pod a cpu=1 node=n0 scheduled=1 run=5000
node n1 cpu=2 memory=8
gang g quorum=2
pods 2 g gang=g cpu=1 run=9000
plan
	placed g*=2
bound g-0
refused g-1 retry_ms=100
node n1 cpu=1 memory=8
tick 5000
	start g=5001
pod b cpu=1 run=30 priority=100
tick 5000
	start g=5001 b=9000
tick 700000
tick 5000
	start b=5001 g=5031:Outranked
