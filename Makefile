# Perigee. `make help` lists the targets; `make run` and `make test` are all that a fresh machine needs.
#
# build/            what is built; nothing outside it is written (but dist/ and data/, by the targets of these names)
#   perigee         the command; finds lua/, kernels/, tasks/, validators/ beside build/
#   lib/            Lua C modules that tasks load (references at C speed)
#   tests/          C test programs
#   asan/ fuzz/     the same with sanitizers
#   deps/           what `make deps` fetched; `make clean` keeps it

SHELL := /bin/bash
.DEFAULT_GOAL := build
VERSION := 0.1.0
# All cores, unless the user says -j.
ifeq ($(MAKELEVEL)$(findstring -j,$(MAKEFLAGS)),0)
MAKEFLAGS += -j$(shell nproc)
endif
BUILD ?= build
PREFIX ?= /usr/local
ARCH := $(shell uname -m)
ifeq ($(origin CC),default)
CC := gcc
endif

WARN := -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes -Wno-sign-conversion \
        -Wno-unknown-pragmas
CFLAGS ?= -O2 -g
LUA_CFLAGS := -I/usr/include/lua5.4
# -ffp-contract=off: the simulator and the references must round exactly where the source says.
ALL_CFLAGS = -std=c11 -D_GNU_SOURCE -DPG_VERSION='"$(VERSION)"' $(WARN) -ffp-contract=off \
             -fvisibility=hidden -fPIC -pthread $(LUA_CFLAGS) $(CFLAGS) $(SAN)
# Static where Debian ships archives, so that `make dist` runs on a machine with nothing but a driver.
ARCHIVES = -l:liblua5.4.a -l:libjansson.a -l:libmd.a -l:libsqlite3.a -l:libseccomp.a -l:libffi_pic.a
LIBS = $(ARCHIVES) -lm -ldl -lpthread

# host/sim/vec_*.c: hot loops, compiled once per instruction set from the same source. PG_ISA is the bare word
# base, avx2 or avx512, for names made by token pasting; who calls them chooses at run time.
VEC_ISAS := base $(if $(filter x86_64,$(ARCH)),avx2 avx512)
VEC_FLAGS = -O3 -fno-math-errno -fno-trapping-math
VEC_base :=
VEC_avx2 := -mavx2 -mfma -mf16c -mbmi2
VEC_avx512 := -march=x86-64-v4

VECTORS := $(wildcard host/sim/vec_*.c)
SOURCES := $(filter-out $(VECTORS),$(wildcard host/*.c host/cuda/*.c host/sim/*.c host/judge/*.c host/bind/*.c host/ffi/*.c))
OBJECTS := $(SOURCES:host/%.c=$(BUILD)/obj/%.o) \
           $(foreach isa,$(VEC_ISAS),$(VECTORS:host/%.c=$(BUILD)/obj/%_$(isa).o))
CORE := $(filter-out $(BUILD)/obj/main.o,$(OBJECTS))
# The C API. libperigee.so: no Lua. libperigee-host.so: all. perigee.so: a module for stock Lua, which brings Lua itself.
API_CORE := $(patsubst %,$(BUILD)/obj/api/%.o,error device array measure judge)
LIB_CORE := $(filter $(BUILD)/obj/cuda/% $(BUILD)/obj/sim/%,$(CORE)) $(API_CORE) \
            $(patsubst host/%.c,$(BUILD)/obj/%.o,$(filter-out host/main.c,$(wildcard host/*.c)))
LIBRARIES := $(BUILD)/libperigee.so $(BUILD)/libperigee-host.so $(BUILD)/perigee.so
SONAME := $(firstword $(subst ., ,$(VERSION)))
# A Lua C module of a task, `require "hash.name"`: tasks/hash/name.c, or every file in tasks/hash/name/.
MODULE_SOURCES := $(wildcard tasks/*/*.c tasks/*/*/*.c)
MODULE_NAMES := $(sort $(patsubst tasks/%.c,%,$(wildcard tasks/*/*.c)) \
                       $(patsubst tasks/%/,%,$(dir $(wildcard tasks/*/*/*.c))))
MODULES := $(MODULE_NAMES:%=$(BUILD)/lib/%.so)
CTESTS := $(patsubst tests/c/%.c,$(BUILD)/tests/%,$(wildcard tests/c/test_*.c))
# Programs of tests/gpu; check_abi.c there is only compiled.
GPUTESTS := $(patsubst tests/gpu/%.c,$(BUILD)/tests/gpu/%,$(filter-out %/check_abi.c,$(wildcard tests/gpu/*.c))) \
            $(BUILD)/tests/gpu/api_core $(BUILD)/tests/gpu/api_host

# ---- use ------------------------------------------------------------------------------------------------------------

TASKS ?= hash/tsdf_allocate hash/tsdf_update hash/tsdf_fuse vector/saxpy

.PHONY: run
run: deps-run ## install what is missing, build, run the benchmarks (TASKS="..." ARGS="...")
	@$(MAKE) -s --no-print-directory build
	@$(BUILD)/perigee run $(TASKS) $(ARGS)

.PHONY: test
test: deps-test ## install what is missing, build, run every test (ONLY=pattern: only these suites)
	@BUILD=$(BUILD) CC="$(CC)" tests/run '$(ONLY)'

.PHONY: test-gpu
test-gpu: build $(GPUTESTS) ## tests that need an NVIDIA GPU
	@tests/gpu/run

.PHONY: test-cheats
test-cheats: deps-test build $(BUILD)/tests/shim/counting/libcuda.so.1 $(BUILD)/tests/shim/libnvidia-ml.so.1 ## kernels that lie must be caught, honest ones must pass (tests/cheats)
	@BUILD=$(BUILD) $(BUILD)/perigee tests/cheats/run.lua --slow

.PHONY: fuzz-serve
fuzz-serve: build ## random and mutated messages to `perigee serve` (FUZZ_SECONDS=30)
	@$(BUILD)/perigee tests/serve/fuzz.lua $(FUZZ_SECONDS)

.PHONY: fuzz-ffi
fuzz-ffi: asan $(BUILD)/tests/ffi/library.so ## random calls of the ffi under ASan and UBSan, another seed each second or so (FUZZ_SECONDS=30)
	@ASAN_OPTIONS=allocator_may_return_null=1:max_allocation_size_mb=64 $(BUILD)/asan/perigee tests/ffi/drive.lua $(BUILD)/tests/ffi/library.so \
	  $$RANDOM $(or $(FUZZ_SECONDS),30)

.PHONY: test-ffi
test-ffi: deps-test build $(BUILD)/tests/ffi/library.so ## the ffi against LuaJIT's: a script, headers, random programs, the same output
	@tests/ffi/run $(BUILD)

.PHONY: bench-ffi
bench-ffi: deps-test build $(BUILD)/tests/ffi/library.so $(BUILD)/tests/ffi/binding.so ## calls a second of the ffi, of a binding by hand, of LuaJIT
	@$(BUILD)/perigee tests/ffi/bench.lua Perigee $(BUILD)/tests/ffi/library.so $(BUILD)/tests/ffi/binding.so
	@luajit -joff tests/ffi/bench.lua "LuaJIT -joff" $(BUILD)/tests/ffi/library.so ""
	@luajit tests/ffi/bench.lua "LuaJIT" $(BUILD)/tests/ffi/library.so ""

.PHONY: bench-sim
bench-sim: deps-sim-peers $(BUILD)/tests/bench_sim ## the simulator's speed against PoCL and Oclgrind (ARGS="--cpu" on a busy machine)
	@$(BUILD)/tests/bench_sim $(ARGS)

.PHONY: test-ptx
test-ptx: build ## instructions that match a real GPU's golden vectors, and those not supported
	@$(BUILD)/perigee tests/golden/report.lua

.PHONY: data
data: build ## fetch or make the real scans for hash/tsdf_*, in data/
	@$(BUILD)/perigee tasks/hash/data.lua

# ---- build ----------------------------------------------------------------------------------------------------------

.PHONY: build
build: $(BUILD)/perigee $(MODULES) ## the command and the modules of the tasks, in build/

.PHONY: libraries
libraries: $(LIBRARIES) ## the C API: libperigee.so, libperigee-host.so, and perigee.so for stock Lua

.PHONY: tests
tests: $(CTESTS)

# -O0 for the hot loops: instrumented and optimized they would take most of the time of the build.
SANITIZE := -fsanitize=address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=all

.PHONY: asan
asan: ## the same in build/asan, with AddressSanitizer and UBSan
	@mkdir -p $(BUILD)/asan && ln -sfn ../deps $(BUILD)/asan/deps
	@$(MAKE) -s --no-print-directory BUILD=$(BUILD)/asan CFLAGS="-O1 -g" VEC_FLAGS=-O0 SAN="$(SANITIZE)" build tests \
	  $(BUILD)/asan/tests/embed/api $(BUILD)/asan/tests/embed/threads

# Each tests/fuzz/fuzz_NAME.c has LLVMFuzzerTestOneInput and reads PTX, fuzz_cdef C declarations. Seeds stay as they
# are. Without FUZZ_SECONDS the same runs each time, so that a test never depends on luck (use_cmp would: it learns from
# addresses); with it new ones, whose finds go to build/fuzz and are the seeds of the next.
FUZZERS := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
SIM_CORE := $(filter $(BUILD)/obj/sim/%,$(CORE)) \
            $(patsubst host/%.c,$(BUILD)/obj/%.o,$(filter-out host/main.c host/device.c,$(wildcard host/*.c)))
CDEF_CORE := $(filter $(addprefix $(BUILD)/obj/ffi/,types.o layout.o name.o lex.o parse%.o),$(CORE))
FUZZ_RUNS_cdef := 40000
FUZZ_RUNS_ptx := 15000
FUZZ_RUNS_sim := 3000
# $(1): a fuzzer
fuzz_seeds = $(sort $(wildcard tests/fuzz/corpus/$(1)/* $(if $(filter cdef,$(1)),,tests/ptx/*.ptx)))
comma := ,
empty :=
fuzz_how = $(if $(FUZZ_SECONDS),-max_total_time=$$(($(FUZZ_SECONDS) / $(words $(FUZZERS)))) -timeout=10 $(BUILD)/corpus/$(1),\
  -seed=1 -runs=$(FUZZ_RUNS_$(1)) -use_cmp=0 -timeout=60)

.PHONY: fuzz run-fuzzers
fuzz: ## fuzz what reads foreign bytes: always the same runs, FUZZ_SECONDS=600 new ones (needs clang)
	@$(MAKE) -s --no-print-directory BUILD=$(BUILD)/fuzz CC=clang CFLAGS="-O1 -g" VEC_FLAGS="-O1 -fno-sanitize=undefined" \
	  SAN="$(SANITIZE) -fsanitize=fuzzer-no-link" run-fuzzers

run-fuzzers: $(FUZZERS:%=run-fuzz-%)

.PHONY: $(FUZZERS:%=run-fuzz-%)
$(FUZZERS:%=run-fuzz-%): run-fuzz-%: $(BUILD)/fuzz_%
	@mkdir -p $(BUILD)/corpus/$*
	@$< $(call fuzz_how,$*) -rss_limit_mb=2048 -dict=tests/fuzz/$(if $(filter cdef,$*),cdef,ptx).dict -verbosity=0 -print_funcs=0 \
	  -print_final_stats=1 -artifact_prefix=$(BUILD)/ -seed_inputs=$(subst $(empty) ,$(comma),$(call fuzz_seeds,$*))

$(BUILD)/fuzz_%: tests/fuzz/fuzz_%.c tests/fuzz/clock.c $(SIM_CORE) $(CDEF_CORE) $(BUILD)/flags
	@$(CC) $(ALL_CFLAGS) -fsanitize=fuzzer -Wl,--wrap=clock_gettime -Ihost -Itests/c -MMD -MP -o $@ $< tests/fuzz/clock.c \
	  $(SIM_CORE) $(CDEF_CORE) $(LIBS)

# Compiler and flags are a prerequisite of every object: other flags build anew, the same flags build nothing.
FLAGS := $(CC) $(ALL_CFLAGS) $(EXTRA_CFLAGS) $(VEC_FLAGS) $(ARCHIVES)
ifneq ($(file <$(BUILD)/flags),$(FLAGS))
$(shell mkdir -p $(BUILD))
$(file >$(BUILD)/flags,$(FLAGS))
endif

$(BUILD)/perigee: $(OBJECTS)
	@$(CC) $(SAN) -rdynamic -o $@ $(OBJECTS) $(LIBS)

# One file a library, with its version in its name, and the links that loaders and compilers look for. Debian's archives
# of Lua, jansson, SQLite and others are not position-independent, so these are shared here. nodelete: LuaJIT unloads
# libraries before it ends the objects that it holds of them.
LIB_LINK = $(CC) $(SAN) -shared -Wl,-z,defs,-z,nodelete,-Bsymbolic,--version-script=host/api/exports.map
SHARED = -ljansson -l:libmd.a -lsqlite3 -lseccomp -lffi -lm -ldl -lpthread

$(BUILD)/libperigee.so: $(LIB_CORE) host/api/exports.map
	@$(LIB_LINK) -Wl,-soname,$(@F).$(SONAME) -o $@.$(VERSION) $(LIB_CORE) -l:libmd.a -lm -ldl -lpthread
	@ln -sf $(@F).$(VERSION) $@.$(SONAME) && ln -sf $(@F).$(SONAME) $@

$(BUILD)/libperigee-host.so: $(CORE) $(API_CORE) $(BUILD)/obj/api/host.o $(BUILD)/obj/api/call.o host/api/exports.map
	@$(LIB_LINK) -Wl,-soname,$(@F).$(SONAME) -o $@.$(VERSION) $(filter %.o,$^) -llua5.4 $(SHARED)
	@ln -sf $(@F).$(VERSION) $@.$(SONAME) && ln -sf $(@F).$(SONAME) $@

$(BUILD)/perigee.so: $(CORE) $(BUILD)/obj/api/module.o host/api/exports.map
	@$(CC) $(SAN) -shared -Wl,-Bsymbolic,-z,nodelete,--version-script=host/api/exports.map -o $@ $(filter %.o,$^) $(SHARED)

# Asked once: says which packages are missing, instead of a compiler that finds no header.
$(BUILD)/ready:
	@CC="$(CC)" .ci/deps --check build
	@echo "building in $(BUILD)/ with $(CC), about a minute of one core"
	@touch $@

$(BUILD)/obj/%.o: host/%.c $(BUILD)/flags | $(BUILD)/ready
	@mkdir -p $(@D)
	@$(CC) $(ALL_CFLAGS) $(EXTRA_CFLAGS) -MMD -MP -c -o $@ $<

define VEC_RULE
$(BUILD)/obj/sim/vec_%_$(1).o: host/sim/vec_%.c $(BUILD)/flags | $(BUILD)/ready
	@mkdir -p $$(@D)
	@$$(CC) $$(ALL_CFLAGS) $$(EXTRA_CFLAGS) $$(VEC_FLAGS) $$(VEC_$(1)) -DPG_ISA=$(1) -MMD -MP -c -o $$@ $$<
endef
$(foreach isa,$(VEC_ISAS),$(eval $(call VEC_RULE,$(isa))))

# Modules use OpenMP where the compiler has it; `make dist` puts its run time beside them.
# nodelete: Lua unloads modules when it ends, but the threads of OpenMP's pool live on in them.
$(BUILD)/openmp: $(BUILD)/flags | $(BUILD)/ready
	@echo 'int main(void) { return 0; }' | $(CC) -fopenmp -x c - -o $@ 2>/dev/null && echo -fopenmp >$@ || echo >$@

$(BUILD)/obj/tasks/%.o: tasks/%.c $(BUILD)/openmp
	@mkdir -p $(@D)
	@$(CC) $(ALL_CFLAGS) -Ihost -O3 $$(<$(BUILD)/openmp) -MMD -MP -c -o $@ $<

define MODULE_RULE
$(BUILD)/lib/$(1).so: $(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard tasks/$(1).c tasks/$(1)/*.c))
	@mkdir -p $$(@D)
	@$$(CC) $$(SAN) $$$$(<$(BUILD)/openmp) -shared -Wl,-z,nodelete -Wl,-rpath,'$$$$ORIGIN:$$$$ORIGIN/..' -o $$@ $$^ -static-libgcc -lm
endef
$(foreach name,$(MODULE_NAMES),$(eval $(call MODULE_RULE,$(name))))

$(BUILD)/tests/%: tests/c/%.c $(CORE) $(BUILD)/flags
	@mkdir -p $(@D)
	@$(CC) $(ALL_CFLAGS) -Ihost -MMD -MP -o $@ $< $(CORE) -rdynamic $(LIBS) -lcmocka

# No cmocka: they run from `make dist` on a machine that has nothing but a driver.
$(BUILD)/tests/gpu/%: tests/gpu/%.c $(CORE) $(BUILD)/flags
	@mkdir -p $(@D)
	@$(CC) $(ALL_CFLAGS) -Ihost -MMD -MP -o $@ $< $(CORE) -rdynamic $(LIBS)

# Over the libraries, which `make dist` puts into lib/.
API_LIBRARY_core = perigee
API_LIBRARY_host = perigee-host
$(BUILD)/tests/gpu/api_%: tests/gpu/api/%.c $(BUILD)/libperigee.so $(BUILD)/libperigee-host.so $(BUILD)/flags
	@mkdir -p $(@D)
	@$(CC) $(ALL_CFLAGS) -pthread -Ihost -o $@ $< -L$(BUILD) -l$(API_LIBRARY_$*) -Wl,-rpath,'$$ORIGIN/../..'

$(BUILD)/tests/bench_sim: $(wildcard tests/bench/sim/*.[ch]) $(CORE) $(BUILD)/flags
	@mkdir -p $(@D)
	@$(CC) $(ALL_CFLAGS) -Ihost -o $@ $(filter %.c,$^) $(CORE) -rdynamic $(LIBS) -lOpenCL

# A program over the library of this build; tests/shell/test_embed.sh builds them against an installation.
$(BUILD)/tests/embed/%: tests/embed/%.c $(BUILD)/libperigee-host.so
	@mkdir -p $(@D)
	@$(CC) $(ALL_CFLAGS) -Ihost -o $@ $< -L$(BUILD) -lperigee-host -Wl,-rpath,'$$ORIGIN/../..'

# What tests/ffi/shared.lua calls, and the binding by hand that `make bench-ffi` compares with.
$(BUILD)/tests/ffi/%.so: tests/ffi/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	@$(CC) $(ALL_CFLAGS) -shared -o $@ $<

# A driver whose GPU is the simulator, and an NVML that goes with it: tests/shell/test_gpu_*.sh.
SHIM_OBJECTS := $(filter-out %/hash.o,$(SIM_CORE))
SHIM_LINK = $(CC) $(ALL_CFLAGS) -Ihost -shared -Wl,-Bsymbolic,-z,defs -o $@ $< $(SHIM_OBJECTS) -lm -lpthread
$(BUILD)/tests/shim/lib%.so.1: tests/shim/lib%.c $(SHIM_OBJECTS) $(BUILD)/flags
	@mkdir -p $(@D)
	@$(SHIM_LINK)

# The same with a clock that counts work: the cheat museum.
$(BUILD)/tests/shim/counting/lib%.so.1: tests/shim/lib%.c $(SHIM_OBJECTS) $(BUILD)/flags
	@mkdir -p $(@D)
	@$(SHIM_LINK) -DPG_SHIM_COUNTS

# NVIDIA's libraries by their definitions, over that driver: one file under the names of all (test_experts.sh).
$(BUILD)/tests/experts/libraries.so: tests/experts/libraries.c $(BUILD)/tests/shim/libcuda.so.1 $(BUILD)/flags
	@mkdir -p $(@D)
	@$(CC) $(ALL_CFLAGS) -fvisibility=default -shared -o $@ $< -L$(BUILD)/tests/shim -l:libcuda.so.1 -lm
	@for name in cublas cublasLt cufft cusolver cusparse cudnn; do ln -sf $(@F) $(@D)/lib$$name.so.13; done

-include $(OBJECTS:.o=.d) $(wildcard $(BUILD)/obj/api/*.d) $(MODULE_SOURCES:%.c=$(BUILD)/obj/%.d) $(CTESTS:=.d) $(GPUTESTS:=.d) $(FUZZERS:%=$(BUILD)/fuzz_%.d)

# ---- dependencies: what they are and which package has them is in .ci/deps ----------------------------------------

.PHONY: deps deps-run deps-test
deps: ## install what `make run` needs and this machine lacks (apt; NVRTC as a Python wheel)
	@CC="$(CC)" .ci/deps --again build nvrtc
deps-run:
	@CC="$(CC)" .ci/deps build nvrtc
deps-test:
	@CC="$(CC)" .ci/deps build test nvrtc mcp

.PHONY: deps-nvrtc deps-mcp deps-rust deps-triton deps-sim-peers deps-dev
deps-nvrtc: ## NVIDIA's run-time compiler, without which committed PTX is used
deps-mcp: ## the Python SDK that drives `perigee serve` in the tests
deps-rust: ## rustc and the source of its core library, for kernels in Rust
deps-triton: ## Triton, in a virtual environment in build/deps
deps-sim-peers: ## Oclgrind and PoCL, which the simulator is measured against
deps-dev: ## clang, clang-format, luacheck, shellcheck, valgrind
deps-nvrtc deps-mcp deps-rust deps-triton deps-sim-peers deps-dev:
	@.ci/deps --again $(@:deps-%=%)

# ---- code -----------------------------------------------------------------------------------------------------------

C_FILES = $(wildcard host/*.[ch] host/*/*.[ch] examples/embed/*.c tests/embed/*.c tasks/*/*.[ch] tasks/*/*/*.[ch] tests/c/*.[ch] tests/fuzz/*.[ch] tests/ffi/*.[ch] tests/gpu/*.[ch] tests/gpu/api/*.c tests/shim/*.[ch] tests/experts/*.c \
            tests/bench/*/*.[ch])

.PHONY: lint lint-c lint-lua format
lint: lint-c lint-lua ## clang-format, luacheck, shellcheck
	@shellcheck -x $(wildcard .ci/* tests/run tests/shell/*.sh) tests/serve/run_sdk tests/gpu/run tests/gpu/death tests/gpu/bench_check tests/gpu/ncu_compare

lint-c:
	@! clang-format --dry-run -Werror $(C_FILES) 2>&1 | grep error:

lint-lua:
	@luacheck --quiet .

format: ## reformat the C files
	clang-format -i $(C_FILES)

# ---- packages -------------------------------------------------------------------------------------------------------

.PHONY: dist
dist: build $(GPUTESTS) ## relocatable folder in dist/ for a machine with nothing but a driver (NVRTC=1: with the compiler)
	@CC="$(CC)" NVRTC=$(NVRTC) .ci/dist $(BUILD) dist/perigee-$(VERSION)-$(ARCH)

# What `perigee completion` prints, and where each is looked for.
PRINTED = man:man/man1/perigee.1 bash:bash-completion/completions/perigee zsh:zsh/site-functions/_perigee \
          fish:fish/vendor_completions.d/perigee.fish
# What a program asks pkg-config for; `perigee` is the core, `perigee-host` has Lua inside.
PACKAGES := perigee perigee-host
PUBLIC := perigee.h perigee_cdef.h
INSTALLED = bin/perigee share/perigee lib/lua/5.4/perigee.so $(PUBLIC:%=include/%) \
            $(PACKAGES:%=lib/pkgconfig/%.pc) $(foreach item,$(PRINTED),share/$(lastword $(subst :, ,$(item)))) \
            $(foreach name,$(PACKAGES),$(foreach end,so so.$(SONAME) so.$(VERSION),lib/lib$(name).$(end)))

# $$TO and $$PREFIX, quoted, are of the shell: a folder's name may have spaces.
.PHONY: install uninstall
install uninstall: export TO = $(DESTDIR)$(PREFIX)
install: export PREFIX := $(PREFIX)
install: build libraries uninstall ## into PREFIX (default /usr/local), below DESTDIR
	@install -D -m 755 $(BUILD)/perigee "$$TO/bin/perigee"
	@install -D -m 644 -t "$$TO/include" $(PUBLIC:%=host/%)
	@install -D -m 755 $(BUILD)/perigee.so "$$TO/lib/lua/5.4/perigee.so"
	@mkdir -p "$$TO/lib/pkgconfig" "$$TO/share/perigee/lib"
	@for name in $(PACKAGES); do \
	  cp -P $(BUILD)/lib$$name.so $(BUILD)/lib$$name.so.$(SONAME) $(BUILD)/lib$$name.so.$(VERSION) "$$TO/lib" && \
	  sed "s|@PREFIX@|$$PREFIX|; s|@VERSION@|$(VERSION)|; s|@NAME@|$$name|" host/api/perigee.pc.in \
	    >"$$TO/lib/pkgconfig/$$name.pc" || exit; \
	done
	@cp -R lua kernels tasks validators examples "$$TO/share/perigee"
	@for module in $(MODULES); do \
	  install -D -m 755 $$module "$$TO/share/perigee/lib/$${module#$(BUILD)/lib/}" || exit; \
	done
	@for item in $(PRINTED); do \
	  file=$$TO/share/$${item#*:}; mkdir -p "$${file%/*}" && \
	  $(BUILD)/perigee completion "$${item%%:*}" >"$$file" || exit; \
	done

uninstall: ## what install put there
	@! cd "$$TO" 2>/dev/null || rm -rf $(INSTALLED)

.PHONY: clean distclean
.PHONY: kernels kernels-check
kernels: build ## compile the kernels whose PTX is out of date (Rust and Triton: make deps-rust deps-triton)
	@$(BUILD)/perigee kernels/build.lua
kernels-check: build ## compile every kernel again and name what differs from the committed PTX
	@$(BUILD)/perigee kernels/build.lua --compare

clean: ## remove what was built (keeps build/deps)
	@find $(BUILD) -mindepth 1 -maxdepth 1 ! -name deps -exec rm -rf {} +

distclean: ## remove build/ and dist/, with what `make deps` fetched
	@rm -rf $(BUILD) dist

.PHONY: help
help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' Makefile | while IFS=$$'\t' read -r name text; do \
	  printf '  %-15s %s\n' "$$name" "$$text"; done
