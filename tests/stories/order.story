# The order of the queue, and which of several nodes is chosen. cm_N and batch_N are the scenarios
# of docs/scenarios.md (groups of ConfigMaps and of annotations). after_others: pods without a gang
# go first, until the gang has waited for as long as for a backfill reservation.
scene late_node CPU
	placed *=0
node late cpu=$CPU memory=8

scene passed_over
# Both cores are used; the gang needs both, other pods only one.
node n1 cpu=2 memory=8
pod there cpu=2 node=n1
gang g quorum=2 created=1 after_others
pods 2 g gang=g cpu=1 priority=10
plan

scene cores_are_freed
pods 2 plain cpu=1 created=5000
plan
drop pod there

story priority_then_age_then_name
# Pods without a gang: by priority, creation time and name.
pod c b cpu=1 created=5
pod a cpu=1 created=6
pod z cpu=1 created=9 priority=1
pod y cpu=1 created=1 priority=-1
node n1 cpu=5 memory=64
	bind z n1
	bind b n1
	bind c n1
	bind a n1
	bind y n1

story a_group_s_priority_overrides_its_members
# The priority of the group's object counts, not that of its pods.
gang low quorum=3 created=2
pods 3 low gang=low cpu=1 priority=1000
gang mid quorum=3 created=1
pods 3 mid gang=mid cpu=1 priority=100
use late_node 3
	placed low*=3 mid*=0
cluster
gang low quorum=3 created=2 priority=5
pods 3 low gang=low cpu=1 priority=1000
gang mid quorum=3 created=1
pods 3 mid gang=mid cpu=1 priority=100
use late_node 3
	placed low*=0 mid*=3

story a_group_s_priority_changes_while_it_waits
# It can be set and removed while the gang waits.
gang a quorum=3 created=1 priority=-5
pods 3 a gang=a cpu=1
gang b quorum=3 created=2
pods 3 b gang=b cpu=1
node n1 cpu=2 memory=8
	ledger held=0
gang a quorum=3 created=1 priority=5
plan
gang a quorum=3 created=1
plan
node n1 cpu=3 memory=8
	placed a*=3
	placed b*=0

story members_by_priority_then_age_then_as_they_came
# Within a gang: by priority, creation time and arrival.
node n1 cpu=3 memory=8
gang g quorum=2 created=1
pod late gang=g cpu=1 created=9
pod z a gang=g cpu=1 created=5
pod old gang=g cpu=1 created=4
pod first gang=g cpu=1 priority=7 created=9
	on late=- z=n1 a=- old=n1 first=n1

story a_gang_s_priority_when_the_highest_member_goes
# It is the highest of the remaining members.
node n1 cpu=2 memory=64
gang g quorum=2 created=10
pod g-x gang=g cpu=1 priority=10
pod g-y gang=g cpu=1 priority=5
drop pod g-x
pod g-w gang=g cpu=1 priority=1
pod other cpu=2 priority=3 created=1
	placed g*=2 other*=0

story a_member_s_age_changes
# A gang without creation time is as old as its member of highest priority says; that follows
# changes.
node n1 cpu=1 memory=64
gang g quorum=1
pod g-y gang=g cpu=1 priority=5 created=50
pod g-x gang=g cpu=1 priority=10 created=20
pod g-x gang=g cpu=1 priority=10 created=200
drop pod g-x
pod same cpu=1 priority=5 created=30
	placed same*=1 g*=0

story cm_12_pods_without_a_group_first
# Pods without a gang go before one that is after_others, whatever its priority.
gang g quorum=3 created=1 after_others
pods 3 g gang=g cpu=1 priority=1000
pod plain cpu=1
use late_node 3
	placed plain*=1 g*=0

story cm_13_age_before_priority
# Among gangs that are after_others, creation time goes before priority.
gang old quorum=3 created=1 after_others
pods 3 old gang=old cpu=1 priority=100
gang young quorum=3 created=2 after_others
pods 3 young gang=young cpu=1 priority=1000
use late_node 3
	placed old*=3 young*=0

story cm_13_priority_at_the_same_age
# At the same creation time, the priority decides.
gang a quorum=3 created=7 after_others
pods 3 a gang=a cpu=1 priority=100
gang b quorum=3 created=7 after_others priority=200
pods 3 b gang=b cpu=1
use late_node 3
	placed b*=3

story after_others_until_it_waited_long_enough
# After 50 s it is still last; after 65 s, more than hold_ms, it is ordinary.
use passed_over
ticks 20
	order g=last
use cores_are_freed
	placed plain*=2 g*=0
cluster
use passed_over
ticks 26
	order g=ordinary
use cores_are_freed
	placed plain*=0 g*=2

story after_others_for_ever_without_backfill_reservations
# hold_ms=0 turns that off.
cluster hold_ms=0
use passed_over
ticks 100
use cores_are_freed
	placed plain*=2 g*=0

story ordinary_until_it_is_placed
# Once it was placed, more members are after others again, and wait a bounded time again.
use passed_over
ticks 30
drop pod there
	placed g*=2
confirm g*
pod more gang=g cpu=1
pods 1 plain cpu=1 created=5000
plan
gang g quorum=1 created=1 after_others
drop pod g-0
	placed plain*=1 more*=0
ticks 30
pod late cpu=1 created=6000
plan
drop pod plain-0
	placed more*=1 late*=0

story members_beyond_the_quorum_wait_no_longer
# The same bound holds for members beyond the quorum.
node n1 cpu=2 memory=8
pod there cpu=1 node=n1
gang g quorum=1 created=1 after_others
pods 2 g gang=g cpu=1
	placed g*=1
confirm g*
ticks 30
	ledger holds=0  # its quorum is bound
pod plain cpu=1 created=5000
plan
drop pod there
	placed g*=2 plain*=0

story cm_16_a_small_group_passes_a_big_one
# A gang that doesn't fit delays no other.
node n1 cpu=2 memory=8
gang a quorum=3 created=1 after_others
pods 3 a gang=a cpu=1
ticks 4
gang b quorum=2 created=2 after_others
pods 2 b gang=b cpu=1
	placed b*=2 a*=0

story batch_3_members_among_other_pods
# A gang is as old as its oldest member, whichever pods came between.
gang A quorum=3
pod A1 gang=A gpu=1 created=1
pod o1 gpu=1 created=2
pod o2 gpu=1 created=3
pod A2 gang=A gpu=1 created=4
pod A3 gang=A gpu=1 created=5
plan
node late cpu=8 memory=8 gpu=3
	placed A*=3 o*=0

story the_lowest_name_of_equal_nodes
# Nodes of the same score are taken in the order of their names.
node n10 n9 n1 cpu=4 memory=4
pods 4 p cpu=1 memory=1
	bind p-0 n1
	bind p-1 n10
	bind p-2 n9
	bind p-3 n1

story packing_fills_one_node_first
# NodeResourcesFit with MostAllocated.
cluster score=pack
node a cpu=4 memory=4
node b cpu=2 memory=4
pods 4 p cpu=1 memory=1
	bind p-0 b
	bind p-1 b
	bind p-2 a
	bind p-3 a

story a_view_that_was_left_behind
# A pod class that was not used while more nodes changed than the change log keeps is computed from
# scratch.
node a b cpu=4 memory=4
pod first cpu=2
	on first=a
drop pod first
repeat 50
pod other cpu=1 node=b foreign
pod other cpu=1 node=a foreign
end
pod other cpu=1 node=b foreign
pod stays cpu=3 node=a foreign
pod other cpu=1 node=a foreign
repeat 1449
pod other cpu=1 node=b foreign
pod other cpu=1 node=a foreign
end
pod second cpu=2
	on second=b

story a_resource_that_a_node_lacks_is_not_scored
# b has no allocatable memory and is scored by its CPU alone: 50; a: (50 + 80) / 2.
node a cpu=10 memory=1
node b cpu=10
pod p cpu=5
	on p=a
