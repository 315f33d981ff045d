# Everything here works on a bare machine with python3 (3.11 or newer), make and git.
VENV := .venv
BIN := $(VENV)/bin
PY := $(BIN)/python
READY := $(VENV)/.ready
# Tests start hundreds of processes; each of them would compile every module again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo demo-proxy demo-mcp demo-fleet test lint test-fault bench-recall bench-speed bench-nightly bench-write year lives docs measure lock clean bytecode conformance

demo: $(READY)  ## play a conversation through the real daemon in a temporary vault (DATA=file: yours)
	@$(if $(DATA),,$(BIN)/engram demo)
	@$(PY) examples/demo.py $(if $(DATA),"$(DATA)")

demo-proxy: $(READY)  ## a bot with the openai client gains memory by changing its base URL
	@$(PY) examples/demo_proxy.py

demo-mcp: $(READY)  ## two agents with the official MCP client share a memory
	@$(PY) examples/demo_mcp.py

demo-fleet: $(READY)  ## three daemons share vaults and a PostgreSQL; they are killed, suspended and cut off
	@$(PY) examples/demo_fleet.py

test: $(READY)  ## every test, the fault batteries and property tests at a small size
	$(BIN)/pytest -n 3 --dist worksteal

bytecode: $(READY)  ## compile the modules of the tests once, which else each process of `make test` does
	$(BIN)/pytest --collect-only -q >/dev/null

lint: $(READY)  ## format, lint, types, storeys, limits of size
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	python3 tools/measure

# What is smaller in `make test` says so by an import of tests/size.py.
SIZED = $(shell grep -l "tests.size" tests/unit/*.py tests/golden/*.py tests/lives/*.py tests/e2e/*.py)

test-fault: $(READY)  ## the fault batteries, the property tests and the long runs at full size
	ENGRAM_FAULT=full $(BIN)/pytest tests/fault tests/property $(SIZED) -n 2 --dist worksteal -rs -s

bench-recall: $(READY)  ## recall on real conversations beside rank_bm25
	$(PY) benchmarks/bench_recall.py

bench-speed: $(READY)  ## speeds as ratios to yardsticks of the same run
	$(PY) benchmarks/bench_speed.py

bench-nightly: $(READY)  ## a night that finds nothing, and one that archives one in a hundred, beside a parse of the vault
	$(PY) benchmarks/bench_nightly.py

bench-write: $(READY)  ## what becomes of an adversarial conversation: precision, duplicates, evidence, dates, secrets
	$(PY) benchmarks/bench_write.py

year: $(READY)  ## a simulated year of real conversations, held against its golden tree
	$(PY) benchmarks/bench_year.py

lives: $(READY)  ## months of what people tell and ask (ACCEPT=1: list what passes now; LIFE=file: that one, told in full)
	$(PY) benchmarks/lives.py $(if $(ACCEPT),--accept) $(if $(LIFE),-v "$(LIFE)")

conformance: $(READY)  ## the conformance suite of MCP against /mcp (needs npm, which fetches node 22)
	$(PY) tools/conformance

TABLE := engram/operations/table.json

docs: $(READY)  ## write the generated pages anew
	$(PY) -c 'from engram.operations import signature; print(signature.table(), end="")' > $(TABLE).new
	mv $(TABLE).new $(TABLE)
	$(PY) docs/generate.py

measure:  ## size and density of the code (UPDATE=1: lower the limits of size to it)
	@$(or $(wildcard $(PY)),python3) tools/measure $(if $(UPDATE),--update)

lock: $(READY)  ## resolve the dependencies anew, with hashes and without addresses
	tools/lock $(PY)

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis

$(READY): requirements-dev.txt pyproject.toml
	tools/venv $(VENV)
	@touch $@
