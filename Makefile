# Everything here works on a fresh machine with only Python 3.11, git and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt
INSPECTOR := 2.12.0
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PYTHONDONTWRITEBYTECODE := # tests start Python often, and compiled once is enough

SECONDS ?= 300

.PHONY: all demo test ready compiled lint lint-style lint-types lint-types-windows lint-audit fix \
	bench docs clean coverage fuzz soak crash mutants

all: test lint

# The program alone: what a user gets.
$(VENV)/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) --editable .
	touch $@

# The program and the tools to work on it, of which most is never imported, and so not compiled.
$(VENV)/installed-dev: $(VENV)/installed
	$(INSTALL) --no-compile --editable '.[dev]'
	touch $@

# A client of MCP that is not ours, for tests. The npm is the one that pip installed.
$(VENV)/inspector-$(INSPECTOR): | $(VENV)/installed-dev
	$(BIN)/npm install --prefix $(VENV)/inspector --no-save --no-audit --no-fund --ignore-scripts \
		--omit=optional --loglevel=error @modelcontextprotocol/inspector@$(INSPECTOR)
	touch $@

demo: $(VENV)/installed
	$(BIN)/aur mem index .
	$(BIN)/aur mem search "a flipped bit in the index file" --limit 5
	$(BIN)/aur mem search BM25Scorer --limit 5

test: $(VENV)/installed-dev $(VENV)/inspector-$(INSPECTOR)
	$(BIN)/python -m pytest $(PYTEST_ARGS)

# All that tests need, side by side: `make --jobs ready`.
ready: compiled $(VENV)/inspector-$(INSPECTOR)

# Pytest rewrites every test file once; processes that begin together would each do so.
compiled: $(VENV)/installed-dev
	$(BIN)/python -m pytest --collect-only -qq > /dev/null

# Ruff's rules S are those of bandit: what is unsafe in the code itself.
lint: lint-style lint-types lint-types-windows lint-audit

lint-style: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

lint-types: $(VENV)/installed-dev
	$(BIN)/mypy

lint-types-windows: $(VENV)/installed-dev
	$(BIN)/mypy --platform win32 --cache-dir .mypy_cache/win32

# Known holes in what we install. Where nobody can be asked it says so, and does not fail.
lint-audit: $(VENV)/installed-dev
	$(BIN)/pip-audit --skip-editable --progress-spinner off

# Every line and branch that the tests run, in their child processes too; less than 90 % fails. Tests
# that look at what is imported, or let files not grow, meet coverage itself: `make test` judges those.
coverage: $(VENV)/installed-dev $(VENV)/inspector-$(INSPECTOR)
	$(BIN)/coverage erase
	-$(BIN)/coverage run -m pytest $(PYTEST_ARGS)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --fail-under=90

# Break it on purpose, for longer than the tests do: `make fuzz SECONDS=3600`.
fuzz: $(VENV)/installed-dev
	$(INSTALL) --editable '.[fuzz]'
	$(BIN)/python -m tests.fuzz --seconds $(SECONDS)

soak: $(VENV)/installed-dev
	AURORA_SOAK_SECONDS=$(SECONDS) $(BIN)/python -m pytest tests/concurrency -s --timeout 0

crash: $(VENV)/installed-dev
	AURORA_CRASH_KILLS=300 AURORA_FAULTS=thorough $(BIN)/python -m pytest tests/crash tests/faults --timeout 0

# Hours: `make mutants MUTANTS='aurora.fusion.*'` takes a part.
mutants: $(VENV)/installed-dev
	$(INSTALL) mutmut==3.8.1
	HYPOTHESIS_PROFILE=quick PYTHONPATH=$(CURDIR)/mutants/src $(BIN)/mutmut run --max-children 1 $(MUTANTS)
	$(BIN)/mutmut results

fix: $(VENV)/installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/installed-dev
	$(BIN)/python benchmarks/speed/bm25_build.py

docs: $(VENV)/installed-dev
	$(BIN)/python docs/generate.py
	$(BIN)/python docs/quality.py
	$(BIN)/python -m pytest tests/test_docs.py --quiet

clean:
	rm -rf $(VENV) .aurora build dist
