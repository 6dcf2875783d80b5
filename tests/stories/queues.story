# Queues by records: they come, change and go while gangs wait and run.  Amounts of queues are cpu in milli; after each
# record core_valid() counts again what queues use.  "why g: queue BY at ID" has the number of enum queue_by.
scene tree
queue root id=0
queue a id=1 limit=4000
queue b id=2
node n1 cpu=8 memory=64

story a_limit_and_its_end
use tree
pods 5 p cpu=1 queue=1
plan
	bind p-0 n1
	bind p-1 n1
	bind p-2 n1
	bind p-3 n1
	why p-4: queue 1 at 1, cpu 0 of 1000
bound p-0
drop pod p-0
plan
	bind p-4 n1

story a_limit_is_lowered_and_raised
# QUE-11: what runs goes on.
use tree
pods 3 p cpu=1 queue=1
plan
	bind p-0 n1
	bind p-1 n1
	bind p-2 n1
queue a id=1 limit=1000
pod q cpu=1 queue=1
plan
	why q: queue 1 at 1, cpu 0 of 1000
queue a id=1 limit=4000
plan
	bind q n1

story a_queue_is_removed_and_made_again
# QUE-12: what waits has no queue, what runs counts at the root until the queue is there again.
use tree
queue a id=1 limit=1000
pods 2 p cpu=1 queue=1
plan
	bind p-0 n1
	why p-1: queue 1 at 1, cpu 0 of 1000
queue a id=1 gone
plan after 3000
	why p-1: queue 5 at -1
queue a id=1 limit=2000
plan
	bind p-1 n1

story a_parent_that_is_missing_parks_the_subtree
use tree
queue c id=3 parent=4
queue d id=5 parent=3
pod p cpu=1 queue=5
plan
	why p: queue 9 at 5
queue up id=4
plan
	bind p n1

story a_cycle_parks_both
use tree
queue c id=3 parent=4
queue d id=4 parent=3
pod p cpu=1 queue=4
plan
	why p: queue 9 at 4
queue c id=3
plan
	bind p n1

story without_the_root_queues_are_not_read
queue a id=1 limit=1000
node n1 cpu=8 memory=64
pods 2 p cpu=1 queue=1
plan
	bind p-0 n1
	bind p-1 n1

story a_pod_moves_to_another_queue
use tree
queue a id=1 limit=1000
pods 2 p cpu=1 queue=1
plan
	bind p-0 n1
	why p-1: queue 1 at 1, cpu 0 of 1000
pod p-0 cpu=1 queue=2 node=n1
plan
	bind p-1 n1

story members_that_are_not_alike_can_start_as_long_as_some_fit
# No node has room for s2, so the plan has the large one: the limit is told, not that the gang never starts.
use tree
queue a id=1 limit=3000
gang g quorum=2
pod big gang=g cpu=3 queue=1
pod s1 gang=g cpu=1 queue=1
pod s2 gang=g cpu=1 memory=99 queue=1
plan
	gang g waiting 0/2 of 3
	why g: queue 1 at 1, cpu 3000 of 4000

story of_unlike_members_those_start_that_the_queue_lets
use tree
queue a id=1 limit=3000
gang g quorum=2
pod big gang=g cpu=3 queue=1
pod s1 gang=g cpu=1 queue=1
pod s2 gang=g cpu=1 queue=1
plan
	bind s1 n1
	bind s2 n1
	gang g binding 2/2 of 3
	why g: room 0 of 1
	why g: queue 1 at 1, cpu 1000 of 3000

story a_fifo_queue_whose_first_gang_is_another_now
# b, which never fits, is the first; its priority is lowered, so c is.
queue root id=0
queue a id=1 fifo
node n1 cpu=4 memory=64
gang b quorum=8 priority=5
pods 8 b gang=b cpu=1 queue=1
pod c cpu=1 queue=1
plan
	placed c*=0
plan after 5000
	placed c*=0
gang b quorum=8 priority=-5
plan after 5000
	placed c*=1
