#include "jit/tir/superopt/specification.h"

#include <algorithm>
#include <bit>

#include "runtime/base/check.h"

namespace trident::tir::superopt {
namespace {

using tasm::Op;

/// Chains of effects that keep their order.
enum class Stream : std::uint8_t { none, public_input, public_output, secret_words, secret_digests, sponge };
constexpr std::size_t kStreams = 6;

// Holds the values and tasks of a block, as far as it was read.
class Drafts {
 protected:
  struct Draft {
    Task task;
    bool must = false, dropped = false;
    std::vector<std::size_t> after;
  };
  struct Access {
    std::size_t draft;
    bool writes, anywhere;
    Id address, word;
  };

  // --- values ---

  Id fresh(bool u32 = false) {
    if (spec_.values.size() >= kValuesMax) {
      too_large_ = true;
      return kConstants;
    }
    const auto id = static_cast<Id>(spec_.values.size());
    spec_.values.push_back({id, Element(), u32});
    return id;
  }
  Id sum(Id value, Element offset) {
    const Id base = spec_.values[value].base;
    offset += spec_.values[value].offset;
    for (std::size_t i = 0; i < spec_.values.size(); ++i)
      if (spec_.values[i].base == base && spec_.values[i].offset == offset) return static_cast<Id>(i);
    const Id id = fresh(base == kConstants && offset.is_u32());
    if (!too_large_) spec_.values[id].base = base, spec_.values[id].offset = offset;
    return id;
  }
  Id constant(Element e) { return sum(kConstants, e); }
  [[nodiscard]] bool is_constant(Id id) const { return spec_.values[id].base == kConstants; }
  [[nodiscard]] Element value_of(Id id) const { return spec_.values[id].offset; }

  Id pop() {
    const Id top = stack_.back();
    stack_.pop_back();
    return top;
  }
  Id& st(std::uint64_t i) { return stack_[stack_.size() - 1 - i]; }

  // --- tasks ---

  /// Returns the results of a task of `op` on these values; equal tasks without an effect are merged.
  const std::vector<Id>& task(const Instruction& instruction, std::vector<Id> takes, std::size_t results, bool must,
                              Stream stream, bool commutes = false, bool u32 = false) {
    if (commutes && takes[0] > takes[1]) std::swap(takes[0], takes[1]);
    if (stream == Stream::none)
      for (Draft& draft : drafts_)
        if (draft.task.instruction == instruction && draft.task.takes == takes && draft.task.gives.size() == results)
          return draft.task.gives;
    Draft draft;
    draft.task = {instruction, std::move(takes), {}, commutes, 0};
    draft.must = must || stream != Stream::none;
    for (std::size_t i = 0; i < results; ++i) draft.task.gives.push_back(fresh(u32));
    if (stream != Stream::none) {
      auto& last = last_of_[static_cast<std::size_t>(stream)];
      if (last) draft.after.push_back(*last);
      last = drafts_.size();
    }
    drafts_.push_back(std::move(draft));
    return drafts_.back().task.gives;
  }
  void push_all(const std::vector<Id>& top_first) { stack_.insert(stack_.end(), top_first.rbegin(), top_first.rend()); }
  std::vector<Id> pop_all(std::size_t n) {
    std::vector<Id> out;
    for (; n > 0; --n) out.push_back(pop());
    return out;
  }
  /// True if all are known u32. Instructions on u32 fail for other values, so their operands are u32 everywhere else.
  bool all_u32(const std::vector<Id>& ids) const {
    return std::all_of(ids.begin(), ids.end(), [&](Id id) { return spec_.values[id].u32; });
  }
  void mark_u32(const std::vector<Id>& ids) {
    for (const Id id : ids) spec_.values[id].u32 = true;
  }

  // --- RAM ---

  [[nodiscard]] bool same_word(const Access& x, Id address) const { return !x.anywhere && x.address == address; }
  [[nodiscard]] bool may_meet(const Access& x, Id address, bool anywhere) const {
    return anywhere || x.anywhere || spec_.values[x.address].base != spec_.values[address].base || x.address == address;
  }
  /// Makes an access follow the earlier ones that it must not overtake.
  void access(std::size_t draft, bool writes, bool anywhere, Id address, Id word) {
    for (const Access& before : accesses_)
      if ((writes || before.writes) && may_meet(before, address, anywhere))
        drafts_[draft].after.push_back(before.draft);
    accesses_.push_back({draft, writes, anywhere, address, word});
  }
  void reads_anywhere() { access(drafts_.size() - 1, false, true, kConstants, kConstants); }

  Specification spec_;
  std::vector<Id> stack_;
  std::vector<Draft> drafts_;
  std::vector<Access> accesses_;
  std::optional<std::size_t> last_of_[kStreams];
  bool too_large_ = false;
};

// Adds tasks of arithmetic, or computes what is known.
class Arithmetic : protected Drafts {
 protected:
  // --- arithmetic ---

  void add() {
    const Id b = pop(), a = pop();
    if (is_constant(b)) return stack_.push_back(sum(a, value_of(b)));
    if (is_constant(a)) return stack_.push_back(sum(b, value_of(a)));
    push_all(task({Op::kAdd, {}}, {b, a}, 1, false, Stream::none, true));
  }
  void mul() {
    const Id b = pop(), a = pop();
    if (is_constant(a) && is_constant(b)) return stack_.push_back(constant(value_of(a) * value_of(b)));
    for (const auto& [x, y] : {std::pair(a, b), std::pair(b, a)})
      if (is_constant(x)) {
        if (value_of(x).is_zero()) return stack_.push_back(x);
        if (value_of(x) == field::kOne) return stack_.push_back(y);
        if (const auto folded = scaled(y, value_of(x))) return stack_.push_back(*folded);
      }
    push_all(task({Op::kMul, {}}, {b, a}, 1, false, Stream::none, true));
  }
  /// Returns x * c * d as x * (c d), if `value` is x * c.
  std::optional<Id> scaled(Id value, Element factor) {
    for (std::size_t i = 0; i < drafts_.size(); ++i) {
      const Task& made = drafts_[i].task;
      if (made.instruction.op != Op::kMul || made.gives[0] != value) continue;
      for (const int k : {0, 1}) {
        if (!is_constant(made.takes[static_cast<std::size_t>(k)])) continue;
        const Element product = value_of(made.takes[static_cast<std::size_t>(k)]) * factor;
        const Id x = made.takes[static_cast<std::size_t>(1 - k)];
        if (product == field::kOne) return x;
        return task({Op::kMul, {}}, {x, constant(product)}, 1, false, Stream::none, true)[0];
      }
    }
    return {};
  }
  void eq() {
    const Id b = pop(), a = pop();
    if (spec_.values[a].base == spec_.values[b].base)
      return stack_.push_back(constant(Element(value_of(a) == value_of(b) ? 1 : 0)));
    push_all(task({Op::kEq, {}}, {b, a}, 1, false, Stream::none, true, true));
  }
  void split() {
    const Id a = pop();
    const std::uint64_t v = value_of(a).value();
    if (is_constant(a)) return push_all({constant(Element(v & 0xffff'ffff)), constant(Element(v >> 32))});
    if (spec_.values[a].u32) return push_all({a, constant(Element())});
    push_all(task({Op::kSplit, {}}, {a}, 2, false, Stream::none, false, true));
  }
  void u32_pair(Op op) {
    const std::vector<Id> takes = pop_all(2);
    const bool safe = all_u32(takes);
    const bool known = is_constant(takes[0]) && is_constant(takes[1]) && safe;
    const std::uint64_t a = value_of(takes[0]).value(), b = value_of(takes[1]).value();
    if (known)
      return stack_.push_back(constant(Element(op == Op::kLt ? std::uint64_t{a < b} : op == Op::kAnd ? a & b : a ^ b)));
    push_all(task({op, {}}, takes, 1, !safe, Stream::none, op != Op::kLt, true));
    mark_u32(takes);
  }
  void u32_single(Op op) {
    const Id a = pop();
    const bool safe = spec_.values[a].u32, zero = value_of(a).is_zero();
    const std::uint64_t v = value_of(a).value();
    if (is_constant(a) && safe && (op == Op::kPopCount || !zero))
      return stack_.push_back(constant(
          Element(static_cast<std::uint64_t>(op == Op::kPopCount ? std::popcount(v) : std::bit_width(v) - 1))));
    push_all(task({op, {}}, {a}, 1, !safe || op == Op::kLog2Floor, Stream::none, false, true));
    mark_u32({a});
  }
  void pow() {
    const std::vector<Id> takes = pop_all(2);
    const bool safe = spec_.values[takes[1]].u32;
    if (safe && is_constant(takes[0]) && is_constant(takes[1]))
      return stack_.push_back(constant(power(value_of(takes[0]), value_of(takes[1]).value())));
    push_all(task({Op::kPow, {}}, takes, 1, !safe, Stream::none));
    mark_u32({takes[1]});
  }
  void div_mod() {
    const std::vector<Id> takes = pop_all(2);  // n, d
    const bool safe = all_u32(takes) && is_constant(takes[1]) && !value_of(takes[1]).is_zero();
    const std::uint64_t n = value_of(takes[0]).value(), d = value_of(takes[1]).value();
    if (safe && is_constant(takes[0])) return push_all({constant(Element(n % d)), constant(Element(n / d))});
    push_all(task({Op::kDivMod, {}}, takes, 2, !safe, Stream::none, false, true));
    mark_u32(takes);
  }
  void invert() {
    const Id a = pop();
    if (is_constant(a) && !value_of(a).is_zero()) return stack_.push_back(constant(inverse(value_of(a))));
    push_all(task({Op::kInvert, {}}, {a}, 1, true, Stream::none));
  }
  void assert_one() {
    const Id a = pop();
    if (is_constant(a) && value_of(a) == field::kOne) return;
    task({Op::kAssert, {}}, {a}, 0, true, Stream::none);
  }
  void assert_vector() {
    std::vector<Id> takes = pop_all(10);
    const std::vector<Id> kept(takes.begin() + 5, takes.end());
    if (std::equal(kept.begin(), kept.end(), takes.begin())) return push_all(kept);
    for (const Draft& draft : drafts_)
      if (draft.task.instruction.op == Op::kAssertVector && draft.task.takes == takes) return push_all(kept);
    Draft draft;
    draft.task = {{Op::kAssertVector, {}}, std::move(takes), kept, false, 0};
    draft.must = true;
    drafts_.push_back(std::move(draft));
    push_all(kept);
  }
};

class Specifier : private Arithmetic {
 public:
  std::optional<Specification> specify(std::span<const Instruction> block) {
    spec_.values.push_back({kConstants, Element(), true});
    measure(block);
    if (depth_ > static_cast<int>(kStackMax)) return {};
    for (int i = 0; i < depth_; ++i) {
      stack_.push_back(fresh());
      spec_.before.push_back(stack_.back());
    }
    for (const Instruction& instruction : block) {
      step(instruction);
      if (too_large_ || stack_.size() > kStackMax) return {};
    }
    spec_.after = stack_;
    drop_unused();
    if (!compact()) return {};
    return std::move(spec_);
  }

 private:
  /// Finds how far down the block reaches, and how low the stack gets.
  void measure(std::span<const Instruction> block) {
    int height = 0, lowest = 0;
    for (const Instruction& instruction : block) {
      const auto takes = static_cast<int>(tasm::row(instruction.op).takes.of(instruction.argument_of_amounts()));
      depth_ = std::max(depth_, takes - height);
      height += instruction.stack_change();
      lowest = std::min(lowest, height);
    }
    spec_.lowest = static_cast<std::uint32_t>(depth_ + lowest);
  }
  void read_word() {
    const Id p = pop();
    std::optional<Id> word;
    for (std::size_t i = accesses_.size(); i-- > 0 && !word;) {
      if (same_word(accesses_[i], p)) word = accesses_[i].word;
      if (accesses_[i].writes && may_meet(accesses_[i], p, false)) break;
    }
    const Id next = sum(p, field::kMinusOne);
    if (!word) {
      Draft draft;
      word = fresh();
      draft.task = {{Op::kReadMem, field::kOne}, {p}, {next, *word}, false, 0};
      drafts_.push_back(std::move(draft));
      access(drafts_.size() - 1, false, false, p, *word);
    }
    stack_.push_back(*word);
    stack_.push_back(next);
  }
  void write_word() {
    const Id p = pop(), word = pop(), next = sum(p, field::kOne);
    // A word that is overwritten before any access can read it need not be stored.
    for (std::size_t i = accesses_.size(); i-- > 0;) {
      if (same_word(accesses_[i], p) && accesses_[i].writes) {
        drafts_[accesses_[i].draft].dropped = true;
        accesses_.erase(accesses_.begin() + static_cast<std::ptrdiff_t>(i));
        break;
      }
      if (!accesses_[i].writes && may_meet(accesses_[i], p, false)) break;
    }
    Draft draft;
    draft.task = {{Op::kWriteMem, field::kOne}, {p, word}, {next}, false, 0};
    draft.must = true;
    drafts_.push_back(std::move(draft));
    access(drafts_.size() - 1, true, false, p, word);
    stack_.push_back(next);
  }

  /// Makes results that are operands or their sums with a constant; the others are fresh.
  void shaped(const Instruction& instruction, std::size_t takes, bool must, Stream stream,
              const std::vector<std::pair<std::size_t, std::uint64_t>>& sums, bool u32_at_5 = false) {
    std::vector<Id> in = pop_all(takes);
    Draft draft;
    for (std::size_t i = 0; i < takes; ++i) {
      const auto found = std::find_if(sums.begin(), sums.end(), [&](const auto& s) { return s.first == i; });
      draft.task.gives.push_back(found == sums.end() ? fresh(u32_at_5 && i == 5) : sum(in[i], Element(found->second)));
    }
    draft.task.instruction = instruction;
    draft.task.takes = std::move(in);
    draft.must = must;
    if (stream != Stream::none) {
      auto& last = last_of_[static_cast<std::size_t>(stream)];
      if (last) draft.after.push_back(*last);
      last = drafts_.size();
    }
    push_all(draft.task.gives);
    drafts_.push_back(std::move(draft));
  }

  /// Treats an unchanged element as its sum with 0.
  void horner_step(const Instruction& instruction, std::uint64_t moved) {
    shaped(instruction, 10, false, Stream::none, {{0, 0}, {1, 0}, {2, 0}, {3, 0}, {4, 0}, {5, moved}, {6, 0}});
  }

  // --- instructions ---

  void step(const Instruction& instruction);

  // --- the end ---

  /// Drops tasks without effect whose results are not used.
  void drop_unused() {
    std::vector<bool> used(kValuesMax + 1);
    const auto use = [&](Id id) { used[id] = used[spec_.values[id].base] = true; };
    for (const Id id : spec_.after) use(id);
    for (std::size_t i = drafts_.size(); i-- > 0;) {
      Draft& draft = drafts_[i];
      if (!draft.must && !draft.dropped)
        draft.dropped = std::none_of(draft.task.gives.begin(), draft.task.gives.end(),
                                     [&](Id id) { return spec_.values[id].base == id && used[id]; });
      if (draft.dropped) continue;
      for (const Id id : draft.task.takes) use(id);
    }
  }
  bool compact() {
    std::vector<std::size_t> place(drafts_.size());
    for (std::size_t i = 0; i < drafts_.size(); ++i) {
      if (drafts_[i].dropped) continue;
      place[i] = spec_.tasks.size();
      if (spec_.tasks.size() == kTasksMax) return false;
      Task task = std::move(drafts_[i].task);
      for (const std::size_t before : drafts_[i].after)
        if (!drafts_[before].dropped) task.after |= std::uint64_t{1} << place[before];
      spec_.tasks.push_back(std::move(task));
    }
    return !too_large_;
  }

  int depth_ = 0;
};

void Specifier::step(const Instruction& instruction) {
  const std::uint64_t n = instruction.argument_of_amounts();
  const auto plain = [&](std::size_t takes, std::size_t results, bool must = false, Stream stream = Stream::none,
                         bool commutes = false) {
    std::vector<Id> in = pop_all(takes);
    push_all(task({instruction.op, {}}, std::move(in), results, must, stream, commutes));
  };
  const auto words = [&](auto one) {
    for (std::uint64_t i = 0; i < n; ++i) one();
  };
  switch (instruction.op) {
    case Op::kPop: words([&] { pop(); }); return;
    case Op::kPush: stack_.push_back(constant(instruction.argument)); return;
    case Op::kDivine:
      words([&] { push_all(task({Op::kDivine, field::kOne}, {}, 1, true, Stream::secret_words)); });
      return;
    case Op::kPick:
      std::rotate(stack_.end() - 1 - static_cast<int>(n), stack_.end() - static_cast<int>(n), stack_.end());
      return;
    case Op::kPlace: std::rotate(stack_.end() - 1 - static_cast<int>(n), stack_.end() - 1, stack_.end()); return;
    case Op::kDup: stack_.push_back(Id(st(n))); return;
    case Op::kSwap: std::swap(st(0), st(n)); return;
    case Op::kNop: return;
    case Op::kAssert: return assert_one();
    case Op::kReadMem: words([&] { read_word(); }); return;
    case Op::kWriteMem: words([&] { write_word(); }); return;
    case Op::kHash: return plain(10, 5);
    case Op::kAssertVector: return assert_vector();
    case Op::kSpongeInit: return plain(0, 0, true, Stream::sponge);
    case Op::kSpongeAbsorb: return plain(10, 0, true, Stream::sponge);
    case Op::kSpongeAbsorbMem: shaped(instruction, 5, true, Stream::sponge, {{0, 10}}); return reads_anywhere();
    case Op::kSpongeSqueeze: return plain(0, 10, true, Stream::sponge);
    case Op::kAdd: return add();
    case Op::kAddI: st(0) = sum(st(0), instruction.argument); return;
    case Op::kMul: return mul();
    case Op::kInvert: return invert();
    case Op::kEq: return eq();
    case Op::kSplit: return split();
    case Op::kLt:
    case Op::kAnd:
    case Op::kXor: return u32_pair(instruction.op);
    case Op::kLog2Floor:
    case Op::kPopCount: return u32_single(instruction.op);
    case Op::kPow: return pow();
    case Op::kDivMod: return div_mod();
    case Op::kXxAdd:
    case Op::kXxMul: return plain(6, 3);
    case Op::kXInvert: return plain(3, 3, true);
    case Op::kXbMul: return plain(4, 3);
    case Op::kReadIo:
      words([&] { push_all(task({Op::kReadIo, field::kOne}, {}, 1, true, Stream::public_input)); });
      return;
    case Op::kWriteIo:
      words([&] { task({Op::kWriteIo, field::kOne}, {pop()}, 0, true, Stream::public_output); });
      return;
    case Op::kMerkleStep: return shaped(instruction, 6, true, Stream::secret_digests, {}, true);
    case Op::kMerkleStepMem:
      shaped(instruction, 8, true, Stream::none, {{6, 0}, {7, 5}}, true);
      return reads_anywhere();
    case Op::kXxDotStep: shaped(instruction, 5, false, Stream::none, {{0, 3}, {1, 3}}); return reads_anywhere();
    case Op::kXbDotStep: shaped(instruction, 5, false, Stream::none, {{0, 1}, {1, 3}}); return reads_anywhere();
    case Op::kBHornerStep: horner_step(instruction, field::kModulus - 1); return reads_anywhere();
    case Op::kXHornerStep: horner_step(instruction, field::kModulus - 3); return reads_anywhere();
    case Op::kHalt:
    case Op::kSkiz:
    case Op::kCall:
    case Op::kReturn:
    case Op::kRecurse:
    case Op::kRecurseOrReturn: break;  // not in a block
  }
  CHECK(false);
}

}  // namespace

std::optional<Specification> specify(std::span<const Instruction> block) {
  return Specifier().specify(block);
}

}  // namespace trident::tir::superopt
