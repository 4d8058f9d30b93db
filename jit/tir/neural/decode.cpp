#include "jit/tir/neural/decode.h"

#include <algorithm>
#include <bit>
#include <unordered_set>

#include "jit/tir/neural/arithmetic_tables.h"

namespace trident::tir::neural {
namespace {

bool may_take(const Draft& draft, Token token, const DecodeOptions& options) {
  if (!draft.legal(token)) return false;
  const std::size_t taken = draft.tokens().size();
  if (token != kEnd) return taken + 1 < options.tokens_max;
  if (taken < options.tokens_min) return false;
  return !options.end_when_reached || draft.reached();
}

/// Returns the legal token with the highest score, the first of equal ones; none if no token is legal.
std::optional<Token> best_token(const Draft& draft, const std::int32_t* scores, const DecodeOptions& options) {
  std::optional<Token> best;
  for (std::size_t t = 0; t < kTokenCount; ++t) {
    if (best && scores[t] <= scores[*best]) continue;
    if (may_take(draft, static_cast<Token>(t), options)) best = static_cast<Token>(t);
  }
  return best;
}

std::uint32_t words_of(const Draft& draft) {
  std::uint32_t words = draft.open_words();
  for (const Instruction& i : draft.instructions()) words += i.words();
  return words;
}

/// Number of successors examined per kept draft: the others are lost, or reach the point of another draft.
constexpr std::size_t kLookedThrough = 8;

struct Hypothesis {
  Draft draft;
  std::int64_t score = 0;
  bool greedy = false;
};
struct Successor {
  std::size_t parent;
  Token token;
  std::int64_t score;
  bool greedy;
};

/// Appends all legal successors of hypothesis `parent`.
void expand(const Hypothesis& h, std::size_t parent, const std::int32_t* scores, const DecodeOptions& options,
            std::vector<Successor>& out) {
  const std::size_t first = out.size();
  for (std::size_t t = 0; t < kTokenCount; ++t)
    if (may_take(h.draft, static_cast<Token>(t), options))
      out.push_back({parent, static_cast<Token>(t), scores[t], false});
  if (out.size() == first) return;
  const auto better = [](const Successor& a, const Successor& b) { return a.score < b.score; };
  const auto best = std::max_element(out.begin() + static_cast<std::ptrdiff_t>(first), out.end(), better);
  best->greedy = h.greedy;
  const std::int64_t largest = best->score;
  std::uint64_t sum = 0;
  for (std::size_t i = first; i < out.size(); ++i) sum += static_cast<std::uint64_t>(exp_minus(largest - out[i].score));
  const std::int64_t log_sum = log_of(sum);
  for (std::size_t i = first; i < out.size(); ++i) out[i].score += h.score - largest - log_sum;
}

/// True if the network would end here, and only AbstractState forbids it.
bool end_is_refused(const Draft& draft, const std::int32_t* scores, const DecodeOptions& options) {
  if (!options.end_when_reached || draft.tokens().size() < options.tokens_min || !draft.legal(kEnd) || draft.reached())
    return false;
  for (std::size_t t = 0; t < kTokenCount; ++t)
    if (scores[t] > scores[kEnd] && draft.legal(static_cast<Token>(t))) return false;
  return true;
}

/// Keeps the best `count` successors: the greedy one first, then by score; equal scores by parent and token, which is
/// the order of their tokens.
void sort_best(std::vector<Successor>& successors, std::size_t count) {
  const auto before = [](const Successor& a, const Successor& b) {
    if (a.greedy != b.greedy) return a.greedy;
    if (a.score != b.score) return a.score > b.score;
    return a.parent != b.parent ? a.parent < b.parent : a.token < b.token;
  };
  if (successors.size() > count) {
    std::nth_element(successors.begin(), successors.begin() + static_cast<std::ptrdiff_t>(count), successors.end(),
                     before);
    successors.resize(count);
  }
  std::sort(successors.begin(), successors.end(), before);
}

}  // namespace

std::int64_t log_of(std::uint64_t x) {
  // Computes log2 bit by bit: squaring a number in [1, 2) doubles its logarithm.
  const int whole = 63 - std::countl_zero(x);
  std::uint64_t mantissa = whole >= 31 ? x >> (whole - 31) : x << (31 - whole);
  std::int64_t log2 = whole - kExpBits;
  for (int bit = 0; bit < 20; ++bit) {
    mantissa = mantissa * mantissa >> 31;
    log2 *= 2;
    if (mantissa >> 32 != 0) {
      ++log2;
      mantissa >>= 1;
    }
  }
  constexpr std::int64_t kLn2 = 726817;  // ln 2 in units of 2^-20
  return (log2 * kLn2 + (std::int64_t{1} << 23)) >> 24;
}

std::vector<Draft> decode_greedily(Network& network, std::span<const Original> originals,
                                   const DecodeOptions& options) {
  std::vector<Encoded> encoded;
  std::vector<Draft> drafts;
  std::vector<bool> stuck(originals.size());
  for (const Original& original : originals) {
    encoded.push_back(network.encode(original));
    drafts.emplace_back(original);
  }
  std::vector<Network::Query> queries;
  std::vector<std::size_t> asked;
  std::vector<std::int32_t> scores;
  for (;;) {
    queries.clear(), asked.clear();
    for (std::size_t i = 0; i < drafts.size(); ++i) {
      if (drafts[i].ended() || stuck[i] || drafts[i].tokens().size() >= options.tokens_max) continue;
      queries.push_back({&encoded[i], &drafts[i]});
      asked.push_back(i);
    }
    if (queries.empty()) return drafts;
    network.score(queries, scores);
    for (std::size_t q = 0; q < asked.size(); ++q) {
      const auto token = best_token(drafts[asked[q]], &scores[q * kTokenCount], options);
      if (token)
        drafts[asked[q]].take(*token);
      else
        stuck[asked[q]] = true;
    }
  }
}

std::vector<Candidate> decode(Network& network, const Original& original, const DecodeOptions& options) {
  const Encoded encoded = network.encode(original);
  std::vector<Hypothesis> beam;
  beam.push_back({Draft(original), 0, true});
  std::vector<Hypothesis> ended, next;
  std::vector<Network::Query> queries;
  std::vector<std::int32_t> scores;
  std::vector<Successor> successors;
  DecodeCounts unwanted, &counts = options.counts != nullptr ? *options.counts : unwanted;
  for (std::size_t step = 0; step < options.tokens_max && !beam.empty(); ++step) {
    if (options.stop && options.stop()) break;
    queries.clear(), successors.clear(), next.clear();
    for (const Hypothesis& h : beam) queries.push_back({&encoded, &h.draft});
    network.score(queries, scores);
    for (std::size_t i = 0; i < beam.size(); ++i) {
      expand(beam[i], i, &scores[i * kTokenCount], options, successors);
      if (options.counts != nullptr && end_is_refused(beam[i].draft, &scores[i * kTokenCount], options))
        ++counts.ends_refused;
    }
    sort_best(successors, kLookedThrough * options.width);
    std::unordered_set<std::uint64_t> points;
    std::size_t kept = 0;
    for (const Successor& s : successors) {
      if (kept == options.width) break;
      Hypothesis h{beam[s.parent].draft, s.score, s.greedy};
      h.draft.take(s.token);
      ++counts.looked_at;
      const bool goes_on = options.end_when_reached && !h.draft.ended();
      std::size_t* const filter = goes_on && h.draft.lost()                           ? &counts.lost
                                  : goes_on && !points.insert(h.draft.point()).second ? &counts.repeated
                                  : words_of(h.draft) > options.words_max             ? &counts.too_long
                                                                                      : nullptr;
      if (filter != nullptr) {
        ++*filter;
        continue;
      }
      ++kept;
      counts.ended += h.draft.ended() ? 1 : 0;
      (h.draft.ended() ? ended : next).push_back(std::move(h));
    }
    beam.swap(next);
  }
  std::stable_sort(ended.begin(), ended.end(), [](const Hypothesis& a, const Hypothesis& b) {
    return a.score != b.score ? a.score > b.score : a.draft.tokens() < b.draft.tokens();
  });
  std::vector<Candidate> candidates;
  for (Hypothesis& h : ended) candidates.push_back({h.draft.instructions(), h.score, h.draft.reached()});
  return candidates;
}

}  // namespace trident::tir::neural
