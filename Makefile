# Thin over dev.py, which also works without make: python3 dev.py VERB
PYTHON ?= python3
.DEFAULT_GOAL := help
.PHONY: help run test check demo lock

help: ## This list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-6s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## Web, scheduler and worker on http://127.0.0.1:8000 (PORT=8001 for another port); Ctrl-C stops all
	@$(PYTHON) dev.py run

test: ## The suite on SQLite, then on a real PostgreSQL; ends with what was skipped and why
	@$(PYTHON) dev.py test

check: ## Lint, format, types, import contracts, migrations and the deployment check
	@$(PYTHON) dev.py check

demo: ## Many schedulers, one job: shows one row per slot, on PostgreSQL (DATABASE_URL, else a private one)
	@$(PYTHON) dev.py demo

lock: ## Write both lock files anew from the ranges (needs uv)
	@$(PYTHON) dev.py lock
