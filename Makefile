# Everything a developer does here. The scripts are in hack/, each says in its first line what it does.
.DEFAULT_GOAL := help
.PHONY: help demo test check crds bench cluster cluster-down clean supervisor bootstrap programs
T ?=

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: bootstrap supervisor ## run quickstart, policy and credentials of examples/, and judge every outcome
	@.venv/bin/toolcall run --expect --artifacts build/artifacts $(addprefix examples/,quickstart policy credentials toolkits toolspecs)

test: bootstrap programs ## run every check and every test; T=tests/unit/core runs the tests below a path
	@hack/test $(T)

check: bootstrap ## format, lint, types, architecture, drift and unit tests
	@hack/check

crds: bootstrap ## write crds/, and the policies of examples/operator, anew from the code
	@.venv/bin/python hack/generate_crds.py
	@.venv/bin/python hack/generate_policy.py

bench: bootstrap ## measure speed and memory: a table, and bench.json
	@.venv/bin/python -m tests.bench.bench

supervisor: ## build build/supervisor
	@hack/build supervisor

cluster: ## have a Kubernetes cluster: eval "$(make -s cluster)"
	@python3 -m hack.cluster up

cluster-down: ## stop it, and leave nothing of it
	@python3 -m hack.cluster down

clean: ## remove what was built (not .venv)
	rm -rf build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache bench.json

bootstrap:
	@hack/bootstrap

programs: bootstrap
	@hack/build
