# D2K-Bench: every tools/d2k-X.c becomes bin/d2k-X, linked with the library made of all tools/lib/*.c.
#
#   make             the tools               make demo      three tasks through all six tools, no GPU, no key
#   make check       set-up and all tests    make check-san the same tests on ASan+UBSan builds
#   make lint        gcc, clang, shellcheck  make bench     throughput and memory of a filter
#   make portable    bin/ for a host without our shared libraries; also: make install, make clean
#
# BUILD= and BIN= name other output folders; SAN=1 builds with sanitizers into build-san and bin-san.
SHELL = bash
.SHELLFLAGS = -eu -o pipefail -c
.DELETE_ON_ERROR:
.SUFFIXES:

CC = gcc
WARN = -Wall -Wextra -Wshadow -Wmissing-prototypes -Wpedantic
ifdef SAN
BUILD = build-san
BIN = bin-san
OPTIM = -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
else
BUILD = build
BIN = bin
OPTIM = -O2 -g
endif
# cuda.h comes from the Triton wheel or a toolkit; looked up when a file is compiled, since set-up may have just brought it
CUDA_INCLUDE = $(firstword $(wildcard .venv/lib/python3*/site-packages/triton/backends/nvidia/include /usr/local/cuda/include))
CFLAGS = $(OPTIM) -std=c17 -D_GNU_SOURCE $(WARN)
CPPFLAGS = -Itools/lib $(addprefix -isystem ,$(CUDA_INCLUDE)) -MMD -MP
LDFLAGS = -Wl,--as-needed
LDLIBS = -lcjson -lmd -lm -ldl -lpthread
PREFIX = /usr/local
PROVE = prove -j2

LIB = $(BUILD)/libd2k.a
OBJECTS = $(patsubst tools/lib/%.c,$(BUILD)/lib/%.o,$(wildcard tools/lib/*.c))
TOOLS = $(patsubst tools/%.c,$(BIN)/%,$(wildcard tools/d2k-*.c))
UNITS = $(patsubst tests/unit/%.c,$(BUILD)/tests/%,$(wildcard tests/unit/*.c))

all: $(TOOLS)
units: $(UNITS)
.PHONY: all units

$(BIN)/d2k-agent $(BIN)/d2k-judge: LDLIBS += -lcurl

$(BUILD)/lib/%.o: tools/lib/%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<
$(LIB): $(OBJECTS)
	rm -f $@
	ar rcs $@ $^
$(BUILD)/%.o: tools/%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<
$(BIN)/%: $(BUILD)/%.o $(LIB)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $< $(LIB) $(LDLIBS)
$(BUILD)/tests/%: tests/unit/%.c $(LIB)
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $< $(LIB) $(LDLIBS)
.SECONDARY: $(TOOLS:$(BIN)/%=$(BUILD)/%.o)
-include $(wildcard $(BUILD)/*.d $(BUILD)/lib/*.d $(BUILD)/tests/*.d)
