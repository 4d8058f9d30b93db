// A call in pieces, which several threads may do at the same time with the same bits.
//
//   elements   |  piece 0  |  piece 1  |  piece 2  | .. | last |     each a call of the kernel's code on its part of
//   the arrays scalars        r0          r1          r2                       joined in the order of
//   jit/kir/reduction.h
//
// Pieces are whole chunks of a reduction's order, a power of two of them where there are reductions: so the result of a
// piece is the tree that the whole call has there. Under bounded(k) and fast, how such calls divide depends on their
// length alone, not on threads, because code that these permit may round a piece's result (k * sum(x) for sum(k * x)).
// Code in chunks of its own (jit/codegen/speculative.h) has the same chunks, too.
//
// A kernel does not divide where a value depends on an element's number, on n, or on a reduction's result: x - mean(x).
// Results of any() and all() do: one piece decides them, and then the others are left out. The first piece of such a
// call runs alone, because most of them end there.
//
// Calls without reductions split anywhere under `exact`, and by code that assumes no ranges under every policy: a few
// elements first, so that the rest of the arrays begin lines of the cache, and vectors need not straddle two.
//
// The first piece shows how long the others will take. Where a second thread would not pay, the rest is one more call.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "clients/c/trident.h"
#include "jit/kir/early_end.h"
#include "jit/kir/kir.h"
#include "jit/kir/reduction.h"
#include "runtime/base/limits.h"

namespace trident::client {

struct Kernel;

/// How the arguments of a kernel's call divide.
struct Division {
  struct Output {
    ir::Type type = ir::Type::f32;
    bool is_scalar = false;
    // A scalar that has neither is the same in every piece.
    std::optional<kir::Op> reduction{};  ///< joins a scalar's values in pieces
    std::optional<kir::Truth> truth{};   ///< a scalar that one piece may decide
    std::uint32_t element_bytes = 0;    ///< of an array, whose elements may be narrower than `type`
  };

  bool possible = false;
  std::vector<std::uint32_t> input_bytes;  ///< of one element; 0: a table, which every piece gets as a whole
  std::vector<Output> outputs;
  std::uint32_t scalar_count = 0;
  std::uint32_t array_bytes = 0;  ///< written per element
  bool is_search = false;         ///< all outputs are truths: once pieces have decided these, no other need run
};
Division division_of(const kir::Kernel& kernel);

/// The scalars of each piece of a call. Pieces are a power of two of chunks.
class PieceResults {
 public:
  PieceResults(const Division& division, std::uint64_t pieces)
      : division_(division), pieces_(pieces), results_(division.scalar_count * pieces) {}
  [[nodiscard]] std::uint64_t* of(std::uint64_t piece) { return results_.data() + piece * division_.scalar_count; }
  /// Takes note of what a piece has decided, when it has run.
  void note(std::uint64_t piece);
  /// Returns whether no other piece need run.
  [[nodiscard]] bool settled() const {
    return division_.is_search && decided_.load(std::memory_order_relaxed) == all_decided();
  }
  /// Writes the scalars of the whole call to their places among its outputs.
  void join(void* const* out) const;

 private:
  [[nodiscard]] std::uint64_t joined(kir::Op reduction, ir::Type type, std::size_t scalar) const;
  [[nodiscard]] std::uint64_t all_decided() const { return ~std::uint64_t{0} >> (64 - division_.scalar_count); }

  static_assert(limits::kOutputsMax <= 64);
  const Division& division_;
  std::uint64_t pieces_;
  std::vector<std::uint64_t> results_;
  std::atomic<std::uint64_t> decided_ = 0;  ///< a bit for each scalar: a truth that some piece has decided
};

/// Work for which a second thread pays: waking one up takes its waker 2 to 10 us, and it runs 20 us later
/// (runtime/os/linger.h).
inline constexpr std::uint64_t kWorthNs = 50'000;
/// Keeps what the first pieces of a kernel's calls have shown: those too short for a second thread need not be tried
/// each time. It is asked again after some calls, because other data or other code may take longer.
class ShortCalls {
 public:
  /// Returns whether a call of `n` elements is known to be short.
  [[nodiscard]] bool include(std::uint64_t n) {
    if (n > elements_.load(std::memory_order_relaxed)) return false;
    const std::uint32_t left = left_.load(std::memory_order_relaxed);
    if (left == 0) return false;
    left_.store(left - 1, std::memory_order_relaxed);
    return true;
  }
  void add(std::uint64_t n) {
    elements_.store(n, std::memory_order_relaxed);
    left_.store(kTrustedCalls, std::memory_order_relaxed);
  }
  /// Returns whether a long first piece is doubted once: calls of `n` elements were short so far. Cold caches and a
  /// busy processor make one piece long; two calls in a row show that the calls are.
  [[nodiscard]] bool doubt(std::uint64_t n) {
    if (n > elements_.load(std::memory_order_relaxed)) return false;
    elements_.store(0, std::memory_order_relaxed);
    return true;
  }

 private:
  static constexpr std::uint32_t kTrustedCalls = 31;
  std::atomic<std::uint64_t> elements_ = 0;
  std::atomic<std::uint32_t> left_ = 0;
};
/// Elements of the shortest calls that are divided.
inline constexpr std::uint64_t kDividedMin = 8 * kir::kChunk;
/// Elements of the shortest calls whose arrays begin at lines of the cache: the first part of the call costs 30 ns.
inline constexpr std::uint64_t kFromLineMin = 4096;
static_assert(kFromLineMin <= kDividedMin);
/// Returns the number of threads that a caller who wants `threads` may have.
unsigned permitted(const Kernel& kernel, unsigned threads);

/// Returns how many elements a call does first, so that its arrays begin lines of the cache from there on: an access to
/// two lines takes a vector twice as long, and malloc() returns the middle of a line. Where not all arrays can begin a
/// line, those of most bytes do. Inputs count twice: on a Xeon x*y + 1 took 0.82 of its time where one input begins a
/// line, 1.0 where the output does. 0 where nothing is gained.
std::uint64_t elements_before_lines(const Division& division, const void* const* in, void* const* out);

/// The lengths of a divided call's pieces; the last may be shorter.
struct Pieces {
  std::uint64_t elements = 0, count = 0;
};
/// Returns them, or none where a call of `n` elements is too short to be divided.
std::optional<Pieces> pieces_of(const Division& division, std::uint64_t n, unsigned threads);

/// Calls work(i) once for each i < pieces on the threads of the kernel's context; `threads` as below.
void for_each_piece(const Kernel& kernel, unsigned threads, std::uint64_t pieces,
                    void (*work)(std::uint64_t piece, void* user), void* user);

/// Runs the kernel over n elements on at most `threads` threads; 0: as many as its context has. The arguments are those
/// of trident_call().
void call_divided(const Kernel& kernel, unsigned threads, std::uint64_t n, const void* const* in, void* const* out,
                  const std::uint64_t* params);

}  // namespace trident::client
