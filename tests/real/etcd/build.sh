#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the etcd of go.mod into a cache outside the tree, and prints its folder.
#
#   ETCD=new make test-real     with it; without it the tests use the etcd of the system, Debian 12's 3.4.23
#
# kube-apiserver has no streaming lists and no consistent reads from its cache over an etcd
# before 3.5.13.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
stamp=$(cat "$here/go.mod" "$here/go.sum" "$here/build.sh" | cksum | cut -d' ' -f1)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/muster/etcd-$stamp
if [ ! -x "$cache/etcd" ]; then
	echo 'etcd/build.sh: building etcd, a minute of two cores the first time' >&2
	go=$("$here/../build.sh" --go)
	mkdir -p "$cache"
	cd "$here"
	GOTOOLCHAIN=auto GOWORK=off GOFLAGS=-mod=readonly CGO_ENABLED=0 "$go" build -trimpath -buildvcs=false \
		-ldflags '-s -w' -o "$cache/etcd.new" go.etcd.io/etcd/server/v3 >&2
	mv "$cache/etcd.new" "$cache/etcd"
fi
echo "$cache"
