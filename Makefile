# `make run` sets up and runs the server; `make test` sets up and passes the tests; bare `make` is
# the whole gate: lint, types and tests. What the profiles of the tests are is in docs/testing.md.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
COMPILED := .venv-compiled
ORACLE := .venv-redis
export PATH := $(abspath $(ORACLE))/bin:$(PATH)
RUN_FLAGS ?=
PYTEST_FLAGS ?=
PYTEST := $(BIN)/pytest --numprocesses 2 --dist worksteal

.DEFAULT_GOAL := check
.PHONY: check run test test-quick test-all test-applications test-full coverage
.PHONY: lint types format docs examples bench bench-check wheel image clean
.PHONY: run-compiled test-compiled bench-compiled

check: lint types test

run: $(VENV)/.installed
	@$(BIN)/stratakv serve $(RUN_FLAGS)

test: $(VENV)/.installed-test redis-server
	$(PYTEST) -m "not application and not browser and not full" $(PYTEST_FLAGS)

# While editing: less than a minute.
test-quick: $(VENV)/.installed-test redis-server
	STRATAKV_EFFORT=quick $(PYTEST) -m "not slow and not full" $(PYTEST_FLAGS) \
	  tests/encodings tests/proxy tests/storage tests/docs tests/test_layers.py

# All that there is, one after the other: what CI runs.
test-all:
	$(MAKE) test
	$(MAKE) test-applications
	$(MAKE) test-compiled
	$(MAKE) test-full

# Other people's programs on StrataKV, and the page of examples/flume_metrics in a browser.
test-applications: $(VENV)/.installed-test redis-server chromium
	$(PYTEST) -m "application or browser" $(PYTEST_FLAGS)

# Random commands, kills, faults and damage as often as is sensible.
test-full: $(VENV)/.installed-test redis-server
	STRATAKV_EFFORT=full $(PYTEST) -m "effort or full" $(PYTEST_FLAGS)

# The servers that the tests start are measured too, unless they are killed.
coverage: $(VENV)/.installed-test redis-server
	rm -f .coverage .coverage.*
	$(BIN)/coverage run -m pytest --numprocesses 2 --dist worksteal \
	  -m "not application and not browser and not full" $(PYTEST_FLAGS)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

# The same server with its hot path compiled to C: needs a C compiler, and two minutes once.
run-compiled: $(COMPILED)/.installed
	@$(COMPILED)/bin/stratakv serve $(RUN_FLAGS)

test-compiled: $(COMPILED)/.installed $(VENV)/.installed-test redis-server
	STRATAKV_EFFORT=quick STRATAKV_PYTHON=$(abspath $(COMPILED))/bin/python $(PYTEST) \
	  -m "not full" $(PYTEST_FLAGS) tests/commands tests/differential tests/crash tests/tier

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

# A wheel in dist/ that serves in an environment of its own.
wheel: $(VENV)/.installed
	rm -rf dist build/wheel
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .
	@$(PREPARE) python build/wheel dist/*.whl
	build/wheel/bin/stratakv --version

image:
	docker build --tag stratakv .
	docker run --rm stratakv --version

# Each stamp stands for a virtual environment that is ready; scripts/prepare says how it gets there.
PREPARE := PYTHON="$(PYTHON)" scripts/prepare
STAMPED := pyproject.toml scripts/prepare
PINNED := PINS=constraints.txt $(PREPARE)

$(VENV)/.installed: $(STAMPED)
	@$(PREPARE) python $(VENV) --editable .
	@touch $@

$(VENV)/.installed-test: $(STAMPED) constraints.txt
	@$(PINNED) python $(VENV) --editable '.[test,examples]'
	@touch $@ $(VENV)/.installed

$(VENV)/.installed-bench: $(STAMPED)
	@$(PREPARE) python $(VENV) --editable '.[bench]'
	@touch $@ $(VENV)/.installed

$(COMPILED)/.installed: $(STAMPED) setup.py $(shell find stratakv -name '*.py')
	@STRATAKV_COMPILE=1 $(PREPARE) python $(COMPILED) .
	@touch $@

# The tests compare every reply with a real Redis 7.0; openssl makes certificates for those over TLS.
.PHONY: redis-server
redis-server:
	@$(PREPARE) oracle $(ORACLE)

# The page of examples/flume_metrics is tested in a browser (about half a minute to install). Where it
# cannot be installed without asking, those tests are skipped.
.PHONY: chromium
chromium:
	@$(PREPARE) programs chromium chromedriver=chromium-driver || echo "the tests of the page are skipped"

clean:
	rm -rf $(VENV) $(COMPILED) $(ORACLE) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
