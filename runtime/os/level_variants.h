// The variants of a source file that is compiled per level (cmake/levels.cmake), and the choice among them at run time.
// Sources compiled for a level never include this header: see simd_level.h.
#pragma once

#include <cstddef>

#include "runtime/os/simd_level.h"

namespace trident::os {

/// One variant: its level and the table of functions (or the function) that it exports.
template <class Table>
struct LevelVariant {
  SimdLevel level;
  const Table* table;
};

/// Returns the variant of exactly this level; null where the build or the processor lacks it.
template <class Table, std::size_t count>
const Table* variant_at(const LevelVariant<Table> (&variants)[count], SimdLevel level) {
  for (const LevelVariant<Table>& variant : variants)
    if (variant.level == level && runs_here(level)) return variant.table;
  return nullptr;
}

/// Returns the last variant that runs here. Variants are ordered by rising level; the first runs everywhere.
template <class Table, std::size_t count>
const LevelVariant<Table>& best_variant(const LevelVariant<Table> (&variants)[count]) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < count; ++i)
    if (runs_here(variants[i].level)) best = i;
  return variants[best];
}

}  // namespace trident::os
