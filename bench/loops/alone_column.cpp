// Our machine code alone: no emulator, no entry, no detection. It shows what code generation leaves to be gained.
#include <unicorn/unicorn.h>

#include <cstdio>
#include <cstring>
#include <map>

#include "bench/loops/column.h"
#include "bench/loops/cpu_clock.h"
#include "bench/loops/guest_machine.h"
#include "clients/c/trident_loop.h"
#include "jit/codegen/region.h"
#include "jit/pipeline/loop.h"
#include "runtime/base/check.h"
#include "runtime/os/memfd.h"

namespace trident::bench {
namespace {

using Arrivals = std::map<std::uint64_t, std::uint64_t>;

void count_arrival(uc_engine*, std::uint64_t address, std::uint32_t, void* counts) {
  ++(*static_cast<Arrivals*>(counts))[address];
}

void stop_here(uc_engine* engine, std::uint64_t, std::uint32_t, void*) {
  uc_emu_stop(engine);
}

/// Addresses of the kernel where Unicorn begins a block most often first: the hottest loop's head is the first that
/// compiles.
std::vector<std::uint64_t> hot_blocks(GuestMachine& machine, const Work& work) {
  const GuestMachine::Function function = machine.function_of(work.kernel);
  Arrivals arrivals;
  uc_hook hook = 0;
  CHECK(uc_hook_add(machine.engine(), &hook, UC_HOOK_BLOCK, reinterpret_cast<void*>(&count_arrival), &arrivals,
                    function.address, function.address + function.bytes - 1) == UC_ERR_OK);
  machine.fill(work);
  machine.run(work, 1);
  uc_hook_del(machine.engine(), hook);
  std::multimap<std::uint64_t, std::uint64_t, std::greater<>> by_count;
  for (const auto& [address, count] : arrivals) by_count.emplace(count, address);
  std::vector<std::uint64_t> blocks;
  for (const auto& [count, address] : by_count) blocks.push_back(address);
  return blocks;
}

class AloneColumn final : public Column {
 public:
  AloneColumn(Work work, std::unique_ptr<GuestMachine> machine, pipeline::CompiledLoop loop)
      : work_(work), machine_(std::move(machine)), loop_(std::move(loop)) {
    auto mapping = os::map_code(loop_.code.bytes);
    CHECK(mapping.ok());
    mapping_ = std::move(*mapping);
    entry_ = reinterpret_cast<trident_loop_entry>(mapping_.base());
    const auto delta = reinterpret_cast<std::uint64_t>(machine_->memory()) - machine_->memory_base();
    windows_.assign(loop_.region.windows, {machine_->memory_base(), machine_->memory_bytes(), delta});
    go_to_head();
    trident_loop_frame frame = before_;
    entry_(&frame, windows_.data());
    rounds_ = static_cast<double>(kBudget - frame.region.budget);
  }

  Answer answer() override { return {}; }
  bool has_answers() const override { return false; }
  double rounds() const override { return rounds_; }

  double cpu_ns(std::uint64_t calls) override {
    const double begin = thread_cpu_ns();
    for (std::uint64_t i = 0; i < calls; ++i) {
      trident_loop_frame frame = before_;
      entry_(&frame, windows_.data());
    }
    return thread_cpu_ns() - begin;
  }

 private:
  static constexpr std::uint64_t kBudget = std::uint64_t{1} << 40;

  /// Lets the guest run until it comes to the head first, and takes its registers.
  void go_to_head() {
    uc_hook hook = 0;
    const std::uint64_t head = loop_.loop.head;
    uc_ctl_remove_cache(machine_->engine(), head, head + 4);
    CHECK(uc_hook_add(machine_->engine(), &hook, UC_HOOK_CODE, reinterpret_cast<void*>(&stop_here), nullptr, head,
                      head) == UC_ERR_OK);
    machine_->fill(work_);
    machine_->run(work_, 1);
    uc_hook_del(machine_->engine(), hook);
    for (unsigned r = 0; r < 32; ++r) uc_reg_read(machine_->engine(), unicorn_register(r), &before_.x[r]);
    std::uint64_t nzcv = 0;
    uc_reg_read(machine_->engine(), UC_ARM64_REG_NZCV, &nzcv);
    before_.nzcv = static_cast<std::uint32_t>(nzcv);
    before_.pc = head;
    before_.region.budget = kBudget;
  }

  Work work_;
  std::unique_ptr<GuestMachine> machine_;
  pipeline::CompiledLoop loop_;
  os::Mapping mapping_;
  trident_loop_entry entry_ = nullptr;
  std::vector<trident_region_window> windows_;
  trident_loop_frame before_{};
  double rounds_ = 0;
};

}  // namespace

std::unique_ptr<Column> alone_column(Work work) {
  auto machine = std::make_unique<GuestMachine>();
  std::string why = "no block was run";
  for (const std::uint64_t head : hot_blocks(*machine, work)) {
    pipeline::LoopSource source{.head = head, .code_base = machine->memory_base(), .code = {}};
    const auto* const code = reinterpret_cast<const std::byte*>(machine->memory());
    source.code.assign(code, code + machine->code_bytes());
    auto outcome = pipeline::compile_loop(source, {});
    CHECK(outcome.ok());
    if (auto* loop = std::get_if<pipeline::CompiledLoop>(&*outcome))
      return std::make_unique<AloneColumn>(work, std::move(machine), std::move(*loop));
    why = std::get<pipeline::LoopRefusal>(*outcome).text;
  }
  std::fprintf(stderr, "%s: no loop compiles: %s\n", kernels[work.kernel].name, why.c_str());
  return nullptr;
}

}  // namespace trident::bench
