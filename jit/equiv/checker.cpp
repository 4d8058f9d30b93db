#include "jit/equiv/checker.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <numeric>

#include "jit/equiv/edges.h"
#include "jit/equiv/evaluator.h"
#include "jit/expr/shape.h"
#include "jit/kir/interpreter.h"

namespace trident::equiv {
namespace {

/// Call lengths for tails: all below two of the widest vectors, then around the ends of unrolled iterations.
std::vector<std::uint64_t> tail_lengths() {
  std::vector<std::uint64_t> lengths;
  for (std::uint64_t n = 0; n <= 35; ++n) lengths.push_back(n);
  for (const std::uint64_t around : {48, 64, 96, 128, 256}) {
    lengths.push_back(around - 1);
    lengths.push_back(around);
    lengths.push_back(around + 1);
  }
  return lengths;
}

// Returns whether an element's number in its call, or a call's table length, matters.
bool numbers_elements(const expr::Expr& source) {
  return std::any_of(source.nodes.begin(), source.nodes.end(), [](const auto& n) {
    return n.op == expr::Op::Index || expr::info(n.op).signature == expr::Signature::Read;
  });
}

// Makes calls in `block`, elements with constant parameters. Those that end at `limit` (or start at 0 when flush_start)
// touch the guard pages; shifted ones are misaligned by every number of elements below eight.
std::vector<Call> tail_calls(const Call& block, bool flush_start) {
  std::vector<Call> calls;
  std::uint64_t shift = 0;
  for (const std::uint64_t n : tail_lengths()) {
    for (const bool in_place : {false, true}) {
      if (n > block.n) continue;
      const std::uint64_t flush = flush_start ? block.first : block.first + block.n - n;
      const std::uint64_t table_length = n % 3 == 0 ? block.n : n % 3 == 1 ? n : n / 2;
      calls.push_back({flush, n, in_place, table_length});
      shift = (shift + 1) % 8;
      if (n + shift > block.n) continue;
      calls.push_back({flush_start ? flush + shift : flush - shift, n, in_place, table_length});
    }
  }
  return calls;
}

/// The first task with an answer that ends all. Tasks behind it need not begin.
class EndOfTasks {
 public:
  explicit EndOfTasks(std::size_t count) : end_(count) {}
  [[nodiscard]] bool is_before(std::size_t task) const { return task > end_.load(); }
  void set(std::size_t task) {
    for (std::size_t now = end_.load(); task < now && !end_.compare_exchange_weak(now, task);) {
    }
  }

 private:
  std::atomic<std::size_t> end_;
};

// Returns the longest stretch with constant parameters that touches the set's end (or start).
Call edge_block(const expr::Expr& source, const Samples& samples, bool at_start) {
  for (const auto& variable : source.variables)
    if (variable.is_scalar()) return at_start ? samples.calls.front() : samples.calls.back();
  return {0, samples.n, false};
}

Verdict differing(const Verdict& so_far, Counterexample e) {
  Verdict v = so_far;
  v.kind = Verdict::Kind::differs;
  v.counterexample = std::move(e);
  return v;
}

/// Demand::any_set: a million points hold greater errors than thousands and the climb from them do, since rounding
/// errors add up as if by chance: by up to 13 % in the forms of bench/corpus (check_accuracy).
constexpr double kGrowth = 1.15;

Counterexample too_close(const std::string& output, double share) {
  char why[200];
  std::snprintf(why, sizeof why,
                "error of %.3f of the policy's bound among thousands of points, too close to hold for a million points",
                share);
  Counterexample e;
  e.why = why + (output.empty() ? std::string() : ", output " + output);
  return e;
}

Counterexample beyond_bound(const expr::Expr& source, std::size_t output, const Tail& tail) {
  char why[200];
  std::snprintf(why, sizeof why, "error of %.4g times what the policy allows, at a point near those drawn", tail.share);
  Counterexample e;
  e.why = why;
  e.output = source.outputs[output].name;
  e.elements = 1;
  for (std::size_t v = 0; v < tail.point.size(); ++v) {
    const expr::Variable& variable = source.variables[v];
    e.inputs.emplace_back(variable.name, print_lane(variable.type, reinterpret_cast<const std::byte*>(&tail.point[v])));
  }
  return e;
}

// Returns whether the numbers are equal; zeros of any sign and NaN of any kind are.
template <class T>
bool same_lanes(const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
  for (std::size_t at = 0; at < a.size(); at += sizeof(T)) {
    T x, y;
    std::memcpy(&x, &a[at], sizeof x);
    std::memcpy(&y, &b[at], sizeof y);
    if (!(x == y) && !(x != x && y != y)) return false;
  }
  return true;
}

bool same_values(const expr::Expr& source, const Outputs& a, const Outputs& b) {
  for (std::size_t c = 0; c < a.size(); ++c)
    for (std::size_t k = 0; k < a[c].size(); ++k) {
      if (a[c][k] == b[c][k]) continue;
      const expr::Type type = source.at(source.outputs[k].node).type;
      if (type == expr::Type::f32 && same_lanes<float>(a[c][k], b[c][k])) continue;
      if (type == expr::Type::f64 && same_lanes<double>(a[c][k], b[c][k])) continue;
      return false;
    }
  return true;
}

}  // namespace

bool is_function(expr::Op op) {
  return expr::info(op).types == expr::Types::F && units_of(op) > 1;
}

std::vector<std::uint64_t> params_of(const expr::Expr& source, const Samples& samples, const Call& call) {
  std::vector<std::uint64_t> params;
  const std::uint64_t at = std::min(call.first, samples.n == 0 ? 0 : samples.n - 1);
  for (std::size_t v = 0; v < source.variables.size(); ++v) {
    if (!source.variables[v].is_scalar()) continue;
    std::uint64_t bits = 0;
    std::memcpy(&bits, element_of(samples, source, v, at), ir::bytes_of(source.variables[v].type));
    params.push_back(bits);
  }
  for (const auto& variable : source.variables)
    if (variable.is_table()) params.push_back(std::min(call.table_length, samples.n));
  return params;
}

Outputs interpret_calls(const expr::Expr& source, const kir::Kernel& kernel, const Samples& samples,
                        const std::vector<Call>& calls) {
  return run_calls(kir::Plan::prepare(kir::without_storage(kernel)), source, kernel, samples, calls);
}

Outputs run_calls(const kir::Plan& plan, const expr::Expr& source, const kir::Kernel& kernel, const Samples& samples,
                  const std::vector<Call>& calls) {
  Outputs results;
  for (const Call& call : calls) {
    std::vector<const void*> in;
    for (std::size_t v = 0; v < source.variables.size(); ++v)
      if (!source.variables[v].is_scalar())
        in.push_back(element_of(samples, source, v, source.variables[v].is_table() ? 0 : call.first));
    CallOutputs& outputs = results.emplace_back();
    std::vector<void*> out;
    for (const auto& output : kernel.outputs) {
      const std::uint64_t elements = output.kind == kir::OutputKind::scalar ? 1 : call.n;
      outputs.emplace_back(static_cast<std::size_t>(elements) * ir::bytes_of(kernel.type_of(output.value)));
    }
    for (auto& output : outputs) out.push_back(output.data());
    plan.run(call.n, in.data(), out.data(), params_of(source, samples, call).data());
  }
  return results;
}

Result<std::unique_ptr<Checker>> Checker::make(const expr::Expr& source, const expr::Policy& policy,
                                               const CheckOptions& options) {
  std::unique_ptr<Checker> checker(new Checker(source, policy, options));
  SampleOptions sampling = options.samples;
  sampling.cancelled = options.cancelled;
  checker->sets_ = make_samples(source, sampling);
  TRY_VOID(checker->go_on());
  TRY(checker->unrewritten_,
      expr::lower(source, {.policy = policy, .simplify = false, .accuracy = kir::math::Accuracy::ulp1}));
  TRY_VOID(checker->add_edges());
  TRY_VOID(checker->leave_out_screened());
  TRY_VOID(checker->compute_references());
  return checker;
}

Result<void> Checker::go_on() const {
  if (options_.cancelled && options_.cancelled())
    return make_error(ErrorCode::kCancelled, "the equivalence check was cancelled");
  return {};
}

namespace {

// Returns whether a set has points around overflow and underflow.
bool at_edges(const Samples& samples) {
  return samples.name == "edges" || samples.name == "faint";
}
// Returns whether a set's points are such as random evaluation would not meet.
bool is_gathered(const Samples& samples) {
  return at_edges(samples) || samples.name == "corners" || samples.name == "branch" || samples.name == "alike" ||
         samples.name == "missing" || samples.name == "near" || samples.name == "steps" || samples.name == "hidden";
}
bool far_out(Way way) {
  return way == Way::vast || way == Way::tiny;
}

}  // namespace

bool Checker::unexplored() const {
  return std::any_of(sets_.begin(), sets_.end(), [](const Samples& s) { return s.unexplored; });
}

Result<void> Checker::compute_references() {
  if (policy_.kind == expr::PolicyKind::exact) {
    for (const Samples& samples : sets_)
      exact_.push_back(interpret_calls(source_, unrewritten_, samples, samples.calls));
    return {};
  }
  references_.resize(sets_.size());
  if (options_.late_references) return {};
  std::vector<std::optional<Result<void>>> made(sets_.size());
  std::vector<std::function<void()>> tasks;
  for (std::size_t s = 0; s < sets_.size(); ++s) tasks.push_back([&, s] { made[s].emplace(compute_reference(s)); });
  do_all(tasks);
  for (const auto& one : made) TRY_VOID(*one);
  return {};
}

Result<void> Checker::compute_reference(std::size_t set) {
  if (policy_.kind == expr::PolicyKind::exact || references_[set]) return {};
  TRY(references_[set], Reference::make(source_, sets_[set], options_.cancelled, allowance_of(policy_).units));
  return {};
}

Result<void> Checker::leave_out_screened() {
  screened_.resize(sets_.size());
  if (options_.screened == nullptr || policy_.kind == expr::PolicyKind::exact || !can_screen(source_)) return {};
  for (std::size_t s = 0; s < sets_.size(); ++s) {
    TRY_VOID(go_on());
    if (sets_[s].exhaustive) continue;
    const Outputs ours = interpret_calls(source_, *options_.screened, sets_[s], sets_[s].calls);
    screened_[s] = screen(source_, sets_[s], ours, allowance_of(policy_));
    sets_[s] = without_screened(source_, sets_[s], screened_[s]);
    screened_[s].findings = {};
  }
  return {};
}

void Checker::do_all(std::span<const std::function<void()>> tasks) const {
  if (options_.together) return options_.together(tasks);
  for (const auto& task : tasks) task();
}

namespace {

/// Adds what the screen found at points that it left out.
void take(Verdict& verdict, const Screened& screened, bool ordinary) {
  verdict.points += screened.decided;
  verdict.undecided += screened.undecided;
  verdict.bound_share = std::max(verdict.bound_share, screened.share);
  if (ordinary) verdict.max_error_ulp = std::max(verdict.max_error_ulp, screened.ulp);
}

}  // namespace

std::optional<Counterexample> Checker::judge_set(std::size_t set, const Outputs& ours, const Outputs* fallback,
                                                 Verdict& verdict, std::vector<Errors>& errors) {
  const Samples& samples = sets_[set];
  if (policy_.kind == expr::PolicyKind::exact) {
    verdict.points += samples.n;
    return compare_bits(source_, samples, samples.calls, exact_[set], ours);
  }
  auto difference = compare_values(source_, samples, *references_[set], ours, policy_, errors,
                                   {.fallback = fallback, .refined_max = options_.refined_max});
  for (const Errors& e : errors) {
    verdict.bound_share = std::max(verdict.bound_share, e.share);
    verdict.risk = std::max(verdict.risk, e.risk);
    if (is_gathered(samples) || far_out(samples.way)) continue;
    verdict.max_error_ulp = std::max(verdict.max_error_ulp, e.ulp);
    const auto all = static_cast<double>(std::max<std::uint64_t>(e.tally.all() + screened_[set].points(), 1));
    verdict.either_side = std::max(verdict.either_side, static_cast<double>(e.tally.either_side) / all);
  }
  take(verdict, screened_[set], !is_gathered(samples) && !far_out(samples.way));
  const bool replaces = fallback != nullptr && !at_edges(samples);
  if (!difference) difference = count(samples.n, replaces, errors, verdict);
  return difference;
}

namespace {

std::vector<Samples> sets_of(const expr::Expr& source, Edges edges) {
  std::vector<Samples> sets;
  if (!edges.overflow.empty()) sets.push_back(make_gathered(source, "edges", std::move(edges.overflow)));
  if (!edges.underflow.empty()) sets.push_back(make_gathered(source, "faint", std::move(edges.underflow)));
  return sets;
}

}  // namespace

// Adds them before the corners, which stay the last.
Result<void> Checker::add_edges() {
  if (options_.samples.ordinary || sets_[0].exhaustive) return {};
  auto sets = sets_of(source_, edges_of(source_, unrewritten_, options_.samples.seed, options_.cancelled));
  sets_.insert(sets_.end() - 1, std::make_move_iterator(sets.begin()), std::make_move_iterator(sets.end()));
  return go_on();
}

Result<std::optional<Counterexample>> Checker::judge_edges(const kir::Kernel& kernel, Verdict& verdict) {
  std::optional<Counterexample> difference;
  if (options_.samples.ordinary || sets_[0].exhaustive) return difference;
  const auto sets = sets_of(source_, edges_of(source_, kernel, options_.samples.seed, options_.cancelled));
  for (const Samples& samples : sets) {
    TRY_VOID(go_on());
    TRY(difference, judge_edges(samples, kernel, verdict));
    if (difference) break;
  }
  return difference;
}

Result<std::optional<Counterexample>> Checker::judge_edges(const Samples& samples, const kir::Kernel& kernel,
                                                           Verdict& verdict) {
  const Outputs ours = interpret_calls(source_, kernel, samples, samples.calls);
  const Outputs theirs = interpret_calls(source_, unrewritten_, samples, samples.calls);
  if (policy_.kind == expr::PolicyKind::exact) return compare_bits(source_, samples, samples.calls, theirs, ours);
  if (same_values(source_, ours, theirs)) return std::optional<Counterexample>();
  TRY(Reference reference, Reference::make(source_, samples, options_.cancelled, allowance_of(policy_).units));
  std::vector<Errors> errors;
  auto difference = compare_values(source_, samples, reference, ours, policy_, errors,
                                   {.fallback = &theirs, .refined_max = options_.refined_max});
  TRY_VOID(go_on());
  if (!difference) difference = count(samples.n, false, errors, verdict);
  return difference;
}

Result<std::optional<Counterexample>> Checker::judge_lost_numbers(const kir::Kernel& kernel, Verdict& verdict) {
  std::vector<Point> found = lost_numbers_.of(kernel, source_, unrewritten_, sets_, options_.samples.seed);
  TRY_VOID(go_on());
  if (found.empty()) return std::optional<Counterexample>();
  return judge_edges(make_gathered(source_, "lost", std::move(found)), kernel, verdict);
}

// Counts the decided points in a set of `n` points, by the output with the fewest. A kernel that would replace another
// one is refused where too many points are undecided. The unrewritten kernel is not: without it the client has the
// interpreter, which runs the same instructions.
std::optional<Counterexample> Checker::count(std::uint64_t n, bool replaces, const std::vector<Errors>& errors,
                                             Verdict& verdict) const {
  double decided = 1, undecided = 0;
  for (std::size_t k = 0; k < errors.size(); ++k) {
    const Tally& tally = errors[k].tally;
    const auto all = static_cast<double>(std::max<std::uint64_t>(tally.all(), 1));
    decided = std::min(decided, static_cast<double>(tally.decided) / all);
    undecided = std::max(undecided, static_cast<double>(tally.undecided + tally.left_out) / all);
    if (replaces && tally.inconclusive())
      return inconclusive(source_.outputs.size() > 1 ? source_.outputs[k].name : "", tally);
  }
  verdict.points += static_cast<std::uint64_t>(decided * static_cast<double>(n));
  const auto open = static_cast<std::uint64_t>(undecided * static_cast<double>(n));
  verdict.undecided += open;
  if (open != 0 && verdict.kind == Verdict::Kind::exhaustive) verdict.kind = Verdict::Kind::sampled;
  return std::nullopt;
}

std::vector<Checker::TailPlace> Checker::tail_places() const {
  std::vector<TailPlace> places;
  // A point of such a source is its place in a set as well as the values of variables, but tails vary only the latter.
  if (numbers_elements(source_) || expr::passes_of(source_) > 1) return places;
  for (std::size_t s = 0; s < sets_.size(); ++s) {
    const bool ordinary = sets_[s].way == Way::uniform || sets_[s].way == Way::spread || sets_[s].way == Way::small;
    if (sets_[s].exhaustive || is_gathered(sets_[s]) || !ordinary) continue;
    for (std::size_t k = 0; k < source_.outputs.size(); ++k) {
      const OutputValues& values = references_[s]->outputs()[k];
      if (!values.per_call && ir::is_float(values.type)) places.push_back({s, k});
    }
  }
  return places;
}

Result<Tail> Checker::tail_at(const TailPlace& place, const kir::Kernel& kernel,
                              const std::vector<std::vector<Errors>>& errors) {
  const Errors& drawn = errors[place.set][place.output];
  TRY(Tail tail, explore_tail({.source = source_,
                               .kernel = kernel,
                               .output = place.output,
                               .start = sets_[place.set],
                               .way = sets_[place.set].way,
                               .shares = drawn.shares,
                               .policy = policy_,
                               .seed = options_.samples.seed,
                               .cancelled = options_.cancelled}));
  if (tail.share <= 1) tail.share = std::max(drawn.share, tail.share);
  return tail;
}

std::optional<Counterexample> Checker::fault_of(const TailPlace& place, const Tail& tail) const {
  if (tail.share > 1) return beyond_bound(source_, place.output, tail);
  if (kGrowth * tail.share > 1) return too_close(source_.outputs[place.output].name, tail.share);
  return std::nullopt;
}

// The first place with a fault answers, however many tasks go on at once: none begins behind one that is known. Where
// the drawn points come nearest to the bound a fault is likeliest, so such places come first.
Result<std::optional<Counterexample>> Checker::judge_tails(const kir::Kernel& kernel,
                                                           const std::vector<std::vector<Errors>>& errors,
                                                           Verdict& verdict) {
  std::vector<TailPlace> places = tail_places();
  std::stable_sort(places.begin(), places.end(), [&](const TailPlace& a, const TailPlace& b) {
    return errors[a.set][a.output].share > errors[b.set][b.output].share;
  });
  std::vector<std::optional<Result<Tail>>> tails(places.size());
  EndOfTasks end(places.size());
  std::vector<std::function<void()>> tasks;
  for (std::size_t i = 0; i < places.size(); ++i)
    tasks.push_back([&, i] {
      if (end.is_before(i)) return;
      const auto& tail = tails[i].emplace(tail_at(places[i], kernel, errors));
      if (!tail.ok() || fault_of(places[i], *tail)) end.set(i);
    });
  do_all(tasks);
  for (std::size_t i = 0; i < places.size(); ++i) {
    TRY(const Tail tail, std::move(*tails[i]));
    verdict.bound_share = std::max(verdict.bound_share, tail.share);
    verdict.risk = std::max(verdict.risk, tail.risk);
    if (auto fault = fault_of(places[i], tail)) return fault;
  }
  return std::optional<Counterexample>();
}

namespace {

/// Adds what was found at the points of one more set.
void take(Verdict& all, const Verdict& of_set) {
  all.points += of_set.points;
  all.undecided += of_set.undecided;
  all.bound_share = std::max(all.bound_share, of_set.bound_share);
  all.risk = std::max(all.risk, of_set.risk);
  all.max_error_ulp = std::max(all.max_error_ulp, of_set.max_error_ulp);
  all.either_side = std::max(all.either_side, of_set.either_side);
  if (of_set.kind != Verdict::Kind::exhaustive) all.kind = of_set.kind;
}

}  // namespace

Checker::Prepared Checker::run(const kir::Kernel& kernel) const {
  Prepared prepared;
  for (const Samples& samples : sets_)
    prepared.full.push_back(interpret_calls(source_, kernel, samples, samples.calls));
  return prepared;
}

Result<Checker::OfSet> Checker::judge_kernel(std::size_t set, const kir::Kernel& kernel, const Prepared* unrewritten,
                                             Prepared& prepared) {
  TRY_VOID(compute_reference(set));
  const Outputs& ours = prepared.full[set] = interpret_calls(source_, kernel, sets_[set], sets_[set].calls);
  const Outputs* const fallback = unrewritten != nullptr ? &unrewritten->full[set] : nullptr;
  OfSet judged;
  judged.verdict.kind = prepared.meaning.kind;
  judged.as_unrewritten = fallback != nullptr && same_values(source_, *fallback, ours);
  judged.difference = judge_set(set, ours, fallback, judged.verdict, prepared.errors[set]);
  free_thread_constants();
  return judged;
}

// Most forms that are refused are refused where forms before them were: those sets come first.
std::vector<std::size_t> Checker::order_of_sets() const {
  std::vector<std::size_t> order(sets_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto refused = [this](std::size_t s) { return s < refused_.size() ? refused_[s] : 0; };
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return refused(a) > refused(b); });
  return order;
}

// Each set has a reference of its own, so sets are judged at once. The first set with a difference answers.
Result<Checker::Prepared> Checker::judge_drawn(const kir::Kernel& kernel, const Prepared* unrewritten) {
  Prepared prepared;
  Verdict& verdict = prepared.meaning;
  verdict.seed = options_.samples.seed;
  verdict.kind = sets_.size() == 1 && sets_[0].exhaustive ? Verdict::Kind::exhaustive : Verdict::Kind::sampled;
  prepared.full.resize(sets_.size()), prepared.errors.resize(sets_.size());
  std::vector<std::optional<Result<OfSet>>> judged(sets_.size());
  const std::vector<std::size_t> order = order_of_sets();
  EndOfTasks end(sets_.size());
  std::vector<std::function<void()>> tasks;
  for (std::size_t i = 0; i < order.size(); ++i)
    tasks.push_back([&, i] {
      if (end.is_before(i) || (options_.cancelled && options_.cancelled())) return;
      const auto& of_set = judged[i].emplace(judge_kernel(order[i], kernel, unrewritten, prepared));
      if (!of_set.ok() || of_set->difference) end.set(i);
    });
  do_all(tasks);
  TRY_VOID(go_on());
  prepared.as_unrewritten = unrewritten != nullptr;
  for (std::size_t i = 0; i < order.size(); ++i) {
    TRY(OfSet of_set, std::move(*judged[i]));
    take(verdict, of_set.verdict);
    prepared.as_unrewritten = prepared.as_unrewritten && of_set.as_unrewritten;
    if (!of_set.difference) continue;
    refused_.resize(sets_.size());
    ++refused_[order[i]];
    verdict = differing(verdict, std::move(*of_set.difference));
    return prepared;
  }
  for (const bool flush_start : {false, true}) {
    prepared.tail_calls.push_back(tail_calls(edge_block(source_, sets_[0], flush_start), flush_start));
    prepared.tails.push_back(interpret_calls(source_, kernel, sets_[0], prepared.tail_calls.back()));
  }
  return prepared;
}

Result<void> Checker::ask_more(const kir::Kernel& kernel, Demand demand, Prepared& prepared) {
  if (!prepared.meaning.same() || demand == Demand::drawn) return {};
  Verdict& verdict = prepared.meaning;
  std::optional<Counterexample> difference;
  if (!prepared.edges_judged) {
    TRY(difference, judge_edges(kernel, verdict));
  }
  prepared.edges_judged = true;
  const bool any_set = demand == Demand::any_set && policy_.kind != expr::PolicyKind::exact;
  if (!difference && any_set && !prepared.as_unrewritten) {
    TRY(difference, judge_lost_numbers(kernel, verdict));
  }
  if (!difference && any_set && !prepared.as_unrewritten) {
    TRY(difference, judge_tails(kernel, prepared.errors, verdict));
  }
  if (difference) verdict = differing(verdict, std::move(*difference));
  return {};
}

Result<Checker::Prepared> Checker::check_meaning(const kir::Kernel& kernel, Demand demand,
                                                 const Prepared* unrewritten) {
  TRY(Prepared prepared, judge_drawn(kernel, unrewritten));
  TRY_VOID(ask_more(kernel, demand, prepared));
  return prepared;
}

namespace {

/// Elements beyond the requested length: room for every misalignment, and for tails of two unrolled iterations.
constexpr std::uint64_t kLongSlack = 320;

// Makes long calls in an array of `n` elements: flush with its end or start, shifted off the alignment, with tails of
// several lengths, in place.
std::vector<Call> long_calls(std::uint64_t n, std::uint64_t elements, bool flush_start) {
  const auto placed = [&](std::uint64_t length, std::uint64_t shift, bool in_place) {
    return Call{flush_start ? shift : n - length - shift, length, in_place};
  };
  return {placed(elements, 0, false), placed(elements + 257, 0, false), placed(elements + 64, 1, true),
          placed(elements + 131, 7, false)};
}

bool depends_on_length(const expr::Expr& source, const kir::Kernel& kernel) {
  return numbers_elements(source) ||
         std::any_of(source.nodes.begin(), source.nodes.end(), [](const auto& n) { return is_reduction(n.op); }) ||
         std::any_of(kernel.outputs.begin(), kernel.outputs.end(),
                     [](const auto& output) { return output.kind == kir::OutputKind::scalar; });
}

// Runs the interpreter on `calls`. Where call lengths do not matter, overlapping calls share results.
Outputs interpret_long(const expr::Expr& source, const kir::Kernel& kernel, const Samples& samples,
                       const std::vector<Call>& calls) {
  if (depends_on_length(source, kernel)) return interpret_calls(source, kernel, samples, calls);
  const CallOutputs whole = std::move(interpret_calls(source, kernel, samples, {{0, samples.n, false}}).front());
  Outputs results;
  for (const Call& call : calls) {
    CallOutputs& outputs = results.emplace_back();
    for (const auto& bytes : whole) {
      const std::size_t each = bytes.size() / static_cast<std::size_t>(samples.n);
      const auto* first = bytes.data() + static_cast<std::size_t>(call.first) * each;
      outputs.emplace_back(first, first + static_cast<std::size_t>(call.n) * each);
    }
  }
  return results;
}

}  // namespace

Execute one_by_one(std::function<Result<Executed>(const CodeRun& run)> execute) {
  return [execute = std::move(execute)](std::span<const CodeRun> runs) -> Result<std::vector<Executed>> {
    std::vector<Executed> results;
    for (const CodeRun& run : runs) {
      TRY(Executed executed, execute(run));
      results.push_back(std::move(executed));
      if (!results.back().failure.empty()) break;
    }
    return results;
  };
}

// Compares the results of the runs in order, up to the first that failed.
Result<Verdict> Checker::compare_code(const Verdict& meaning, std::span<const Question> questions,
                                      std::span<const Executed> executed) const {
  for (std::size_t i = 0; i < executed.size(); ++i) {
    TRY_VOID(go_on());
    const auto& [run, wanted] = questions[i];
    std::optional<Counterexample> difference;
    if (executed[i].failure.empty())
      difference = compare_bits(source_, run.samples, run.calls, wanted, executed[i].outputs, policy_.kind);
    else
      difference.emplace().why = executed[i].failure;
    if (difference) return differing(meaning, std::move(*difference));
  }
  CHECK(executed.size() == questions.size());
  return meaning;
}

Result<Verdict> Checker::check_long_calls(const Prepared& prepared, const kir::Kernel& kernel, const Execute& execute,
                                          std::uint64_t elements) {
  const Samples samples = make_long(source_, sets_[0], elements + kLongSlack);
  for (const bool flush_start : {false, true}) {
    const std::vector<Call> calls = long_calls(samples.n, elements, flush_start);
    const Outputs wanted = interpret_long(source_, kernel, samples, calls);
    const Question question{{samples, calls, flush_start}, wanted};
    TRY_VOID(go_on());
    TRY(const std::vector<Executed> executed, execute(std::span(&question.run, 1)));
    TRY(Verdict verdict, compare_code(prepared.meaning, std::span(&question, 1), executed));
    if (!verdict.same()) return verdict;
  }
  return prepared.meaning;
}

std::vector<Checker::Question> Checker::questions_of(const CodeQuestion& candidate) const {
  const Prepared& prepared = candidate.prepared;
  std::vector<Question> questions;
  for (std::size_t placement = 0; placement < prepared.tails.size(); ++placement)
    questions.push_back({{sets_[0], prepared.tail_calls[placement], placement == 1}, prepared.tails[placement]});
  for (std::size_t s = 0; s < sets_.size(); ++s) {
    if (candidate.effort == Effort::brief && s + 1 != sets_.size()) continue;  // the corners are the last set
    questions.push_back({{sets_[s], sets_[s].calls}, prepared.full[s]});
  }
  return questions;
}

Result<std::vector<Verdict>> Checker::check_codes(std::span<const CodeQuestion> candidates, const ExecuteAll& execute) {
  std::vector<std::vector<Question>> questions;
  std::vector<std::vector<CodeRun>> runs;
  for (const CodeQuestion& candidate : candidates) {
    questions.push_back(questions_of(candidate));
    std::vector<CodeRun>& all = runs.emplace_back();
    for (const Question& question : questions.back()) all.push_back(question.run);
  }
  TRY_VOID(go_on());
  TRY(const auto executed, execute(runs));
  std::vector<Verdict> verdicts;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    TRY(Verdict verdict, compare_code(candidates[i].prepared.meaning, questions[i], executed[i]));
    verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

Result<Verdict> Checker::check_code(const Prepared& prepared, const Execute& execute, Effort effort) {
  const CodeQuestion one{prepared, effort};
  TRY(auto verdicts,
      check_codes(std::span(&one, 1),
                  [&](std::span<const std::vector<CodeRun>> runs) -> Result<std::vector<std::vector<Executed>>> {
                    TRY(std::vector<Executed> executed, execute(runs[0]));
                    return std::vector<std::vector<Executed>>(1, std::move(executed));
                  }));
  return std::move(verdicts[0]);
}

}  // namespace trident::equiv
