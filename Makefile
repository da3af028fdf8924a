# The two commands: `make run` (the demo) and `make test` (everything). `make` alone lists them all.
SHELL   := /bin/bash
PYTHON  ?= python3
VENV    := .venv
BIN     := $(VENV)/bin
AREA    ?=
PART    ?=
QUICK   ?=
BUILT   := pyproject.toml hatch_build.py src/hubbub/gopa/crypto/native/ristretto255.c  # a change installs anew

.DEFAULT_GOAL := help
.PHONY: help run test check bench soak clean

help:  ## list the commands
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1\t\2/' | expand -t 16

run: $(VENV)/.core  ## install the core with the extra [demo], and run `hubbub demo`
	@$(BIN)/hubbub demo

test: $(VENV)/.dev  ## every test, with the real programs they need (installed with apt where missing)
	@bash tools/components.sh
	@$(BIN)/python -m pytest -n 2

check: $(VENV)/.dev  ## format, lint, types, documentation
	$(BIN)/ruff format --check src tests bench tools docs
	$(BIN)/ruff check src tests bench tools docs
	$(BIN)/mypy
	$(BIN)/sphinx-build -q -W --keep-going -b html docs docs/_build/html

bench: $(VENV)/.bench  ## speed and accuracy beside peers: make bench [AREA=noise [PART=...]] [QUICK=1]
	@$(BIN)/python -m bench $(if $(AREA),--area $(AREA)) $(if $(PART),--part $(PART)) $(if $(QUICK),--quick)

soak: $(VENV)/.dev  ## the long statistical, fault and attack runs in full (`make test` runs a tenth of each)
	@bash tools/components.sh
	@$(BIN)/python -m pytest -n 2 --soak

clean:  ## remove the environment and everything built
	rm -rf $(VENV) docs/_build build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(VENV)/bin/pip:
	@bash tools/venv.sh "$(PYTHON)" "$(VENV)"

$(VENV)/.core: $(VENV)/bin/pip $(BUILT)
	@$(BIN)/pip install -q -e '.[demo]'
	@touch $@

$(VENV)/.dev: $(VENV)/bin/pip $(BUILT)
	@$(BIN)/pip install -q torch==2.13.0  # before what depends on it, and by itself: the processor's build, no CUDA
	@$(BIN)/pip install -q -e '.[fast,postgres,learn,torch,collect,gopa,publish,docs,dev]'
	@touch $@ $(VENV)/.core

$(VENV)/.bench: $(VENV)/.dev
	@$(BIN)/pip install -q -e '.[bench]'
	@touch $@
