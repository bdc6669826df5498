# make run: sets up and serves the app.  make test: sets up and runs all tests.  Nothing else is needed.
PYTHON ?= python3
PORT ?= 8501
VENV := .venv
BIN := $(VENV)/bin

.PHONY: setup setup-dev run test lint check e2e bench load pictures train clean

setup: $(VENV)/.installed
setup-dev: $(VENV)/.installed-dev

$(VENV)/.installed: requirements.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --requirement requirements.txt
	touch $@

$(VENV)/.installed-dev: requirements-dev.txt requirements-dask.txt $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --requirement requirements-dev.txt
	touch $@

# For one person on their own machine, who may load any model; a server for others is started without these settings.
run: setup
	TFCORE_MODELS=$${TFCORE_MODELS-any} TFCORE_MODEL_FOLDER=$${TFCORE_MODEL_FOLDER-models} \
	TFCORE_MODEL_GB=$${TFCORE_MODEL_GB-16} TFCORE_DOWNLOAD_GB=$${TFCORE_DOWNLOAD_GB-16} \
	PORT=$(PORT) $(BIN)/python app.py

# In parallel, one thread each; the tests in the browser afterwards, two at a time, each with a server of its own.
test: setup-dev lint
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist loadscope -m "not e2e"
	$(BIN)/python -m pytest -n 2 --dist loadscope tests/e2e

lint: setup-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --num-workers auto

check: lint
	$(BIN)/python -m pytest -q tests/architecture

e2e: setup-dev
	$(BIN)/python -m pytest tests/e2e

bench: setup-dev
	$(BIN)/python -m benchmarks

# 1 to 50 visitors at once, and what they leave in memory; an hour of ten: make load SOAK=60
load: setup-dev
	$(BIN)/python -m benchmarks.load $(if $(SOAK),--soak $(SOAK))

# The pictures that link previews show, taken of every page, and the README's
pictures: setup-dev
	$(BIN)/python -m tools.pictures

# make train RECIPE=stories CORPUS=path/to/corpora OUT=runs/stories
RECIPE ?= stories
OUT ?= runs/$(RECIPE)
train: setup
	$(BIN)/python -m tfcore.training $(RECIPE) --corpus $(CORPUS) --out $(OUT)

clean:
	rm -rf $(VENV) runs .pytest_cache .ruff_cache .mypy_cache .hypothesis
