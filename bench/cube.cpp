// `make bench-cube`: what Q-learning makes of the 2x2x2 cube, judged by the true distance of each state.
//
//   by the old protocol   one cube, SGD, uniform replay, 2,000 episodes of 3 and then 4 random moves, 50 moves to solve
//                         them; its own figure is the share solved while training (exploring), at least 45.8 %. Unlike
//                         there, a scramble that undoes itself is drawn again.
//   by DQN                64 cubes, Adam, prioritised replay, scrambles of 1 to 6 moves by curriculum
//
// "Greedy": always the best action, at most 50 moves. Random moves stand beside as what knowing nothing gives.
//
//   bench_cube [STEPS [SEEDS]]     steps of DQN (default 80,000) for each of SEEDS seeds (default 3)
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "runtime/os/clock.h"
#include "runtime/train/curriculum.h"
#include "runtime/train/q_agent.h"
#include "tests/support/cube2x2.h"

namespace trident::bench {
namespace {

using testing::Cube2x2;
using train::Outcome;

constexpr int kMovesMax = 50, kDistances = 8;
constexpr std::size_t kStatesPerDistance = 1000, kStateBytes = sizeof(std::uint32_t);

void encode(std::span<const std::byte> state, std::span<float> inputs) {
  std::uint32_t rank;
  std::copy_n(state.data(), kStateBytes, reinterpret_cast<std::byte*>(&rank));
  Cube2x2::encode(rank, inputs);
}

/// `moves` random quarter turns, none of which undoes the one before; never the solved cube.
std::uint32_t scramble(const Cube2x2& cube, tensor::Generator& generator, std::uint32_t moves, bool may_undo) {
  std::uint32_t state = Cube2x2::kSolved;
  while (state == Cube2x2::kSolved) {
    int last = -2;
    for (std::uint32_t n = 0; n < moves;) {
      const int move = static_cast<int>(generator.below(Cube2x2::kMoves));
      if (!may_undo && move == (last ^ 1)) continue;
      state = cube.move(state, move);
      last = move;
      ++n;
    }
  }
  return state;
}

using Shares = std::array<double, kDistances + 1>;

/// The share of states solved at each distance: all of a distance, or kStatesPerDistance drawn by a fixed seed.
/// `choose` fills an action for each state.
template <class Choose>
Shares solved_by_distance(const Cube2x2& cube, Choose&& choose) {
  Shares shares{};
  for (int distance = 1; distance <= kDistances; ++distance) {
    auto states = cube.states_at(distance);
    tensor::Generator generator(1000, static_cast<std::uint64_t>(distance));
    const std::size_t count = std::min(states.size(), kStatesPerDistance);
    for (std::size_t i = 0; i < count; ++i) std::swap(states[i], states[i + generator.below(states.size() - i)]);
    states.resize(count);
    std::vector<std::int32_t> actions(count);
    for (int n = 0; n < kMovesMax && !states.empty(); ++n) {
      actions.resize(states.size());
      choose(states, actions);
      for (std::size_t i = 0; i < states.size(); ++i) states[i] = cube.move(states[i], actions[i]);
      std::erase(states, Cube2x2::kSolved);
    }
    shares[static_cast<std::size_t>(distance)] = 1 - static_cast<double>(states.size()) / static_cast<double>(count);
  }
  return shares;
}

Shares greedy(const Cube2x2& cube, train::QAgent& agent, std::size_t states_max) {
  return solved_by_distance(cube, [&](std::span<const std::uint32_t> states, std::span<std::int32_t> actions) {
    for (std::size_t from = 0; from < states.size(); from += states_max) {
      const std::size_t count = std::min(states_max, states.size() - from);
      agent.act(std::as_bytes(states.subspan(from, count)), kStateBytes, 0, actions.subspan(from, count));
    }
  });
}

void print(const char* what, const Shares& shares) {
  std::printf("%-30s", what);
  for (int d = 1; d <= kDistances; ++d) std::printf(" %6.1f", 100 * shares[static_cast<std::size_t>(d)]);
  std::printf("\n");
  std::fflush(stdout);
}

struct Protocol {
  int moves_max;  ///< cut an episode short
  train::QAgentOptions agent;
  train::ReplayOptions ring;
  train::Exploration exploration;
  std::vector<train::Level> levels;
  std::size_t window;
  double rehearsal;
  std::size_t warmup;      ///< transitions before the first step
  std::uint64_t episodes;  ///< ends the run; 0: never
  std::uint64_t steps;     ///< ends the run; 0: never
  bool may_undo;           ///< of scrambles
};

Protocol old_protocol(std::uint64_t seed) {
  return {.moves_max = kMovesMax,
          .agent = {.inputs = Cube2x2::kInputs,
                    .actions = Cube2x2::kMoves,
                    // 0.005 on the batch's sum, clipped at norm 1; losses here are means of 64.
                    .rate = {.peak = 0.005 * 64},
                    .optimiser = {.algorithm = train::Algorithm::sgd, .momentum = 0, .clip_norm = 1.0 / 64},
                    .beta_first = 0,
                    .beta_last = 0,
                    .seed = seed},
          .ring = {.capacity = 20'000, .streams = 1, .state_bytes = kStateBytes, .alpha = 0},
          .exploration = {},
          .levels = {{.difficulty = 3, .threshold = 0.55}, {.difficulty = 4}},
          .window = 200,
          .rehearsal = 0,
          .warmup = 1500,
          .episodes = 2000,
          .steps = 0,
          .may_undo = true};
}

Protocol dqn(std::uint64_t seed, std::uint64_t steps) {
  // Few moves: what lies far beyond the scrambles is not worth the steps.
  Protocol protocol{.moves_max = 14,
                    .agent = {.inputs = Cube2x2::kInputs,
                              .actions = Cube2x2::kMoves,
                              .batch = 256,
                              .rate = {.peak = 1e-3, .last = 2e-5, .warmup_steps = 500, .steps = steps},
                              .optimiser = {.clip_norm = 10},
                              .copy_steps = 0,
                              .beta_steps = steps,
                              .seed = seed},
                    .ring = {.capacity = 300'000, .streams = 64, .state_bytes = kStateBytes},
                    .exploration = {.last = 0.1, .decay = 0.9995},
                    .levels = {},
                    .window = 500,
                    .rehearsal = 0.5,
                    .warmup = 5000,
                    .episodes = 0,
                    .steps = steps,
                    .may_undo = false};
  for (std::uint32_t difficulty = 1; difficulty <= 6; ++difficulty) {
    protocol.levels.push_back({.difficulty = difficulty, .threshold = 0.8});
  }
  return protocol;
}

struct Run {
  Shares shares{};
  double last_level_share = 0;  ///< solved of all episodes of the last level, while training
  double cpu_seconds = 0;       ///< of training alone
  std::uint64_t episodes = 0, steps = 0;
  std::uint32_t difficulty = 0;
};

Run run(const Cube2x2& cube, const Protocol& protocol) {
  train::QAgent agent(protocol.agent, encode);
  train::ReplayRing ring(protocol.ring);
  train::Curriculum curriculum(protocol.levels, protocol.window, protocol.rehearsal);
  tensor::Generator generator(protocol.agent.seed, tensor::hash_of("scrambles"));
  const std::size_t cubes = protocol.ring.streams;
  std::vector<std::uint32_t> states(cubes);
  std::vector<std::size_t> levels(cubes);
  std::vector<int> ages(cubes);
  std::vector<std::int32_t> actions(cubes);
  const auto begin_episode = [&](std::size_t i) {
    levels[i] = curriculum.draw(generator);
    states[i] = scramble(cube, generator, curriculum.difficulty(levels[i]), protocol.may_undo);
    ages[i] = 0;
  };
  Run result;
  std::uint64_t last_level_solved = 0, last_level_episodes = 0;
  const std::uint64_t start = os::thread_cpu_ns();
  for (std::size_t i = 0; i < cubes; ++i) begin_episode(i);
  while ((protocol.episodes == 0 || result.episodes < protocol.episodes) &&
         (protocol.steps == 0 || agent.steps() < protocol.steps)) {
    agent.act(std::as_bytes(std::span<const std::uint32_t>(states)), kStateBytes,
              protocol.exploration.at(result.episodes), actions);
    for (std::size_t i = 0; i < cubes; ++i) {
      const std::uint32_t next = cube.move(states[i], actions[i]);
      const bool solved = next == Cube2x2::kSolved;
      const Outcome outcome = solved                            ? Outcome::terminal
                              : ++ages[i] == protocol.moves_max ? Outcome::truncated
                                                                : Outcome::going;
      ring.add(i, std::as_bytes(std::span(&states[i], 1)), actions[i], solved ? 1 : -0.01,
               std::as_bytes(std::span(&next, 1)), outcome);
      states[i] = next;
      if (outcome == Outcome::going) continue;
      ++result.episodes;
      if (levels[i] + 1 == protocol.levels.size()) {
        ++last_level_episodes;
        last_level_solved += solved;
      }
      curriculum.record(levels[i], solved);
      begin_episode(i);
    }
    if (ring.size() < protocol.warmup) continue;
    const auto learned = agent.learn(ring);
    if (!learned.ok()) {
      std::fprintf(stderr, "bench_cube: %s\n", learned.error().message.c_str());
      std::exit(1);
    }
  }
  result.cpu_seconds = static_cast<double>(os::thread_cpu_ns() - start) * 1e-9;
  result.steps = agent.steps();
  result.difficulty = curriculum.difficulty();
  if (last_level_episodes > 0) {
    result.last_level_share = static_cast<double>(last_level_solved) / static_cast<double>(last_level_episodes);
  }
  result.shares = greedy(cube, agent, protocol.agent.states_max);
  return result;
}

bool bar(bool kept, const char* what) {
  std::printf("%s: %s\n", kept ? "kept" : "MISSED", what);
  return kept;
}

int measure(std::uint64_t steps, std::uint64_t seeds) {
  const Cube2x2 cube;
  std::printf("per cent solved in %d moves, by true distance; %zu states of each, or all\n", kMovesMax,
              kStatesPerDistance);
  std::printf("%-30s", "distance");
  for (int d = 1; d <= kDistances; ++d) std::printf(" %6d", d);
  std::printf("\n");
  tensor::Generator generator(1);
  print("random moves", solved_by_distance(cube, [&](std::span<const std::uint32_t>, std::span<std::int32_t> actions) {
          for (auto& action : actions) action = static_cast<std::int32_t>(generator.below(Cube2x2::kMoves));
        }));
  bool old_kept = true, quick = true, solved = true, in_time = true;
  char name[80];
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const Run r = run(cube, old_protocol(seed));
    std::snprintf(name, sizeof name, "old protocol, seed %llu, greedy", static_cast<unsigned long long>(seed));
    print(name, r.shares);
    std::printf("  %.1f s of processor time, %llu steps; while training, %u moves: %.1f %%\n", r.cpu_seconds,
                static_cast<unsigned long long>(r.steps), r.difficulty, 100 * r.last_level_share);
    old_kept &= r.last_level_share >= 0.458;
    quick &= r.cpu_seconds <= 30;
  }
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const Run r = run(cube, dqn(seed, steps));
    std::snprintf(name, sizeof name, "DQN, seed %llu, greedy", static_cast<unsigned long long>(seed));
    print(name, r.shares);
    std::printf("  %.1f s of processor time, %llu steps, %llu episodes, of %u moves at the end\n", r.cpu_seconds,
                static_cast<unsigned long long>(r.steps), static_cast<unsigned long long>(r.episodes), r.difficulty);
    for (std::size_t d = 1; d <= 5; ++d) solved &= r.shares[d] >= 0.99;
    in_time &= r.cpu_seconds <= 120;
  }
  const bool all[] = {bar(old_kept, "old protocol: at least 45.8 % solved while training with 4 moves, each seed"),
                      bar(quick, "old protocol: at most 30 s of processor time"),
                      bar(solved, "DQN: at least 99 % at every distance up to 5, each seed"),
                      bar(in_time, "DQN: at most 120 s of processor time")};
  return std::all_of(std::begin(all), std::end(all), [](bool kept) { return kept; }) ? 0 : 1;
}

}  // namespace
}  // namespace trident::bench

int main(int argc, char** argv) {
  const auto number = [&](int i, std::uint64_t otherwise) {
    return argc > i ? std::strtoull(argv[i], nullptr, 10) : otherwise;
  };
  const std::uint64_t steps = number(1, 80'000), seeds = number(2, 3);
  if (argc > 3 || steps == 0 || seeds == 0) {
    std::fprintf(stderr, "usage: bench_cube [STEPS [SEEDS]]\n");
    return 2;
  }
  return trident::bench::measure(steps, seeds);
}
