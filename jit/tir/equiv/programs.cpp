#include "jit/tir/equiv/programs.h"

#include <algorithm>
#include <map>

#include "jit/tir/equiv/program_states.h"
#include "jit/tir/equiv/shrink.h"

namespace trident::tir::equiv {
namespace {

using tasm::Op;

/// A straight block and the control instruction behind it; none at the end of the program.
struct Piece {
  std::size_t begin, end;  ///< range of its straight instructions
  std::optional<Op> control;
  std::size_t target = 0;  ///< index of the piece that a call goes to
  bool may_be_skipped = false;
};

bool is_control(Op op) {
  return (tasm::row(op).effects & tasm::kControl) != 0;
}

/// Splits a program into pieces; none if a call goes to where no instruction begins.
std::optional<std::vector<Piece>> pieces_of(std::span<const Instruction> program) {
  std::map<std::uint64_t, std::size_t> at_address;
  std::uint64_t address = 0;
  for (std::size_t i = 0; i <= program.size(); ++i) {
    at_address[address] = i;
    if (i < program.size()) address += program[i].words();
  }
  std::vector<bool> begins(program.size() + 1);
  std::vector<std::size_t> targets(program.size());
  for (std::size_t i = 0; i < program.size(); ++i) {
    if (program[i].op == Op::kSkiz) {
      begins[i + 1] = true;
      if (i + 2 <= program.size()) begins[i + 2] = true;
    }
    if (program[i].op != Op::kCall) continue;
    const auto found = at_address.find(program[i].argument.value());
    if (found == at_address.end()) return {};
    begins[targets[i] = found->second] = true;
  }
  std::vector<Piece> out;
  std::map<std::size_t, std::size_t> piece_at;
  for (std::size_t i = 0; i <= program.size();) {
    piece_at[i] = out.size();
    Piece piece{i, i, {}};
    piece.may_be_skipped = i > 0 && program[i - 1].op == Op::kSkiz;
    while (i < program.size() && !is_control(program[i].op) && (i == piece.begin || !begins[i])) ++i;
    piece.end = i;
    const bool joined = i == piece.begin || !begins[i];  // else a jump goes between the block and the next instruction
    if (i < program.size() && is_control(program[i].op) && joined) {
      piece.control = program[i].op;
      piece.target = targets[i];
      ++i;
    }
    out.push_back(piece);
    if (i == program.size() && (!piece.control || !begins[i])) break;
  }
  for (Piece& piece : out)
    if (piece.control == Op::kCall) piece.target = piece_at.at(piece.target);
  return out;
}

/// Says why the control flow differs; empty if it does not.
std::string control_difference(const std::vector<Piece>& a, const std::vector<Piece>& b) {
  if (a.size() != b.size()) return "control flow differs: the numbers of blocks differ";
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].control != b[i].control || a[i].target != b[i].target || a[i].may_be_skipped != b[i].may_be_skipped)
      return "control flow differs after block " + std::to_string(i);
    // A skiz skips one instruction: a block behind it must be one.
    const auto one = [](const Piece& p) { return p.end - p.begin + (p.control ? 1 : 0) == 1; };
    if (a[i].may_be_skipped && (!one(a[i]) || !one(b[i])))
      return "the numbers of instructions after skiz differ, in block " + std::to_string(i);
  }
  return "";
}

bool writes(const Instruction& i) {
  return (tasm::row(i.op).effects & tasm::kPublicOutput) != 0;
}

/// Decides as decide(). Blocks that write are also decided piece by piece between writes: only then has a failing run
/// written the same output before.
Decision decide_in_order(Block p, Block q, const Options& options) {
  Decision out = decide(p, q, options);
  if (out.answer != Answer::equal || std::none_of(p.begin(), p.end(), writes)) return out;
  const Decision unknown = {Answer::unknown, 0, "a failing run may have written other output before it failed", {}};
  while (true) {
    const auto i = std::find_if(p.begin(), p.end(), writes), j = std::find_if(q.begin(), q.end(), writes);
    if ((i == p.end()) != (j == q.end()) || (i != p.end() && *i != *j)) return unknown;
    const Decision piece = decide(Block(p.begin(), i), Block(q.begin(), j), options);
    if (piece.answer != Answer::equal) return unknown;
    out.error_bound += piece.error_bound;
    if (i == p.end()) return out;
    p = Block(i + 1, p.end()), q = Block(j + 1, q.end());
  }
}

/// Compares block by block: equal, or a reason why that is not known.
Comparison compare_blocks(const tasm::Program& a, const tasm::Program& b, std::uint64_t seed) {
  Comparison out;
  const auto x = pieces_of(a.instructions), y = pieces_of(b.instructions);
  if (!x || !y) {
    out.reason = "a call goes to where no instruction begins";
    return out;
  }
  out.reason = control_difference(*x, *y);
  Options options;
  options.seed = seed;
  for (std::size_t i = 0; out.reason.empty() && i < x->size(); ++i) {
    const auto block = [](const tasm::Program& program, const Piece& piece) {
      return Block(program.instructions).subspan(piece.begin, piece.end - piece.begin);
    };
    const Block p = block(a, (*x)[i]), q = block(b, (*y)[i]);
    if (std::equal(p.begin(), p.end(), q.begin(), q.end())) continue;
    const Decision decision = decide_in_order(p, q, options);
    out.error_bound += decision.error_bound;
    if (decision.answer != Answer::equal)
      out.reason = "block " + std::to_string(i) +
                   (decision.answer == Answer::differs ? " differs: " : " is not proven equal: ") + decision.reason;
  }
  if (out.reason.empty()) out.answer = Answer::equal;
  return out;
}

/// Says what differs; empty if nothing does.
std::string difference_of(Pair& pair, const State& state) {
  const std::string difference = pair.difference(state);
  if (pair.both_failed() && !pair.same_output()) return "both fail, but with different output before";
  return difference;
}

}  // namespace

Comparison compare(const tasm::Program& a, const tasm::Program& b, const Samples& samples) {
  Comparison out = compare_blocks(a, b, samples.seed);
  Pair pair(a.instructions, b.instructions, samples.cycles, Pair::Limit::kept);
  if (!pair.runnable()) {
    out.answer = Answer::unknown;
    out.reason = "a call goes to where no instruction begins";
    return out;
  }
  States source(samples.seed, a.instructions, b.instructions, tasm::kRegisters);
  Random random(samples.seed);
  State given = samples.given;
  if (given.stack.size() < tasm::kRegisters) given.stack.resize(tasm::kRegisters);
  const bool has_inputs =
      !given.public_input.empty() || !given.secret_input.empty() || !given.secret_digests.empty() || !given.ram.empty();
  for (unsigned i = 0; i < samples.count && (!samples.goes_on || samples.goes_on(i, samples.count)); ++i) {
    State state = i == 0                     ? given
                  : has_inputs && i % 2 == 0 ? changed(given, source, random)
                                             : made(given, source, random);
    const bool differs = !difference_of(pair, state).empty();
    ++out.samples;
    out.failed += pair.both_failed() ? 1 : 0;
    out.undecided += pair.undecided() ? 1 : 0;
    if (!differs) continue;
    out.answer = Answer::differs;
    out.error_bound = 0;
    out.witness = shrunk(std::move(state), [&](const State& s) { return !difference_of(pair, s).empty(); });
    out.reason = difference_of(pair, out.witness);
    return out;
  }
  return out;
}

}  // namespace trident::tir::equiv
