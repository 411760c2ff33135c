# The two commands of the README are `make leaderboard` and `make test`.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
RESULTS ?= results/quick
WORKERS ?= $(shell nproc 2>/dev/null || echo 2)

# BLAS with several threads stalls on small matrices, and pytest already uses all cores.
export OPENBLAS_NUM_THREADS := 1

.PHONY: leaderboard bench bench-check test lint types contracts pytest format docs site clean

# pip is run only when pyproject.toml changed since the last install.
$(VENV)/.installed: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(VENV)/.installed-test: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	touch $(VENV)/.installed $@

$(VENV)/.installed-docs: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	touch $(VENV)/.installed $@

leaderboard: $(VENV)/.installed
	$(BIN)/gpbandit run quick --out $(RESULTS) --workers $(WORKERS)
	$(BIN)/gpbandit page $(RESULTS)

# Ratios of speed, kept in benchmarks/README.md; bench-check fails where one has fallen far below what is kept.
bench: $(VENV)/.installed-test
	$(BIN)/python -m benchmarks.run

bench-check: $(VENV)/.installed-test
	$(BIN)/python -m benchmarks.run --check

test: lint types contracts pytest

lint: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed-test
	$(BIN)/mypy

contracts: $(VENV)/.installed-test
	$(BIN)/lint-imports

pytest: $(VENV)/.installed-test
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --cov --cov-report=term-missing:skip-covered
	$(BIN)/python -m coverage report --fail-under=90 --include='gpbandit_envs/gp/*,agents/*,leaderboards/*'

# What is generated: the README's tables, the pages on the environments and those on the papers.
docs: $(VENV)/.installed-test
	$(BIN)/python docs/readme.py
	$(BIN)/python docs/generate_environments.py
	$(BIN)/python docs/generate_papers.py

# The documentation as a site that opens from disk, in build/site; a warning is an error.
site: $(VENV)/.installed-docs
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet --jobs auto docs build/site
	@echo "The documentation is at $(CURDIR)/build/site/index.html"

format: $(VENV)/.installed-test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
