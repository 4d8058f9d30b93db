#include "runtime/os/sandbox.h"

#include <unistd.h>

#include <csignal>
#include <cstring>

#include "runtime/base/check.h"
#include "runtime/os/clock.h"
#include "runtime/os/sandboxed_child.h"

namespace trident::os {
namespace {

thread_local std::uint64_t t_others_cpu_ns = 0;  ///< of children, and of threads that worked for this one
thread_local std::uint64_t t_children = 0;

}  // namespace

Result<SandboxEnd> run_sandboxed(const SandboxLimits& limits, void (*body)(void* context), void* context,
                                 std::span<const std::span<std::byte>> read_only) {
  TRY(const ChildStack stack, ChildStack::make());
  TRY(const Mapping shared, map_shared(sizeof(bool)));
  auto* const body_began = static_cast<volatile bool*>(shared.base());
  ChildPlan plan{.body = body,
                 .context = context,
                 .read_only = read_only,
                 .parent = ::getpid(),
                 .cpu_seconds = limits.cpu_seconds,
                 .body_began = body_began};
  TRY(const ChildProcess child, fork_sandboxed(plan, stack));
  const ChildEnd ended = wait_for_end(child, limits, *body_began);
  count_child(ended.used_ns);
  return ended.end;
}

void count_child(std::uint64_t used_ns) {
  ++t_children;
  t_others_cpu_ns += used_ns;
}

std::uint64_t thread_work_ns() {
  return thread_cpu_ns() + t_others_cpu_ns;
}

void add_thread_work(std::uint64_t ns) {
  t_others_cpu_ns += ns;
}

bool WorkLimit::reached() {
  const std::uint64_t now_ns = monotonic_ns();
  if (now_ns < not_before_ns_) return false;
  const std::uint64_t used_ns = thread_work_ns();
  if (used_ns >= end_ns_) return true;
  not_before_ns_ = now_ns + (end_ns_ - used_ns) / 2;  // a thread and its child may both run all the time
  return false;
}

std::uint64_t thread_children() {
  return t_children;
}

std::string describe(const SandboxEnd& end) {
  switch (end.kind) {
    case SandboxEnd::Kind::finished: return "finished";
    case SandboxEnd::Kind::timed_out: return "timed out";
    case SandboxEnd::Kind::crashed: {
      const char* name = ::sigabbrev_np(end.signal);
      return std::string("crashed (SIG") + (name != nullptr ? name : "?") + ")";
    }
  }
  CHECK(false);
}

}  // namespace trident::os
