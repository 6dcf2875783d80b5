#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Shows every include that points the wrong way:
#
#   frontend -> ipc <- core      ctl, bench, tests -> anything, nothing -> them
#
# and the rule that goes with it: apisim shares nothing with what it judges.
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
needed() { readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\.so.*/\1/p' | sort; }
for program in build/bin/*; do
	[ -x "$program" ] || continue
	needed "$program" | grep -qx libjemalloc || { echo "$program was not linked with jemalloc"; bad=1; }
done
if [ -x build/bin/muster-core ]; then
	found=$(needed build/bin/muster-core | grep -vxE 'lib(c|m|jemalloc|seccomp)')
	[ -n "$found" ] && { printf 'muster-core may not be linked with:\n%s\n' "$found"; bad=1; }
fi
[ "$bad" -eq 0 ] && echo 'layers: ok: frontend -> ipc <- core'
exit "$bad"
