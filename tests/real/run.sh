#!/bin/sh
# Runs muster against a real kube-apiserver, with kube-controller-manager and beside
# a real kube-scheduler; `make test-real` calls it.
set -eu
cd "$(dirname "$0")/../.."
tests/real/build.sh kube-apiserver kube-scheduler kube-controller-manager > /dev/null
for script in tests/real/test_*.py; do
	echo "!python3 $script"
done | MUSTER_TEST_TIMEOUT_S=1200 tests/run.sh build/test-logs-real
