#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Links the code of another version beside that of this tree: muster-sim-versions.
#
#   tests/sim/versions.sh COMMIT BUILD      into BUILD/bin, objects into BUILD/other
#
# The other version's core and frontend are compiled with this tree's simulator, whose net.c and
# instance.c use their structs; it has to be near enough for that.  A fault that it has and this tree
# has not any more fails a run as well.  Of all their names one stays visible, sim_version_other
# (version.c); what they call of the simulator and of apisim is this tree's.
set -eu
cd "$(dirname "$0")/../.."
[ $# -eq 2 ] || { echo "usage: versions.sh COMMIT BUILD; make sim-versions OTHER=COMMIT" >&2; exit 2; }
commit=$(git rev-parse --verify --quiet "$1^{commit}") || {
	echo "versions.sh: there is no commit $1 here" >&2
	exit 2
}
build=$2 other=$2/other
[ "$(cat "$other/commit" 2>/dev/null)" = "$commit" ] || rm -rf "$other"
mkdir -p "$other"
git archive "$commit" Makefile core frontend ipc | tar -x -m -C "$other" --skip-old-files
echo "$commit" >"$other/commit"
rm -rf "$other/tests"
mkdir -p "$other/tests/apisim"
cp -p -r tests/sim "$other/tests/"
cp -p tests/apisim/*.h "$other/tests/apisim/"

objects=()
for file in beside claims_sent fate instance net queues rings uses version; do objects+=("build/obj/tests/sim/$file.o"); done
libraries=(build/lib/libmuster-frontend.a build/lib/libmuster-core.a build/lib/libmuster-ipc.a)
make -C "$other" --no-print-directory -j2 LTO= B=build "${objects[@]}" "${libraries[@]}" >"$other/log" 2>&1 || {
	tail -n 20 "$other/log" >&2
	echo "versions.sh: this tree's simulator does not build on $1" >&2
	exit 1
}
(cd "$other" && ld -r -o whole.o "${objects[@]}" --start-group "${libraries[@]}" --end-group)
objcopy --keep-global-symbol=sim_version_other --redefine-sym sim_version=sim_version_other "$other/whole.o" "$other/version.o"
make -s --no-print-directory -j2 OTHER_VERSION="$other/version.o" "$build/bin/muster-sim-versions"
