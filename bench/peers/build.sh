#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the schedulers that bench/peers/compare.py runs, unmodified, from the modules of
# v*/go.mod into a cache outside the tree.
#
#   bench/peers/build.sh [PEER]...      all without one
#
# Prints a line for each: its name, its folder and its version, or its name, "-" and what went
# wrong; a peer that does not build keeps none of the others back.  In a folder are the
# programs and manifests/, the CRDs and settings of the same module, read at run time.
#
# A folder vNN has the peers that are built with Kubernetes 1.NN, as their own go.mod asks:
# its libraries are compiled once for all of them.  Fields: name, folder, module, its files
# to keep, then program=package.  go.mod alone decides what is built; go.sum verifies it.
#
#   PEERS_GOFLAGS   more flags of go, such as -p=1 for one compiler at a time
set -u
here=$(cd "$(dirname "$0")" && pwd)
parts='coscheduling v34 sigs.k8s.io/scheduler-plugins manifests scheduler=sigs.k8s.io/scheduler-plugins/cmd/scheduler
yunikorn v34 github.com/apache/yunikorn-k8shim conf scheduler=github.com/apache/yunikorn-k8shim/pkg/cmd/shim
kai v34 github.com/NVIDIA/KAI-scheduler deployments scheduler=github.com/NVIDIA/KAI-scheduler/cmd/scheduler binder=github.com/NVIDIA/KAI-scheduler/cmd/binder
volcano v34 volcano.sh/volcano installer/helm/chart/volcano scheduler=volcano.sh/volcano/cmd/scheduler
koordinator v28 github.com/koordinator-sh/koordinator config scheduler=github.com/koordinator-sh/koordinator/cmd/koord-scheduler'
cache=${XDG_CACHE_HOME:-$HOME/.cache}/muster/peers
go=$("$here/../../tests/real/build.sh" --go) || exit 1
export GOTOOLCHAIN=auto GOWORK=off CGO_ENABLED=0 GOFLAGS="-mod=readonly ${PEERS_GOFLAGS:-}"

build() { # FOLDER MODULE FILES PROGRAM=PACKAGE...
	folder=$1 module=$2 files=$3
	shift 3
	rm -rf "$folder"
	mkdir -p "$folder"
	for program in "$@"; do
		"$go" build -trimpath -buildvcs=false -ldflags '-s -w' -o "$folder/${program%%=*}" "${program#*=}" || return
	done
	directory=$("$go" list -m -f '{{.Dir}}' "$module") || return
	cp -R --no-preserve=mode "$directory/$files" "$folder/manifests" || return
	"$go" list -m -f '{{.Version}}' "$module" > "$folder/.ready"
}

# shellcheck disable=SC2046 # one word for each
[ $# -gt 0 ] || set -- $(echo "$parts" | cut -d' ' -f1)
mkdir -p "$cache"
exec 9> "$cache/lock"
for peer in "$@"; do
	line=$(echo "$parts" | grep "^$peer ") || {
		echo "peers/build.sh: no peer named $peer" >&2
		exit 2
	}
	# shellcheck disable=SC2086 # its words
	set -- $line
	cd "$here/$2" || exit 1
	folder=$cache/$peer-$(cksum < go.mod | cut -d' ' -f1)
	shift 2
	[ -e "$folder/.ready" ] || flock 9
	if [ ! -e "$folder/.ready" ]; then
		echo "peers/build.sh: building $peer, some minutes the first time" >&2
		if ! build "$folder" "$@" > "$cache/$peer.log" 2>&1; then
			tail -5 "$cache/$peer.log" >&2
			echo "$peer - it does not build: $(tail -1 "$cache/$peer.log")"
			continue
		fi
	fi
	echo "$peer $folder $(cat "$folder/.ready")"
done
