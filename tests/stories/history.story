# What queues used in the past counts in the order of turns: docs/fairness.md, "History".

# 10 nodes of 8; gangs of a are older than those of b.
scene two_queues factor
cluster hold_ms=0
queue root id=0
queue a id=1
queue b id=2
history factor=$factor half_life=3600
node n0 n1 n2 n3 n4 n5 n6 n7 n8 n9 cpu=8 memory=64

scene whole name queue created
gang $name quorum=10
pods 10 $name gang=$name cpu=8 queue=$queue created=$created

scene ended name
drop pod $name-0 $name-1 $name-2 $name-3 $name-4 $name-5 $name-6 $name-7 $name-8 $name-9

scene ten_minutes_of name next
plan
	placed $name*=10 $next*=0
tick 600000
use ended $name

scene a_ran_for_an_hour factor
use two_queues $factor
use whole first 1 1000
plan
	placed first*=10
use whole a1 1 2000
use whole a2 1 3000
use whole a3 1 4000
use whole b1 2 5000
use whole b2 2 6000
use whole b3 2 7000
tick 3600000
use ended first

story que_19_who_used_little_is_next
# a: 40, b: 0.  After 10 minutes of b: 36 and 9; of b: 32 and 17; of b: 28 and 23.
use a_ran_for_an_hour 1000
use ten_minutes_of b1 a1
use ten_minutes_of b2 a1
use ten_minutes_of b3 a1
use ten_minutes_of a1 a2

story que_19_without_a_factor_age_decides
use a_ran_for_an_hour 0
use ten_minutes_of a1 b1
use ten_minutes_of a2 b1
use ten_minutes_of a3 b1
use ten_minutes_of b1 b2

# a has 20 of the past, b uses 8; one of them finds room.
scene one_place factor
queue root id=0
queue a id=1
queue b id=2
history factor=$factor half_life=3600
past 1 cpu=20000
node n1 cpu=16 memory=64
pod r cpu=8 queue=2
plan
	bind r n1
pod pa cpu=8 queue=1 created=2000
pod pb cpu=8 queue=2 created=1000

story of_a_small_factor_what_runs_decides
# 20 * 100 / 1100 and 8 * 1000 / 1100
use one_place 100
plan
	placed pa*=1 pb*=0

story of_a_larger_factor_the_past_decides
# 20 * 500 / 1500 and 8 * 1000 / 1500
use one_place 500
plan
	placed pa*=0 pb*=1

story it_outlives_an_edit_of_the_queues
use a_ran_for_an_hour 1000
queue c id=3
queue a id=1 limit=80000
tick 1000
use ten_minutes_of b1 a1

story what_was_used_before_a_restart_counts
use two_queues 1000
past 1 cpu=40000
use whole a1 1 1000
use whole b1 2 2000
plan
	placed b1*=10 a1*=0

story of_a_restart_the_last_record_of_a_queue_counts
# What isn't there is passed over, and without a factor all of it.
use two_queues 1000
past 1 cpu=40000
past 7 cpu=1000
past 1 cpu=0
past 2 cpu=1000
use whole a1 1 2000
use whole b1 2 1000
plan
	placed a1*=10 b1*=0

story what_fades_is_less_after_some_time
# b has 30 of now, a 40 of two hours ago: 10.
use two_queues 1000
tick 9000000
past 1 cpu=40000 ago=7200
past 2 cpu=30000
use whole a1 1 2000
use whole b1 2 1000
plan
	placed a1*=10 b1*=0

story a_new_frontend_begins_without_it
use a_ran_for_an_hour 1000
begin
queue root id=0
queue a id=1
queue b id=2
history factor=1000 half_life=3600
node n0 n1 n2 n3 n4 n5 n6 n7 n8 n9 cpu=8 memory=64
use whole a1 1 2000
use whole b1 2 5000
synced
plan
	placed a1*=10 b1*=0
