#include "jit/pipeline/loop.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>

#include "jit/codegen/region.h"
#include "jit/loop/aarch64/lifter.h"
#include "jit/loop/describe.h"
#include "jit/loop/lift.h"
#include "jit/loop/polling.h"
#include "jit/pipeline/forms.h"
#include "jit/pipeline/key.h"
#include "runtime/os/cpu.h"
#include "runtime/os/self.h"

namespace trident::pipeline {
namespace {

constexpr std::string_view kLoopDomain = "trident loop key 1";

loop::Code code_of(const LoopSource& source) {
  return {source.code_base, source.code};
}

/// The instruction at `address`, as text; nothing where no code was sent.
std::string instruction_text(const LoopSource& source, std::uint64_t address) {
  const std::uint64_t offset = address - source.code_base;
  std::uint32_t word = 0;
  if (offset > source.code.size() || source.code.size() - offset < sizeof word) return "no code";
  std::memcpy(&word, source.code.data() + offset, sizeof word);
  return codegen::disassemble_a64(word, address);
}

LoopRefusal refused(const LoopSource& source, loop::Reason reason, std::uint64_t address) {
  char place[32];
  std::snprintf(place, sizeof place, "0x%" PRIx64, address);
  return {
      reason, address,
      "at " + std::string(place) + " (" + instruction_text(source, address) + "): " + std::string(sentence_of(reason))};
}

Result<void> check_source(const LoopSource& source) {
  if (source.guest != TRIDENT_GUEST_AARCH64)
    return make_error(ErrorCode::kInvalidArgument, "guest %u is not known: 1 is AArch64", source.guest);
  if (!os::cpu_features().bmi2)
    return make_error(ErrorCode::kUnsupported, "the code of loops needs an x86-64 processor with AVX2 and BMI2");
  return {};
}

/// Says why `region` may not be compiled, although it could be.
std::optional<loop::Reason> reason_against(const loop::Loop& loop, const Result<region::Region>& region) {
  if (windows_of(loop).size() > TRIDENT_LOOP_WINDOWS_MAX) return loop::Reason::windows;
  if (!region.ok() && region.error().code == ErrorCode::kLimitExceeded) return loop::Reason::too_long;
  if (region.ok() && loop::polls(*region)) return loop::Reason::polling;
  return {};
}

/// Tries the image as clients get it.
Result<trials::Coverage> tried(const CompiledLoop& made, const LoopOptions& options) {
  TRY_VOID(image::validate(made.image.bytes));
  const trials::Subject subject = subject_of(made, made.image.bytes, made.image.header().entry_offset);
  TRY(const trials::Verdict verdict, trials::try_out(subject, {.seed = options.seed}, options.stage));
  if (verdict.same()) return verdict.coverage;
  return make_error(ErrorCode::kNotEquivalent, "the code is not the same as the loop: %s", verdict.difference.c_str());
}

Result<CompiledLoop> compiled(const LoopSource& source, loop::Loop loop, region::Region region,
                              const LoopOptions& options) {
  CompiledLoop made{std::move(loop), std::move(region), {}, {}, {}};
  TRY(made.code, codegen::emit(made.region));
  if (options.spoil) options.spoil(made.code);
  const auto description = loop::bytes_of(loop::describe(made.loop, made.region));
  made.image = image::build_loop(made.code, description, codegen::Isa::avx2, TRIDENT_TIER_BASELINE,
                                 options.key ? *options.key : loop_key(source));
  TRY_VOID(check_size(made.image));
  if (options.runs_trials) {
    TRY(made.trials, tried(made, options));
  }
  return made;
}

/// Returns whether each of the loops may be compiled: a wait among them would no longer show.
bool may_be_joined(const loop::Loop& joined) {
  const std::vector<loop::Loop> cycles = loop::cycles_of(joined);
  return std::all_of(cycles.begin(), cycles.end(), [](const loop::Loop& cycle) {
    const auto region = loop::lift(cycle);
    return region.ok() && !reason_against(cycle, region);
  });
}

/// Returns nothing where the loop of the head should be compiled alone: joined ones have too many windows, say, or the
/// trials did not take each way back.
Result<std::optional<CompiledLoop>> compiled_joined(const LoopSource& source, const LoopOptions& options) {
  auto joined = loop::discover_joined(code_of(source), source.head);
  if (!joined || !may_be_joined(*joined)) return std::optional<CompiledLoop>();
  auto region = loop::lift(*joined);
  if (!region.ok() || reason_against(*joined, region)) return std::optional<CompiledLoop>();
  auto made = compiled(source, std::move(*joined), std::move(*region), options);
  if (!made.ok() && made.error().code == ErrorCode::kLimitExceeded) return std::optional<CompiledLoop>();
  if (!made.ok()) return made.error();
  if (options.runs_trials && made->trials.ways_taken < made->trials.ways) return std::optional<CompiledLoop>();
  return std::optional<CompiledLoop>(std::move(*made));
}

/// The instructions that decide what is made of `source`; nothing where no loop is found.
std::optional<loop::Loop> loop_of(const LoopSource& source) {
  auto found = loop::discover(code_of(source), source.head);
  auto* const loop = std::get_if<loop::Loop>(&found);
  if (loop == nullptr) return {};
  auto joined = source.joined ? loop::discover_joined(code_of(source), source.head) : std::nullopt;
  return joined ? std::move(joined) : std::optional(std::move(*loop));
}

void add_number(KeyWriter& key, std::uint64_t number) {
  key.add(std::as_bytes(std::span(&number, 1)));
}

}  // namespace

Result<LoopOutcome> compile_loop(const LoopSource& source, const LoopOptions& options) {
  TRY_VOID(check_source(source));
  if (source.code.size() > TRIDENT_LOOP_CODE_BYTES_MAX)
    return LoopOutcome(refused(source, loop::Reason::too_large, source.head));
  auto found = loop::discover(code_of(source), source.head);
  if (const auto* refusal = std::get_if<loop::Refusal>(&found))
    return LoopOutcome(refused(source, refusal->reason, refusal->address));
  if (source.joined) {
    TRY(auto joined, compiled_joined(source, options));
    if (joined) return LoopOutcome(std::move(*joined));
  }
  auto& loop = std::get<loop::Loop>(found);
  auto region = loop::lift(loop);
  if (const auto reason = reason_against(loop, region)) return LoopOutcome(refused(source, *reason, source.head));
  if (!region.ok()) return region.error();
  auto made = compiled(source, std::move(loop), std::move(*region), options);
  if (!made.ok() && made.error().code == ErrorCode::kLimitExceeded)
    return LoopOutcome(refused(source, loop::Reason::too_long, source.head));
  if (!made.ok()) return made.error();
  return LoopOutcome(std::move(*made));
}

Result<std::unique_ptr<trials::Stage>> loop_stage() {
  constexpr std::size_t kCodeBytes = 32 * 1024;
  const trials::Options options;
  return trials::Stage::make_ahead({.frame_bytes = loop::aarch64::kFrameBytes,
                                    .windows = TRIDENT_LOOP_WINDOWS_MAX,
                                    .runs = trials::runs_max(options),
                                    .code_bytes = kCodeBytes,
                                    .cpu_ns = options.cpu_ns});
}

trials::Subject subject_of(const CompiledLoop& made, std::span<const std::byte> code, std::size_t entry) {
  constexpr std::uint64_t kPage = 4096, kInstruction = 4;
  trials::Subject subject{.region = made.region,
                          .code = code,
                          .entry = entry,
                          .frame_bytes = loop::aarch64::kFrameBytes,
                          .bases = {},
                          .origin = trials::Home{loop::aarch64::kPcSlot, kPage},
                          .stages = made.loop.cycle_count()};
  for (const loop::Window& window : windows_of(made.loop))
    subject.bases.push_back({loop::aarch64::base_slot(window.base),
                             window.base == loop::aarch64::kPcBase ? kInstruction : std::uint64_t{1}});
  return subject;
}

image::Key loop_key(const LoopSource& source) {
  KeyWriter key(kLoopDomain);
  key.add(os::build_id());
  add_number(key, source.guest);
  if (const auto loop = loop_of(source)) {
    key.add("loop");
    for (const auto& [address, instruction] : loop->instructions)
      add_number(key, (address - loop->head) << 32 | instruction.word);
  } else {
    key.add("code");
    add_number(key, source.head - source.code_base);
    key.add(source.code);
  }
  return key.finish();
}

}  // namespace trident::pipeline
