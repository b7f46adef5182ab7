# make run: the demo.  make test: everything that must hold.  Each sets up what it needs, in .venv.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
JOBS ?= 2

.PHONY: run test test-long check bench fmt clean

run: $(VENV)/installed
	@$(BIN)/palaver demo

test: check
	$(BIN)/python -m pytest -n $(JOBS) --dist loadgroup

test-long: check
	$(BIN)/python -m pytest -n $(JOBS) --dist loadgroup -m "long or not long"

check: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/dev
	env -u PYTHONDONTWRITEBYTECODE -u PYTHONPYCACHEPREFIX $(BIN)/python -m bench

fmt: $(VENV)/dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: pyproject.toml | $(VENV)/bin/python
	$(PIP) install -e .
	@touch $@

$(VENV)/dev: pyproject.toml | $(VENV)/bin/python
	$(PIP) install -e ".[dev]"
	@touch $@ $(VENV)/installed

clean:
	rm -rf $(VENV) .cache .pytest_cache .mypy_cache .ruff_cache .hypothesis
