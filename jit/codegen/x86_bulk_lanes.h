// The lanes of a bulk loop on x86-64: nodes in vector registers, truths in mask registers (AVX-512) or as lanes of ones
// (AVX2). Lane 0 is the first round, or the last one where all references go down.
#pragma once

#include <asmjit/x86.h>

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "jit/codegen/constant_pool.h"
#include "jit/codegen/x86_writer.h"
#include "jit/regionopt/bulk_loop.h"

namespace trident::codegen {

class BulkLanes {
 public:
  struct Shape {
    bool avx512 = false, backwards = false;
    std::uint32_t free = 0;  ///< vector registers, one bit each
  };
  /// The memory of a reference's element in the next round.
  using Places = std::function<asmjit::x86::Mem(std::uint32_t reference)>;
  using Numbers = std::function<void(const asmjit::x86::Gp& target, const regionopt::Linear& form)>;

  BulkLanes(X86Writer& writer, ConstantPool& pool, const regionopt::BulkLoop& loop, const Shape& shape);

  /// Returns whether so many vector registers suffice for `loop`, and lanes can go its ways.
  static bool can(const regionopt::BulkLoop& loop, bool avx512, std::uint32_t vectors);

  /// Rounds of a group.
  [[nodiscard]] std::uint32_t count() const { return count_; }
  [[nodiscard]] bool is_partial() const { return partial_; }

  /// Makes what stays, and partial results. `numbers` computes forms.
  void begin(const Numbers& numbers);
  /// A new group; a partial one has the lanes of set_active(). Between spread() and gather() it adds to the partial
  /// results with its number, modulo theirs.
  void begin_group(bool partial, std::uint32_t number = 0);
  void next_group();
  /// Divides partial results for `groups` groups that follow one another, as far as registers allow: they then need not
  /// wait for each other.
  void spread(std::uint32_t groups);
  void gather();
  /// Moves on by rax rounds the values that go from group to group; rdx is lost.
  void skip_rounds();
  void set_all_active();
  /// The first `rounds` lanes count; rax and rdx are lost.
  void set_active(const asmjit::x86::Gp& rounds);

  /// Sets the flag "not zero" if one of `stops` holds in a lane.
  void any_stops(std::span<const std::uint32_t> stops, const Places& places);
  /// rax = rounds before the one that any_stops() has found.
  void first_stop();
  /// rax = the lanes where `node` holds, one bit each.
  void bits_of(std::uint32_t node, const Places& places);
  /// rax = number of the last round in these bits, which are not 0.
  void last_bit();
  /// Makes what stores and reductions need. All loads of a group stand before its first store: where two elements
  /// change places, the second store needs what the first one overwrites.
  void read(const Places& places);
  void store(const regionopt::Store& store, const Places& places);
  void reduce(const regionopt::Reduction& reduction, const Places& places);
  /// Hands each result over in rax: `add` takes sums, `set` takes extremes.
  void finish(const std::function<void(std::uint32_t)>& add, const std::function<void(std::uint32_t)>& set);

 private:
  using Vec = asmjit::x86::Vec;
  /// Registers, at most.
  struct Needs {
    std::uint32_t vectors = 0, masks = 0;
  };
  static Needs needs_of(const regionopt::BulkLoop& loop, bool avx512);
  /// A register whose lanes gain `step` a round, and the register with what they gain a group, if one was free.
  struct Advancing {
    std::uint8_t reg = 0;
    std::int64_t step = 0;
    std::uint8_t gain = 0;
  };
  [[nodiscard]] Vec vec(std::uint8_t reg, std::uint32_t bytes) const;
  [[nodiscard]] Vec vec(std::uint8_t reg) const { return vec(reg, bytes_); }
  std::uint8_t take();
  void broadcast(std::uint8_t to, const asmjit::x86::Gp& from);
  void op3(std::uint32_t id, std::uint8_t to, std::uint8_t a, std::uint8_t b);
  [[nodiscard]] std::uint32_t by_width(std::uint32_t bytes, std::uint32_t words) const {
    return narrow_ ? bytes : words;
  }

  std::uint8_t value(std::uint32_t n, const Places& places);
  std::uint8_t load(std::uint32_t reference, const Places& places);
  std::uint8_t computed(const regionopt::Node& node, const Places& places);
  std::uint8_t product(std::uint8_t to, std::uint8_t a, std::uint8_t b);
  std::uint8_t real(const regionopt::Node& node, const Places& places);
  /// A mask register, or a vector.
  std::uint8_t truth(std::uint32_t n, const Places& places);
  std::uint8_t mask_truth(const regionopt::Node& node, const Places& places);
  std::uint8_t vector_truth(const regionopt::Node& node, const Places& places);
  std::uint8_t with_signs_flipped(std::uint8_t from);
  void bits(std::uint8_t truth);
  asmjit::x86::Mem all_of(std::uint32_t reference, const Places& places) const;
  [[nodiscard]] bool is_reversed(std::uint32_t reference) const;
  void reverse(std::uint8_t to, std::uint8_t from);
  [[nodiscard]] std::uint32_t spread_of(std::uint32_t groups) const;
  void combine(regionopt::Reduction::Kind kind, const Vec& to, const Vec& a, const Vec& b);
  std::uint8_t sums_of_bytes(std::uint8_t from);
  asmjit::x86::Mem gain_of(const Advancing& value);
  void take_gains();
  void add_row(std::uint8_t to, std::int64_t first, std::int64_t step);

  static constexpr std::uint8_t kNoVector = 0xFF;
  static constexpr std::uint8_t kActive = 1, kFirstMask = 2, kMasks = 8;  // k1 has the lanes that count

  X86Writer& writer_;
  asmjit::x86::Assembler& a_;
  ConstantPool& pool_;
  const regionopt::BulkLoop& loop_;
  const bool avx512_, backwards_, narrow_;
  const std::uint32_t bytes_, count_;
  Needs needs_;
  const std::uint32_t vectors_;  ///< those that the loop may use
  bool partial_ = false, mixed_ = false;
  std::uint32_t free_, free_in_groups_ = 0;
  std::uint8_t next_mask_ = 0, stop_ = 0, order_ = 0xFF, ones_ = 0xFF;
  std::vector<std::uint8_t> stays_, values_;  ///< registers by node
  std::vector<Advancing> advancing_;
  std::vector<std::uint8_t> results_;             ///< registers by reduction
  std::vector<std::vector<std::uint8_t>> parts_;  ///< those that spread() adds, by reduction
  std::uint32_t number_ = 0;                      ///< of the group
};

}  // namespace trident::codegen
