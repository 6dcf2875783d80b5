# Backfill reservations: a gang that waited for hold_ms (60 s here) reserves the nodes it needs, so
# that smaller pods can't delay it for ever; nothing is reserved for a gang that could never start.
# `ledger held` is the index of the gang that has the reservation + 1, `holds` how often one began;
# both change in a tick.
scene reserved_before_one
# A gang with a backfill reservation, and a pod behind it that could use the capacity.
node n1 cpu=4 memory=64
pod long cpu=2 node=n1
gang big quorum=3
pod first gang=big cpu=1 priority=10
pods 3 big gang=big cpu=1
ticks 30
	ledger held=1
pod one cpu=1 priority=5
	on one=-

scene five_on_four_cores
# A gang of five cores on a node of four: it could never start.
node n1 cpu=4 memory=8
pod there cpu=2 node=n1
gang huge quorum=5
pods 5 huge gang=huge cpu=1
ticks 30
	ledger holds=0

story leaves_what_the_gang_can_not_use
# Pods behind the gang may use what it can't, pods before it everything; all wait for it otherwise.
node n1 cpu=4 memory=8
node n2 cpu=5 memory=8
pod long cpu=2 node=n1
gang big quorum=4
pods 4 big gang=big cpu=2
ticks 30
	ledger held=1
skip
pod one cpu=1 created=5000
pod two cpu=1 created=5001
	on one=n2  # the gang fits twice on each node with and without it
	on two=-
	reason two: held 0 of 1 for big
# A pod before the gang in the queue may use everything.
pod first cpu=1 priority=10
	on first=n2
drop pod long first
	placed big*=4
	ledger held=0

story a_gang_of_unlike_members_behind_it_is_told_so
# Also one that no count of nodes tells about: by a plan without the reservation.
use reserved_before_one
gang mixed quorum=2
pod m-0 gang=mixed cpu=1 memory=1 created=5000
pod m-1 gang=mixed cpu=1 memory=2 created=5000
	on m-0=- m-1=-
	reason mixed: held
gang large quorum=2
pod l-0 gang=large cpu=1 memory=1 created=5000
pod l-1 gang=large cpu=2 memory=2 created=5000
	on l-0=- l-1=-
	reason large: room

story ends_with_its_frontend
node n1 cpu=2 memory=64
pod long cpu=1 node=n1
gang big quorum=1
pod big gang=big cpu=2
ticks 30
	ledger held=1
begin
check ledger held=0

story drains_no_more_nodes_than_needed_and_not_for_ever
# Only as many nodes as the gang needs are drained, those with the least usage; the others become
# free for smaller pods again, and the drained one after ten minutes if its pods don't end.
node n1 n2 cpu=3 memory=64
pods 2 a cpu=1 node=n1
pods 2 b cpu=1 node=n2
gang big quorum=1
pod big gang=big cpu=3
ticks 60
pods 2 small cpu=1 created=5000
	on small-0=n2 small-1=-
	reason small-1: held
tick 600000
	on small-1=n1
	ledger held=1

story not_for_a_gang_that_could_never_start
# Not before a node comes that makes it possible.
use five_on_four_cores
pod small cpu=2 created=5000
	on small=n1
node n2 cpu=2 memory=8
pod there2 cpu=2 node=n2
ticks 30
	ledger held=1

story not_for_min_resources_that_could_never_be_met
# The members would fit, but the cluster is smaller than minResources.
node n1 cpu=4 memory=8
node gone cpu=4 memory=8 absent
pod there cpu=2 node=n1
gang big quorum=4 cpu=5
pods 4 big gang=big cpu=1
ticks 30
	ledger holds=0
gang big quorum=4 cpu=4
ticks 30
	ledger held=1

story for_min_resources_ends
# minResources is more than what is reserved for the members, and a pod that doesn't end uses a
# part of it.
node n1 cpu=8 memory=64
pod there cpu=5 node=n1
gang big quorum=4 cpu=8
pods 4 big gang=big cpu=1
ticks 30
	ledger held=1
pod small cpu=1 created=5000
	on small=-
tick 605000
	on small=n1
	ledger held=0

story ends_for_a_pod_that_comes_before_the_group_now
# The group's priority drops below the pod's.
use reserved_before_one
gang big quorum=3 priority=1
	on one=n1
	ledger held=1

story ends_for_a_pod_when_the_first_member_leaves
# The member whose priority put the gang before the pod is deleted.
use reserved_before_one
drop pod first
	on one=n1
	ledger held=1

story ends_with_its_pod
# The reservation of a deleted pod ends at once, not with the next tick. The node is being drained
# for it.
node n1 cpu=4 memory=64
pod long cpu=2 node=n1
pod big cpu=4
ticks 60
pod one cpu=1 created=5000
	ledger held=258  # a lone pod: counted after the 256 groups
	on one=-
	reason one: held 0 of 1 for big
drop pod big
check ledger held=0
	on one=n1

story ends_with_its_group
# The same for a group and its pods.
node n1 cpu=4 memory=64
pod long cpu=2 node=n1
gang big quorum=3
pods 3 big gang=big cpu=1
ticks 30
pod one cpu=1 created=5000
	ledger held=1
	on one=-
drop pod big-0 big-1 big-2
drop gang big
check ledger held=0
	on one=n1

story reserves_whole_nodes_for_a_mixed_gang
# For a gang of several pod classes, whole nodes are reserved that any of them may use.
node n1 cpu=4 memory=8
node n2 cpu=4 memory=8 taint=other
pod there cpu=2 node=n1
gang mix quorum=2
pod mix-0 gang=mix cpu=3
pod mix-1 gang=mix cpu=1
ticks 30
	ledger held=1
pod small cpu=1 created=5000
pod there-too cpu=1 created=5000 tolerates=other
	on small=- there-too=n2
# The gang becomes incomplete: what was reserved is free again.
drop pod mix-0
	on small=n1
	ledger held=0

story checked_again_when_a_node_grows
# The node grows so that the gang could start.
use five_on_four_cores
node n1 cpu=5 memory=8
ticks 30
	ledger held=1

story checked_again_when_the_quorum_drops
# The quorum drops so that the gang could start.
use five_on_four_cores
gang huge quorum=4
ticks 30
	ledger held=1

story not_for_a_gang_whose_role_could_never_start
# The workers fit, and the leader that they need fits on no node.
node n1 cpu=4 memory=8
pod there cpu=2 node=n1
gang g quorum=3 role=leader:1
pods 4 w gang=g role=worker cpu=1
pod l gang=g role=leader cpu=5
ticks 30
	ledger holds=0
drop pod l
pod l2 gang=g role=leader cpu=3
ticks 30
	ledger held=1

story not_for_capacity_that_no_end_promises
# A pod that does not end by itself uses a core of each node: the gang of 20 cores could start on an
# empty cluster alone.
node n1 n2 n3 n4 cpu=5 memory=64
pod d-1 cpu=1 node=n1 lasts foreign
pod d-2 cpu=1 node=n2 lasts foreign
pod d-3 cpu=1 node=n3 lasts foreign
pod d-4 cpu=1 node=n4 lasts foreign
pods 2 a cpu=2 node=n1
gang big quorum=20
pods 20 big gang=big cpu=1
ticks 60
	ledger holds=0
	reason big: room 12 of 20, 4 short of cpu, cpu 12000 of 20000, no promise
pods 12 small cpu=1 created=5000
	placed small*=12
# It ends all the same.
drop pod d-1 d-2 d-3 d-4
ticks 2
	ledger held=1

story for_capacity_of_pods_that_end
# The same with pods that end.
node n1 n2 cpu=5 memory=64
pod d-1 cpu=1 node=n1 foreign
pod d-2 cpu=1 node=n2 foreign
gang big quorum=10
pods 10 big gang=big cpu=1
ticks 30
	ledger held=1

story ends_for_a_pod_that_lasts
# The reservation ends when such a pod comes, and begins again when it became one that ends.
node n1 cpu=4 memory=64
pod there cpu=1 node=n1
gang big quorum=4
pods 4 big gang=big cpu=1
ticks 30
	ledger held=1
pod there cpu=1 node=n1 lasts
ticks 1
	ledger held=0
	reason big: room 3 of 4, 1 short of cpu, cpu 3000 of 4000, no promise
pod there cpu=2 node=n1 lasts
ticks 1
	ledger held=0
pod there cpu=2 node=n1
ticks 1
	ledger held=1

story ends_after_an_hour
# Also for a gang that would fit; the next one gets its turn.
node n1 cpu=4 memory=64
pod there cpu=2 node=n1
gang a quorum=4 created=1
pods 4 a gang=a cpu=1
gang b quorum=3 created=2
pods 3 b gang=b cpu=1
ticks 30
	ledger held=1
tick 3500000
	ledger held=1
tick 200000
	ledger held=2

story whole_nodes_for_a_shrinking_share
# Half of the nodes that are in use are drained at a time, for ten minutes of the first twenty and
# five of the next.
node n1 n2 n3 n4 cpu=4 memory=64
pod t-1 cpu=1 node=n1
pod t-2 cpu=1 node=n2
pod t-3 cpu=1 node=n3
pod t-4 cpu=1 node=n4
gang big quorum=4
pods 4 big gang=big cpu=4
ticks 52
	ledger held=1
pods 6 small cpu=1 created=5000
	placed small*=6
	on small-0=n3 small-1=n4
drop pod small-0 small-1 small-2 small-3 small-4 small-5
tick 600000
pods 12 later cpu=1 created=5000
	placed later*=12
