# make run    install what is missing and start the app
# make test   install what is missing, a browser included, and run every test
# make reference   install llama.cpp beside it, for 'python -m explorer bench --reference'
# make vllm   install vLLM for a CPU beside it (docs/serving.md)
# make test-vllm   serve the default heads with it and check what comes back; takes some minutes
# make gpu-check   check and measure this machine's GPU (docs/gpu.md); takes some minutes
# make lint   check style, formatting and types
# Any other Python than python3: make run PYTHON=python3.12

PYTHON ?= python3
VENV := .venv
REFERENCE := .venv-reference
VLLM := .venv-vllm
BIN := $(VENV)/bin
MODULES := node_modules
# Node and npm come with requirements-dev.txt: the same version everywhere, none to install first.
NODE := PATH="$(CURDIR)/$(BIN):$$PATH"
ARGS ?=

.PHONY: run test reference vllm test-vllm gpu-check lint format model browser clean
.DEFAULT_GOAL := run

run: $(VENV)/.installed model
	$(BIN)/python app.py $(ARGS)

test: $(VENV)/.installed-dev model browser
	$(BIN)/python -m pytest $(ARGS)

gpu-check: $(VENV)/.installed
	$(BIN)/python -m tools.gpu_check $(ARGS)

lint: $(VENV)/.installed-dev $(MODULES)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(NODE) pyright --warnings
	$(NODE) npm run --silent lint

format: $(VENV)/.installed-dev $(MODULES)/.installed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(NODE) npm run --silent format

# llama.cpp has an environment of its own, so that its dependencies cannot disturb the product's.
reference: $(REFERENCE)/.installed

# vLLM pins its own torch and transformers, so it has an environment of its own, too.
vllm: $(VLLM)/.installed

test-vllm: $(VENV)/.installed-dev $(VLLM)/.installed model
	VLLM_PYTHON=$(CURDIR)/$(VLLM)/bin/python $(BIN)/python -m pytest -s tests/serving/real_vllm.py $(ARGS)

# The default model, checked against its hash; nothing is fetched when it is already here.
model: $(VENV)/.installed
	$(BIN)/python -m explorer.weights.fetch

# Browsers for the tests. Chromium: the one that is here, else Debian's, else Playwright's own.
# Firefox: the one that is here, else Debian's, else none.
browser: $(VENV)/.installed-dev
	@PYTHON=$(BIN)/python sh tools/install_browser.sh

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
		echo "python3-venv is missing: install it (Debian: apt-get install python3-venv)" >&2; exit 1; }

$(VENV)/.installed: requirements.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install --disable-pip-version-check -r requirements.txt
	@touch $@

$(VENV)/.installed-dev: requirements-dev.txt requirements-train.txt requirements-mcp.txt $(VENV)/.installed
	$(BIN)/python -m pip install --disable-pip-version-check -r requirements-dev.txt
	@touch $@

# What checks the page's JavaScript and CSS; the page itself needs none of it.
$(MODULES)/.installed: package.json package-lock.json $(VENV)/.installed-dev
	$(NODE) npm ci --no-progress
	@touch $@

$(REFERENCE)/.installed: requirements-reference.txt
	@test -x $(REFERENCE)/bin/python || $(PYTHON) -m venv $(REFERENCE) || { rm -rf $(REFERENCE); \
		echo "python3-venv is missing: install it (Debian: apt-get install python3-venv)" >&2; exit 1; }
	$(REFERENCE)/bin/python -m pip install --disable-pip-version-check -r requirements-reference.txt
	@touch $@

# torch first: the package takes whatever torch is there. The builds of the last three that it brings
# do not match a CPU's torch and break its import; text needs none of them.
$(VLLM)/.installed: requirements-vllm.txt
	@test -x $(VLLM)/bin/python || $(PYTHON) -m venv $(VLLM) || { rm -rf $(VLLM); \
		echo "python3-venv is missing: install it (Debian: apt-get install python3-venv)" >&2; exit 1; }
	$(VLLM)/bin/python -m pip install --disable-pip-version-check \
		$(shell sed -n '/^torch==/p' requirements-vllm.txt)
	$(VLLM)/bin/python -m pip install --disable-pip-version-check -r requirements-vllm.txt
	$(VLLM)/bin/python -m pip uninstall --yes torchvision torchaudio torchcodec
	@touch $@

clean:
	rm -rf $(VENV) $(REFERENCE) $(VLLM) $(MODULES) .pytest_cache .ruff_cache .hypothesis
