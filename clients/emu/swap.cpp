#include "clients/emu/swap.h"

#include "clients/c/trident.h"
#include "clients/unicorn/trident_unicorn.h"

namespace trident::emu {
namespace {

std::uint32_t mode_of(Mode mode) {
  switch (mode) {
    case Mode::automatic: return TRIDENT_MODE_AUTO;
    case Mode::daemon: return TRIDENT_MODE_DAEMON;
    case Mode::embedded: return TRIDENT_MODE_EMBEDDED;
  }
  return TRIDENT_MODE_AUTO;
}

const char* state_name(std::uint32_t state) {
  static const char* const kNames[] = {"waiting for its code", "installed", "refused", "differs from the guest",
                                       "gains nothing"};
  return state < std::size(kNames) ? kNames[state] : "unknown";
}

LoopReport report_of(const trident_unicorn_loop_facts& facts) {
  LoopReport loop;
  loop.head = facts.head;
  loop.state = state_name(facts.state);
  loop.note = facts.note == nullptr ? "" : facts.note;
  loop.entries = facts.entries, loop.iterations = facts.iterations, loop.misses = facts.misses;
  loop.shadows = facts.shadows, loop.mismatches = facts.mismatches;
  loop.guest_ns = facts.guest_ns, loop.native_ns = facts.native_ns;
  return loop;
}

}  // namespace

struct Swap::Handles {
  trident_ctx* context = nullptr;
  trident_unicorn* offload = nullptr;
  ~Handles() {
    if (offload != nullptr) trident_unicorn_detach(offload);
    if (context != nullptr) trident_close(context);
  }
};

Swap::Swap(std::unique_ptr<Handles> handles) : handles_(std::move(handles)) {}
Swap::~Swap() = default;

Result<std::unique_ptr<Swap>> Swap::attach(const Cpu& cpu, const SwapOptions& options) {
  auto handles = std::make_unique<Handles>();
  trident_options open{};
  open.struct_size = sizeof open;
  open.mode = mode_of(options.mode);
  if (trident_open(&open, &handles->context) != TRIDENT_OK)
    return make_error(ErrorCode::kDisconnected, "%s", trident_last_error());
  trident_unicorn_options attach{};
  attach.struct_size = sizeof attach;
  attach.flags =
      TRIDENT_UNICORN_ANNOUNCED | TRIDENT_UNICORN_JOINED | TRIDENT_UNICORN_USER_MODE;  // no instruction is hooked
  if (options.verify) attach.flags |= TRIDENT_UNICORN_VERIFY;
  if (trident_unicorn_attach(cpu.engine(), handles->context, &attach, &handles->offload) != TRIDENT_OK)
    return make_error(ErrorCode::kUnsupported, "loops are not swapped: %s", trident_unicorn_error());
  return std::unique_ptr<Swap>(new Swap(std::move(handles)));
}

/// The client leaves memory alone that it cannot take: the guest runs its own loops there.
void Swap::map(const Area& area) {
  const trident_unicorn_region region{area.base, area.bytes, area.host, TRIDENT_UNICORN_POINTER, 0};
  (void)trident_unicorn_map(handles_->offload, &region);
}

void Swap::unmap(std::uint64_t base, std::uint64_t bytes) {
  trident_unicorn_unmap(handles_->offload, base, bytes);
}

SwapReport Swap::report() const {
  trident_unicorn_stats stats{};
  stats.struct_size = sizeof stats;
  trident_unicorn_get_stats(handles_->offload, &stats);
  SwapReport report;
  report.submitted = stats.submitted, report.installed = stats.installed;
  report.refused = stats.refused, report.unhooked = stats.unhooked;
  report.entries = stats.entries, report.iterations = stats.iterations, report.misses = stats.misses;
  report.shadows = stats.shadows, report.mismatches = stats.mismatches;
  for (std::uint32_t i = 0; i < stats.loops; ++i) {
    trident_unicorn_loop_facts facts{};
    facts.struct_size = sizeof facts;
    if (trident_unicorn_get_loop(handles_->offload, i, &facts) == TRIDENT_OK) report.loops.push_back(report_of(facts));
  }
  return report;
}

}  // namespace trident::emu
