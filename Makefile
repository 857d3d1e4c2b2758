# Two commands suffice: `make book` and `make test`. Each target first makes .venv from
# requirements/book.txt if that is missing or out of date.

PYTHON ?= python3
NB     ?= book
# Of the command line only: some shells have a NAME of their own.
NAME   :=

VENV    := .venv
PY      := $(VENV)/bin/python
READY   := $(VENV)/ready
OTHERS  := .venv-others
TANGENTS := .venv-tangents
ZOO     ?= all
BUILD   := _build
LAUNCH  := $(BUILD)/launch
PYTEST  := $(PY) -m pytest
WORKERS ?= auto
UNIT    := --ignore tests/browser --ignore tests/peers --ignore tests/zoo --ignore tests/tangents --ignore tests/firefox tests
# With the shapes in annotations checked: of what others call, not of the book's own pages, nor of
# benchmarks, nor in processes that a test starts. Of the marked tests the hook would change the outcome, or nothing but
# the time. All cases of a test call the same functions: every eighth is enough.
TYPED   := --jaxtyping-packages=ensedu,beartype.beartype -m "not (bad_input or compiled or large)" \
  --every 8 \
  --ignore tests/book --ignore tests/test_benchmarks.py --ignore tests/test_package.py
# A file stays in one process. Of a notebook every cell is compared.
SHARED  := -n $(WORKERS) --dist loadfile --no-loadscope-reorder
NBVAL   := $(PYTEST) $(SHARED) --nbval book
# Tables that other packages compute, and which of the tables asked for are, or are not, of these.
FOREIGN := nuts contest/%
THERE   := $(if $(NAME),$(filter $(FOREIGN),$(NAME)),--there)
HERE    := $(if $(NAME),$(filter-out $(FOREIGN),$(NAME)),--here)

# Else each kernel, worker and process of a test would compile the package anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help book pdf check-site test test-typed test-long test-portable test-others test-firefox test-launch mutants bench results lab refresh dist lint format clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' Makefile | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

book: $(READY) ## Build the book into _build/html
	@echo "Building the book: some minutes the first time, then what changed"
	@mkdir -p $(BUILD)
	@$(PY) scripts/execute.py $(BUILD)
	@$(VENV)/bin/jupyter-book build . -n -W --keep-going -q >$(BUILD)/book.log 2>&1 \
	  || { grep -v '^.IPKernelApp' $(BUILD)/book.log; rm -rf $(BUILD)/.doctrees; exit 1; }
	@echo "Open $(CURDIR)/$(BUILD)/html/index.html"

pdf: book ## Print the book into _build/book.pdf, and the cheat sheet beside it
	$(PY) scripts/pdf.py $(BUILD)/html

# A machine under load can stall a browser: what fails is tried once more, and named.
check-site: book ## Open every page in a browser: errors, access, weight, sliders
	$(PY) scripts/check_site.py $(BUILD)/html
	$(PYTEST) -n $(WORKERS) --reruns 1 -rR tests/browser

test-firefox: book ## Train and click in Firefox, which must be installed
	$(PYTEST) tests/firefox

# A notebook that a build has run with all that it computes with now is not run once more: a test
# compares what it printed there.
test: $(READY) ## Run the unit tests and every notebook, strictly
	again=$$($(PY) scripts/execute.py $(BUILD) --list) \
	  && $(PYTEST) $(SHARED) -m "not weekly" --nbval $(UNIT) $$again

test-typed: $(READY) ## Run the unit tests with the shapes in annotations checked
	$(PYTEST) $(SHARED) $(TYPED) --hypothesis-profile=few $(UNIT)

test-long: $(READY) ## Run the property tests with 1,000 examples each, and what takes longest
	$(PYTEST) -n $(WORKERS) -m "hypothesis or weekly" --hypothesis-profile=long $(UNIT)

mutants: $(READY) ## Break the modules that changed since BASE, or FILES; list what no test notices
	$(PY) scripts/mutants.py $(FILES) $(if $(BASE),--base $(BASE))

test-portable: $(READY) ## Run the notebooks as older processors would compute them
	ATEN_CPU_CAPABILITY=default $(NBVAL)
	OPENBLAS_CORETYPE=Nehalem OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 $(NBVAL)

test-others: $(OTHERS)/ready $(TANGENTS)/ready ## Compare with other packages, convert their models (ZOO=quick for six)
	$(OTHERS)/bin/python -m pytest tests/peers
	ZOO=$(ZOO) $(OTHERS)/bin/python -m pytest tests/zoo
	$(TANGENTS)/bin/python -m pytest tests/tangents

# What the Binder button and the line for Colab do, without the network in between. Of the copy,
# ensedu/ goes before the notebooks run, so they find the installed package only.
test-launch: ## Install as Binder does, into a fresh environment, and run the notebooks
	rm -rf $(LAUNCH)
	mkdir -p $(LAUNCH)
	cp -R .binder book ensedu pyproject.toml requirements README.md LICENSE $(LAUNCH)
	$(PYTHON) -m venv $(LAUNCH)/venv
	cd $(LAUNCH) && venv/bin/python -m pip install --quiet --retries 1 -r .binder/requirements.txt
	cd $(LAUNCH) && venv/bin/python -m pip install --quiet -c requirements/book.txt nbval
	rm -rf $(LAUNCH)/ensedu $(LAUNCH)/build $(LAUNCH)/book/workshop $(LAUNCH)/book/build
	cd $(LAUNCH) && venv/bin/python -m pytest --nbval --nbval-current-env book
	rm -rf $(LAUNCH)

bench: $(OTHERS)/ready $(READY) ## Time layers and whole models
	$(OTHERS)/bin/python benchmarks/bench.py book/workshop/results/speed-cpu.json
	$(OTHERS)/bin/python benchmarks/whole.py book/workshop/results/whole-models.json

# First those of other packages, which others are compared with.
results: $(READY) $(if $(THERE),$(OTHERS)/ready) ## Compute the tables of long runs (NAME=starts for one); goes on after a stop
	$(if $(THERE),$(OTHERS)/bin/python -m workshop.experiments $(THERE))
	$(if $(HERE),$(PY) -m workshop.experiments $(HERE))
	$(PY) scripts/tables.py

lab: $(READY) ## Open JupyterLab on the book
	$(PY) -m jupyterlab book

refresh: $(READY) ## Execute the notebooks in place and strip them (NB=book/intro.ipynb for one)
	$(PY) scripts/notebooks.py refresh $(NB)

dist: $(READY) ## Build wheel and source archive, and try them in fresh environments
	$(PY) scripts/dist.py $(BUILD)/dist

lint: $(READY) ## Check style, format, and that the notebooks are stripped
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	$(PY) scripts/notebooks.py check $(NB)

format: $(READY) ## Mend style and format
	$(PY) -m ruff check --fix
	$(PY) -m ruff format

clean: ## Remove all that was built, the environments too
	rm -rf $(BUILD) $(VENV) $(OTHERS) $(TANGENTS) .ruff_cache

# PyTorch comes by pip, which a machine's settings may tell where its smaller wheels are; the rest
# by uv, in a third of the time, or by pip, should that fail. An interrupted set-up leaves no stamp,
# and goes on where it stopped. The .pth file makes ensedu and the book's workshop importable from this
# folder; it needs no network, and no build.
define install
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Python 3.11 or newer is needed (tried on 3.11), and this is %d.%d: name another one, make PYTHON=python3.11" % sys.version_info[:2])'
	@$(1)/bin/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(1)
	@echo "Installing $(2) into $(1): a minute or two, once"
	@$(1)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile -c $(2) $(3)
	@$(1)/bin/uv pip install --quiet --compile-bytecode --python $(1)/bin/python $(4) -r $(2) \
	  || $(1)/bin/python -m pip install --quiet --disable-pip-version-check $(4) -r $(2)
	@$(1)/bin/python -c 'import pathlib, sysconfig; pathlib.Path(sysconfig.get_path("purelib"), "ensedu-source.pth").write_text("".join(f"{pathlib.Path(p).resolve()}\n" for p in (".", "book")))'
	@touch $(1)/ready
endef

$(READY): requirements/book.txt
	$(call install,$(VENV),requirements/book.txt,uv torch)

$(OTHERS)/ready: requirements/others.txt
	$(call install,$(OTHERS),requirements/others.txt,uv torch)

# neural-tangents alone names TensorFlow, which the tests do without.
$(TANGENTS)/ready: requirements/tangents.txt
	$(call install,$(TANGENTS),requirements/tangents.txt,uv,--no-deps)
