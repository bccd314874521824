# make demo       install what is missing, build, and run pbmb on the sample tenant
# make test       install what the tests need and run everything
# make check      the quick part of it: format, vet, imports, types
# make generate   the Go of the queries, the API's document and the types of the SPA
# make fuzz       every fuzz target for some seconds; ARGS="10m Parse" for longer
# make bench      the measurements
# make test-live  the reading tests of Microsoft's APIs, on a tenant that the environment names (CONTRIBUTING.md)
#
# ARGS goes to what is run: make demo ARGS="--listen 127.0.0.1:9000"

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := build
.PHONY: build demo test test-live check fuzz bench generate setup setup-test gofmt

ARGS ?=

# Public semantic models that many tests try, where their folder is beside this
# one; they are not part of the repository.
ifneq ($(wildcard ../shared/data/powerbi),)
export PBMB_PUBLIC_MODELS ?= $(abspath ../shared/data/powerbi)
endif

# The end-to-end tests run by themselves: they start whole demos, and measure.
packages = $$(go list ./... | grep -v /server/e2e)
cerbos = $$(ls scripts/cerbos/node_modules/@cerbos/cerbos-*/cerbos-*)

build: ui/dist/index.html
	go build -o bin/pbmb ./server/cmd/pbmb

ui/dist/index.html: ui/node_modules/.pbmb-lock ui/index.html ui/vite.config.ts ui/tsconfig.json ui/package.json ui/paths.json $(shell find ui/src ui/public -type f 2>/dev/null)
	cd ui && npm run --silent build
	@touch $@

ui/node_modules/.pbmb-lock: ui/package-lock.json scripts/setup
	scripts/setup demo
	@touch $@

setup:
	@scripts/setup demo

setup-test:
	@scripts/setup test

demo: setup
	@$(MAKE) --no-print-directory build
	@exec bin/pbmb demo $(ARGS)

test: setup-test
	@$(MAKE) --no-print-directory check
	go run ./scripts/withpostgres go test -race $(packages)
	scripts/fuzz
	cd ui && npm run --silent test
	go test -timeout 15m ./server/e2e

test-live:
	PBMB_LIVE=1 go test -count=1 -v ./sync/contract

check: build gofmt
	go vet ./...
	go test ./internal/archtest
	$(cerbos) compile policies/default
	cd ui && npm run --silent check

gofmt:
	@files=$$(git ls-files -co --exclude-standard '*.go' | xargs -r ls -d 2>/dev/null | xargs -r gofmt -l); \
	if [ -n "$$files" ]; then echo "not formatted by gofmt:" $$files; exit 1; fi

fuzz:
	scripts/fuzz $(ARGS)

bench: setup-test
	@$(MAKE) --no-print-directory build
	go test -count=1 -timeout 10m -run TestFigures ./server/e2e -figures $(CURDIR)/docs/bench.md
	go test -run '^$$' -bench . -benchmem $(ARGS) $(packages)

generate: ui/node_modules/.pbmb-lock
	go tool -modfile=scripts/sqlc/go.mod sqlc generate
	go test ./knowledge/setting ./tools/catalogue ./server/restapi -update
	cd ui && npm run --silent generate
