# make run: sets up and serves the app.  make test: sets up and runs the tests.  Nothing else is needed.
PYTHON ?= python3
PORT ?= 8501
REAL ?= yes
VENV := .venv
BIN := $(VENV)/bin

# Where torch comes from first: on Linux without an NVIDIA GPU its own CPU build, a tenth of the CUDA build on PyPI. If
# it cannot be reached, the other indexes are asked. TORCH_INDEX= asks them alone.
TORCH_INDEX ?= $(shell test "$$(uname)" = Linux && ! command -v nvidia-smi > /dev/null && \
	echo https://download.pytorch.org/whl/cpu)

.PHONY: setup setup-dev real run test nightly processors pretended oracles lint lint-python js check next e2e mutants bench load pictures docs book train clean

setup: $(VENV)/.installed real
setup-dev: $(VENV)/.installed-dev real

# Four real models beside those that ship, 330 MB, once, and again where a file of them is newer than the check that found
# them right. REAL=no leaves them out, and so does a machine without network.
ifeq ($(REAL),no)
export TFCORE_REAL_MODELS =
endif
real: $(VENV)/.installed
ifneq ($(REAL),no)
	@test -z "$$(find models/smollm2 models/minilm models/dinov2 models/whisper -newer models/.checked 2>&1)" || $(BIN)/python -m tfcore.loading
endif

# Python compiles what is used when it is first used: pip would compile all of it, for half the time of the set-up.
$(VENV)/.installed: requirements.txt
	@$(BIN)/python -m pip --version > /dev/null 2>&1 || \
	$(PYTHON) -c "import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))" 2> /dev/null || { echo >&2 \
	"$(PYTHON) is missing, older than 3.11 or cannot make a virtual environment: on Debian and Ubuntu," \
	"apt-get install python3-venv; elsewhere name another Python, as in make PYTHON=python3.12"; exit 1; }
	$(BIN)/python -m pip --version > /dev/null 2>&1 || $(PYTHON) -m venv $(VENV)
	$(if $(TORCH_INDEX),$(BIN)/python -m pip install --quiet --no-compile --no-deps --retries 0 --timeout 10 \
	--extra-index-url $(TORCH_INDEX) $$(grep '^torch==' requirements.txt))
	$(BIN)/python -m pip install --quiet --no-compile --requirement requirements.txt
	touch $@

$(VENV)/.installed-dev: requirements-dev.txt requirements-dask.txt requirements-notebook.txt $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --no-compile --requirement requirements.txt \
	--requirement requirements-dask.txt --requirement requirements-notebook.txt --requirement requirements-dev.txt
	touch $@

# For one person on their own machine, who may load any model; a server for others is started without these settings.
run: setup
	TFCORE_THREADS=$${TFCORE_THREADS-$$(getconf _NPROCESSORS_ONLN 2> /dev/null || echo 1)} \
	TFCORE_MODELS=$${TFCORE_MODELS-any} TFCORE_MODEL_FOLDER=$${TFCORE_MODEL_FOLDER-models} \
	TFCORE_MODEL_GB=$${TFCORE_MODEL_GB-16} TFCORE_DOWNLOAD_GB=$${TFCORE_DOWNLOAD_GB-16} \
	PORT=$(PORT) $(BIN)/python app.py

# The linters beside the downloads. Then the tests in parallel, one thread each; those in the browser afterwards, two at
# a time, each with a server of its own. What looks at the same lines a second time (tests/nightly.py) is left to
# `make nightly`.
#
# They start dozens of processes. Where this is set, each would compile torch, Streamlit and the app anew, for 3 s or more.
test nightly: export PYTHONDONTWRITEBYTECODE :=
test: LEFT_OUT := and not nightly
nightly: oracles
test nightly:
	@$(MAKE) --no-print-directory -j3 setup-dev lint
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist loadscope --no-loadscope-reorder --failed-first -m "not e2e $(LEFT_OUT)"
	$(BIN)/python -m pytest -n 2 --dist loadscope --no-loadscope-reorder --failed-first -m "e2e $(LEFT_OUT)" tests/e2e
	$(if $(LEFT_OUT),,@$(MAKE) --no-print-directory processors)

# The tests that need no browser as on processors with AVX2 alone and with neither AVX2 nor AVX-512, whose last digits
# are others
processors: setup-dev
	$(BIN)/python -m tests.processors

# The tests of what computes on a device that refuses what a GPU refuses; FILES="tests/core/test_masks.py" runs some
FILES ?= tests/core tests/inspection tests/generation
pretended: setup-dev
	TFCORE_DEVICE=pretend OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist loadscope --no-loadscope-reorder -m "not nightly" $(FILES)

# TransformerLens, which some tests of the night compare with, and the notebooks that widgets are shown in
oracles: $(VENV)/.installed-oracles
$(VENV)/.installed-oracles: requirements-oracles.txt $(VENV)/.installed-dev
	$(BIN)/python -m pip install --quiet --no-compile --requirement requirements-oracles.txt \
	--constraint requirements.txt --constraint requirements-dev.txt
	touch $@

lint: lint-python js

lint-python: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --num-workers auto

# Linter, types and unit tests of the JavaScript. Only they need Node: without it, or without a registry to install them
# from, they are skipped, and a line says so.
NODE_FITS := const [a, b] = process.versions.node.split("."); process.exit(a > 18 || (a == 18 && b >= 19) ? 0 : 1)
NODE_MODULES := node_modules/.package-lock.json
js:
	@if ! command -v npm > /dev/null || ! node -e '$(NODE_FITS)' 2> /dev/null; then \
	echo "JavaScript not checked: there is no npm with Node 18.19 or newer"; \
	elif test ! $(NODE_MODULES) -nt package-lock.json && \
	! npm view --fetch-retries=0 --fetch-timeout=10000 eslint version > /dev/null 2>&1; then \
	echo "JavaScript not checked: the npm registry cannot be reached"; \
	else $(MAKE) --no-print-directory $(NODE_MODULES) && \
	npm run --silent lint && npm run --silent types && npm run --silent test; fi

$(NODE_MODULES): package-lock.json
	npm ci --no-audit --no-fund --loglevel=error
	touch $@

check: lint
	$(BIN)/python -m pytest -q tests/architecture

# What the app uses of Streamlit's inside, with Streamlit's newest release, in an environment of its own
NEXT := $(VENV)-next
next: $(NEXT)/.installed-dev
	$(NEXT)/bin/python -m pip install --quiet --upgrade streamlit
	$(NEXT)/bin/python -m pip show streamlit | head -2
	OMP_NUM_THREADS=1 $(NEXT)/bin/python -m pytest tests/pages/ui/test_streamlit_internals.py \
	tests/pages/ui/test_links.py tests/pages/ui/test_controls.py tests/pages/ui/test_uploads.py \
	tests/pages/ui/server tests/e2e/test_streamlit_page.py

$(NEXT)/.installed-dev: requirements.txt requirements-dask.txt requirements-dev.txt
	$(MAKE) setup-dev VENV=$(NEXT)

e2e: setup-dev
	$(BIN)/python -m pytest tests/e2e

# Whether the tests notice small faults: a random sample of mutants of pages and analyses, two at a time
SEED ?= 0
MINUTES ?= 30
mutants: setup-dev
	$(BIN)/python -m tools.mutants --seed $(SEED) --minutes $(MINUTES)

bench: setup-dev
	$(BIN)/python -m benchmarks

# 1 to 50 visitors at once, and what they leave in memory; an hour of ten: make load SOAK=60
load: setup-dev
	$(BIN)/python -m benchmarks.load $(if $(SOAK),--soak $(SOAK))

# The pictures that link previews show, taken of every page, the README's, and those that pages begin with
pictures: setup-dev
	$(BIN)/python -m tools.pictures
	$(BIN)/python -m tools.pictures first

# The documentation as a site in build/docs, by tools of its own; nothing is fetched while it is built. The table of
# docs/pages.md is written anew from the facts of the pages
docs: $(VENV)-docs/.installed
	$(VENV)-docs/bin/python -m tools.docs_pages
	NO_MKDOCS_2_WARNING=1 $(VENV)-docs/bin/mkdocs build --quiet --strict

$(VENV)-docs/.installed: requirements-docs.txt
	$(PYTHON) -m venv $(VENV)-docs
	$(VENV)-docs/bin/python -m pip install --quiet --requirement requirements-docs.txt
	touch $@

# Every page at its defaults as a site in build/book, to be opened from there or put on any host; its links lead to an app
# at TFCORE_ADDRESS (http://localhost:8501). PAGES="heads masks" writes some pages
PAGES ?=
book: setup-dev real
	$(BIN)/python -m tools.book $(PAGES)

# make train RECIPE=stories CORPUS=path/to/corpora OUT=runs/stories
RECIPE ?= stories
OUT ?= runs/$(RECIPE)
train: setup
	$(BIN)/python -m tfcore.training $(RECIPE) --corpus $(CORPUS) --out $(OUT)

clean:
	rm -rf $(VENV) $(VENV)-docs $(VENV)-next node_modules build runs .pytest_cache .ruff_cache .mypy_cache .hypothesis
