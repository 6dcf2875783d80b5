#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Shell scripts please shellcheck, and man reads the man pages without a warning.
set -u
cd "$(dirname "$0")/.." || exit 2
for tool in shellcheck man; do
	command -v "$tool" > /dev/null || { echo "skipped: needs $tool"; echo '0 passed, 0 failed, 1 skipped'; exit 0; }
done
passed=0 failed=0

check() { # WHAT COMMAND...: must succeed and say nothing
	local what=$1 said
	shift
	if said=$("$@" 2>&1) && [ -z "$said" ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		printf '%s:\n%s\n' "$what" "$said"
	fi
}

page() { # FILE
	MANROFFSEQ='' MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "$1" > /dev/null
}

for script in .ci/run deploy/*.sh deploy/*/*.sh tests/*.sh tests/*/*.sh; do
	check "$script" shellcheck -x "$script"
done
for file in docs/man/*; do
	check "$file" page "$file"
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
