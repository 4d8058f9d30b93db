// Draws states in which a region's code is tried.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "jit/region/interpreter.h"
#include "jit/trials/trials.h"
#include "runtime/base/split_mix.h"
#include "runtime/os/memfd.h"

namespace trident::trials {

inline constexpr std::size_t kMappings = 5;
/// Few, because every run begins with a copy.
inline constexpr std::uint64_t kMappingBytes = 1024;

inline constexpr std::byte kCanary{0xA5};

/// The host's memory of all runs: mappings between canaries and a page that nobody may touch, shared with children.
///
///   | no access | canaries .. | mapping | no access |
class Arena {
 public:
  static Result<Arena> make();
  /// Returns whether all canaries are as they were made.
  [[nodiscard]] bool is_intact() const;
  [[nodiscard]] std::span<std::byte> mapping(std::size_t number) const;
  /// Copies to and from the mappings, one behind the other.
  void load(std::span<const std::byte> contents) const;
  [[nodiscard]] std::vector<std::byte> contents() const;

 private:
  std::vector<os::GuardedMapping> mappings_;
};

/// Says what memory holds. Searches and comparisons go on for long in memory that is the same everywhere. `own` is
/// numbers, and addresses in the first mapping, to which all windows lead then: for code that keeps its variables in
/// memory, and comes to all of it by one register.
enum class Contents : std::uint8_t { mixed, small, same, own };

/// The region's addresses of the mappings, and their contents at the start of a run.
struct Layout {
  Contents kind = Contents::mixed;
  std::array<std::uint64_t, kMappings> address{};
  std::size_t count = 0;  ///< mappings that have an address
  std::vector<std::byte> contents;
};

/// One run: where it starts, and where the interpreter got to.
struct Run {
  const Layout* layout = nullptr;
  std::vector<region::Window> windows;
  std::vector<std::byte> frame, expected_frame;
  std::uint64_t expected_digest[2] = {};
  region::Exit exit = region::Exit::left;
  bool took_way_back = false;
};

/// Returns the digest of the mappings, low half first. For the child too: it allocates nothing.
void digest_of(const Arena& arena, std::uint64_t (&digest)[2]);

/// Draws the runs of `subject`. The layouts live as long as the result.
struct Draw {
  std::vector<Layout> layouts;
  std::vector<Run> runs;
  Coverage coverage;
};
Draw draw_runs(const Subject& subject, const Options& options, const Arena& arena);

}  // namespace trident::trials
