# From a reservation to a bound pod: results of bindings, and changes of pods and nodes meanwhile.

story no_plan_before_the_lists_are_complete
# Until EVENT_SYNCED the core doesn't plan.
node n1 cpu=4 memory=64
pod a cpu=1
check wants nothing
plan once
	nothing
plan
	bind a n1
	wants nothing

story refused_releases_the_reservation
# The pod is tried again after retry_ms.
node n1 cpu=4 memory=64
pod a cpu=4
plan
	full cpu=4
refused a retry_ms=5000
	fits cpu=4
skip
tick 4900
	placed a*=0
tick 200
	on a=n1

story unknown_keeps_the_reservation
# A binding without an answer may still land, so its reservation stays until the result is known.
node n1 cpu=4 memory=64
pod a cpu=4
plan
unknown a
tick 60000
	full cpu=1
refused a
	fits cpu=4

story bound_keeps_the_reservation_until_the_pod_is_deleted
node n1 cpu=4 memory=64
pod a cpu=4
plan
bound a
	full cpu=1
# The watch lags behind: the pod is still pending there.
pod a cpu=4
	full cpu=1
confirm a
	full cpu=1
drop pod a
	fits cpu=4

story accepted_is_counted_once
# A binding counts once, by its result or by the watch event, whichever comes first.
node n1 cpu=4 memory=64
node n2 cpu=4 memory=64
pods 3 a cpu=2
	on a-2=n1
	ledger binds_sent=3
confirm a-0
	ledger binds_accepted=1
bound a-0 a-1
confirm a-1 a-1
	ledger binds_accepted=2
# Bound by another scheduler to another node: not the binding that was sent.
pod a-2 cpu=2 node=n2
	ledger binds_accepted=2

story bound_elsewhere_moves_the_usage
# Another scheduler bound the pod to another node: the usage moves there.
node n1 cpu=4 memory=64
pod a cpu=4
	on a=n1
node n2 cpu=4 memory=64
pod a cpu=4 node=n2
pod b cpu=4
	on b=n1
pod c cpu=1
	placed c*=0
# The late result changes nothing.
refused a
	placed c*=0

story another_pod_of_the_same_name
# A pod is deleted while its binding is in flight, and created again with another request.
node n1 cpu=4 memory=64
pod a cpu=4
plan
drop pod a
	fits cpu=4
pod a cpu=3
	on a=n1
	fits cpu=1

story a_pod_changes_its_request
# In-place resize: the usage of its node follows.
node n1 cpu=4 memory=64
pod a cpu=4 node=n1
plan
	full cpu=1
pod a cpu=2 node=n1
	fits cpu=2
	full cpu=3

story pods_being_deleted_use_their_node
# They use it until they are gone, and are not planned.
node n1 cpu=4 memory=64
pod a cpu=4 node=n1 deleting
pod b cpu=1 deleting
	nothing
	full cpu=1
drop pod a
	fits cpu=4

story pods_that_are_not_planned
# Gated, refused by the frontend, of another scheduler, and of a refused group.
node n1 cpu=4 memory=64
pod gated cpu=1 gated
pod refused cpu=1 refused
pod foreign cpu=1 foreign
gang bad quorum=1 refused
pod bad-0 cpu=1 gang=bad
	placed *=0
	reason gated: gated
	reason refused: refused
	reason bad: refused
	reason foreign: none

story a_node_is_deleted_while_a_binding_is_in_flight
# The core waits for the result before it plans the pod again.
node n1 cpu=2 memory=64
pod a cpu=2
plan
drop node n1
node n2 cpu=2 memory=64
	on a=n2  # n2 has the slot of n1 in the tables; no command was sent for it
	bind a n1
refused a retry_ms=1
tick 2
	bind a n2

story a_node_without_object_gets_no_pods
# A pod names its node before the node's object is known.
node ghost absent
pod old cpu=1 node=ghost foreign
pod a cpu=1
	why a: no nodes
node ghost cpu=2 memory=8
	on a=ghost
	full cpu=1
node ghost absent
drop pod old
plan

story cordons_taints_and_labels_change
# Each change of a node is a reason to try the pods that wait.
node n1 cpu=4 memory=64
node n1 cpu=4 memory=64 cordoned
pod a cpu=1
	why a: room 0 of 1, 1 cordoned, cpu 0 of 1000, pods 0 of 1
node n1 cpu=4 memory=64 taint=dedicated:x
	placed a*=0
pod b cpu=1 tolerates=dedicated:x
	on b=n1
node n1 cpu=4 memory=64
	on a=n1
pod c cpu=1 zone=z
	placed c*=0
node n1 cpu=4 memory=64 zone=z
	on c=n1
