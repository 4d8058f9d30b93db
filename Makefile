# The front door. `make help` lists everything.
SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -ec
BUILD ?= build
JOBS  ?= $(shell nproc)
ROOT  := $(if $(filter 0,$(shell id -u)),,sudo)

.PHONY: bench-extraction bench-tir-native bench-tir-equiv fuzz-tir-equiv tir-corpus bench-tir bench-guide-ablations bench-judge judge-weights bench-daemon-learning bench-guide guide-weights check-nnue bench-cube bench-nnue sweep-rules bench-search rank-rules bench-rules bench-rewrite help packages configure build test demo bench-kernels check-policy check-accuracy check-heldout bench-streaming bench-slot bench-compile bench-latency bench-train asan tsan soak fuzz fuzz-search check-aarch64 check-onnx bench-strict campaign-division format tidy install clean check-math check-math-full calibrate calibration calibration-cut bench-tir-neural

help: ## this list
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sort | awk -F':.*## ' '{printf "  make %-22s %s\n", $$1, $$2}'

PACKAGES = $(shell sed 's/\#.*//' packages.txt)
PROGRAM_PACKAGES = $(shell sed '/\#/d' packages.txt)
packages: ## install what packages.txt names and is not there yet
	@missing=$$(for p in $(PACKAGES); do dpkg-query -W -f '$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || echo $$p; done); \
	if [ -n "$$missing" ]; then \
	  echo "installing:" $$missing; \
	  $(ROOT) apt-get update -qq && DEBIAN_FRONTEND=noninteractive $(ROOT) apt-get install -y -qq --no-install-recommends $$missing; \
	fi

configure: packages
	@[ -f $(BUILD)/build.ninja ] || cmake --preset dev -B $(BUILD) >/dev/null

build: configure ## build everything into build/ (programs in build/bin)
	@ninja -C $(BUILD) -j$(JOBS)

test: build ## the test-suite
	@GTEST_BRIEF=1 ctest --test-dir $(BUILD) --output-on-failure -j$(JOBS)

demo: ## the main job: kernels through a private daemon, live table, HTML report
	@$(MAKE) --no-print-directory configure PACKAGES="$(PROGRAM_PACKAGES)"
	@ninja -C $(BUILD) -j$(JOBS) trident_command tridentd
	@$(BUILD)/bin/trident demo --report $(BUILD)/demo.html

bench-kernels: build ## kernels against the pinned compilers and ours without any rewriting, f32 and f64, with and without AVX-512; reports in build/reports
	@mkdir -p $(BUILD)/reports; status=0; for type in f32 f64; do \
	  $(BUILD)/bin/trident bench bench/corpus/kernels.tsv --type $$type --html $(BUILD)/reports/bench-$$type.html \
	    --disable search --geomean-max 0.60 --transcendental-max 0.38 --algebraic-max 1.0 --derivatives-max 0.55 \
	    --worst-max 1.05 --search-gain-max 0.82 --roof-min 0.70 || status=1; \
	  $(BUILD)/bin/trident bench bench/corpus/kernels.tsv --type $$type --isa avx2 --no-numexpr \
	    --html $(BUILD)/reports/bench-$$type-avx2.html --geomean-max 0.85 || status=1; \
	done; exit $$status

bench-strict: build ## policy exact against clang-19 without fast-math, f32 and f64; every answer has the interpreter's bits
	@mkdir -p $(BUILD)/reports; status=0; for type in f32 f64; do \
	  $(BUILD)/bin/trident bench bench/corpus/kernels.tsv --type $$type --policy exact --points 65536 --no-numexpr \
	    --html $(BUILD)/reports/bench-strict-$$type.html --geomean-max 0.30 --algebraic-max 0.90 || status=1; \
	done; exit $$status

calibrate: build ## what kernel operations cost on this machine, for `trident rewrite --cost host` and `tridentd --costs`
	@/usr/bin/python3 tests/cli/check_calibration.py $(BUILD)/bin/trident

CALIBRATION = $(BUILD)/calibration.kernels
calibration: build ## the benchmark cache that learned costs are trained on: 200,000 timed kernels (CALIBRATION=FILE); 5 to 20 minutes
	@$(BUILD)/bin/trident calibrate --kernels 200000 --seed 1 --threads $(JOBS) --output $(CALIBRATION) \
	  --corpus bench/corpus/kernels.tsv --corpus bench/corpus/rewrite.txt --corpus bench/corpus/by_hand.tsv \
	  --corpus bench/corpus/training.tsv $(addprefix --corpus ,$(wildcard bench/corpus/fpbench/*.fpcore))

calibration-cut: build ## some of them in little room, to be shipped: jit/learn/calibration/
	@$(BUILD)/bin/trident calibrate --kernels 20000 --pack jit/learn/calibration/kernels.xz --output $(CALIBRATION)

bench-judge: build ## the judge of times on kernels held out, beside an analytical model and regressions; after make calibration
	@/usr/bin/python3 bench/judge.py $(BUILD)/bin/trident --kernels $(CALIBRATION) --threads $(JOBS) --folder $(BUILD)/judge-training \
	  --plot $(BUILD)/judge-training.svg --output $(BUILD)/judge.nnue

EXTRACTION = $(BUILD)/bench/bench_extraction
bench-extraction: configure ## forms chosen by the judge against the statically cheapest of the same search, without a tournament; after make bench-judge also by the judge that knows this machine; a minute
	@ninja -C $(BUILD) -j$(JOBS) bench_extraction; status=0; corpora="bench/corpus/kernels.tsv bench/corpus/by_hand.tsv bench/corpus/rewrite.txt"; \
	$(EXTRACTION) $$corpora || status=1; \
	[ ! -f $(BUILD)/judge.nnue ] || { echo "the judge of make bench-judge"; $(EXTRACTION) --judge $(BUILD)/judge.nnue $$corpora || status=1; }; exit $$status

judge-weights: build ## ... and ships it, jit/nnue/weights/judge.nnue
	@$(BUILD)/bin/trident train judge --kernels $(CALIBRATION) --threads $(JOBS) --folder $(BUILD)/judge-training --output $(BUILD)/judge.nnue
	@cp $(BUILD)/judge.nnue jit/nnue/weights/judge.nnue

rank-rules: build ## which rules of jit/expr/rules are the most useful: writes ranking.txt there; 2 minutes
	@/usr/bin/python3 bench/rank_rules.py $(BUILD)/bin/trident

bench-rules: build ## the search with all rules against the best 50, in 10 ms each; fails beyond 2 %
	@/usr/bin/python3 bench/compare_rules.py $(BUILD)/bin/trident

bench-search: build ## what the search finds in bench/corpus/rewrite.txt by published costs: bars for 10, 20 and 150 ms; throughput; overruns on hard inputs
	@status=0; rewrite="$(BUILD)/bin/trident rewrite bench/corpus/rewrite.txt --cost reference --nodes 5000"; \
	for bars in '--ms 10 --all-nodes 5000 --dag-max 0.53' '--ms 20 --dag-max 0.50' '--ms 20 --objective tree --tree-max 0.39' \
	  '--ms 150 --dag-max 0.46'; do echo "$$bars"; $$rewrite $$bars | tail -n 3 || status=1; done; \
	/usr/bin/python3 bench/search_throughput.py $(BUILD)/bin/trident || status=1; \
	/usr/bin/python3 bench/search_overruns.py $(BUILD)/bin/trident || status=1; exit $$status

bench-guide: build ## the guided search against the unguided ones in the same time, and by rewrites applied
	@/usr/bin/python3 bench/guide.py $(BUILD)/bin/trident

bench-guide-ablations: build ## what each part of the guide's training is worth, domains left out in turn: build/guide-ablations.csv (10 to 25 minutes; goes on where it ended)
	@/usr/bin/python3 bench/guide_ablations.py $(BUILD)/bin/trident $(BUILD)/guide-ablations.csv

guide-weights: build ## train the guide that is shipped, jit/nnue/weights/shipped.nnue (some minutes)
	@$(BUILD)/bin/trident train guide --episodes 4000 --rounds 1 --epochs 2 --seed 1 --folder $(BUILD)/guide-training \
	  --plot $(BUILD)/guide-training.svg --output jit/nnue/weights/shipped.nnue

.PHONY: score-guide
score-guide: build ## what the guide that is shipped is worth, by the figures that its training would end with; some minutes
	@$(BUILD)/bin/trident train guide --episodes 4000 --rounds 1 --seed 1 --score jit/nnue/weights/shipped.nnue

bench-daemon-learning: build ## a daemon with untrained weights, its trainer and a client for 15 minutes: what is held out, promotions, better kernels sent
	@/usr/bin/python3 bench/daemon_learning.py $(BUILD)/bin

bench-rewrite: build ## what the search finds in 150 ms against the best forms known by hand; fails beyond 15 %
	@/usr/bin/python3 bench/by_hand.py $(BUILD)/bin/trident

check-policy: build ## the optimised kernels of the corpus against MPFR on a million points each, f32 and f64
	@for type in f32 f64; do $(BUILD)/bin/trident bench bench/corpus/kernels.tsv --type $$type --points 1000000 --quick --no-numexpr; done

bench-streaming: build ## 16M-element kernels against hand-written non-temporal copy and triad
	@$(BUILD)/bench/bench_streaming

bench-nnue: build ## the accumulator after an accepted rewrite against a rebuild; candidates scored and scored again
	@$(BUILD)/bench/bench_nnue

.PHONY: check-tir-lowering
check-tir-lowering: configure ## 100,000 random programs of TIR: what they mean against what the machine does with them
	@ninja -C $(BUILD) -j$(JOBS) jit_tir_lowering_test && TRIDENT_TIR_PROGRAMS=100000 ctest --test-dir $(BUILD) -R jit_tir_lowering --output-on-failure

bench-tir: configure ## Triton VM here: a cycle, Tip5, the score of a block of 32 instructions and of a program of 150 words
	@ninja -C $(BUILD) -j$(JOBS) bench_tir && $(BUILD)/bench/bench_tir

bench-tir-equiv: configure ## equivalence of TASM blocks: candidates refused and decided a second
	@ninja -C $(BUILD) -j$(JOBS) bench_tir_equiv && $(BUILD)/bench/bench_tir_equiv

tir-corpus: configure ## the tables of 108 programs in TIR: lowered plainly, with peephole passes, and written by hand; exact, not timed
	@ninja -C $(BUILD) -j$(JOBS) bench_tir_corpus && $(BUILD)/bench/bench_tir_corpus

.PHONY: bench-tir-gains
bench-tir-gains: configure ## what peepholes, subroutines, the superoptimiser and the network gain on the programs of the corpus
	@ninja -C $(BUILD) -j$(JOBS) bench_tir_gains && $(BUILD)/bench/bench_tir_gains

.PHONY: bench-tir-network tir-network-weights bench-tir-neural
bench-tir-network: configure ## the network of TASM: its share of the superoptimiser's gain on blocks of the corpus's test programs
	@ninja -C $(BUILD) -j$(JOBS) bench_tir_network && $(BUILD)/bench/bench_tir_network

tir-network-weights: configure ## teaches the network of TASM what the superoptimiser answers, thrice; writes what is shipped; 5 to 20 minutes
	@ninja -C $(BUILD) -j$(JOBS) bench_tir_network_training
	@w=jit/tir/neural/weights/shipped.tirn; t="$(BUILD)/bench/bench_tir_network_training $(BUILD)/tir-network.tirn"; \
	  $$t --seed 1 && $$t --seed 2 --from $(BUILD)/tir-network.tirn && $$t --seed 3 --from $(BUILD)/tir-network.tirn && \
	  cp $(BUILD)/tir-network.tirn $$w

.PHONY: bench-tir-superopt tir-superopt-weights
bench-tir-superopt: configure ## the superoptimiser of TASM: words saved with its network against without, at the same widths and in the same time
	@ninja -C $(BUILD) -j$(JOBS) bench_tir_superopt && $(BUILD)/bench/bench_tir_superopt

tir-superopt-weights: configure ## teaches the network that orders the superoptimiser's states; writes what is shipped; some 5 minutes
	@ninja -C $(BUILD) -j$(JOBS) bench_tir_superopt_training
	@$(BUILD)/bench/bench_tir_superopt_training jit/tir/superopt/weights/shipped.nnue

bench-tir-neural: configure ## the network of TASM: a generation of its evolution on two threads
	@ninja -C $(BUILD) -j$(JOBS) bench_tir_neural && $(BUILD)/bench/bench_tir_neural

bench-cube: configure ## Q-learning and traces on the 2x2x2 cube judged by true distance, three seeds; some 10 minutes
	@ninja -C $(BUILD) -j$(JOBS) bench_cube && $(BUILD)/bench/bench_cube

bench-slot: build ## what a call through the slot costs
	@$(BUILD)/bench/bench_slot_call

bench-train: configure ## steps of training against PyTorch on the CPU, interleaved, answers checked first; bars 4, 4, 6 and 6 times; 3 minutes
	@$(MAKE) --no-print-directory packages PACKAGES="$$(sed -n 's/#.*bench-train.*//p' packages-optional.txt)"
	@ninja -C $(BUILD) -j$(JOBS) bench_train && /usr/bin/python3 bench/train_pytorch.py $(BUILD)/bench/bench_train

bench-compile: configure ## an expression of 30 ops from its text to baseline machine code
	@ninja -C $(BUILD) -j$(JOBS) bench_compile_speed && $(BUILD)/bench/bench_compile_speed

campaign-division: configure ## divisions and roots by Newton steps against the divider, some minutes
	@ninja -C $(BUILD) -j$(JOBS) division_campaign && $(BUILD)/tests/division_campaign

check-accuracy: configure ## every kernel of the corpus at a million points under bounded(2); minutes
	@ninja -C $(BUILD) -j$(JOBS) check_accuracy
	@$(BUILD)/tests/check_accuracy

check-heldout: configure ## the same for expressions that nothing was tuned on, FPBench's and random ones; 15 minutes
	@ninja -C $(BUILD) -j$(JOBS) check_accuracy
	@nice -n 19 $(BUILD)/tests/check_accuracy --corpus bench/corpus/fpbench/*.fpcore --random 300 --seed 4071 --seconds 840

asan: packages ## the test-suite under AddressSanitizer and UBSan, in build-asan/
	@cmake --preset asan >/dev/null && ninja -C build-asan -j$(JOBS) && ctest --test-dir build-asan --output-on-failure -j$(JOBS)

tsan: packages ## the test-suite under ThreadSanitizer, in build-tsan/
	@cmake --preset tsan >/dev/null && ninja -C build-tsan -j$(JOBS) && ctest --test-dir build-tsan --output-on-failure -j$(JOBS)

soak: packages ## 10,000 submissions from 8 clients while the daemon is killed 20 times, under AddressSanitizer and LeakSanitizer
	@cmake --preset asan >/dev/null && ninja -C build-asan -j$(JOBS) client_soak tridentd
	@build-asan/tests/client_soak --submissions 10000 --kills 20

.PHONY: fork-stress
fork-stress: packages ## 10,000 children forked while the engine is at work, under AddressSanitizer
	@cmake --preset asan >/dev/null && ninja -C build-asan -j$(JOBS) fork_stress trident-engine
	@TRIDENT_ENGINE=$(CURDIR)/build-asan/lib/libtrident-engine.so build-asan/tests/fork_stress embedded 1 10000 3000

bench-latency: build ## submit call and first kernel, against a bare socket round trip
	@$(BUILD)/bench/bench_submit_latency

fuzz: packages ## a million random and mutated texts and messages each, under AddressSanitizer and UBSan
	@cmake --preset asan >/dev/null
	@targets=$$(sed -nE 's/^ *trident_fuzz\(([a-z_]+) .*/fuzz_\1/p' tests/fuzz/CMakeLists.txt); ninja -C build-asan -j$(JOBS) $$targets session_campaign
	@cd build-asan/tests && ./fuzz_text --runs 1000000 --lines $(CURDIR)/tests/fuzz/seeds/text.txt
	@cd build-asan/tests && ./fuzz_message --runs 1000000
	@build-asan/tests/session_campaign --messages 1000000
	@cd build-asan/tests && ./fuzz_kir_text --runs 1000000 $(CURDIR)/tests/fuzz/seeds/kernel.kir
	@cd build-asan/tests && ./fuzz_tasm_text --runs 1000000 --lines $(CURDIR)/tests/fuzz/seeds/programs.txt
	@cd build-asan/tests && ./fuzz_tir_text --runs 1000000 $(CURDIR)/tests/tir/corpus/*.tir --lines $(CURDIR)/tests/fuzz/seeds/tir.txt

fuzz-tir-equiv: configure ## a million mutated TASM blocks: none may be called equal that the machine tells apart
	@ninja -C $(BUILD) -j$(JOBS) jit_tir_equiv_test
	@TRIDENT_TIR_MUTANTS=1000000 $(BUILD)/tests/jit_tir_equiv_test --gtest_filter='Mutation.*'

.PHONY: check-tir-fixed-point
check-tir-fixed-point: configure ## ten million random products in fixed point against exact ones: none further off than half a unit, 2^-17
	@ninja -C $(BUILD) -j$(JOBS) jit_tir_neural_test
	@TRIDENT_TIR_PRODUCTS=10000000 $(BUILD)/tests/jit_tir_neural_test --gtest_filter='FixedPoint.ProductsAre*'

TIR_PROGRAMS ?= 20000
.PHONY: fuzz-tir-build
fuzz-tir-build: configure ## TIR_PROGRAMS (20,000) programs with awkward control flow through trident build; none may end otherwise; 5 to 20 minutes
	@ninja -C $(BUILD) -j$(JOBS) tir_hostile_build_test jit_tir_shape_test
	@TRIDENT_TIR_HOSTILE=$(TIR_PROGRAMS) $(BUILD)/tests/jit_tir_shape_test --gtest_filter='Shape.Hostile*'
	@TRIDENT_TIR_HOSTILE=$(TIR_PROGRAMS) $(BUILD)/tests/tir_hostile_build_test

FUZZ_SECONDS ?= 0
fuzz-search: build ## a million random expressions through search and code generation, hours; goes on where it was stopped
	@nice -n 19 $(BUILD)/tests/search_campaign --runs 1000000 --seconds $(FUZZ_SECONDS) --threads $(JOBS) --folder $(BUILD) --state $(BUILD)/fuzz-search.state

check-aarch64: configure ## NEON code and the interpreter on NEON, under qemu-user
	@$(MAKE) --no-print-directory packages PACKAGES="$$(sed -n 's/#.*check-aarch64.*//p' packages-optional.txt)"
	@tests/aarch64/check $(BUILD)

check-onnx: configure ## exported models: accepted by onnx.checker, and within 1e-5 of ONNX Runtime (npm's, into the build folder)
	@$(MAKE) --no-print-directory packages PACKAGES="$$(sed -n 's/#.*check-onnx.*//p' packages-optional.txt) $$(command -v npm >/dev/null || echo npm)"
	@ninja -C $(BUILD) -j$(JOBS) export_onnx_models && mkdir -p $(BUILD)/onnx && $(BUILD)/tests/export_onnx_models $(BUILD)/onnx
	@/usr/bin/python3 tests/onnx/check_models.py $(BUILD)/onnx
	@[ -d $(BUILD)/onnx/node_modules/onnxruntime-node ] || npm install --silent --no-audit --no-fund --ignore-scripts --prefix $(BUILD)/onnx onnxruntime-node@1.30.0
	@node tests/onnx/run_models.js $(BUILD)/onnx

REWRITES ?= 1000000
check-nnue: build ## the accumulator after each of REWRITES random rewrites and unions against one written out path by path
	@TRIDENT_NNUE_REWRITES=$(REWRITES) $(BUILD)/tests/jit_nnue_test --gtest_filter='Incumbent.IncrementalIsRebuiltBitForBit'

sweep-rules: configure ## rules about types of one f32 at all 2^32 values: half an hour
	@ninja -C $(BUILD) -j$(JOBS) sweep_rules && nice -n 19 $(BUILD)/tests/sweep_rules

.PHONY: check-values
check-values: build ## values of public fault reports, edges of overflow and powers: every row optimised under every policy; 10 minutes
	@TRIDENT_VALUES=all ctest --test-dir $(BUILD) -R clients_python_values_test --output-on-failure

check-math: build ## the greatest errors of the math functions, sampled: minutes
	@$(BUILD)/tests/math_campaign --stride 499 --points 200000

check-math-full: build ## the same at every f32 and more points: hours; writes jit/kir/math/accuracy.md
	@nice $(BUILD)/tests/math_campaign --table jit/kir/math/accuracy.md

format: ## clang-format in place
	@git ls-files '*.cpp' '*.h' '*.hpp' '*.c' | xargs clang-format -i

tidy: configure ## print the lists of ops that are permitted; clang-tidy over the sources (slow)
	@/usr/bin/python3 tests/tidy/op_lists.py
	@git ls-files 'runtime/*.cpp' 'jit/*.cpp' 'daemon/*.cpp' 'clients/*.cpp' | xargs -P $(JOBS) -n 4 clang-tidy -p $(BUILD) --quiet

install: build ## install programs, libraries, headers and units under PREFIX (default /usr/local)
	@cmake --install $(BUILD) $(if $(PREFIX),--prefix $(PREFIX),)

clean: ## remove build folders
	@rm -rf build build-*
