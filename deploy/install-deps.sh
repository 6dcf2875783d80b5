#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages that muster needs and that are missing.
#
#   deploy/install-deps.sh [build] [test] [browser] [real] [chart] [deb] [coverage] [slurm]      build by default
#
# Needs root or sudo; without either it prints the one line to run and exits 1.
# Silent, and a few milliseconds, when nothing is missing.
#
#   SUDO   what to put before apt-get; found out by itself when unset
set -eu

# curl, with OpenSSL (docs/decisions/103): the API server; cjson: musterctl and tests; microhttpd
# and gnutls: /metrics, apisim and its TLS; yaml: kubeconfigs and manifests; jemalloc: the
# allocator; zlib: .gz input; ncurses: `musterctl top`; systemtap-sdt: one header, for probes;
# seccomp: filters of system calls; urcu: snapshots.
build='gcc libc6-dev make pkg-config libjemalloc-dev libcurl4-openssl-dev libcjson-dev
	libmicrohttpd-dev libgnutls28-dev libyaml-dev zlib1g-dev libncurses-dev systemtap-sdt-dev
	libseccomp-dev liburcu-dev'
# strace counts the core's system calls, spin proves the models of tests/model, clang is
# the second compiler, clang-format holds the style, valgrind counts instructions.  dpkg-dev and binutils make the Debian
# packages of `make deb`, lintian looks at them; systemd-analyze at the units; promtool of
# prometheus at metrics and alerts; bpftrace compiles the scripts of deploy/trace; openssl
# makes the certificates of a fault; shellcheck and man-db read scripts and man pages.
test='libcriterion-dev python3 strace spin clang clang-format valgrind dpkg-dev binutils lintian
	prometheus systemd bpftrace openssl shellcheck man-db'
deb='dpkg-dev binutils'
# The page in a browser; tests without it say that they are skipped.
browser='chromium'
coverage='gcovr'
# openssl makes keys and certificates, the rest is what lies under the real
# kube-apiserver that tests/real/build.sh makes.
real='etcd-server python3 openssl ca-certificates'
# helm and kustomize are built from Go modules (tests/chart.py).
chart='python3 python3-yaml ca-certificates'
# bench/peers/slurm.py: Slurm itself, unshare and ip.
slurm='slurmctld slurmd slurm-client slurm-wlm-basic-plugins python3 util-linux iproute2'

[ $# -gt 0 ] || set -- build
wanted=
for group in "$@"; do
	case $group in
	build) wanted="$wanted $build" ;;
	test) wanted="$wanted $test" ;;
	deb) wanted="$wanted $deb" ;;
	browser) wanted="$wanted $browser" ;;
	coverage) wanted="$wanted $coverage" ;;
	slurm) wanted="$wanted $slurm" ;;
	real | chart)
		if [ "$group" = real ]; then wanted="$wanted $real"; else wanted="$wanted $chart"; fi
		# Any go will do: an old one fetches what it is missing.
		command -v go > /dev/null || wanted="$wanted golang-go"
		;;
	*)
		echo "install-deps.sh: no group named $group (build, test, browser, real, chart, deb, coverage, slurm)" >&2
		exit 2
		;;
	esac
done

if ! command -v dpkg-query > /dev/null; then
	# shellcheck disable=SC2086
	echo 'install-deps.sh: not a Debian system; these are taken to be there:' $wanted >&2
	exit 0
fi

# shellcheck disable=SC2086 # a list of words
installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' $wanted 2>/dev/null |
	sed -n 's/^installed //p')
missing=
for package in $wanted; do
	case "
$installed
$missing" in
	*"
$package
"*) ;;
	*) missing="$missing$package
" ;;
	esac
done
[ -n "$missing" ] || exit 0
# shellcheck disable=SC2086
set -- $missing

if [ -z "${SUDO+set}" ]; then
	SUDO=
	if [ "$(id -u)" -ne 0 ]; then
		# A password is asked for only where somebody can type it.
		if command -v sudo > /dev/null && { sudo -n true 2> /dev/null || [ -t 0 ]; }; then
			SUDO=sudo
		else
			echo 'install-deps.sh: packages are missing and this is not root; run as root:' >&2
			echo "apt-get update && apt-get install -y --no-install-recommends $*" >&2
			exit 1
		fi
	fi
fi

echo "install-deps.sh: installing $*" >&2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt_get() { # silent unless it fails
	if ! $SUDO env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 \
		-o Dpkg::Use-Pty=0 "$@" > "$log" 2>&1; then
		tail -n 30 "$log" >&2
		echo "install-deps.sh: apt-get $1 failed" >&2
		exit 1
	fi
}
# A service that comes with a package is not wanted, only its tools are.
case " $* " in
*' prometheus '*)
	if [ -d /run/systemd/system ]; then
		$SUDO systemctl -q mask prometheus.service || true
	fi
	;;
esac
case " $* " in
*' slurmctld '* | *' slurmd '*)
	if [ -d /run/systemd/system ]; then
		$SUDO systemctl -q mask slurmctld.service slurmd.service munge.service || true
	fi
	;;
esac
apt_get update
apt_get install -y --no-install-recommends "$@"
