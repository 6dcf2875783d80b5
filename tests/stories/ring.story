# Reservations whose commands are still to be sent because the command ring is full, and what
# happens to the cluster meanwhile: nothing is sent that leaves a gang in part or a node
# overcommitted.
scene reserved QUORUM
# A gang whose members of one core each are all reserved; no command is sent.
node n1 cpu=64 memory=64
gang g quorum=$QUORUM
pods $QUORUM g gang=g cpu=1
ring 0
synced
plan once
	nothing

scene first_is_sent
use reserved 3
ring 1
plan
skip

story commands_wait_for_space_and_none_is_lost
# The core plans no other pod before all commands of a gang are sent.
node n1 cpu=64 memory=64
gang g quorum=5
pods 5 g gang=g cpu=1
pod z cpu=1
ring 2
	bind g-0 n1
	bind g-1 n1
	wants plan
plan once
	nothing
repeat 3
ring 1
plan
end
	bind g-2 n1
	bind g-3 n1
	bind g-4 n1
ring 1
	gang g binding 5/5 of 5
ring any
	bind z n1
	wants nothing

story a_member_is_deleted_before_any_is_sent
# The plan is cancelled: the whole reservation is released.
node n1 cpu=64 memory=64
gang g quorum=3
pods 3 g gang=g cpu=1
ring 0
synced
plan once
drop pod g-1
ring any
	placed g*=0
	reason g: members
	fits cpu=64

story a_member_is_deleted_after_one_was_sent
# A gang that is sent in part rolls forward: the rest is sent.
node n1 cpu=64 memory=64
gang g quorum=3
pods 3 g gang=g cpu=1
ring 1
plan
drop pod g-1
ring any
	placed g*=2
pod g-3 gang=g cpu=1
	placed g*=3

story a_node_is_deleted_before_its_binding_is_sent
# The plan is cancelled.
node n1 n2 cpu=2 memory=64
gang g quorum=2
pods 2 g gang=g cpu=2
ring 0
synced
plan once
drop node n1
ring any
	placed g*=0
node n3 cpu=2 memory=64
	placed g*=2

story a_member_moves_to_another_gang
# The plan is cancelled.
use reserved 3
gang h quorum=2
pod g-1 gang=h cpu=1
ring any
	placed g*=0

story a_member_leaves_its_gang
# It is placed alone; the rest has too few members.
use reserved 3
pod g-1 cpu=1
ring any
	placed g-1*=1 g*=1

story the_quorum_is_raised
# The plan is cancelled until there are enough members.
use reserved 3
gang g quorum=4
ring any
	placed g*=0
pod g-3 gang=g cpu=1
	placed g*=4

story the_group_is_deleted_and_comes_back
# The plan is cancelled until there is a group.
use reserved 3
gang g quorum=3 missing
ring any
	placed g*=0
	reason g: group missing
gang g quorum=3
	placed g*=3

story the_group_is_deleted_when_a_part_was_sent
# One binding was sent: the rest follows.
use reserved 3
ring 1
plan
gang g quorum=3 missing
ring any
	placed g*=3

story the_group_s_spec_changes
# Bindings carry the spec_id they were planned for; the frontend refuses those of an old one.
node n1 cpu=64 memory=64
gang g quorum=2 spec=1
pods 2 g gang=g cpu=1
ring 1
plan
gang g quorum=2 spec=2
ring any
	placed g*=2
	spec g-0=1 g-1=1
pod g-2 gang=g cpu=1
	spec g-2=2

story the_only_one_that_was_sent_ends
# The one binding that was sent comes to nothing: the rest would be half a gang.
use first_is_sent
drop pod g-0
ring any
	placed g*=0
cluster
use first_is_sent
refused g-0
ring any
	placed g*=0
cluster
use first_is_sent
bound g-0
drop pod g-0
ring any
	placed g*=0

story the_node_is_cordoned
# The plan is cancelled.
use reserved 3
node n1 cpu=64 memory=64 cordoned
ring any
	placed g*=0

story the_node_shrinks
# The plan is cancelled, and made again when a second node has the missing core.
use reserved 3
node n1 cpu=2 memory=64
ring any
	placed g*=0
node n2 cpu=1 memory=64
	placed g*=3

story the_node_still_fits
# A node that changes and still fits keeps its reservations, also when another one scores higher
# now.
use reserved 3
node n2 cpu=99 memory=99  # scores higher now
node n1 cpu=3 memory=64
ring any
	on g-0=n1 g-2=n1
