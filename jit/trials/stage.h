// The place where runs are made: memory that a sandboxed child shares, the code under trial, and the script of the
// runs.
//
// A stage that is made ahead has a fork server (runtime/os/fork_server.h), so that a child with all pages touched waits
// before there is code to try. It is for many subjects in turn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "jit/codegen/region.h"
#include "jit/judge/guarded.h"
#include "jit/trials/arena.h"
#include "jit/trials/draw.h"
#include "runtime/os/fork_server.h"
#include "runtime/os/memfd.h"

namespace trident::trials {

class Stage {
 public:
  /// The largest subject, and the most runs, of a stage.
  struct Room {
    std::size_t frame_bytes = 0;  ///< of every subject
    std::size_t windows = 0, runs = 0, code_bytes = 0;
    std::size_t local_bytes = 0;  ///< of local arrays with their gaps
    std::uint64_t cpu_ns = 0;     ///< of a child
  };
  /// Makes a stage that forks a child when it is needed.
  static Result<std::unique_ptr<Stage>> make(const Room& room);
  /// Makes a stage whose next child waits already. It is for the thread that makes it.
  static Result<std::unique_ptr<Stage>> make_ahead(const Room& room);

  [[nodiscard]] bool fits(const Subject& subject, const Options& options) const;

  /// Waits until no earlier child can write to the arena. OsError: the stage is of no use any more.
  Result<void> clear();
  /// The memory of the runs; the caller may use it between clear() and run().
  [[nodiscard]] const Arena& arena() const { return arena_; }

  /// Puts the code onto the stage: of `subject`, which fits. Errors: those of os::CodeFile::write().
  Result<void> put(const Subject& subject);
  /// Makes `runs` in turn, each on its own state. Afterwards the arena's log has the digests of those that are done,
  /// and its frame and memory are those of the last one. Errors: those of judge::run_guarded().
  Result<judge::GuardedEnd> run(std::span<const Run> runs);

 private:
  struct Progress {
    std::uint64_t begun, done;
  };
  struct Scene {
    const std::byte *frame, *contents;
    const region::Window* windows;
  };
  struct Script {
    codegen::RegionEntry entry;
    std::size_t runs, local_bytes;
  };

  Stage(const Room& room, Arena arena, os::CodeFile code, os::Mapping script, os::Mapping progress);
  static void prepare(void* stage);
  static void play(void* stage);
  void write(std::span<const Run> runs);
  Result<os::SandboxEnd> run_child();

  Room room_;
  Arena arena_;
  os::CodeFile code_;
  os::Mapping script_memory_, progress_memory_;
  std::span<std::byte> read_only_;
  Script* script_;
  Scene* scenes_;
  std::byte* details_;  ///< what scenes point to
  volatile Progress* progress_;
  std::optional<os::ForkServer> server_;
};

}  // namespace trident::trials
