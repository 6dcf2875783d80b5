#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Holds the documents against the tree:
#
#   - each long flag of a program's --help is in its man page, and no other; musterctl's by
#     command; with the same default
#   - programs, commands, flags, make targets, files and metrics that the documents name exist
#   - links of the documents lead somewhere, to headings as well; docs/README.md has every page
#   - docs/scenarios.md has each of the 90 scenarios
#   - docs/faults.md has each of the 44 faults, and says what their functions say
#   - docs/configuration.md shows what --help-config prints; --renew writes it there
#   - docs/metrics.md shows what --help-metrics prints, and nothing else; --renew as well
#   - docs/tracing.md has each probe of the daemons, with its arguments; deploy/trace/*.bt compile
#   - each flag of the daemons has a key in the configuration, with the same default
#   - examples of docs/style.md are in the files that they name
#   - numbers that pages repeat from docs/bench are those of docs/bench/figures.json
#   - the decisions have a number each and are all in docs/decisions/README.md
set -u
export LC_ALL=C
cd "$(dirname "$0")/.." || exit 2
bin=${MUSTER_BUILD:-build}/bin
make --no-print-directory programs > /dev/null || exit 1
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT

# A page with what a program prints now between its marks.
made() { # PAGE MADE
	awk -v made="$2" '/^<!-- end -->/ { off = 0 }
		!off
		/^<!-- made by / { off = 1; while ((getline line < made) > 0) print line }
	' "$1"
}
{
	echo '```yaml'
	"$bin/muster-frontend" --help-config || exit 1
	echo '```'
} > "$work/schema"
"$bin/muster-frontend" --help-metrics > "$work/metrics" || exit 1
if [ "${1:-}" = --renew ]; then
	made docs/configuration.md "$work/schema" > "$work/page" && cat "$work/page" > docs/configuration.md
	made docs/metrics.md "$work/metrics" > "$work/page" && cat "$work/page" > docs/metrics.md
	exec bench/prose.py --renew
fi

check() { # WHAT: what was found wrong is on standard input, nothing when all is right
	cat > "$work/wrong"
	if [ -s "$work/wrong" ]; then
		echo "$1:"
		sed 's/^/    /' "$work/wrong"
		echo "$1" >> "$work/failed"
	else
		echo "$1" >> "$work/passed"
	fi
}

flags() { # of a text on standard input
	sed 's/\\-/-/g; s/\\f.//g' | grep -oE -- '(^|[^-A-Za-z0-9])--[a-z][-a-z0-9]*' | sed 's/^[^-]//' | sort -u
}

differences() { # HELP PAGE
	comm -23 "$1" "$2" | sed 's/$/ has no place in the man page/'
	comm -13 "$1" "$2" | sed "s/\$/ is in the man page, and not in --help/"
}

# ---- man pages ---------------------------------------------------------------

for program in muster-core muster-frontend muster-bench muster-apisim; do
	"$bin/$program" --help | flags > "$work/help"
	flags < "docs/man/$program.1" > "$work/page"
	cat "$work/help" >> "$work/known"
	differences "$work/help" "$work/page" | check "docs/man/$program.1"
done

"$bin/musterctl" --help | sed -n 's/^  \([a-z-]*\)  .*/\1/p' | sort > "$work/commands"
sed -n 's/^\.SS //p' docs/man/musterctl.1 | sort > "$work/sections"
differences "$work/commands" "$work/sections" | check 'docs/man/musterctl.1, commands'
while read -r command; do
	"$bin/musterctl" "$command" --help < /dev/null | flags | grep -v -e '^--help$' > "$work/help"
	awk -v name="$command" '/^\.S[SH]/ { on = $1 == ".SS" && $2 == name } on' docs/man/musterctl.1 | flags > "$work/page"
	cat "$work/help" >> "$work/known"
	differences "$work/help" "$work/page" | check "docs/man/musterctl.1, $command"
done < "$work/commands"

# "(default X)" or "(5)" of a flag in --help is in a paragraph of that flag in the man page.
python3 - "$bin" <<- 'END' | check 'docs/man, defaults'
	import re, subprocess, sys
	def help_of(*words):
	    return subprocess.run([sys.argv[1] + "/" + words[0], *words[1:], "--help"], capture_output=True, text=True).stdout
	commands = re.findall(r"^  ([a-z-]+)  ", help_of("musterctl"), re.M)
	seen = 0
	for words in [("muster-core",), ("muster-frontend",), ("muster-bench",), ("muster-apisim",)] + [("musterctl", c) for c in commands]:
	    text = re.sub(r"\\f.|\"", "", open(f"docs/man/{words[0]}.1").read().replace("\\-", "-"))
	    paragraphs = re.split(r"^\.(?:TP|SS|SH).*\n", text, flags=re.M)
	    for flag, about in re.findall(r"^  (?:-., )?(--[a-z-]+)(.*(?:\n {10,}.*)*)", help_of(*words), re.M):
	        default = re.search(r"\((?:default:? (\S+?)|([0-9][0-9A-Za-z.]*))\)", " ".join(about.split()))
	        if not default:
	            continue
	        seen += 1
	        value = default[1] or default[2]
	        mine = [p for p in paragraphs if re.search(flag + r"(?![a-z-])", p.split("\n")[0])]
	        if not any(re.search(r"(?<![\w.])%s(?!\w)" % re.escape(value), p) for p in mine):
	            print(" ".join(words), flag, "has the default", value, "in --help alone")
	if seen < 80:
	    print("only", seen, "defaults found in --help")
END

# ---- configuration ---------------------------------------------------------------

made docs/configuration.md "$work/schema" | diff docs/configuration.md - | sed 's/^/run tests\/docs.sh --renew: /' |
	check 'docs/configuration.md'
made docs/metrics.md "$work/metrics" | diff docs/metrics.md - | sed 's/^/run tests\/docs.sh --renew: /' | check 'docs/metrics.md'

keyless() { # those that are not for the file, and former names
	grep -v -x -e --help -e --version -e --hold-after -e --config -e --check-config -e --help-config -e --help-metrics
}
"$bin/muster-frontend" --help | flags | keyless > "$work/help"
sed -n 's/.*# Flag: //p' "$work/schema" | sort | comm -3 "$work/help" - | check 'flags of muster-frontend without a key, or the other way round'
"$bin/muster-core" --help | flags | keyless | grep -v -x -e --socket -e --socket-group > "$work/help"
sed -n 's/.*# Flag of muster-core: //p' "$work/schema" | sort | comm -3 "$work/help" - |
	check 'flags of muster-core without a key, or the other way round'

# "--flag default", of the help and of the keys.
"$bin/muster-core" --help | tr '\n' ' ' | sed 's/  --/\n--/g' | sed -n 's/^\(--[-a-z]*\).*[ (]default \([0-9a-z]*\)).*/\1 \2/p' |
	sort > "$work/defaults"
sed -n '/# Flag of muster-core: /{s/.*: //;h;n;s/.*: //;s/"//g;/^[A-Z]*$/!{H;x;s/\n/ /p;};}' "$work/schema" | sort |
	comm -13 - "$work/defaults" | check 'defaults of muster-core that its keys have otherwise'

# ---- probes ------------------------------------------------------------------------

probes() { # PROGRAM: "name type,type"
	readelf -n "$1" | awk '/^    Name: / { name = $2 }
		/^    Arguments:/ {
			types = ""
			for (i = 2; i <= NF; i++) if (split($i, part, "@") > 1) {
				size = part[1]
				type = size < 0 ? "i" (-8 * size) : "u" (8 * size)
				types = types (types ? "," : "") type
			}
			print name, types
		}' | sort -u
}
for program in muster-core muster-frontend; do
	awk -v heading="## Probes of $program" -F '|' '
		/^#/ { on = $0 == heading }
		on && $2 ~ /`/ {
			n = split($3, argument, ",")
			types = ""
			for (i = 1; i <= n; i++) { split(argument[i], word, " "); types = types (i > 1 ? "," : "") word[2] }
			gsub(/[ `]/, "", $2)
			print $2, types
		}' docs/tracing.md | sort > "$work/page"
	probes "$bin/$program" > "$work/program"
	[ -s "$work/program" ] || echo 'none' >> "$work/page"
	diff "$work/program" "$work/page" | sed -n 's/^</the program:/p; s/^>/the page:   /p' | check "docs/tracing.md, probes of $program"
done
for script in deploy/trace/*.bt; do
	sed "s|/usr/bin|$PWD/$bin|g" "$script" > "$work/script.bt"
	# Compiled, not run: that needs rights, this needs none.
	bpftrace -d "$work/script.bt" > "$work/said" 2>&1 || tail -n 2 "$work/said"
done | check 'deploy/trace, scripts'

# ---- what documents name ------------------------------------------------------------

guides=$(printf '%s\n' docs/*.md | grep -v -x -e docs/scenarios.md -e docs/faults.md -e docs/style.md)
pages="README.md tests/README.md tests/apisim/README.md $guides"

# shellcheck disable=SC2086 # lists of files
grep -ohE 'build/bin/[a-z-]+' $pages | sort -u | while read -r path; do
	[ -x "$bin/${path#build/bin/}" ] || echo "$path"
done | check 'programs that are not built'

# In prose musterctl may stand before any word.
# shellcheck disable=SC2086
{
	grep -oE 'musterctl +[a-z][a-z-]*' README.md
	grep -ohE '(build/bin/|`|^ *|\| )musterctl +[a-z][a-z-]*' $guides | grep -v '^musterctl' | sed 's/.*musterctl/musterctl/'
} | awk '{ print $2 }' | sort -u | comm -23 - "$work/commands" | check 'commands that musterctl has not'

sed -n 's/^\([a-z][-a-z ]*\):.*/\1/p; s/^\.PHONY: *//p' Makefile | tr ' ' '\n' | sort -u > "$work/targets"
# shellcheck disable=SC2086
grep -ohE '(`|^|&& |=[a-z]+ )make [a-z][-a-z]*' $pages | sed 's/.*make //' | sort -u |
	comm -23 - "$work/targets" | check 'make targets that do not exist'

# Those of kubectl, helm, systemctl, docker, git, KubeRay and Criterion are not ours; the design names some that others have.
printf '%s\n' --duration --flatten --minify --now --raw --validate --filter --renew --rounds --lone --create-namespace --set --batch-scheduler --push --tags --exact-match --match --platform --build-arg >> "$work/known"
sort -u -o "$work/known" "$work/known"
for page in README.md $guides; do
	[ "$page" != docs/design.md ] || continue
	flags < "$page" | comm -23 - "$work/known" | sed "s|^|$page: |"
done | check 'flags that no program has'

for page in README.md $guides docs/decisions/*.md; do
	grep -ohE '(ipc|core|frontend|ctl|bench|tests|deploy|docs)/[A-Za-z0-9_./-]*\.(c|h|py|sh|md|txt|pml|yaml|json)' "$page" |
		sort -u | while read -r path; do
		case $path in *NNN-title.md | *_NAME.c) continue ;; esac
		[ -e "$path" ] || [ -e "docs/$path" ] || echo "$page: $path"
	done
done | check 'files that do not exist'

# The tree of docs/architecture.md names each folder, from the bottom up as tests/layers.sh has them.
for root in core frontend frontend/model ctl; do
	awk -v root="$root" '/ what lives there \|$/ { on = $2 == "`" root "/`"; next }
		on && /^\| `[a-z]*\/`/ { gsub(/[`\/]/, "", $2); printf "%s ", $2 }' docs/architecture.md |
		sed "s|^|layers $root |; s| \$||" > "$work/tree"
	grep -qxF -f "$work/tree" tests/layers.sh || cat "$work/tree"
	for folder in "$root"/*/; do
		grep -qw "$(basename "$folder")" "$work/tree" || echo "$folder"
	done
done | check 'docs/architecture.md, its tree'

# shellcheck disable=SC2086
grep -ohE 'muster_[a-z_]+' $guides | grep -v -x -e muster_core -e muster_frontend | sort -u | while read -r metric; do
	grep -rqF -e "\"$metric" -e "$metric{" -e "$metric " --include='*.c' frontend || echo "$metric"
done | check 'metrics that muster-frontend has not'

# Examples of docs/style.md are cut from the files that they name, whatever the white space.
python3 - <<- 'END' | check 'docs/style.md, examples'
	import re
	text = open("docs/style.md", encoding="utf-8").read()
	examples = re.findall(r"<!-- from (\S+) -->\n```\w*\n(.*?)```", text, re.S)
	if len(examples) < 5:
	    print("there are none")
	for path, example in examples:
	    if "".join(example.split()) not in "".join(open(path, encoding="utf-8").read().split()):
	        print(path + ": " + example.strip().splitlines()[0])
END

# ---- figures --------------------------------------------------------------------------

bench/prose.py | check 'numbers of docs/bench that other pages repeat'

# ---- links ---------------------------------------------------------------------------

headings() { # FILE: as links name them
	# shellcheck disable=SC2016 # Markdown's ticks
	sed -n '/^```/,/^```/d; s/^##* //p' "$1" | tr '[:upper:]' '[:lower:]' | sed 's/[^a-z0-9 _-]//g; s/ /-/g'
}

for page in README.md docs/*.md docs/bench/README.md docs/decisions/*.md tests/README.md; do
	folder=$(dirname "$page")
	grep -oE '\]\([^)]*\)' "$page" | sed 's/^](//; s/)$//' | grep -v -E '^https?:' | sort -u | while read -r link; do
		path=${link%%#*}
		target=$folder/$path
		[ -n "$path" ] || target=$page
		if [ ! -e "$target" ]; then
			echo "$page: $link"
		elif [ "$path" != "$link" ]; then
			headings "$target" | grep -q -x -F -e "${link#*#}" || echo "$page: $link: there is no such heading"
		fi
	done
done | check 'links that lead nowhere'

for page in docs/*.md; do
	[ "$page" = docs/README.md ] || grep -qF "](${page#docs/})" docs/README.md || echo "$page"
done | check 'pages that docs/README.md does not have'

# ---- scenarios --------------------------------------------------------------------

for number in $(seq -f 'COS-%g' 25) $(seq -f 'CM-%g' 20) $(seq -f 'BATCH-%g' 20) $(seq -f 'WP-%g' 25); do
	grep -q "^| $number |" docs/scenarios.md || echo "$number"
done | check 'scenarios that docs/scenarios.md does not have'

# ---- faults ------------------------------------------------------------------------

tests/faults/run.py --check 2>&1 | check 'docs/faults.md'

# ---- decisions -----------------------------------------------------------------------

for path in docs/decisions/[0-9]*.md; do
	name=$(basename "$path")
	number=${name%%-*}
	title=$(head -n 1 "$path")
	[ "${title#"# $number: "}" != "$title" ] || echo "$name: its title is \"$title\""
	grep -qF "]($name)" docs/decisions/README.md || echo "$name is not in docs/decisions/README.md"
	[ "$(wc -l < "$path")" -le 60 ] || echo "$name is longer than a page"
done | check 'decisions'
for path in docs/decisions/[0-9]*.md; do
	name=$(basename "$path")
	echo "${name%%-*}"
done | uniq -d | check 'numbers of more than one decision'

touch "$work/passed" "$work/failed"
echo "$(wc -l < "$work/passed") passed, $(wc -l < "$work/failed") failed"
[ ! -s "$work/failed" ]
