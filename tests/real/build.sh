#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the real parts of Kubernetes that the tests run muster against, from
# the Go modules that k8s/go.mod names, into a cache outside the tree.
#
#   tests/real/build.sh [kube-apiserver|kube-scheduler|kube-controller-manager]...
#   tests/real/build.sh --go      only prints a go that is new enough
#
# kube-apiserver by default.  The first build takes some minutes of two cores,
# a later call milliseconds.  Prints the folder with the programs on standard
# output, progress on standard error.
#
#   KUBE               another version of Kubernetes than that of k8s/go.mod, 1.34.4 for example; its modules are
#                      resolved anew in the cache, and verified by the checksum database alone
#   MUSTER_K8S_CACHE   where to build, ${XDG_CACHE_HOME:-~/.cache}/muster/k8s-VERSION
set -eu
here=$(cd "$(dirname "$0")" && pwd)
version=$(sed -n 's/.*[[:space:]]k8s.io\/kubernetes v\([0-9.]*\).*/\1/p' "$here/k8s/go.mod")
[ -n "$version" ] || { echo "build.sh: k8s/go.mod names no k8s.io/kubernetes" >&2; exit 2; }
ours=$version
version=${KUBE:-$version}
case $version in
1.[0-9]*.[0-9]*) ;;
*)
	echo "build.sh: KUBE=$version: not a version such as $ours" >&2
	exit 2
	;;
esac
cache=${MUSTER_K8S_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/muster/k8s-$version}
toolchain=go1.26.8 # what a go that cannot fetch one by itself gets

[ $# -gt 0 ] || set -- kube-apiserver
for part in "$@"; do
	case $part in
	kube-apiserver | kube-scheduler | kube-controller-manager | --go) ;;
	*)
		echo "build.sh: no part named $part" >&2
		exit 2
		;;
	esac
done

# A program is current when the files that decide how it is built have not
# changed since.
stamp=$(cat "$here/k8s/go.mod" "$here/k8s/go.sum" "$here/build.sh" | cksum)
module=$here/k8s
is_current() { # PART
	[ -x "$cache/$1" ] && [ "$(cat "$cache/$1.stamp" 2>/dev/null)" = "$stamp" ]
}

# Only go 1.21 and later can fetch the toolchain that a module asks for.
# Debian 12 has 1.19: it fetches the same toolchain as the plain module that
# it is.  A module keeps no mode bits and no nested go.mod, so both are put
# right here, as a newer go does by itself.
bootstrap_go() { # prints the path of a go that is new enough
	arch=$(go env GOARCH)
	module=golang.org/toolchain@v0.0.1-$toolchain.linux-$arch
	root=$cache/mod/$module
	if [ ! -e "$root/.ready" ]; then
		say "fetching $toolchain"
		mkdir -p "$cache/mod"
		(
			cd "$cache/mod"
			GOFLAGS=-modcacherw GO111MODULE=on GOMODCACHE="$cache/mod" go mod download "$module"
		) >&2
		chmod 755 "$root"/bin/* "$root"/pkg/tool/*/*
		find "$root" -name _go.mod | while read -r file; do
			mv "$file" "$(dirname "$file")/go.mod"
		done
		: > "$root/.ready"
	fi
	echo "$root/bin/go"
}

choose_go() {
	command -v go > /dev/null || {
		echo 'build.sh: no go on PATH; run deploy/install-deps.sh real' >&2
		exit 1
	}
	minor=$(go version | sed -n 's/.* go1\.\([0-9]*\).*/\1/p')
	if [ "${minor:-0}" -ge 21 ]; then
		echo go
	else
		bootstrap_go
	fi
}

say() { echo "build.sh: $*" >&2; }

# One line that counts packages on a terminal, nothing else but errors.
show_progress() {
	if [ -t 2 ]; then
		awk '/^[a-z0-9.]+(\/[^ ]*)?$/ { printf "\r  %d packages compiled, %-60.60s", ++n, $0; fflush(); next }
		     /^go: downloading / { printf "\r  %-80.80s", $0; fflush(); next }
		     { printf "\n%s\n", $0; fflush() }
		     END { if (n) printf "\n" }' >&2
	else
		grep -vE '^[a-z0-9.]+(/[^ ]*)?$|^go: downloading ' >&2 || true
	fi
}

# The module of another version: the tools of ours, and what they need then.  Its parts have the
# numbers of Kubernetes with a 0 for the 1.
resolve_module() { # GO
	module=$cache/module
	[ "$(cat "$module/.stamp" 2> /dev/null)" = "$stamp" ] && return
	say "resolving the modules of $version"
	rm -rf "$module"
	mkdir -p "$module"
	{
		sed -n '1,/^require/{/^require/!p}' "$here/k8s/go.mod"
		echo "require k8s.io/kubernetes v$version"
		sed -n '/^replace (/,/^)/p' "$here/k8s/go.mod" | sed "s/ v0\.${ours#1.}$/ v0.${version#1.}/"
	} > "$module/go.mod"
	(
		cd "$module"
		# shellcheck disable=SC2046 # one word for each
		GOTOOLCHAIN=auto GOWORK=off GOFLAGS='' CGO_ENABLED=0 "$go" list -mod=mod -deps \
			$(printf 'k8s.io/kubernetes/cmd/%s ' kube-apiserver kube-scheduler kube-controller-manager) > /dev/null
	) || {
		say "the modules of $version are not to be had"
		exit 1
	}
	echo "$stamp" > "$module/.stamp"
}

# All in one go: they share most of their packages, and one is linked while the
# next is compiled.
build_parts() { # GO PART...
	go=$1
	shift
	base=k8s.io/component-base/version
	minor=${version#*.}
	flags="-s -w -X $base.gitVersion=v$version -X $base.gitMajor=${version%%.*}"
	flags="$flags -X $base.gitMinor=${minor%%.*} -X $base.gitTreeState=clean"
	failed=$cache/failed
	rm -rf "$failed" "$cache/new"
	mkdir "$cache/new"
	{
		cd "$module"
		# shellcheck disable=SC2046 # one word for each
		GOTOOLCHAIN=auto GOWORK=off GOFLAGS='' CGO_ENABLED=0 "$go" build -v -mod=readonly -trimpath \
			-buildvcs=false -ldflags "$flags" -o "$cache/new/" \
			$(printf 'k8s.io/kubernetes/cmd/%s ' "$@") 2>&1 || : > "$failed"
	} | show_progress
	if [ -e "$failed" ]; then
		rm -rf "$failed" "$cache/new"
		say "$* $version did not build"
		exit 1
	fi
	for part in "$@"; do
		mv "$cache/new/$part" "$cache/$part"
		echo "$stamp" > "$cache/$part.stamp"
	done
	rmdir "$cache/new"
}

stale() { # PART...: those to build
	for part in "$@"; do
		is_current "$part" || echo "$part"
	done
}

mkdir -p "$cache"
if [ "$1" = --go ]; then
	choose_go
	exit
fi
if [ -n "$(stale "$@")" ]; then
	exec 9> "$cache/lock"
	flock 9
	# shellcheck disable=SC2046
	set -- $(stale "$@") # another may just have built them
	if [ $# -gt 0 ]; then
		go=$(choose_go)
		[ "$version" = "$ours" ] || resolve_module "$go"
		start=$(date +%s)
		say "building $* $version, some minutes the first time"
		build_parts "$go" "$@"
		say "built $* in $(($(date +%s) - start)) s"
	fi
fi
echo "$cache"
