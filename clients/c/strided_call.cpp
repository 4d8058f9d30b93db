#include "clients/c/strided_call.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <span>
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

/// Elements of a call at most: their number is an i64.
constexpr std::uint64_t kElementsMax = std::numeric_limits<std::int64_t>::max();
/// Bytes from an array's first element to its last at most. No array has so many, and a stride times an extent, at most
/// twice this, is an int64.
constexpr std::uint64_t kReachMax = (std::uint64_t{1} << 62) - 1;
/// Elements that may be copied at most: no address space holds more, and the bytes of all buffers are a size_t.
constexpr std::uint64_t kCopiedMax = std::uint64_t{1} << 48;

const std::int64_t* strides_at(const std::int64_t* const* list, std::size_t i) {
  return list != nullptr ? list[i] : nullptr;
}

/// The arrays of one call, and pieces of them as the kernel takes them.
class Arrays {
 public:
  Arrays(const Division& division, const StridedArguments& arguments) : arguments_(arguments) {
    for (std::size_t i = 0; i < division.input_bytes.size(); ++i)
      inputs_.push_back(view(strides_at(arguments.in_strides, i), division.input_bytes[i], arguments.in[i]));
    for (std::size_t i = 0; i < division.outputs.size(); ++i)
      outputs_.push_back(
          view(strides_at(arguments.out_strides, i), division.outputs[i].element_bytes, arguments.out[i]));
  }

  [[nodiscard]] bool are_plain() const {
    const auto is_plain = [](const View& v) { return !v || v->is_plain(); };
    return std::all_of(inputs_.begin(), inputs_.end(), is_plain) &&
           std::all_of(outputs_.begin(), outputs_.end(), is_plain);
  }

  /// Returns the bytes of the buffers that a piece of so many elements needs: kCopiedMax at most.
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
    if (results_.settled()) return results_.join(out);
    const bool pays = pieces_ > 1 && (os::monotonic_ns() - start_ns) * (pieces_ - 1) >= kWorthNs;
    const auto work = [&](std::uint64_t piece) { run_piece(1 + piece); };
    if (!pays || !kernel_.context.team.run(threads_, pieces_ - 1, work))
      for (std::uint64_t piece = 1; piece < pieces_; ++piece) run_piece(piece);
    results_.join(out);
  }

 private:
  void run_piece(std::uint64_t piece) {
    if (results_.settled()) return;
    const std::uint64_t end = std::min((piece + 1) * kir::kChunk, n_);
    buffers_.use([&](std::byte* buffers) {
      for (std::uint64_t first = piece * kir::kChunk; first < end; first += block_)
        run_block(first, std::min(block_, end - first), buffers, results_.of(piece));
    });
    results_.note(piece);
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

Error missing(const char* what) {
  return Error{ErrorCode::kInvalidArgument, what};
}

Result<std::uint64_t> elements_of(const StridedArguments& arguments) {
  if (arguments.dimensions > TRIDENT_DIMENSIONS_MAX)
    return make_error(ErrorCode::kLimitExceeded, "%u dimensions, more than the limit of %u", arguments.dimensions,
                      unsigned{TRIDENT_DIMENSIONS_MAX});
  if (arguments.dimensions != 0 && arguments.shape == nullptr) return missing("shape is null");
  const std::span shape(arguments.shape, arguments.dimensions);
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return std::uint64_t{0};
  std::uint64_t n = 1;
  for (const std::uint64_t extent : shape)
    if (__builtin_mul_overflow(n, extent, &n) || n > kElementsMax)
      return Error{ErrorCode::kLimitExceeded, "the product of the extents is 2^63 or more"};
  return n;
}

/// Refuses lists that are not there although the call needs them.
Result<void> check_lists(const Division& division, const StridedArguments& arguments) {
  if (arguments.in == nullptr && !division.input_bytes.empty()) return missing("in is null");
  if (arguments.out == nullptr && !division.outputs.empty()) return missing("out is null");
  return {};
}

bool reaches_too_far(std::span<const std::uint64_t> shape, std::uint64_t n, const std::int64_t* strides,
                     std::uint32_t bytes) {
  if (bytes == 0 || n == 0) return false;
  if (strides == nullptr) return n > kReachMax / bytes;
  std::uint64_t reach = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const auto stride = static_cast<std::uint64_t>(strides[d]);
    std::uint64_t part = 0;
    if (__builtin_mul_overflow(strides[d] < 0 ? -stride : stride, shape[d] - 1, &part)) return true;
    if (__builtin_add_overflow(reach, part, &reach) || reach > kReachMax) return true;
  }
  return false;
}

/// Refuses arrays that lie in no memory, so that places can be computed without overflow.
Result<void> check_reach(const Division& division, const StridedArguments& arguments, std::uint64_t n) {
  const std::span shape(arguments.shape, arguments.dimensions);
  bool too_far = false;
  for (std::size_t i = 0; i < division.input_bytes.size(); ++i)
    too_far |= reaches_too_far(shape, n, strides_at(arguments.in_strides, i), division.input_bytes[i]);
  for (std::size_t i = 0; i < division.outputs.size(); ++i)
    too_far |= reaches_too_far(shape, n, strides_at(arguments.out_strides, i), division.outputs[i].element_bytes);
  if (too_far) return Error{ErrorCode::kLimitExceeded, "an array's strides and extents span 2^62 bytes or more"};
  return {};
}

/// Runs a kernel that does not divide on whole copies of the arrays that need it.
Result<void> call_on_copies(const Kernel& kernel, const Arrays& arrays, std::uint64_t n,
                            const StridedArguments& arguments) {
  if (n > kCopiedMax) return Error{ErrorCode::kOutOfMemory, "the copies of the arrays exceed any memory"};
  Buffers(arrays.buffer_bytes(n), 1).use([&](std::byte* buffers) {
    arrays.run_piece(0, n, buffers, nullptr, [&](const void* const* in, void* const* out) {
      trident_call(&kernel, n, in, out, arguments.params);
    });
  });
  return {};
}

}  // namespace

Result<void> call_strided(const Kernel& kernel, unsigned threads, const StridedArguments& arguments) {
  TRY(const std::uint64_t n, elements_of(arguments));
  TRY(const Lowered* const lowered, kernel.lower());
  const Division& division = lowered->division;
  if (n == 0 && division.scalar_count == 0) return {};
  TRY_VOID(check_lists(division, arguments));
  TRY_VOID(check_reach(division, arguments, n));
  const Arrays arrays(division, arguments);
  if (n == 0 || arrays.are_plain()) {
    call_divided(kernel, threads, n, arguments.in, arguments.out, arguments.params);
    return {};
  }
  if (!division.possible) return call_on_copies(kernel, arrays, n, arguments);
  StridedCall(kernel, division, arrays, n, permitted(kernel, threads), arguments.params).run(arguments.out);
  return {};
}

}  // namespace trident::client
