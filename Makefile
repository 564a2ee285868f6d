# The few commands that people type; everything behind them is CMake (CMakePresets.json) and scripts/.

PRESET ?= gcc-release
PREFIX ?= /usr/local
DIR ?= /usr/include
JOBS ?= $(shell nproc)
# What make quick tests: a folder of tests/.
FOLDER ?=
# What make test-packages tests: nothing means all.
KIND ?=
# Further arguments for cmake, when it configures, and for ctest.
CONFIGURE ?=
CTEST ?=
# Most tests run once per number of workers: none, one and far more than there are cores show nearly all that a pair and
# an odd number show. Tests in _deep compile for minutes.
SELECT ?= -E '(/workers/.*/(2|7)(_[a-z]+)?|_deep)$$'
# What make test-deep builds and runs.
DEEP ?= gcc-release gcc-debug clang-debug clang-release asan-ubsan tsan

build := build/$(PRESET)
# What the preset needs, as scripts/setup calls it.
groups := build $(if $(filter aarch64,$(PRESET)),cross) $(if $(filter clang-% quick asan-ubsan tsan tidy,$(PRESET)),clang)
export ONLY WORKERS ROUNDS QUICK OUT LIMIT

.DEFAULT_GOAL := help
.PHONY: help demo build examples savegame quick test test-deep test-grpc test-mpi test-python test-packages test-debian coverage explore models test-rayon bench scaling bench-bundle docs check format tidy install clean configure

help: ## this list
	@echo 'make TARGET [VARIABLE=value ...]'; echo
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 12
	@echo; echo 'PRESET=$(PRESET) can be any of those that "cmake --list-presets" prints; JOBS=$(JOBS).'

demo: configure ## install missing packages, build, count the identifiers of DIR=/usr/include; LIVE=1 shows the workers
	cmake --build --preset $(PRESET) --target identifiers -j $(JOBS)
	$(build)/examples/identifiers/identifiers $(if $(LIVE),--live) $(DIR)

build: configure ## install missing packages, build everything
	cmake --build --preset $(PRESET) -j $(JOBS)

examples: configure ## install missing packages, build the programs of examples/
	cmake --build --preset $(PRESET) --target algorithms life bvh identifiers pipeline periodic echo_server chat tail frames images build_executor -j $(JOBS)
	@ls $(foreach p,algorithms/algorithms life/life bvh/bvh identifiers/identifiers pipeline/pipeline periodic/periodic echo/echo chat/chat tail/tail frames/frames images/images build/build,$(build)/examples/$(p))

savegame: ## install missing packages, build, start the example server and its Redis; OPTIONS for the server
	@scripts/setup build savegame
	cmake --preset $(PRESET) $(CONFIGURE)
	cmake --build --preset $(PRESET) --target savegame -j $(JOBS)
	PROGRAM=$(build)/examples/savegame/savegame scripts/savegame $(OPTIONS)

quick: ## install missing packages, build the library and the tests in tests/FOLDER for speed of compiling, run them
	@JOBS=$(JOBS) scripts/quick '$(FOLDER)' $(SELECT) $(CTEST)

# Many tests wait, so there is one more than there are cores.
test: build ## install missing packages, build, run the tests with 0, 1 and 33 workers
	ctest --preset $(PRESET) -j $$(($(JOBS) + 1)) $(SELECT) $(CTEST)

test-deep: coverage ## the tests with every number of workers, in every build of DEEP="preset ...", beside a reactor, coverage, clang-tidy: hours
	$(MAKE) --no-print-directory tidy
	@for preset in $(DEEP); do $(MAKE) --no-print-directory test PRESET=$$preset SELECT= || exit; done
	RUBATO_TEST_SCALE=4 $(MAKE) --no-print-directory test SELECT=
	RUBATO_TEST_EVENTS=1 $(MAKE) --no-print-directory test SELECT=
	$(MAKE) --no-print-directory test-mpi
	$(MAKE) --no-print-directory test-grpc
	$(MAKE) --no-print-directory test-python
	$(MAKE) --no-print-directory test-packages
	$(MAKE) --no-print-directory test-debian

test-mpi: ## install missing packages, build what needs MPI in build/mpi, test it with 1 to 4 ranks
	@scripts/setup build mpi
	cmake --preset gcc-release -B build/mpi -DRUBATO_MPI=ON -DRUBATO_BUILD_TOOLS=OFF $(CONFIGURE)
	cmake --build build/mpi --target mpi-all -j $(JOBS)
	ctest --test-dir build/mpi --output-on-failure -L '^mpi$$' $(CTEST)

test-grpc: ## install missing packages, build what needs gRPC in build/grpc, test it
	@scripts/setup build grpc
	cmake --preset gcc-release -B build/grpc -DRUBATO_GRPC=ON -DRUBATO_BUILD_TOOLS=OFF -DRUBATO_BUILD_EXAMPLES=OFF $(CONFIGURE)
	cmake --build build/grpc --target grpc-all -j $(JOBS)
	ctest --test-dir build/grpc --output-on-failure -L '^grpc$$' $(CTEST)

test-python: ## install missing packages, build the package for Python in build/python, run CPython's tests of executors on it and its own
	@scripts/setup library python
	scripts/test-python

test-packages: ## install missing packages, build the packages of docs/packages.md and a program with each; KIND="conan meson ..."
	@scripts/setup library packages mpi grpc
	scripts/packages $(KIND)

test-debian: ## build with the g++ of another release of Debian (RELEASE=trixie, as root), run a part of the tests; FOLDER="base ..."
	@scripts/setup debian
	JOBS=$(JOBS) scripts/test-debian $(FOLDER)

test-rayon: ## run the test suites of rayon and rayon-core on Rubato's workers (needs cargo 1.80); LIMIT seconds per program
	@scripts/setup library rust
	scripts/test-rayon

coverage: ## which share of the library's branches the tests take
	@scripts/setup build
	scripts/coverage

explore: build ## run the lock-free protocols under the explorer of interleavings
	ctest --preset $(PRESET) -j $(JOBS) -L explore $(CTEST)

models: ## check the models in spec/
	@scripts/setup models
	scripts/models

bench: ## measure beside other schedulers; ONLY=regex, WORKERS=n or QUICK=1 narrow it down
	@scripts/setup build bench
	scripts/bench

scaling: ## measure Rubato with 1, 2, 4 ... workers beside serial code: a table and a chart in build/bench
	@scripts/setup build bench
	python3 -B bench/scaling.py

bench-bundle: ## build the benchmarks into build/bench/bundle, to be carried to a machine that has only Python 3
	@scripts/setup build bench
	python3 -B bench/bundle.py

docs: ## make the site of the documentation: build/docs/site/index.html
	@scripts/setup docs
	scripts/docs

check: ## check what no compiler checks: layout, sizes, layers, system calls
	@scripts/setup lint
	scripts/check-tree
	scripts/format --check

format: ## lay out all C++ files
	@scripts/setup lint
	scripts/format

tidy: ## read all C++ files with clang-tidy
	@scripts/setup build lint
	scripts/tidy

# In a build of its own, for which nothing is needed that only tests and examples use.
install: ## build, install under PREFIX=/usr/local
	@scripts/setup library $(filter-out build,$(groups))
	cmake --preset $(PRESET) -B $(build)-install -DRUBATO_BUILD_TESTS=OFF -DRUBATO_BUILD_EXAMPLES=OFF $(CONFIGURE)
	cmake --build $(build)-install -j $(JOBS)
	cmake --install $(build)-install --prefix $(PREFIX)

clean: ## remove everything that was built
	rm -rf build

configure:
	@scripts/setup $(groups)
	cmake --preset $(PRESET) $(CONFIGURE)
