#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a reader trips over, in every tracked file:
#
#   - lines of C over 100 columns (a tab is 4), files of production over 800 lines, banners
#   - words in comments and documents that the field does not use, or uses for something else
#   - sources without their SPDX line
#   - C that clang-format would write differently (.clang-format)
#   - subjects of commits over 72 columns
#
#   tests/tidy.sh [--fix]      --fix formats and adds SPDX lines
set -u
export LC_ALL=C.UTF-8 PYTHONUTF8=1
cd "$(dirname "$0")/.." || exit 2
command -v clang-format > /dev/null || { echo 'skipped: needs clang-format'; echo '0 passed, 0 failed, 1 skipped'; exit 0; }
passed=0 failed=0
spdx='SPDX-License-Identifier: Apache-2.0'
# The first commit that is held to these rules.
since=7c2befd

check() { # WHAT FINDINGS: nothing when all is right
	local found=$2
	if [ -z "$found" ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		printf '%s: %d\n' "$1" "$(wc -l <<< "$found")"
		head -n 20 <<< "$found" | cut -c1-180 | sed 's/^/    /'
	fi
}

mapfile -t c < <(git ls-files '*.c' '*.h')
mapfile -t production < <(git ls-files ipc core frontend ctl bench | grep '\.[ch]$')
mapfile -t sources < <(git ls-files '*.c' '*.h' '*.py' '*.sh' '*.pml' '*.bt' Makefile .ci/run deploy/Dockerfile)
mapfile -t prose < <(git ls-files README.md CONTRIBUTING.md SECURITY.md 'docs/*.md' 'docs/man/*.1' 'deploy/*.yaml' deploy/Dockerfile \
	deploy/monitoring/dashboard.json tests/README.md tests/apisim/README.md |
	grep -v -e '^docs/bench/' -e '^docs/style.md' -e '^docs/decisions/' -e '^docs/track-record.md')

if [ "${1:-}" = --fix ]; then
	clang-format -i "${c[@]}"
	for file in "${sources[@]}"; do
		head -n 3 "$file" | grep -qF "$spdx" && continue
		case $file in
		*.c | *.h | *.pml | *.bt) line="/* $spdx */" ;;
		*) line="# $spdx" ;;
		esac
		if [[ $(head -c 2 "$file") = '#!' ]]; then sed -i "1a $line" "$file"; else sed -i "1i $line" "$file"; fi
	done
	exit 0
fi

# A string is not broken: it may be grepped for.
check 'lines over 100 columns' "$(python3 - "${c[@]}" << 'END'
import re, sys
for path in sys.argv[1:]:
    for number, line in enumerate(open(path, encoding="utf-8"), 1):
        line = line.rstrip(" \\\n").replace("\t", "    ")
        if len(line) > 100 and not re.search(r'".{30,}"', line):
            print(f"{path}:{number}: {len(line)} columns")
END
)"
check 'files over 800 lines' "$(wc -l "${production[@]}" | awk '$1 > 800 && $2 != "total" { print $2 ": " $1 " lines" }')"
check 'banners' "$(grep -nE '^[[:space:]]*(/\*|//) ?[-=*~]{3,}' "${c[@]}")"

# docs/style.md, Language.
words='anew|whoever|nobody|stands? (before|behind|first)|(is|are|was|were) told|hears of'
comments() { # FILE...: what is between /* and */, as FILE:LINE: text
	awk '{
		text = ""
		line = $0
		if (FNR == 1) inside = 0
		while (line != "") {
			if (inside) {
				end = index(line, "*/")
				text = text " " (end ? substr(line, 1, end - 1) : line)
				line = end ? substr(line, end + 2) : ""
				inside = !end
			} else {
				begin = index(line, "/*")
				line = begin ? substr(line, begin + 2) : ""
				inside = begin > 0
			}
		}
		if (text != "") print FILENAME ":" FNR ":" text
	}' "$@"
}
check 'words in comments' "$(comments "${production[@]}" | grep -wiE "$words")"
# Comments still have these; what a user reads has them no more.
more='passed over|(taken?|takes|taking|gives?|given|giving) back|looked (at|for)|somebody|anybody|begun|told|said|so long|gives? way|have to go'
check 'words in documents' "$(grep -nwiE "$words|$more" "${prose[@]}")"

check "sources without '$spdx'" "$(for file in "${sources[@]}"; do
	[ ! -s "$file" ] || head -n 3 "$file" | grep -qF "$spdx" || echo "$file"
done)"
check 'formatting (tests/tidy.sh --fix)' "$(clang-format --dry-run -Werror "${c[@]}" 2>&1 | grep -E ': (error|warning):')"
if git merge-base --is-ancestor "$since" HEAD 2> /dev/null; then
	check 'subjects over 72 columns' "$(git log --format='%h %s' "$since..HEAD" | awk 'length($0) > 72 + 8')"
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
