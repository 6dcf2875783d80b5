#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the controllers of go.mod, unmodified, into a cache outside the tree, and
# prints its folder.  PART/manifests there are the CRDs and webhooks of the same module.
#
#   tests/real/controllers/build.sh [PART]...      all without one
#
# Their sources are their own; their k8s.io libraries are all of one version, so
# that they are compiled once.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
parts='jobset sigs.k8s.io/jobset . config/components
lws sigs.k8s.io/lws cmd config
mpi-operator github.com/kubeflow/mpi-operator cmd/mpi-operator manifests/base
trainer github.com/kubeflow/trainer/v2 cmd/trainer-controller-manager manifests/base
kuberay github.com/ray-project/kuberay/ray-operator . config
kueue sigs.k8s.io/kueue cmd/kueue config/components'
stamp=$(cat "$here/go.mod" "$here/go.sum" "$here/build.sh" | cksum | cut -d' ' -f1)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/muster/controllers-$stamp
go=$("$here/../build.sh" --go)
export GOTOOLCHAIN=auto GOWORK=off GOFLAGS=-mod=readonly CGO_ENABLED=0
[ $# -gt 0 ] || set -- jobset lws mpi-operator trainer kuberay kueue
cd "$here"
for part in "$@"; do
	line=$(echo "$parts" | grep "^$part ") || {
		echo "controllers/build.sh: no part named $part" >&2
		exit 2
	}
	[ ! -e "$cache/$part/.ready" ] || continue
	# shellcheck disable=SC2086 # its words
	set -- $line
	echo "controllers/build.sh: building $part, some minutes the first time" >&2
	rm -rf "${cache:?}/$part"
	mkdir -p "$cache/$part"
	"$go" build -trimpath -buildvcs=false -ldflags '-s -w' -o "$cache/$part/$part" "$(echo "$2/$3" | sed "s,/\.$,,")" >&2
	cp -R --no-preserve=mode "$("$go" list -m -f '{{.Dir}}' "$2")/$4" "$cache/$part/manifests"
	: > "$cache/$part/.ready"
done
echo "$cache"
