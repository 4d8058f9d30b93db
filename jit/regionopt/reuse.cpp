// A forward analysis. The number of an element is a *form*: what a variable holds now, or an instruction has made, plus
// a constant. Facts at the start of a block are those on which all ways into it agree:
//
//   checked   an element with this form lies inside its window
//   reach     so many bytes of a window are there, as constant forms have told
//   read      the element with this form holds what an instruction has made; gone with a store that may change it
//
// Where a variable becomes itself plus a constant, the forms that name it move. A value that is read in a later block
// travels in a variable of its own. That is never alive where control comes back to the head of a loop: code that does
// many rounds at once (bulk_loop.h) would have to set it.
#include "jit/regionopt/reuse.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "runtime/base/limits.h"

namespace trident::regionopt {
namespace {

using region::Flow;
using region::Inst;
using region::Op;
using region::Type;
using region::Value;

/// Time grows with the square of these.
constexpr std::size_t kInstsMax = 4096, kBlockInstsMax = 1024, kFactsMax = 64;
/// More variables would take the registers of others.
constexpr std::size_t kCarriedMax = 8;
constexpr std::uint32_t kAbsent = ~0u;

/// `base` plus `k`, which wraps. Bases: none, the variables, the instructions of the block at hand.
struct Form {
  std::uint32_t base = kAbsent;
  std::uint64_t k = 0;
  friend bool operator==(const Form&, const Form&) = default;
};

struct Element {
  std::uint32_t window = 0;
  std::uint8_t bytes = 0;
  Form form;
  friend bool operator==(const Element&, const Element&) = default;
};

struct Read {
  Element element;
  Type type = Type::i64;
  std::uint32_t source = 0;  ///< instruction
  friend bool operator==(const Read&, const Read&) = default;
};

struct Facts {
  std::vector<Element> checked;
  std::vector<Read> reads;
  std::vector<std::uint64_t> reach;  ///< by window

  template <class Visit>
  void for_forms(const Visit& visit) {
    for (Element& e : checked) visit(e.form);
    for (Read& r : reads) visit(r.element.form);
  }
};

template <class T>
bool contains(const std::vector<T>& list, const T& wanted) {
  return std::find(list.begin(), list.end(), wanted) != list.end();
}

template <class T>
void add(std::vector<T>& list, const T& fact) {
  if (list.size() < kFactsMax && !contains(list, fact)) list.push_back(fact);
}

class Analysis {
 public:
  std::vector<bool> held;              ///< by instruction: an access that cannot miss
  std::vector<std::uint32_t> sources;  ///< by instruction: of a load, who has made what it reads; else kAbsent

  explicit Analysis(const region::Region& region)
      : held(region.insts.size(), false),
        sources(region.insts.size(), kAbsent),
        region_(region),
        at_start_(region.blocks.size()),
        is_head_(region.blocks.size(), false) {}

  void run() {
    find_heads();
    at_start_[0] = nothing();
    // Facts only get fewer, so this ends.
    for (changed_ = true; changed_;) {
      changed_ = false;
      for (std::uint32_t b = 0; b < region_.blocks.size(); ++b)
        if (at_start_[b]) walk(b);
    }
  }

 private:
  [[nodiscard]] Facts nothing() const { return {{}, {}, std::vector<std::uint64_t>(region_.windows, 0)}; }

  void find_heads() {
    for (std::uint32_t b = 0; b < region_.blocks.size(); ++b) {
      const region::Block& block = region_.blocks[b];
      const auto goes_to = [&](std::uint32_t target) {
        if (target <= b) is_head_[target] = true;
      };
      if (block.end.flow != Flow::exit) goes_to(block.end.then);
      if (block.end.flow == Flow::branch) goes_to(block.end.otherwise);
    }
  }

  void walk(std::uint32_t number) {
    const region::Block& block = region_.blocks[number];
    now_ = *at_start_[number];
    first_ = block.first;
    forms_.clear();
    for (std::uint32_t i = block.first; i < block.last; ++i) {
      forms_.push_back(form_made(i));
      if (region_.insts[i].op == Op::Access) access(i);
      if (region_.insts[i].op == Op::Load) load(i);
      if (region_.insts[i].op == Op::Store) store(i);
      if (region_.insts[i].op == Op::Set) set(region_.insts[i]);
    }
    const auto is_local = [&](const Form& form) {
      return form.base != kAbsent && form.base >= region_.variables.size();
    };
    std::erase_if(now_.checked, [&](const Element& e) { return is_local(e.form); });
    std::erase_if(now_.reads, [&](const Read& r) { return is_local(r.element.form); });
    if (block.end.flow == Flow::exit) return;
    arrive(block.end.then, now_);
    if (block.end.flow == Flow::branch) arrive(block.end.otherwise, now_);
  }

  Form& form_of(Value v) { return forms_[v.index - first_]; }
  [[nodiscard]] Form own_form(std::uint32_t inst) const {
    return {static_cast<std::uint32_t>(region_.variables.size()) + inst, 0};
  }

  Form form_made(std::uint32_t index) {
    const Inst& inst = region_.insts[index];
    if (inst.type != Type::i64) return own_form(index);
    if (inst.op == Op::Constant) return {kAbsent, inst.imm};
    if (inst.op == Op::Get) return {static_cast<std::uint32_t>(inst.imm), 0};
    if (inst.op != Op::Add && inst.op != Op::Sub) return own_form(index);
    const Form a = form_of(inst.a), b = form_of(inst.b);
    if (b.base == kAbsent) return {a.base, inst.op == Op::Add ? a.k + b.k : a.k - b.k};
    if (a.base == kAbsent && inst.op == Op::Add) return {b.base, a.k + b.k};
    return own_form(index);
  }

  /// Returns the element of an access, if it is one.
  std::optional<Element> element_of(const Inst& access) {
    if (access.bytes == 0) return {};
    return Element{access.window, access.bytes, form_of(access.a)};
  }

  void access(std::uint32_t index) {
    const Inst& inst = region_.insts[index];
    arrive(inst.otherwise, nothing());
    const auto element = element_of(inst);
    if (!element) return;
    const Form form = element->form;
    if (form.base != kAbsent) {
      held[index] = contains(now_.checked, *element);
      return add(now_.checked, *element);
    }
    held[index] = false;
    if (form.k > UINT32_MAX) return;
    std::uint64_t& reach = now_.reach[inst.window];
    held[index] = (form.k + 1) * inst.bytes <= reach;
    reach = std::max(reach, (form.k + 1) * inst.bytes);
  }

  void load(std::uint32_t index) {
    const Inst& inst = region_.insts[index];
    sources[index] = kAbsent;
    const auto element = element_of(region_.insts[inst.a.index]);
    if (!element || inst.imm != 0 || inst.bytes != element->bytes || inst.is_signed) return;
    for (const Read& read : now_.reads) {
      if (read.element != *element || read.type != inst.type) continue;
      sources[index] = read.source;
      if (read.source >= first_) forms_.back() = forms_[read.source - first_];
      return;
    }
    add(now_.reads, {*element, inst.type, index});
  }

  void store(std::uint32_t index) {
    const Inst& inst = region_.insts[index];
    const auto element = element_of(region_.insts[inst.a.index]);
    if (!element || inst.imm != 0 || inst.bytes != element->bytes) return now_.reads.clear();
    std::erase_if(now_.reads, [&](const Read& read) { return !is_another(read.element, *element); });
    if (inst.bytes == region::bytes_of(inst.type)) add(now_.reads, {*element, inst.type, inst.b.index});
  }

  /// Windows may overlap, so only elements of one window are certain to be two.
  static bool is_another(const Element& a, const Element& b) {
    return a.window == b.window && a.bytes == b.bytes && a.form.base == b.form.base && a.form.k != b.form.k;
  }

  void set(const Inst& inst) {
    const auto variable = static_cast<std::uint32_t>(inst.imm);
    const Form form = form_of(inst.a);
    if (form.base == variable) return rename(variable, variable, form.k);
    forget(variable);
    if (form.base == kAbsent) return;
    if (form.base >= region_.variables.size()) return rename(form.base, variable, form.k);
    // Both variables name the same elements now.
    const auto checked = now_.checked;
    const auto reads = now_.reads;
    for (Element e : checked)
      if (move(e.form, form.base, variable, form.k)) add(now_.checked, e);
    for (Read r : reads)
      if (move(r.element.form, form.base, variable, form.k)) add(now_.reads, r);
  }

  /// Renames the base of a form: `from` plus k is `to` plus k - distance.
  static bool move(Form& form, std::uint32_t from, std::uint32_t to, std::uint64_t distance) {
    if (form.base != from) return false;
    form = {to, form.k - distance};
    return true;
  }

  void rename(std::uint32_t from, std::uint32_t to, std::uint64_t distance) {
    const auto visit = [&](Form& form) { move(form, from, to, distance); };
    now_.for_forms(visit);
    for (Form& form : forms_) visit(form);
  }

  void forget(std::uint32_t variable) {
    std::erase_if(now_.checked, [&](const Element& e) { return e.form.base == variable; });
    std::erase_if(now_.reads, [&](const Read& r) { return r.element.form.base == variable; });
    for (std::uint32_t i = 0; i < forms_.size(); ++i)
      if (forms_[i].base == variable) forms_[i] = own_form(first_ + i);
  }

  void arrive(std::uint32_t block, const Facts& facts) {
    std::optional<Facts>& there = at_start_[block];
    if (!there) {
      there = facts;
      if (is_head_[block]) there->reads.clear();
      changed_ = true;
      return;
    }
    const std::size_t before = there->checked.size() + there->reads.size();
    std::erase_if(there->checked, [&](const Element& e) { return !contains(facts.checked, e); });
    std::erase_if(there->reads, [&](const Read& r) { return !contains(facts.reads, r); });
    changed_ |= there->checked.size() + there->reads.size() != before;
    for (std::size_t w = 0; w < facts.reach.size(); ++w) {
      if (facts.reach[w] >= there->reach[w]) continue;
      there->reach[w] = facts.reach[w];
      changed_ = true;
    }
  }

  const region::Region& region_;
  std::vector<std::optional<Facts>> at_start_;
  std::vector<bool> is_head_;
  bool changed_ = false;
  // While a block is walked:
  Facts now_;
  std::vector<Form> forms_;  ///< by instruction of the block
  std::uint32_t first_ = 0;
};

/// Writes the region again, with what the analysis has found.
class Rewriter {
 public:
  Rewriter(const region::Region& region, const Analysis& found)
      : from_(region), found_(found), is_used_(region.insts.size(), false), now_at_(region.insts.size()) {
    into_.region.variables = region.variables;
    into_.region.windows = region.windows;
  }

  Reused run() {
    for (const region::Block& block : from_.blocks)
      for (std::uint32_t i = block.first; i < block.last; ++i) look_at(block, i);
    for (const region::Block& block : from_.blocks) copy(block);
    into_.changed |= std::find(into_.held.begin(), into_.held.end(), true) != into_.held.end();
    return std::move(into_);
  }

 private:
  /// Returns who has made what the load reads, or the load itself.
  [[nodiscard]] std::uint32_t root(std::uint32_t i) const {
    while (found_.sources[i] != kAbsent) i = found_.sources[i];
    return i;
  }
  [[nodiscard]] std::uint32_t carrier(std::uint32_t source) const {
    for (const auto& [from, variable] : carried_)
      if (from == source) return variable;
    return kAbsent;
  }

  /// Chooses the values that travel; places of loads and stores that stay are used.
  void look_at(const region::Block& block, std::uint32_t i) {
    const Inst& inst = from_.insts[i];
    if (inst.op != Op::Load && inst.op != Op::Store) return;
    const std::uint32_t source = root(i);
    if (source < block.first && carrier(source) == kAbsent) carry(source);
    const bool is_read = source == i || (source < block.first && carrier(source) == kAbsent);
    if (is_read) is_used_[inst.a.index] = true;
  }

  void carry(std::uint32_t source) {
    std::vector<region::Variable>& variables = into_.region.variables;
    if (carried_.size() == kCarriedMax || variables.size() == limits::kRegionVariablesMax) return;
    std::uint32_t end = region::kFrameHeadBytes;
    for (const region::Variable& v : variables) end = std::max(end, (v.slot + region::bytes_of(v.type) + 7) / 8 * 8);
    carried_.emplace_back(source, static_cast<std::uint32_t>(variables.size()));
    variables.push_back({"carried" + std::to_string(source), from_.insts[source].type, end, true});
  }

  void copy(const region::Block& block) {
    const auto first = static_cast<std::uint32_t>(into_.region.insts.size());
    for (std::uint32_t i = block.first; i < block.last; ++i) {
      if (from_.insts[i].at != at_) keep();
      at_ = from_.insts[i].at;
      instruction(block, i);
      if (carrier(i) != kAbsent) due_.push_back(i);
    }
    keep();
    region::Terminator end = block.end;
    if (end.condition.valid()) end.condition = now_at_[end.condition.index];
    into_.region.blocks.push_back({first, static_cast<std::uint32_t>(into_.region.insts.size()), end});
  }

  void instruction(const region::Block& block, std::uint32_t i) {
    Inst inst = from_.insts[i];
    const bool held = found_.held[i];
    if (held && !is_used_[i]) return void(into_.changed = true);
    if (const std::uint32_t source = root(i); source != i) {
      into_.changed |= source >= block.first || carrier(source) != kAbsent;
      if (source >= block.first) return void(now_at_[i] = now_at_[source]);
      if (const std::uint32_t variable = carrier(source); variable != kAbsent) return get(i, variable);
    }
    for (Value* const operand : {&inst.a, &inst.b, &inst.c})
      if (operand->valid()) *operand = now_at_[operand->index];
    now_at_[i] = append(inst, held);
  }

  void get(std::uint32_t i, std::uint32_t variable) {
    const Inst& load = from_.insts[i];
    now_at_[i] = append({.op = Op::Get, .type = load.type, .imm = variable, .at = load.at}, false);
  }

  Value append(const Inst& inst, bool held) {
    into_.region.insts.push_back(inst);
    into_.held.push_back(held);
    return Value(static_cast<std::uint32_t>(into_.region.insts.size() - 1));
  }

  /// Behind the source's instruction, because its accesses stand before its effects.
  void keep() {
    for (const std::uint32_t source : due_)
      append({.op = Op::Set, .type = from_.insts[source].type, .a = now_at_[source], .imm = carrier(source), .at = at_},
             false);
    due_.clear();
  }

  const region::Region& from_;
  const Analysis& found_;
  std::vector<bool> is_used_;                                     ///< by access: a load or store stays that needs it
  std::vector<std::pair<std::uint32_t, std::uint32_t>> carried_;  ///< instructions, and their variables
  std::vector<Value> now_at_;                                     ///< by instruction: its value in the new region
  std::vector<std::uint32_t> due_;                                ///< carried, not yet set
  std::uint32_t at_ = 0;
  Reused into_;
};

bool is_too_large(const region::Region& region) {
  return region.insts.size() > kInstsMax ||
         std::any_of(region.blocks.begin(), region.blocks.end(),
                     [](const region::Block& b) { return b.last - b.first > kBlockInstsMax; });
}

}  // namespace

Reused reuse_memory(region::Region region) {
  std::vector<bool> none(region.insts.size(), false);
  if (is_too_large(region)) return {std::move(region), std::move(none)};
  Analysis analysis(region);
  analysis.run();
  return Rewriter(region, analysis).run();
}

}  // namespace trident::regionopt
