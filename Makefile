# SPDX-License-Identifier: Apache-2.0
# The only door. Every recipe is one command that also works by itself; `make help` lists them.
# PY is the Python with the pinned packages: made once by the bootstrap, when the first recipe needs it.

.DEFAULT_GOAL := help
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules --no-print-directory
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c

PYTHON ?= python3
PY = $(eval PY := $(or $(shell $(PYTHON) tests/harness/bootstrap.py),$(error the Python environment could not be made, see above)))$(PY)
BIN = $(dir $(PY))
HARNESS = $(PY) -m tests.harness

# Options reach the commands by the environment, where make puts what stands on its command line: no shell reads a value.
# NAME is a variable of WSL's own: only one that is given to make counts.
ifneq ($(origin NAME),command line)
NAME :=
endif
# Nor does make read one: $(…) in a branch's name would be a command.
OPTIONS := NODES BRANCH VALUES DEDICATED FEATURE_GATES SCHEDULER_CONFIG PROVIDER NODE_NAMES NAME IMAGE RUNTIME REGISTRY NODE WATCH JUNIT SECONDS SEED ARGS
$(foreach option,$(OPTIONS),$(if $(filter command line,$(origin $(option))),$(eval override export $(option) := $$(value $(option)))))

##@ A cluster with simulated GPUs
.PHONY: up cluster down status env kubeconfig images load ctl audit
up: ## Start a cluster, install the chart, run a pod on a GPU   [NODES= BRANCH= VALUES= DEDICATED=1 FEATURE_GATES= SCHEDULER_CONFIG= PROVIDER= NAME=]
	@$(HARNESS) up
cluster: ## The same without the chart: labelled nodes, no release   [NODES= FEATURE_GATES= SCHEDULER_CONFIG= PROVIDER= NAME=]
	@$(HARNESS) cluster
down: ## Stop it and remove everything it left on this machine   [NAME=]
	@$(HARNESS) down
status: ## Nodes, GPUs, pods, and which device plugin image is used   [NAME=]
	@$(HARNESS) status
env: ## Variables for your shell, PATH with kubectl and helm: eval "$(make env)"   [NAME=]
	@$(HARNESS) env
kubeconfig: ## The path of its kubeconfig, nothing else   [NAME=]
	@$(HARNESS) kubeconfig
images: ## Every image that is used, one a line
	@$(HARNESS) images
load: ## Put images into a cluster: your own archive with IMAGE=, else the project's   [IMAGE=file RUNTIME=kind|k3s|minikube|containerd NAME=]
	@$(HARNESS) load
ctl: ## Break, repair or show the GPUs of a node: gpu-sim ctl   NODE=n1 ARGS="xid --gpu 3 79"   [PROVIDER= NAME=]
	@$(HARNESS) ctl
audit: ## Is any GPU held twice, lost, or held by a pod that ended? On the run or your KUBECONFIG   [WATCH=1 SECONDS= JUNIT=out.xml PROVIDER= NAME=]
	@$(HARNESS) audit

##@ Building
.PHONY: lib image package push native
lib: ## The portable library and node program, amd64 and arm64, in build/portable
	@$(PY) -m tests.harness.native_build
native: ## The library with this machine's compiler, in build/native
	@$(PY) -m tests.harness.native_dir
image: ## The images as OCI archives, without Docker: build/gpu-sim-image.tar, build/gpu-sim-agent-image.tar
	@$(PY) -m tests.harness.images build
push: ## Push images and chart to a registry, as OCI artifacts   REGISTRY=host/path
	@$(PY) -m tests.harness.images push --registry "$${REGISTRY:?name one: make push REGISTRY=host/path}"
	@$(PY) -m tests.harness.chart_package push --registry "$${REGISTRY:?name one: make push REGISTRY=host/path}"
package: ## The chart as an archive: build/gpu-sim-<version>.tgz
	@$(PY) -m tests.harness.chart_package

##@ Testing
.PHONY: test unit e2e soak mutants check fmt pins preflight bench transcript
test: ## Everything: check, library, unit to real kubelet   [ARGS= for pytest]
	@$(PY) -m tests.harness.ladder $(ARGS)
unit: ## Only what needs no cluster   [ARGS= for pytest]
	@$(PY) -m tests.harness.ladder --without-cluster $(ARGS)
e2e: ## Only the tests on a real kubelet, without the rungs below   [ARGS=]
	@$(PY) -m pytest -m cluster $(ARGS)
soak: ## Pods, faults, repairs, kills and upgrades for minutes, audited, on a cluster of its own   [SECONDS=600 SEED=]
	@$(HARNESS) soak
mutants: ## Put known mistakes into a copy of the tree and demand that a test notices   [ARGS=--cluster]
	@$(PY) -m tests.mutants $(ARGS)
check: ## Lint, format, generated files fresh, for Python, C, Go and shell
	@$(PY) -m tests.harness.check
fmt: ## Format Python, C and Go, and write generated files anew
	@$(PY) -m tests.harness.check --fix
pins: ## Pin anew the Python packages that others bring along, after a change of pyproject.toml
	@$(PY) -m tests.harness.pins
preflight: ## What this machine lacks for an embedded cluster; installs Debian's programs where it can
	@$(PY) -m tests.harness.preflight
bench: ## Measure, and write docs/benchmarks.md
	@$(PY) -m tests.bench
transcript: ## Run the README's session on a new cluster and write down what it prints
	@$(PY) -m tests.harness.transcript

##@ Cleaning
.PHONY: clean clean-cache help
clean: ## Remove build/
	@rm -rf build
clean-cache: ## Remove the Python environment and the built upstream programs from the cache
	@$(PYTHON) -c 'import shutil; from tests.harness import cache; shutil.rmtree(cache.root(), ignore_errors=True)'

help: ## This list
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z0-9-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
