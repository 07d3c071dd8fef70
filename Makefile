PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# What the service needs, and what its tests need as well.
SERVICE := $(VENV)/.installed
STAMP := $(VENV)/.tests-installed
# An environment for tools that are no dependency of the project.
TOOLS := $(VENV)/tools
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
export VIRTUAL_ENV := $(abspath $(VENV))
# Dagster, pandas and Great Expectations take 12 s to compile: once, not in every process.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run test suite test-fast test-nightly bench bench-serve check packages mcpb sbom audit lock clean

## run: REST, MCP and Dagster; an empty home begins with real documents, with WORLD=fictional with the sample world; PORT= and the next two
# Ready within a minute: without the elements that are no line item, unless they are wanted.
run: export SANKOFA_ELEMENTS := $(or $(SANKOFA_ELEMENTS),0)
run: $(SERVICE)
	@$(BIN)/sankofa up $(if $(WORLD),--world $(WORLD)) $(if $(PORT),--port $(PORT) \
	  --mcp-port $$(($(PORT) + 1)) --dagster-port $$(($(PORT) + 2)))

## test: every check, and every test but the long trials, at the same time
test: $(STAMP)
	@$(MAKE) --no-print-directory -j 2 check suite

## suite: every test but the long trials
suite: $(STAMP)
	@$(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder

## test-fast: the unit tests, without real files, records on disk and whatever takes a second
test-fast: $(STAMP)
	@$(BIN)/python -m pytest -n 2 --dist worksteal -q -m "not shared and not slow" tests/unit

## test-nightly: every test, with the long trials and many examples of each property
test-nightly: check
	@$(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder --nightly

## check: style of Python and SQL, types
check: $(STAMP)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/sqruff lint api assets mcp pipelines quality warehouse
	@$(BIN)/mypy .

## bench: timings, as ratios within one run
bench: $(STAMP)
	@$(BIN)/python -m tests.bench

## bench-serve: serving and its peers, in one table with goals; ten minutes of a quiet machine
bench-serve: $(STAMP)
	@$(BIN)/python -m tests.bench.serve

## mcpb: the MCP bundle that desktop clients install, and the entry for the MCP registry, in dist
mcpb: $(STAMP)
	@$(BIN)/python -m clients.mcp.bundle dist

## packages: build, check and install sankofa, sankofa-client and sankofa-mcp, in dist; REPOSITORY is the address of theirs
packages: $(STAMP)
	@$(call tool,packages,twine)
	@$(BIN)/python -m deploy.packages dist --twine $(TOOLS)/bin/twine $(if $(REPOSITORY),--repository $(REPOSITORY))

## sbom: what the service is made of, as CycloneDX, in dist/sbom.json
sbom: $(STAMP)
	@$(call tool,sbom,cyclonedx-bom)
	@mkdir -p dist
	@$(TOOLS)/bin/cyclonedx-py requirements --output-reproducible --of JSON -o dist/sbom.json requirements/run.lock
	@echo "written to dist/sbom.json"

## audit: known vulnerabilities of the locked packages; asks the Python package index
audit: $(STAMP)
	@$(call tool,audit,pip-audit)
	@$(TOOLS)/bin/pip-audit --strict --require-hashes --disable-pip -r requirements/run.lock || \
	  { echo "audit: vulnerabilities were found (listed above), or the service that knows them does not answer"; exit 1; }

## lock: pin every dependency with its hashes
lock: $(STAMP)
	@printf 'setuptools>=77\nuv\n' | $(BIN)/uv pip compile - --quiet --universal --python-version 3.11 --generate-hashes --no-header \
	  --no-annotate --output-file requirements/uv.lock
	@for extras in "" "dev" "dask,postgres,redis,s3"; do \
	  name=$$(case "$$extras" in "") echo run;; dev) echo dev;; *) echo deploy;; esac); \
	  $(BIN)/uv pip compile setup.cfg --quiet --universal --python-version 3.11 --generate-hashes \
	    --no-strip-extras --no-header --no-annotate $${extras:+$$(printf -- '--extra %s ' $$(echo $$extras | tr , ' '))} \
	    --output-file requirements/$$name.lock; done

$(SERVICE): requirements/run.lock requirements/uv.lock setup.cfg pyproject.toml
	@echo "Setting up $(VENV), once"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Sankofa needs Python 3.11 or later; this is " + sys.version)'
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) --require-hashes -r requirements/uv.lock
	@$(call install,run)
	@$(PIP) --no-build-isolation --no-deps -e .
	@touch $(SERVICE)

$(STAMP): $(SERVICE) requirements/dev.lock
	@$(call install,dev)
	@touch $(STAMP)

# uv installs in seconds.
define install
$(BIN)/uv pip install --quiet --require-hashes -r requirements/$(1).lock || \
  { echo "uv could not install; pip tries, which takes some minutes"; $(PIP) --require-hashes -r requirements/$(1).lock; }
endef

# $(1) is the target that needs the tool $(2).
define tool
$(BIN)/python -m venv $(TOOLS) && $(TOOLS)/bin/python -m pip install --quiet --disable-pip-version-check $(2) || \
  { echo "$(1): $(2) could not be installed into $(TOOLS); it needs a package index"; exit 1; }
endef

clean:
	rm -rf $(VENV)
