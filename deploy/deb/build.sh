#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes the Debian packages muster and muster-tools of what `make install` puts in place.
#
#   deploy/deb/build.sh FOLDER     `make deb` calls it with build/deb
#
# Prints their paths.  The same tree and compiler give the same bytes: times are those of
# the changelog.
set -eu
umask 022
export LC_ALL=C
cd "$(dirname "$0")/../.."
out=${1:?usage: deploy/deb/build.sh FOLDER}
here=deploy/deb
version=$(dpkg-parsechangelog -l "$here/changelog" -S Version)
architecture=$(dpkg --print-architecture)
SOURCE_DATE_EPOCH=$(dpkg-parsechangelog -l "$here/changelog" -S Timestamp)
export SOURCE_DATE_EPOCH

stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
mkdir -p "$out" "$stage/debian"
# dpkg-shlibdeps looks for it there.
cp "$here/control" "$stage/debian/control"
make --no-print-directory install DESTDIR="$stage/all" PREFIX=/usr UNITDIR=/lib/systemd/system > /dev/null

install -D -m 644 "$here/readers.conf" "$stage/all/lib/systemd/system/muster-core.service.d/readers.conf"

# What it is a pack of: everything but what belongs to muster-tools.
tools='bin/muster-apisim bin/muster-bench share/man/man1/muster-apisim.1 share/man/man1/muster-bench.1'
cp -a "$stage/all" "$stage/muster"
for path in $tools; do
	mkdir -p "$stage/muster-tools/usr/$(dirname "$path")"
	mv "$stage/muster/usr/$path" "$stage/muster-tools/usr/$path"
done

field() { # PACKAGE NAME: a field of the control file, continued lines as well
	awk -v package="$1" -v name="$2" '
		/^[^ ]/ { on = 0 }
		$1 == "Package:" { here = $2 == package }
		here && $1 == name ":" { on = 1 }
		on' "$here/control"
}

finish() { # PACKAGE: from a tree of files to a .deb
	root=$stage/$1
	find "$root/usr/bin" -type f -exec strip --strip-unneeded --remove-section=.comment --remove-section=.note {} +
	# Links to pages get the name that these then have.
	find "$root/usr/share/man" -type l | while read -r link; do
		ln -s "$(readlink "$link").gz" "$link.gz"
		rm "$link"
	done
	find "$root/usr/share/man" -type f -exec gzip -9n {} +
	mkdir -p "$root/usr/share/doc/$1" "$root/DEBIAN"
	gzip -9nc "$here/changelog" > "$root/usr/share/doc/$1/changelog.gz"
	cp "$here/copyright" "$root/usr/share/doc/$1/copyright"

	depends=$(cd "$stage" && find "$root/usr/bin" -type f -exec dpkg-shlibdeps -O {} + | sed -n 's/^shlibs:Depends=//p')
	[ -n "$depends" ]
	{
		echo "Package: $1"
		[ "$1" = muster ] || echo 'Source: muster'
		echo "Version: $version"
		sed -n '/^Section:/p; /^Priority:/p; /^Maintainer:/p' "$here/control"
		echo "Architecture: $architecture"
		echo "Installed-Size: $(du -ks --apparent-size --exclude=DEBIAN "$root" | cut -f 1)"
		field "$1" Depends | sed "s/\${shlibs:Depends}/$depends/"
		field "$1" Recommends
		field "$1" Suggests
		field "$1" Description
	} > "$root/DEBIAN/control"
	(cd "$root" && find usr lib -type f 2> /dev/null | sort | xargs md5sum) > "$root/DEBIAN/md5sums"
	if [ -d "$root/etc" ]; then
		(cd "$root" && find etc -type f | sort | sed 's|^|/|') > "$root/DEBIAN/conffiles"
	fi
	for script in postinst prerm postrm; do
		[ ! -e "$here/$1.$script" ] || install -m 755 "$here/$1.$script" "$root/DEBIAN/$script"
	done
	find "$root" -newermt "@$SOURCE_DATE_EPOCH" -exec touch -hd "@$SOURCE_DATE_EPOCH" {} +
	dpkg-deb --root-owner-group --build "$root" "$out/$1_${version}_$architecture.deb" > /dev/null
	echo "$out/$1_${version}_$architecture.deb"
}

finish muster
finish muster-tools
