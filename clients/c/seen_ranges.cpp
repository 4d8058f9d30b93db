#include "clients/c/seen_ranges.h"

#include <bit>

#include "clients/c/observation.h"
#include "runtime/base/float_environment.h"

namespace trident::client {
namespace {

/// Elements that are looked at in one array: of the first call, of later ones.
constexpr std::uint64_t kOfFirst = 1024, kOfLater = 64;

static_assert(std::atomic<double>::is_always_lock_free && std::atomic<std::uint64_t>::is_always_lock_free &&
              std::atomic<bool>::is_always_lock_free);

void lower(std::atomic<double>& end, double value) {
  double known = end.load(std::memory_order_relaxed);
  while (value < known && !end.compare_exchange_weak(known, value, std::memory_order_relaxed)) {
  }
}

void raise(std::atomic<double>& end, double value) {
  double known = end.load(std::memory_order_relaxed);
  while (value > known && !end.compare_exchange_weak(known, value, std::memory_order_relaxed)) {
  }
}

}  // namespace

SeenRanges::SeenRanges(const std::vector<expr::Variable>& variables) : variables_(variables), ends_(variables.size()) {}

void SeenRanges::note(std::uint64_t n, const void* const* in, const std::uint64_t* params) {
  if (n == 0) return;
  const std::uint64_t call = calls_.fetch_add(1, std::memory_order_relaxed) + 1;
  elements_.fetch_add(n, std::memory_order_relaxed);
  if (!std::has_single_bit(call)) return;
  const StandardFloats floats;  // a program that traps exceptions would trap the comparisons
  look_at(n, in, params, call == 1 ? kOfFirst : kOfLater);
}

[[gnu::noinline]] void SeenRanges::look_at(std::uint64_t n, const void* const* in, const std::uint64_t* params,
                                           std::uint64_t elements) {
  for_each_argument(variables_, in, params, [&](std::size_t v, const void* data) {
    const wire::Range range = numbers_of(variables_[v].type, data, variables_[v].is_scalar() ? 1 : n, elements);
    lower(ends_[v].lo, range.lo);
    raise(ends_[v].hi, range.hi);
    if (range.or_nan) ends_[v].nan.store(true, std::memory_order_relaxed);
  });
}

void SeenRanges::clear() {
  for (Ends& ends : ends_) {
    ends.lo.store(std::numeric_limits<double>::infinity(), std::memory_order_relaxed);
    ends.hi.store(-std::numeric_limits<double>::infinity(), std::memory_order_relaxed);
    ends.nan.store(false, std::memory_order_relaxed);
  }
  elements_.store(0, std::memory_order_relaxed);
  calls_.store(0, std::memory_order_relaxed);
}

std::vector<wire::Range> SeenRanges::ranges() const {
  std::vector<wire::Range> ranges(ends_.size());
  for (std::size_t v = 0; v < ranges.size(); ++v) {
    const double lo = ends_[v].lo.load(std::memory_order_relaxed), hi = ends_[v].hi.load(std::memory_order_relaxed);
    if (lo <= hi) ranges[v] = {lo, hi, ends_[v].nan.load(std::memory_order_relaxed)};
  }
  return ranges;
}

}  // namespace trident::client
