# The commands of the house, the same for people and for CI. `make help` lists them.
# Needed beforehand: make, git and Python 3.11 or newer (another than the first found: make PYTHON=/path/to/python).

PYTHON ?= $(firstword $(foreach name,python3 python3.13 python3.12 python3.11,$(if $(call is_new,$(name)),$(name))) python3)
is_new = $(shell $(1) -c 'import sys; print("yes" if sys.version_info >= (3, 11) else "")' 2>/dev/null)

BIN := .venv/bin
READY := .venv/.ready
BENCH_READY := .venv/.bench-ready
CODE := $(wildcard src tests examples bench)

.PHONY: help setup demo test check bench bench-faults bench-storm bench-powercuts soak docs clean
.DEFAULT_GOAL := help

help:  ## This list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 22

setup: $(READY)  ## Make .venv with pinned versions (quick when nothing changed)

demo: setup  ## Train on 1 worker, then on 4 with one killed: the same model, to the bit
	$(BIN)/python -m holdfast demo

test: setup  ## All tests but the long ones
	$(BIN)/pytest -m "not soak"

check: setup  ## Lint, format and types
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/mypy

bench: $(BENCH_READY)  ## Measure against PyTorch DDP; writes docs/benchmarks.md
	$(BIN)/python bench/run.py

bench-faults: $(BENCH_READY)  ## Measure what deaths cost, against torchft and torchrun; writes docs/benchmarks-faults.md
	$(BIN)/python bench/faults.py

bench-storm: $(BENCH_READY)  ## Six workers under a storm of ten minutes; writes docs/benchmarks-storm.md
	$(BIN)/python bench/faults.py --only storm --storm-minutes 10 --out docs/benchmarks-storm.md

bench-powercuts: setup  ## Kill all processes of runs at once, 100 times, and compare what they come to
	$(BIN)/python bench/powercuts.py

soak: setup  ## The long tests
	$(BIN)/pytest -m soak

docs: setup  ## Write docs/job-reference.md anew from the specs
	$(BIN)/python -m holdfast.job.reference > docs/.job-reference.md
	mv docs/.job-reference.md docs/job-reference.md

clean:  ## Remove caches and built files; .venv and your runs stay
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis docs/.job-reference.md
	find $(CODE) -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamp is inside .venv, so that removing .venv is enough to start over.
$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "holdfast needs Python 3.11 or newer, and \`$(PYTHON)\` is" \
	    "$$($(PYTHON) --version 2>&1 || true): install one, or name it with make PYTHON=/path/to/python" >&2; \
	  exit 1; }
	@echo "setting up .venv with the packages of constraints.txt; the first time takes a minute or more"
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $(READY)

$(BENCH_READY): $(READY)
	@echo "adding what only the benchmarks need; a minute or more"
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --constraint constraints.txt --editable '.[bench]'
	@touch $(BENCH_READY)
