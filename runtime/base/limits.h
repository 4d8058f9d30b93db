// Every bound of Trident in one place, each with its sentence. Exceeding one is an Error (LimitExceeded or a
// Rejected* code), never undefined behaviour.
#pragma once

#include <cstddef>
#include <cstdint>

namespace trident::limits {

/// Nodes in one expression as submitted (after parsing, before lowering).
inline constexpr std::uint32_t kExprNodesMax = 4096;
/// Array inputs plus scalar parameters of one kernel, and outputs of one kernel.
inline constexpr std::uint32_t kInputsMax = 64;
inline constexpr std::uint32_t kOutputsMax = 64;
/// Bytes of one expression text in any syntax.
inline constexpr std::size_t kTextBytesMax = 1u << 20;
/// Nesting of brackets that a parser follows (parsers are recursive; this bounds their stack).
inline constexpr std::uint32_t kNestingMax = 512;
/// Bytes of one identifier.
inline constexpr std::size_t kNameBytesMax = 128;
/// Instructions in one kir kernel (math functions expand by up to ~100 each).
inline constexpr std::uint32_t kKirInstsMax = 1u << 18;
/// Constant tables of one kir kernel.
inline constexpr std::uint32_t kKirTablesMax = 1024;
/// Instructions, blocks, variables and windows of one region, and bytes of its frame.
inline constexpr std::uint32_t kRegionInstsMax = 1u << 16;
inline constexpr std::uint32_t kRegionBlocksMax = 1u << 14;
inline constexpr std::uint32_t kRegionVariablesMax = 256;
inline constexpr std::uint32_t kRegionWindowsMax = 16;
inline constexpr std::uint32_t kRegionFrameBytesMax = 4096;
/// Bytes of one Access.
inline constexpr std::uint32_t kRegionAccessBytesMax = 4096;
/// Bytes of machine code plus constants in one image.
inline constexpr std::size_t kImageBytesMax = 1u << 20;
/// Stack that one kernel may take: clients' threads may have small stacks.
inline constexpr std::uint32_t kKernelFrameBytesMax = 128u << 10;
/// The smallest page that may guard a stack: larger frames touch every one of them.
inline constexpr std::uint32_t kStackPageBytes = 4096;
/// Limits of one request to build a program: milliseconds of search, and whole programs that are run.
inline constexpr std::uint32_t kBuildMillisecondsMax = 600'000;
inline constexpr std::uint32_t kBuildProgramsMax = 100'000;
/// Bytes of one wire frame.
inline constexpr std::size_t kFrameBytesMax = 1u << 20;
/// Bytes of the rewrite rules of a user, and of one file of them.
inline constexpr std::size_t kRulesTextBytesMax = 4u << 20;
/// Length of one call in elements: byte offsets of 8-byte elements stay far below 2^63.
inline constexpr std::uint64_t kCallElementsMax = std::uint64_t{1} << 48;

/// Bytes of one program text for Triton VM.
inline constexpr std::size_t kTasmTextBytesMax = 16u << 20;
/// Default limits of one run of Triton VM: cycles, elements on its stack, nested calls, words of RAM, entries of its
/// u32 table, words of output. A run at these limits takes some seconds and less than a GiB.
inline constexpr std::uint64_t kVmCycles = std::uint64_t{1} << 28;
inline constexpr std::size_t kVmStackElements = 1u << 24;
inline constexpr std::size_t kVmJumps = 1u << 24;
inline constexpr std::size_t kVmRamWords = 1u << 22;
inline constexpr std::size_t kVmU32Entries = 1u << 22;
inline constexpr std::size_t kVmOutputWords = 1u << 22;

}  // namespace trident::limits
