// Draws states in which a region's code is tried.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "jit/region/interpreter.h"
#include "jit/trials/arena.h"
#include "jit/trials/trials.h"
#include "runtime/base/split_mix.h"

namespace trident::trials {

/// Says what memory holds. Searches and comparisons go on for long in memory that is the same everywhere. `own` is for
/// code that keeps its variables in memory and comes to all of it by one register: all windows lead to a mapping at
/// address 0, so that small numbers are addresses too.
/// `letters` and `rising` are for arrays of functions: texts with zero bytes now and then, and what is sorted.
enum class Contents : std::uint8_t { mixed, small, same, own, letters, rising, floats };

/// The region's addresses of the mappings, and their contents at the start of a run.
struct Layout {
  Contents kind = Contents::mixed;
  std::array<std::uint64_t, kMappings> address{};
  std::size_t count = 0;            ///< mappings that have an address
  std::vector<std::byte> contents;  ///< of the arena's memory
};

/// One run: where it starts, and where the interpreter got to.
struct Run {
  const Layout* layout = nullptr;
  std::vector<region::Window> windows;
  std::vector<std::byte> frame;
  std::size_t local_bytes = 0;  ///< of the arena's local arrays
  Digest expected;
  region::Exit exit = region::Exit::left;
  bool took_way_back = false;
};

/// The bytes of local arrays in the arena, each behind a gap.
std::size_t local_bytes(const Subject& subject);

/// Puts frame and memory of the run's start into the arena. Allocates nothing.
void set_up(const Run& run, const Arena& arena);
/// Runs the interpreter in the arena, which is set up. Homes of scratch variables are afterwards as they were: no code
/// keeps them.
region::Outcome interpret(const Subject& subject, const Run& run, const Arena& arena, std::uint64_t steps,
                          std::span<std::uint8_t> reached = {});

/// Fills local arrays, which code clears itself, with bytes that are not zero. Allocates nothing.
void soil(std::span<std::byte> locals);
/// Draws a number: most are small, so that counted loops end; others are what arithmetic goes wrong at.
std::uint64_t drawn_number(SplitMix64& random);

/// The most runs that draw_runs() may draw.
std::size_t runs_max(const Options& options);
/// Draws the runs of `subject`. The layouts live as long as the result.
struct Draw {
  std::vector<Layout> layouts;
  std::vector<Run> runs;
  Coverage coverage;
};
Draw draw_runs(const Subject& subject, const Options& options, const Arena& arena);

}  // namespace trident::trials
