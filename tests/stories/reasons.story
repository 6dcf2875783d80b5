# The reasons that are reported for pods and gangs that wait, and sums that would overflow int64.

story filters_and_every_insufficient_resource
# A node counts under the first filter it fails; one that passes them, under each resource it
# lacks.
node a cpu=1 memory=1
node b cpu=8 memory=1 gpu=2
node c cpu=8 memory=8 taint=k:v cordoned
node d cpu=8 memory=8 taint=k:v
pod p cpu=2 memory=2 gpu=1
	why p: room 0 of 1, 2 short of memory, 1 cordoned, 1 tainted k:v, 1 short of cpu, 1 short of gpu, memory 0 of 2147483648

story too_many_pods
# A node's maximum number of pods.
node a cpu=8 memory=8 pods=1
pods 2 p cpu=1
	bind p-0 a
	why p-1: room 0 of 1, 1 short of pods, pods 0 of 1

story reported_again_when_it_changes
# New numbers at most every two seconds, another reason at once.
node n1 cpu=4 memory=64
gang g quorum=4
pods 4 g gang=g cpu=4
plan
skip
node n2 cpu=4 memory=64
	nothing
tick 2000
	why g: room 2 of 4, 2 short of cpu, cpu 8000 of 16000
tick 5000
	nothing
drop pod g-0
	gang g incomplete 0/4 of 3
	why g: members 3 of 4

story reported_again_for_a_new_member
# The numbers are the same, but the new pod has no condition yet.
node n1 cpu=4 memory=64
gang g quorum=3
pods 2 g gang=g cpu=1
	gang g incomplete 0/3 of 2
	why g: members 2 of 3
drop pod g-0
plan
pod g-0 gang=g cpu=1
	nothing
tick 2000
	why g: members 2 of 3
tick 5000
	nothing

story a_saturated_sum_never_fits
# A sum that reaches the end of int64 fits no pod, and releasing from it is exact.
node n1 cpu_milli=9223372036854775807 memory=8
pod huge-0 huge-1 cpu_milli=9223372036854775802 node=n1 foreign
pod p cpu_milli=1
	placed p*=0
	ledger saturated=1
drop pod huge-1
	on p=n1
pod q cpu_milli=5
	placed q*=0

story a_saturated_request_never_fits
# What a gang needs in sum ends at the end of int64 too.
node n1 cpu_milli=9223372036854775807 memory=8
gang g quorum=3
pods 3 g gang=g cpu_milli=9223372036854775807
	placed g*=0
	reason g: room 0 of 3, 1 short of cpu, cpu 0 of 9223372036854775807

story counts_members_of_every_class
# One leader of eight cores and four workers of one, on a node of five: four members fit.  The numbers
# are those of the gang, not of the leader.
node n1 cpu=5 memory=64
gang g quorum=5
pod leader gang=g cpu=8
pods 4 w gang=g cpu=1
	reason g: room 4 of 5, 1 short of cpu, cpu 4000 of 12000

story counts_what_the_other_members_leave
# Each class fits by itself, and not beside the other one.
node n1 cpu=4 memory=64
gang g quorum=3
pod big gang=g cpu=3
pods 2 w gang=g cpu=1
	reason g: room 2 of 3, 1 short of cpu, cpu 4000 of 5000

story counts_members_by_role
# Two workers fit, of which the quorum needs one.
node n1 cpu=2 memory=64
gang g quorum=2 role=leader:1 role=worker:1
pod l gang=g role=leader cpu=4
pods 2 w gang=g role=worker cpu=1
	reason g: room 1 of 2, 1 short of cpu, cpu 1000 of 5000

story says_what_a_large_and_small_members_lack_of_each_resource
# Memory is short for the workers alone, cores for the leader alone.
node n1 cpu=4 memory=4
gang g quorum=3
pod leader gang=g cpu=6 memory=1
pods 2 w gang=g cpu=1 memory=3
	reason g: room 1 of 3, 1 short of cpu, cpu 2000 of 8000, memory 4294967296 of 7516192768
