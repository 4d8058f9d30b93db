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
constexpr int kCheckShare = 10, kPlainShare = 4;
/// Shares of the time that is left, as divisors: for one way with proposers; for choosing among a way's proposals; for
/// the stages after blocks; for the proposals for one block.
constexpr int kWayShare = 2, kChoiceShare = 4, kOutlineShare = 5, kBlockShare = 2;
constexpr std::chrono::milliseconds kCheckMin{50};
constexpr std::string_view kBlocks = "blocks", kPeepholes = "peepholes", kUnreachable = "unreachable",
                           kShared = "shared";

struct Alternative {
  Instructions instructions;
  std::size_t proposer;
};
/// The proposals for a block, wherever it stands.
struct Known {
  Instructions block;
  std::vector<bool> asked;  ///< per proposer
  std::vector<Alternative> alternatives{};
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
  std::size_t start;  ///< 0: the given program; else one of the other starts
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

/// Returns the shortest proven form of a block beside it.
Studied studied(const Known& known) {
  const auto& all = known.alternatives;
  const auto shortest = std::min_element(all.begin(), all.end(), [](const Alternative& a, const Alternative& b) {
    return tasm::words(a.instructions) < tasm::words(b.instructions);
  });
  const bool better = shortest != all.end() && tasm::words(shortest->instructions) < tasm::words(known.block);
  return {known.block, better ? shortest->instructions : known.block};
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

  /// Ends the current stage when a share of the time until `end` is over.
  void stop_at_share_of(std::chrono::steady_clock::time_point end, int share, int of) {
    const auto now = std::chrono::steady_clock::now();
    until_ = now + std::max(end - now, {}) * share / of;
  }

  /// Lists every combination of the stages and proposers in the order in which they are gone.
  [[nodiscard]] std::vector<Way> ways() const;
  void go(const Way& way);

  /// Takes those of the other starts that pass the second check.
  void admit_other_starts();

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

  /// Lists the blocks that have alternatives. Asks for those that run most first, while time is left.
  std::vector<Entry> entries_of(const tasm::Program& program, const Way& way);
  /// Returns the proven proposals for a block. Each proposer of the way is asked once, even if the block comes again.
  const std::vector<Alternative>& alternatives_of(std::span<const Instruction> piece, const Way& way);
  void ask(std::size_t proposer, Known& known);

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
  std::vector<Entrant> starts_;  ///< the given program first
  Entrant best_;
  std::map<Key, std::string> tried_;  ///< differences found, empty if none
  std::map<std::vector<std::uint64_t>, Known> known_;
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
  best_ = {given, std::move(cost), {}, {}, std::vector<std::size_t>(proposers_.size())};
  starts_ = {best_};
  prepare_trials(given);
  admit_other_starts();
  for (const Way& way : ways()) {
    if (way.proposes())
      stop_at_share_of(end_, 1, kWayShare);
    else
      until_ = proposers_.empty() ? end_ : begin_ + options_.time / kPlainShare;
    if (!over()) go(way);
  }
  return outcome();
}

std::vector<Way> Tournament::ways() const {
  const std::uint32_t all = (1u << proposers_.size()) - 1;
  std::vector<Way> out;
  const auto add = [&](std::uint32_t proposers) {
    std::vector<bool> chosen;
    for (std::size_t p = 0; p < proposers_.size(); ++p) chosen.push_back((proposers >> p & 1) != 0);
    for (const bool subroutines : {true, false}) {
      if (subroutines && !options_.subroutines) continue;
      if (options_.peepholes) out.push_back({0, true, subroutines, chosen});
      for (std::size_t start = starts_.size(); start-- > 0;) out.push_back({start, false, subroutines, chosen});
    }
  };
  add(0);
  for (const std::uint32_t first : {0u, 1u})
    for (std::uint32_t proposers = all; proposers > 0; --proposers)
      if ((proposers & 1) == first) add(proposers);
  return out;
}

void Tournament::go(const Way& way) {
  Entrant at = starts_[way.start];
  if (way.subroutines && change(at, shape::reachable(at.program), Wanted::not_dearer, kUnreachable))
    at.subroutine_changes.emplace_back(kUnreachable);
  if (way.peepholes) change(at, peepholes_.of(at.program), Wanted::as_cheap, kPeepholes);
  if (way.subroutines) subroutines(at, way);
  if (way.proposes()) {
    const auto end = until_;
    if (way.subroutines) stop_at_share_of(end, kOutlineShare - 1, kOutlineShare);
    if (!over()) blocks(at, way);
    until_ = end;
  }
  if (way.subroutines) outlines(at);
  const Cost& given = starts_.front().cost;
  const bool first = best_.cost.key == given.key;
  if (never_taller(given, at.cost) &&
      is_wanted(first ? Wanted::as_cheap : Wanted::cheaper, best_.cost.score, at.cost.score))
    best_ = std::move(at);
}

Outcome Tournament::outcome() {
  if (const auto cost = scorer_.cost_alone(best_.program); cost && never_taller(starts_.front().cost, *cost))
    best_.cost = *cost;
  else
    best_ = starts_.front();
  for (std::size_t p = 0; p < proposers_.size(); ++p) out_.tallies[p].won = best_.won[p];
  out_.program = std::move(best_.program);
  out_.after = best_.cost.score;
  out_.heights_after = std::move(best_.cost.heights);
  out_.subroutine_changes = std::move(best_.subroutine_changes);
  out_.changes = std::move(best_.changes);
  for (const auto& [key, known] : known_) out_.studied.push_back(studied(known));
  out_.scored = scorer_.scored();
  out_.looks_at_digest = trials_ && trials_->looks_at_digest();
  return std::move(out_);
}

void Tournament::admit_other_starts() {
  for (const tasm::Program& program : options_.other_starts) {
    auto cost = scorer_.cost(program);
    if (!cost || !passes(program, cost->key, kPeepholes)) continue;
    starts_.push_back(best_);
    starts_.back().program = program;
    starts_.back().cost = *std::move(cost);
  }
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
  std::vector<Entry> entries = entries_of(base.program, way);
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

std::vector<Entry> Tournament::entries_of(const tasm::Program& program, const Way& way) {
  const std::vector<std::uint64_t> executions = scorer_.executions(program);
  std::vector<Entry> entries;
  for (const Block& block : tasm::straight_blocks(program)) entries.push_back({block, {}, executions[block.begin], 0});
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) { return a.executions > b.executions; });
  const auto end = until_;
  stop_at_share_of(end, kChoiceShare - 1, kChoiceShare);
  for (Entry& entry : entries)
    for (const Alternative& alternative : alternatives_of(piece_of(program, entry.block), way))
      if (way.proposers[alternative.proposer]) entry.alternatives.push_back(alternative);
  until_ = end;
  std::erase_if(entries, [](const Entry& entry) { return entry.alternatives.empty(); });
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.block.begin < b.block.begin; });
  return entries;
}

const std::vector<Alternative>& Tournament::alternatives_of(std::span<const Instruction> piece, const Way& way) {
  std::vector<std::uint64_t> key;
  for (const Instruction& i : piece) key.push_back(static_cast<std::uint64_t>(i.op)), key.push_back(i.argument.value());
  Known& known = known_[std::move(key)];
  if (known.asked.empty()) known = {Instructions(piece.begin(), piece.end()), std::vector<bool>(proposers_.size())};
  for (std::size_t p = 0; p < proposers_.size(); ++p)
    if (way.proposers[p] && !known.asked[p] && !over()) ask(p, known);
  return known.alternatives;
}

void Tournament::ask(std::size_t proposer, Known& known) {
  known.asked[proposer] = true;
  const auto end = until_;
  stop_at_share_of(end, 1, kBlockShare);
  const auto stop = [this] { return tell(), stopped_ || std::chrono::steady_clock::now() >= until_; };
  std::vector<Instructions> proposals = proposers_[proposer].propose(known.block, stop);
  until_ = end;
  Tally& tally = out_.tallies[proposer];
  for (Instructions& proposal : proposals) {
    ++tally.proposed;
    if (proposal == known.block) continue;
    const equiv::Answer answer = equiv::decide(known.block, proposal).answer;
    ++(answer == equiv::Answer::equal ? tally.equal : answer == equiv::Answer::differs ? tally.differ : tally.unknown);
    if (answer == equiv::Answer::equal) known.alternatives.push_back({std::move(proposal), proposer});
  }
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

Proposer superoptimiser() {
  return {"superoptimiser", [](std::span<const Instruction> block, const Stop& stop) {
            superopt::Options options;
            options.stop = stop;
            return superopt::propose(block, options);
          }};
}

Result<Outcome> optimise(const tasm::Program& program, std::span<const vm::Inputs> samples,
                         std::span<const Proposer> proposers, const Options& options) {
  return Tournament(samples, proposers, options).run(program);
}

}  // namespace trident::tir::tournament
