# A start needs python3, pip and make only. `make demo`: a lab to look at; `make test`: all tests.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
PIP = $(PYTHON) -m pip --python $(RUN)
NODES ?= 777
FLEET ?=
MINUTES ?= 30
AGENTS ?= 2000
SEED ?=
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo up agent test check bench bench-poll bench-pages bench-fleet drill gpu-check lock clean

# exec: Ctrl-C reaches the supervisor once, and nothing stands between it and the terminal.
demo: $(VENV)/requirements.stamp
	@exec $(RUN) manage.py up --demo --simulate

up: $(VENV)/requirements.stamp
	@exec $(RUN) manage.py up

# The node agent as one file for every GPU node; docs/node-agent.md.
agent: $(VENV)/requirements.stamp
	$(RUN) -m inventory.node_agent.bundle allot-agent

test: $(VENV)/requirements-dev.stamp
	$(RUN) -m pytest

check: $(VENV)/requirements-dev.stamp
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy
	$(VENV)/bin/lint-imports
	$(RUN) -m djlint templates --lint --quiet
	$(RUN) manage.py makemigrations --check --dry-run
	$(RUN) manage.py check

bench: $(VENV)/requirements-dev.stamp
	@failed=0; for file in tests/benchmarks/bench_*.py; do \
	  $(RUN) -m tests.benchmarks.$$(basename $$file .py) || failed=1; done; exit $$failed

bench-poll: $(VENV)/requirements-dev.stamp
	$(RUN) -m tests.benchmarks.bench_poll --nodes $(NODES)

bench-fleet: $(VENV)/requirements-dev.stamp
	$(RUN) -m tests.benchmarks.bench_fleet

bench-pages: $(VENV)/requirements-dev.stamp
	$(RUN) -m tests.benchmarks.bench_pages

gpu-check: $(VENV)/requirements-dev.stamp
	$(RUN) -m tests.gpu_check

drill: $(VENV)/requirements-dev.stamp
	$(RUN) -m tests.drill $(if $(FLEET),--fleet $(FLEET))

# A fleet is polled while agents, workers, broker and database are killed; see tests/soak.
soak: $(VENV)/requirements-dev.stamp
	$(RUN) -m tests.soak --minutes $(MINUTES) --agents $(AGENTS) $(if $(SEED),--seed $(SEED))

# Hashes for every Python that pyproject.toml allows: some packages are needed by the older ones only.
lock: $(VENV)/requirements-dev.stamp
	$(PIP) install --quiet uv
	$(RUN) -m uv pip compile --universal --generate-hashes --quiet requirements.txt -o requirements.lock

# Debian's python3 has no ensurepip, so that `python3 -m venv` fails there; the system's pip installs into the new
# environment from outside.
$(VENV)/bin/python:
	$(PYTHON) -m venv --without-pip $(VENV)

# The lock gives everybody the same versions; the second line adds what it does not know yet.
$(VENV)/requirements.stamp: requirements.txt requirements.lock | $(VENV)/bin/python
	$(PIP) install --quiet --require-hashes -r requirements.lock
	$(PIP) install --quiet -r requirements.txt
	@touch $@

$(VENV)/requirements-dev.stamp: requirements-dev.txt $(VENV)/requirements.stamp
	$(PIP) install --quiet -r requirements-dev.txt
	@touch $@

# The state folder with its database goes, too; the environment stays.
clean:
	$(PYTHON) -m portal.services.clean
	rm -rf staticfiles test-results .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +
