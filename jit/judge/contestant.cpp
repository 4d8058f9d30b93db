#include "jit/judge/contestant.h"

namespace trident::judge {
namespace {

/// Wall-clock limit divided by CPU-time limit. It leaves room for a machine that has others to run.
constexpr std::uint64_t kWallPerCpu = 20;

}  // namespace

void call_kernel(void* call) {
  const auto& c = *static_cast<const KernelCall*>(call);
  c.entry(c.self, c.n, c.in, c.out, c.params);
}

os::SandboxLimits child_limits(std::uint64_t cpu_ns) {
  return {.cpu_ns = cpu_ns,
          .wall_ns = cpu_ns * kWallPerCpu,
          .cpu_seconds = static_cast<std::uint32_t>(cpu_ns / 1'000'000'000u) + 2};
}

Result<os::SandboxEnd> run_in_child(std::span<const std::span<std::byte>> read_only, std::uint64_t cpu_ns,
                                    void (*body)(void* context), void* context) {
  return os::run_sandboxed(child_limits(cpu_ns), body, context, read_only);
}

}  // namespace trident::judge
