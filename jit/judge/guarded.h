// Runs untried kernels on chosen data in a sandboxed child, between guard pages and canaries, and copies the results
// back. Equivalence checks get a candidate's outputs this way: the code never runs in this process.
//
//   | no access | slack, canary | array of N elements | no access |      each array ends where its mapping ends
//
// A call works on the elements [first, first + n) of the arrays, so a call that ends at N finds an inaccessible byte
// right behind its last element; one that starts at 0 of a `flush_start` run finds one right before its first. Inputs
// are read-only; around each call's outputs lie canaries that are checked after it.
//
// Contestants that are no kernels bring their own memory and check it themselves after each call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "jit/image/image.h"
#include "jit/judge/contestant.h"
#include "runtime/base/result.h"

namespace trident::judge {

/// The arrays of a kernel, by the bytes of an element. Whoever runs kernels sees values: elements of arrays that keep
/// others are narrowed before the calls, and widened after them.
struct Signature {
  struct Output {
    std::uint32_t bytes = 8;
    bool scalar = false;  ///< one element per call
    ir::Storage storage = ir::Storage::own;
  };
  std::vector<std::uint32_t> input_bytes;
  std::vector<Output> outputs;
  std::vector<bool> tables{};  ///< inputs that every call has from their start, and that no output replaces; none: {}
  std::vector<ir::Storage> storages{};  ///< of inputs; none: all keep values
  [[nodiscard]] ir::Storage storage(std::size_t input) const {
    return input < storages.size() ? storages[input] : ir::Storage::own;
  }
  /// Bytes of one value of an input.
  [[nodiscard]] std::uint32_t value_bytes(std::size_t input) const {
    const ir::Storage kept = storage(input);
    return ir::converts(kept) ? ir::bytes_of(ir::facts_of(kept).type) : input_bytes[input];
  }
  [[nodiscard]] bool is_table(std::size_t input) const { return input < tables.size() && tables[input]; }
};
Signature signature_of(const kir::Kernel& kernel);
/// Copies the values of an input to an array of its elements.
void fill_input(const Signature& signature, std::size_t input, std::span<const std::byte> values, std::byte* elements);

struct GuardedCall {
  std::uint64_t first = 0;   ///< index of the call's first element
  std::uint64_t n = 0;       ///< first + n <= elements
  std::uint32_t params = 0;  ///< row of GuardedRun::params
  bool in_place = false;     ///< outputs take the place of the inputs of the same element size, where there are any
};

struct GuardedRun {
  std::uint64_t elements = 0;                      ///< N
  std::vector<std::span<const std::byte>> inputs;  ///< N elements each
  std::vector<std::vector<std::uint64_t>> params;  ///< one row per setting of the scalar parameters; at least one row
  std::vector<GuardedCall> calls;
  bool flush_start = false;  ///< arrays start where their mapping starts, instead of ending at its end
  bool counts = false;       ///< each call has a counter of misses, as kernels of image version 3 take one
  std::uint64_t cpu_ns = 10'000'000'000;
};

struct GuardedEnd {
  os::SandboxEnd end;
  std::size_t calls = 0;        ///< that were asked for
  std::size_t calls_begun = 0;  ///< if equal to calls_done, none was under way at the end
  std::size_t calls_done = 0;   ///< the call with this index was under way when the child crashed or timed out
  bool wrote_outside = false;   ///< call `calls_done` changed memory that is not its own
  /// A child that finished early is not sound: the code under test ended its process.
  [[nodiscard]] bool sound() const {
    return end.kind == os::SandboxEnd::Kind::finished && !wrote_outside && calls_done == calls;
  }
};
/// "crashed (SIGSEGV)", "wrote outside its outputs", "ended its process": for messages.
std::string describe(const GuardedEnd& end);

struct GuardedResults : GuardedEnd {
  /// outputs[call][output]: n elements (one when scalar); only for finished runs.
  std::vector<std::vector<std::vector<std::byte>>> outputs;
  std::vector<std::uint64_t> misses;  ///< by call, if the run counts them
};

/// Calls every contestant once, in turn, in one child that cannot write to the `read_only` regions. A contestant's
/// reset runs before its call, and kept(context) after it, which returns whether the call kept to its own memory. The
/// first false ends the run. `kept` also copies results to shared memory. OsError as below.
Result<GuardedEnd> run_guarded(std::span<const Contestant> calls, bool (*kept)(void* context),
                               std::span<const std::span<std::byte>> read_only, std::uint64_t cpu_ns);

/// Runs a kernel. OsError when memory or the sandbox cannot be had; any behaviour of the kernel is a value.
Result<GuardedResults> run_guarded(const image::Mapped& kernel, const Signature& signature, const GuardedRun& run);

/// Makes several runs of a kernel in turn. Returns their results, up to the first that is not sound. The results are
/// those of single runs, but runs share a child where their memory allows it, because a child costs more than most
/// runs. Each run has its own guard pages, and its own limit of CPU time: one that was under way when a shared child's
/// time was up is made again in another child.
Result<std::vector<GuardedResults>> run_guarded(const image::Mapped& kernel, const Signature& signature,
                                                std::span<const GuardedRun> runs);

/// A kernel, and the runs to make of it in turn, by their numbers.
struct GuardedKernel {
  const image::Mapped* image = nullptr;
  std::vector<std::size_t> runs;
};
/// Makes runs of several kernels, and returns each kernel's results as above. Kernels share children and arrays, too:
/// before each call canaries lie in its outputs, so that nobody passes by the results of another. A kernel that ends a
/// child costs the others no more than another child.
Result<std::vector<std::vector<GuardedResults>>> run_guarded(std::span<const GuardedKernel> kernels,
                                                             const Signature& signature,
                                                             std::span<const GuardedRun> runs);

}  // namespace trident::judge
