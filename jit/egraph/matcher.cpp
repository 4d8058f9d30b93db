#include "jit/egraph/matcher.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "runtime/base/check.h"

namespace trident::egraph {
namespace {

constexpr std::size_t kRegistersMax = 3 * kPatternTermsMax;

}  // namespace

Matcher::Matcher(std::span<const Rule> rules, std::span<const OpRow> ops, const std::vector<bool>& enabled)
    : rules_(rules), ops_(ops), registers_(rules.size()), variables_(rules.size()) {
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (enabled.empty() || enabled[i]) compile(static_cast<RuleIndex>(i), rules[i]);
  }
  root_ = arrange(root_);
}

// From the root, the deepest part first: it fits least often, and rules that look alike near the root share their first
// steps all the same. Facts and constants are asked for as soon as their class is bound.
void Matcher::compile(RuleIndex index, const Rule& rule) {
  const Pattern& pattern = rule.left;
  const std::uint8_t depth = pattern.depth();
  depth_max_ = std::max(depth_max_, depth);
  std::vector<Step> line;
  std::array<std::uint8_t, kPatternTermsMax> place{};  // register of each term
  std::vector<std::uint8_t> bound(rule.variables.size(), 0xFF);
  std::vector<bool> asked(rule.conditions.size(), false);
  std::uint8_t next = 1;

  const auto ask = [&] {
    for (std::size_t i = 0; i < rule.conditions.size(); ++i) {
      const Condition& c = rule.conditions[i];
      const std::uint8_t first = bound[c.variable[0]], second = bound[c.variable[1]];
      if (asked[i] || first == 0xFF || second == 0xFF) continue;
      asked[i] = true;
      line.push_back({.code = Code::condition, .a = first, .b = second, .op = static_cast<std::uint8_t>(c.kind)});
    }
  };
  const auto visit = [&](std::uint8_t term) {
    const PatternTerm& t = pattern.terms[term];
    if (t.kind == PatternTerm::Kind::number) {
      line.push_back({.code = Code::number, .a = place[term], .number = t.number});
    } else if (t.kind == PatternTerm::Kind::variable) {
      std::uint8_t& where = bound[t.variable];
      if (where == 0xFF)
        where = place[term];
      else
        line.push_back({.code = Code::same, .a = where, .b = place[term]});
    }
  };

  // Ops on the longest way down from each term.
  std::array<std::uint8_t, kPatternTermsMax> height{};
  for (std::size_t i = 0; i < pattern.terms.size(); ++i) {
    const PatternTerm& t = pattern.terms[i];
    if (t.kind != PatternTerm::Kind::node) continue;
    for (std::uint8_t c = 0; c < ops_[t.op].children; ++c) height[i] = std::max(height[i], height[t.child[c]]);
    ++height[i];
  }
  std::vector<std::uint8_t> queue{static_cast<std::uint8_t>(pattern.terms.size() - 1)};
  while (!queue.empty()) {
    const auto highest =
        std::max_element(queue.begin(), queue.end(), [&](auto x, auto y) { return height[x] < height[y]; });
    const std::uint8_t term = *highest;
    queue.erase(highest);
    const PatternTerm& t = pattern.terms[term];
    if (t.kind != PatternTerm::Kind::node) continue;
    CHECK(next + 3u < kRegistersMax);
    line.push_back({.code = Code::bind,
                    .has_payload = t.has_payload,
                    .a = place[term],
                    .b = next,
                    .op = t.op,
                    .sort = t.sort,
                    .number = t.number});
    for (std::uint8_t c = 0; c < ops_[t.op].children; ++c) {
      place[t.child[c]] = next++;
      queue.push_back(t.child[c]);
    }
    for (std::uint8_t c = 0; c < ops_[t.op].children; ++c) visit(t.child[c]);
    ask();
  }
  line.push_back({.code = Code::report, .rule = index});
  steps_unshared_ += line.size();
  std::copy(bound.begin(), bound.end(), registers_[index].begin());
  variables_[index] = static_cast<std::uint8_t>(bound.size());

  insert(std::move(line), depth);
}

void Matcher::insert(std::vector<Step> line, std::uint8_t depth) {
  std::uint32_t above = kNone;
  for (const Step& step : line) {
    std::uint32_t at = above == kNone ? root_ : steps_[above].below, last = kNone;
    while (at != kNone && !steps_[at].same_as(step)) last = std::exchange(at, steps_[at].beside);
    if (at == kNone) {
      at = static_cast<std::uint32_t>(steps_.size());
      steps_.push_back(step);
      if (last != kNone)
        steps_[last].beside = at;
      else if (above != kNone)
        steps_[above].below = at;
      else
        root_ = at;
    }
    steps_[at].depth = std::max(steps_[at].depth, depth);
    above = at;
  }
}

// What all that is below a step needs of the classes that are bound before it.
std::vector<Matcher::Need> Matcher::needs_of(const Step& step) const {
  std::vector<Need> needs;
  if (step.below != kNone) {
    const Block& below = blocks_[step.below];
    for (std::uint32_t i = 0; i < below.needs; ++i) {
      const Need& need = needs_[below.first_need + i];
      if (step.code != Code::bind || need.a < step.b) needs.push_back(need);
    }
  }
  if (step.code == Code::bind) needs.push_back({step.a, static_cast<std::uint8_t>(step.op % 64)});
  std::sort(needs.begin(), needs.end());
  needs.erase(std::unique(needs.begin(), needs.end()), needs.end());
  return needs;
}

// Makes a block of a list of steps, and of the lists below them.
std::uint32_t Matcher::arrange(std::uint32_t list) {
  if (list == kNone) return kNone;
  const auto number = static_cast<std::uint32_t>(blocks_.size());
  blocks_.emplace_back();
  Block block;
  std::vector<std::uint32_t> binds;
  std::vector<Need> needs;
  std::uint32_t last_test = kNone;
  for (std::uint32_t at = list; at != kNone;) {
    const std::uint32_t next = std::exchange(steps_[at].beside, kNone);
    if (steps_[at].code == Code::bind)
      binds.push_back(at);
    else
      (last_test == kNone ? block.tests : steps_[last_test].beside) = at, last_test = at;
    steps_[at].below = arrange(steps_[at].below);
    const std::vector<Need> these = needs_of(steps_[at]);
    if (at == list) needs = these;
    std::erase_if(needs, [&](const Need& n) { return !std::binary_search(these.begin(), these.end(), n); });
    at = next;
  }
  // By register, then by op; steps that are alike in both stay in their order.
  const auto key = [this](std::uint32_t at) { return std::pair(steps_[at].a, steps_[at].op % 64); };
  std::stable_sort(binds.begin(), binds.end(), [&](auto x, auto y) { return key(x) < key(y); });
  block.first_switch = static_cast<std::uint32_t>(switches_.size());
  for (std::size_t i = 0; i < binds.size(); ++i) {
    const std::uint32_t at = binds[i];
    const Step& step = steps_[at];
    const unsigned bit = step.op % 64u;
    if (i == 0 || steps_[binds[i - 1]].a != step.a) {
      switches_.push_back({.first_list = static_cast<std::uint32_t>(lists_.size()), .a = step.a});
    }
    Switch& now = switches_.back();
    if ((now.ops >> bit) & 1) {
      steps_[binds[i - 1]].beside = at;
    } else {
      now.ops |= std::uint64_t{1} << bit;
      now.list[bit] = static_cast<std::uint8_t>(lists_.size() - now.first_list);
      lists_.push_back(at);
    }
    now.depth = std::max(now.depth, step.depth);
  }
  block.switches = static_cast<std::uint32_t>(switches_.size()) - block.first_switch;
  block.first_need = static_cast<std::uint32_t>(needs_.size());
  block.needs = static_cast<std::uint32_t>(needs.size());
  needs_.insert(needs_.end(), needs.begin(), needs.end());
  blocks_[number] = block;
  return number;
}

struct Matcher::Run {
  const Matcher& matcher;
  const EGraph& graph;
  Matches& out;
  std::uint64_t& steps;
  std::uint8_t distance;
  NodeIndex root_node = kNone;
  std::array<ClassId, kRegistersMax> registers{};

  void all(std::uint32_t number) {
    const Block& block = matcher.blocks_[number];
    for (std::uint32_t i = 0; i < block.needs; ++i) {
      const Need& need = matcher.needs_[block.first_need + i];
      if (((graph.ops_held(registers[need.a]) >> need.op) & 1) == 0) return;
    }
    for (std::uint32_t at = block.tests; at != kNone; at = matcher.steps_[at].beside) {
      const Step& step = matcher.steps_[at];
      if (wanted(step)) test(step);
    }
    for (std::uint32_t s = 0; s < block.switches; ++s) {
      const Switch& by_op = matcher.switches_[block.first_switch + s];
      const ClassId id = registers[by_op.a];
      if (by_op.depth <= distance || (graph.ops_held(id) & by_op.ops) == 0) continue;
      graph.each_node(id, [&](NodeIndex n) {
        const ENode& node = graph.node(n);
        const unsigned bit = node.op % 64u;
        if (((by_op.ops >> bit) & 1) == 0) return;
        for (std::uint32_t at = matcher.lists_[by_op.first_list + by_op.list[bit]]; at != kNone;) {
          const Step& step = matcher.steps_[at];
          if (step.op == node.op && wanted(step)) bind(step, n, node);
          at = step.beside;
        }
      });
    }
  }

  // Whether a rule below the step may match anew, and there are steps left.
  bool wanted(const Step& step) {
    if (step.depth <= distance || steps == 0) return false;
    --steps;
    return true;
  }

  void test(const Step& step) {
    switch (step.code) {
      case Code::bind: break;
      case Code::same:
        if (registers[step.a] == registers[step.b]) all(step.below);
        break;
      case Code::number: {
        const Facts& facts = graph.facts(registers[step.a]);
        if (facts.constant && facts.lo == step.number) all(step.below);
        break;
      }
      case Code::condition:
        if (holds(static_cast<ConditionKind>(step.op), graph.facts(registers[step.a]), graph.facts(registers[step.b])))
          all(step.below);
        break;
      case Code::report: report(step.rule); break;
    }
  }

  void bind(const Step& step, NodeIndex n, const ENode& node) {
    const OpRow& row = graph.row(step.op);
    if (step.has_payload &&
        static_cast<std::int32_t>(node.child[row.children]) != static_cast<std::int32_t>(step.number))
      return;
    if (step.sort != kNoSort && step.sort != node.sort) return;
    if (step.a == 0) root_node = n;
    for (std::uint8_t i = 0; i < row.children; ++i) registers[step.b + i] = node.child[i];
    all(step.below);
    if (!row.commutes || node.child[0] == node.child[1]) return;
    registers[step.b] = node.child[1];
    registers[step.b + 1] = node.child[0];
    if (row.children == 3) registers[step.b + 2] = node.child[2];
    all(step.below);
  }

  void report(RuleIndex rule) {
    const auto begin = static_cast<std::uint32_t>(out.classes.size());
    for (std::uint8_t v = 0; v < matcher.variables_[rule]; ++v)
      out.classes.push_back(registers[matcher.registers_[rule][v]]);
    out.list.push_back({registers[0], root_node, begin, rule});
  }
};

bool Matcher::match(const EGraph& graph, ClassId root, std::uint8_t distance, Matches& out,
                    std::uint64_t& steps) const {
  Run run{.matcher = *this, .graph = graph, .out = out, .steps = steps, .distance = distance};
  run.registers[0] = root;
  if (root_ != kNone) run.all(root_);
  return steps > 0;
}

NodeIndex instantiate(EGraph& graph, const Pattern& pattern, std::span<const ClassId> variables, std::uint8_t sort) {
  std::array<ClassId, kPatternTermsMax> made{};
  for (std::size_t i = 0; i < pattern.terms.size(); ++i) {
    const PatternTerm& t = pattern.terms[i];
    switch (t.kind) {
      case PatternTerm::Kind::variable: made[i] = graph.find(variables[t.variable]); break;
      case PatternTerm::Kind::number: made[i] = kNone; break;  // its user knows the sort
      case PatternTerm::Kind::node: {
        const std::uint8_t children = graph.row(t.op).children;
        std::uint8_t numbers = sort;
        for (std::uint8_t c = 0; c < children; ++c) {
          if (made[t.child[c]] != kNone) numbers = graph.sort(made[t.child[c]]);
        }
        if (graph.row(t.op).number_sort != OpRow::kSiblingsSort) numbers = graph.row(t.op).number_sort;
        ENode node{.op = t.op};
        for (std::uint8_t c = 0; c < children; ++c) {
          const std::uint8_t from = t.child[c];
          node.child[c] = made[from] != kNone ? made[from] : graph.add_constant(numbers, pattern.terms[from].number);
          if (node.child[c] == kNone) return kNone;
        }
        if (t.has_payload) node.child[children] = static_cast<std::uint32_t>(static_cast<std::int32_t>(t.number));
        node.sort = t.sort;
        made[i] = t.sort == kNoSort ? graph.add_sorted(node) : graph.add(node);
        if (made[i] == kNone) return kNone;
        if (i + 1 == pattern.terms.size()) return graph.last_added();
        break;
      }
    }
  }
  if (pattern.root().kind == PatternTerm::Kind::variable) return variables[pattern.root().variable];
  return graph.add_constant(sort, pattern.root().number) == kNone ? kNone : graph.last_added();
}

}  // namespace trident::egraph
