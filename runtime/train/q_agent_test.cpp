// Oracle: the network and the target written down again over the weights; value iteration; the closed form of a reward
// that never ends.
#include "runtime/train/q_agent.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "runtime/train/allocation_count.h"
#include "runtime/train/state_bytes.h"

namespace trident::train {
namespace {

/// State i as input i set to one.
void one_hot(std::span<const std::byte> state, std::span<float> inputs) {
  std::fill(inputs.begin(), inputs.end(), 0.0f);
  inputs[std::to_integer<std::size_t>(state[0])] = 1;
}

std::vector<double> layer(const tensor::ParameterStore<float>& store, const std::string& name,
                          const std::vector<double>& x) {
  const auto w = store.values(*store.find(name + ".weight")), b = store.values(*store.find(name + ".bias"));
  std::vector<double> y(b.begin(), b.end());
  for (std::size_t j = 0; j < y.size(); ++j) {
    for (std::size_t i = 0; i < x.size(); ++i) y[j] += x[i] * w[i * y.size() + j];
  }
  return y;
}

std::vector<double> q_by_hand(const tensor::ParameterStore<float>& store, std::size_t inputs, std::size_t state) {
  std::vector<double> x(inputs);
  x[state] = 1;
  auto h = layer(store, "q.0", x);
  for (double& v : h) v = std::max(v, 0.0);
  const double value = layer(store, "q.value", h)[0];
  auto q = layer(store, "q.advantage", h);
  double mean = 0;
  for (const double a : q) mean += a / static_cast<double>(q.size());
  for (double& a : q) a += value - mean;
  return q;
}

std::size_t best(const std::vector<double>& q) {
  return static_cast<std::size_t>(std::max_element(q.begin(), q.end()) - q.begin());
}

TEST(QAgent, LearnsTowardsTheDoubleTarget) {
  constexpr std::size_t kStates = 8, kActions = 5;
  int differ = 0;  // how often the two networks prefer different actions: else plain Q-learning would pass
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    for (const Outcome outcome : {Outcome::truncated, Outcome::terminal}) {
      QAgent agent({.inputs = kStates, .actions = kActions, .hidden = {16}, .batch = 1, .seed = seed}, one_hot);
      tensor::Generator generator(seed, 77);
      for (float& w : agent.target().flat()) w = static_cast<float>(generator.uniform() - 0.5);
      ReplayRing ring({.capacity = 4, .state_bytes = 1, .steps = 1, .discount = 0.9});
      const std::uint8_t state = 3, next = 6;
      ring.add(0, bytes_of(state), 2, 0.25, bytes_of(next), outcome);
      const auto online_next = q_by_hand(agent.online(), kStates, next);
      const auto target_next = q_by_hand(agent.target(), kStates, next);
      differ += best(online_next) != best(target_next);
      const double wanted = 0.25 + (outcome == Outcome::terminal ? 0 : 0.9 * target_next[best(online_next)]);
      const double d = std::abs(q_by_hand(agent.online(), kStates, state)[2] - wanted);
      const auto learned = agent.learn(ring);
      ASSERT_TRUE(learned.ok());
      EXPECT_NEAR(learned->error_mean, d, 1e-5);
      EXPECT_NEAR(learned->loss, d < 1 ? d * d / 2 : d - 0.5, 1e-5);
    }
  }
  EXPECT_GT(differ, 10);
}

TEST(QAgent, TheTargetFollowsByAveragingAndByCopies) {
  QAgent agent({.inputs = 4, .actions = 2, .hidden = {8}, .batch = 2, .polyak = 0.25, .copy_steps = 3}, one_hot);
  ReplayRing ring({.capacity = 4, .state_bytes = 1, .steps = 1});
  const std::uint8_t state = 1, next = 2;
  ring.add(0, bytes_of(state), 1, 1, bytes_of(next), Outcome::going);
  std::vector<double> target(agent.target().flat().begin(), agent.target().flat().end());
  for (int step = 1; step <= 7; ++step) {
    ASSERT_TRUE(agent.learn(ring).ok());
    for (std::size_t i = 0; i < target.size(); ++i) {
      const double online = agent.online().flat()[i];
      target[i] = step % 3 == 0 ? online : 0.75 * target[i] + 0.25 * online;
      ASSERT_NEAR(agent.target().flat()[i], target[i], 1e-6) << step;
    }
  }
}

TEST(QAgent, ExploresAsOftenAsAsked) {
  const Exploration exploration{.first = 0.8, .last = 0.1, .decay = 0.5};
  EXPECT_DOUBLE_EQ(exploration.at(0), 0.8);
  EXPECT_DOUBLE_EQ(exploration.at(2), 0.2);
  EXPECT_DOUBLE_EQ(exploration.at(4), 0.1);
  QAgent agent({.inputs = 4, .actions = 4, .hidden = {8}, .states_max = 4}, one_hot);
  const std::uint8_t states[4] = {0, 1, 2, 3};
  std::int32_t actions[4];
  int seen = 0;
  for (int n = 0; n < 2000; ++n) {
    agent.act(std::as_bytes(std::span(states)), 1, 0.4, actions);
    for (std::size_t s = 0; s < 4; ++s) {
      seen += static_cast<std::size_t>(actions[s]) != best(q_by_hand(agent.online(), 4, s));
    }
  }
  // Three in four random actions are not the best: 8000 * 0.4 * 0.75 = 2400 +- 41 (one standard deviation).
  EXPECT_NEAR(seen, 2400, 180);
}

/// 5 x 5: a wall, a pit, a goal; every move costs 0.05; moves against an edge or the wall stay.
//
//   S . . . .
//   . # # . .
//   . # O . .       # wall  O pit (-1)  G goal (+1)
//   . . . # .
//   . . . . G
struct Gridworld {
  static constexpr int kSide = 5, kStates = 25, kActions = 4, kPit = 12, kGoal = 24;
  static bool wall(int s) { return s == 6 || s == 7 || s == 11 || s == 18; }
  static bool end(int s) { return s == kPit || s == kGoal; }
  static int next(int s, int action) {
    const int x = s % kSide + (action == 0) - (action == 1), y = s / kSide + (action == 2) - (action == 3);
    const bool inside = x >= 0 && x < kSide && y >= 0 && y < kSide;
    return inside && !wall(y * kSide + x) ? y * kSide + x : s;
  }
  static double reward(int s) { return s == kGoal ? 1 : s == kPit ? -1 : -0.05; }
};

TEST(QAgent, SolvesAGridworldAsValueIterationDoes) {
  using G = Gridworld;
  constexpr double kDiscount = 0.9;
  double value[G::kStates] = {};
  const auto q_star = [&](int s, int a) {
    const int t = G::next(s, a);
    return G::reward(t) + (G::end(t) ? 0 : kDiscount * value[t]);
  };
  for (int sweep = 0; sweep < 200; ++sweep) {
    for (int s = 0; s < G::kStates; ++s) {
      value[s] = std::max(std::max(q_star(s, 0), q_star(s, 1)), std::max(q_star(s, 2), q_star(s, 3)));
    }
  }
  QAgent agent({.inputs = G::kStates,
                .actions = G::kActions,
                .hidden = {64},
                .batch = 64,
                .states_max = G::kStates,
                .rate = {.peak = 3e-3, .last = 1e-4, .steps = 4000},
                .beta_steps = 4000,
                .seed = 5},
               one_hot);
  // One step: the moves are random, and longer windows would value what random moves reach.
  ReplayRing ring({.capacity = 2000, .state_bytes = 1, .steps = 1, .discount = kDiscount});
  tensor::Generator generator(5);
  int s = 0, age = 0;
  for (int n = 0; n < 4000; ++n) {
    const int action = static_cast<int>(generator.below(G::kActions)), t = G::next(s, action);
    const Outcome outcome = G::end(t) ? Outcome::terminal : ++age == 20 ? Outcome::truncated : Outcome::going;
    const auto from = static_cast<std::uint8_t>(s), to = static_cast<std::uint8_t>(t);
    ring.add(0, bytes_of(from), action, G::reward(t), bytes_of(to), outcome);
    s = t;
    if (outcome != Outcome::going) {
      age = 0;
      do s = static_cast<int>(generator.below(G::kStates));
      while (G::end(s) || G::wall(s));
    }
    if (n >= 64) {
      ASSERT_TRUE(agent.learn(ring).ok());
    }
  }
  for (int i = 0; i < G::kStates; ++i) {
    if (G::end(i) || G::wall(i)) continue;
    const auto state = static_cast<std::uint8_t>(i);
    const auto q = agent.values(bytes_of(state), 1);
    const int action = static_cast<int>(std::max_element(q.begin(), q.end()) - q.begin());
    EXPECT_NEAR(q_star(i, action), value[i], 1e-9) << "not an optimal move in state " << i;
    for (int a = 0; a < G::kActions; ++a)
      EXPECT_NEAR(q[static_cast<std::size_t>(a)], q_star(i, a), 0.1) << i << " " << a;
  }
}

TEST(QAgent, ATimeOutIsNotAnEnd) {
  // One state, reward 1 for ever: worth 1 / (1 - 0.9) = 10. Taken for ends, the time-outs would make it less than 5.
  QAgent agent({.inputs = 1,
                .actions = 2,
                .hidden = {16},
                .batch = 32,
                .rate = {.peak = 3e-3, .last = 1e-4, .steps = 3000},
                .seed = 1},
               one_hot);
  ReplayRing ring({.capacity = 500, .state_bytes = 1, .steps = 3, .discount = 0.9});
  const std::uint8_t state = 0;
  for (int n = 0; n < 3000; ++n) {
    ring.add(0, bytes_of(state), n % 2, 1, bytes_of(state), n % 5 == 4 ? Outcome::truncated : Outcome::going);
    if (n >= 5) {
      ASSERT_TRUE(agent.learn(ring).ok());
    }
  }
  for (const float q : agent.values(bytes_of(state), 1)) EXPECT_NEAR(q, 10, 0.2);
}

TEST(QAgent, TheSameSeedGivesTheSameBitsAndNoStepAllocates) {
  const auto weights = [](std::uint64_t seed) {
    QAgent agent({.inputs = 6, .actions = 3, .hidden = {8}, .batch = 8, .seed = seed}, one_hot);
    ReplayRing ring({.capacity = 64, .state_bytes = 1});
    const std::uint64_t before = allocations();
    std::uint8_t state = 0;
    for (int n = 0; n < 200; ++n) {
      std::int32_t action;
      agent.act(bytes_of(state), 1, 0.5, std::span(&action, 1));
      const auto next = static_cast<std::uint8_t>((state + action + 1) % 6);
      ring.add(0, bytes_of(state), action, next == 0, bytes_of(next), next == 0 ? Outcome::terminal : Outcome::going);
      state = next;
      if (ring.size() > 0) {
        EXPECT_TRUE(agent.learn(ring).ok());
      }
    }
    if (before != UINT64_MAX) {
      EXPECT_EQ(allocations() - before, 0u);
    }
    return std::vector<float>(agent.online().flat().begin(), agent.online().flat().end());
  };
  EXPECT_EQ(weights(1), weights(1));
  EXPECT_NE(weights(1), weights(2));
}

TEST(QAgent, ALossThatIsNotFiniteIsAnError) {
  QAgent agent({.inputs = 4, .actions = 2, .hidden = {8}, .batch = 2}, one_hot);
  ReplayRing ring({.capacity = 4, .state_bytes = 1, .steps = 1});
  const std::uint8_t state = 1;
  ring.add(0, bytes_of(state), 1, 1e300, bytes_of(state), Outcome::terminal);
  const std::vector<float> before(agent.online().flat().begin(), agent.online().flat().end());
  const auto learned = agent.learn(ring);
  ASSERT_FALSE(learned.ok());
  EXPECT_EQ(learned.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(before, std::vector<float>(agent.online().flat().begin(), agent.online().flat().end()));
}

}  // namespace
}  // namespace trident::train
