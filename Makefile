# "make test" needs Go and make alone. race, stress and soak need a C compiler as
# well, and lint fetches its tool the first time.

COUNT      ?= 1    ## race: runs of each test
CPU        ?=      ## race: list of GOMAXPROCS values, as in 1,2,8
TIMEOUT    ?= 60m  ## race, stress: limit of one package
STRESSTIME ?= 2m   ## stress: time for each stress test
FUZZTIME   ?= 30s  ## fuzz: time for each fuzz target
FLOOR      ?= 95   ## cover: least percentage of a package's statements
SOAKTIME   ?= 2m   ## soak: how long
SEED       ?=      ## sim: seed of the first history; a fresh one if empty
HISTORIES  ?=      ## sim: number of histories; 3000 if empty, or 1 with a SEED
PKG        ?= ./timer  ## mutate: directory of one package
PLANTED    ?= .    ## sim-planted: pattern of the bugs, as in lease|timer
BENCH      ?= .    ## bench, bench-quick: pattern of the workloads, as in post|lease
BENCHCOUNT ?= 5    ## bench: samples of each subject
BENCHSCALE ?= 1    ## bench: factor on the operations of a sample

# The nested modules, and those among them that have packages of their own.
NESTED = $(patsubst %/go.mod,%,$(shell find . -mindepth 2 -name go.mod -not -path '*/testdata/*'))
CODE   = . $(filter-out ./internal/tools,$(NESTED))

TOOL        = go tool -modfile=$(CURDIR)/internal/tools/go.mod
STATICCHECK = $(TOOL) staticcheck

.PHONY: help fmt fmt-check vet lint test test-nested race stress exhaustive fuzz cover mutate sig sim sim-planted soak edge bench bench-quick tidy check
.NOTPARALLEL:

help: ## lists the targets and the variables
	@awk -F ' *## ' '/^[a-z-]+:.*## / { sub(/:.*/, "", $$1); printf "%-12s %s\n", $$1, $$2 } \
		/^[A-Z]+ *\?=.*## / { sub(/ *\?= */, "=", $$1); v[n++] = sprintf("%-15s %s", $$1, $$2) } \
		END { print ""; for (i = 0; i < n; i++) print v[i] }' $(MAKEFILE_LIST)

fmt: ## formats all Go files
	gofmt -w .

fmt-check: ## fails if a Go file is not formatted
	@list=$$(gofmt -l .) && if [ -n "$$list" ]; then echo "not formatted (make fmt):"; echo "$$list"; exit 1; fi

vet: ## runs go vet in every module
	@set -e; for m in $(CODE); do echo "vet $$m"; (cd $$m && go vet ./...); done

lint: ## runs staticcheck in every module
	@set -e; for m in $(CODE); do echo "staticcheck $$m"; (cd $$m && $(STATICCHECK) ./...); done

test: ## runs all tests, those of the API record, go.mod and the architecture too
	CGO_ENABLED=0 go test ./...

test-nested: ## runs the tests of the nested modules: bench, internal/verify
	@set -e; for m in $(filter-out .,$(CODE)); do echo "test $$m"; (cd $$m && CGO_ENABLED=0 go test ./...); done

race: ## runs all tests under the race detector, in random order
	CGO_ENABLED=1 go test -race -shuffle=on -count=$(COUNT) $(if $(CPU),-cpu=$(CPU)) -timeout=$(TIMEOUT) ./...

stress: ## runs the stress tests under the race detector, at length
	CADRE_STRESS=$(STRESSTIME) CGO_ENABLED=1 go test -race -run=Stress -count=1 -timeout=$(TIMEOUT) ./...

exhaustive: ## walks every order of events of small lease pools; takes minutes
	CADRE_EXHAUSTIVE=1 go test -run=Exhaustive -v -timeout=$(TIMEOUT) ./executor/lease/internal/sched

fuzz: ## runs every fuzz target in turn
	@list=$$(go test -list='^Fuzz' ./...) || { echo "$$list"; exit 1; }; \
	echo "$$list" | awk '/^Fuzz/ { f[n++] = $$1 } /^ok/ { for (i = 0; i < n; i++) print $$2, f[i]; n = 0 }' | \
	while read -r pkg name; do \
		echo "fuzz $$pkg $$name"; go test -run='^$$' -fuzz="^$$name\$$" -fuzztime=$(FUZZTIME) $$pkg || exit 1; \
	done

cover: ## says which statements of production packages their own tests leave out
	CGO_ENABLED=0 go run ./internal/cover -floor=$(FLOOR)

# Mutants are given a multiple of the time of the first run, which a cached test
# would not take.
mutate: ## breaks PKG in one place at a time, fails if its tests miss 5 %; a second or more each to hours
	GOFLAGS="$$(go env GOFLAGS) -count=1" CGO_ENABLED=0 \
		$(TOOL) gremlins unleash --config=internal/tools/gremlins.yaml $(strip $(PKG))

sig: ## rewrites the API record in sig/
	go run ./internal/apisig/cmd

sim: ## plays histories of all packages together under faults; SEED=n replays one
	cd internal/verify && SIM_SEED=$(strip $(SEED)) SIM_HISTORIES=$(or $(strip $(HISTORIES)),$(if $(strip $(SEED)),1,3000)) \
		go test ./sim ./linear -count=1 -v -timeout=$(TIMEOUT) -run='$(if $(strip $(SEED)),TestSimulation,.)'

sim-planted: ## breaks copies of the library, and sees to it that sim finds each bug; takes minutes
	cd internal/verify && SIM_SEED=$(strip $(SEED)) SIM_PLANTED='$(strip $(PLANTED))' \
		go test ./planted -count=1 -v -timeout=$(TIMEOUT)

soak: ## keeps everything under load, and fails if anything grows; writes soak.out/
	cd internal/verify && CGO_ENABLED=1 go run -race ./soak -for=$(strip $(SOAKTIME)) -out=$(CURDIR)/soak.out

edge: ## goes to the bounds: a million of a thing, a full disk, a memory limit, a SIGTERM; prints figures
	cd internal/verify && EDGE_SIZE=full go test ./edge -count=1 -v -timeout=$(TIMEOUT)

bench: ## measures the library beside its peers; writes bench/RESULTS.md and plots if BENCH is . alone
	cd bench && go run . -run='$(strip $(BENCH))' -rounds=$(strip $(BENCHCOUNT)) -scale=$(strip $(BENCHSCALE)) $(if $(filter .,$(BENCH)),-out=.)

bench-quick: ## measures all of that briefly, in under a minute; writes nothing
	cd bench && go run . -run='$(strip $(BENCH))' -rounds=3 -retries=0 -scale=0.02

tidy: ## fails if a go.mod or go.sum is not tidy
	@set -e; for m in . $(NESTED); do echo "tidy $$m"; (cd $$m && go mod tidy -diff); done

check: fmt-check vet lint tidy test race ## runs what a change has to pass
