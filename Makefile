# make run: the demo.  make test: everything that must hold.  Each sets up what it needs, in .venv.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
JOBS ?= 3
PYTEST := $(BIN)/python -m pytest -n $(JOBS) --dist loadgroup
# In a fresh checkout one process compiles the tests, which otherwise each of those that run them would do.
COMPILED := [ -d tests/__pycache__ ] || $(BIN)/python -m pytest --collect-only -q >/dev/null

# The tests and, at the same time, the checks, whose words come when the tests are over. It fails if either fails.
define beside_checks
said=$$(mktemp); $(MAKE) --no-print-directory check >$$said 2>&1 & checks=$$!; \
$(1); tests=$$?; \
wait $$checks; checks=$$?; \
cat $$said; rm -f $$said; \
[ $$checks -eq 0 ] || echo "The checks failed."; \
[ $$tests -eq 0 ] || echo "The tests failed."; \
[ $$checks -eq 0 ] && [ $$tests -eq 0 ]
endef

.PHONY: run test test-long check bench fmt clean

run: $(VENV)/installed
	@$(BIN)/palaver demo

test: $(VENV)/dev
	@$(call beside_checks,$(COMPILED); $(PYTEST))

test-long: $(VENV)/dev
	@$(call beside_checks,$(COMPILED); $(PYTEST) -m "long or not long")

check: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	PYRIGHT_PYTHON_IGNORE_WARNINGS=1 $(BIN)/pyright --pythonpath $(BIN)/python

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
