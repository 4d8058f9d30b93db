// `trident fuzz-equiv`: are two blocks, or two programs, of Triton VM the same?
#include <chrono>
#include <cstdio>

#include "clients/cli/triton/commands.h"
#include "clients/cli/triton/run_program.h"
#include "clients/cli/verb/verb.h"
#include "jit/tir/equiv/programs.h"
#include "jit/tir/equiv/shrink.h"
#include "jit/tir/equiv/trials.h"
#include "runtime/base/counted.h"
#include "runtime/json/json.h"
#include "runtime/report/progress_bar.h"

namespace trident::cli {
namespace {

using field::Element;
using tir::equiv::Answer;
using tir::equiv::Comparison;
using tir::equiv::State;
namespace equiv = tir::equiv;

struct FuzzVerb {
  ProgramRun first;  ///< with the inputs of both
  std::string second;
  std::uint64_t samples = 1000, seed = 1, stack_min = tir::tasm::kRegisters;
  double seconds = 0;
};

/// Watches the samples: draws a bar on a terminal, and tells when the time is over.
class Watch {
 public:
  Watch(double seconds, std::uint64_t samples) : bar_("running both", samples), seconds_(seconds) {}
  bool goes_on(unsigned done, unsigned total) {
    const std::chrono::duration<double> gone = std::chrono::steady_clock::now() - begin_;
    if (bar_.shown()) bar_.update(done, total, seconds_ > 0 ? time_text(gone.count()) : "");
    time_over_ = seconds_ > 0 && gone.count() >= seconds_;
    return !time_over_;
  }
  [[nodiscard]] bool time_over() const { return time_over_; }

 private:
  [[nodiscard]] std::string time_text(double gone) const {
    return std::to_string(static_cast<long>(gone)) + " of " + std::to_string(static_cast<long>(seconds_)) + " s";
  }

  report::ProgressBar bar_;
  double seconds_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  bool time_over_ = false;
};

constexpr std::uint64_t kCyclesAtMost = 1 << 20;
constexpr std::uint64_t kSamplesMax = 100'000'000, kStackMinMax = 4096;
constexpr double kSecondsMax = 1e7;

std::string_view name_of(Answer answer) {
  switch (answer) {
    case Answer::equal: return "equal";
    case Answer::differs: return "differs";
    case Answer::unknown: return "unknown";
  }
  CHECK(false);
}

bool is_block(const tir::tasm::Program& program) {
  const equiv::Shape shape = equiv::shape_of(program.instructions);
  return shape.straight && !shape.halts;
}

Json listed(const std::vector<Element>& list) {
  auto out = Json::array();
  for (const Element e : list) out.push_back(e.value());
  return out;
}

std::string line(const char* name, const std::vector<Element>& list) {
  std::string out = list.empty() ? "" : std::string("  ") + name;
  for (const Element e : list) out += " " + std::to_string(e.value());
  return out.empty() ? out : out + "\n";
}

std::vector<Element> flat(const std::vector<field::Digest>& digests) {
  std::vector<Element> out;
  for (const field::Digest& digest : digests) out.insert(out.end(), digest.begin(), digest.end());
  return out;
}

void print_json(const Comparison& found, bool blocks, bool time_over) {
  Json json;
  json["answer"] = name_of(found.answer);
  json["compared"] = blocks ? "blocks" : "programs";
  if (found.answer == Answer::equal) json["error_bound"] = found.error_bound;
  if (!found.reason.empty()) json["reason"] = found.reason;
  json["samples"] = found.samples;
  json["samples_failed"] = found.failed;
  json["samples_undecided"] = found.undecided;
  json["time_over"] = time_over;
  if (found.answer == Answer::differs) {
    const State& s = found.witness;
    Json& witness = json["witness"];
    witness["stack_bottom_first"] = listed(s.stack);
    witness["public_input"] = listed(s.public_input);
    witness["secret_input"] = listed(s.secret_input);
    witness["secret_digests"] = listed(flat(s.secret_digests));
    witness["ram"] = Json::array();
    for (const auto& [address, word] : s.ram) witness["ram"].push_back({address.value(), word.value()});
    witness["absorbed"] = s.absorbed ? listed({s.absorbed->begin(), s.absorbed->end()}) : Json();
  }
  std::printf("%s\n", json.dump(2).c_str());
}

void print_samples(const Comparison& found, std::uint64_t cycles) {
  if (found.samples == 0) return;
  std::printf("%s, %u failed in both", counted(found.samples, "sample").c_str(), found.failed);
  if (found.undecided > 0)
    std::printf(", %u undecided: %llu cycles (--cycles) were too few to tell, or a limit of memory was met",
                found.undecided, static_cast<unsigned long long>(cycles));
  std::printf("\n");
}

void print_text(const Comparison& found, bool blocks, bool time_over, std::uint64_t cycles) {
  const char* const what = blocks ? "blocks" : "programs";
  if (found.answer == Answer::equal) {
    std::printf("equal: the %s do the same from every state", what);
    if (found.error_bound > 0) std::printf(", with an error of at most %.2g", found.error_bound);
    std::printf("\n");
  } else if (found.answer == Answer::unknown && found.samples > 0 && found.undecided == found.samples) {
    std::printf("undecided: no sample decides, and the %s are not proven equal: %s\n", what, found.reason.c_str());
  } else if (found.answer == Answer::unknown) {
    std::printf("no difference found, but the %s are not proven equal: %s\n", what, found.reason.c_str());
  } else {
    const State& s = found.witness;
    std::printf("the %s differ: %s\n%s%s%s%s", what, found.reason.c_str(),
                line("stack, bottom first:", s.stack).c_str(), line("public input:", s.public_input).c_str(),
                line("secret input:", s.secret_input).c_str(), line("secret digests:", flat(s.secret_digests)).c_str());
    std::vector<Element> ram;
    for (const auto& [address, word] : s.ram) ram.push_back(address), ram.push_back(word);
    std::printf("%s%s", line("RAM, address and word:", ram).c_str(),
                s.absorbed ? line("absorbed by the sponge:", {s.absorbed->begin(), s.absorbed->end()}).c_str() : "");
  }
  print_samples(found, cycles);
  if (time_over) std::printf("the time limit ended before all samples were run\n");
}

Comparison compared(const FuzzVerb& verb, const LoadedProgram& first, const tir::tasm::Program& second, bool blocks,
                    Watch& watch) {
  const auto goes_on = [&](unsigned done, unsigned total) { return watch.goes_on(done, total); };
  if (blocks) {
    equiv::Options options;
    options.seed = verb.seed;
    options.stack_min = verb.stack_min;
    options.searched = static_cast<unsigned>(verb.samples);
    options.goes_on = goes_on;
    equiv::Decision decision = equiv::decide(first.program.instructions, second.instructions, options);
    if (decision.answer == Answer::differs) {
      equiv::Pair pair(first.program.instructions, second.instructions);
      decision.witness =
          equiv::shrunk(std::move(decision.witness), [&](const State& s) { return !pair.difference(s).empty(); });
      decision.reason = pair.difference(decision.witness);
    }
    return {decision.answer, decision.error_bound, decision.reason, std::move(decision.witness), 0, 0};
  }
  equiv::Samples samples;
  samples.seed = verb.seed;
  samples.count = static_cast<unsigned>(verb.samples);
  samples.cycles = verb.first.cycles;
  samples.goes_on = goes_on;
  samples.given.public_input = first.public_input;
  samples.given.secret_input = first.secret_input;
  samples.given.secret_digests = first.digests;
  samples.given.ram = first.ram;
  return equiv::compare(first.program, second, samples);
}

bool looks_at_digest(const LoadedProgram& program) {
  equiv::State given;
  given.public_input = program.public_input;
  given.secret_input = program.secret_input;
  given.secret_digests = program.digests;
  given.ram = program.ram;
  return equiv::Trials(program.program, std::move(given), {}).looks_at_digest();
}

Result<int> fuzz(const FuzzVerb& verb) {
  TRY(const auto first, load_program(verb.first));
  TRY(const ProgramText second,
      read_program(verb.second, machine_named(verb.first.vm), tir::lowering::PassSet::none()));
  const bool blocks = is_block(first->program) && is_block(second.program);
  bool time_over = false;
  const Comparison found = [&] {
    Watch watch(verb.seconds, verb.samples);
    Comparison out = compared(verb, *first, second.program, blocks, watch);
    time_over = watch.time_over() && out.answer != Answer::differs;
    return out;
  }();
  if (!blocks && found.answer != Answer::differs && looks_at_digest(*first))
    std::fprintf(stderr,
                 "trident: note: the output of %s depends on its own digest, the digest of its text; both were "
                 "compared from the same stacks\n",
                 verb.first.file.c_str());
  if (verb.first.json)
    print_json(found, blocks, time_over);
  else
    print_text(found, blocks, time_over, verb.first.cycles);
  return found.answer == Answer::differs ? kExitWrong : 0;
}

}  // namespace

void add_fuzz_equiv_command(Verb app, int& status) {
  const Verb verb = app.add_subcommand("fuzz-equiv", "Compare two blocks or programs of Triton VM");
  auto state = std::make_shared<FuzzVerb>();
  verb.add_option("A", state->first.file, "Block or program: TIR in a .tir, else TASM").required();
  verb.add_option("B", state->second, "Block or program to compare with").required();
  verb.add_option("--input", state->first.public_input, "Public input of programs: a list or FILE; repeatable")
      .take_all()
      .expected(1)
      .allow_extra_args(false);
  add_program_options(verb, state->first);
  verb.option("--cycles").default_val(kCyclesAtMost);  // of each of many runs
  verb.add_option("--samples", state->samples, "Number of states to run both from when no proof decides")
      .check(range(std::uint64_t{1}, kSamplesMax))
      .capture_default_str();
  verb.add_option("--seconds", state->seconds, "Most seconds for the samples; 0: no limit")
      .check(range(0.0, kSecondsMax))
      .capture_default_str();
  verb.add_option("--seed", state->seed, "Seed of the samples and of the random points")
      .check(negative_fault)
      .capture_default_str();
  verb.add_option("--stack-min", state->stack_min, "For blocks: elements known to be on the stack")
      .check(range(std::uint64_t{tir::tasm::kRegisters}, kStackMinMax))
      .capture_default_str();
  verb.callback([state, &status] {
    const auto code = fuzz(*state);
    status = code ? *code : report(code.error());
  });
}

}  // namespace trident::cli
