#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs muster against a real kube-apiserver, with kube-controller-manager and beside
# a real kube-scheduler; `make test-real` calls it.
set -eu
cd "$(dirname "$0")/../.."
tests/real/build.sh kube-apiserver kube-scheduler kube-controller-manager > /dev/null
case ${ETCD:-} in
'') ;;
new) PATH="$(tests/real/etcd/build.sh):$PATH" && export PATH ;;
*) echo "run.sh: ETCD=$ETCD: not new" >&2 && exit 2 ;;
esac
# Which rights they use: checked at the end.
export MUSTER_RIGHTS="$PWD/build/test-rights-real"
rm -rf "$MUSTER_RIGHTS"
# Two at a time, each with servers of its own: they wait more than they work.
{
	echo '!python3 tests/real/test_compare.py'
	for script in tests/real/test_*.py; do
		[ "$script" = tests/real/test_compare.py ] || echo "python3 $script"
	done
	echo "!python3 tests/real/rights.py $MUSTER_RIGHTS"
} | MUSTER_TEST_TIMEOUT_S=1200 tests/run.sh build/test-logs-real
