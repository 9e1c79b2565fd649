# D2K-Bench: every tools/d2k-X.c becomes bin/d2k-X, linked with the library made of all tools/lib/*.c.
#
#   make              the tools              make demo        tasks through all six tools; no GPU, no key
#   make check        set-up and all tests   make check-san   the same tests on ASan+UBSan builds
#   make lint         gcc, clang, shellcheck make bench       throughput and memory of a filter
#   make portable     bin/ for a host that lacks our shared libraries
#   make bench-aa     whether the timer tells same from different; needs a GPU
#   make tasks-check       whether tasks are complete and keep their rules; this and the next two take TASK=NAME
#   make tolerance         how far tolerances are from right and wrong submissions, on the CPU; tests/tolerance-gpu
#   make check-reference   oracles against PyTorch, where that is installed
#   make tasks-gpu         all tasks' kernels, and PyTorch beside them, on a GPU: into out/tasks
#   make check-gpu         the exploit corpus, on a GPU
#   make install, make clean
#
# BUILD= and BIN= name other output folders; SAN=1 builds with sanitizers into build-san.
SHELL = bash
.SHELLFLAGS = -eu -o pipefail -c
.DELETE_ON_ERROR:
.SUFFIXES:

CC = gcc
WARN = -Wall -Wextra -Wshadow -Wmissing-prototypes -Wpedantic
ifdef SAN
BUILD = build-san
BIN = build-san/bin
OPTIM = -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
else
BUILD = build
BIN = bin
OPTIM = -O2 -g
endif
CFLAGS = $(OPTIM) -std=c17 -D_GNU_SOURCE $(WARN) $(WERROR)
CPPFLAGS = -Itools/lib -MMD -MP
# libraries that `make portable` puts into bin/lib go before the system's, also for what they need themselves
LDFLAGS = -Wl,--as-needed -Wl,--disable-new-dtags -Wl,-rpath,'$$ORIGIN/lib'
LDLIBS = -lcjson -lmd -lm -ldl -lpthread
PREFIX = /usr/local
PROVE = prove -j2

LIB = $(BUILD)/libd2k.a
OBJECTS = $(patsubst tools/lib/%.c,$(BUILD)/lib/%.o,$(wildcard tools/lib/*.c))
TOOLS = $(patsubst tools/%.c,$(BIN)/%,$(wildcard tools/d2k-*.c))
# unit tests and, as d2k-*, tools made for other tests
UNITS = $(patsubst tests/unit/%.c,$(BUILD)/tests/%,$(wildcard tests/unit/*.c))
# the libraries of a GPU that is not there
FAKES = $(addprefix $(BUILD)/tests/fake/,libcuda.so.1 libnvidia-ml.so.1 libnvrtc.so)
TASK_NAMES = $(if $(TASK),$(TASK),$(patsubst tasks/%/task.json,%,$(wildcard tasks/*/task.json)))
SCRIPTS = $(shell grep -rlIE '^\#!.*\bbash' tools tests pipelines .ci)

all: $(TOOLS)
units: $(UNITS) $(FAKES)

$(BIN)/d2k-agent $(BIN)/d2k-judge: LDLIBS += -lcurl

$(BUILD)/%.o: tools/%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<
$(LIB): $(OBJECTS)
	rm -f $@
	ar rcs $@ $^
$(BIN)/%: $(BUILD)/%.o $(LIB)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $< $(LIB) $(LDLIBS)
$(BUILD)/tests/%.o: tests/%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) -Itests/tap $(CFLAGS) -c -o $@ $<
$(BUILD)/tests/%: $(BUILD)/tests/unit/%.o $(BUILD)/tests/tap/tap.o $(LIB)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS) -lcurl
$(FAKES): CFLAGS += -fPIC
$(FAKES): $(BUILD)/tests/fake/world.o
	$(CC) $(CFLAGS) -shared -o $@ $^ -lm -ldl
$(BUILD)/tests/fake/libcuda.so.1: $(addprefix $(BUILD)/tests/fake/,cuda_device.o cuda_stream.o cuda_module.o)
$(BUILD)/tests/fake/libnvidia-ml.so.1: $(BUILD)/tests/fake/nvml.o
$(BUILD)/tests/fake/libnvrtc.so: $(BUILD)/tests/fake/nvrtc.o
.SECONDARY: $(TOOLS:$(BIN)/%=$(BUILD)/%.o) $(UNITS:$(BUILD)/tests/%=$(BUILD)/tests/unit/%.o) $(BUILD)/tests/tap/tap.o
-include $(wildcard $(BUILD)/*.d $(BUILD)/lib/*.d $(BUILD)/tests/*/*.d)

demo:
	tools/setup
	$(MAKE) --no-print-directory -s all
	pipelines/demo
check:
	tools/setup --tests
	$(MAKE) --no-print-directory all units
	D2K_BIN=$(abspath $(BIN)) D2K_BUILD=$(abspath $(BUILD)) $(PROVE) tests/
check-san:
	@$(MAKE) --no-print-directory SAN=1 check
# not errors here: SC2016, programs in single quotes (jq, awk, sh -c); SC2094, an argument spelt like an output file
lint:
	shellcheck -x -P SCRIPTDIR -e SC2016,SC2094 $(SCRIPTS) tests/lib.sh
	for cc in gcc clang; do \
		$(MAKE) CC=$$cc WERROR=-Werror BUILD=build/lint-$$cc BIN=build/lint-$$cc/bin all units; done
bench: all units
	D2K_BIN=$(abspath $(BIN)) D2K_BUILD=$(abspath $(BUILD)) tests/bench/passthrough d2k-time
# the benchmarks of the timer (results/README.md): out/bench is all they need on another machine that has a GPU
bench-prepare: portable units
	D2K_BIN=$(abspath $(BIN)) D2K_BUILD=$(abspath $(BUILD)) tests/bench/prepare out/bench
bench-aa: bench-prepare
	tests/bench/aa run out/bench out/bench-aa
check-reference: all
	mkdir -p results/reference
	for task in $(TASK_NAMES); do \
		D2K_BIN=$(abspath $(BIN)) tests/reference --bench $$task >results/reference/$$task.jsonl; done
tasks-check: all
	D2K_BIN=$(abspath $(BIN)) tests/tasks-check $(TASK)
tasks-gpu: portable
	tests/tasks-gpu build out/tasks-gpu $(TASK)
	tests/tasks-gpu run out/tasks-gpu out/tasks
	tests/tasks-gpu table out/tasks
tolerance: all
	mkdir -p results/tolerance
	for task in $(TASK_NAMES); do \
		D2K_BIN=$(abspath $(BIN)) pipelines/tolerance $$task >results/tolerance/$$task.jsonl; done
check-gpu: all
	D2K_BIN=$(abspath $(BIN)) tests/check-gpu

# glibc itself stays the host's: it must be at least as new as ours
portable: all
	rm -rf $(BIN)/lib && mkdir $(BIN)/lib
	ldd $(TOOLS) | awk '$$3 ~ /^\// { print $$3 }' | sort -u | \
		grep -vE '/(libc|libm|libdl|librt|libpthread|libresolv)\.so' | xargs cp -Lt $(BIN)/lib
# what is installed has a root of its own: tools/setup there makes its .venv, D2K_STORE names a store others may write
install: all
	mkdir -p $(DESTDIR)$(PREFIX)/{bin,lib/d2k/{bin,tools},share/man/man1}
	cp -r $(BIN)/. $(DESTDIR)$(PREFIX)/lib/d2k/bin
	cp -r tasks guidance workloads pipelines $(DESTDIR)$(PREFIX)/lib/d2k
	cp -r tools/{agent,calibrate,judge,oracle,prompt,setup,triton} $(DESTDIR)$(PREFIX)/lib/d2k/tools
	cp tools/*.1 $(DESTDIR)$(PREFIX)/share/man/man1
	ln -sf $(foreach tool,$(notdir $(TOOLS)),../lib/d2k/bin/$(tool)) $(DESTDIR)$(PREFIX)/bin
clean:
	rm -rf build build-san bin
.PHONY: all units demo check check-san lint bench bench-prepare bench-aa tasks-check tasks-gpu check-reference tolerance check-gpu portable install clean
