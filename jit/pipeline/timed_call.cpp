#include "jit/pipeline/timed_call.h"

#include <algorithm>
#include <cstring>

#include "jit/codegen/codegen.h"

namespace trident::pipeline {
namespace {

constexpr std::uint64_t kPointsToTime = 4096;
constexpr std::uint64_t kTournamentNs = 250'000'000;
/// Calls that stream through memory take tens of milliseconds each: their tournament may take this long per byte that a
/// call moves, or no candidate would get a second round.
constexpr std::uint64_t kTournamentNsPerByte = 100;
/// Memory for the arrays that kernels are timed on.
constexpr std::uint64_t kWorkloadBytesMax = std::uint64_t{512} << 20;

std::vector<std::byte> filled(std::span<const std::byte> points, std::size_t size) {
  std::vector<std::byte> column(size);
  for (std::size_t at = 0; at < size;) {
    const std::size_t n = std::min(size - at, points.size());
    std::memcpy(column.data() + at, points.data(), n);
    at += n;
  }
  return column;
}

}  // namespace

std::uint64_t CallSize::tournament_ns() const {
  return std::max(kTournamentNs, elements * bytes_per_element * kTournamentNsPerByte);
}

CallSize call_size(const expr::Expr& source, const judge::Signature& signature, std::uint64_t elements) {
  std::uint64_t bytes = 1;
  for (const auto& variable : source.variables) bytes += ir::bytes_of(variable.type);
  for (const auto& output : signature.outputs) bytes += output.bytes;
  return {.elements = std::min(elements, kWorkloadBytesMax / bytes), .bytes_per_element = bytes};
}

equiv::Samples points_to_time(const expr::Expr& source, std::uint64_t seed) {
  return equiv::draw_set(source, equiv::Way::uniform, kPointsToTime, seed);
}

std::uint64_t streaming_elements(const judge::Signature& signature) {
  std::uint64_t bytes = 0;
  for (const auto& output : signature.outputs) bytes += output.scalar ? 0 : output.bytes;
  return (codegen::kStreamBytes + bytes - 1) / std::max<std::uint64_t>(bytes, 1);
}

TimedCall::TimedCall(const expr::Expr& source, const equiv::Samples& points, std::uint64_t elements) {
  workload_.elements = elements;
  for (std::size_t v = 0; v < source.variables.size(); ++v) {
    const expr::Variable& variable = source.variables[v];
    if (variable.is_scalar()) continue;
    const std::size_t size = static_cast<std::size_t>(elements) * ir::bytes_of(variable.type);
    columns_.push_back(filled(std::as_bytes(std::span(points.columns[v])), size));
  }
  for (const auto& column : columns_) workload_.inputs.emplace_back(column);
  equiv::Call call = points.calls.front();
  call.table_length = std::min(elements, points.n);
  workload_.params = equiv::params_of(source, points, call);
}

}  // namespace trident::pipeline
