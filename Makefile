# Needs Python 3.11 or newer and make, nothing else.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
INTAKE ?= 127.0.0.1:4318
API ?= 127.0.0.1:8318
VAR ?= var
# A shell may forbid Python to keep compiled modules: then pytest, its workers and each program compile all they import.
unexport PYTHONDONTWRITEBYTECODE
# A PYTHON that is named is the one that is used: an environment of another version is made anew.
ifneq ($(origin PYTHON),file)
$(shell grep -qsF "= $$($(PYTHON) -c 'import platform; print(platform.python_version())')" $(VENV)/pyvenv.cfg || rm -f $(VENV)/.runtime $(VENV)/.dev)
endif

.PHONY: venv dev lock serve demo test lint types bench cluster agents api-check faults soak judge-report train-judges pages fuzz fuzz-linear smoke binary onedir packages release clean

# The project with what it needs to run, from the lock file. hatchling and editables come from the lock too, so no
# isolated build environment fetches anything else.
venv: $(VENV)/.runtime
$(VENV)/.runtime: requirements.lock requirements-build.lock requirements-uv.lock pyproject.toml
	@$(PYTHON) deploy/environment.py $(VENV) requirements.lock requirements-build.lock --editable
	@touch $@

# The tools of a contributor on top of it.
dev: $(VENV)/.dev
$(VENV)/.dev: $(VENV)/.runtime requirements-dev.lock
	@$(PYTHON) deploy/environment.py $(VENV) requirements-dev.lock
	@touch $@

# The lock files, from pyproject.toml; needs PyPI. UPGRADE=--upgrade takes the newest versions.
UV = $(or $(shell command -v uv),$(BIN)/uv)
COMPILED := pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header
lock: dev
	$(UV) $(COMPILED) $(UPGRADE) pyproject.toml --all-extras --output-file requirements.lock
	$(UV) $(COMPILED) $(UPGRADE) pyproject.toml --all-extras --group dev -c requirements.lock --output-file requirements-dev.lock
	printf 'hatchling\neditables\n' | $(UV) $(COMPILED) --no-annotate - -c requirements-dev.lock --output-file requirements-build.lock
	echo uv | $(UV) $(COMPILED) $(UPGRADE) --no-annotate - --output-file requirements-uv.lock

serve: venv
	$(BIN)/svc serve --var $(VAR) --intake $(INTAKE) --api $(API)

demo: venv
	$(BIN)/svc demo

test: dev
	$(BIN)/python -m pytest -q -n auto --dist worksteal --durations 20

lint: dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: dev
	$(BIN)/mypy

bench: dev
	$(BIN)/python -m tests.bench

# kill -9, a power cut, a full disk … put to the real program; docs/faults.md. A proof takes ROUNDS=300.
faults: dev
	$(BIN)/python -m tests.faults --rounds $${ROUNDS:-20}

# Three nodes over a PostgreSQL of its own, under faults. docs/cluster.md.
cluster: dev
	$(BIN)/python -m tests.cluster --seconds $(or $(SECONDS),600)

# The agents' own programs against a model of our own on loopback; SVC_AGENTS_BIN names the folder where they lie.
agents: dev
	$(BIN)/python -m pytest -q -n0 -m agents tests/agents

# Seeded histories of the whole service against a naive model; docs/simulation.md.
soak: dev
	$(BIN)/python -m tests.sim --seconds $(or $(SECONDS),600) --details

# Holds the service against its own description, by a tool in an environment of its own; some minutes, needs PyPI once.
SCHEMATHESIS := build/api-check
api-check: dev
	test -x $(SCHEMATHESIS)/bin/schemathesis || { $(PYTHON) -m venv $(SCHEMATHESIS) && \
	  $(SCHEMATHESIS)/bin/python -m pip install --quiet --disable-pip-version-check schemathesis==4.32.5; }
	$(BIN)/python -m tests.bench.api_check --schemathesis $(SCHEMATHESIS)/bin/schemathesis

# The labelled data is named by SVC_REAL_DATA and never part of the project.
judge-report: dev
	$(BIN)/python -m tests.judges.report "$${SVC_REAL_DATA:?set SVC_REAL_DATA to the folder that holds labels/}"

# Writes the judges' words and weights into aggregates/; then raise SCHEMA_VERSION, and look at the report.
train-judges: dev
	for judge in words rubric boundary outcome; do \
	  $(BIN)/python -m tests.judges.train $$judge "$${SVC_REAL_DATA:?set SVC_REAL_DATA to the folder that holds labels/}" || exit 1; done

# docs/generated/: what the program itself knows. A test holds each page level.
pages: dev
	$(BIN)/python -m tests.pages

# The fuzz tests of the suite, and others whose examples are dear, with this many times as many; docs/security.md.
FUZZED := fuzz projections/derive/test_any_order.py projections/derive/test_splitting.py \
	projections/facts/test_flags.py svc/log/test_codec.py \
	svc/archive/test_archive_spending.py svc_http/routes/test_explain.py aggregates/telemetry/test_batches.py \
	aggregates/telemetry/test_splitting.py
fuzz: dev
	SVC_FUZZ_TIMES=$${SVC_FUZZ_TIMES:-200} $(BIN)/python -m pytest -q $(addprefix tests/,$(FUZZED))

# Searches everything that reads users' text for super-linear time; docs/security.md.
fuzz-linear: dev
	$(BIN)/python -m tests.fuzz.linear --seconds $(or $(SECONDS),600)

# What a newcomer does, with the source tree; `make binary` ends with the same for the binary.
smoke: dev
	$(BIN)/python -m tests.smoke $(BIN)/svc

# What agents' hooks call is a small program inside it, which `svc connect` lays down: unpacking all of it takes seconds.
build/hook/svc-hook: $(wildcard svc/hook/*.py) | dev
	$(BIN)/pyinstaller --noconfirm --clean --onefile --name svc-hook --exclude-module _decimal --exclude-module _pickle \
	  --exclude-module lzma --exclude-module bz2 --exclude-module tracemalloc \
	  --distpath build/hook --workpath build/hook-work --specpath build svc/hook/main.py

FROZEN := --add-data $(CURDIR)/build/hook/svc-hook:. --paths http --collect-submodules svc.cli \
  --hidden-import tzdata --collect-data tzdata --collect-data svc --collect-data svc_http --collect-data aggregates \
  --collect-data projections --copy-metadata genai-prices --exclude-module numpy
binary: dev build/hook/svc-hook
	$(BIN)/pyinstaller --noconfirm --clean --onefile --name svc $(FROZEN) --distpath dist --workpath build/binary --specpath build svc/__main__.py
	$(BIN)/python -m tests.smoke dist/svc

# One folder beside the one file: it starts without unpacking itself. The program in it is `svc/svc`.
onedir: dev build/hook/svc-hook
	$(BIN)/pyinstaller --noconfirm --clean --onedir --name svc $(FROZEN) --distpath build/onedir --workpath build/onedir-work --specpath build svc/__main__.py
	$(BIN)/python -m tests.smoke build/onedir/svc/svc

# Wheel and source archive, checked by twine in an environment of its own; needs PyPI once.
TWINE := build/twine
packages: dev
	rm -rf build/packages
	$(BIN)/python -m hatchling build -d build/packages
	test -x $(TWINE)/bin/twine || { $(PYTHON) -m venv $(TWINE) && $(TWINE)/bin/python -m pip install --quiet --disable-pip-version-check twine==7.0.0; }
	$(TWINE)/bin/twine check --strict build/packages/*

# Everything that a release holds, in dist/release with its sums; nothing is uploaded. docs/contributing.md says when.
release: packages binary onedir
	$(BIN)/python deploy/release.py

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .schemathesis
