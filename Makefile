# Thin targets: each prints the command that it runs.
SHELL := /bin/sh
STACK ?= lab
SEED ?= 1
COUNT ?= 200
RUN := tools/run
PYTHON := .venv/bin/python

# A file in this folder is the backend where nothing else is chosen; `pulumi login` is not needed.
export PULUMI_BACKEND_URL ?= file://$(CURDIR)/.pulumi-state?metadata=skip

.PHONY: demo test check unit setup tools lab-up lab-down lab-fresh preview up drift destroy
.PHONY: bench bench-plan mutants faults test-tools test-lab test-faults test-e2e

demo: setup tools lab-up
	$(RUN) pulumi stack select --create lab
	$(RUN) pulumi up --stack lab --yes --skip-preview --refresh
	@echo; echo "The model answers (it is tiny and random, so is what it says):"
	python3 -m tandem.remote.ask "$$($(RUN) pulumi stack output endpoint --stack lab | sed 's,/v1$$,,')" tiny-qwen3
	@echo
	@echo "look:       python3 -m lab status"
	@echo "change:     edit serve.maxModelLen in stacks/Pulumi.lab.yaml, then: make up STACK=lab"
	@echo "take down:  make destroy STACK=lab && make lab-down"

test:
	python3 -m tools.timed setup tools check unit lab-fresh test-tools test-lab test-faults test-e2e lab-down

test-tools test-lab test-e2e:
	$(PYTHON) -m pytest $(subst -,s/,$@)

test-faults:
	$(PYTHON) -m pytest tests/faults -m quick

faults: setup tools
	$(PYTHON) -m tests.faults

unit: setup
	$(PYTHON) -m pytest tests/unit tests/stack tests/lab_unit

check: setup
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy .

setup: .venv/.ready
	@mkdir -p .pulumi-state

.venv/.ready: requirements.lock
	python3 -m venv .venv
	.venv/bin/pip install --quiet --requirement requirements.lock
	@touch $@

tools:
	python3 -m tools install

bench: setup tools
	$(PYTHON) -m tests.bench

bench-plan: setup .venv-bench/.ready
	$(PYTHON) -m tests.bench.plan

.venv-bench/.ready: tests/bench/plan/rivals.txt
	python3 -m venv .venv-bench
	.venv-bench/bin/pip install --quiet --requirement tests/bench/plan/rivals.txt
	@touch $@

mutants: .venv-mutants/.ready
	.venv-mutants/bin/python -m tests.mutants --seed $(SEED) --count $(COUNT) --minutes 60

.venv-mutants/.ready: requirements.lock tests/mutants/requirements.txt
	python3 -m venv .venv-mutants
	.venv-mutants/bin/pip install --quiet --requirement requirements.lock --requirement tests/mutants/requirements.txt
	@touch $@

lab-up:
	python3 -m lab up --hosts 2

lab-fresh: lab-down
	python3 -m lab up --hosts 2

lab-down:
	python3 -m lab down

preview up destroy:
	$(RUN) pulumi $@ --stack $(STACK)

drift:
	$(RUN) python -m tandem drift $(STACK)

