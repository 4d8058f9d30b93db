#include "bench/loops/unicorn_column.h"

#include "bench/loops/cpu_clock.h"
#include "bench/loops/guest_machine.h"
#include "runtime/base/check.h"
#include "runtime/os/clock.h"

#ifdef TRIDENT_UNICORN
#include "clients/unicorn/trident_unicorn.h"
#endif

namespace trident::bench {
namespace {

/// Runs the guest's program, with and without swaps.
template <class Kind>
class OnUnicorn : public Kind {
 public:
  explicit OnUnicorn(Work work) : work_(work) {}

  Answer answer() override {
    machine_.fill(work_);
    const std::uint64_t result = machine_.run(work_, 1);
    return {result, machine_.hash()};
  }
  double cpu_ns(std::uint64_t calls) override {
    const double begin = thread_cpu_ns();
    machine_.run(work_, calls);
    return thread_cpu_ns() - begin;
  }
  double rounds() const override { return work_.rounds(); }

 protected:
  Work work_;
  GuestMachine machine_;
};

}  // namespace

std::unique_ptr<Column> unicorn_column(Work work) {
  return std::make_unique<OnUnicorn<Column>>(work);
}

#ifdef TRIDENT_UNICORN
namespace {

trident_ctx* context() {
  static trident_ctx* const ctx = [] {
    trident_options options{};
    options.struct_size = sizeof options;
    options.mode = TRIDENT_MODE_EMBEDDED;
    trident_ctx* made = nullptr;
    CHECK(trident_open(&options, &made) == TRIDENT_OK);
    return made;
  }();
  return ctx;
}

class Swapped final : public OnUnicorn<SwapColumn> {
 public:
  explicit Swapped(Work work) : OnUnicorn(work) {
    const std::uint64_t base = machine_.memory_base(), code = machine_.code_bytes();
    const trident_unicorn_region regions[] = {
        {base, code, machine_.memory(), TRIDENT_UNICORN_POINTER, 0},
        {base + code, machine_.memory_bytes() - code, machine_.memory() + code, TRIDENT_UNICORN_POINTER, 0}};
    trident_unicorn_options options{};
    options.struct_size = sizeof options;
    options.regions = regions;
    options.region_count = 2;
    CHECK(trident_unicorn_attach(machine_.engine(), context(), &options, &handle_) == TRIDENT_OK);
  }
  ~Swapped() override { trident_unicorn_detach(handle_); }

  void warm() override {
    const std::uint64_t begin = os::monotonic_ns();
    std::uint64_t calls = 1, changed = begin, seen = 0;
    for (std::uint64_t now = begin; now - begin < kPatienceNs && now - changed < kQuietNs; now = os::monotonic_ns()) {
      const double ns = cpu_ns(calls);
      if (ns < kTurnNs) calls *= 2;
      if (ns > 4 * kTurnNs && calls > 1) calls /= 2;
      const trident_unicorn_stats now_stats = stats();
      const std::uint64_t state = now_stats.installed + now_stats.refused + now_stats.unhooked + now_stats.submitted;
      if (state != seen) seen = state, changed = now;
    }
    (void)native_rounds();
  }

  std::uint64_t native_rounds() override {
    const std::uint64_t all = stats().iterations, more = all - told_;
    told_ = all;
    return more;
  }

 private:
  static constexpr std::uint64_t kPatienceNs = 8'000'000'000, kQuietNs = 2'500'000'000;
  static constexpr double kTurnNs = 2e6;

  trident_unicorn_stats stats() const {
    trident_unicorn_stats stats{};
    stats.struct_size = sizeof stats;
    trident_unicorn_get_stats(handle_, &stats);
    return stats;
  }

  trident_unicorn* handle_ = nullptr;
  std::uint64_t told_ = 0;
};

}  // namespace

std::unique_ptr<SwapColumn> swap_column(Work work) {
  return std::make_unique<Swapped>(work);
}
#else
std::unique_ptr<SwapColumn> swap_column(Work) {
  return nullptr;
}
#endif

}  // namespace trident::bench
