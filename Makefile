# SPDX-License-Identifier: Apache-2.0
# muster: build, test, install.  `make help` lists the targets.
#
#   build/              gcc or clang, optimised, hardened
#   build-address/      SAN=address: AddressSanitizer and UndefinedBehaviorSanitizer
#   build-thread/       SAN=thread: ThreadSanitizer
#   build-coverage/     SAN=coverage: gcov counts lines and branches
#   build-valgrind/     SAN=valgrind: what isn't set is left as it is, so that valgrind sees it
#   build-clang-fuzzer/ CC=clang SAN=fuzzer: libFuzzer drives the fuzzers
#
# A folder is a library; a file named main*.c in it is a program.  New files
# are found by themselves.

VERSION := 0.1.0
PREFIX  ?= /usr/local
DESTDIR ?=
SAN     ?=

# V=1 shows whole commands.
Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-4s %s\n' '$(1)' '$(2)')

CC ?= cc
ifeq ($(origin CC),default)
CC := gcc
endif

B := build$(if $(filter-out gcc,$(CC)),-$(notdir $(CC)))$(if $(SAN),-$(SAN))

LIBS_PKG := libcurl libcjson libmicrohttpd gnutls yaml-0.1 zlib libseccomp liburcu-memb
LIBS_PKG_FLAGS = $(shell pkg-config --cflags $(LIBS_PKG) 2>/dev/null)
LIBS_PKG_LIBS = $(shell pkg-config --libs $(LIBS_PKG) 2>/dev/null)

WARN := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
        -Wold-style-definition -Wpointer-arith -Wcast-qual -Wwrite-strings -Wvla \
        -Wformat=2 -Wundef -Wnull-dereference -Wno-unused-parameter
# Sums decide what is placed: round after each product on every machine, which arm64 would not.
FLOAT := -ffp-contract=off
HARDEN := -fPIE -fstack-protector-strong -fno-strict-overflow \
          -fno-delete-null-pointer-checks -ftrivial-auto-var-init=zero
LDHARDEN := -pie -Wl,--as-needed,-z,relro,-z,now,-z,noexecstack,-z,separate-code
ARCH := $(shell uname -m)
ifeq ($(ARCH),x86_64)
HARDEN += -fcf-protection=full -fstack-clash-protection
endif
# Clang 14 has it under another name only.
ifneq ($(findstring clang,$(CC)),)
HARDEN := $(filter-out -ftrivial-auto-var-init=zero,$(HARDEN))
endif
ifeq ($(SAN),)
OPT := -O2 -g -D_FORTIFY_SOURCE=3
# Linked as a whole a program names malloc() only in the end, when the linker has passed the library over.
ALLOC := -Wl,--push-state,--no-as-needed -ljemalloc -Wl,--pop-state
else ifeq ($(SAN),address)
OPT := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
ALLOC :=
else ifeq ($(SAN),thread)
OPT := -O1 -g -fsanitize=thread -fno-omit-frame-pointer
ALLOC :=
else ifeq ($(SAN),coverage)
OPT := -O0 -g --coverage
ALLOC :=
else ifeq ($(SAN),valgrind)
OPT := -O1 -g -Wno-maybe-uninitialized
HARDEN := $(filter-out -ftrivial-auto-var-init=zero,$(HARDEN))
ALLOC :=
else ifeq ($(SAN),fuzzer)
OPT := -O1 -g -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=all -fno-omit-frame-pointer -DMUSTER_LIBFUZZER
ALLOC :=
FUZZ_LINK := -fsanitize=fuzzer
else
$(error SAN is address, thread, coverage, valgrind, fuzzer or empty, not "$(SAN)")
endif

CPPFLAGS += -I. -D_GNU_SOURCE -DMUSTER_VERSION='"$(VERSION)"'
ifneq ($(SAN),)
CPPFLAGS += -DMUSTER_UNCONFINED
endif
# LIBS_PKG_FLAGS are system headers: their warnings are not ours.
CFLAGS_ALL = -std=gnu11 $(OPT) $(FLOAT) $(WARN) $(HARDEN) $(LIBS_PKG_FLAGS) $(CFLAGS)
LDFLAGS_ALL = $(OPT) $(LDHARDEN) $(LDFLAGS)
LDLIBS = $(LIBS_PKG_LIBS) -lpthread -lm $(ALLOC)

# --- what is built ---------------------------------------------------------

LIB_DIRS := ipc core frontend ctl tests/apisim tests/demo tests/sim tests/hour tests/probe bench
lib_src = $(filter-out $(1)/main%.c,$(wildcard $(addprefix $(1)/,*.c */*.c */*/*.c)))
obj = $(patsubst %.c,$(B)/obj/%.o,$(1))

LIB_ipc      := $(B)/lib/libmuster-ipc.a
LIB_core     := $(B)/lib/libmuster-core.a
LIB_frontend := $(B)/lib/libmuster-frontend.a
LIB_ctl      := $(B)/lib/libmuster-ctl.a
LIB_apisim   := $(B)/lib/libmuster-apisim.a
LIB_bench    := $(B)/lib/libmuster-bench.a
LIB_demo     := $(B)/lib/libmuster-demo.a
LIB_sim      := $(B)/lib/libmuster-sim.a
LIB_hour     := $(B)/lib/libmuster-hour.a
LIB_probe    := $(B)/lib/libmuster-probe.a
LIB_support  := $(B)/lib/libmuster-support.a

# What kills daemons at their probes knows the registers of one machine.
PROBE := $(if $(filter x86_64,$(ARCH)),tests/probe:muster-killat)
PROGRAMS := $(foreach p,core:muster-core frontend:muster-frontend ctl:musterctl \
	tests/apisim:muster-apisim bench:muster-bench tests/demo:muster-demo tests/sim:muster-sim tests/hour:muster-hour $(PROBE),\
	$(if $(wildcard $(firstword $(subst :, ,$(p)))/main.c),$(B)/bin/$(lastword $(subst :, ,$(p))))) \
	$(B)/bin/muster-count $(if $(SAN),,$(B)/lib/muster-shim.so $(B)/lib/muster-memory.so)

unit_src := $(wildcard $(addprefix tests/unit/,*/test_*.c */*/test_*.c */*/*/test_*.c))
UNIT   := $(patsubst tests/unit/%.c,$(B)/unit/%,$(unit_src))
STRESS := $(patsubst tests/stress/%.c,$(B)/stress/%,$(wildcard tests/stress/stress_*.c))
FUZZ   := $(patsubst tests/fuzz/%.c,$(B)/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))

.PHONY: all help programs unit stress fuzzers fuzz faults failpoints mutations oracle sim hour sim-versions campaign soak service valgrind coverage demo test test-unit test-long test-process test-clang test-real test-controllers test-stress \
	test-counts test-watching test-image test-chart counts-baseline bench compare compare-slurm layers install deb clean deps deps-test deps-real
all: programs

help:
	@sed -n 's/^## //p' Makefile

programs: $(PROGRAMS)
	@:
unit: $(UNIT)
stress: $(STRESS)
fuzzers: $(FUZZ)

$(B)/obj/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS_ALL) -MMD -MP -c -o $@ $<

# A filter before the exact sums, with bounds that hold either way (docs/decisions/036).
$(B)/obj/core/index/view_scan_f32.o $(B)/whole/core/index/view_scan_f32.o: FLOAT :=

# Their vectors are passed between functions that are all inlined.
vectors := $(addprefix core/index/,view_scan_f64.o view_batch.o view_scan_f32.o)
$(vectors:%=$(B)/obj/%) $(vectors:%=$(B)/whole/%): WARN += -Wno-psabi

# Their text is compiled in.
$(B)/obj/frontend/page/page.o: $(wildcard frontend/page/*.html frontend/page/*.css frontend/page/*.js)

# What is measured and shipped of the core is compiled as a whole, so that small functions cost no calls from file to file
# (docs/decisions/037).  Tests link the plain objects: each of their programs would be compiled anew.
ifeq ($(SAN)$(filter-out gcc,$(CC)),)
LTO := -flto=auto -fno-fat-lto-objects
core_whole := $(patsubst %.c,$(B)/whole/%.o,$(call lib_src,core) $(call lib_src,ipc))
$(B)/whole/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS_ALL) $(LTO) -MMD -MP -c -o $@ $<
else
LTO :=
core_whole = $(LIB_core) $(LIB_ipc)
endif

define library
$(LIB_$(2)): $(call obj,$(or $(3),$(call lib_src,$(1))))
	@mkdir -p $$(@D)
	@rm -f $$@
	$$(call say,AR,$$@)
	$$(Q)$$(AR) rcs $$@ $$^
endef
$(eval $(call library,ipc,ipc))
$(eval $(call library,core,core))
$(eval $(call library,frontend,frontend))
$(eval $(call library,ctl,ctl))
$(eval $(call library,tests/apisim,apisim))
$(eval $(call library,bench,bench))
$(eval $(call library,tests/demo,demo))
$(eval $(call library,tests/sim,sim))
$(eval $(call library,tests/hour,hour))
$(eval $(call library,tests/probe,probe))
$(eval $(call library,tests/unit,support,$(wildcard tests/unit/support*.c)))

# $(1) binary, $(2) main object, $(3) libraries in link order, $(4) flags of the linker
define program
$(B)/bin/$(1): $(B)/obj/$(2).o $(3)
	@mkdir -p $$(@D)
	$$(call say,LD,$$@)
	$$(Q)$$(CC) $$(LDFLAGS_ALL) $(4) -o $$@ $$^ $$(LDLIBS)
endef
$(eval $(call program,muster-core,core/main,$(core_whole),$(LTO)))
$(eval $(call program,muster-frontend,frontend/main,$(LIB_frontend) $(LIB_ipc)))
$(eval $(call program,musterctl,ctl/main,$(LIB_ctl) $(LIB_frontend) $(LIB_core) $(LIB_ipc)))
$(eval $(call program,muster-apisim,tests/apisim/main,$(LIB_apisim)))
$(eval $(call program,muster-demo,tests/demo/main,$(LIB_demo) $(LIB_ctl) $(LIB_frontend) $(LIB_ipc)))
$(eval $(call program,muster-sim,tests/sim/main,$(LIB_sim) $(LIB_apisim) $(LIB_frontend) $(LIB_core) $(LIB_ipc)))
$(eval $(call program,muster-sim-versions,tests/sim/main,$(OTHER_VERSION) $(LIB_sim) $(LIB_apisim) $(LIB_frontend) $(LIB_core) $(LIB_ipc)))
$(eval $(call program,muster-hour,tests/hour/main,$(LIB_hour) $(B)/obj/tests/sim/rings.o $(LIB_bench) $(LIB_ctl) $(LIB_apisim) $(LIB_frontend) $(core_whole),$(LTO)))
$(eval $(call program,muster-killat,tests/probe/main,$(LIB_probe)))
$(eval $(call program,muster-bench,bench/main,$(LIB_bench) $(LIB_ctl) $(LIB_frontend) $(core_whole),$(LTO)))
$(eval $(call program,muster-count,bench/main_count,$(LIB_bench) $(LIB_ctl) $(LIB_frontend) $(core_whole),$(LTO)))

# Preloaded by tests: tests/lib/shim.py.
$(B)/lib/muster-%.so: tests/shim/%.c Makefile
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE -O2 -g $(WARN) -fPIC -shared -Wl,-z,relro,-z,now -o $@ $< -ldl

# A unit test is one Criterion program for one module; it may use any library.  Each of its tests is a process of its own,
# so what a start costs is paid thousands of times.
$(B)/unit/%: $(B)/obj/tests/unit/%.o $(B)/obj/tests/unit/start.o $(LIB_support) \
		$(LIB_bench) $(LIB_ctl) $(LIB_frontend) $(LIB_core) $(LIB_apisim) $(LIB_ipc)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS_ALL) -Wl,--export-dynamic-symbol=mbedtls_x509_crt_parse_file -o $@ $^ $(LDLIBS) -lcriterion

# ctl/live/top_screen.c; nothing else needs it.
$(B)/bin/musterctl: LDLIBS += $(shell pkg-config --libs ncursesw)

# A stress program races two threads of the core or of ipc.
$(B)/stress/%: $(B)/obj/tests/stress/%.o $(LIB_core) $(LIB_ipc)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ $(LDLIBS)

# A fuzzer may use any library and tests/fuzz/support*.c.
$(B)/fuzz/%: $(B)/obj/tests/fuzz/%.o $(call obj,$(wildcard tests/fuzz/support*.c) tests/unit/support_extract.c) \
		$(LIB_ctl) $(LIB_frontend) $(LIB_core) $(LIB_ipc)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS_ALL) $(FUZZ_LINK) -o $@ $^ $(LDLIBS)

## make             build all programs into build/bin
## make demo        install what is missing, build, run the main job
## make test        install what is missing, build, run the tests but the long ones: 7 minutes on 2 CPUs
## make test-long   what takes longer: packages, ports, page, outages; memory orders taken away; models
## make test-real   the same against a real kube-apiserver 1.36.3, or KUBE=1.34.4; ETCD=new over etcd 3.6.8
## make test-controllers  JobSet, LeaderWorkerSet, Kueue, MPI operator, Trainer, KubeRay on it, unmodified
## make oracle      random tests of evaluations, pod counts, views and plans for SEEDS=20
## make sim         core, frontend, API server and faults on virtual time: SEEDS=2000 seeds from FROM=1 on
## make sim-versions  the same with instances that change between this version and the commit OTHER=
## make hour        a large cluster for an hour of virtual time: HOUR='--nodes 65000 --seconds 600'
## make faults      each of the 44 faults of docs/faults.md at each of its moments
## make failpoints  each daemon is killed KILLS=10 times at each of its probes; ONLY= some
## make mutations   bugs put in on purpose, each of which the suite has to find; ONLY= some
## make campaign    4,000 seeds of make sim and 1,000 cycles of kill -9, or SEEDS= FROM= CYCLES=
## make soak        500 pods a second come and go for SECONDS=600, with faults: nothing grows
## make service     how long until it schedules again after a daemon, the leader or the API server was away
## make valgrind    unit tests and seeds of make sim under valgrind; FEW=1 in two minutes
## make coverage    lines and branches that tests reach, and the files that are below their goal
## make fuzz        each fuzzer for SECONDS=60, under ASan and UBSan
## make bench       measure; needs a quiet machine
## make compare     muster and other gang schedulers on one real kube-apiserver: ROUNDS=5 NODES=5000 PEERS=
## make compare-slurm  first given and true starts of 200 jobs, Slurm beside muster; root, half an hour: DIVISOR=100
## make test-counts instructions of the hot paths; counts-baseline accepts them
## make test-watching   what watchers cost both daemons, in instructions
## make test-image  build and run the image without an engine; needs buildah, debootstrap, a network
## make test-chart  deploy/chart makes what deploy/'s kustomizations make; builds helm and kustomize once
## make layers      show includes that point the wrong way
## make install     DESTDIR= PREFIX=/usr/local; units of systemd go to UNITDIR=
## make deb         Debian packages into build/deb
## make clean
##
## SAN=address|thread and CC=clang build beside it, in folders of their own.

# Unit tests run under ASan and UBSan, stress programs under TSan, processes as
# they are shipped.
test: deps-test
	@$(MAKE) --no-print-directory -j2 programs
	@$(MAKE) --no-print-directory -j2 SAN=address unit
	@tests/suite.sh | tests/run.sh build/test-logs

demo: deps
	@$(MAKE) --no-print-directory -j2 programs
	@$(B)/bin/muster-demo

# The second compiler has to agree without a warning.
test-clang: deps-test
	@$(MAKE) --no-print-directory -j2 CC=clang programs
	@echo '1 passed, 0 failed'

test-unit:
	@$(MAKE) --no-print-directory -j2 SAN=address unit
	@tests/suite.sh unit | tests/run.sh build/test-logs-unit

# What the slow and obvious ways say, for as many seeds as wanted.
SEEDS ?= 20
ORACLE := $(addprefix build-address/unit/core/,filter/test_evaluate classes/test_pod_counts index/test_views index/test_soft plan/test_random \
	plan/test_levels_random step/test_random)
oracle:
	@$(MAKE) --no-print-directory -j2 SAN=address $(ORACLE)
	@for seed in $$(seq 1 $(SEEDS)); do \
		for program in $(ORACLE); do echo "env MUSTER_TEST_SEED=$$seed $$program"; done; \
	done | tests/run.sh build/test-logs-oracle

# A seed that fails is told as a story, as short as it can be made.
FROM ?= 1
sim: $(B)/bin/muster-sim
	@$(B)/bin/muster-sim --from $(FROM) --seeds $(if $(filter file,$(origin SEEDS)),2000,$(SEEDS))

# Tens of minutes and some 3 GB with the defaults.
hour: $(B)/bin/muster-hour
	@$(B)/bin/muster-hour $(HOUR)

sim-versions:
	@tests/sim/versions.sh $(OTHER) $(B)
	@$(B)/bin/muster-sim-versions --from $(FROM) --seeds $(if $(filter file,$(origin SEEDS)),2000,$(SEEDS))

# Seeds in four parts and cycles in two, each its own seed; four at a time, since cycles mostly wait.
CYCLES ?= 1000
campaign: deps-test programs
	@seeds=$(if $(filter file,$(origin SEEDS)),4000,$(SEEDS)); { \
		echo @4; \
		for part in $(if $(filter 0,$(CYCLES)),,1 2); do echo "python3 tests/process/test_kill.py --cycles=$$(($(CYCLES) / 2)) --seed=$$(($(FROM) + part - 1))"; done; \
		for part in 0 1 2 3; do echo "$(B)/bin/muster-sim --keep-going --from $$(($(FROM) + part * seeds / 4)) --seeds $$((seeds / 4))"; done; \
	} | MUSTER_TEST_FIGURES=1 MUSTER_TEST_TIMEOUT_S=$$((300 + seeds / 50 + $(CYCLES))) tests/run.sh build/test-logs-campaign

# Minutes: each probe is come by in a cluster of its own.
KILLS ?= 10
failpoints: deps-test programs
	@python3 tests/process/test_failpoints.py --full --kills=$(KILLS) --only="$(ONLY)" --table=build/failpoints.md test_killed_at_each_probe

# Some 200 builds of copies under build/mutations, two at a time; the table is build/mutations.md.
mutations: deps-test
	@$(MAKE) --no-print-directory -j2 $(B)/bin/muster-sim
	@$(MAKE) --no-print-directory -j2 SAN=address build-address/fuzz/fuzz_records build-address/unit/core/test_stories
	@tests/mutate.py --only="$(ONLY)" --table build/mutations.md

soak: deps-test programs
	@tests/process/soak.py --seconds=$(if $(filter file,$(origin SECONDS)),600,$(SECONDS))

# Alone, on a machine that is quiet: they are times.
service: deps-test programs
	@tests/process/service.py

# Reads of memory that nobody wrote, which the sanitizers don't see.  A test is a process, and a second.  Not those that let
# allocations fail: valgrind has an allocator of its own.  FEW=1: what takes bytes from outside, and what is random.
VALGRIND_UNIT := $(if $(FEW),$(addprefix build-valgrind/unit/,ipc/test_link core/daemon/test_daemon core/daemon/test_recorder core/step/test_random \
	frontend/model/test_random frontend/watch/test_frames frontend/json/test_json frontend/decode/test_extract \
	frontend/api/test_kubeconfig frontend/api/test_credentials),\
	$(patsubst tests/unit/%.c,build-valgrind/unit/%,$(unit_src)))
valgrind: deps-test
	@$(MAKE) --no-print-directory -j2 SAN=valgrind build-valgrind/bin/muster-sim $(VALGRIND_UNIT)
	@{ for from in 1 51; do echo "tests/valgrind.sh build-valgrind/bin/muster-sim --from $$from --seeds 50"; done; \
		for unit in $(VALGRIND_UNIT); do echo "tests/valgrind.sh $$unit -j1"; done; \
	} | MUSTER_TEST_TIMEOUT_S=600 tests/run.sh build/test-logs-valgrind

coverage:
	@deploy/install-deps.sh build test coverage
	@$(MAKE) --no-print-directory -j2 SAN=coverage programs unit
	@tests/coverage.sh

# Under TSan, once more with each memory order taken away, and the models.  FEW=1: with each in place alone.
test-stress:
	@$(MAKE) --no-print-directory -j2 SAN=thread stress
	@{ printf '!TSAN_OPTIONS=halt_on_error=1 %s\n' $(STRESS:$(B)/%=build-thread/%); \
		$(if $(FEW),,echo '!tests/stress/weaken.sh'; echo '!tests/model/run.sh';) } | tests/run.sh build/test-logs-stress

# Many at a time: they mostly wait.  Some are tests of modules, under ASan.
faults: deps-test
	@$(MAKE) --no-print-directory -j2 programs
	@$(MAKE) --no-print-directory -j2 SAN=address unit fuzzers $(patsubst %,build-address/bin/muster-%,core frontend)
	@tests/faults/run.py

# Two at a time.  A finding prints how to have it again.
SECONDS ?= 60
fuzz:
	@$(MAKE) --no-print-directory -j2 SAN=address fuzzers
	@printf '%s --seconds $(SECONDS)\n' $(FUZZ:$(B)/%=build-address/%) | \
		MUSTER_TEST_TIMEOUT_S=$$(($(SECONDS) + 60)) tests/run.sh build/test-logs-fuzz

test-process: programs
	@tests/suite.sh process long | grep -v test-stress | tests/run.sh build/test-logs-process

test-long: deps-test programs
	@tests/suite.sh long | tests/run.sh build/test-logs-long

# The real kube-apiserver is built once into a cache outside the tree.
test-real: deps-real
	@$(MAKE) --no-print-directory -j2 programs
	@$(if $(KUBE),KUBE=$(KUBE)) $(if $(ETCD),ETCD=$(ETCD)) tests/real/run.sh

# By hand: the controllers take some minutes to build once.
test-controllers: deps-real
	@$(MAKE) --no-print-directory -j2 programs
	@tests/real/controllers/build.sh > /dev/null
	@python3 tests/real/controllers/test_operators.py

deps:
	@deploy/install-deps.sh build
deps-test:
	@deploy/install-deps.sh build test
deps-real:
	@deploy/install-deps.sh build test real

# Instructions of the hot paths against bench/counts.txt.
test-counts: deps-test
	@tests/counts.sh
# Not a part of anything: it fetches a Debian system.
test-image: programs
	@tests/image.py
# Not a part of anything: the first run builds two programs of Go.
test-chart: programs
	@deploy/install-deps.sh chart
	@tests/chart.py
test-watching: deps-test programs
	@tests/watching.py
counts-baseline: deps-test
	@tests/counts.sh --renew

layers:
	@tests/layers.sh

# docs/bench; BENCH='compare-real e2e-real' for the real API server, BENCH='--quick' in minutes.
BENCH ?=
bench: deps-test programs
	@bench/report.py $(BENCH)

# The others are built from their Go modules once; PEERS='muster volcano' for some of them, PAGE=1 writes docs/peers.md.
compare: deps-real programs
	@bench/peers/compare.py $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(NODES),--nodes $(NODES)) $(if $(GANGS),--gangs $(GANGS)) \
		$(if $(PAGE),--page) $(PEERS)

# Slurm runs in real time, in a network of its own.
compare-slurm:
	@deploy/install-deps.sh build slurm
	@$(MAKE) --no-print-directory build/bin/muster-bench
	@bench/peers/slurm.py $(if $(DIVISOR),--divisor $(DIVISOR))

# What is in /etc already stays.
UNITDIR ?= $(PREFIX)/lib/systemd/system
# Where Debian's zsh looks.
ZSHDIR ?= $(PREFIX)/share/zsh/$(if $(filter /usr,$(PREFIX)),vendor-completions,site-functions)
install: programs
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(UNITDIR) $(DESTDIR)/etc/muster \
		$(DESTDIR)/etc/default $(DESTDIR)$(PREFIX)/share/bash-completion/completions $(DESTDIR)$(ZSHDIR) \
		$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
	install -m 755 $(B)/bin/muster-core $(B)/bin/muster-frontend $(B)/bin/musterctl \
		$(B)/bin/muster-apisim $(B)/bin/muster-bench $(DESTDIR)$(PREFIX)/bin
	ln -sf musterctl $(DESTDIR)$(PREFIX)/bin/kubectl-muster
	ln -sf musterctl $(DESTDIR)$(PREFIX)/bin/kubectl_complete-muster
	install -m 644 docs/man/*.1 $(DESTDIR)$(PREFIX)/share/man/man1
	ln -sf musterctl.1 $(DESTDIR)$(PREFIX)/share/man/man1/kubectl-muster.1
	ln -sf musterctl.1 $(DESTDIR)$(PREFIX)/share/man/man1/kubectl_complete-muster.1
	$(B)/bin/musterctl completion bash > $(DESTDIR)$(PREFIX)/share/bash-completion/completions/musterctl
	ln -sf musterctl $(DESTDIR)$(PREFIX)/share/bash-completion/completions/kubectl-muster
	$(B)/bin/musterctl completion zsh > $(DESTDIR)$(ZSHDIR)/_musterctl
	$(B)/bin/musterctl completion fish > $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/musterctl.fish
	for unit in muster-core muster-frontend; do \
		sed 's|/usr/bin/|$(PREFIX)/bin/|' deploy/systemd/$$unit.service > $(DESTDIR)$(UNITDIR)/$$unit.service || exit 1; \
	done
	[ -e $(DESTDIR)/etc/muster/config.yaml ] || install -m 644 deploy/systemd/config.yaml $(DESTDIR)/etc/muster/config.yaml
	[ -e $(DESTDIR)/etc/default/muster ] || install -m 644 deploy/systemd/muster.default $(DESTDIR)/etc/default/muster

# Their paths are printed: build/deb/muster_VERSION_ARCH.deb and muster-tools.
deb:
	@deploy/install-deps.sh build deb
	@$(MAKE) --no-print-directory -j2 programs
	@deploy/deb/build.sh build/deb

# Objects of tests are kept.
.SECONDARY:

clean:
	rm -rf build build-*

-include $(shell find $(B)/obj $(B)/whole -name '*.d' 2>/dev/null)
