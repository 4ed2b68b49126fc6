# Perigee. `make help` lists the targets.
#
# build/            what is built; nothing outside it is written
#   perigee         the command; finds lua/, kernels/, tasks/, validators/ beside build/
#   lib/            Lua C modules that tasks load (references at C speed)
#   asan/           the same with AddressSanitizer and UBSan
#   tests/          C test programs

SHELL := /bin/bash
CC ?= gcc
BUILD ?= build
PREFIX ?= /usr/local
VERSION := 0.1.0

WARN := -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes -Wno-sign-conversion
# -ffp-contract=off: the simulator and the references must round exactly where the source says.
CFLAGS ?= -O2 -g
ALL_CFLAGS = -std=c11 -D_GNU_SOURCE -DPG_VERSION='"$(VERSION)"' $(WARN) -ffp-contract=off \
             -fvisibility=hidden -fPIC -pthread $(LUA_CFLAGS) $(CFLAGS) $(SAN)
LUA_CFLAGS := -I/usr/include/lua5.4
# Static where Debian ships archives, so that `make dist` runs on a machine with nothing but a driver.
ARCHIVES = -l:liblua5.4.a -l:libjansson.a -l:libmd.a
LIBS = $(ARCHIVES) -lm -ldl -lpthread

# host/sim/vec_*.c: hot loops, compiled once per instruction set from the same source. PG_ISA is the bare word
# base, avx2 or avx512, for names made by token pasting; who calls them chooses at run time.
VEC_ISAS := base
ifeq ($(shell uname -m),x86_64)
VEC_ISAS := base avx2 avx512
endif
VEC_FLAGS = -O3 -fno-math-errno -fno-trapping-math
VEC_base :=
VEC_avx2 := -mavx2 -mfma -mf16c -mbmi2
VEC_avx512 := -march=x86-64-v4

VECTORS := $(wildcard host/sim/vec_*.c)
SOURCES := $(filter-out $(VECTORS),$(wildcard host/*.c host/cuda/*.c host/sim/*.c host/judge/*.c host/bind/*.c))
OBJECTS := $(SOURCES:host/%.c=$(BUILD)/obj/%.o) \
           $(foreach isa,$(VEC_ISAS),$(VECTORS:host/%.c=$(BUILD)/obj/%_$(isa).o))
CORE := $(filter-out $(BUILD)/obj/main.o,$(OBJECTS))
MODULES := $(patsubst tasks/%.c,$(BUILD)/lib/%.so,$(wildcard tasks/*/*.c))
CTESTS := $(patsubst tests/c/%.c,$(BUILD)/tests/%,$(wildcard tests/c/test_*.c))

.PHONY: build
build: $(BUILD)/perigee $(MODULES)

$(BUILD)/perigee: $(OBJECTS)
	@$(CC) $(SAN) -rdynamic -o $@ $(OBJECTS) $(LIBS)

$(BUILD)/obj/%.o: host/%.c
	@mkdir -p $(@D)
	@$(CC) $(ALL_CFLAGS) $(EXTRA_CFLAGS) -MMD -MP -c -o $@ $<

define VEC_RULE
$(BUILD)/obj/sim/vec_%_$(1).o: host/sim/vec_%.c
	@mkdir -p $$(@D)
	@$$(CC) $$(ALL_CFLAGS) $$(EXTRA_CFLAGS) $$(VEC_FLAGS) $$(VEC_$(1)) -DPG_ISA=$(1) -MMD -MP -c -o $$@ $$<
endef
$(foreach isa,$(VEC_ISAS),$(eval $(call VEC_RULE,$(isa))))

# Lua C modules of tasks: OpenMP where the compiler has it.
$(BUILD)/lib/%.so: tasks/%.c
	@mkdir -p $(@D)
	@$(CC) $(ALL_CFLAGS) -Ihost -O3 -fopenmp -shared -MMD -MP -o $@ $< -static-libgcc -lm

$(BUILD)/tests/%: tests/c/%.c $(CORE)
	@mkdir -p $(@D)
	@$(CC) $(ALL_CFLAGS) -Ihost -MMD -MP -o $@ $< $(CORE) -rdynamic $(LIBS) -lcmocka

-include $(OBJECTS:.o=.d)

.PHONY: clean
clean:
	rm -rf $(BUILD)
