// The spine of guest loops: machine code of a guest goes in, an image of version 2 comes out, or the reason why none
// does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "jit/codegen/codegen.h"
#include "jit/image/image.h"
#include "jit/loop/discover.h"
#include "jit/pipeline/region_options.h"
#include "jit/region/region.h"
#include "jit/trials/stage.h"
#include "jit/trials/trials.h"
#include "runtime/base/result.h"
#include "schemas/loop_image.h"

namespace trident::pipeline {

struct LoopSource {
  std::uint8_t guest = TRIDENT_GUEST_AARCH64;
  std::uint64_t head = 0;
  std::uint64_t code_base = 0;  ///< the guest's address of code[0]
  std::vector<std::byte> code;  ///< at most TRIDENT_LOOP_CODE_BYTES_MAX
  bool joined = false;          ///< the loops behind it, too, if that can be (loop::discover_joined())
};

using LoopOptions = RegionOptions;

struct LoopRefusal {
  loop::Reason reason;
  std::uint64_t address;  ///< of the instruction that is the reason, or of the head
  std::string text;       ///< one sentence with the instruction and its address
};

struct CompiledLoop {
  loop::Loop loop;
  region::Region region;
  codegen::MachineCode code;
  image::ImageBytes image;
  trials::Coverage trials;
};

using LoopOutcome = std::variant<CompiledLoop, LoopRefusal>;

/// Finds the loop, lifts it, makes its image and tries that in a sandboxed child. Errors: InvalidArgument for a guest
/// that is not known, Unsupported where the code of regions cannot run, NotEquivalent when a trial ended otherwise than
/// the interpreter's run (with the first difference), OsError.
Result<LoopOutcome> compile_loop(const LoopSource& source, const LoopOptions& options);

/// Makes a stage on which the trials of most loops find a child that waits already. Errors: OsError, ExecDenied.
Result<std::unique_ptr<trials::Stage>> loop_stage();

/// Returns what trials need to try `code`, which is to do what `made` does from `entry` bytes on. Refers to both.
trials::Subject subject_of(const CompiledLoop& made, std::span<const std::byte> code, std::size_t entry);

/// Makes the key of a loop's image from domain tag, build id of the code generator, guest, and the instructions of the
/// loop with their distances from the head. The head's address is no part of it: the code is relative. Where no loop is
/// found, all of the code that was sent takes the place of the instructions.
image::Key loop_key(const LoopSource& source);

}  // namespace trident::pipeline
