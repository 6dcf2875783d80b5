#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes the archive and the krew manifest of kubectl's plugin "muster" from a tag.
#
#   deploy/krew/make.sh TAG URL FOLDER [ARCHITECTURE=PROGRAM]...      amd64=build/bin/musterctl by default
#
# TAG is vMAJOR.MINOR.PATCH, of which the Makefile has the number; URL is where the archives will be, https. Writes
# FOLDER/muster.yaml and FOLDER/kubectl-muster-TAG-linux-ARCHITECTURE.tar.gz; the same programs give the same bytes.
#
#   HOMEPAGE   of the manifest; URL by default
set -eu
export LC_ALL=C
cd "$(dirname "$0")/../.."
[ $# -ge 3 ] || { sed -n 's/^#   //p' deploy/krew/make.sh >&2; exit 2; }
tag=$1 url=${2%/} out=$3
shift 3
[ $# -gt 0 ] || set -- amd64=build/bin/musterctl

fail() { echo "make.sh: $*" >&2; exit 2; }
git rev-parse -q --verify "refs/tags/$tag^{commit}" > /dev/null || fail "there is no tag $tag"
version=$(git show "$tag:Makefile" | sed -n 's/^VERSION := //p')
[ "v$version" = "$tag" ] || fail "tag $tag has version $version in its Makefile"
case $url in https://?*) ;; *) fail "$url: not https://" ;; esac
time=$(git log -1 --format=%ct "$tag")

stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
mkdir -p "$out"
homepage=${HOMEPAGE:-$url}
sed -e "s|@TAG@|$tag|" -e "s|@HOMEPAGE@|$homepage|" deploy/krew/muster.yaml.in > "$stage/muster.yaml"
for pair in "$@"; do
	architecture=${pair%%=*} program=${pair#*=}
	case $architecture in amd64 | arm64) ;; *) fail "$architecture: amd64 or arm64" ;; esac
	[ -x "$program" ] || fail "$program: no such program"
	name=kubectl-muster-$tag-linux-$architecture.tar.gz
	mkdir -p "$stage/$architecture"
	install -m 755 "$program" "$stage/$architecture/kubectl-muster"
	git show "$tag:LICENSE" > "$stage/$architecture/LICENSE"
	tar -C "$stage/$architecture" --sort=name --mtime="@$time" --owner=0 --group=0 --numeric-owner -cf - LICENSE kubectl-muster |
		gzip -9n > "$out/$name"
	cat >> "$stage/muster.yaml" << END
  - selector:
      matchLabels:
        os: linux
        arch: $architecture
    uri: $url/$name
    sha256: $(sha256sum "$out/$name" | cut -d' ' -f1)
    bin: kubectl-muster
END
done
mv "$stage/muster.yaml" "$out/muster.yaml"
echo "$out/muster.yaml"
