# Clockhand: `make demo` shows what it does, `make test` tests it. Both set up what they need in .venv.
PYTHON ?= python3
BIN := .venv/bin
# How the engine is built: local, quick for work on the code (make setup PROFILE=quick), or release as in wheels.
PROFILE ?= local
WHEEL_PROFILE = release
# Where wheels are built: here, and releases from a copy of what is committed.
TREE = .
# A wheel is for processors like this machine's, and for Linux with this C library or a newer one.
WHEEL_TARGET := $(shell uname -m)-unknown-linux-gnu
WHEEL_GLIBC := 2.28
RUST_SOURCES := $(shell find crates -name '*.rs' -o -name '*.toml') Cargo.toml Cargo.lock pyproject.toml
DEMO_POLICIES := fifo lru clock nru car cflru cflru-dynamic cfclock lru-wsr craw craw-a min
DEMO_MEMORY := 4%,6%,8%,10%,20%,40%,60%,100%

# All goes into .venv, also while another environment is active, into which maturin would install.
export VIRTUAL_ENV := $(CURDIR)/.venv
unexport CONDA_PREFIX

.DEFAULT_GOAL := help
.PHONY: help setup demo test torture lint lint-rust lint-python wheel container release sources release-tree committed clean-dist policy-alone mutants bench capture-tools traces columns api man site clean

help: ## Show what can be made
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 8

setup: .venv/engine.stamp ## Build the command: .venv/bin/clockhand

demo: setup ## Compare twelve policies on the references of tar and gzip; a table, and demo/report.html
	@mkdir -p demo
	$(BIN)/clockhand simulate traces/tar-gzip.parquet $(DEMO_POLICIES:%=--policy %) \
		--memory $(DEMO_MEMORY) --device slc-nand --report demo/report.html --plots demo/figures
	@echo "The report with figures: demo/report.html"

# Tests need no engine with link-time optimization, which takes minutes; an engine that is built already is taken.
test: PROFILE = quick
test: RUST_TESTS = target/rust-tests.txt
test: setup .venv/test.stamp ## Run all tests, of Rust, Python, the command and the report
	cargo test --profile quick --workspace --locked --no-run
	@echo "Rust's tests run beside Python's. They are shown at the end; until then they are in $(RUST_TESTS)."
	@cargo test --profile quick --workspace --locked > $(RUST_TESTS) 2>&1 & rust=$$!; \
	$(BIN)/python -m pytest --numprocesses auto --dist loadfile --no-loadscope-reorder; python=$$?; \
	wait $$rust; rust=$$?; cat $(RUST_TESTS); exit $$((python + rust))

torture: setup .venv/test.stamp ## Try 5,000 damaged inputs and command lines (SEED=2 tries others), 2,000 cases of most properties, crashes of serve (hours)
	CLOCKHAND_TRIALS=5000 CLOCKHAND_TRIALS_SEED=$(or $(SEED),1) $(BIN)/python -m pytest python/tests/test_trials.py
	PROPTEST_CASES=2000 PROPTEST_RNG_SEED=$(or $(SEED),1) cargo test --profile quick --locked --workspace
	CLOCKHAND_MODEL_EFFORT=20 CLOCKHAND_MODEL_REQUESTS=5 CLOCKHAND_KILLS=2000 cargo test --profile quick --locked --package clockhand-serve

# With the tests' profile, so that libraries' build scripts, which compile C, and macros are built once.
lint lint-rust lint-python: PROFILE = quick
lint: lint-rust lint-python ## Check format, lints, types and documentation

# The compiler that clippy calls, as it calls it: with it, the documentation takes what clippy has checked, and checks no crate again.
AS_CLIPPY = RUSTC_WORKSPACE_WRAPPER="$$(rustc --print sysroot)/bin/clippy-driver" CLIPPY_ARGS=--deny__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__

lint-rust: setup .venv/test.stamp
	cargo fmt --all --check
	cargo clippy --profile quick --workspace --all-targets --locked -- --deny warnings
	$(AS_CLIPPY) RUSTDOCFLAGS="--deny warnings" cargo doc --profile quick --workspace --no-deps --locked --quiet
	$(BIN)/python site/public_api.py

lint-python: setup .venv/test.stamp
	$(BIN)/ruff format --check python benches traces notebooks site packaging
	$(BIN)/ruff check python benches traces notebooks site packaging
	$(BIN)/mypy
	$(BIN)/python site/signatures.py

# Zig links against an old C library. The preloaded library of the package is then this one; the installed command can use it as well.
# The engine that makes manual pages and the one that tries the wheel are those of tests. In what is built, folders have other
# names, so that it is the same wherever it is built.
wheel release: export PATH := $(CURDIR)/$(BIN):$(PATH)
wheel sources release: PROFILE = quick
RENAMED = $(CURDIR)/target=/target $(abspath $(TREE))=/clockhand $(or $(CARGO_HOME),$(HOME)/.cargo)=/cargo
BUILD = cd $(TREE) && CARGO_TARGET_DIR=$(CURDIR)/target
BUILD_WHEEL = $(BUILD) RUSTFLAGS="$(RENAMED:%=--remap-path-prefix=%)" CFLAGS="$(RENAMED:%=-ffile-prefix-map=%)"
wheel: setup .venv/test.stamp .venv/wheel.stamp ## Build the wheel into dist, for Linux with glibc 2.28 or newer, and try it installed
	$(BUILD_WHEEL) cargo-zigbuild zigbuild --profile $(WHEEL_PROFILE) --locked --package clockhand-preload \
		--target $(WHEEL_TARGET).$(WHEEL_GLIBC)
	install target/$(WHEEL_TARGET)/$(WHEEL_PROFILE)/libclockhand_preload.so $(TREE)/python/clockhand/
	rm -f dist/*.whl
	$(BUILD_WHEEL) maturin build --zig --target $(WHEEL_TARGET) --compatibility manylinux_$(subst .,_,$(WHEEL_GLIBC)) \
		--profile $(WHEEL_PROFILE) --locked --out $(CURDIR)/dist
	CLOCKHAND_WHEEL=$$(echo dist/*.whl) python -m pytest -q python/tests/test_wheel.py

container: release-tree ## Build the image of the command with podman or docker, and try it
	PROFILE=$(WHEEL_PROFILE) packaging/container.sh target/release-tree

# Made of the committed state with the time of its commit, so that all can be made again, byte for byte.
release sources: TREE = target/release-tree
release sources: export SOURCE_DATE_EPOCH := $(shell git log -1 --format=%ct 2>/dev/null)
release: committed clean-dist sources wheel ## Build a release into dist: sources, crates, manual pages, wheel, image, checksums (REPOSITORY=https://...)
	PROFILE=$(WHEEL_PROFILE) packaging/container.sh $(TREE) --save dist/clockhand-image.tar.gz --if-any
	cd dist && sha256sum *.whl *.tar.gz *.crate > SHA256SUMS && cat SHA256SUMS

sources: committed release-tree setup ## Build the source distribution, the crates and the manual pages into dist
	$(BUILD) $(CURDIR)/$(BIN)/maturin sdist --out $(CURDIR)/dist
	rm -rf target/package
	$(BUILD) cargo package --workspace --exclude clockhand-python --exclude clockhand-twins --no-verify --locked
	cp target/package/*.crate dist/
	$(BIN)/python -m clockhand.command.man target/man
	tar --sort=name --mtime=@$(SOURCE_DATE_EPOCH) --owner=0 --group=0 --numeric-owner --create --directory target man \
		| gzip --no-name > dist/clockhand-man.tar.gz

release-tree: committed
	$(PYTHON) packaging/release_tree.py target/release-tree $(if $(REPOSITORY),--repository '$(REPOSITORY)')

# Found out before the wheel is built, which takes minutes.
committed:
	@test -z "$$(git status --porcelain)" || { echo "make: there are changes that are not committed" >&2; exit 1; }

clean-dist:
	rm -rf dist

policy-alone: ## Build the policies for a microcontroller without an operating system (rustup target add thumbv7em-none-eabi)
	cargo build --locked --package clockhand-policy --target thumbv7em-none-eabi

# Built without optimization, in seconds. First with the golden vectors alone, which take no time and notice about half of the
# changes of page policies; then what they missed, with all tests and a few cases of each property.
MUTANTS = cargo mutants --profile quick --cargo-arg=--config=profile.quick.opt-level=0 --baseline skip --iterate \
	--output target/mutants --file '$(or $(FILE),crates/policy/src/**)' --file '$(or $(FILE),crates/device/src/flash/**)'
mutants: export PROPTEST_MAX_SHRINK_ITERS = 0
mutants: export PROPTEST_CASES = 6
mutants: ## Say which changes of policies and flash drives no test notices (cargo install cargo-mutants); FILE=... for one
	@mkdir -p target/mutants
	-$(MUTANTS) --timeout 60 --package clockhand-policy --cargo-arg=--test=suite -- -- golden
	$(MUTANTS) --timeout 900 --package clockhand-policy --package clockhand-device

bench: PROFILE = release
bench: ## Measure the hot paths, and compare with libCacheSim (see benches/README.md)
	@grep -qsx '$(PROFILE)' .venv/engine.stamp || rm -f .venv/engine.stamp # What is measured is an engine of this profile.
	$(MAKE) setup .venv/test.stamp PROFILE=$(PROFILE)
	cargo bench --workspace --locked
	$(BIN)/python benches/compare.py
	$(BIN)/python benches/readers.py
	$(BIN)/python benches/cells.py
	$(BIN)/python benches/figure_9.py
	$(BIN)/python benches/capture.py
	$(BIN)/python benches/pager.py
	$(BIN)/python benches/serve.py

capture-tools: setup ## Build the capture's Valgrind tool and QEMU plugin now, not on first use
	$(BIN)/python -c 'from clockhand.capture import front_ends; front_ends.build_all()'

traces: setup ## Capture the committed traces again; needs valgrind and what traces/MANIFEST.md names
	$(BIN)/python traces/capture.py && $(BIN)/python traces/capture_whole.py && $(BIN)/python traces/manifest.py
	$(BIN)/python traces/servers/servers.py && $(BIN)/python traces/servers/calls/capture.py
	$(BIN)/python traces/timelines/capture.py
	$(BIN)/python traces/mobile/capture.py && $(BIN)/python traces/mobile/manifest.py

site: setup .venv/site.stamp ## Build the site into target/site/html; python -m http.server shows it
	$(BIN)/python site/build.py target/site

man: setup ## Write a manual page for each command into dist/man
	$(BIN)/python -m clockhand.command.man dist/man

api: setup ## Write what the published crates offer to their public-api.txt, which lint compares
	cargo doc --profile quick --workspace --no-deps --locked --quiet
	$(BIN)/python site/public_api.py --write

columns: setup .venv/test.stamp ## Write docs/columns.md and python/clockhand/api.pyi from what the engine declares
	$(BIN)/python -c 'from clockhand.study.columns import page; print(page(), end="")' > docs/columns.md
	$(BIN)/python site/signatures.py --write

clean: ## Remove what was built
	rm -rf .venv target demo

.venv/python.stamp: requirements.lock
	@command -v cargo >/dev/null || { echo "make: cargo is not found; install Rust 1.88 or newer" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "make: $(PYTHON) is older than 3.11; name a newer one with PYTHON=..." >&2; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --requirement requirements.lock
	@touch $@

.venv/test.stamp: requirements-test.lock .venv/python.stamp
	$(BIN)/python -m pip install --quiet --requirement requirements-test.lock
	@touch $@

.venv/site.stamp: requirements-site.lock .venv/python.stamp
	$(BIN)/python -m pip install --quiet --requirement requirements-site.lock
	@touch $@

.venv/wheel.stamp: requirements-wheel.lock .venv/python.stamp
	$(BIN)/python -m pip install --quiet --requirement requirements-wheel.lock
	@touch $@

.venv/engine.stamp: .venv/python.stamp $(RUST_SOURCES)
	cargo build --profile $(PROFILE) --locked --package clockhand-preload
	install target/$(PROFILE)/libclockhand_preload.so python/clockhand/
	$(BIN)/maturin develop --profile $(PROFILE) --locked
	@echo $(PROFILE) > $@
