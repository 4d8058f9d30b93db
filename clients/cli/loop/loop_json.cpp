#include "clients/cli/loop/loop_reports.h"
#include "jit/loop/aarch64/instruction.h"

namespace trident::cli {
namespace {

Json instructions_json(const loop::Loop& loop) {
  Json list = Json::array();
  for (const auto& [address, instruction] : loop.instructions) {
    char word[16];
    std::snprintf(word, sizeof word, "%08x", instruction.word);
    list.push_back({{"address", hex(address)}, {"word", word}, {"text", loop::aarch64::print(instruction, address)}});
  }
  return list;
}

Json windows_json(const loop::Description& description) {
  Json list = Json::array();
  for (const trident_loop_window_use& window : description.windows)
    list.push_back({{"base", register_name(window.base)},
                    {"loads", (window.access & TRIDENT_LOOP_LOADS) != 0},
                    {"stores", (window.access & TRIDENT_LOOP_STORES) != 0},
                    {"widest", window.widest}});
  return list;
}

Json ways_json(const loop::Loop& loop) {
  Json list = Json::array();
  for (const WayOut& way : ways_out(loop)) list.push_back({{"from", hex(way.from)}, {"to", hex(way.to)}});
  return list;
}

void add_code(Json& out, const LookedAt& looked, bool with_region) {
  const pipeline::CompiledLoop& made = *looked.made;
  out["outcome"] = "compile";
  out["class"] = "unknown";
  out["instructions"] = instructions_json(made.loop);
  out["windows"] = windows_json(looked.description);
  out["exits"] = ways_json(made.loop);
  out["reads"] = register_names(looked.description.counts.registers_read);
  out["writes"] = register_names(looked.description.counts.registers_written);
  out["region_instructions"] = made.region.insts.size();
  out["code_bytes"] = made.code.code_size;
  const auto& trials = made.trials;
  if (trials.runs != 0)
    out["trials"] = {
        {"runs", trials.runs}, {"left", trials.left}, {"missed", trials.missed}, {"used_up", trials.spent}};
  if (with_region) out["region"] = print(made.region);
}

Json rate_json(const Rate& rate) {
  if (rate.rounds == 0) return {{"note", rate.note}};
  return {{"ns_per_round", rate.ns_per_round}, {"rounds", rate.rounds}};
}

}  // namespace

Json Outcomes::json() const {
  Json out = Json::object();
  for (const auto& [outcome, count] : counts_) out[outcome] = count;
  return out;
}

Json loop_json(const LookedAt& looked, bool with_region) {
  Json out = {{"head", hex(looked.head)}};
  out["jumps_back"] = Json::array();
  for (const std::uint64_t jump : looked.jumps_back) out["jumps_back"].push_back(hex(jump));
  if (looked.made) {
    add_code(out, looked, with_region);
  } else {
    out["outcome"] = name_of(looked.refusal.reason);
    out["address"] = hex(looked.refusal.address);
    out["instruction"] = instruction_text(looked.code, looked.refusal.address);
    out["reason"] = looked.refusal.text;
  }
  if (looked.rate) out["rate"] = rate_json(*looked.rate);
  return out;
}

}  // namespace trident::cli
