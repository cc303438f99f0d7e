# Needs Python 3.11 or newer with its venv module, git and make; uv is used where it is installed.
# Everything is set up in .venv on first use, and again when a lock file changes.

PYTHON_IN_VENV := .venv/bin/python
READY_TO_RUN := .venv/.ready-to-run
READY_TO_TEST := .venv/.ready-to-test

# Stamps can outlive the interpreter they were made with.
ifneq ($(shell $(PYTHON_IN_VENV) -c 'print("works")' 2>/dev/null),works)
LOST_VENV := lost-venv
endif

.PHONY: help demo test quick format lock pictures lost-venv

help:
	@echo "make demo      runs the whole job on a sample repository: no key, no network needed"
	@echo "make test      checks style and types, then runs every test"
	@echo "make quick     runs the tests that are not marked slow, in less than a minute"
	@echo "make format    formats the code and sorts its imports"
	@echo "make lock      writes the lock files anew from pyproject.toml, keeping pins that still fit"
	@echo "make pictures  draws the pictures of the README anew"

demo: $(READY_TO_RUN)
	@command -v bwrap >/dev/null || echo "Hint: bubblewrap is not installed; workers are" \
		"then jailed by Landlock, where the kernel has it (Debian: apt install bubblewrap)."
	@$(PYTHON_IN_VENV) main.py demo

test: $(READY_TO_TEST)
	$(PYTHON_IN_VENV) -m ruff check
	$(PYTHON_IN_VENV) -m ruff format --check
	$(PYTHON_IN_VENV) -m mypy
	$(PYTHON_IN_VENV) -m pytest

quick: $(READY_TO_TEST)
	$(PYTHON_IN_VENV) -m pytest -m "not slow"

format: $(READY_TO_TEST)
	$(PYTHON_IN_VENV) -m ruff check --fix --select I
	$(PYTHON_IN_VENV) -m ruff format

lock:
	@.ci/lock

pictures: $(READY_TO_TEST)
	$(PYTHON_IN_VENV) docs/draw_pictures.py

$(READY_TO_RUN): pyproject.toml requirements.lock $(LOST_VENV)
	@.ci/set-up requirements.lock
	@touch $@

$(READY_TO_TEST): pyproject.toml requirements.lock requirements-dev.lock $(LOST_VENV)
	@.ci/set-up requirements.lock requirements-dev.lock
	@touch $(READY_TO_RUN) $@
