#include "jit/tir/superopt/features.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace trident::tir::superopt {
namespace {

using tasm::Op;

/// Number of ops: an instruction of the next machine shares the features of the one it replaces.
constexpr std::size_t kOpCount = tasm::kOpsPerVm;

constexpr std::uint8_t kAbsent = 0xFF;  // deeper than any stack
constexpr std::uint32_t kDepths = 8, kConstantBucket = 6, kAbsentBucket = 7;
constexpr std::uint32_t kRoles = 36, kMissingMax = 3, kMatchedMax = 10, kExcess = 8, kOpenMax = 16;

// Start of each sort of features.
constexpr std::uint32_t kRegister = 0;
constexpr std::uint32_t kPair = kRegister + tasm::kRegisters * kRoles;
constexpr std::uint32_t kMany = kPair + kOpCount * kDepths * kDepths;
constexpr std::uint32_t kWaiting = kMany + kOpCount * (kMatchedMax + 1);
constexpr std::uint32_t kOut = kWaiting + kOpCount * (kMissingMax + 1);
constexpr std::uint32_t kLast = kOut + kDepths * kDepths;
constexpr std::uint32_t kLastTwo = kLast + kOpCount * (tasm::kIndexMax + 1);
constexpr std::uint32_t kHeight = kLastTwo + kOpCount * kOpCount;
constexpr std::uint32_t kOpen = kHeight + 2 * kExcess + 1;
constexpr std::uint32_t kFeatures = kOpen + kOpenMax + 1;
static_assert(kFeatures < kNoFeature);

std::uint32_t number(Op op) {
  return static_cast<std::uint32_t>(tasm::released_op(op));
}

/// Groups depths: 0 to 3 are different, the registers below them are two groups.
constexpr std::uint32_t bucket(int depth) {
  if (depth < 4) return static_cast<std::uint32_t>(std::max(depth, 0));
  return depth < 8 ? 4 : 5;
}

constexpr std::uint64_t fnv(std::uint64_t hash, std::string_view text) {
  for (const char c : text) hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x100'0000'01B3u;
  return hash;
}

}  // namespace

nn::FeatureSpace feature_space() {
  static const std::uint64_t hash = [] {
    std::uint64_t h = fnv(0xCBF2'9CE4'8422'2325u, "places of a stack, tasks, last ops: 1");
    for (std::size_t op = 0; op < kOpCount; ++op) h = fnv(h, tasm::row(static_cast<Op>(op)).text);
    return h;
  }();
  return {kFeatures, hash};
}

Onlooker::Onlooker(const Specification& specification, const Weights& weights)
    : spec_(specification), weights_(weights) {
  const std::size_t tasks = spec_.tasks.size();
  all_done_ = tasks == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << tasks) - 1;
  for (std::size_t t = 0; t < tasks; ++t) task_cost_[t] = cost(std::span(&spec_.tasks[t].instruction, 1), weights);
  for (const Id id : spec_.after) at_end_[id] = 1;
}

void Onlooker::count(const State& state) {
  const std::size_t values = spec_.values.size();
  std::memset(balance_.data(), 0, values);
  std::memset(depth_.data(), kAbsent, values);
  std::memset(for_ready_.data(), 0, values);
  std::memset(for_waiting_.data(), 0, values);
  for (std::uint8_t i = 0; i < state.size; ++i) {
    ++balance_[state.stack[i]];
    depth_[state.stack[i]] = static_cast<std::uint8_t>(state.size - 1 - i);
  }
  for (const Id id : spec_.after) --balance_[id];
  ready_ = 0;
  for (std::uint64_t open = all_done_ & ~state.done; open != 0; open &= open - 1) {
    const auto t = static_cast<std::size_t>(std::countr_zero(open));
    const Task& task = spec_.tasks[t];
    bool ready = (task.after & ~state.done) == 0;
    for (const Id id : task.takes) {
      --balance_[id];
      ready &= depth_[id] != kAbsent || spec_.values[id].base == kConstants;
    }
    for (const Id id : task.gives) ++balance_[id];
    if (ready) ready_ |= std::uint64_t{1} << t;
    for (const Id id : task.takes) (ready ? for_ready_ : for_waiting_)[id] = 1;
  }
}

std::uint32_t Onlooker::bucket_of(Id id) const {
  if (depth_[id] != kAbsent) return bucket(depth_[id]);
  return spec_.values[id].base == kConstants ? kConstantBucket : kAbsentBucket;
}

Feature Onlooker::of_task(std::size_t t) const {
  const Task& task = spec_.tasks[t];
  const std::uint32_t op = number(task.instruction.op);
  if ((ready_ >> t & 1) == 0) {
    std::uint32_t missing = 0;
    for (const Id id : task.takes) missing += bucket_of(id) == kAbsentBucket ? 1 : 0;
    return static_cast<Feature>(kWaiting + op * (kMissingMax + 1) + std::min(missing, kMissingMax));
  }
  if (task.takes.size() > 2) {
    std::uint32_t matched = 0;
    for (std::size_t i = 0; i < task.takes.size(); ++i) matched += depth_[task.takes[i]] == i ? 1 : 0;
    return static_cast<Feature>(kMany + op * (kMatchedMax + 1) + std::min(matched, kMatchedMax));
  }
  std::uint32_t first = task.takes.empty() ? 0 : bucket_of(task.takes[0]);
  std::uint32_t second = task.takes.size() < 2 ? 0 : bucket_of(task.takes[1]);
  if (task.commutes && first > second) std::swap(first, second);
  return static_cast<Feature>(kPair + (op * kDepths + first) * kDepths + second);
}

void Onlooker::look(const State& state, Seen& out) {
  count(state);
  out.places.fill(kNoFeature);
  Feature* place = out.places.data();
  const std::size_t size = state.size, end = spec_.after.size();

  std::uint32_t misplaced = 0, dead = 0;
  for (std::size_t i = 0; i < std::min(size, tasm::kRegisters); ++i) {
    const Id id = state.st(i);
    const std::size_t at = size - 1 - i;
    const std::uint32_t in_place = at < end && spec_.after[at] == id ? 1 : 0;
    const std::uint32_t task = for_ready_[id] != 0 ? 2u : for_waiting_[id];
    const std::uint32_t supply = balance_[id] < 0 ? 0 : balance_[id] == 0 ? 1 : 2;
    const std::uint32_t role = ((in_place * 3 + task) * 2 + at_end_[id]) * 3 + supply;
    dead += task == 0 && at_end_[id] == 0 ? 1 : 0;
    place[i] = static_cast<Feature>(kRegister + i * kRoles + role);
  }
  place += tasm::kRegisters;

  double tasks_cost = 0;
  std::uint32_t at_once = 0;
  for (std::uint64_t open = all_done_ & ~state.done; open != 0; open &= open - 1) {
    const auto t = static_cast<std::size_t>(std::countr_zero(open));
    place[t] = of_task(t);
    tasks_cost += task_cost_[t];
    bool there = (ready_ >> t & 1) != 0;
    for (std::size_t i = 0; there && i < spec_.tasks[t].takes.size(); ++i)
      there = i < size && state.st(i) == spec_.tasks[t].takes[i];
    at_once += there ? 1 : 0;
  }
  place += kTasksMax;

  for (std::size_t at = 0; at < end; ++at) {
    if (at < size && state.stack[at] == spec_.after[at]) continue;
    ++misplaced;
    const int target = static_cast<int>(size) - 1 - static_cast<int>(at);
    place[at] = static_cast<Feature>(kOut + bucket_of(spec_.after[at]) * kDepths +
                                     (target < 0 ? kAbsentBucket : bucket(target)));
  }
  place += kStackMax;

  const auto argument = static_cast<std::uint32_t>(std::min(state.last.argument_of_amounts(), tasm::kIndexMax));
  const int excess = std::clamp(static_cast<int>(size) - static_cast<int>(end), -int{kExcess}, int{kExcess});
  const auto open = static_cast<std::uint32_t>(std::popcount(all_done_ & ~state.done));
  place[0] = static_cast<Feature>(kLast + number(state.last.op) * (tasm::kIndexMax + 1) + argument);
  place[1] = static_cast<Feature>(kLastTwo + number(state.before_last) * kOpCount + number(state.last.op));
  place[2] = static_cast<Feature>(kHeight + static_cast<std::uint32_t>(excess + int{kExcess}));
  place[3] = static_cast<Feature>(kOpen + std::min(open, kOpenMax));

  int missing = 0, surplus = 0;
  for (std::size_t v = 0; v < spec_.values.size(); ++v) (balance_[v] < 0 ? missing : surplus) += std::abs(balance_[v]);
  const double move = move_cost(weights_);
  const double numbers[] = {16.0 * missing,
                            16.0 * surplus,
                            16.0 * misplaced,
                            8 * tasks_cost / move,
                            8.0 * open,
                            16.0 * excess,
                            16.0 * std::popcount(ready_),
                            32.0 * at_once,
                            16.0 * dead,
                            8 * state.left / move,
                            64 * weights_.word / move,
                            64 * weights_.cycle / move,
                            64 * weights_.stack_row / move};
  static_assert(std::size(numbers) <= simd::kScalars);
  constexpr double kMost = 2047;
  out.scalars.fill(0);
  for (std::size_t i = 0; i < std::size(numbers); ++i)
    out.scalars[i] = static_cast<std::int16_t>(std::lround(std::clamp(numbers[i], -kMost, kMost)));
}

}  // namespace trident::tir::superopt
