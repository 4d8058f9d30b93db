// Oracle for the accumulator after random changes: the features of the term at that time, written out path by path.
// TRIDENT_NNUE_REWRITES: number of rewrites (make campaign NAME=nnue).
#include "jit/nnue/incumbent.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "jit/nnue/random_terms.h"

namespace trident::nnue {
namespace {

using naive::Random;
using naive::Term;

struct Weighted {
  nn::PlainWeights plain;
  nn::AccumulatorWeights packed;
};
const Weighted& weights(unsigned depth) {
  static const std::array<Weighted, 3> made = [] {
    const auto make = [](unsigned d) {
      nn::PlainWeights plain = naive::random_weights(d, d);
      auto packed = nn::AccumulatorWeights::make(plain);
      CHECK(packed.ok());
      return Weighted{std::move(plain), std::move(packed).value()};
    };
    return std::array<Weighted, 3>{make(2), make(3), make(4)};
  }();
  return made[depth - 2];
}

/// A term, an incumbent that must follow it, and random changes of both.
class Pair {
 public:
  Pair(Random& random, unsigned depth, std::uint32_t nodes)
      : random_(random),
        depth_(depth),
        term_(naive::random_term(random, nodes)),
        incumbent_(weights(depth).packed, depth) {
    naive::begin(incumbent_, term_);
  }

  void check() {
    const auto expected = naive::sum_of(weights(depth_).plain, term_, depth_);
    const auto references = term_.references();
    const auto& bias = weights(depth_).plain.bias;
    for (std::size_t l = 0; l < nn::kLanes; ++l)
      ASSERT_EQ(bias[l] + expected[l], incumbent_.accumulator().lane[l]) << "lane " << l;
    ASSERT_EQ(references.size() - static_cast<std::size_t>(std::count(references.begin(), references.end(), 0u)),
              incumbent_.nodes());
  }
  void check_references() {
    const auto references = term_.references();
    std::uint64_t features = 0;
    naive::each_feature(term_, depth_, [&](std::uint32_t) { ++features; });
    ASSERT_EQ(features, incumbent_.features());
    for (std::uint32_t name = 0; name < references.size(); ++name) {
      if (term_.meant(name) == name) {
        ASSERT_EQ(references[name], incumbent_.references(name)) << name;
      }
      ASSERT_EQ(term_.meant(name), incumbent_.find(name));
    }
    const nn::Accumulator rebuilt = incumbent_.rebuilt();
    for (std::size_t l = 0; l < nn::kLanes; ++l) ASSERT_EQ(rebuilt.lane[l], incumbent_.accumulator().lane[l]);
  }

  /// Returns a class in T.
  std::uint32_t some_in_use() {
    const auto references = term_.references();
    std::uint32_t name;
    do name = random_() % static_cast<std::uint32_t>(references.size());
    while (references[name] == 0);
    return name;
  }
  std::uint32_t some() { return term_.meant(random_() % static_cast<std::uint32_t>(term_.nodes.size())); }

  /// Makes a node for `user` from nodes that do not need it: in T, formerly in T, or new.
  Choice some_choice(std::uint32_t user, int nested = 0) {
    Choice c;
    c.kind = static_cast<std::uint8_t>(random_() % naive::kKindsUsed);
    c.arity = naive::arity_of(c.kind);
    for (std::uint8_t s = 0; s < c.arity; ++s) {
      std::uint32_t child = some();
      if (nested < 3 && random_() % 3 == 0) {
        const Choice fresh = some_choice(user, nested + 1);
        child = term_.add(fresh);
        incumbent_.choose(child, fresh);
      }
      for (int tries = 0; term_.reaches(child, user); ++tries) {
        if (tries < 20) {
          child = some();
          continue;
        }
        const Choice leaf{static_cast<std::uint8_t>(random_() % 3), 0, {}};
        child = term_.add(leaf);
        incumbent_.choose(child, leaf);
      }
      c.child[s] = child;
    }
    return c;
  }

  void change() {
    const unsigned what = random_() % 8;
    if (what == 0) {
      const std::uint32_t from = random_() % 2 ? some_in_use() : some(), to = random_() % 2 ? some_in_use() : some();
      if (term_.reaches(to, from)) return;
      term_.nodes[from].means = to;
      incumbent_.unite(from, to);
      ++unions_;
    } else {
      const std::uint32_t name = what == 1 ? some() : some_in_use();
      // A class outside T may be needed by its own new choice's children through T: some_choice() checks that.
      const Choice choice = some_choice(name);
      term_.nodes[name].choice = choice;
      incumbent_.choose(name, choice);
    }
  }

  Random& random_;
  unsigned depth_;
  Term term_;
  Incumbent incumbent_;
  std::uint64_t unions_ = 0;
};

std::uint64_t rewrites() {
  const char* const text = std::getenv("TRIDENT_NNUE_REWRITES");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : 60'000;
}

TEST(Incumbent, IncrementalIsRebuiltBitForBit) {
  Random random(1);
  std::uint64_t done = 0, unions = 0, moves = 0, rebuilds = 0;
  while (done < rewrites()) {
    Pair pair(random, 2 + random() % 3, 4 + random() % (random() % 8 == 0 ? 150 : 40));
    for (int i = 0; i < 100 && done < rewrites(); ++i, ++done) {
      pair.change();
      ASSERT_NO_FATAL_FAILURE(pair.check()) << "rewrite " << done;
      if (i % 20 == 19) {
        ASSERT_NO_FATAL_FAILURE(pair.check_references()) << "rewrite " << done;
      }
    }
    unions += pair.unions_, moves += pair.incumbent_.moves(), rebuilds += pair.incumbent_.rebuilds();
  }
  std::printf("%llu rewrites, %llu unions among them, 0 mismatches; %llu moves of the accumulator, %llu by a rebuild\n",
              static_cast<unsigned long long>(done), static_cast<unsigned long long>(unions),
              static_cast<unsigned long long>(moves), static_cast<unsigned long long>(rebuilds));
  EXPECT_GT(unions, done / 40);
  EXPECT_GT(moves, rebuilds * 2);
  EXPECT_GT(rebuilds, 0u);
}

TEST(Incumbent, ThereAndBackIsWhereItWas) {
  Random random(2);
  for (int round = 0; round < 300; ++round) {
    Pair pair(random, 3, 60);
    const nn::Accumulator before = pair.incumbent_.accumulator();
    const std::uint32_t name = pair.some_in_use();
    const Choice old = pair.incumbent_.choice(name);
    pair.incumbent_.choose(name, pair.some_choice(name));
    pair.incumbent_.choose(name, old);
    for (std::size_t l = 0; l < nn::kLanes; ++l) ASSERT_EQ(before.lane[l], pair.incumbent_.accumulator().lane[l]);
  }
}

/// An overlay of up to eight nodes over existing classes, and the term after it.
struct Rewrite {
  std::uint32_t from = 0;
  Overlay overlay;
};

Rewrite some_rewrite(Pair& pair) {
  Random& random = pair.random_;
  Rewrite r;
  r.from = pair.some_in_use();
  r.overlay.count = 1 + random() % 8;
  for (std::uint32_t n = 0; n < r.overlay.count; ++n) {
    Choice& c = r.overlay.nodes[n];
    c.kind = static_cast<std::uint8_t>(random() % naive::kKindsUsed);
    c.arity = naive::arity_of(c.kind);
    for (std::uint8_t s = 0; s < c.arity; ++s) {
      const unsigned what = random() % 6;
      c.child[s] = what < 3 && n > 0 ? overlay_child(random() % n) : what == 5 ? r.from : pair.some();
    }
  }
  return r;
}

Term applied(const Term& term, const Rewrite& rewrite) {
  Term after = term;
  const auto first = static_cast<std::uint32_t>(after.nodes.size());
  for (std::uint32_t n = 0; n < rewrite.overlay.count; ++n) {
    Choice c = rewrite.overlay.nodes[n];
    for (std::uint8_t s = 0; s < c.arity; ++s)
      if (c.child[s] >= overlay_child(0)) c.child[s] = first + (c.child[s] - overlay_child(0));
    after.nodes[after.add(c)].exempt = true;
  }
  after.nodes[rewrite.from].means = first + rewrite.overlay.count - 1;
  return after;
}

void check_delta(const Pair& pair, const Term& after, const Delta& delta) {
  const auto& plain = weights(pair.depth_).plain;
  const auto before = naive::sum_of(plain, pair.term_, pair.depth_), now = naive::sum_of(plain, after, pair.depth_);
  for (std::size_t l = 0; l < nn::kLanes; ++l) ASSERT_EQ(now[l] - before[l], delta.vector.lane[l]) << "lane " << l;
  const auto nodes = [](const Term& term) {
    const auto references = term.references();
    return static_cast<std::int64_t>(references.size()) - std::count(references.begin(), references.end(), 0u);
  };
  ASSERT_EQ(nodes(after) - nodes(pair.term_), delta.nodes_gained);
}

TEST(Incumbent, DeltasAreThoseOfRebuiltCopies) {
  Random random(3);
  std::size_t fit = 0, redirected = 0, all = 0;
  for (int round = 0; round < 150; ++round) {
    Pair pair(random, 2 + random() % 3, 20 + random() % 60);
    for (int i = 0; i < 20; ++i, ++all) {
      if (i % 3 == 0) pair.change();
      const nn::Accumulator before = pair.incumbent_.accumulator();
      Delta delta;
      if (i % 5 == 4) {
        const std::uint32_t from = pair.some_in_use(), to = pair.some();
        if (pair.term_.reaches(to, from)) continue;
        pair.incumbent_.delta_of(from, to, delta);
        Term after = pair.term_;
        after.nodes[from].means = to;
        if (delta.fits) {
          ASSERT_NO_FATAL_FAILURE(check_delta(pair, after, delta)) << "round " << round;
        }
        ++redirected;
      } else {
        const Rewrite rewrite = some_rewrite(pair);
        pair.incumbent_.delta_of(rewrite.from, rewrite.overlay, delta);
        if (delta.fits) {
          ASSERT_NO_FATAL_FAILURE(check_delta(pair, applied(pair.term_, rewrite), delta)) << "round " << round;
        }
      }
      fit += delta.fits;
      for (std::size_t l = 0; l < nn::kLanes; ++l) ASSERT_EQ(before.lane[l], pair.incumbent_.accumulator().lane[l]);
    }
    ASSERT_NO_FATAL_FAILURE(pair.check());
    ASSERT_NO_FATAL_FAILURE(pair.check_references());
  }
  EXPECT_GT(fit, all * 3 / 4);
  EXPECT_GT(redirected, all / 20);
}

TEST(Incumbent, DeltasHoldUntilWhatTheyDependOnIsTouched) {
  Random random(4);
  struct Held {
    Rewrite rewrite;
    Delta delta;
  };
  std::size_t held = 0, dropped = 0;
  for (int round = 0; round < 60; ++round) {
    Pair pair(random, 3, 120);
    std::vector<Held> queue(40);
    const auto work_out = [&](Held& h) {
      h.rewrite = some_rewrite(pair);
      pair.incumbent_.delta_of(h.rewrite.from, h.rewrite.overlay, h.delta);
    };
    for (Held& h : queue) work_out(h);
    for (int i = 0; i < 30; ++i) {
      pair.change();
      for (Held& h : queue) {
        if (!h.delta.fits || !pair.incumbent_.holds(h.delta)) {
          ++dropped;
          work_out(h);
          continue;
        }
        Delta again;
        pair.incumbent_.delta_of(h.rewrite.from, h.rewrite.overlay, again);
        if (!again.fits) continue;
        ++held;
        ASSERT_EQ(again.nodes_gained, h.delta.nodes_gained);
        for (std::size_t l = 0; l < nn::kLanes; ++l) ASSERT_EQ(again.vector.lane[l], h.delta.vector.lane[l]);
      }
    }
  }
  EXPECT_GT(held, 20'000u);
  EXPECT_GT(dropped, 1'000u);
}

}  // namespace
}  // namespace trident::nnue
