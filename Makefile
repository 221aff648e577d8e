# The few things one does here. Each target brings what it needs: a virtual environment, VW's core (built once per machine),
# the package.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := pyproject.toml CMakeLists.txt $(shell find cmake cpp -type f)

.PHONY: help demo test lint format bench clean

help:  ## show this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1	/' | expand -t 14

demo: $(VENV)/.installed  ## learn online on a real data set and draw the result
	$(BIN)/fastcb demo --picture fastcb-demo.png

test: $(VENV)/.installed-dev lint  ## the checks and the whole test suite
	$(BIN)/python -m pytest

lint: $(VENV)/.installed-dev  ## ruff, mypy and clang-format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $$(find cpp tests/cpp -name '*.h' -o -name '*.cc')

format: $(VENV)/.installed-dev  ## write the code as the checks want it
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $$(find cpp tests/cpp -name '*.h' -o -name '*.cc')

bench: $(VENV)/.installed-dev  ## measure speed and memory against stock VW (needs valgrind)
	$(BIN)/python benchmarks/speed/instructions.py
	$(BIN)/python benchmarks/speed/many_actions.py
	$(BIN)/python benchmarks/speed/arrays.py
	$(BIN)/python benchmarks/speed/memory.py

clean:  ## remove what was built here (VW's core stays in the user's cache)
	rm -rf $(VENV) build dist fastcb-demo.png

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "vw-fastcb needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version). Say make PYTHON=python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)

# Verbose, because the first build takes minutes and should show that it moves.
$(VENV)/.installed: $(VENV)/bin/python $(SOURCES)
	$(BIN)/python -m pip install --verbose --disable-pip-version-check --editable '.[bench]'
	touch $@

# What the extra `dev` adds, without building the package again.
dev_requirements = import tomllib; \
  extras = tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]; \
  print(*[r for r in extras["dev"] if not r.startswith("vw-fastcb")])

$(VENV)/.installed-dev: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $$($(BIN)/python -c '$(dev_requirements)')
	touch $@
