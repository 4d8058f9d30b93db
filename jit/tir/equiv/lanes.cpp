#include "jit/tir/equiv/lanes.h"

#include <algorithm>
#include <cstring>

#include "runtime/base/check.h"

namespace trident::tir::equiv {

using field::kDigestWords;
using field::kTip5Rate;
using field::kTip5Width;

namespace {

constexpr std::size_t kRowsAtFirst = 256;

std::uint64_t mixed(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58'476D'1CE4'E5B9;
  z = (z ^ (z >> 27)) * 0x94D0'49BB'1331'11EB;
  return z ^ (z >> 31);
}

}  // namespace

Lanes::Lanes(States& source, std::uint64_t seed, const Shape& shape, std::size_t extra)
    : kernels_(field::kernels()), seed_(seed), rows_(kRowsAtFirst) {
  // Each lane has a kind of element; the seventh repeats every five words, the eighth mixes.
  unsigned mixing = 0;
  const auto filled = [&](std::size_t back) {
    const RowId out = row();
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const bool again = lane == 6 && back < used_ && (mixing & 15) != 3;
      rows_[out].word[lane] = again ? rows_[out - back].word[lane]
                                    : source.element(lane < 6    ? lane
                                                     : lane == 6 ? 1
                                                                 : mixing)
                                          .value();
      mixing += 7;
    }
    return out;
  };
  zero_ = row();
  rows_[zero_] = {};
  one_ = row();
  std::fill_n(rows_[one_].word, kLanes, 1);
  const std::size_t cells = std::max(shape.size_min, shape.cells) + extra;
  for (std::size_t i = 0; i < cells; ++i) cells_.push_back(filled(i < kDigestWords ? ~std::size_t{0} : kDigestWords));
  for (std::size_t i = 0; i < shape.public_words + extra; ++i) public_.push_back(filled(1));
  for (std::size_t i = 0; i < shape.secret_words + extra; ++i) secret_.push_back(filled(1));
  for (std::size_t i = 0; i < shape.digests + extra / 4; ++i) {
    digests_.emplace_back();
    for (RowId& word : digests_.back()) word = filled(kDigestWords);
  }
  has_sponge_ = static_cast<LaneMask>(0b1011'1101 ^ (seed & 1 ? 0b0100'0100 : 0));
  for (Row& word : absorbed_) word = rows_[filled(1)];
  std::array<RowId, kTip5Width> in;
  in.fill(zero_);
  for (std::size_t i = 0; i < kTip5Rate; ++i) {
    in[i] = row();
    rows_[in[i]] = absorbed_[i];
  }
  sponge_ = permuted(in);
  kept_ = used_;
  permutations_kept_ = permutations_.size();
}

/// Zeros, random elements, u32 or small numbers, by lane.
std::uint64_t Lanes::first_ram(std::size_t lane, std::uint64_t address) const {
  const std::uint64_t x = mixed(address * 0x9e37'79b9'7f4a'7c15 ^ (seed_ + lane));
  switch (lane % 4) {
    case 0: return Element(x).value();
    case 1: return x >> 32;
    case 2: return x & 3;
    default: return (lane & 4) != 0 ? 0 : Element(x >> (x & 63)).value();
  }
}

RowId Lanes::loaded(const std::vector<LaneEnd::Store>& stores, RowId address) {
  addresses_.push_back(address);
  const RowId out = row();
  const std::uint64_t* const at = rows_[address].word;
  std::uint64_t* const to = rows_[out].word;
  for (std::size_t lane = 0; lane < kLanes; ++lane) to[lane] = first_ram(lane, at[lane]);
  for (const LaneEnd::Store& store : stores) {
    const std::uint64_t *where = rows_[store.address].word, *word = rows_[store.word].word;
    for (std::size_t lane = 0; lane < kLanes; ++lane) to[lane] = where[lane] == at[lane] ? word[lane] : to[lane];
  }
  return out;
}

std::array<RowId, kTip5Width> Lanes::permuted(const std::array<RowId, kTip5Width>& in) {
  for (const Permutation& known : permutations_) {
    bool same = true;
    for (std::size_t i = 0; i < kTip5Width && same; ++i)
      same = in[i] == known.in[i] || std::memcmp(&rows_[in[i]], &rows_[known.in[i]], sizeof(Row)) == 0;
    if (same) return known.out;
  }
  std::array<RowId, kTip5Width> out;
  for (RowId& id : out) id = row();
  field::Tip5Lookups unused;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    alignas(64) std::uint64_t state[kTip5Width];
    for (std::size_t i = 0; i < kTip5Width; ++i) state[i] = rows_[in[i]].word[lane];
    kernels_.tip5(state, unused);
    for (std::size_t i = 0; i < kTip5Width; ++i) rows_[out[i]].word[lane] = state[i];
  }
  permutations_.push_back({in, out});
  return out;
}

LaneMask Lanes::difference(const LaneEnd& a, const LaneEnd& b) {
  const auto alive = static_cast<LaneMask>(~(a.failed | b.failed));
  if (alive == 0) return 0;
  if (a.stack.size() != b.stack.size() || a.output.size() != b.output.size()) return alive;
  if (a.sponge_touched != b.sponge_touched) return alive;
  LaneMask other = 0;
  const auto compare = [&](RowId x, RowId y) {
    if (x == y) return;
    const std::uint64_t *p = rows_[x].word, *q = rows_[y].word;
    for (std::size_t lane = 0; lane < kLanes; ++lane) other |= lane_bit(p[lane] != q[lane], lane);
  };
  for (std::size_t i = a.stack.size(); i > 0; --i) compare(a.stack[i - 1], b.stack[i - 1]);
  for (std::size_t i = 0; i < a.output.size(); ++i) compare(a.output[i], b.output[i]);
  for (std::size_t i = 0; a.sponge_touched && i < kTip5Width; ++i) compare(a.sponge[i], b.sponge[i]);
  other &= alive;
  if (other != 0) return other;
  for (const auto* stores : {&a.stores, &b.stores})
    for (const LaneEnd::Store& store : *stores)
      compare(loaded(a.stores, store.address), loaded(b.stores, store.address));
  return other & alive;
}

State Lanes::state(std::size_t lane, std::size_t size) const {
  CHECK(size <= cells_.size());
  const auto element = [&](RowId id) { return Element::canonical(rows_[id].word[lane]); };
  State s;
  for (std::size_t i = cells_.size() - size; i < cells_.size(); ++i) s.stack.push_back(element(cells_[i]));
  for (const RowId id : public_) s.public_input.push_back(element(id));
  for (const RowId id : secret_) s.secret_input.push_back(element(id));
  for (const auto& digest : digests_) {
    s.secret_digests.emplace_back();
    for (std::size_t i = 0; i < kDigestWords; ++i) s.secret_digests.back()[i] = element(digest[i]);
  }
  for (const RowId id : addresses_) {
    const Element address = element(id), word = Element::canonical(first_ram(lane, address.value()));
    s.ram.emplace_back(address, word);
  }
  std::sort(s.ram.begin(), s.ram.end(), [](const auto& a, const auto& b) { return a.first.value() < b.first.value(); });
  s.ram.erase(std::unique(s.ram.begin(), s.ram.end()), s.ram.end());
  if ((has_sponge_ >> lane & 1) != 0) {
    s.absorbed.emplace();
    for (std::size_t i = 0; i < kTip5Rate; ++i) (*s.absorbed)[i] = Element::canonical(absorbed_[i].word[lane]);
  }
  return s;
}

}  // namespace trident::tir::equiv
