#include "bench/loops/unicorn_column.h"

#include "bench/loops/attached_machine.h"
#include "bench/loops/cpu_clock.h"
#include "bench/loops/guest_machine.h"
#include "runtime/os/clock.h"

namespace trident::bench {
namespace {

Answer answer_of(GuestMachine& machine, const Work& work) {
  machine.fill(work);
  const std::uint64_t result = machine.run(work, 1);
  return {result, machine.hash()};
}

class UnicornColumn final : public Column {
 public:
  explicit UnicornColumn(Work work) : work_(work) {}

  Answer answer() override { return answer_of(machine_, work_); }
  double cpu_ns(std::uint64_t calls) override { return machine_.cpu_ns(work_, calls); }
  double rounds() const override { return work_.rounds(); }

 private:
  Work work_;
  GuestMachine machine_;
};

class Swapped final : public SwapColumn {
 public:
  Swapped(Work work, std::uint32_t flags) : work_(work), attached_(flags) {}

  Answer answer() override { return answer_of(attached_.machine(), work_); }
  double cpu_ns(std::uint64_t calls) override { return attached_.machine().cpu_ns(work_, calls); }
  double rounds() const override { return work_.rounds(); }

  void warm() override {
    const std::uint64_t begin = os::monotonic_ns();
    std::uint64_t calls = 1, changed = begin, seen = 0;
    for (std::uint64_t now = begin; now - begin < kPatienceNs && now - changed < kQuietNs; now = os::monotonic_ns()) {
      const double ns = cpu_ns(calls);
      if (ns < kTurnNs) calls *= 2;
      if (ns > 4 * kTurnNs && calls > 1) calls /= 2;
      const trident_unicorn_stats stats = attached_.stats();
      const std::uint64_t events = stats.installed + stats.refused + stats.unhooked + stats.submitted;
      if (events != seen) seen = events, changed = now;
    }
    (void)native_rounds();
  }

  std::uint64_t native_rounds() override {
    const std::uint64_t all = attached_.stats().iterations, more = all - told_;
    told_ = all;
    return more;
  }

 private:
  static constexpr std::uint64_t kPatienceNs = 10'000'000'000, kQuietNs = 3'000'000'000;
  static constexpr double kTurnNs = 2e6;

  Work work_;
  AttachedMachine attached_;
  std::uint64_t told_ = 0;
};

}  // namespace

std::unique_ptr<Column> unicorn_column(Work work) {
  return std::make_unique<UnicornColumn>(work);
}

std::unique_ptr<SwapColumn> swap_column(Work work) {
  return std::make_unique<Swapped>(work, 0);
}

std::unique_ptr<SwapColumn> announced_swap_column(Work work) {
  return std::make_unique<Swapped>(work, TRIDENT_UNICORN_ANNOUNCED);
}

}  // namespace trident::bench
