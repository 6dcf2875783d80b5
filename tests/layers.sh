#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Shows every include that points the wrong way:
#
#   frontend -> ipc <- core      ctl, bench, tests -> anything, nothing -> them
#
# and inside core, frontend and ctl every include of a folder that is higher in
# their order, which docs/architecture.md draws.  The rule that goes with it: apisim
# shares nothing with what it judges.
# Of programs that are built, what they were linked with: all have jemalloc, the
# core no network.  (The C library's allocator opens a file now and then, for
# which the core's filter would end it.)
set -u
cd "$(dirname "$0")/.." || exit 2
bad=0
check() { # FOLDER ALLOWED-REGEX
	found=$(grep -rnE '#include "' "$1" --include='*.[ch]' 2>/dev/null | grep -vE "#include \"($2)/")
	if [ -n "$found" ]; then
		printf '%s may not include:\n%s\n' "$1" "$found"
		bad=1
	fi
}
check ipc 'ipc'
check core 'core|ipc'
check frontend 'frontend|ipc'
check ctl 'ctl|frontend|core|ipc'
check bench 'bench|ctl|frontend|core|ipc'
check tests/apisim 'tests/apisim'
found=$(grep -rnE '#include <(curl|cjson|microhttpd|sys/socket|netinet)' core --include='*.[ch]' | grep -vE '^core/(main|daemon/control)\.')
[ -n "$found" ] && { printf 'the core touches no network and no JSON:\n%s\n' "$found"; bad=1; }
found=$(grep -rnE 'ipc/clock\.h|clock_gettime' core --include='*.[ch]' | grep -v '^core/daemon/')
[ -n "$found" ] && { printf 'of the core only its daemon reads a clock:\n%s\n' "$found"; bad=1; }
# FOLDER, then its own folders from the bottom up: a file includes its own or a lower one.  The files
# of FOLDER itself are above them, but for a header of its name, whose types all of them may use.
upward() {
	root=$1
	shift
	grep -rnoE "#include \"$root/[^\"]*\"" "$root" --include='*.[ch]' | awk -v root="$root" -v order="$*" '
		BEGIN {
			n = split(order, name, " ")
			for (i = 1; i <= n; i++) rank[name[i]] = i
			depth = split(root, part, "/") + 1
			face = root "/" part[depth - 1] ".h"
		}
		function level(path,    part) { return split(path, part, "/") > depth ? rank[part[depth]] : n + 1 }
		{
			split($0, at, ":")
			match($0, /"[^"]*"/)
			header = substr($0, RSTART + 1, RLENGTH - 2)
			if (header == face) next
			if (!level(at[1]) || !level(header) || level(header) > level(at[1])) print at[1] ":" at[2] ": " header
		}'
}
layers() {
	found=$(upward "$@")
	[ -n "$found" ] && { printf 'includes of a higher layer of %s:\n%s\n' "$1" "$found"; bad=1; }
}
# The rule finds what it should: an include put in on purpose, in a folder of its own.
scratch=$(mktemp -d) || exit 2
mkdir -p "$scratch/core/low" "$scratch/core/high"
echo '#include "core/high/b.h"' > "$scratch/core/low/a.h"
echo '#include "core/low/a.h"' > "$scratch/core/high/b.h"
found=$(cd "$scratch" && upward core low high)
rm -r "$scratch"
[ "$found" = 'core/low/a.h:1: core/high/b.h' ] || { echo "an include of a higher layer was not found: '$found'"; bad=1; }

# state.h is struct core: what lies below lifecycle/ gets the parts that it uses as arguments.
found=$(grep -rn '#include "core/lifecycle/state.h"' core --include='*.[ch]' | grep -vE '^core/(lifecycle|cycle|step|search|world)/')
[ -n "$found" ] && { printf 'only lifecycle, cycle, step, search and world may see struct core:\n%s\n' "$found"; bad=1; }
found=$(grep -rnE '#include "(core|frontend)/' ctl bench --include='*.[ch]' | grep -vE \
	'"core/(step/core|cycle/turn_order|share/share|search/search|world/feed|world/follower|world/search_again|base/config|filter/evaluate|devices/(choice|shares)|shm/records|daemon/(loop|policy|recording))\.h"|"frontend/(base|json|cel|trace|api|queues|decode|dialect|volume|devices|model|report|config)/')
[ -n "$found" ] && { printf 'ctl and bench use the public headers of core, and of frontend no I/O:\n%s\n' "$found"; bad=1; }

layers core base pack share devices shm cluster classes filter index queue plan timeline lifecycle cycle step search world daemon
layers frontend base json cel trace api journal decode queues dialect volume devices model watch bind evict report serve loop page config daemon
layers frontend/model base nodes pods shapes groups put flush
layers ctl term objects gpus up offline live devices preempt diagnose replay
needed() { readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\.so.*/\1/p' | sort; }
for program in build/bin/*; do
	[ -x "$program" ] || continue
	needed "$program" | grep -qx libjemalloc || { echo "$program was not linked with jemalloc"; bad=1; }
done
if [ -x build/bin/muster-core ]; then
	found=$(needed build/bin/muster-core | grep -vxE 'lib(c|m|jemalloc|seccomp|urcu-memb|urcu-common)')
	[ -n "$found" ] && { printf 'muster-core may not be linked with:\n%s\n' "$found"; bad=1; }
fi
[ "$bad" -eq 0 ] && echo 'layers: ok: frontend -> ipc <- core'
exit "$bad"
