# `make run` sets up and runs the server; `make test` sets up and passes the tests; bare `make` is
# the whole gate: lint, types and tests. What the profiles of the tests are is in docs/testing.md.
#
# There are two environments. VENV has the build that users get: compiled where there is a compiler,
# and made again when the sources change. DEV has the tools, and the sources themselves as its StrataKV.

PYTHON ?= python3
VENV := .venv
DEV := .venv-dev
BIN := $(DEV)/bin
ORACLE := .venv-redis
export PATH := $(abspath $(ORACLE))/bin:$(PATH)
RUN_FLAGS ?=
CONSOLE_FLAGS ?=
CLUSTER_FLAGS ?=
PYTEST_FLAGS ?=
PYTEST := $(BIN)/pytest --numprocesses 2 --dist worksteal
# Whose StrataKV is tested and measured.
USERS := STRATAKV_PYTHON=$(abspath $(VENV))/bin/python

# Another wish (STRATAKV_COMPILE is 0, 1 or unset) is another build.
INSTALLED := $(VENV)/.installed$(STRATAKV_COMPILE)

.DEFAULT_GOAL := check
.PHONY: check run console cluster test test-quick test-all test-applications test-full test-hbase coverage
.PHONY: lint types format docs examples screenshots bench bench-check messages wheel image clean
.PHONY: run-plain test-plain bench-plain

check: lint types test

run: $(INSTALLED)
	@env -u STRATAKV_COMPILE $(VENV)/bin/stratakv serve $(RUN_FLAGS)

# A page to look into the server that runs (docs/console.md); what that needs is installed first.
console: $(INSTALLED) $(VENV)/.console
	@$(VENV)/bin/stratakv console $(CONSOLE_FLAGS)

# ZooKeeper, HBase and three nodes on this machine, until Ctrl-C (docs/cluster.md). Java, Maven and HBase are fetched first.
cluster: $(INSTALLED) $(VENV)/.hbase
	@$(PREPARE) hbase "$(HBASE)"
	@$(VENV)/bin/python -m examples.local_cluster --hbase "$(HBASE)" --stratakv $(VENV)/bin/stratakv $(CLUSTER_FLAGS)

test: $(INSTALLED) $(DEV)/.installed-test redis-server
	$(USERS) $(PYTEST) -m "not application and not browser and not full and not hbase" $(PYTEST_FLAGS)

# While editing: less than a minute.
test-quick: $(DEV)/.installed-test redis-server
	STRATAKV_EFFORT=quick $(PYTEST) -m "not slow and not full" $(PYTEST_FLAGS) \
	  tests/encodings tests/proxy tests/storage tests/docs tests/test_layers.py

# All that there is, one after the other: what CI runs.
test-all:
	$(MAKE) test
	$(MAKE) test-applications
	$(MAKE) test-plain
	$(MAKE) test-hbase
	$(MAKE) test-full

# Other people's programs on StrataKV, and the page of examples/flume_metrics in a browser.
test-applications: $(INSTALLED) $(DEV)/.installed-test redis-server chromium
	$(USERS) $(PYTEST) -m "application or browser" $(PYTEST_FLAGS)

# The client of HBase and the engine, on a real one; commands on a server that stands on it, and random ones on a node of a
# cluster, at quick effort. Where no HBase can be had, most is skipped. Bounded: by then something hangs.
HBASE_TESTS ?= tests/commands tests/differential tests/tier/test_differential.py
CLUSTER_TESTS ?= tests/differential/test_random_commands.py
test-hbase: $(DEV)/.installed-test redis-server hbase
	timeout 900 $(BIN)/pytest -m "not full" $(PYTEST_FLAGS) tests/hbase
	@! test -e "$(HBASE)/complete" || STRATAKV_EFFORT=quick STRATAKV_TEST_SUBJECT=hbase \
	  timeout 600 $(PYTEST) -m "not slow and not full" $(PYTEST_FLAGS) $(HBASE_TESTS)
	@! test -e "$(HBASE)/complete" || STRATAKV_EFFORT=quick STRATAKV_TEST_SUBJECT=cluster \
	  timeout 300 $(PYTEST) -m "not slow and not full" $(PYTEST_FLAGS) $(CLUSTER_TESTS)

# Random commands, kills, faults and damage as often as is sensible.
test-full: $(INSTALLED) $(DEV)/.installed-test redis-server
	$(USERS) STRATAKV_EFFORT=full $(PYTEST) -m "(effort or full) and not hbase" $(PYTEST_FLAGS)

# Of the plain build. The servers that the tests start are measured too, unless they are killed.
coverage: $(DEV)/.installed-test redis-server
	rm -f .coverage .coverage.*
	$(BIN)/coverage run -m pytest --numprocesses 2 --dist worksteal \
	  -m "not application and not browser and not full and not hbase" $(PYTEST_FLAGS)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

# The same server from the sources as they lie there: what is edited is what runs.
run-plain: $(DEV)/.installed
	@$(BIN)/stratakv serve $(RUN_FLAGS)

test-plain: $(DEV)/.installed-test redis-server
	STRATAKV_EFFORT=quick $(PYTEST) -m "not full" $(PYTEST_FLAGS) \
	  tests/commands tests/differential tests/crash tests/tier

lint: $(DEV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(DEV)/.installed-test
	$(BIN)/mypy

format: $(DEV)/.installed-test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

examples: $(INSTALLED) $(DEV)/.installed-test redis-server
	$(USERS) $(BIN)/python -m examples.run

docs: $(DEV)/.installed
	$(BIN)/python -m stratakv.docs_page

# HBase's messages as Python's; the compiler says which protobuf they need (pyproject.toml, extra hbase).
messages:
	@$(PREPARE) python build/protoc grpcio-tools==1.85.1
	build/protoc/bin/python -m grpc_tools.protoc -I . --python_out=. --pyi_out=. stratakv/storage/hbase/messages.proto

# The pictures of docs/console.md.
screenshots: $(DEV)/.installed-test chromium
	$(BIN)/python -m tests.console.screenshots

bench: $(INSTALLED) $(DEV)/.installed-bench redis-server
	$(USERS) $(BIN)/python -m benchmarks --suite short

bench-plain: $(DEV)/.installed-bench redis-server
	$(BIN)/python -m benchmarks --suite short

bench-check: $(INSTALLED) $(DEV)/.installed-bench redis-server
	$(USERS) $(BIN)/python -m benchmarks check

# The wheel of that build in dist/; it serves in an environment of its own, and needs no compiler there.
wheel: $(INSTALLED)
	rm -rf dist build/wheel
	mkdir dist && cp $(VENV)/wheels/stratakv-*.whl dist
	@$(PREPARE) python build/wheel dist/*.whl
	build/wheel/bin/stratakv --version

image:
	docker build --tag stratakv .
	docker run --rm stratakv --version

# Each stamp stands for a virtual environment that is ready; scripts/prepare says how it gets there.
PREPARE := PYTHON="$(PYTHON)" scripts/prepare
STAMPED := pyproject.toml scripts/prepare
PINNED := PINS=constraints.txt $(PREPARE)

$(INSTALLED): $(STAMPED) constraints.txt setup.py $(shell find stratakv -name '*.py' -o -name '*.lua' -o -name '*.c')
	@$(PINNED) server $(VENV)
	@rm -f $(VENV)/.installed*
	@touch $@

$(VENV)/.console: pyproject.toml constraints.txt
	@$(PINNED) python $(VENV) 'aiohttp>=3.11' 'msgpack>=1.0'
	@touch $@

$(VENV)/.hbase: pyproject.toml constraints.txt
	@$(PINNED) python $(VENV) 'kazoo>=2.10' 'protobuf>=7.35.1'
	@touch $@

$(DEV)/.installed: $(STAMPED)
	@$(PREPARE) python $(DEV) --editable .
	@touch $@

$(DEV)/.installed-test: $(STAMPED) constraints.txt
	@$(PINNED) python $(DEV) --editable '.[test,examples,hbase,console]'
	@touch $@ $(DEV)/.installed

$(DEV)/.installed-bench: $(STAMPED)
	@$(PREPARE) python $(DEV) --editable '.[bench]'
	@touch $@ $(DEV)/.installed

# The tests compare every reply with a real Redis 7.0; openssl makes certificates for those over TLS.
.PHONY: redis-server
redis-server:
	@$(PREPARE) oracle $(ORACLE)

# The page of examples/flume_metrics is tested in a browser (about half a minute to install). Where it
# cannot be installed without asking, those tests are skipped.
.PHONY: chromium
chromium:
	@$(PREPARE) programs chromium chromedriver=chromium-driver || echo "the tests of the page are skipped"

# A real HBase for the tests of its client: Java and Maven, and 120 MB of jars in a cache.
HBASE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/stratakv/hbase-2.6.4
.PHONY: hbase
hbase:
	@$(PREPARE) hbase "$(HBASE)" || echo "the tests on HBase are skipped"

clean:
	rm -rf $(VENV) $(DEV) $(ORACLE) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
