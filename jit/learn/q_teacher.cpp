#include "jit/learn/q_teacher.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace trident::learn {

using egraph::Candidate;

namespace {

constexpr double kByteMost = 255;
constexpr float kScalarMost = 127;
constexpr std::size_t kBatch = 64;
constexpr std::size_t kReadyBatches = 4;  // number of transitions before it learns

std::size_t inputs_of(const Network& network) {
  return network.shape().width + nn::kScalars + 1;
}

std::size_t bytes_of(const Network& network) {
  return network.shape().width + nn::kScalars * sizeof(std::int16_t) + 1;
}

train::QAgentOptions agent_options(const Network& network, const QTeacherOptions& options) {
  train::QAgentOptions o;
  o.inputs = inputs_of(network), o.actions = 2;
  o.hidden = options.hidden;
  o.batch = kBatch, o.states_max = 1;
  o.rate = {.peak = options.rate};
  o.optimiser.clip_norm = 10;
  o.copy_steps = 0;
  o.seed = options.seed;
  return o;
}

void encode(std::size_t width, std::span<const std::byte> state, std::span<float> inputs) {
  std::size_t at = 0;
  for (; at < width; ++at) inputs[at] = static_cast<float>(state[at]) / static_cast<float>(kByteMost);
  std::array<std::int16_t, nn::kScalars> scalars;
  std::memcpy(scalars.data(), state.data() + width, sizeof scalars);
  for (const std::int16_t s : scalars) inputs[at++] = static_cast<float>(s) / kScalarMost;
  inputs[at] = static_cast<float>(state[width + sizeof scalars]) / static_cast<float>(kByteMost);
}

std::vector<std::uint8_t> shares_of(const GuideSamples& train, std::size_t rules) {
  std::vector<double> needed(rules), all(rules);
  for (const GuideSample& s : train.samples) ++all.at(s.rule), needed.at(s.rule) += s.needed ? 1 : 0;
  std::vector<std::uint8_t> shares;
  for (std::size_t r = 0; r < rules; ++r)
    shares.push_back(static_cast<std::uint8_t>(std::lround(kByteMost * needed[r] / (all[r] + 1))));
  return shares;
}

}  // namespace

// --- TakeOrLeave ---

TakeOrLeave::TakeOrLeave(const nn::AccumulatorWeights& weights, const nnue::KindTable& kinds, unsigned depth,
                         Options options)
    : options_(std::move(options)), onlooker_(weights, kinds, depth) {}

void TakeOrLeave::begin(const egraph::GuidedGraph& graph) {
  left_.clear(), made_.clear();
  settled_ = 0, taken_ = 0;
  ended_itself_ = false;
  onlooker_.begin(graph);
  order_->begin(graph);
}

// Returns the next match: by the order, then those left before; none if all waiting ones were left since the last was
// taken.
std::optional<Candidate> TakeOrLeave::offered() {
  if (std::optional<Candidate> next = order_->take()) return next;
  if (left_.empty() || left_.front().left_at == taken_) return std::nullopt;
  const Candidate next = left_.front().match;
  left_.pop_front();
  return next;
}

std::optional<Candidate> TakeOrLeave::take() {
  ended_itself_ = false;
  while (const std::optional<Candidate> next = offered()) {
    const std::optional<GuideSample> seen = onlooker_.holds() ? onlooker_.look(*next) : std::nullopt;
    if (!seen) return next;
    Made& made = made_.emplace_back();
    made.state.resize(options_.state_bytes);
    options_.describe(onlooker_.noted(), *seen, made.state);
    made.taken = options_.takes(made.state);
    if (made.taken) {
      ++taken_;
      onlooker_.took(next->rule);
      return next;
    }
    left_.push_back({*next, taken_});
  }
  ended_itself_ = true;
  return std::nullopt;
}

void TakeOrLeave::follow() {
  order_->follow();
  if (!onlooker_.holds()) return;
  const double before = onlooker_.cost();
  onlooker_.follow();
  const double fall = std::log((before + 1) / (onlooker_.cost() + 1));
  const auto first = made_.begin() + static_cast<std::ptrdiff_t>(settled_);
  const auto taken = std::count_if(first, made_.end(), [](const Made& m) { return m.taken; });
  for (auto m = first; m != made_.end(); ++m)
    if (m->taken) m->reward = fall / static_cast<double>(taken) - options_.price;
  settled_ = made_.size();
  tell_but(1);
}

// Tells all decisions with known rewards but the last few, whose next states are unknown.
void TakeOrLeave::tell_but(std::size_t last) {
  const std::size_t count = settled_ - std::min(last, settled_);
  for (std::size_t i = 0; i < count; ++i)
    options_.tell({made_[i].state, made_[i + 1].state, made_[i].taken, made_[i].reward, train::Outcome::going});
  made_.erase(made_.begin(), made_.begin() + static_cast<std::ptrdiff_t>(count));
  settled_ -= count;
}

void TakeOrLeave::end(const egraph::Term& found) {
  order_->end(found);
  // Decisions to leave since the last rebuilding have their reward, which is 0.
  while (settled_ < made_.size() && !made_[settled_].taken) ++settled_;
  if (settled_ == 0) return;
  tell_but(1);
  const Made& last = made_.front();
  const bool terminal = ended_itself_ && made_.size() == 1;
  options_.tell({last.state, made_.back().state, last.taken, last.reward,
                 terminal ? train::Outcome::terminal : train::Outcome::truncated});
  made_.clear(), settled_ = 0;
}

// --- QTeacher ---

QTeacher::QTeacher(const Network& network, const nnue::KindTable& kinds, const GuideSamples& train,
                   const QTeacherOptions& options)
    : network_(network),
      options_(options),
      shares_(shares_of(train, network.shape().rules)),
      ring_({.capacity = options.capacity,
             .state_bytes = bytes_of(network),
             .steps = options.steps,
             .discount = options.discount}),
      agent_(agent_options(network, options),
             [width = network.shape().width](std::span<const std::byte> state, std::span<float> inputs) {
               encode(width, state, inputs);
             }),
      guide_(counting_weights(kinds, network.shape().depth, network.shape().rules), kinds, network.shape().depth,
             {.price = options.price,
              .state_bytes = bytes_of(network),
              .describe = [this](const GuideSamples& noted, const GuideSample& match,
                                 std::span<std::byte> state) { describe(noted, match, state); },
              .takes =
                  [this](std::span<const std::byte> state) {
                    std::int32_t action = 0;
                    agent_.act(state, state.size(), epsilon_, {&action, 1});
                    return action == 1;
                  },
              .tell = [this](const Decision& decision) { lived(decision); }}) {}

egraph::Guide& QTeacher::between(egraph::Guide& order, std::uint32_t episode) {
  epsilon_ = options_.exploration.at(episode);
  guide_.ask(order);
  return guide_;
}

std::size_t QTeacher::state_bytes() const {
  return bytes_of(network_);
}

void QTeacher::describe(const GuideSamples& samples, const GuideSample& sample, std::span<std::byte> state) const {
  std::vector<std::uint32_t> list;
  const Example example = example_of(samples, sample, {}, list);
  const std::size_t width = network_.shape().width;
  std::vector<float> embedded(width);
  network_.embed(example, embedded);
  for (std::size_t i = 0; i < width; ++i)
    state[i] = static_cast<std::byte>(std::lround(static_cast<float>(kByteMost) * embedded[i]));
  std::memcpy(state.data() + width, example.scalars.data(), sizeof example.scalars);
  state[width + sizeof example.scalars] =
      static_cast<std::byte>(sample.rule < shares_.size() ? shares_[sample.rule] : 0);
}

void QTeacher::lived(const Decision& decision) {
  ring_.add(0, decision.state, decision.taken ? 1 : 0, decision.reward, decision.next_state, decision.outcome);
  ++decisions_;
  if (!failed_.ok() || ring_.size() < kReadyBatches * kBatch || decisions_ % options_.learn_every != 0) return;
  if (const auto learned = agent_.learn(ring_); !learned.ok()) failed_ = learned.error();
}

double QTeacher::advantage(std::span<const std::byte> state) {
  const std::span<const float> values = agent_.values(state, state.size());
  return double{values[1]} - double{values[0]};
}

std::vector<float> QTeacher::labels(const GuideSamples& samples) {
  std::vector<double> more;
  std::vector<std::byte> state(state_bytes());
  double sum = 0, squares = 0;
  for (const GuideSample& s : samples.samples) {
    describe(samples, s, state);
    more.push_back(advantage(state));
    sum += more.back(), squares += more.back() * more.back();
  }
  const auto count = static_cast<double>(std::max<std::size_t>(more.size(), 1));
  const double deviation = std::sqrt(std::max(squares / count - sum / count * (sum / count), 1e-12));
  const double temperature = options_.temperature > 0 ? options_.temperature : deviation;
  std::vector<float> labels;
  for (const double m : more) labels.push_back(static_cast<float>(1 / (1 + std::exp(-m / temperature))));
  return labels;
}

train::Curriculum way_back_curriculum(std::uint32_t episodes) {
  constexpr std::size_t kWindow = 40;
  constexpr double kRehearsal = 0.2;
  constexpr double kBar = 0.9;
  const std::uint64_t share = std::max<std::uint64_t>(episodes / 5, 1);
  return train::Curriculum({{1, kBar, share}, {2, kBar, share}, {4, kBar, share}, {8}}, kWindow, kRehearsal);
}

std::vector<float> mean_of_both(std::span<const float> labels, const GuideSamples& samples) {
  CHECK(labels.size() == samples.samples.size());
  std::vector<float> mean;
  for (std::size_t i = 0; i < labels.size(); ++i)
    mean.push_back((labels[i] + (samples.samples[i].needed ? 1.0f : 0.0f)) / 2);
  return mean;
}

}  // namespace trident::learn
