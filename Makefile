# `make run` sets up and runs the server; `make test` sets up and passes the tests; bare `make` is
# the whole gate: lint, types and tests.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
COMPILED := .venv-compiled
RUN_FLAGS ?=
PYTEST_FLAGS ?=

.DEFAULT_GOAL := check
.PHONY: check run test lint types format docs examples bench bench-check clean
.PHONY: run-compiled test-compiled bench-compiled

check: lint types test

run: $(VENV)/.installed
	$(BIN)/stratakv serve $(RUN_FLAGS)

test: $(VENV)/.installed-test redis-server chromium
	$(BIN)/pytest --numprocesses 2 --dist worksteal $(PYTEST_FLAGS)

# The same server with its hot path compiled to C: needs a C compiler, and two minutes once.
run-compiled: $(COMPILED)/.installed
	$(COMPILED)/bin/stratakv serve $(RUN_FLAGS)

test-compiled: $(COMPILED)/.installed $(VENV)/.installed-test redis-server
	STRATAKV_PYTHON=$(abspath $(COMPILED))/bin/python $(BIN)/pytest --numprocesses 2 \
	  --dist worksteal $(PYTEST_FLAGS) tests/commands tests/differential tests/crash tests/tier

lint: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed-test
	$(BIN)/mypy

format: $(VENV)/.installed-test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

examples: $(VENV)/.installed-test redis-server
	$(BIN)/python -m examples.run

docs: $(VENV)/.installed
	$(BIN)/python -m stratakv.docs_page

bench: $(VENV)/.installed-bench redis-server
	$(BIN)/python -m benchmarks --suite short

bench-compiled: $(COMPILED)/.installed $(VENV)/.installed-bench redis-server
	STRATAKV_PYTHON=$(abspath $(COMPILED))/bin/python $(BIN)/python -m benchmarks --suite short

bench-check: $(VENV)/.installed-bench redis-server
	$(BIN)/python -m benchmarks check

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/.installed: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/.installed-test: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[test,examples]'
	@touch $@ $(VENV)/.installed

$(VENV)/.installed-bench: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	@touch $@ $(VENV)/.installed

$(COMPILED)/.installed: pyproject.toml setup.py $(shell find stratakv -name '*.py')
	$(PYTHON) -m venv $(COMPILED)
	STRATAKV_COMPILE=1 $(COMPILED)/bin/python -m pip install --quiet --force-reinstall .
	@touch $@

# $(call apt_install,SUDO,PACKAGES)
apt_install = $(1) apt-get update -qq && $(1) env DEBIAN_FRONTEND=noninteractive \
	apt-get install -y -qq --no-install-recommends $(2)
is_root = [ "$$(id -u)" = 0 ]

# The tests compare every reply with a real Redis.
.PHONY: redis-server
redis-server:
	@command -v redis-server >/dev/null || { \
	  echo "redis-server is missing; installing it with apt-get"; \
	  SUDO=$$($(is_root) || echo sudo); \
	  $(call apt_install,$$SUDO,redis-server redis-tools); }

# The page of examples/flume_metrics is tested in a browser (about half a minute to install). Where it
# cannot be installed without asking, those tests are skipped.
.PHONY: chromium
chromium:
	@{ command -v chromium && command -v chromedriver; } >/dev/null || { \
	  echo "chromium is missing; installing it with apt-get"; \
	  SUDO=$$($(is_root) || echo sudo -n); \
	  $(call apt_install,$$SUDO,chromium chromium-driver); } || \
	  echo "no chromium: the tests of the page are skipped"

clean:
	rm -rf $(VENV) $(COMPILED) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
