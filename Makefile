# Quiltwork: `make demo` and `make test` need Python 3.11 or later and nothing else. The viewer's page needs npm, and its
# tests a browser; where these are missing `make test` says so and skips them.

VENV  := .venv
BIN   := $(VENV)/bin
JOBS  ?= 2
PYTHON ?= $(shell for p in python3.11 python3 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)

.DEFAULT_GOAL := help
.PHONY: help demo test check format bench viewer docs clean page browser

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.for-demo ## learn, compare, ask and recommend on embedded data
	@$(BIN)/quiltwork demo

test: $(VENV)/.for-test page browser ## run every test
	@$(BIN)/python -m pytest -q -n $(JOBS) --dist loadfile

check: $(VENV)/.for-dev ## lint, types, house rules
	@echo "ruff" && $(BIN)/ruff check . && $(BIN)/ruff format --check .
	@echo "mypy" && $(BIN)/mypy
	@echo "house rules" && $(BIN)/python -m pytest -q tests/test_layers.py tests/test_house_rules.py

format: $(VENV)/.for-dev ## format the code and sort its imports
	@$(BIN)/ruff check --fix-only --quiet . ; $(BIN)/ruff format .

bench: $(VENV)/.for-bench ## time ours beside its peers (minutes; QUILTWORK_DATA adds the public sets)
	@for script in $(filter-out benchmarks/common.py,$(wildcard benchmarks/*.py)); do echo "== $$script"; $(BIN)/python $$script || exit 1; done

docs: $(VENV)/.for-docs ## build the documentation into site/
	@$(BIN)/python docs/parameters.py > docs/parameters.md
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet && echo "Open site/index.html"

viewer: ## build the network viewer's page (needs npm)
	@cd viewer && $(NPM_CI) && npm run --silent build

clean: ## remove everything that was built, the virtual environment too
	rm -rf $(VENV) build dist site .hypothesis .mypy_cache .pytest_cache .ruff_cache
	rm -rf viewer/node_modules viewer/build src/quiltwork/view/static tests/browser/screenshots
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

# The viewer's page, unless it is newer than what it is built from; and a browser to try it in.
NPM_CI := npm ci --no-audit --no-fund --loglevel=error
PAGE   := src/quiltwork/view/static/app.js

page:
	@if $(MAKE) --silent --no-print-directory --question $(PAGE); then exit 0; fi; \
	command -v npm >/dev/null || { echo "The viewer is not built, for there is no npm: its tests are skipped."; exit 0; }; \
	echo "Building the viewer"; cd viewer; \
	$(NPM_CI) || { echo "npm could not fetch what the viewer needs: its tests are skipped."; exit 0; }; \
	npm run --silent build

$(PAGE): $(shell find viewer/src viewer/style viewer/index.html viewer/build.mjs viewer/package-lock.json -type f)
	@cd viewer && $(NPM_CI) && npm run --silent build

browser:
	@for name in chromium chromium-browser google-chrome; do command -v $$name >/dev/null && exit 0; done; \
	if [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then \
		echo "There is no chromium, and it can only be installed by root with apt-get: the viewer's tests are skipped."; \
	else echo "Installing Debian's chromium, for the viewer's tests"; \
		{ timeout 120 apt-get update && timeout 600 apt-get install -y --no-install-recommends chromium; } >/dev/null 2>&1 \
		|| echo "apt-get could not install chromium: the viewer's tests are skipped."; fi

# One virtual environment; a stamp in it for every set of extras that is installed.
EXTRAS_demo  := io
EXTRAS_test  := test
EXTRAS_dev   := dev
EXTRAS_bench := bench
EXTRAS_docs  := docs

$(VENV)/.for-%: pyproject.toml | $(BIN)/python
	@echo "Installing quiltwork[$(EXTRAS_$*)] into $(VENV) (the first time takes a minute or two)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[$(EXTRAS_$*)]'
	@touch $@

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "Quiltwork needs Python 3.11 or later, and none was found." >&2; exit 1; }
	@echo "Making a virtual environment in $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv $(VENV)
