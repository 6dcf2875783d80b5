# Partially bound gangs: some members have a node, and others don't. Until the rest fits too, the
# nodes of the first ones are wasted, so such a gang goes before all others and retains the
# reservations of members that were refused.
scene half_bound
# Two of four are bound already when the core starts.
gang g quorum=4 created=10
pod g-0 g-1 gang=g cpu=1 node=n1
pod g-2 g-3 gang=g cpu=1

scene planned MEMBERS
# A gang on a node for as many pods; its bindings are in flight.
node n1 cpu=$MEMBERS memory=64
gang g quorum=$MEMBERS
pods $MEMBERS g gang=g cpu=1
plan

scene one_refused
# Of two members one is bound, and the binding of the other is refused.
use planned 2
bound g-0
refused g-1 retry_ms=5000

scene not_enough AFTER_5100
# Of three members that have to start, two were refused, and one of them fits nowhere any more.
node n1 cpu=3 memory=16
node n2 cpu=5 memory=64 cordoned
node n3 cpu=0 memory=64
gang g quorum=3
pods 2 g gang=g cpu=1
pod g-2 gang=g cpu=0 memory=32
pod there cpu=1 node=n1
plan
bound g-0
refused g-1 retry_ms=5000
refused g-2 retry_ms=5000
drop node n3
pod other cpu=1
	on other=-
tick 5100
	on other=$AFTER_5100
tick 2500  # the next check of backfill reservations: it could never fit
	on other=n1

scene not_tried
# A third member, which doesn't fit, could make the gang whole instead of the refused one.
node n1 cpu=4 memory=64
gang g quorum=2
pod g-0 gang=g cpu=3
pod g-1 gang=g cpu=1
plan
pod g-2 gang=g cpu=3
bound g-0
refused g-1 retry_ms=8000
pod other cpu=1
repeat 3
	on other=-
	reason g: room
tick 2500  # backfill reservations are checked as well
end
tick 600
	on g-1=n1 other=-

scene not_enough_for_ever
# Of three members one has a node, and two fit nowhere beside the pod there.
node n1 cpu=1 memory=64
node n2 cpu=4 memory=64
pod there cpu=2 node=n2
gang g quorum=3
pod g-0 gang=g cpu=1 node=n1
pods 2 h gang=g cpu=2
plan
tick 2500
pod high cpu=1 priority=100

story goes_before_higher_priority_and_age
# It is first in the queue, before pods and gangs of higher priority and age.
node n1 cpu=4 memory=64
use half_bound
check created g=10
pods 2 urgent cpu=1 priority=1000 created=1
gang old quorum=2 created=1 priority=1000
pods 2 old gang=old cpu=1
	placed g*=2 urgent*=0 old*=0

story is_first_until_it_is_whole
# The ledger shows its place in the queue.
node n1 cpu=3 memory=64
use half_bound
	order g=first
node n2 cpu=4 memory=64
	placed g*=2
	order g=ordinary

scene listed OPTION
# Two of four are bound when the core starts: is it their first placement?
node n1 cpu=4 memory=64
gang g quorum=4 created=10 $OPTION
pod g-0 g-1 gang=g cpu=1 node=n1 scheduled=5

story has_precedence_after_a_restart
# The group is as it was created, and its members are as old as the first binding.
use listed quorum=4
pod g-2 g-3 gang=g cpu=2
	order g=first
# The group was changed since, perhaps its quorum.
cluster
use listed changed
pod g-2 g-3 gang=g cpu=2
	order g=ordinary
# The group was created after the first binding, so it is another one of that name.
cluster
use listed created=6000000000
pod g-2 g-3 gang=g cpu=2
	order g=ordinary
# A member that the quorum needs was created after the first binding.
cluster
use listed quorum=4
pod g-2 gang=g cpu=2
pod g-3 gang=g cpu=2 created=6000000000
	order g=ordinary
# When it was bound is not known.
cluster
use listed quorum=4
pod g-4 gang=g cpu=1 node=n1 scheduled=-1
pod g-2 gang=g cpu=2 created=6000000000
	order g=ordinary
# A restart gives nothing back to a gang that was whole.
cluster
node n1 cpu=4 memory=64
gang g quorum=1
pod g-0 gang=g cpu=1
	on g-0=n1
bound g-0
plan
gang g quorum=3 changed
pods 2 h gang=g cpu=3
	order g=ordinary
begin
node n1 cpu=4 memory=64
gang g quorum=3 changed
pod g-0 gang=g cpu=1 node=n1
pods 2 h gang=g cpu=3
synced
	order g=ordinary

scene one_of_two
# Of the two members that its first plan had, one is bound and the other was refused.
node n1 cpu=5 memory=64
gang g quorum=2
pods 2 g gang=g cpu=1
pod there cpu=1 priority=1
plan
bound g-0
refused g-1 retry_ms=5000
confirm there
	order g=first

story precedence_is_of_the_members_that_were_planned
# A member that replaces one of them may ask for any amount, so it waits by priority and holds nothing.
use one_of_two
drop pod g-1
pod g-2 gang=g cpu=4
	order g=ordinary
tick 2500
pod other cpu=3
	on other=n1 g-2=-
# The same if it asks for more than it did, but not if its request is the same or less.
cluster
use one_of_two
pod g-1 gang=g cpu=1 memory=1
	order g=ordinary
cluster
use one_of_two
pod g-1 gang=g cpu_milli=500
	order g=first
# It is being deleted, and a finalizer keeps it.
cluster
use one_of_two
pod g-1 gang=g cpu=1 deleting
pod g-2 gang=g cpu=4
	order g=ordinary
# One more than the quorum was planned, and may go.
cluster
node n1 cpu=5 memory=64
gang g quorum=2
pods 3 g gang=g cpu=1
plan
bound g-0
refused g-1 retry_ms=5000
drop pod g-2
	order g=first
drop pod g-1
pod g-3 gang=g cpu=1
	order g=ordinary

story precedence_goes_on_for_a_quorum_that_the_planned_members_left_suffice_for
# The owner lowered it and deleted one of three: the rest goes on, and not if it is raised again.
node n1 cpu=5 memory=64
gang g quorum=3
pods 3 g gang=g cpu=1
plan
bound g-0
refused g-1 retry_ms=5000
refused g-2 retry_ms=5000
gang g quorum=2
drop pod g-2
	order g=first
gang g quorum=3
pod g-3 gang=g cpu=4
	order g=ordinary
drop pod g-1
gang g quorum=2
	order g=ordinary

story goes_before_others_though_it_is_after_others
# Also in the dialect whose gangs come after pods without a gang.
node n1 cpu=2 memory=64
gang g quorum=2 created=10 after_others
pod g-0 gang=g cpu=1 node=n1
pod g-1 gang=g cpu=1
pod other cpu=1 created=1
	on g-1=n1 other=-

story needs_no_min_resources
# A replacement for a lost member needs one node, not minResources.
node n1 cpu=4 memory=64
node n2 cpu=1 memory=64
gang g quorum=4 cpu=5
pods 4 g gang=g cpu=1
	placed g*=4
confirm g*
drop pod g-3
pod other cpu=1
	on other=n1
pod g-4 gang=g cpu=1
	on g-4=n2

story retains_the_reservation_of_a_refused_member
# Until its backoff is over and it was tried again.
use one_refused
pod other cpu=1 priority=1000
plan
tick 4900
	on other=-
pod g-1 gang=g cpu=1  # an update without changes, such as its condition
	on other=-
tick 200
	on g-1=n1 other=-

story retains_nothing_without_its_group
# No plan can be made without the group.
use one_refused
pod other cpu=1
	on other=-
gang g quorum=2 missing
	on other=n1

story retains_nothing_when_a_role_lacks_members
# No plan can be made without the lost master.
node n1 cpu=3 memory=64
gang g quorum=2 role=master:1 role=worker:1
pod g-m gang=g role=master cpu=1
pods 2 g-w gang=g role=worker cpu=1
plan
bound g-m g-w-0
drop pod g-m
refused g-w-1 retry_ms=5000
pod other cpu=2
	on other=n1

story is_placed_before_a_claim
# Another scheduler that asks in the same cycle doesn't get the capacity.
use one_refused
plan
pod theirs cpu=1 foreign
tick 5100
assume theirs n1 keep_ms=60000
	on g-1=n1
skip
assume theirs n1 keep_ms=60000
	assume theirs nowhere, 1 short of cpu

story retains_nothing_on_a_full_node
# Another scheduler used a part of it; what is left is too little for the refused member.
node n1 cpu=4 memory=64
gang g quorum=2
pod g-0 gang=g cpu=1
pod g-1 gang=g cpu=2
plan
bound g-0
refused g-1 retry_ms=5000
pod alien cpu=2 node=n1
pod small cpu=1
	on small=-
tick 5100
	on g-1=- small=n1
drop pod alien
	on g-1=n1

story retains_nothing_that_does_not_complete_it
# The reservation ends once a plan failed; with backfill reservations, once it can't get one.
cluster hold_ms=0
use not_enough n1
cluster
use not_enough -

story retains_the_reservation_of_a_member_not_tried
# A plan without the refused member fails: that doesn't end its reservation. (Seed 41188 of
# docs/track-record.md.)
cluster hold_ms=0
use not_tried
cluster
use not_tried

story retains_all_until_the_last_backoff_is_over
# Two were refused: the first one that is ready waits for the other, with its reservation.
use planned 3
bound g-0
refused g-1 retry_ms=2000
refused g-2 retry_ms=8000
pod other cpu=1 priority=1000
plan
tick 2500
	on other=- g-1=-
tick 6000
	placed g*=3
	on other=-

story retains_the_reservation_when_the_plan_fails
# The reservation is closed to others and open to the gang itself, of which one member finds no
# node.
node n1 cpu=2 memory=8
node n2 cpu=1 memory=8
gang g quorum=3
pods 3 g gang=g cpu=1
plan
bound g-0
refused g-1 retry_ms=1000
refused g-2 retry_ms=1000
node n2 cpu=1 memory=8 cordoned
pod other cpu=1 priority=1000
tick 1100
	reason g: room 1 of 2
	on other=-
node n2 cpu=1 memory=8
	placed g*=3
	on other=-

story releases_what_no_member_waits_for
use one_refused
# Only the refused member is left of the gang.
drop pod g-0
	fits cpu=1 priority=-1
# All were refused.
cluster
use planned 2
refused g-0 retry_ms=5000
	full cpu=1 priority=-1
refused g-1 retry_ms=5000
	fits cpu=1 priority=-1
# The gang has fewer members than its quorum.
cluster
use planned 3
bound g-0 g-1
refused g-2 retry_ms=5000
	full cpu=1 priority=-1
gang g quorum=4
	fits cpu=1 priority=-1
# The refused member is gone, is being deleted, or has another request.
cluster
use one_refused
drop pod g-1
	fits cpu=1 priority=-1
cluster
use one_refused
pod g-1 gang=g cpu=1 deleting
	fits cpu=1 priority=-1
cluster
use one_refused
pod g-1 gang=g cpu=2
	fits cpu=1 priority=-1
# Another member is gated, for an unknown time.
cluster
use planned 3
bound g-0
refused g-1 retry_ms=5000
pod g-3 gang=g cpu=1 gated
drop pod g-2
pod there cpu=1 node=n1
	fits cpu=1 priority=-1
# The quorum is no more than the bound members.
cluster
use one_refused
gang g quorum=1
	fits cpu=1 priority=-1

story its_node_is_deleted
# The reservation ends with its node; the member is placed elsewhere.
node n1 n2 cpu=1 memory=8
gang g quorum=2
pods 2 g gang=g cpu=1
	on g-1=n2
bound g-0
refused g-1 retry_ms=1000
drop node n2
node n3 cpu=1 memory=8
tick 1100
	on g-1=n3

story gets_a_backfill_reservation_at_once
# Without the usual wait, and before a gang that has one already.
node n1 cpu=4 memory=64 zone=a
pod there cpu=2 node=n1
gang big quorum=4 created=1
pods 4 big gang=big cpu=1 zone=a
ticks 30
	ledger held=1
# Two of four are bound; the others are refused, and another pod took a part of their capacity.
node n0 cpu=6 memory=64 zone=b
gang g quorum=4
pod g-0 g-1 gang=g cpu=1 zone=b
pod g-2 g-3 gang=g cpu=2 zone=b
plan
bound g-0 g-1
refused g-2 retry_ms=1000
refused g-3 retry_ms=1000
node n0 cpu=4 memory=64 zone=b
pod alien cpu=2 node=n0
tick 1100
plan
tick 2500
	ledger holds=2 held=2
# A node for one comes, and is reserved until there is one for the other.
node n2 cpu=2 memory=64 zone=b
pod small cpu=1 priority=1000 zone=b
	on small=-
	reason small: held
node n3 cpu=2 memory=64 zone=b
	on g-2=n2 g-3=n3
	ledger held=0

story a_gang_that_was_whole_has_no_precedence
# Its quorum is raised after it was met: the new members wait as those of any other gang.
node n1 cpu=4 memory=64
gang g quorum=1
pod g-0 gang=g cpu=1
	on g-0=n1
bound g-0
	order g=ordinary
gang g quorum=4
pods 3 h gang=g cpu=1
pod there cpu=1 node=n1
pod high cpu=1 priority=100 created=5000
tick 2500
	order g=ordinary
	ledger held=0
	on high=n1

story a_lost_member_of_a_whole_gang_has_no_precedence
# A replacement could ask for more than the member that was lost.
node n1 cpu=4 memory=64
use planned 2
bound g-0 g-1
	order g=ordinary
drop pod g-1
pod g-2 gang=g cpu=3
pod high cpu=1 priority=100 created=5000
	order g=ordinary
	on g-2=- high=n1

story a_raised_quorum_suspends_its_precedence
# The quorum is raised before it is met; and lowered again.
use planned 3
bound g-0
refused g-1 retry_ms=5000
refused g-2 retry_ms=5000
	order g=first
gang g quorum=4
pod g-3 gang=g cpu=1
	order g=ordinary
	fits cpu=1
gang g quorum=3
	order g=first

story its_precedence_ends
# After ten minutes it waits as others do and retains nothing.
use not_enough_for_ever
	order g=first
	ledger held=1
	on high=-
tick 590000
	on high=-
tick 12000
	order g=ordinary
	on high=n2
	ledger held=0

story its_retained_reservation_ends
# Each retry is refused; ten minutes after the first refusal others get the capacity.
use one_refused
pod high cpu=1 priority=100
repeat 59
plan
	on high=-
tick 10000
	on g-1=n1 high=-
refused g-1 retry_ms=10000
end
tick 9000
	on high=-
tick 3000
	order g=ordinary
	on high=n1 g-1=-

story names_who_keeps_the_capacity
node n1 n2 cpu=1 memory=64
gang g quorum=2
pods 2 g gang=g cpu=1
plan
bound g-0
refused g-1 retry_ms=60000
pod other cpu=1
	reason other: room 0 of 1, 2 short of cpu, cpu 0 of 1000, retained on 1 by g
gang h quorum=2
pods 2 h gang=h cpu=1
	reason h: room 0 of 2, 2 short of cpu, cpu 0 of 2000, retained on 1 by g
# Not where it would not help.
pod large cpu=2
	reason large: room 0 of 1, 2 short of cpu, cpu 0 of 2000
