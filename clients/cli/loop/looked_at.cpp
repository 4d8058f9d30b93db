#include "clients/cli/loop/looked_at.h"

#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "clients/cli/loop/loop_heads.h"
#include "jit/codegen/codegen.h"

namespace trident::cli {
namespace {

constexpr unsigned kSp = 31, kFlags = 32, kRegisters = 33;

}  // namespace

Result<LookedAt> look_at_loop(const CodeRange& range, std::uint64_t head, std::vector<std::uint64_t> jumps_back,
                              bool with_trials) {
  LookedAt looked;
  looked.head = head;
  looked.jumps_back = std::move(jumps_back);
  looked.code = code_around(range, head);
  pipeline::LoopSource source{.head = head, .code_base = looked.code.address, .code = {}};
  source.code.assign(looked.code.bytes.begin(), looked.code.bytes.end());
  TRY(auto outcome, pipeline::compile_loop(source, {.runs_trials = with_trials}));
  if (auto* made = std::get_if<pipeline::CompiledLoop>(&outcome)) {
    looked.description = loop::describe(made->loop, made->region);
    looked.made = std::move(*made);
  } else {
    looked.refusal = std::move(std::get<pipeline::LoopRefusal>(outcome));
  }
  return looked;
}

std::vector<WayOut> ways_out(const loop::Loop& loop) {
  std::vector<WayOut> ways;
  for (const auto& [address, instruction] : loop.instructions) {
    const loop::Successors after = loop::successors(instruction, address);
    for (const auto& [has, to] : {std::pair{after.has_taken, after.taken}, {after.has_next, after.next}})
      if (has && loop.instructions.count(to) == 0) ways.push_back({address, to});
  }
  return ways;
}

std::string register_name(unsigned number) {
  if (number == kSp) return "sp";
  return number == kFlags ? "pc" : "x" + std::to_string(number);
}

std::vector<std::string> register_names(std::uint64_t bits) {
  std::vector<std::string> names;
  for (unsigned r = 0; r < kRegisters; ++r)
    if ((bits >> r & 1) != 0) names.push_back(r == kFlags ? "flags" : register_name(r));
  return names;
}

std::string instruction_text(const CodeRange& code, std::uint64_t address) {
  std::uint32_t word = 0;
  if (!code.contains(address) || code.bytes.size() - (address - code.address) < sizeof word) return "";
  std::memcpy(&word, code.bytes.data() + (address - code.address), sizeof word);
  return codegen::disassemble_a64(word, address);
}

std::string hex(std::uint64_t address) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%" PRIx64, address);
  return text;
}

}  // namespace trident::cli
