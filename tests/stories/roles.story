# Gangs whose roles have quorums of their own.

story a_missing_role
# As many members as the quorum, but no leader.
node n1 cpu=8 memory=64
gang g quorum=3 role=leader:1 role=worker:2
pods 5 w gang=g role=worker cpu=1
	gang g incomplete 0/3 of 5
	why g: role leader 0 of 1
pod l gang=g role=leader cpu=2
	placed *=6

story the_role_with_most_missing_members
# Is the one in the reason.
node n1 cpu=8 memory=64
gang g quorum=2 role=a:1 role=b:4 role=c:2
pods 1 b gang=g role=b cpu=1
pods 1 x gang=g cpu=1
	reason g: role b 1 of 4

story the_role_goes_before_older_members
# Older workers beyond their role's quorum don't use the leader's place.
node n1 cpu=3 memory=64
gang g quorum=3 role=leader:1 role=worker:2
pods 5 w gang=g role=worker cpu=1
pod l gang=g role=leader cpu=1
	on l=n1
	placed w*=2
	reason g: room

story the_role_goes_before_easier_pod_classes
# The same with a leader that has another request.
node n1 cpu=4 memory=64
gang g quorum=3 role=leader:1 role=worker:2
pods 5 w gang=g role=worker cpu=1
pod l gang=g role=leader cpu=2
	on l=n1
	placed w*=2

story a_role_that_does_not_fit
# The quorum fits, and the leader doesn't.
node n1 cpu=6 memory=64
gang g quorum=3 role=leader:1 role=worker:2
pods 5 w gang=g role=worker cpu=1
pod l gang=g role=leader cpu=7
	gang g waiting 0/3 of 6
	why g: room 2 of 3, 1 short of cpu, cpu 2000 of 9000
node n2 cpu=7 memory=8
	placed *=6

story role_quorums_above_the_gang_s_quorum
# The quorums of the roles may add up to more than that of the gang.
node n1 cpu=2 memory=64
gang g quorum=1 role=leader:1 role=worker:2
pods 2 w gang=g role=worker cpu=1
pod l gang=g role=leader cpu=1
	gang g waiting 0/1 of 3
	why g: room 2 of 3, 1 short of cpu, cpu 2000 of 3000
node n1 cpu=3 memory=8
	placed *=3

story roles_that_share_a_pod_class_are_searched
# Either role could use the only pod class that fits twice; the plan by the easiest first fails,
# the search succeeds.
node a cpu=8 memory=2
node b cpu=1 memory=64
gang g quorum=4 role=first:2 role=second:2
pods 2 1-cores gang=g role=first cpu=4 memory=1
pods 2 1-memory gang=g role=first cpu_milli=500 memory=30
pods 2 2-cores gang=g role=second cpu=4 memory=1
	placed 1-memory*=2 2-cores*=2 1-cores*=0

story impossible_is_proved
# Two roles need the same two places: the reason is missing capacity, not a search that gave up.
node n1 cpu=8 memory=64
gang g quorum=4 role=first:2 role=second:2
pods 2 1 gang=g role=first cpu=4
pods 2 2 gang=g role=second cpu=4 memory=1
pods 2 x gang=g cpu=1
	placed *=0
	reason g: room

story a_lost_role_is_filled_first
# The replacement of a lost leader is placed alone, and no other member before it.
node n1 cpu=5 memory=64
gang g quorum=3 role=leader:1 role=worker:2
pods 4 w gang=g role=worker cpu=1
pod l gang=g role=leader cpu=1
plan
confirm *
drop pod l
pods 1 more gang=g role=worker cpu=1
	placed more*=0
	reason g: role
pod l2 gang=g role=leader cpu=1
	on l2=n1
	placed more*=0  # the node is full
confirm l2*
drop pod w-0
	placed more*=1

story state_and_counts_follow_changes
# The roles of a group and of its members change.
node n1 cpu=8 memory=64
gang g quorum=3 role=leader:1 role=worker:2
pods 2 w gang=g role=worker cpu=1
pod l gang=g role=leader cpu=1 gated
	reason g: gated
skip
# The group has other roles: members are counted again.
gang g quorum=2 role=worker:3
	gang g incomplete 0/2 of 3
	why g: role worker 2 of 3
# A member changes its role.
pod l gang=g role=worker cpu=1
	placed *=3
skip
confirm *
	gang g placed 3/2 of 3
pod l gang=g role=worker cpu=1 node=n1 deleting
	gang g incomplete 2/2 of 2
