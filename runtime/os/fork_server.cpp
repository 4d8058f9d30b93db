#include "runtime/os/fork_server.h"

#include <linux/futex.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <ctime>

#include "runtime/os/clock.h"
#include "runtime/os/sandboxed_child.h"

namespace trident::os {
namespace {

/// Says what the child of a run does. The server, the child and the owner write it in turn.
enum Phase : std::uint32_t {
  kForking,  ///< the server makes it
  kWaiting,  ///< it waits in its sandbox
  kGo,       ///< the owner lets it run
  kDone,     ///< its body has returned
  kBroken,   ///< the server can make no child
};
constexpr std::uint32_t kPhaseBits = 3;

/// The number of a run and its phase in one word, so that nobody misses a phase that passes quickly.
constexpr std::uint32_t word_of(std::uint32_t run, Phase phase) {
  return run << kPhaseBits | phase;
}
constexpr Phase phase_of(std::uint32_t word) {
  return static_cast<Phase>(word & ((1u << kPhaseBits) - 1));
}

/// Memory that owner, server and children share. The word orders all accesses to the rest.
struct Control {
  std::atomic<std::uint32_t> word{word_of(0, kForking)};
  bool body_began = false;
  std::uint64_t body_ns = 0;  ///< CPU time that the child had used when its body returned
  // How the child of the run before this one ended:
  bool failed = false;
  SandboxEnd end{};
  std::uint64_t used_ns = 0;
  char error[160] = {};
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

void wait_while(const std::atomic<std::uint32_t>& word, std::uint32_t value, std::uint64_t wait_ns) {
  const timespec time{static_cast<time_t>(wait_ns / 1'000'000'000u), static_cast<long>(wait_ns % 1'000'000'000u)};
  ::syscall(SYS_futex, &word, FUTEX_WAIT, value, wait_ns == UINT64_MAX ? nullptr : &time, nullptr, 0);
}

void set(std::atomic<std::uint32_t>& word, std::uint32_t value) {
  word.store(value, std::memory_order_release);
  ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

// --- the child -------------------------------------------------------------------------------------------------------

struct ServerPlan {
  SandboxLimits limits;
  ForkServer::Work work;
  Control* control;
  pid_t owner;
  std::uint32_t run = 0;  ///< of the child that is made next
};

void wait_for_go(void* opaque) {
  const auto& plan = *static_cast<const ServerPlan*>(opaque);
  if (plan.work.prepare != nullptr) plan.work.prepare(plan.work.context);
  const std::uint32_t waiting = word_of(plan.run, kWaiting);
  set(plan.control->word, waiting);
  while (plan.control->word.load(std::memory_order_acquire) == waiting)
    wait_while(plan.control->word, waiting, UINT64_MAX);
}

void tell_done(void* opaque) {
  const auto& plan = *static_cast<const ServerPlan*>(opaque);
  plan.control->body_ns = thread_cpu_ns();
  set(plan.control->word, word_of(plan.run, kDone));
}

// --- the server ------------------------------------------------------------------------------------------------------

/// Waits until `child` waits for its go, or has ended without that.
void wait_until_waiting(const ServerPlan& plan, const ChildProcess& child) {
  while (phase_of(plan.control->word.load(std::memory_order_acquire)) == kForking) {
    pollfd end{child.pidfd.get(), POLLIN, 0};
    if (::poll(&end, 1, 1) > 0) return;
  }
}

void keep(Control& control, const ChildEnd& ended) {
  control.failed = !ended.end.ok();
  control.used_ns = ended.used_ns;
  if (ended.end.ok())
    control.end = *ended.end;
  else
    std::snprintf(control.error, sizeof control.error, "%s", ended.end.error().message.c_str());
}

/// Makes one child and waits for its end. Returns false when none can be made.
bool serve_one(ServerPlan& plan, const ChildStack& stack) {
  Control& control = *plan.control;
  control.body_began = false;
  ChildPlan child_plan{.body = plan.work.body,
                       .context = plan.work.context,
                       .read_only = plan.work.read_only,
                       .parent = ::getpid(),
                       .cpu_seconds = plan.limits.cpu_seconds,
                       .body_began = &control.body_began,
                       .word = &control.word,
                       .wait = wait_for_go,
                       .done = tell_done,
                       .opaque = &plan};
  const auto child = fork_sandboxed(child_plan, stack);
  if (!child.ok()) return false;
  wait_until_waiting(plan, *child);
  const std::uint32_t waiting = word_of(plan.run, kWaiting);
  while (control.word.load(std::memory_order_acquire) == waiting) wait_while(control.word, waiting, UINT64_MAX);
  const bool never_waited = phase_of(control.word.load(std::memory_order_acquire)) == kForking;
  keep(control, wait_for_end(*child, plan.limits, control.body_began));
  return !never_waited;
}

void serve(ServerPlan& plan) {
  const auto stack = ChildStack::make();
  while (stack.ok() && serve_one(plan, *stack)) {
    ++plan.run;
    set(plan.control->word, word_of(plan.run, kForking));
  }
  set(plan.control->word, word_of(plan.run, kBroken));
}

int server_main(void* opaque) {
  ServerPlan plan = *static_cast<const ServerPlan*>(opaque);
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0 && ::getppid() == plan.owner) {
    ::prctl(PR_SET_NAME, "trident-forks", 0, 0, 0);
    ::syscall(SYS_close_range, 0, ~0u, 0);
    serve(plan);
  }
  for (;;) ::syscall(SYS_exit_group, 0);
}

/// The owner looks that often whether there is a server still.
constexpr std::uint64_t kLookNs = 200'000'000;

Error gone() {
  return make_error(ErrorCode::kOsError, "the process that makes sandboxed children has ended");
}

}  // namespace

struct ForkServer::State {
  Mapping shared;
  ChildStack stack;
  ChildProcess server;
  std::uint32_t run = 0;  ///< of the child that waits, or is being made

  [[nodiscard]] Control& control() const { return *static_cast<Control*>(shared.base()); }

  [[nodiscard]] bool lives() const {
    pollfd end{server.pidfd.get(), POLLIN, 0};
    return ::poll(&end, 1, 0) == 0;
  }

  /// Waits while the word is `value`. Returns the word; nothing when the server has ended.
  [[nodiscard]] Result<std::uint32_t> word_after(std::uint32_t value) const {
    const std::atomic<std::uint32_t>& word = control().word;
    for (;;) {
      const std::uint32_t now = word.load(std::memory_order_acquire);
      if (phase_of(now) == kBroken) return make_error(ErrorCode::kOsError, "no sandboxed child can be made");
      if (now != value) return now;
      wait_while(word, value, kLookNs);
      if (word.load(std::memory_order_acquire) == value && !lives()) return gone();
    }
  }
};

ForkServer::ForkServer(std::unique_ptr<State> state) : state_(std::move(state)) {}
ForkServer::ForkServer(ForkServer&&) noexcept = default;

ForkServer::~ForkServer() {
  if (state_ == nullptr) return;
  kill_child(state_->server);
  (void)wait_for_end(state_->server, {}, state_->control().body_began);
}

Result<ForkServer> ForkServer::start(const SandboxLimits& limits, const Work& work) {
  TRY(Mapping shared, map_shared(sizeof(Control)));
  auto* const control = new (shared.base()) Control;
  TRY(ChildStack stack, ChildStack::make());
  ServerPlan plan{limits, work, control, ::getpid()};
  TRY(ChildProcess server, fork_quietly(server_main, &plan, stack));
  return ForkServer(std::make_unique<State>(State{std::move(shared), std::move(stack), std::move(server)}));
}

Result<void> ForkServer::wait_for_child() {
  const std::uint32_t waiting = word_of(state_->run, kWaiting);
  std::uint32_t word = state_->control().word.load(std::memory_order_acquire);
  while (word != waiting) {
    TRY(word, state_->word_after(word));
  }
  return {};
}

Result<SandboxEnd> ForkServer::run() {
  Control& control = state_->control();
  const std::uint32_t go = word_of(state_->run++, kGo);
  set(control.word, go);
  TRY(const std::uint32_t word, state_->word_after(go));
  if (phase_of(word) == kDone && word >> kPhaseBits == go >> kPhaseBits) {
    count_child(control.body_ns);
    return SandboxEnd{};
  }
  count_child(control.used_ns);
  if (control.failed) return make_error(ErrorCode::kOsError, "%s", control.error);
  return control.end;
}

}  // namespace trident::os
