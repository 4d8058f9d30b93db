#include "jit/tir/tournament/tournament.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "jit/tir/equiv/equiv.h"
#include "jit/tir/equiv/trials.h"
#include "jit/tir/superopt/superopt.h"
#include "jit/tir/tasm/blocks.h"
#include "jit/tir/tournament/proven_peepholes.h"

namespace trident::tir::tournament {
namespace {

using tasm::Block;
using tasm::Instruction;

constexpr std::size_t kOutlinesMax = 12;
constexpr int kCheckShare = 10;  ///< of the time, for the second check, as a divisor
constexpr std::chrono::milliseconds kCheckMin{50};
constexpr std::string_view kBlocks = "blocks";

struct Alternative {
  Instructions instructions;
  std::size_t proposer;
};
/// A block with its proven alternatives.
struct Entry {
  Block block;
  const std::vector<Alternative>* alternatives;
  std::uint64_t executions = 0;
  std::size_t chosen = 0;  ///< 0: as it is; else alternative chosen - 1
};

class Tournament {
 public:
  Tournament(std::span<const vm::Inputs> samples, std::span<const Proposer> proposers, const Options& options)
      : samples_(samples),
        scorer_(samples, options.budget),
        proposers_(proposers),
        options_(options),
        end_(std::chrono::steady_clock::now() + options.time - options.time / kCheckShare),
        peepholes_(options.time / 4, [this] { return tell(), stopped_; }) {
    for (const Proposer& p : proposers) out_.tallies.push_back({p.name});
  }

  Result<Outcome> run(const tasm::Program& given) {
    TRY(out_.before, scorer_.begin(given));
    out_.heights_before = out_.heights_after = scorer_.heights();
    best_ = given;
    score_ = out_.before;
    prepare_trials(given);
    if (options_.peepholes)
      if (const tasm::Program shorter = peepholes_of(given); !tasm::same(shorter, given))
        consider(shorter, "peepholes", true);
    out_.peephole = score_;
    if (options_.subroutines) subroutines();
    if (!proposers_.empty() && !over()) blocks();
    if (options_.subroutines) outlines();
    out_.program = std::move(best_);
    out_.after = score_;
    out_.scored = scorer_.scored();
    out_.looks_at_digest = trials_ && trials_->looks_at_digest();
    return std::move(out_);
  }

 private:
  [[nodiscard]] bool over() const {
    return stopped_ || scorer_.scored() >= options_.scores_max || std::chrono::steady_clock::now() >= end_;
  }
  void tell() {
    if (!options_.progress) return;
    const double by_count = static_cast<double>(scorer_.scored()) / static_cast<double>(options_.scores_max);
    const auto left = std::chrono::duration<double>(end_ - std::chrono::steady_clock::now());
    const double by_time = 1 - left / std::chrono::duration<double>(options_.time);
    stopped_ = !options_.progress(std::min(1.0, std::max(by_count, by_time)));
  }

  /// On the first sample and what can be made of it. A run may be a few times as long as that of the sample.
  void prepare_trials(const tasm::Program& given) {
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
  /// The second check.
  bool passes(const tasm::Program& program, std::string_view by) {
    const auto read = tasm::assemble(ir::SourceText(tasm::print(program)), tasm::vm_of(program));
    std::string fault = !read                                        ? read.error().message
                        : read->instructions != program.instructions ? "its text is another program"
                                                                     : "";
    if (fault.empty() && trials_) fault = trials_->difference(program);
    if (!fault.empty()) out_.put_aside.push_back(std::string(by) + ": " + fault);
    return fault.empty();
  }

  /// Keeps the program if it is better, or as good in what counts when `equal_too`, and passes the second check. The
  /// choice of proven blocks is checked as a whole, at its end.
  bool consider(const tasm::Program& program, std::string_view by, bool equal_too = false) {
    tell();
    const auto score = scorer_.score(program);
    if (!score || !(*score < score_ || (equal_too && *score == score_))) return false;
    std::vector<vm::Heights> heights = scorer_.heights();
    if (by != kBlocks && !passes(program, by)) return false;
    best_ = program;
    score_ = *score;
    out_.heights_after = std::move(heights);
    return true;
  }

  void subroutines() {
    for (const shape::ChangeRow& change : options_.changes) {
      if (over()) return;
      const tasm::Program changed = peepholes_of(change.apply(best_));
      if (tasm::same(changed, best_)) continue;
      if (consider(changed, change.name)) out_.subroutine_changes.emplace_back(change.name);
    }
  }
  [[nodiscard]] tasm::Program peepholes_of(const tasm::Program& program) {
    return options_.peepholes ? peepholes_.of(program) : program;
  }

  // --- blocks ---

  void blocks() {
    const tasm::Program base = best_;
    scorer_.score(base);
    const std::vector<std::uint64_t> executions = scorer_.executions();
    std::vector<Entry> entries;
    for (const Block& block : tasm::straight_blocks(base)) {
      if (over()) break;
      const auto piece = std::span(base.instructions).subspan(block.begin, block.size());
      const auto& alternatives = alternatives_of(piece);
      if (!alternatives.empty()) entries.push_back({block, &alternatives, executions[block.begin], 0});
      tell();
    }
    const Score score_before = score_;
    const std::vector<vm::Heights> heights_before = out_.heights_after;
    all_at_once(base, entries);
    one_by_one(base, entries);
    if (score_ < score_before && !passes(best_, kBlocks)) {
      best_ = base;
      score_ = score_before;
      out_.heights_after = heights_before;
      return;
    }
    for (const Entry& entry : entries) {
      if (entry.chosen == 0) continue;
      const Alternative& chosen = (*entry.alternatives)[entry.chosen - 1];
      const auto piece = std::span(base.instructions).subspan(entry.block.begin, entry.block.size());
      ++out_.tallies[chosen.proposer].won;
      out_.changes.push_back({entry.block, proposers_[chosen.proposer].name, Instructions(piece.begin(), piece.end()),
                              chosen.instructions});
    }
  }

  /// What all proposers have for a block, proven. Blocks that are the same are asked about once.
  const std::vector<Alternative>& alternatives_of(std::span<const Instruction> piece) {
    std::vector<std::uint64_t> key;
    for (const Instruction& i : piece)
      key.push_back(static_cast<std::uint64_t>(i.op)), key.push_back(i.argument.value());
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

  [[nodiscard]] static tasm::Program with_choices(const tasm::Program& base, const std::vector<Entry>& entries) {
    std::vector<tasm::Replacement> replacements;
    for (const Entry& entry : entries)
      if (entry.chosen > 0) replacements.push_back({entry.block, (*entry.alternatives)[entry.chosen - 1].instructions});
    return tasm::with_blocks(base, replacements);
  }

  /// Every block by one measure, since single words seldom change a height.
  void all_at_once(const tasm::Program& base, std::vector<Entry>& entries) {
    const std::vector<superopt::Weights> measures = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 1, 0}, {1, 0, 1}};
    std::vector<std::size_t> winner;
    for (const superopt::Weights& measure : measures) {
      if (over()) break;
      for (Entry& entry : entries) {
        const auto piece = std::span(base.instructions).subspan(entry.block.begin, entry.block.size());
        superopt::Weights weights = measure;
        weights.cycle *= static_cast<double>(entry.executions);
        weights.stack_row *= static_cast<double>(entry.executions);
        double least = superopt::cost(piece, weights);
        entry.chosen = 0;
        for (std::size_t a = 0; a < entry.alternatives->size(); ++a) {
          const double cost = superopt::cost((*entry.alternatives)[a].instructions, weights);
          if (cost < least) least = cost, entry.chosen = a + 1;
        }
      }
      if (consider(with_choices(base, entries), kBlocks)) {
        winner.clear();
        for (const Entry& entry : entries) winner.push_back(entry.chosen);
      }
    }
    for (std::size_t i = 0; i < entries.size(); ++i) entries[i].chosen = winner.empty() ? 0 : winner[i];
  }

  /// The blocks that run most first; until nothing gets better.
  void one_by_one(const tasm::Program& base, std::vector<Entry>& entries) {
    std::vector<std::size_t> order(entries.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return entries[a].executions > entries[b].executions; });
    for (bool better = true; better && !over();) {
      better = false;
      for (const std::size_t i : order) {
        const std::size_t kept = entries[i].chosen;
        std::size_t best = kept;
        for (std::size_t choice = 0; choice <= entries[i].alternatives->size() && !over(); ++choice) {
          if (choice == kept) continue;
          entries[i].chosen = choice;
          if (consider(with_choices(base, entries), kBlocks)) best = choice, better = true;
        }
        entries[i].chosen = best;
      }
    }
  }

  // --- repeated instructions ---

  /// One outlining alone can cost more than it saves until the next power of two is reached: the best of the row
  /// counts.
  void outlines() {
    tasm::Program program = best_;
    for (std::size_t i = 0; i < kOutlinesMax && !over(); ++i) {
      tasm::Program next = shape::outline_one(program);
      if (tasm::same(next, program)) return;
      program = std::move(next);
      if (consider(program, "shared")) out_.subroutine_changes.emplace_back("shared");
    }
  }

  std::span<const vm::Inputs> samples_;
  Scorer scorer_;
  std::optional<equiv::Trials> trials_;
  std::span<const Proposer> proposers_;
  const Options& options_;
  std::chrono::steady_clock::time_point end_;
  ProvenPeepholes peepholes_;
  Outcome out_;
  tasm::Program best_;
  Score score_;
  std::map<std::vector<std::uint64_t>, std::vector<Alternative>> known_;
  bool stopped_ = false;
};

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
