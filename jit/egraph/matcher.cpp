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
  root_block_ = arrange(root_);
  if (root_block_ != kNone) drop_known(root_block_, {});
  for (Bind& bind : binds_) join(bind);
}

// Starts at the root and takes the deepest part first: it fits least often, and rules that look alike near the root
// share their first steps all the same. Facts and constants are tested as soon as their class is bound.
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

  // Height of each term: the ops on the longest path down from it.
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

// Returns the ops that bound classes must hold for any match below a step.
std::vector<Matcher::Need> Matcher::needs_of(const Step& step, std::uint32_t below) const {
  std::vector<Need> needs;
  if (below != kNone) {
    const Block& block = blocks_[below];
    for (std::uint32_t i = 0; i < block.needs; ++i) {
      const Need& need = needs_[block.first_need + i];
      if (step.code != Code::bind || need.a < step.b) needs.push_back(need);
    }
  }
  if (step.code == Code::bind) needs.push_back({step.a, static_cast<std::uint8_t>(step.op % 64)});
  std::sort(needs.begin(), needs.end());
  needs.erase(std::unique(needs.begin(), needs.end()), needs.end());
  return needs;
}

Matcher::Test Matcher::test_of(const Step& step) {
  Test test{.code = step.code, .a = step.a, .b = step.b, .depth = step.depth};
  switch (step.code) {
    case Code::bind:
    case Code::same: break;
    case Code::number:
      test.what = static_cast<std::uint16_t>(numbers_.size());
      numbers_.push_back(step.number);
      break;
    case Code::condition: test.what = step.op; break;
    case Code::report: test.what = step.rule; break;
  }
  return test;
}

Matcher::Bind Matcher::bind_of(const Step& step) const {
  const OpRow& row = ops_[step.op];
  return {.op = step.op,
          .children = row.children,
          .to = step.b,
          .sort = step.sort,
          .depth = step.depth,
          .commutes = row.commutes,
          .has_payload = step.has_payload,
          .payload = static_cast<std::int32_t>(step.number)};
}

// Makes a block of a list of steps, and of the lists below them.
std::uint32_t Matcher::arrange(std::uint32_t list) {
  if (list == kNone) return kNone;
  const auto number = static_cast<std::uint32_t>(blocks_.size());
  blocks_.emplace_back();
  struct Arranged {
    const Step* step;
    std::uint32_t below;
  };
  std::vector<Arranged> tests, binds;
  std::vector<Need> needs;
  for (std::uint32_t at = list; at != kNone; at = steps_[at].beside) {
    const Step& step = steps_[at];
    const std::uint32_t below = arrange(step.below);
    (step.code == Code::bind ? binds : tests).push_back({&step, below});
    const std::vector<Need> these = needs_of(step, below);
    if (at == list) needs = these;
    std::erase_if(needs, [&](const Need& n) { return !std::binary_search(these.begin(), these.end(), n); });
  }
  Block block;
  block.first_test = static_cast<std::uint32_t>(tests_.size());
  block.tests = static_cast<std::uint16_t>(tests.size());
  for (const Arranged& t : tests) tests_.push_back(test_of(*t.step)), tests_.back().below = t.below;
  block.compares = binds.empty() && std::all_of(tests.begin(), tests.end(),
                                                [](const Arranged& t) { return t.step->code == Code::same; });
  // Sorts by register, then by op; steps with both equal stay in their order.
  const auto key = [](const Arranged& bind) { return std::pair(bind.step->a, bind.step->op % 64); };
  std::stable_sort(binds.begin(), binds.end(), [&](const Arranged& x, const Arranged& y) { return key(x) < key(y); });
  block.first_switch = static_cast<std::uint32_t>(switches_.size());
  for (std::size_t i = 0; i < binds.size(); ++i) {
    const Step& step = *binds[i].step;
    const unsigned bit = step.op % 64u;
    if (i == 0 || binds[i - 1].step->a != step.a) {
      switches_.push_back({.first_bind = static_cast<std::uint32_t>(binds_.size()), .a = step.a});
    }
    Switch& now = switches_.back();
    if (((now.ops >> bit) & 1) == 0) {
      now.ops |= std::uint64_t{1} << bit;
      CHECK(binds_.size() - now.first_bind <= 0xFF);
      now.list[bit] = static_cast<std::uint8_t>(binds_.size() - now.first_bind);
    }
    now.depth = std::max(now.depth, step.depth);
    binds_.push_back(bind_of(step));
    binds_.back().below = binds[i].below;
    binds_.back().last = i + 1 == binds.size() || key(binds[i + 1]) != key(binds[i]);
  }
  block.switches = static_cast<std::uint8_t>(switches_.size() - block.first_switch);
  block.first_need = static_cast<std::uint32_t>(needs_.size());
  block.needs = static_cast<std::uint8_t>(needs.size());
  needs_.insert(needs_.end(), needs.begin(), needs.end());
  blocks_[number] = block;
  return number;
}

// Removes tests that a block on the way already made, and tests for the op of a class's bound node.
void Matcher::drop_known(std::uint32_t number, std::vector<Need> known) {
  Block& block = blocks_[number];
  Need* const first = needs_.data() + block.first_need;
  Need* const end = std::remove_if(first, first + block.needs, [&](const Need& need) {
    return std::find(known.begin(), known.end(), need) != known.end();
  });
  block.needs = static_cast<std::uint8_t>(end - first);
  known.insert(known.end(), first, end);
  for (std::uint32_t t = block.first_test; t < block.first_test + block.tests; ++t)
    if (tests_[t].below != kNone) drop_known(tests_[t].below, known);
  for (std::uint32_t s = block.first_switch; s < block.first_switch + block.switches; ++s) {
    for (std::uint64_t ops = switches_[s].ops; ops != 0; ops &= ops - 1) {
      const auto list = switches_[s].list[static_cast<std::size_t>(std::countr_zero(ops))];
      for (const Bind* bind = &binds_[switches_[s].first_bind + list];; ++bind) {
        known.push_back({switches_[s].a, static_cast<std::uint8_t>(bind->op % 64)});
        drop_known(bind->below, known);
        known.pop_back();
        if (bind->last) break;
      }
    }
  }
}

void Matcher::join(Bind& bind) const {
  const Block& block = blocks_[bind.below];
  if (!block.compares || block.tests != 1 || block.needs != 0) return;
  const Test& test = tests_[block.first_test];
  if (test.a >= bind.to || test.b < bind.to) return;
  bind.joins = test.a;
  bind.child = static_cast<std::uint8_t>(test.b - bind.to);
  bind.child_swapped = bind.child < 2 ? 1 - bind.child : bind.child;
  bind.below = test.below;
}

void Members::reset(const EGraph& graph) {
  graph_ = &graph;
  places_.assign(graph.size(), {});
  // Reserved once, so that lists never move.
  const std::size_t room = std::bit_ceil(std::size_t{graph.size()});
  ops_.reserve(room), nodes_.reserve(room), numbers_.reserve(room);
  ops_.clear(), nodes_.clear(), numbers_.clear();
}

void Members::copy(ClassId id) {
  Place& place = places_[id];
  place.first = static_cast<std::uint32_t>(nodes_.size());
  graph_->each_node(id, [&](NodeIndex n) {
    const ENode& node = graph_->node(n);
    ops_.push_back(node.op);
    nodes_.push_back(node);
    numbers_.push_back(n);
  });
  place.count = static_cast<std::uint32_t>(nodes_.size()) - place.first;
}

struct Matcher::Run {
  const Matcher& matcher;
  const EGraph& graph;
  Members& members;
  Matches& out;
  std::uint64_t steps, later;  // steps until the watch is asked again, and those left after that
  Watch& watch;
  std::uint8_t distance;
  NodeIndex root_node = kNone;
  const Block* const blocks;
  const Bind* const binds;
  std::array<ClassId, kRegistersMax> registers;  // each is bound before it is asked for

  Run(const Matcher& of, Members& in, Matches& found, std::uint64_t steps_max, Watch& clock, std::uint8_t away)
      : matcher(of),
        graph(in.graph()),
        members(in),
        out(found),
        steps(std::min(steps_max, Watch::kStepsPerLook)),
        later(steps_max - steps),
        watch(clock),
        distance(away),
        blocks(of.blocks_.data()),
        binds(of.binds_.data()) {}

  // Runs the steps after a step.
  void below(std::uint32_t number) {
    const Block& block = blocks[number];
    const Need* need = matcher.needs_.data() + block.first_need;
    for (const Need* end = need + block.needs; need != end; ++need) {
      if (((graph.ops_held(registers[need->a]) >> need->op) & 1) == 0) return;
    }
    if (!block.compares) return mixed(block);
    const Test* test = matcher.tests_.data() + block.first_test;
    for (const Test* end = test + block.tests; test != end; ++test) {
      if (wanted(test->depth) && registers[test->a] == registers[test->b]) below(test->below);
    }
  }

  void mixed(const Block& block) {
    const Test* test = matcher.tests_.data() + block.first_test;
    for (const Test* end = test + block.tests; test != end; ++test) {
      if (wanted(test->depth)) ask(*test);
    }
    const Switch* by_op = matcher.switches_.data() + block.first_switch;
    for (const Switch* end = by_op + block.switches; by_op != end; ++by_op) {
      const ClassId id = registers[by_op->a];
      if (by_op->depth <= distance || (graph.ops_held(id) & by_op->ops) == 0) continue;
      const Members::List list = members.of(id);
      // A mask of the wanted ones, rather than a test for each: few are.
      for (std::uint32_t base = 0; base < list.count; base += 64) {
        const std::uint32_t count = std::min(list.count - base, 64u);
        std::uint64_t fitting = 0;
        if ((graph.ops_held(id) & ~by_op->ops) == 0)
          fitting = ~std::uint64_t{0} >> (64 - count);
        else
          for (std::uint32_t i = 0; i < count; ++i) fitting |= ((by_op->ops >> (list.ops[base + i] % 64u)) & 1) << i;
        for (; fitting != 0; fitting &= fitting - 1) {
          const std::uint32_t i = base + static_cast<std::uint32_t>(std::countr_zero(fitting));
          if (by_op->a == 0) root_node = list.numbers[i];
          follow(*by_op, list.nodes[i]);
        }
      }
    }
  }

  void follow(const Switch& by_op, const ENode& node) {
    for (const Bind* bind = binds + by_op.first_bind + by_op.list[node.op % 64u];; ++bind) {
      if (bind->op == node.op && wanted(bind->depth)) follow(*bind, node);
      if (bind->last) break;
    }
  }

  // Returns whether a rule below the step may match anew, and there are steps left.
  bool wanted(std::uint8_t depth) {
    if (depth <= distance || (steps == 0 && !more())) return false;
    --steps;
    return true;
  }
  [[gnu::noinline]] bool more() {
    if (later == 0 || watch.look()) return false;
    steps = std::min(later, Watch::kStepsPerLook);
    later -= steps;
    return true;
  }

  void ask(const Test& test) {
    switch (test.code) {
      case Code::bind: break;
      case Code::same:
        if (registers[test.a] == registers[test.b]) below(test.below);
        break;
      case Code::number: {
        const Facts& facts = graph.facts(registers[test.a]);
        if (facts.constant && facts.lo == matcher.numbers_[test.what]) below(test.below);
        break;
      }
      case Code::condition:
        if (holds(static_cast<ConditionKind>(test.what), graph.facts(registers[test.a]),
                  graph.facts(registers[test.b])))
          below(test.below);
        break;
      case Code::report: report(test.what); break;
    }
  }

  void follow(const Bind& bind, const ENode& node) {
    if (bind.has_payload && static_cast<std::int32_t>(node.child[bind.children]) != bind.payload) return;
    if (bind.sort != kNoSort && bind.sort != node.sort) return;
    const bool both_ways = bind.commutes && node.child[0] != node.child[1];
    if (bind.joins != kNoRegister) {
      const ClassId other = registers[bind.joins];
      if (wanted(bind.depth) && node.child[bind.child] == other) as_written(bind, node);
      if (both_ways && wanted(bind.depth) && node.child[bind.child_swapped] == other) swapped(bind, node);
      return;
    }
    as_written(bind, node);
    if (both_ways) swapped(bind, node);
  }

  void as_written(const Bind& bind, const ENode& node) {
    for (std::uint8_t i = 0; i < bind.children; ++i) registers[bind.to + i] = node.child[i];
    below(bind.below);
  }

  void swapped(const Bind& bind, const ENode& node) {
    registers[bind.to] = node.child[1];
    registers[bind.to + 1] = node.child[0];
    if (bind.children == 3) registers[bind.to + 2] = node.child[2];
    below(bind.below);
  }

  void report(RuleIndex rule) {
    const auto begin = static_cast<std::uint32_t>(out.classes.size());
    const std::uint8_t* from = matcher.registers_[rule].data();
    for (const std::uint8_t* end = from + matcher.variables_[rule]; from != end; ++from)
      out.classes.push_back(registers[*from]);
    out.list.push_back({registers[0], root_node, begin, rule});
  }
};

bool Matcher::match(Members& members, ClassId root, std::uint8_t distance, Matches& out, std::uint64_t& steps,
                    Watch& watch) const {
  if (root_block_ == kNone) return steps > 0;
  const std::uint64_t before = steps;
  Run run(*this, members, out, steps, watch, distance);
  run.registers[0] = root;
  run.below(root_block_);
  steps = run.steps + run.later;
  return !watch.spend(1 + (before - steps)) && steps > 0;
}

std::uint8_t sort_of(const EGraph& graph, const PatternTerm& number, std::span<const ClassId> variables,
                     std::uint8_t root_sort) {
  if (number.sort != kNoSort) return number.sort;
  return number.sorted_by == kSortedByRoot ? root_sort : graph.sort(graph.find(variables[number.sorted_by]));
}

NodeIndex instantiate(EGraph& graph, const Pattern& pattern, std::span<const ClassId> variables, std::uint8_t sort) {
  std::array<ClassId, kPatternTermsMax> made;
  for (std::size_t i = 0; i < pattern.terms.size(); ++i) {
    const PatternTerm& t = pattern.terms[i];
    switch (t.kind) {
      case PatternTerm::Kind::variable: made[i] = graph.find(variables[t.variable]); break;
      case PatternTerm::Kind::number: made[i] = kNone; break;  // its user knows the sort
      case PatternTerm::Kind::node: {
        const OpRow& row = graph.row(t.op);
        bool full = false;
        const auto word = [&](std::uint8_t c) -> std::uint32_t {
          if (c >= row.children)
            return c == row.children && t.has_payload ? static_cast<std::uint32_t>(static_cast<std::int32_t>(t.number))
                                                      : 0;
          const std::uint8_t from = t.child[c];
          if (made[from] != kNone) return made[from];
          const PatternTerm& number = pattern.terms[from];
          const ClassId constant = graph.add_constant(sort_of(graph, number, variables, sort), number.number);
          full = full || constant == kNone;
          return constant;
        };
        const std::uint32_t a = word(0), b = full ? kNone : word(1), c = full ? kNone : word(2);
        if (full) return kNone;
        made[i] = graph.add(t.op, t.sort == kNoSort ? graph.sort_of(t.op, a, b, c) : t.sort, a, b, c);
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
