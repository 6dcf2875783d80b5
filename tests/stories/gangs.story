# Placement of whole gangs. cos_N is scenario COS-N of docs/scenarios.md (coscheduling).
scene six_members CPU PLACED
# Of six members of three cores each, four have to start.
node n1 cpu=$CPU memory=8
gang g quorum=4
pods 6 g gang=g cpu=3
	placed g*=$PLACED

scene fourth_member CPU PLACED
# Three members are bound, a fourth one is created.
node n1 cpu=$CPU memory=8
gang g quorum=3
pods 3 g gang=g cpu=1
plan
confirm g*
pods 1 more gang=g cpu=1
	placed more*=$PLACED g*=3

scene gated_member QUORUM PLACED
# Of three members one is gated.
node n1 cpu=3 memory=8
gang g quorum=$QUORUM
pods 2 g gang=g cpu=1
pod gated gang=g cpu=1 gated
	placed g*=$PLACED
	reason g: gated
pod gated gang=g cpu=1
	placed g*=3

scene two_gangs FIRST OTHERS B
# The priorities of the first member of A, of its other members, and of those of B.
gang A B quorum=3 created=5
pod a0 gang=A cpu=1 priority=$FIRST
pod b0 gang=B cpu=1 priority=$B
pod a1 gang=A cpu=1 priority=$OTHERS
pod b1 gang=B cpu=1 priority=$B
pod a2 gang=A cpu=1 priority=$OTHERS
pod b2 gang=B cpu=1 priority=$B
node n1 cpu=4 memory=8
	placed a*=3 b*=0
confirm a*
drop pod a0 a1 a2
	placed b*=3

story starts_only_when_every_member_fits
# A gang gets no node while one member fits nowhere, and all of them in one cycle once the last
# node appears.
node n1 cpu=8 memory=8
gang train quorum=3
pods 3 train gang=train cpu=4
	gang train waiting 0/3 of 3
	why train: room 2 of 3, 1 short of cpu, cpu 8000 of 12000
node n2 cpu=4 memory=8
	bind train-0 n1
	bind train-1 n1
	bind train-2 n2
	gang train binding 3/3 of 3
bound train-0 train-1
	nothing
bound train-2
	gang train placed 3/3 of 3

story cos_1_members_beyond_the_quorum_wait
# Members beyond the quorum don't delay it.
node n1 cpu=9 memory=8
gang g quorum=3
pods 6 g gang=g cpu=3 memory_bytes=524288000
	bind g-0 n1
	bind g-1 n1
	bind g-2 n1
	gang g binding 3/3 of 6
	why g: room 0 of 1, 1 short of cpu, cpu 0 of 3000
confirm g*
	gang g placed 3/3 of 6

story cos_2_a_gang_that_does_not_fit_reserves_nothing
# Three of four fit: other pods may use the node meanwhile.
node n1 cpu=9 memory=8
gang g quorum=4
pods 6 g gang=g cpu=3
	placed *=0
pod plain cpu=9
	on plain=n1
	placed g*=0

story cos_3_as_many_members_as_fit
# Members beyond the quorum are placed as far as they fit.
use six_members 12 4
cluster
use six_members 15 5

story cos_4_the_gang_that_fits
# Of two gangs only one fits.
node n1 cpu=100 memory_bytes=300
gang pg1 quorum=3 created=1
gang pg2 quorum=4 created=2
pods 3 a gang=pg1 memory_bytes=50
pods 4 b gang=pg2 memory_bytes=100
	placed a*=3 b*=0

story cos_5_plain_pods_pass_an_incomplete_gang
# A gang without enough members doesn't delay other pods.
node n1 cpu=100 memory_bytes=300
gang few quorum=4
pods 3 few gang=few memory_bytes=50
pods 2 plain memory_bytes=100
	placed plain*=2 few*=0
	reason few: members 3 of 4

story cos_6_higher_priority_first
# The gang of higher priority is placed first, though it is younger.
gang mid quorum=3 created=1
pods 3 mid gang=mid memory_bytes=100 priority=100
gang high quorum=3 created=2
pods 3 high gang=high memory_bytes=50 priority=1000
	reason mid: no nodes
node late cpu=100 memory_bytes=300
	placed high*=3 mid*=0

story cos_7_plain_pods_of_higher_priority_first
# The same for pods without a gang.
gang mid quorum=3
pods 3 mid gang=mid memory_bytes=50 priority=100
pods 3 plain memory_bytes=100 priority=1000
plan
node late cpu=100 memory_bytes=300
	placed plain*=3 mid*=0

story cos_8_a_small_pod_uses_what_is_left
# What gangs that don't fit leave is free for others.
node n1 cpu=100 memory_bytes=300
gang pg1 quorum=3 created=1
gang pg2 quorum=4 created=2
gang pg3 quorum=4 created=3
pods 3 a gang=pg1 memory_bytes=50
pods 4 b gang=pg2 memory_bytes=100
pods 4 c gang=pg3 memory_bytes=100
	placed *=3
pod plain memory_bytes=150
	on plain=n1

story cos_9_min_resources
# A gang waits until the cluster has minResources free, also when each member would fit.
node n1 cpu=8 memory=8
gang g quorum=2 cpu=10
pods 2 g gang=g cpu=1
	gang g waiting 0/2 of 2
	why g: min resources, cpu 8000 of 10000
gang g quorum=2 cpu=2
	placed g*=2

story cos_10_own_usage_counts_as_free
# The requests of its own bound members count towards minResources.
node a b cpu=3 memory=8
gang g quorum=2 cpu=5
pod m1 gang=g cpu=2 node=a
pod other cpu=1 node=b foreign
plan
pod m2 gang=g cpu=2
	on m2=b

story overdrawn_nodes_count_as_full
# A node that is used beyond its capacity counts as full, not as a debt in the sum for
# minResources.
node a cpu=2 memory=8
node b cpu=4 memory=8
pod static cpu=9 node=a foreign
gang g quorum=2 cpu=4
pods 2 g gang=g cpu=2
	placed g*=2

story cos_11_ended_members_do_not_count
# A pod that has succeeded is no member any more.
node n1 cpu=6 memory=8
gang g quorum=6
pods 6 g gang=g cpu=1 gated
drop pod g-5  # it has succeeded
pods 5 g gang=g cpu=1
	placed g*=0
	reason g: members 5 of 6

story cos_12_a_small_gang_passes_a_big_one
# A younger gang that fits is placed before an older one that doesn't.
node a cpu=6 memory=8
node b c d cpu=2 memory=8
gang big quorum=6 created=1
pods 6 big gang=big cpu=4
gang small quorum=1 created=2
pods 1 small gang=small cpu=2
	placed small*=1 big*=0
	reason big: room 1 of 6

story cos_13_fragmented_capacity
# The sum is enough for minResources, but no node has four free GPUs for the second member.
node a cpu=64 memory=64 gpu=6
node b c d cpu=64 memory=64 gpu=2
gang g quorum=3 gpu=12
pods 3 g gang=g gpu=4
	gang g waiting 0/3 of 3
	why g: room 1 of 3, 4 short of gpu, gpu 4 of 12
pod plain gpu=6
	on plain=a

story cos_14_the_group_comes_later
# Pods that name a group wait for its object.
node n1 cpu=3 memory=8
gang g quorum=0 missing
pods 3 g gang=g cpu=1
	gang g incomplete 0/1 of 3
	why g: group missing
gang g quorum=3
	placed g*=3

story cos_15_the_last_member_comes_later
# A gang with too few members waits for more.
node n1 cpu=3 memory=8
gang g quorum=3
pods 2 g gang=g cpu=1
	gang g incomplete 0/3 of 2
	why g: members 2 of 3
pods 3 g gang=g cpu=1
	placed g*=3

story cos_16_a_fourth_member
# A member that comes after the start is placed alone, if it fits.
use fourth_member 3 0
cluster
use fourth_member 4 1

story cos_17_never_two_halves
# Two gangs of the same age: one is placed whole, then the other, also when members differ in
# priority.
use two_gangs 0 0 0
cluster
use two_gangs 1000 100 500

story cos_18_one_node_too_few
# Nine of ten fit; the missing node brings them all.
node n1 cpu=9 memory=8
gang g quorum=10
pods 10 g gang=g cpu=1
	placed g*=0
	reason g: room 9 of 10
node n2 cpu=1 memory=8
	placed g*=10

story cos_19_a_node_is_deleted_while_the_gang_waits
# The plan uses the nodes of today.
node a b cpu=2 memory=8
gang g quorum=4
pods 3 g gang=g cpu=1
pod g-z gang=g cpu=1 zone=z
	gang g waiting 0/4 of 4
	why g: room 3 of 4, 2 not selected, cpu 3000 of 4000, pods 3 of 4
drop node b
plan
node c cpu=3 memory=8 zone=z
	placed g*=4
	on g-z=c

story cos_20_recreated_with_the_same_names
# Members and group are deleted and created again: still two pods for a node of one core.
node n1 cpu=1 memory=8
gang g quorum=2
pods 2 g gang=g cpu=1
plan
gang g quorum=0 missing
plan
drop pod g-0 g-1
drop gang g
plan
gang g quorum=2
pods 2 g gang=g cpu=1
	placed g*=0

story cos_21_scheduling_gates
# A gated member doesn't count towards the quorum, and starts once its gates are gone.
use gated_member 2 2
cluster
use gated_member 3 0

story cos_22_groups_of_two_namespaces
# Groups of the same name in two namespaces are two gangs, each with too few members.
node n1 cpu=9 memory=8
gang x/g y/g quorum=2
pod x/p gang=x/g cpu=1
pod y/p gang=y/g cpu=1
	placed *=0

story cos_24_an_incomplete_gang_reserves_nothing
# A gang that lost a member while it waited has no reservation.
node n1 cpu=3 memory=8
gang g quorum=4
pods 3 g gang=g cpu=1
pod g-z gang=g cpu=1 zone=nowhere
plan
drop pod g-1
plan
pod plain cpu=3
	on plain=n1
	placed g*=0

story cos_25_rolls_forward_after_a_refused_binding
# Only the member whose binding failed is tried again, after a backoff that doubles; the others
# stay bound.
node n1 cpu=3 memory=8
gang g quorum=3
pods 3 g gang=g cpu=1
plan
skip
bound g-0 g-1
refused g-2
	gang g waiting 2/3 of 3
	why g: bind refused
tick 999
	nothing
tick 1
	bind g-2 n1
	gang g binding 3/3 of 3
refused g-2
tick 1999
	placed g*=2
plan after 1
bound g-2
	placed g*=3

story replacements_start_together
# Replacements of lost members are placed once the quorum can be reached again.
node n1 cpu=4 memory=8
gang g quorum=4
pods 4 g gang=g cpu=1
plan
confirm g*
drop pod g-0 g-1
pods 1 new gang=g cpu=1
	placed new*=0
	reason g: members
pods 2 new gang=g cpu=1
	placed new*=2

story members_being_deleted_do_not_count
# A member with a deletionTimestamp doesn't count, but uses its node until it is gone.
node n1 cpu=4 memory=8
gang g quorum=2
pods 2 old gang=g cpu=2 node=n1 deleting
pods 1 new gang=g cpu=1
	reason g: members 1 of 2
pods 2 new gang=g cpu=1
	placed new*=0
drop pod old-0
	placed new*=2

story the_hardest_member_first
# In a gang of several pod classes, the one with fewest nodes is planned first.
node a cpu=8 memory=8
node b cpu=4 memory=8
gang g quorum=3
pods 2 small gang=g cpu=2
pod large gang=g cpu=8
	on large=a
	placed small*=2

story a_packing_found_by_search
# By score, the two large members would go to two nodes and the last small one would not fit.
node a b cpu=6 memory=8
gang g quorum=5
pods 2 three gang=g cpu=3
pods 3 two gang=g cpu=2
	placed *=5
	on three-0=a three-1=a

story the_search_gives_up_and_is_repeated
# 31 members, no packing, and too many to try: the search ends, says so, and is repeated later.
node n00 n01 n02 n03 n04 n05 n06 n07 n08 n09 n10 n11 cpu=6 memory=8
gang g quorum=31
pods 12 three gang=g cpu=3
pods 19 two gang=g cpu=2
	placed *=0
	reason g: gave up
node n12 cpu=6 memory=8
plan
tick 2000
	placed *=31

story impossible_is_proved
# The search proves that there is no packing: the reason is missing capacity, not a search that
# gave up.
node a b cpu=9 memory=8
gang g quorum=5
pods 3 five gang=g cpu=4
pods 2 four gang=g cpu=3
	placed *=0
	reason g: room

story a_quorum_without_the_large_member
# A quorum of the small members starts without the large one.
node a cpu=4 memory=8
gang g quorum=2
pod large gang=g cpu=8
pods 2 small gang=g cpu=2
	placed small*=2 large*=0

story a_quorum_found_by_search
# The two members with the most nodes don't fit together; two others do.
node a cpu=10 memory=10
gang g quorum=2
pod both gang=g cpu=5 memory=5
pod cores gang=g cpu=6 memory=1
pod memory gang=g cpu=1 memory=6
	on cores=a memory=a both=-
