# The two commands of the README are `make leaderboard` and `make test`; CI (.ci/run) adds the other tests, and both as on other machines.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
RESULTS ?= results/quick
WORKERS ?= $(shell nproc 2>/dev/null || echo 2)

# BLAS with several threads stalls on small matrices, and pytest already uses all cores.
export OPENBLAS_NUM_THREADS := 1

# Set in many containers. Tests start hundreds of processes, and each would compile anew all that it imports.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: leaderboard board board-check bench bench-check test test-all test-fast test-rest test-portable test-newcomer test-lowest test-adapters coverage dist lock lint types contracts format docs site clean

# Packages are installed only when pyproject.toml has changed since. Nothing is compiled: most of what is installed is never
# imported, and would be a fifth of all bytes and half of the time. uv takes a third of pip's time; it reads none of pip's
# settings, so where it finds no index pip goes on.
PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile

define install
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) uv && $(BIN)/uv pip install --quiet --python $(BIN)/python $(1) || $(PIP) $(1)
	touch $(2)
endef

$(VENV)/.installed: pyproject.toml
	$(call install,--editable .,$@)

$(VENV)/.installed-test: pyproject.toml
	$(call install,--editable '.[test]',$(VENV)/.installed $@)

$(VENV)/.installed-docs: pyproject.toml
	$(call install,--editable '.[docs]',$(VENV)/.installed $@)

$(VENV)/.installed-release: pyproject.toml
	$(call install,build twine uv,$@)

# The environment of boards: what the lock file pins, every file by its hash, and nothing else.
BOARD_BIN := $(VENV)/boards/bin
$(VENV)/boards/.installed: leaderboards/boards.lock pyproject.toml
	test -x $(BOARD_BIN)/python || $(PYTHON) -m venv $(VENV)/boards
	$(BOARD_BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --require-hashes -r leaderboards/boards.lock
	$(BOARD_BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --no-deps --editable .
	touch $@

leaderboard: $(VENV)/.installed
	$(BIN)/gpbandit run quick --out $(RESULTS) --workers $(WORKERS)
	$(BIN)/gpbandit page $(RESULTS)

# Plays what the boards lack, for hours; Ctrl-C loses nothing, and the same command goes on. BOARDS="core-v2" for one of them.
BOARDS ?= core-v2 boxes-v2 feedback-v1 lab-v1
board: $(VENV)/boards/.installed
	for name in $(BOARDS); do $(BOARD_BIN)/gpbandit board make $$name || exit 1; done

# Plays 1 % of the runs of the boards again, chosen by the hash of the commit, and names agents whose code has changed.
board-check: $(VENV)/boards/.installed
	for name in $(BOARDS); do \
	  test ! -f leaderboards/boards/$$name/manifest.json || $(BOARD_BIN)/gpbandit board check $$name --yes || exit 1; \
	done

# Ratios of speed, kept in benchmarks/README.md; bench-check fails where one has fallen far below what is kept.
bench: $(VENV)/.installed-test
	$(BIN)/python -m benchmarks.run

bench-check: $(VENV)/.installed-test
	$(BIN)/python -m benchmarks.run --check

# What a change is checked with, in some five minutes on two cores; test-all adds the rest, in a quarter of an hour.
test: lint types contracts test-fast

test-all: test test-rest coverage

lint: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed-test
	$(BIN)/mypy

contracts: $(VENV)/.installed-test
	$(BIN)/lint-imports

# Every test is in one of two tiers. Coverage is that of the fast tier: tracing more than doubles the time of a long play.
# Types and shapes of arrays are enforced by `make test-portable`: both at once cost a third of the time.
REST := slow or chaos or browser or docs

test-fast: $(VENV)/.installed-test
	$(BIN)/python -m coverage erase
	GPBANDIT_SHAPES=0 $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not ($(REST))" --cov --cov-report=

# `make test` as on a machine that has nothing: an empty cache, no data beside the checkout, no source asked. What needs
# data skips, and says so.
test-newcomer:
	empty=$$(mktemp -d) && trap 'rm -rf "$$empty"' EXIT && \
	GPBANDIT_OFFLINE=1 GPBANDIT_DATA="$$empty/cache" GPBANDIT_TEST_DATA="$$empty/none" $(MAKE) test

# Much of its time is spent waiting: for a browser, or for what is killed or hangs on purpose. ALSO=network adds what a
# newcomer skips of the fast tier.
test-rest: $(VENV)/.installed-test
	GPBANDIT_SHAPES=0 $(BIN)/python -m pytest -n $$(( 2 * $(WORKERS) )) --dist worksteal -m "$(REST)$(if $(ALSO), or $(ALSO))"

# The fast tier with the loops of other processors, a table; NUMERICAL=tests/gp for a part of it, as CI runs.
NUMERICAL ?= tests
LOOPS ?= Nehalem,Sandybridge,Haswell,Zen,SkylakeX,NumPy-baseline
test-portable: $(VENV)/.installed-test
	$(BIN)/python -m tests.portable --loops $(LOOPS) --jobs $(WORKERS) -m "not ($(REST))" $(NUMERICAL)

# The fast tier with the lowest versions that pyproject.toml states, without enforced annotations; LOW=tests/gp for a part.
LOW ?= tests
test-lowest: $(VENV)/.installed-release
	$(BIN)/uv venv --quiet --clear --seed --python $(BIN)/python $(VENV)/lowest
	$(BIN)/uv pip install --quiet --python $(VENV)/lowest/bin/python --resolution lowest-direct --editable '.[test]'
	GPBANDIT_SHAPES=0 $(VENV)/lowest/bin/python -m pytest -n $(WORKERS) --dist worksteal -m "not ($(REST))" $(LOW)

# Tasks as problems of other libraries, which the extras of the tests leave out: with torch they are some 3 GB.
test-adapters: $(VENV)/.installed-test
	$(PIP) --editable '.[botorch,ioh,optunahub]'
	$(BIN)/python -m pytest tests/envs/test_adapters.py tests/leaderboards/play/test_run.py

coverage: $(VENV)/.installed-test
	$(BIN)/python -m coverage report --show-missing --skip-covered
	$(BIN)/python -m coverage report --fail-under=90 --include='gpbandit_envs/gp/*,agents/*,leaderboards/*'

# What is generated: the table of policies, the pages on environments and papers, and the public names.
docs: $(VENV)/.installed-test
	$(BIN)/python docs/policies.py
	$(BIN)/python docs/generate_environments.py
	$(BIN)/python docs/generate_papers.py
	$(BIN)/python docs/public_names.py

# Boards and documentation as one site that opens from disk, in build/site; a warning is an error.
site: $(VENV)/.installed-docs
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet --jobs auto --html-define boards=../index.html docs build/site/docs
	$(BIN)/gpbandit board site --out build/site

# What a release uploads, checked; from a tag the workflow `release` does the same and publishes.
dist: $(VENV)/.installed-release
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/twine check --strict dist/*

# The exact versions that boards are played with, on Python 3.11; `make board` and `make board-check` install them.
lock: $(VENV)/.installed-release
	$(BIN)/uv pip compile --quiet --python-version 3.11 --python-platform x86_64-manylinux_2_28 --no-annotate --no-header \
	  --no-emit-index-url --no-emit-find-links --generate-hashes --extra optuna --extra hpo pyproject.toml -o leaderboards/boards.lock

format: $(VENV)/.installed-test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
