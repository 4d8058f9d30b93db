#include "jit/equiv/set_layout.h"

#include <algorithm>
#include <cstring>

#include "jit/equiv/reductions.h"

namespace trident::equiv {
namespace {

/// Elements per call where scalar parameters or reductions make several calls worth while.
constexpr std::uint64_t kCallElements = 1024;

// Returns the table length of call number `call`, in a set of `n` elements; the first has the whole column.
std::uint64_t table_length(std::size_t call, std::uint64_t n) {
  const std::uint64_t lengths[] = {n, 1000, 17, 1, n, 64, 0, n / 2};
  return lengths[call % std::size(lengths)];
}

std::vector<Call> calls_of(std::uint64_t n, bool many_lengths) {
  constexpr std::uint64_t kLengths[] = {1, 2, 3, 15, 16, 17, 31, 64, 100, 255, 1000};
  std::vector<Call> calls;
  std::uint64_t at = 0;
  for (std::size_t i = 0; at < n; ++i) {
    // The first and last calls are long: tails are cut from them (checker.cpp).
    const bool varied = many_lengths && i >= 1 && n - at > kCallElements;
    const std::uint64_t length = std::min(varied ? kLengths[i % std::size(kLengths)] : kCallElements, n - at);
    calls.push_back({at, length, false, table_length(i, n)});
    at += length;
  }
  return calls;
}

}  // namespace

SetLayout::SetLayout(const expr::Expr& expr) : expr_(expr) {
  for (const auto& variable : expr.variables) {
    has_scalars_ = has_scalars_ || variable.is_scalar();
    has_tables_ = has_tables_ || variable.is_table();
  }
  for (const auto& node : expr.nodes) {
    has_reductions_ = has_reductions_ || is_reduction(node.op);
    has_numbers_ = has_numbers_ || node.op == expr::Op::Index || node.op == expr::Op::Strided;
  }
}

Samples SetLayout::empty(const char* name, std::uint64_t n) const {
  Samples s;
  s.name = name;
  s.n = n;
  for (const auto& variable : expr_.variables)
    s.columns.emplace_back(static_cast<std::size_t>(n) * ir::bytes_of(variable.type));
  return s;
}

void SetLayout::put(Samples& s, std::uint64_t index, std::size_t variable, Bits bits) const {
  const std::size_t bytes = ir::bytes_of(expr_.variables[variable].type);
  std::memcpy(s.columns[variable].data() + static_cast<std::size_t>(index) * bytes, &bits, bytes);
}

Bits SetLayout::get(const Samples& s, std::uint64_t index, std::size_t variable) const {
  const std::size_t bytes = ir::bytes_of(expr_.variables[variable].type);
  Bits bits = 0;
  std::memcpy(&bits, s.columns[variable].data() + static_cast<std::size_t>(index) * bytes, bytes);
  return bits;
}

Point SetLayout::point(const Samples& s, std::uint64_t index) const {
  Point p;
  for (std::size_t v = 0; v < expr_.variables.size(); ++v) p.push_back(get(s, index, v));
  return p;
}

void SetLayout::hold_scalars(Samples& s, const Call& call) const {
  for (std::size_t v = 0; v < expr_.variables.size(); ++v)
    if (expr_.variables[v].is_scalar())
      for (std::uint64_t i = 1; i < call.n; ++i) put(s, call.first + i, v, get(s, call.first, v));
}

void SetLayout::split(Samples& s) const {
  const bool one_call = !has_reductions_ && !has_scalars_ && !has_tables_;
  s.calls = one_call ? std::vector<Call>{{0, s.n, false}} : calls_of(s.n, has_reductions_);
  for (const Call& call : s.calls) hold_scalars(s, call);
}

Samples SetLayout::packed(const char* name, std::vector<Point>& points, std::uint64_t call_elements) const {
  if (points.empty()) points.emplace_back();
  const std::uint64_t n = (points.size() + 63) / 64 * 64;
  Samples s = empty(name, n);
  for (std::uint64_t i = 0; i < n; ++i)
    for (std::size_t v = 0; v < expr_.variables.size(); ++v) put(s, i, v, points[i % points.size()][v]);
  // Short calls, so that there are many corners of parameters and of the arrays under a reduction; some of one
  // element, where no others hide an extreme's effect.
  if (has_scalars_ || has_reductions_ || has_tables_) {
    constexpr std::uint64_t kSingles = 512;
    if (has_reductions_) s.calls.push_back({0, 0, false});
    for (std::uint64_t at = 0; at < n;) {
      const std::uint64_t length = std::min(has_reductions_ && at < kSingles ? 1 : call_elements, n - at);
      s.calls.push_back({at, length, false, table_length(s.calls.size(), n)});
      at += length;
    }
    for (const Call& call : s.calls) hold_scalars(s, call);
  } else {
    s.calls = {{0, n, false}};
  }
  return s;
}

}  // namespace trident::equiv
