# What people and .ci/run call. Recipes print nothing of their own on stdout: `make demo` prints
# the agent's answer there and nothing else.
.DEFAULT_GOAL := help
SHELL := /bin/sh
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PYTEST := $(BIN)/python -m pytest

MINUTES ?= 2

.PHONY: help setup demo test check bench soak coverage format pins clean

help: ## Say what can be made
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile

setup: $(READY) ## Make .venv from the pinned requirements and install the project into it

$(READY): requirements/dev.txt pyproject.toml scripts/setup.sh
	@sh scripts/setup.sh $(VENV) 1>&2
	@touch $(READY)

demo: $(READY) ## Run the offline example: an agent answers on stdout
	@$(BIN)/fisk-ai run --no-tui --config examples/cowsay/agent.yaml --script examples/cowsay/script.yaml \
		"tell me a joke"

test: $(READY) ## Run every test but the benchmarks
	@$(PYTEST) -n 3 --dist loadfile -m "not benchmark" $(ARGS)

check: $(READY) ## Check formatting, lint, types, imports, spelling and the list of behaviours
	@sh scripts/check.sh $(BIN)

bench: $(READY) ## Print the benchmarks, as ratios measured in this run
	@$(PYTEST) -p no:randomly -q -s -m benchmark tests/benchmarks $(ARGS)

soak: $(READY) ## Kill a working fleet for MINUTES (2), SEED to repeat one; fails if anything was lost or repeated
	@$(BIN)/python -m fisk_ai.testing.soak --minutes $(MINUTES) $(if $(SEED),--seed $(SEED))

coverage: $(READY) ## Run the tests and print branch coverage, also of the processes they start
	@rm -f .coverage .coverage.*
	@$(BIN)/coverage run -m pytest -q -n 2 --dist loadfile -m "not benchmark" $(ARGS)
	@$(BIN)/coverage combine -q && $(BIN)/coverage report

format: $(READY) ## Format and mend what can be mended by itself
	@$(BIN)/ruff format . && $(BIN)/ruff check --fix .

pins: ## Renew requirements/*.txt (needs uv); the files hold hashes and no address
	@sh scripts/pins.sh

clean: ## Remove the environment and what builds leave behind
	@rm -rf $(VENV) build dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache
