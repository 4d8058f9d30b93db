// One loop as the verb shows it: what the compiler made of it, or why it refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "clients/cli/loop/guest_code.h"
#include "jit/loop/describe.h"
#include "jit/pipeline/loop.h"

namespace trident::cli {

/// Native code was timed on drawn data.
struct Rate {
  double ns_per_round = 0;
  std::uint64_t rounds = 0;  ///< of one run
  std::string note;          ///< why there is no rate
};

struct LookedAt {
  std::uint64_t head = 0;
  std::vector<std::uint64_t> jumps_back;
  CodeRange code;  ///< that the compiler saw
  std::optional<pipeline::CompiledLoop> made;
  loop::Description description;  ///< of what was made
  pipeline::LoopRefusal refusal;  ///< when nothing was made
  std::optional<Rate> rate;
};

/// Compiles the loop that begins at `head`, and tries the code if wanted. Errors: those of pipeline::compile_loop().
Result<LookedAt> look_at_loop(const CodeRange& range, std::uint64_t head, std::vector<std::uint64_t> jumps_back,
                              bool with_trials);

/// Where control leaves a loop for good: the instruction, and where it goes.
struct WayOut {
  std::uint64_t from = 0, to = 0;
};
std::vector<WayOut> ways_out(const loop::Loop& loop);

/// "x3", "sp", "pc", "flags": a base register of a window, or a bit of a description's registers.
std::string register_name(unsigned number);
/// Names of the registers whose bits are set.
std::vector<std::string> register_names(std::uint64_t bits);
/// The instruction at `address`, as text; nothing where the code has none.
std::string instruction_text(const CodeRange& code, std::uint64_t address);
/// "0x1000"
std::string hex(std::uint64_t address);

}  // namespace trident::cli
