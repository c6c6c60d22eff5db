# Quiltwork: `make demo` and `make test` need Python 3.11 or later and nothing else.

VENV  := .venv
BIN   := $(VENV)/bin
JOBS  ?= 2
PYTHON ?= $(shell for p in python3.11 python3 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)

.DEFAULT_GOAL := help
.PHONY: help demo test check format bench viewer docs clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.for-demo ## learn, compare, ask and recommend on embedded data
	@$(BIN)/quiltwork demo

test: $(VENV)/.for-test ## run every test
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

viewer: ## build the network viewer (it arrives in a later version)
	@if [ -d viewer ]; then cd viewer && npm ci && npm run build; \
	else echo "There is no viewer yet: it arrives in a later version, and npm is not needed until then."; fi

clean: ## remove everything that was built, the virtual environment too
	rm -rf $(VENV) build dist site .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

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
