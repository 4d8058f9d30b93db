#include "jit/tir/tournament/tournament.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "jit/tir/equiv/equiv.h"
#include "jit/tir/equiv/trials.h"
#include "jit/tir/shape/reachable.h"
#include "jit/tir/superopt/superopt.h"
#include "jit/tir/tasm/blocks.h"
#include "jit/tir/tournament/proven_peepholes.h"
#include "runtime/base/check.h"

namespace trident::tir::tournament {
namespace {

using tasm::Block;
using tasm::Instruction;

constexpr std::size_t kOutlinesMax = 12;
/// Shares of the time, as divisors: for the second check, for the ways without proposers, and for stages after blocks.
constexpr int kCheckShare = 10, kPlainShare = 4, kOutlineShare = 5;
constexpr std::chrono::milliseconds kCheckMin{50};
constexpr std::string_view kBlocks = "blocks", kPeepholes = "peepholes", kUnreachable = "unreachable",
                           kShared = "shared";

struct Alternative {
  Instructions instructions;
  std::size_t proposer;
};
/// A block with its proven alternatives.
struct Entry {
  Block block;
  std::vector<Alternative> alternatives;
  std::uint64_t executions = 0;
  std::size_t chosen = 0;  ///< 0: as it is; else alternative chosen - 1
};

/// Stages and proposers of one way.
struct Way {
  bool peepholes, subroutines;
  std::vector<bool> proposers;

  [[nodiscard]] bool proposes() const { return std::find(proposers.begin(), proposers.end(), true) != proposers.end(); }
};

/// A program on its way, and the changes that made it.
struct Entrant {
  tasm::Program program;
  Cost cost;
  std::vector<std::string> subroutine_changes;
  std::vector<Change> changes;
  std::vector<std::size_t> won;  ///< number of blocks won, per proposer
};

/// Condition under which a changed program replaces the one before.
enum class Wanted : std::uint8_t {
  cheaper,
  as_cheap,      ///< cheaper or as cheap
  not_dearer,    ///< padded height not above
  power_of_two,  ///< padded height lower
};
bool is_wanted(Wanted wanted, const Score& now, const Score& changed) {
  switch (wanted) {
    case Wanted::cheaper: return changed < now;
    case Wanted::as_cheap: return !(now < changed);
    case Wanted::not_dearer: return changed.padded <= now.padded;
    case Wanted::power_of_two: return changed.padded < now.padded;
  }
  CHECK(false);
}

std::span<const Instruction> piece_of(const tasm::Program& program, const Block& block) {
  return std::span(program.instructions).subspan(block.begin, block.size());
}

tasm::Program with_choices(const tasm::Program& base, const std::vector<Entry>& entries) {
  std::vector<tasm::Replacement> replacements;
  for (const Entry& entry : entries)
    if (entry.chosen > 0) replacements.push_back({entry.block, entry.alternatives[entry.chosen - 1].instructions});
  return tasm::with_blocks(base, replacements);
}

/// Chooses the form that costs least by the measure, over all runs of the block.
void choose(Entry& entry, std::span<const Instruction> piece, superopt::Weights measure) {
  measure.cycle *= static_cast<double>(entry.executions);
  measure.stack_row *= static_cast<double>(entry.executions);
  double least = superopt::cost(piece, measure);
  entry.chosen = 0;
  for (std::size_t a = 0; a < entry.alternatives.size(); ++a) {
    const double cost = superopt::cost(entry.alternatives[a].instructions, measure);
    if (cost < least) least = cost, entry.chosen = a + 1;
  }
}

class Tournament {
 public:
  Tournament(std::span<const vm::Inputs> samples, std::span<const Proposer> proposers, const Options& options);
  Result<Outcome> run(const tasm::Program& given);

 private:
  [[nodiscard]] bool over() const {
    return stopped_ || scorer_.scored() >= options_.scores_max || std::chrono::steady_clock::now() >= until_;
  }
  void tell() {
    if (!options_.progress) return;
    const double by_count = static_cast<double>(scorer_.scored()) / static_cast<double>(options_.scores_max);
    const auto left = std::chrono::duration<double>(end_ - std::chrono::steady_clock::now());
    const double by_time = 1 - left / std::chrono::duration<double>(options_.time);
    stopped_ = !options_.progress(std::min(1.0, std::max(by_count, by_time)));
  }

  /// Lists every combination of the stages and proposers: those without proposers, then from all to few.
  [[nodiscard]] std::vector<Way> ways() const;
  void go(const Way& way);

  /// Measures the best once more as the prover will run it: from its own digest.
  Outcome outcome();

  /// Prepares generated inputs from the first sample. A run may take a few times as long as that of the sample.
  void prepare_trials(const tasm::Program& given);
  /// Runs the second check. A program that was tried before keeps its answer.
  bool passes(const tasm::Program& program, const Key& key, std::string_view by);

  /// Replaces the entrant's program if the new one is wanted and passes the second check. The choice of proven
  /// blocks is checked as a whole, at its end.
  bool change(Entrant& at, const tasm::Program& program, Wanted wanted, std::string_view by);

  void subroutines(Entrant& at, const Way& way) {
    for (const shape::ChangeRow& row : options_.changes) {
      if (over()) return;
      tasm::Program changed = shape::reachable(row.apply(at.program));
      if (way.peepholes) changed = peepholes_.of(changed);
      if (change(at, changed, Wanted::cheaper, row.name)) at.subroutine_changes.emplace_back(row.name);
    }
  }

  // --- blocks ---

  void blocks(Entrant& at, const Way& way);

  /// Returns the proven proposals of all proposers for a block. Equal blocks are proposed for once.
  const std::vector<Alternative>& alternatives_of(std::span<const Instruction> piece);

  /// Chooses for all blocks by one measure, since single words rarely change a height.
  void all_at_once(Entrant& at, const tasm::Program& base, std::vector<Entry>& entries);

  /// Tries blocks one by one, those that run most first, until nothing improves.
  void one_by_one(Entrant& at, const tasm::Program& base, std::vector<Entry>& entries);

  // --- repeated instructions ---

  /// Outlines repeatedly: one outlining alone can cost more than it saves until the next power of two is reached, so
  /// the best of the sequence counts.
  void outlines(Entrant& at);

  std::span<const vm::Inputs> samples_;
  Scorer scorer_;
  std::optional<equiv::Trials> trials_;
  std::span<const Proposer> proposers_;
  const Options& options_;
  std::chrono::steady_clock::time_point begin_, end_, until_;  ///< until_: end of the current stage
  ProvenPeepholes peepholes_;
  Outcome out_;
  Entrant given_, best_;
  std::map<Key, std::string> tried_;  ///< differences found, empty if none
  std::map<std::vector<std::uint64_t>, std::vector<Alternative>> known_;
  bool stopped_ = false;
};

Tournament::Tournament(std::span<const vm::Inputs> samples, std::span<const Proposer> proposers, const Options& options)
    : samples_(samples),
      scorer_(samples, options.budget),
      proposers_(proposers),
      options_(options),
      begin_(std::chrono::steady_clock::now()),
      end_(begin_ + options.time - options.time / kCheckShare),
      until_(end_),
      peepholes_(options.time / 4, [this] { return tell(), stopped_; }) {
  for (const Proposer& p : proposers) out_.tallies.push_back({p.name});
}

Result<Outcome> Tournament::run(const tasm::Program& given) {
  TRY(Cost cost, scorer_.begin(given));
  out_.before = cost.score;
  out_.heights_before = cost.heights;
  given_ = {given, std::move(cost), {}, {}, std::vector<std::size_t>(proposers_.size())};
  best_ = given_;
  prepare_trials(given);
  for (const Way& way : ways()) {
    until_ = way.proposes() || proposers_.empty() ? end_ : begin_ + options_.time / kPlainShare;
    if (!over()) go(way);
  }
  return outcome();
}

std::vector<Way> Tournament::ways() const {
  const std::uint32_t all = (1u << proposers_.size()) - 1;
  std::vector<Way> out;
  const auto add = [&](std::uint32_t proposers) {
    for (const bool subroutines : {true, false})
      for (const bool peepholes : {true, false}) {
        if ((subroutines && !options_.subroutines) || (peepholes && !options_.peepholes)) continue;
        Way way{peepholes, subroutines, {}};
        for (std::size_t p = 0; p < proposers_.size(); ++p) way.proposers.push_back((proposers >> p & 1) != 0);
        out.push_back(std::move(way));
      }
  };
  add(0);
  for (std::uint32_t proposers = all; proposers > 0; --proposers) add(proposers);
  return out;
}

void Tournament::go(const Way& way) {
  Entrant at = given_;
  if (way.subroutines && change(at, shape::reachable(at.program), Wanted::not_dearer, kUnreachable))
    at.subroutine_changes.emplace_back(kUnreachable);
  if (way.peepholes) change(at, peepholes_.of(at.program), Wanted::as_cheap, kPeepholes);
  if (way.subroutines) subroutines(at, way);
  if (way.proposes()) {
    if (way.subroutines) until_ -= options_.time / kOutlineShare;
    if (!over()) blocks(at, way);
    until_ = end_;
  }
  if (way.subroutines) outlines(at);
  const bool first = best_.cost.key == given_.cost.key;
  if (never_taller(given_.cost, at.cost) &&
      is_wanted(first ? Wanted::as_cheap : Wanted::cheaper, best_.cost.score, at.cost.score))
    best_ = std::move(at);
}

Outcome Tournament::outcome() {
  if (const auto cost = scorer_.cost_alone(best_.program); cost && never_taller(given_.cost, *cost))
    best_.cost = *cost;
  else
    best_ = given_;
  for (std::size_t p = 0; p < proposers_.size(); ++p) out_.tallies[p].won = best_.won[p];
  out_.program = std::move(best_.program);
  out_.after = best_.cost.score;
  out_.heights_after = std::move(best_.cost.heights);
  out_.subroutine_changes = std::move(best_.subroutine_changes);
  out_.changes = std::move(best_.changes);
  out_.scored = scorer_.scored();
  out_.looks_at_digest = trials_ && trials_->looks_at_digest();
  return std::move(out_);
}

void Tournament::prepare_trials(const tasm::Program& given) {
  if (options_.trials == 0 || samples_.empty()) return;
  const vm::Inputs& sample = samples_.front();
  const auto listed = [](const auto& span) { return std::vector(span.begin(), span.end()); };
  equiv::State state;
  state.stack = sample.stack.empty() ? scorer_.first_stack() : listed(sample.stack);
  state.public_input = listed(sample.public_input), state.secret_input = listed(sample.secret_input);
  state.secret_digests = listed(sample.secret_digests), state.ram = listed(sample.ram);
  equiv::TrialOptions trials;
  trials.count = options_.trials;
  trials.cycles = std::min(options_.budget.cycles, 4 * out_.heights_before[0].of(vm::Table::processor) + 20'000);
  trials.time = std::max(options_.time / kCheckShare, kCheckMin);
  trials_.emplace(given, std::move(state), trials);
}

bool Tournament::passes(const tasm::Program& program, const Key& key, std::string_view by) {
  const auto read = tasm::assemble(ir::SourceText(tasm::print(program)), tasm::vm_of(program));
  std::string fault = !read                                        ? read.error().message
                      : read->instructions != program.instructions ? "its printed text assembles to another program"
                                                                   : "";
  if (fault.empty() && trials_) {
    const auto [at, fresh] = tried_.try_emplace(key);
    if (fresh) at->second = trials_->difference(program);
    fault = at->second;
  }
  if (fault.empty()) return true;
  fault = std::string(by) + ": " + fault;
  if (std::find(out_.put_aside.begin(), out_.put_aside.end(), fault) == out_.put_aside.end())
    out_.put_aside.push_back(std::move(fault));
  return false;
}

bool Tournament::change(Entrant& at, const tasm::Program& program, Wanted wanted, std::string_view by) {
  if (tasm::same(program, at.program)) return false;
  tell();
  auto cost = scorer_.cost(program);
  if (!cost || !is_wanted(wanted, at.cost.score, cost->score)) return false;
  if (by != kBlocks && !passes(program, cost->key, by)) return false;
  at.program = program;
  at.cost = *std::move(cost);
  return true;
}

void Tournament::blocks(Entrant& at, const Way& way) {
  const Entrant base = at;
  const std::vector<std::uint64_t> executions = scorer_.executions(base.program);
  std::vector<Entry> entries;
  for (const Block& block : tasm::straight_blocks(base.program)) {
    if (over()) break;
    std::vector<Alternative> alternatives;
    for (const Alternative& alternative : alternatives_of(piece_of(base.program, block)))
      if (way.proposers[alternative.proposer]) alternatives.push_back(alternative);
    if (!alternatives.empty()) entries.push_back({block, std::move(alternatives), executions[block.begin], 0});
    tell();
  }
  all_at_once(at, base.program, entries);
  one_by_one(at, base.program, entries);
  if (at.cost.key == base.cost.key) return;
  if (!passes(at.program, at.cost.key, kBlocks)) {
    at = base;
    return;
  }
  for (const Entry& entry : entries) {
    if (entry.chosen == 0) continue;
    const Alternative& chosen = entry.alternatives[entry.chosen - 1];
    const auto piece = piece_of(base.program, entry.block);
    ++at.won[chosen.proposer];
    at.changes.push_back(
        {entry.block, proposers_[chosen.proposer].name, Instructions(piece.begin(), piece.end()), chosen.instructions});
  }
}

const std::vector<Alternative>& Tournament::alternatives_of(std::span<const Instruction> piece) {
  std::vector<std::uint64_t> key;
  for (const Instruction& i : piece) key.push_back(static_cast<std::uint64_t>(i.op)), key.push_back(i.argument.value());
  const auto [at, fresh] = known_.try_emplace(std::move(key));
  if (!fresh) return at->second;
  for (std::size_t p = 0; p < proposers_.size(); ++p) {
    for (Instructions& proposal : proposers_[p].propose(piece)) {
      Tally& tally = out_.tallies[p];
      ++tally.proposed;
      if (std::equal(proposal.begin(), proposal.end(), piece.begin(), piece.end())) continue;
      const equiv::Answer answer = equiv::decide(piece, proposal).answer;
      ++(answer == equiv::Answer::equal     ? tally.equal
         : answer == equiv::Answer::differs ? tally.differ
                                            : tally.unknown);
      if (answer == equiv::Answer::equal) at->second.push_back({std::move(proposal), p});
    }
  }
  const auto& all = at->second;
  const auto shortest = std::min_element(all.begin(), all.end(), [](const Alternative& a, const Alternative& b) {
    return tasm::words(a.instructions) < tasm::words(b.instructions);
  });
  const Instructions block(piece.begin(), piece.end());
  const bool better = shortest != all.end() && tasm::words(shortest->instructions) < tasm::words(block);
  out_.studied.push_back({block, better ? shortest->instructions : block});
  return at->second;
}

void Tournament::all_at_once(Entrant& at, const tasm::Program& base, std::vector<Entry>& entries) {
  const std::vector<superopt::Weights> measures = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 1, 0}, {1, 0, 1}};
  std::vector<std::size_t> winner(entries.size());
  for (const superopt::Weights& measure : measures) {
    if (over()) break;
    for (Entry& entry : entries) choose(entry, piece_of(base, entry.block), measure);
    if (!change(at, with_choices(base, entries), Wanted::cheaper, kBlocks)) continue;
    std::transform(entries.begin(), entries.end(), winner.begin(), [](const Entry& entry) { return entry.chosen; });
  }
  for (std::size_t i = 0; i < entries.size(); ++i) entries[i].chosen = winner[i];
}

void Tournament::one_by_one(Entrant& at, const tasm::Program& base, std::vector<Entry>& entries) {
  std::vector<std::size_t> order(entries.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return entries[a].executions > entries[b].executions; });
  for (bool better = true; better && !over();) {
    better = false;
    for (const std::size_t i : order) {
      const std::size_t kept = entries[i].chosen;
      std::size_t best = kept;
      for (std::size_t choice = 0; choice <= entries[i].alternatives.size() && !over(); ++choice) {
        if (choice == kept) continue;
        entries[i].chosen = choice;
        if (change(at, with_choices(base, entries), Wanted::cheaper, kBlocks)) best = choice, better = true;
      }
      entries[i].chosen = best;
    }
  }
}

void Tournament::outlines(Entrant& at) {
  tasm::Program program = at.program;
  for (std::size_t i = 0; i < kOutlinesMax && !over(); ++i) {
    tasm::Program next = shape::outline_one(program);
    if (tasm::same(next, program)) return;
    program = std::move(next);
    if (change(at, program, Wanted::power_of_two, kShared)) at.subroutine_changes.emplace_back(kShared);
  }
}

}  // namespace

Proposer superoptimiser(std::function<bool()> stop) {
  superopt::Options options;
  options.stop = std::move(stop);
  return {"superoptimiser",
          [options](std::span<const Instruction> block) { return superopt::propose(block, options); }};
}

Result<Outcome> optimise(const tasm::Program& program, std::span<const vm::Inputs> samples,
                         std::span<const Proposer> proposers, const Options& options) {
  return Tournament(samples, proposers, options).run(program);
}

}  // namespace trident::tir::tournament
