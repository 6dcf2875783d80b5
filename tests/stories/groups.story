# What happens to a gang when its group's object or its members change, before it starts and after.
# cos_N, cm_N and batch_N are the scenarios of docs/scenarios.md.
scene placed CPU
# A gang of three whose members are bound.
node n1 cpu=$CPU memory=64
gang g quorum=3 created=1
pods 3 g gang=g cpu=1
plan
confirm g*
	placed g*=3
skip

story cm_17_a_smaller_quorum_starts
# A lower quorum that fits starts the gang.
node n1 cpu=2 memory=64
gang g quorum=3 after_others
pods 3 g gang=g cpu=1
plan
skip
gang g quorum=2 after_others
	bind g-0 n1
	bind g-1 n1
	gang g binding 2/2 of 3
tick 2500  # new numbers are reported with a delay
	why g: room 0 of 1, 1 short of cpu, cpu 0 of 1000

story a_larger_quorum_waits
# A raised quorum that is more than the members makes the gang incomplete.
node n1 cpu=2 memory=64
gang g quorum=3
pods 3 g gang=g cpu=1
plan
skip
gang g quorum=5
	gang g incomplete 0/5 of 3
	why g: members 3 of 5
node n2 cpu=8 memory=8
	nothing

story a_larger_quorum_after_the_start
# A raised quorum evicts nobody; new members start once there are as many as are missing.
use placed 8
gang g quorum=5 created=1
	gang g incomplete 3/5 of 3
pod more-0 gang=g cpu=1
	why g: members 4 of 5
pod more-1 gang=g cpu=1
	bind more-0 n1
	bind more-1 n1
	gang g binding 5/5 of 5

story a_smaller_quorum_after_a_loss
# With a lower quorum the rest is a whole gang again.
use placed 3
drop pod g-0
	gang g incomplete 2/3 of 2
gang g quorum=2 created=1
	gang g placed 2/2 of 2

story a_larger_quorum_before_it_is_sent
# The plan is cancelled when the quorum is raised before its commands were sent.
node n1 cpu=4 memory=64
gang g quorum=2
pods 2 g gang=g cpu=1
ring 0
plan
synced
gang g quorum=3
ring any
	placed g*=0
	reason g: members

story deleted_while_it_waits
# Without its group the gang waits, also when there are nodes enough.
node n1 cpu=2 memory=64
gang g quorum=3 created=1
pods 3 g gang=g cpu=1
plan
skip
gang g quorum=0 missing
	gang g incomplete 0/1 of 3
	why g: group missing
node n2 cpu=2 memory=8
	nothing

story recreated_while_it_waits
# Another object of that name: its quorum and its creation time count.
node n1 cpu=2 memory=64
gang old quorum=3 created=1
pods 3 old gang=old cpu=1
gang other quorum=3 created=5
pods 3 other gang=other cpu=1
plan
gang old quorum=0 missing
plan
gang old quorum=2 created=9
	placed old*=2
drop pod old-0 old-1 old-2
pods 3 old gang=old cpu=1
gang old quorum=3 created=9
plan
node n1 cpu=3 memory=8
	placed other*=3  # the older one now
	placed old*=0

story deleted_after_the_start
# Bound members stay; new ones wait until there is a group again.
use placed 8
gang g quorum=0 missing
	gang g incomplete 3/1 of 3
pod more gang=g cpu=1
	why g: group missing
gang g quorum=4 created=9
	bind more n1
	gang g binding 4/4 of 4

story recreated_with_its_pods
# A new group of that name has nothing of the old one's state.
use placed 8
drop pod g-0 g-1 g-2
drop gang g
plan
skip
gang g quorum=2 created=9
pods 1 g gang=g cpu=1
	gang g incomplete 0/2 of 1
	why g: members 1 of 2

story deleted_while_it_is_being_bound
# Bindings in flight finish.
node n1 cpu=8 memory=64
gang g quorum=2
pods 2 g gang=g cpu=1
plan
skip
gang g quorum=0 missing
bound g-0 g-1
	gang g incomplete 2/1 of 2
gang g quorum=2
	gang g placed 2/2 of 2

story batch_17_a_replacement_starts_alone
# BATCH-17, and the same in every dialect: bound members count, so the replacement of a lost one
# starts alone.
use placed 3
drop pod g-1
	gang g incomplete 2/3 of 2
pod new gang=g cpu=1
	bind new n1
	gang g binding 3/3 of 3
bound new
	gang g placed 3/3 of 3

story batch_17_after_a_restart
# The same with a new frontend, which reports the bound members again.
use placed 3
begin
node n1 cpu=3 memory=64
gang g quorum=3 created=1
pods 2 g gang=g cpu=1 node=n1
pod new gang=g cpu=1
	bind new n1
	gang g binding 3/3 of 3

story a_member_is_deleted_after_the_start
# A member with a deletionTimestamp doesn't count, and uses its node until it is gone.
use placed 3
pod g-2 gang=g cpu=1 node=n1 deleting
	gang g incomplete 2/3 of 2
pod new gang=g cpu=1
	gang g waiting 2/3 of 3
	why g: room 0 of 1, 1 short of cpu, cpu 0 of 1000
drop pod g-2
	bind new n1
	gang g binding 3/3 of 3

story members_are_lost_with_their_node
# A node is deleted with the pods on it; the replacement needs a node.
node a b cpu=1 memory=8
gang g quorum=2
pods 2 g gang=g cpu=1
plan
confirm g*
drop pod g-1
drop node b
pod new gang=g cpu=1
	reason g: room
skip
node c cpu=1 memory=8
	bind new c
	gang g binding 2/2 of 2

story a_job_recreated_while_the_old_one_terminates
# Pods being deleted don't help new ones to the quorum.
use placed 8
pods 3 g gang=g cpu=1 node=n1 deleting
pods 2 new gang=g cpu=1
	gang g incomplete 0/3 of 2
	why g: members 2 of 3
pods 3 new gang=g cpu=1
	placed new*=3

story cm_18_one_member_reserves_nothing
# One of two members reserves nothing.
node n1 cpu=1 memory=64
gang g quorum=2 after_others
pod g-0 gang=g cpu=1
plan
pod plain cpu=1
	on plain=n1 g-0=-

story cm_20_a_gang_that_lost_a_member_reserves_nothing
# Neither does a gang that lost a member while it waited.
node n1 cpu=2 memory=64
gang g quorum=3 after_others
pods 3 g gang=g cpu=1
plan
drop pod g-1
plan
pod plain cpu=2
	on plain=n1
	placed g*=0

story the_backfill_reservation_ends_with_the_quorum
# A gang with a backfill reservation loses a member: the reservation ends.
node n1 cpu=2 memory=64
pod there cpu=1 node=n1
gang g quorum=2 created=1
pods 2 g gang=g cpu=1
ticks 30
	ledger held=1
pod plain cpu=1 created=5000
	on plain=-
drop pod g-0
	ledger held=0
	on plain=n1

story batch_12_members_with_different_requests
# A master without a GPU, workers with one each.
node n1 cpu=4 memory=8 gpu=2
gang g quorum=3
pod master gang=g cpu=1
pods 2 worker gang=g cpu=1 gpu=1
	placed *=3

story cos_9_the_sum_ignores_filters
# The sum for minResources ignores cordons, taints, selectors and fragmentation; the quorum counts
# as pods.
node a cpu=4 memory=8 cordoned
node b cpu=4 memory=8
gang g quorum=2 cpu=8
pods 2 g gang=g cpu=1
	placed g*=2
cluster
node a cpu=8 memory=8 pods=1
gang g quorum=2 cpu=2
pods 2 g gang=g cpu=1
	gang g waiting 0/2 of 2
	why g: min resources, pods 1 of 2

story cos_9_the_sum_grows
# A gang that waits for minResources is tried again when the sum grows.
node n1 cpu=8 memory=64
gang g quorum=2 cpu=10
pods 2 g gang=g cpu=1
	reason g: min resources
node n2 cpu=2 memory=8
	placed g*=2

story cos_10_after_the_start
# Once the quorum runs, minResources is met: more members need their own requests only.
node n1 cpu=4 memory=64
gang g quorum=2 cpu=4
pods 2 g gang=g cpu=1
plan
confirm g*
pod other cpu=1
plan
pod more gang=g cpu=1
	on more=n1
