// `make bench NAME=cube`: Q-learning on the 2x2x2 cube, judged by the true distance of each state.
//
//   by the old protocol   one cube, SGD, uniform replay, 2,000 episodes of 3 and then 4 random moves, 50 moves to solve
//                         them; its own figure is the share solved while training (exploring), at least 45.8 %. Unlike
//                         there, a scramble that undoes itself is drawn again.
//   by DQN                64 cubes, Adam, prioritised replay, scrambles of 1 to 6 moves by curriculum
//   by traces             a policy that learns which move led here, from random walks away from the solved cube; then a
//                         beam of 256 by it, on 1,000 fixed states of all distances, all 276 at distance 14 among them
//
// "Greedy": always the best action, at most 50 moves. Random moves stand beside as what knowing nothing gives.
//
//   bench_cube [STEPS [SEEDS [TRACE_STEPS]]]     steps of DQN (default 80,000) for each of SEEDS seeds (default 3), and
//                                                steps of the policy (default 8,000)
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "runtime/os/clock.h"
#include "runtime/train/beam_search.h"
#include "runtime/train/curriculum.h"
#include "runtime/train/q_agent.h"
#include "runtime/train/trace_policy.h"
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

// --- traces ---

constexpr std::size_t kBeam = 256, kWalk = 20, kTraceBatch = 512;

train::TracePolicy policy_from_traces(const Cube2x2& cube, std::uint64_t seed, std::uint64_t steps) {
  train::TracePolicy policy({.inputs = Cube2x2::kInputs,
                             .moves = Cube2x2::kMoves,
                             .batch = kTraceBatch,
                             .states_max = kBeam,
                             .rate = {.peak = 1.5e-3, .last = 1e-5, .warmup_steps = 200, .steps = steps},
                             .seed = seed},
                            encode);
  tensor::Generator generator(seed, tensor::hash_of("walks"));
  std::vector<std::uint32_t> states(kTraceBatch);
  std::vector<std::int32_t> back(kTraceBatch);
  std::uint32_t state = Cube2x2::kSolved;
  std::size_t moves = 0;
  int last = -2;
  for (std::uint64_t step = 0; step < steps; ++step) {
    for (std::size_t i = 0; i < kTraceBatch; ++i) {
      if (moves++ % kWalk == 0) state = Cube2x2::kSolved, last = -2;
      int move = last ^ 1;
      while (move == (last ^ 1)) move = static_cast<int>(generator.below(Cube2x2::kMoves));
      states[i] = state = cube.move(state, move);
      back[i] = move ^ 1;
      last = move;
    }
    const auto loss = policy.learn(std::as_bytes(std::span(states)), kStateBytes, back);
    if (!loss.ok()) {
      std::fprintf(stderr, "bench_cube: %s\n", loss.error().message.c_str());
      std::exit(1);
    }
  }
  return policy;
}

/// All states at distance 14, and as many of each nearer one as make 1,000.
std::vector<std::uint32_t> fixed_states(const Cube2x2& cube) {
  constexpr std::size_t kFixed = 1000;
  std::vector<std::uint32_t> fixed = cube.states_at(Cube2x2::kDistanceMax);
  tensor::Generator generator(2000);
  for (int distance = Cube2x2::kDistanceMax - 1; distance >= 1; --distance) {
    auto states = cube.states_at(distance);
    const std::size_t count = std::min(states.size(), (kFixed - fixed.size()) / static_cast<std::size_t>(distance));
    for (std::size_t i = 0; i < count; ++i) {
      std::swap(states[i], states[i + generator.below(states.size() - i)]);
      fixed.push_back(states[i]);
    }
  }
  // The nearest distances have too few states; others fill the list.
  auto more = cube.states_at(Cube2x2::kDistanceMax - 2);
  for (std::size_t i = 0; fixed.size() < kFixed; ++i)
    if (std::find(fixed.begin(), fixed.end(), more[i]) == fixed.end()) fixed.push_back(more[i]);
  return fixed;
}

struct BeamRun {
  double cpu_seconds = 0;  ///< of training
  std::size_t solved = 0, states = 0, antipodes_solved = 0, antipodes = 0, shortest = 0;
  double extra_moves = 0, evaluations = 0, milliseconds = 0;  ///< means over the states that were solved
  Shares shares{};
};

BeamRun run_traces(const Cube2x2& cube, std::uint64_t seed, std::uint64_t steps) {
  BeamRun r;
  const std::uint64_t start = os::thread_cpu_ns();
  train::TracePolicy policy = policy_from_traces(cube, seed, steps);
  r.cpu_seconds = static_cast<double>(os::thread_cpu_ns() - start) * 1e-9;
  r.shares = solved_by_distance(cube, [&](std::span<const std::uint32_t> states, std::span<std::int32_t> actions) {
    for (std::size_t from = 0; from < states.size(); from += kBeam) {
      const std::size_t count = std::min(kBeam, states.size() - from);
      const auto scores = policy.log_probabilities(std::as_bytes(states.subspan(from, count)), kStateBytes);
      for (std::size_t i = 0; i < count; ++i) {
        const float* const row = scores.data() + i * Cube2x2::kMoves;
        actions[from + i] = static_cast<std::int32_t>(std::max_element(row, row + Cube2x2::kMoves) - row);
      }
    }
  });
  const std::uint64_t searching = os::thread_cpu_ns();
  for (const std::uint32_t state : fixed_states(cube)) {
    const train::BeamPath path = train::beam_search(
        state, {.width = kBeam, .moves = Cube2x2::kMoves, .depth_max = 30},
        [&](std::uint32_t s, std::int32_t m) { return cube.move(s, m); },
        [](std::uint32_t s) { return s == Cube2x2::kSolved; },
        [&](std::span<const std::uint32_t> states) {
          return policy.log_probabilities(std::as_bytes(states), kStateBytes);
        });
    std::uint32_t at = state;
    for (const std::int32_t m : path.moves) at = cube.move(at, m);
    const bool solved = path.found && at == Cube2x2::kSolved;
    const bool antipode = cube.distance(state) == Cube2x2::kDistanceMax;
    ++r.states, r.antipodes += antipode;
    if (!solved) continue;
    ++r.solved, r.antipodes_solved += antipode;
    const int extra = static_cast<int>(path.moves.size()) - cube.distance(state);
    r.shortest += extra == 0, r.extra_moves += extra, r.evaluations += static_cast<double>(path.evaluations);
  }
  const auto count = static_cast<double>(std::max<std::size_t>(r.solved, 1));
  r.extra_moves /= count, r.evaluations /= count;
  r.milliseconds = static_cast<double>(os::thread_cpu_ns() - searching) * 1e-6 / static_cast<double>(r.states);
  return r;
}

bool bar(bool kept, const char* what) {
  std::printf("%s: %s\n", kept ? "kept" : "MISSED", what);
  return kept;
}

int measure(std::uint64_t steps, std::uint64_t seeds, std::uint64_t trace_steps) {
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
  bool beam_solved = true, beam_in_time = true;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const BeamRun r = run_traces(cube, seed, trace_steps);
    std::snprintf(name, sizeof name, "traces, seed %llu, greedy", static_cast<unsigned long long>(seed));
    print(name, r.shares);
    std::printf("  %.1f s of processor time, %llu steps of %zu states\n", r.cpu_seconds,
                static_cast<unsigned long long>(trace_steps), kTraceBatch);
    std::printf(
        "  beam of %zu: %zu of %zu states solved, %zu of %zu at distance 14; %zu by a shortest way, %.2f moves "
        "more on average; %.0f evaluations and %.1f ms each\n",
        kBeam, r.solved, r.states, r.antipodes_solved, r.antipodes, r.shortest, r.extra_moves, r.evaluations,
        r.milliseconds);
    std::fflush(stdout);
    beam_solved &= r.solved == r.states && r.states == 1000 && r.antipodes == 276;
    beam_in_time &= r.cpu_seconds <= 180;
  }
  const bool all[] = {
      bar(old_kept, "old protocol: at least 45.8 % solved while training with 4 moves, each seed"),
      bar(quick, "old protocol: at most 30 s of processor time"),
      bar(solved, "DQN: at least 99 % at every distance up to 5, each seed"),
      bar(in_time, "DQN: at most 120 s of processor time"),
      bar(beam_solved, "traces and a beam of 256: all of 1,000 states, all 276 at distance 14 among them"),
      bar(beam_in_time, "traces: at most 180 s of processor time")};
  return std::all_of(std::begin(all), std::end(all), [](bool kept) { return kept; }) ? 0 : 1;
}

}  // namespace
}  // namespace trident::bench

int main(int argc, char** argv) {
  const auto number = [&](int i, std::uint64_t otherwise) {
    return argc > i ? std::strtoull(argv[i], nullptr, 10) : otherwise;
  };
  const std::uint64_t steps = number(1, 80'000), seeds = number(2, 3), trace_steps = number(3, 8'000);
  if (argc > 4 || steps == 0 || seeds == 0 || trace_steps == 0) {
    std::fprintf(stderr, "usage: bench_cube [STEPS [SEEDS [TRACE_STEPS]]]\n");
    return 2;
  }
  return trident::bench::measure(steps, seeds, trace_steps);
}
