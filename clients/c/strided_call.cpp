#include "clients/c/strided_call.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "clients/c/context.h"
#include "clients/c/divided_call.h"
#include "clients/c/kernel.h"
#include "clients/c/strided_view.h"
#include "jit/kir/reduction.h"
#include "runtime/base/limits.h"
#include "runtime/os/clock.h"
#include "runtime/os/cpu.h"

namespace trident::client {
namespace {

/// Bytes between buffers of one piece: buffers a multiple of 4 KiB apart would take the same sets of a cache.
constexpr std::size_t kApart = 320;

/// The arrays of one call, and pieces of them as the kernel takes them.
class Arrays {
 public:
  Arrays(const Division& division, const StridedArguments& arguments) : arguments_(arguments) {
    for (std::size_t i = 0; i < division.input_bytes.size(); ++i)
      inputs_.push_back(view(arguments.in_strides[i], division.input_bytes[i], arguments.in[i]));
    for (std::size_t i = 0; i < division.outputs.size(); ++i)
      outputs_.push_back(view(arguments.out_strides[i], division.outputs[i].element_bytes, arguments.out[i]));
  }

  /// Returns the bytes of the buffers that a piece of so many elements needs; 0 where all arrays lie well.
  [[nodiscard]] std::size_t buffer_bytes(std::uint64_t elements) const {
    std::size_t bytes = 0;
    for (const auto* list : {&inputs_, &outputs_})
      for (const View& v : *list)
        if (v && !v->is_plain()) bytes += room(*v, elements);
    return bytes;
  }

  /// Calls run(in, out) on `count` elements from `first` on. `scalars`: places for scalar outputs; null: the caller's.
  template <class Run>
  void run_piece(std::uint64_t first, std::uint64_t count, std::byte* buffers, std::uint64_t* scalars, Run run) const {
    std::array<const void*, limits::kInputsMax> in;
    std::array<void*, limits::kOutputsMax> out;
    for (std::size_t i = 0; i < inputs_.size(); ++i) in[i] = input(i, first, count, buffers);
    for (std::size_t i = 0; i < outputs_.size(); ++i) out[i] = output(i, first, count, buffers, scalars);
    run(in.data(), out.data());
    for (std::size_t i = 0; i < outputs_.size(); ++i)
      if (const View& v = outputs_[i]; v && !v->is_plain())
        v->scatter(first, count, static_cast<const std::byte*>(out[i]));
  }

 private:
  using View = std::optional<StridedView>;  ///< none: a table, a scalar

  [[nodiscard]] View view(const std::int64_t* strides, std::uint32_t bytes, const void* data) const {
    if (bytes == 0) return std::nullopt;
    return StridedView(arguments_.dimensions, arguments_.shape, strides, bytes, data);
  }
  static std::size_t room(const StridedView& v, std::uint64_t elements) {
    return (elements * v.bytes() + 63) / 64 * 64 + kApart;
  }
  const void* input(std::size_t i, std::uint64_t first, std::uint64_t count, std::byte*& buffers) const {
    const View& v = inputs_[i];
    if (!v) return arguments_.in[i];
    if (v->is_plain()) return v->at(first);
    std::byte* const to = std::exchange(buffers, buffers + room(*v, count));
    v->gather(first, count, to);
    return to;
  }
  void* output(std::size_t i, std::uint64_t first, std::uint64_t count, std::byte*& buffers,
               std::uint64_t*& scalars) const {
    const View& v = outputs_[i];
    if (!v) return scalars != nullptr ? scalars++ : arguments_.out[i];
    if (v->is_plain()) return const_cast<std::byte*>(v->at(first));
    return std::exchange(buffers, buffers + room(*v, count));
  }

  const StridedArguments& arguments_;
  std::vector<View> inputs_, outputs_;
};

/// Elements that are gathered at a time where no reduction wants a whole chunk: so few that their buffers stay in the
/// first cache.
constexpr std::uint64_t kBlock = 512;

/// Buffers for as many threads as may be at work.
class Buffers {
 public:
  Buffers(std::size_t bytes, unsigned threads)
      : bytes_((bytes + 63) / 64 * 64),
        memory_(std::make_unique_for_overwrite<std::byte[]>(bytes_ * threads + 64)),
        free_(threads == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << threads) - 1) {
    static_assert(kTeamMax <= 64);
  }

  template <class Use>
  void use(Use use) {
    std::uint64_t free = free_.load(std::memory_order_relaxed);
    while (!free_.compare_exchange_weak(free, free & (free - 1), std::memory_order_acquire)) {
    }
    const auto number = static_cast<unsigned>(std::countr_zero(free));
    const auto start = (reinterpret_cast<std::uintptr_t>(memory_.get()) + 63) / 64 * 64;
    use(reinterpret_cast<std::byte*>(start) + bytes_ * number);
    free_.fetch_or(std::uint64_t{1} << number, std::memory_order_release);
  }

 private:
  const std::size_t bytes_;
  const std::unique_ptr<std::byte[]> memory_;
  std::atomic<std::uint64_t> free_;  ///< a bit for each
};

class StridedCall {
 public:
  StridedCall(const Kernel& kernel, const Division& division, const Arrays& arrays, std::uint64_t n, unsigned threads,
              const std::uint64_t* params)
      : kernel_(kernel),
        arrays_(arrays),
        n_(n),
        params_(params),
        pieces_((n + kir::kChunk - 1) / kir::kChunk),
        threads_(pieces_ > 1 && threads > 1 ? std::min(threads, os::usable_cpus()) : 1),
        block_(division.scalar_count != 0 ? kir::kChunk : kBlock),
        results_(division, pieces_),
        buffers_(arrays.buffer_bytes(std::min(n, block_)), threads_) {}

  void run(void* const* out) {
    const std::uint64_t start_ns = pieces_ > 1 ? os::monotonic_ns() : 0;
    run_piece(0);
    const bool pays = pieces_ > 1 && (os::monotonic_ns() - start_ns) * (pieces_ - 1) >= kWorthNs;
    const auto work = [&](std::uint64_t piece) { run_piece(1 + piece); };
    if (!pays || !kernel_.context.team.run(threads_, pieces_ - 1, work))
      for (std::uint64_t piece = 1; piece < pieces_; ++piece) run_piece(piece);
    results_.join(out);
  }

 private:
  void run_piece(std::uint64_t piece) {
    const std::uint64_t end = std::min((piece + 1) * kir::kChunk, n_);
    buffers_.use([&](std::byte* buffers) {
      for (std::uint64_t first = piece * kir::kChunk; first < end; first += block_)
        run_block(first, std::min(block_, end - first), buffers, results_.of(piece));
    });
  }

  void run_block(std::uint64_t first, std::uint64_t count, std::byte* buffers, std::uint64_t* results) {
    arrays_.run_piece(first, count, buffers, results, [&](const void* const* in, void* const* out) {
      const trident_entry_fn entered = kernel_.enter(count, in, params_);
      if (first == 0) code_ = entered;
      code_(static_cast<const trident_kernel*>(&kernel_), count, in, out, params_);
    });
  }

  const Kernel& kernel_;
  const Arrays& arrays_;
  const std::uint64_t n_;
  const std::uint64_t* params_;
  const std::uint64_t pieces_;
  const unsigned threads_;
  const std::uint64_t block_;
  PieceResults results_;
  Buffers buffers_;
  trident_entry_fn code_ = nullptr;  ///< of all pieces, whatever is swapped in meanwhile
};

/// Returns the number of elements; nothing where a limit is exceeded.
std::optional<std::uint64_t> elements_of(const StridedArguments& arguments) {
  if (arguments.dimensions > TRIDENT_DIMENSIONS_MAX) return std::nullopt;
  std::uint64_t n = 1;
  for (std::uint32_t d = 0; d < arguments.dimensions; ++d) n *= arguments.shape[d];
  return n;
}

}  // namespace

Result<void> call_strided(const Kernel& kernel, unsigned threads, const StridedArguments& arguments) {
  const auto n = elements_of(arguments);
  if (!n)
    return make_error(ErrorCode::kLimitExceeded, "%u dimensions, more than the limit of %u", arguments.dimensions,
                      unsigned{TRIDENT_DIMENSIONS_MAX});
  TRY(const Lowered* const lowered, kernel.lower());
  const Division& division = lowered->division;
  const Arrays arrays(division, arguments);
  if (*n == 0 || arrays.buffer_bytes(*n) == 0) {
    call_divided(kernel, threads, *n, arguments.in, arguments.out, arguments.params);
    return {};
  }
  if (division.possible) {
    StridedCall(kernel, division, arrays, *n, permitted(kernel, threads), arguments.params).run(arguments.out);
    return {};
  }
  Buffers(arrays.buffer_bytes(*n), 1).use([&](std::byte* buffers) {
    arrays.run_piece(0, *n, buffers, nullptr, [&](const void* const* in, void* const* out) {
      trident_call(&kernel, *n, in, out, arguments.params);
    });
  });
  return {};
}

}  // namespace trident::client
