#include "clients/cli/manual.h"

#include <CLI/CLI.hpp>

#include "jit/egraph/search.h"

namespace trident::cli {
namespace {

constexpr const char* kTrident = R"(EXAMPLES
  trident run 'sin(x)*exp(-y)' -i x=0:3 -i y=1 -n 8       evaluate and print
  trident bench bench/corpus/kernels.tsv --type f32       compare with the pinned compilers
  trident bench 'sqrt(x*x + y*y)' -r x:-2:2 -r y:-2:2     the same for one expression
  trident explain 'tanh(a*x + b)' -r x:-1:1 --dump=k,m    kernel IR and machine code
  trident doctor                                          is everything in place?

EXIT STATUS
  0 success; 1 a wrong answer, a failed contestant or a failed check; 2 a mistake in the command line or a text;
  130 interrupted

ENVIRONMENT
  TRIDENT_SOCKET    the daemon's socket, before $XDG_RUNTIME_DIR/trident/tridentd.sock and /run/trident/tridentd.sock
  XDG_CACHE_HOME    where compiled benchmark objects (trident/bench) and measured costs are kept; default ~/.cache

`trident VERB --help` describes a verb.)";

constexpr const char* kRun = R"(DETAILS
  The expression goes through the client library, as from any program: it is answered by the interpreter at once and
  by the daemon's code when that is there. --tier waits for it, with a bar on a terminal; --mode says who may answer.
  Inputs that are not lists or files are the same value everywhere or evenly spaced. Files hold numbers separated by
  blanks, commas or lines. The last line says whose code answered, and a note why no better code did, but with --csv.
  `trident parse --help` says what types there are. Integers are printed in full.
  What is assumed for a variable without an input is said on standard error. An expression may begin with a minus sign;
  where an option has its first letter (-n*2), put -- before it.
  A file that is there and whose name is no expression is a program of Triton VM: TIR where the name ends in .tir
  (`trident lower --help`), else TASM; write ./x for a file x. It is run exactly as there (1.0.0 to 7.0.0; with
  --vm next as on the main branch of June 2026, which has b_horner_step and x_horner_step and no dot steps). Printed are
  its output, the stack (the top first), the rows of the nine tables of a proof, and the height to which the tallest
  pads them all. Numbers are integers above -p and below p. A program that fails has status 1; standard error says where
  and why, as the real machine calls it.

EXAMPLES
  trident run 'sum(x*x)' --n 1000
  trident run '2*a + 3*b' -i a=1,2,3 -i b=10,20,30
  trident run 'sum(x*x)' -i x=samples.txt
  trident run 'j: i64; t[2*index] - t[j]' -i t=1,4,9,16 -i j=0,7,2
  trident run 'let t = sin(x); t*t, 1 - t*t' -i x=0:3.14 -n 5 --csv -
  trident run 'diff(tanh(x), x)' -i x=0:1 --tier optimised --mode embedded
  trident run hash.tasm --input 1,2,3 --secret 7 --ram 100=5,6 --json)";

constexpr const char* kBench = R"(DETAILS
  Contestants are our optimised and baseline kernels, our interpreter, g++-12 and clang-19 with -O3 -march=native
  -ffast-math, each with and without libmvec, g++-12 -O2, and numexpr. "Best compiler" is the fastest of the first four
  compilers, per kernel; ratio = our time / its time. Answers are checked against MPFR before anything is compared, and
  all contestants take turns within each round. A missing compiler or a wrong answer of ours fails the benchmark.
  --isa limits ours, the interpreter and the compilers alike.
  Under --policy exact (or --against strict) the compiler to beat is clang-19 -O3 -march=native without -ffast-math, and
  our answers must have the interpreter's bits. It keeps errno, so square roots of what may be negative stay scalar, and
  calls libm element by element; beside it, without counting, stand clang-19 with -fno-math-errno, which lets roots be
  vectors, and g++-12 with both.
  --disable search times ours once more in the same rounds, with the forms "narrowed", "identities", "simplified",
  "searched", "guided" and "careful" of `trident explain` off: the operations of the source in its order. Fused
  products, accuracies of functions, shapes of the loop and the tournament are the same, so the ratio of the two is the
  merit of all rewriting, that of the plain simplifier (narrowed, identities, simplified) with it. --disable searched
  --disable guided --disable careful leaves the simplifier on: the ratio is then what the search by rules adds to it.
  A FILE is a corpus: kernels.tsv (name, variables with ranges, infix), kernels.sexp or rewrite.txt of bench/corpus;
  what the last assumes above zero (x>0) is at least 2^-126, but under --policy exact any number of the type above it.
  --json prints an object with "kernels", rows of "name", "ns" per contestant, "best_compiler", "ratio" and
  "max_error_ulp" among others, and "summary"; what is not known is null (a reduction has no share of a roof). Compiled
  objects are cached: the second run takes seconds.

EXAMPLES
  trident bench bench/corpus/kernels.tsv --type f32 --html report.html
  trident bench bench/corpus/kernels.tsv --isa avx2 --kernels '^d0' --quick
  trident bench bench/corpus/kernels.tsv --policy exact --geomean-max 0.30 --algebraic-max 0.90
  trident bench bench/corpus/kernels.tsv --disable search --search-gain-max 0.82
  trident bench 'exp(-x*x)/(1 + y)' -r x:-2:2 -r y:0:1 --json)";

constexpr const char* kExplain = R"(DETAILS
  Prints the expression with its ranges, the kernel IR, the machine code with its main loop, and what was tried:
  every candidate form and variant, the ratio of its time to the baseline's, and why it was left out. Forms, and what
  --disable leaves out: narrowed (without what the ranges show to decide nothing; every bit stays, so policy exact has
  it too), identities (without operations that change nothing), contracted (products fused into sums),
  simplified (under the policy's identities; without it the next two are not simplified either), accuracy4 (functions
  within 4 ulp), rel3 (functions to three digits, where the policy leaves that much room), searched (by rules),
  guided (the same, in the order that a trained network says), careful (by one rule at a time, each step checked before
  the next); variants: interleave, schedule, non_temporal.
  "search" stands for narrowed, identities, simplified, searched, guided and careful: no rewriting at all, as in
  `trident bench`.
  --prove-error cuts the declared ranges into boxes and bounds what all roundings can do in each by interval arithmetic:
  in ulp of max(|correct|, a millionth of the greatest), the unit of the policies, and absolutely. It takes the stated
  errors of math functions and the rules' truth over the reals for granted. Where nothing can be proven it says why.
  "search" in the listing is the chain from the source to the statically cheapest form, an instance of a rule from line
  to line, or several where no form in between has all of it; "collect" is the collection of sums and products. Beside
  each form its static cost in fmas, the nanoseconds an element that the analytical model and the judge's network say
  ("-" where no judge is shipped), and what its kernel takes here, all forms timed in turn. That form is a candidate
  only: which one is published equivalence and the tournament decide, below it. --svg draws the chain with bars, and
  what each strategy has found after so many rewrites.

EXAMPLES
  trident explain 'sin(x)^2 + cos(x)^2' -r x:-3:3
  trident explain 'tanh(a*x + b)' -r x:-1:1 -s a -s b --tier baseline --dump=k,m
  trident explain 'x/(1 + y*y)' -r x:1:2 -r y:0:9 --prove-error --dump=c
  trident explain 'exp(x)*exp(y)/(exp(y) + 1)' --dump=s --svg search.svg
  trident explain 'sqrt(x*x + y*y)' --dump=d --stop-after=dot | dot -Tsvg > graph.svg)";

constexpr const char* kDisasm = R"(EXAMPLES
  trident disasm 'x*x + 1' --type f32 --isa avx2
  trident disasm kernel.image)";

constexpr const char* kDoctor = R"(DETAILS
  Each check tries the thing itself: makes and seals a memfd, runs code in it, starts a sandboxed child, asks the
  daemon. A failure comes with its mend. Exit status 1 when one fails; a warning is none.)";

constexpr const char* kDemo = R"(DETAILS
  Starts a daemon of its own on a temporary socket, submits every kernel through the client library and calls all of
  them in turn: the interpreter answers first, then baseline code, then optimised code, swapped in while calls go on.
  The first answer of each tier is checked against MPFR, that of every later call by its 128-bit digest against the
  first. At the end the daemon is killed, and all kernels must still answer right. A live table on a terminal, lines
  elsewhere. Then a program of Triton VM is made cheaper to prove, as by `trident build`: its nine tables before and
  after, and the answers of both programs on several inputs against plain C++. Exit status 1 when an answer is wrong,
  when --timeout-ms is over before the daemon is done, and when the program's padded height does not halve.

EXAMPLES
  trident demo --report demo.html
  trident demo --type f32 --corpus mykernels.tsv -n 65536)";

#define X(name, meaning) "    " #name ": " meaning "\n"
constexpr const char* kRewrite = R"(DETAILS
  Searches for a cheaper form of each expression of a FILE by the built-in rules, as the optimiser does before it makes
  code, and shows what that came to: costs before and after, as a tree (shared parts count as often as they are used)
  and as a DAG (once), the work it took, why it stopped, and the form. A derivative's cost before is that of the
  textbook's form; it is differentiated before the search, by the rules and, where those leave one or end with a dearer
  form, by the plain pass, and a line below the form says by which ("differentiated_by" in --json). ratio =
  (after + 4) / (before + 4). A form whose value is another one (by more than 1e-6 of it and 1e-9, in f64; where it is
  the source that cancels, the exact value counts) is reported as WRONG, and exit status 1 follows.
  "max ulp" is the form's greatest error, "before" the source's: how far the value computed in f64 is from the exact one
  of the source (MPFR), in units of the last place of that exact value, at some thousand points; where it is 0 nothing
  is counted. Where a sum cancels this is vast, for the source too: compare the two. A form that
  is wrong or has more than a thousand times the source's error is passed over for the one before it, which a line says;
  where none is left the cheapest is shown. So is one, and at last the source is shown, with another value only where
  floats tell apart what reals do not: where copysign, atan2 or a division sees the sign of a zero, or a comparison, min
  or max sees NaN. What such an operation sees at some points is left as it is. --json adds both in the unit of the
  policies, ulp of max(|exact|, a millionth of the greatest at the points) (max_error_scaled_ulp, ..._before), which is
  what remains once such values are added up. Points are log-uniform in magnitude within what is assumed of a variable;
  where nothing is, from 0.01 to 10 and of either sign.
  Far out a form may overflow, or make NaN of what does, where the source does not: x*x/x is infinite at 1e200. That is
  no reason to pass it over, but a line says at what share of points it is so, each variable log-uniform over all of
  f64 within what is assumed, and shows the first; --json has "not_finite_share" of each case, 0 where there was none,
  and "not_finite_at". Declared ranges (x<=c) keep such points out, and --policy exact every bit.
  A FILE has lines of "name | size | family | assumptions | S-expression"; assumptions are x>0, x!=0, x>=c, x<c, x<=c,
  with commas between them; one about a variable that the expression lacks says nothing. Under the policy exact x>0
  is any f64 above zero, so that x*x may be zero; under others x is at least 2^-126. kernels.tsv and kernels.sexp are
  read too. `hostile` takes what looks worst: it may find less, but never anything wrong.
  Budgets are hard: --nodes and --applications are never exceeded, --bytes counts the graph, matches and what extraction
  takes, --ms is CPU time and overrun by less than 1 ms (--explain, --html and --dot take theirs besides). With --ms 0
  the other budgets end the search, and the same command gives the same result everywhere. Why it stopped:
)" TRIDENT_SEARCH_STOPS(
    X) R"(  --load-rules FILE adds rules of your own (the format: jit/expr/rules/README.md). They are checked as by `trident rules
  check`; when one is wrong none is used, its counterexample is shown, and exit status 1 follows. Names must not be
  taken. `trident explain`, `disasm` and `bench` take the option too, and the daemon has `tridentd --rules FILE`.
  --explain shows the steps from which a result follows: instances of rules, and what the collection of sums and
  products ("collect") says. Each may use what earlier ones say; equal parts are put for each other and constants
  folded without a step. A step with "~=" holds up to the rounding of constants that are folded or stand in the rule:
  they are named. Steps are replayed in a graph of their own, which asks for every condition anew.
  The last lines say how fast the search was. "e-nodes a second of applying": those that rules added, for the CPU time
  of ordering matches, adding their right sides, merging and rebuilding. "matches a second of matching": those found
  (also again, in what has changed), for the CPU time of looking for them. Then both for the CPU time of the whole
  search, with extraction, the collection of sums and products and starting graphs. "bytes an e-node": memory of a
  case's largest graph for each e-node that it has room for, the median over the cases.
  --cost default weighs ops by the instructions they become, as measured on some processors; host by those of this one
  (`trident calibrate --ops`), where it was measured; reference by the table of published figures.
  --json prints an object with "cases", rows of "name", "tree_before", "tree_after", "dag_before", "dag_after", "nodes",
  "applications", "ms", "stop", "result" and "max_error_ulp" among others, and "summary".

EXAMPLES
  trident rewrite bench/corpus/rewrite.txt
  trident rewrite bench/corpus/rewrite.txt --cost reference --ms 0 --json
  trident rewrite bench/corpus/rewrite.txt --strategy saturate --rules 20 --objective tree
  trident rewrite bench/corpus/rewrite.txt --load-rules mine.rules
  trident rewrite bench/corpus/rewrite.txt --explain
  trident rewrite bench/corpus/rewrite.txt --case quintic --html quintic.html --dot quintic.dot)";

#undef X

constexpr const char* kRules = R"(DETAILS
  `list` has a line for each built-in rule: name, tags, left side => right side, conditions; and how many a theme has.
  `show` says what its tags and conditions mean, under which policies it fires, where it stands, and gives an example.
  `check` reads files of rules (a rule a line; jit/expr/rules/README.md has the format) and tries each: both sides at
  --points points of its domain in MPFR where both are numbers (a fifth as many where there are derivatives, which are
  compared with difference quotients; as many for each call length where there are reductions) and at chosen ones:
  where comparisons turn over, divisors vanish, and what is rounded or taken a remainder of reaches an integer or a
  half, for one variable and for several at once, within 120 of zero where that repeats. The tags exact and zero are
  tried bit by bit in f32 and f64 at special values. No counterexample is no proof. The last line says at how many drawn
  points the right ones were compared, --json ("compared_points") so of each. All cores take part; what is printed does
  not depend on how many there are, and a terminal shows how far it is and how long it will take. A wrong rule comes
  with values of its variables ("near" where the point is no floating-point number), both sides there, and where one was
  found a condition or a tag that would make it true; no condition where the point was solved for, since sampling cannot
  vouch for it. Exit status 1 when a rule is wrong or cannot be checked.
  Rules of yours are used by `trident rewrite`, `explain`, `disasm` and `bench` with --load-rules FILE, and by a daemon
  that is told to, `tridentd --rules FILE`.

EXAMPLES
  trident rules list --theme roots
  trident rules show d-mul
  trident rules check mine.rules --points 100000)";

constexpr const char* kOracle = R"(DETAILS
  `oracle tir` reads what the real Triton VM 2.0.0 has answered and says where our machine answers otherwise. A row is
  a JSON object on a line; a file whose name ends in .json is one object. What is in a row is compared, what is not
  there is not:
    programs   "program" (text), "public_input", "secret_input", "secret_digests", "ram"; then "expected_output",
               "final_stack" (top first), "final_ram", "sponge_state", "cycle_count", "program_words",
               "program_encoding", "program_digest", "heights" of the nine tables, "padded_height", "hash_rows",
               "u32_entries"; or "error" (the variant's name; parse_error for a text that is refused) with
               "instruction_pointer" and the stack at the failure
    vectors    "tip5_permutation", "tip5_hash_10", "tip5_hash_pair", "tip5_hash_varlen", "bfe", "xfe"; "perm",
               "hash_fields" and "hash_bytes" of the Poseidon2 that serves as content address
    lowerings  "tir_op", one operation of TIR; "program", whose first constants are its operands, and the
               "expected_output" that our lowering of it must give, with and without peephole passes
    pairs      "baseline" and "candidate", two blocks; "equivalent", which we must decide the same way (unknown is
               wrong) for stacks of 30 elements or more; "witness_stack_bottom_first" with "public_input" and
               "secret_input", where our machine must see the difference too
  Each difference is a line FILE:LINE: name: what: expected .., found ..; the last line counts. Exit status 1 when a row
  differs, cannot be read, or is of a kind that this version does not understand.

EXAMPLES
  trident oracle tir oracle.jsonl oracle_fuzz.jsonl
  trident oracle tir data_vectors.json poseidon2_vectors.json
  trident oracle tir equiv_pairs.jsonl
  head -n 1 oracle.jsonl | trident oracle tir -)";

constexpr const char* kBuild = R"(DETAILS
  A proof of a run costs what its tallest table, rounded up to a power of two, costs; the text of the program is
  hashed and counts too. `build` lowers TIR, or takes TASM as it is, and looks for a program that does the same with
  lower tables: peephole passes, other subroutines (bodies inlined, loops that test at their end, repeated
  instructions moved out), and for each straight-line block what a search proposes. A block is changed only when the
  change is proven to do the same from every state; the whole program is run on the inputs each time, and the best run
  wins: first by padded height, then by its tallest table, then by words. It is never worse than the given one. What a
  stage has made is held to the given program once more, on 300 generated inputs (for at most a tenth of the time or
  50 ms), and its text is read back; what does not pass is put aside, and standard error says so. The inputs are those
  to build for; with others the program does the same, its heights may differ. A program that looks at its own digest,
  which lies on its stack at the start, sees another one: a note says so where that is found. The result stands beside
  FILE: program.tir becomes program.tasm, program.tasm program.opt.tasm; -o says where else. The daemon does it if
  there is one, in its own process and at low priority, one program after the other, and goes on learning from the
  blocks that it has met; it takes programs whose text, one instruction a line, has at most 1008 KiB. --mode says who
  may; in either mode the blocks of the program are left for the daemon to learn from (`trident weights programs`). A
  program for --vm next is built in this process. --ms and --programs bound the search.
  --json prints "output", "built_by", "before" and "after" (the nine tables, "tallest", "padded", "words"),
  "subroutine_changes", "changes" (rows of "by", "before", "after"), "proposers" (rows of "name", "proposed", "equal",
  "differ", "unknown", "won"), "programs_run", "put_aside" (sentences), "looks_at_digest" and, where the daemon has
  left out more changes than fit into a message, "cut". Exit status 1 if the
  program fails on the inputs; standard error says where.

EXAMPLES
  trident build program.tir --input 5,7
  trident build library_call.tasm --secret words.txt --ram 100=1,2,3 --explain
  trident build program.tasm --disable superoptimiser --json)";

constexpr const char* kFuzzEquiv = R"(DETAILS
  Two files without control flow and `halt` are compared as blocks: from every state of the machine both must fail, or
  both must leave the same stack, RAM, output, sponge and positions in the inputs. "equal" is proved, by normal forms of
  all that they compute; where polynomials are too large to be written out it is right but for the error bound that is
  given. "differs" comes with a state in which the machine shows it. A block that needs a deeper stack than the other is
  not the same, unless --stack-min says that there is enough.
  Whole programs are compared block by block where their control flow is the same, and then run on samples: the inputs
  that are given, these with some elements changed, and random ones, many with words that are equal, always from a stack
  of zeros. Runs that fail are the same if both fail and have written the same before; which failure it is does not
  count. One that ends differs from one that goes on for more than eight times its cycles. Runs of which neither ends
  within --cycles are undecided, and counted. Where programs are not proved to be the same nor found to differ, the last
  lines say so ("unknown" in --json). --seconds ends the search for a difference, never a proof.
  Exit status 0 if no difference was found, 1 if one was, 2 for mistakes in the texts or the command line.

EXAMPLES
  trident fuzz-equiv before.tasm after.tasm
  trident fuzz-equiv before.tasm after.tasm --stack-min 20 --json
  trident fuzz-equiv program.tir program.tasm --input 5,7 --samples 10000
  trident fuzz-equiv program.tir program.tasm --input 5,7 --samples 100000000 --seconds 60)";

constexpr const char* kLower = R"(DETAILS
  TIR is a stack language of 54 operations with functions, branches and counted loops. Each operation becomes the
  instructions that mean the same on Triton VM; elements that are out of the registers' reach wait in RAM, in some
  hundred words from address 2^30, or from 2^30 + k 2^32 where a constant of the program is within 2^20 of a smaller
  k's. That is all that can be seen in the text: where a program computes addresses when it runs, or is given them as
  input, it must leave the 2^20 words from there on alone, and not expect 0 in them. A program that never reaches
  deeper than the registers, st0 to st15, never writes there. Then sound peephole passes shorten what runs in a
  straight line; of a FILE.tasm they are all that is done.

    program     (operation | function)*                what stands before the functions ends in halt or entry
    function    fn NAME { operation* }                 ends in return or halt
    control     call NAME   return   halt   entry NAME (call NAME, then halt)
                if { .. }   if { .. } else { .. }      by the top of the stack; an if alone leaves the height as it is
                loop [NAME] { .. }                     counts the top of the stack down to 0, leaves the height too
                asm CHANGE { TASM }                    straight-line instructions that change the height so much
    the rest    push V, pop N, dup N, swap N, add sub mul neg invert eq lt and or xor pop_count split div_mod shl shr
                log2 pow, read_io N, write_io N, read_mem N, write_mem N, assert 1|5, hash, reveal NAME TAG N,
                seal NAME TAG N, ram_read N, ram_write N, hint N, sponge_init sponge_absorb sponge_squeeze sponge_load
                merkle_step merkle_load ext_mul ext_invert fold_ext fold_base, proof [NAME] { .. }
  Operands are in reading order: push 17 push 5 div_mod leaves 3 2 with 2 on top, push 3 push 5 lt leaves 1.

  Passes: nops, hints, pops, batches, forwards, stores, copies, swaps, chains, epilogues, additions, constants,
  commutes, orders. --json prints "words_before_passes", "words", "instructions" and "program".

EXAMPLES
  trident lower program.tir
  trident lower program.tir --passes none -o program.tasm
  trident lower program.tasm --passes pops,additions,commutes --json)";

constexpr const char* kProfile = R"(DETAILS
  Runs a program of Triton VM and says where the rows of the nine tables of its proof come from: by subroutine (a label
  that is called), by line of the source, and as a flame graph. The tallest table, rounded up to a power of two, is what
  a proof costs; the report is ordered by it, or by --table. Rows that no instruction has (hashing the program, the
  lookup table) stand apart. An entry of the u32 and cascade tables is borne by the first instruction that needs it.
  "own" is what a subroutine's instructions have, "with calls" what runs while a call of it is open: each row once,
  whatever the recursion.
  --json prints an object with "cycles", "heights", "tallest", "padded_height", "table", "text" (rows of the program
  itself), "subroutines", rows of "name", "calls", "own" and "with_calls" by table, "lines", rows of "line", "source"
  and "own" by table, and "paths", the frames of the flame graph: "name", "parent" (index; of the first null), "calls"
  and "own" by table.
  Exit status 1 if the program fails; then nothing is reported but where and why.

EXAMPLES
  trident profile program.tasm --input 5,7
  trident profile program.tasm --table hash --top 5
  trident profile program.tasm --ram 100=1,2,3 --svg flames.svg)";

constexpr const char* kCalibrate = R"(DETAILS
  --ops measures what each op of the kernel IR (jit/kir/ops.def) takes here, for each of its types: latency, from a
  chain of ops that wait for each other, and throughput, from many chains side by side; both as multiples of what an
  fma of the float type as wide takes, which is measured in the same rounds. The code is what the code generator makes
  of such chains, and it runs in sandboxed children. div.newton and sqrt.newton do without the divider, where the
  instruction set gains by that. Takes seconds; prefer a quiet machine. The table shows what is shipped beside it.
  The file is a text, a line for each op and type, that replaces an older one at once or not at all. It is used where
  processor and instruction set are those that it was measured on: by `trident rewrite --cost host`, and by a daemon
  that is told to, `tridentd --costs FILE`; without one, searches go by what is shipped for the processor.
  --json prints an object with "cpu", "isa", "build", "date", "file", "unit" (nanoseconds of an fma) and "ops", rows of
  "op", "type", "latency", "throughput", "shipped_latency" and "shipped_throughput".

  --kernels fills the benchmark cache that learned costs are trained on: families of kernels that mean the same and
  take different time, from the files of --corpus, from scrambled compositions of the rewrite rules, and from random
  programs. The kernels of a family are timed in turn in a sandboxed child, on arrays that the first cache holds, and
  once more in another child: how well the two agree is the ceiling of any prediction. Families that do not repeat are
  measured up to three times, and all of it is kept. N counts what was timed on this processor with this instruction
  set and build; families that are there are not made again, so the same command goes on after Ctrl-C, and with a
  larger N. The same seed makes the same kernels. Several processes may fill one file, with seeds of their own. Some
  milliseconds a kernel. Prefer a quiet machine. With --stale DAYS a full file whose newest family is older is
  renewed: an eighth of N is timed, the corpora's families that have gone and random ones by a seed of the week, and
  the oldest families go, those of other builds as long as the file has more than twice N. --pack writes a cut of the
  cache, of all sources of families alike, in a form to be shipped, which is read wherever a cache is. --json prints
  an object with "file", "isa", "seed", "kernels", "added", "families" by generator, "repeated", "unsteady",
  "test_retest" ("spearman", "spearman_in_families", "spearman_of_first_attempts", "median_error"), "dropped",
  "seconds" and "interrupted". The first rank correlation is of the attempts that agree best; that of first attempts
  alone is no better than the machine is quiet.

FILES
  $XDG_CACHE_HOME/trident/ISA.costs, else ~/.cache/trident/ISA.costs    where a table is written without --output
  $XDG_CACHE_HOME/trident/ISA.kernels, else ~/.cache/trident/ISA.kernels    timed kernels (SQLite)

EXAMPLES
  trident calibrate --ops
  trident calibrate --ops --isa avx2 --json
  trident calibrate --ops --quick --output - | sort -k 4 -n
  trident calibrate --kernels 20000 --corpus bench/corpus/kernels.tsv --threads 2
  trident calibrate --kernels 20000 --pack some.kernels)";

constexpr const char* kTrain = R"(DETAILS
  guide and judge are networks of one shape (jit/learn/README.md): features of a term, an embedding, a small head.

  The guide says which of the rewrites that match a search applies next (`trident rewrite --strategy guided`). It learns
  from searches over expressions that are composed of what the rules are about and then made worse by random rewrites:
  of every rewrite that was applied, whether the best form found in the end rests on it. Figures are of searches that it
  has not seen, as the area under the curve (AUC: how often a needed rewrite is put before another one; 0.5 is
  guessing), beside what the change of static cost and the rule alone would give.
  In one sample of four the rule is hidden, in one of four what the search has seen of it, so that the network looks at
  what a rewrite makes of the term. Where the guide brings nothing more, a search goes on without it.

  --without leaves a domain of rules out: expressions are composed of the others, and what its rules' matches teach is
  not learnt; figures of expressions of that domain follow, its rules shown as new ones.
  --score trains nothing: it reports of a file of weights, by the integers that searches go by, what a training with the
  same --seed, --episodes and --rounds would end with, beside static cost, the rule alone and no preference at all. No
  guide changes what is right: what a search finds is checked as ever. The same seed and options give the same
  weights, with any number of threads, and after Ctrl-C or kill -9 with --resume (episodes are played again, epochs are
  not trained again). A run goes on only with the options and samples that it began with, whatever else is given is
  refused by name; --threads, --patience (from then on),
  --plot, --json and --test may change. Standard error gets a line for each epoch: losses, figures held out, whether
  it is the best, seconds left.

  `train daemon` does the same beside a daemon, over and over and when nothing else wants the processor: half of its
  searches are over what clients have submitted (the daemon keeps the expressions alone, without names), one in five of
  which it never plays. Weights are promoted only where they find more in those; the daemon sees them at once. As soon
  as STATE/kernels has 5,000 kernels of this machine (`trident calibrate --kernels 20000 --output STATE/kernels`), and
  again when it has others, a judge is trained too, which is promoted only where it ranks the families that validate
  better than the one in use, and lies behind the guide in the same version.

  The judge guesses what a kernel takes, from kernels that were timed on a machine (`trident calibrate --kernels`): a
  linear function of what a kernel lowers to, by ridge regression, and a network for what that leaves over. One family
  of kernels in five is held out for figures alone, and all that were written by hand; of the others one in eight
  validates: by those the epoch is chosen, how much of the network counts, and the margin by which a form must be
  promised faster than the statically cheapest to be taken in its place. Figures: rank correlation with the measured
  times (Spearman), pairs of one family more than 5 % apart that are put in order, median error of logarithms, and
  regret: how much slower the kernel that would be chosen first is than its family's fastest, on average, as a
  logarithm. Beside them the same of the judge that comes with the program, of ridge regression, and of single
  figures, fitted to the same kernels.
  --folds N trains N judges, each without another part of the families, whose epochs are chosen by a fifth of the
  families trained on, and reports every figure as mean and standard deviation over the folds; no weights are written.

FILES
  FOLDER/roundN/{last,best}.safetensors   checkpoint, and the weights of the best epoch; log.csv, log.jsonl
  FOLDER/pretraining/stepsN/...           the same of walks of N rewrites (--pretrain)
  FOLDER/roundN-again/                    ... of the training by the second teacher
  FOLDER/{last,best}.safetensors          the same of a judge; FOLDER/foldN/... of each with --folds
  FOLDER/{guide,judge}.safetensors        the network in floats
  STATE/{journal,kernels}, STATE/{weights/,training.jsonl}   what `train daemon` reads, and what it writes
                                                             (`trident weights --help`)

EXAMPLES
  trident train guide --output guide.nnue --plot guide.svg
  trident train guide --output t.nnue --without trigonometry --json
  trident train guide --output guide.nnue --pretrain 2000
  trident train daemon --rounds 1
  trident train guide --score guide.nnue
  trident train judge --output judge.nnue
  trident train judge --kernels calibration.kernels --output judge.nnue --plot judge.svg
  trident train judge --folds 5 --folder folds
  trident rewrite cases.txt --strategy guided --weights guide.nnue)";

constexpr const char* kWeights = R"(DETAILS
  The daemon's search goes by weights that come with the program until `trident train daemon` has promoted others, which
  it does only where they find more in expressions that it has not learnt from. A running daemon sees every change at
  once: it searches what its clients have open again, when it has nothing else to do, and sends them what is faster. No
  weights change a result: whatever a search finds is checked as ever. A version holds the guide's weights, and may hold
  a judge's behind them, which has learnt this machine's times.
  `programs` is about the network that rewrites blocks of Triton VM programs: blocks that builds have met, the rounds
  of learning from them, what each candidate gains on blocks held out, and which were promoted.

FILES
  STATE/weights/DIGEST.bytes   a version, named by the SHA-256 of its bytes; DIGEST.json: its figures
  STATE/weights/chosen         digests, the chosen one first, behind it those before it, which rollback goes back to
  STATE/programs/rounds        a line of JSON for each round of learning from programs
  STATE is $XDG_STATE_HOME/trident, else ~/.local/state/trident; of the system's daemon /var/lib/tridentd.

EXAMPLES
  trident weights list
  trident weights programs
  trident weights rollback
  trident weights use none
  trident weights list --state /var/lib/tridentd --json)";

constexpr const char* kStats = R"(DETAILS
  One counter a line, its part of the daemon before the dot. `workers.confined` says what compilers have given up,
  `configuration.restart_due` which settings wait for a restart. Exit status 1 where no daemon answers.

EXAMPLES
  trident stats
  trident stats --json)";

constexpr const char* kCompletion = R"(EXAMPLES
  trident completion bash > ~/.local/share/bash-completion/completions/trident
  trident completion zsh > ~/.zfunc/_trident
  trident completion fish > ~/.config/fish/completions/trident.fish)";

constexpr const char* kText = R"(TYPES
  f32, f64, i32, i64: "i: i64, x: f32 in [0, 1]; ..." declares and f64(i) casts. Where types meet, f32 with f64 is f64
  and i32 with i64 is i64; an integer that meets a float becomes f64, and one beyond 2^53 is rounded by that. A number
  without a type takes that of what it meets. Integers wrap and have no division and no remainder (cast an operand with
  f64(...)); floor, ceil, round, rint and trunc leave them as they are; functions of reals take them as f64.

EXAMPLES
  trident print 'diff(exp(-x*x), x)' --derivatives
  trident print '(+ (* x x) 1)' --to infix
  trident check - < kernels.txt
  trident dot 'let t = x*y; t + 1/t' | dot -Tsvg > graph.svg)";

constexpr std::size_t kNameColumns = 30, kColumns = 110;

/// Breaks `text` at blanks, so that no line is longer than the column of descriptions.
std::string wrapped(const std::string& text) {
  std::string out, line;
  std::size_t start = 0;
  while (start < text.size()) {
    const std::size_t end = std::min(text.find(' ', start), text.size());
    const std::string word = text.substr(start, end - start);
    if (!line.empty() && line.size() + 1 + word.size() > kColumns - kNameColumns) {
      out += line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
    start = end + 1;
  }
  return out + line;
}

class Formatter : public CLI::Formatter {
 public:
  Formatter() {
    column_width(kNameColumns);
    label("TEXT", "TEXT");
  }
  /// " N=4096" rather than " UINT:INT in [16 - 67108864]=4096"; the bounds stand in the message when they are missed.
  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_positional() || option->get_expected_max() == 0) return "";
    const std::string type = option->get_type_name();
    std::string out = type.starts_with("UINT") || type.starts_with("INT") ? " N"
                      : type.starts_with("FLOAT")                         ? " X"
                                                                          : " TEXT";
    if (!option->get_default_str().empty()) out += "=" + option->get_default_str();
    return out;
  }
  std::string make_option_desc(const CLI::Option* option) const override { return wrapped(option->get_description()); }
};

}  // namespace

const char* manual_of(std::string_view verb) {
  struct Page {
    std::string_view verb;
    const char* text;
  };
  constexpr Page kPages[] = {{"run", kRun},
                             {"bench", kBench},
                             {"explain", kExplain},
                             {"disasm", kDisasm},
                             {"doctor", kDoctor},
                             {"demo", kDemo},
                             {"parse", kText},
                             {"print", kText},
                             {"check", kText},
                             {"dot", kText},
                             {"completion", kCompletion},
                             {"rewrite", kRewrite},
                             {"rules", kRules},
                             {"profile", kProfile},
                             {"build", kBuild},
                             {"lower", kLower},
                             {"oracle", kOracle},
                             {"fuzz-equiv", kFuzzEquiv},
                             {"calibrate", kCalibrate},
                             {"train", kTrain},
                             {"weights", kWeights},
                             {"stats", kStats}};
  for (const Page& page : kPages)
    if (page.verb == verb) return page.text;
  return "";
}

void add_manual(CLI::App& app) {
  const auto formatter = std::make_shared<Formatter>();
  const auto message = [](const CLI::App*, const CLI::Error& error) {
    return "trident: " + std::string(error.what()) +
           "\n`trident --help` and `trident VERB --help` say what can stand there.\n";
  };
  app.footer(kTrident);
  app.formatter(formatter);
  app.failure_message(message);
  for (CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    verb->footer(manual_of(verb->get_name()));
    verb->formatter(formatter);
    verb->failure_message(message);
    for (CLI::App* part : verb->get_subcommands([](const CLI::App*) { return true; })) {
      part->footer(manual_of(verb->get_name()));
      part->formatter(formatter);
      part->failure_message(message);
    }
  }
}

}  // namespace trident::cli
