#include "jit/judge/guarded.h"

#include <algorithm>
#include <cstring>

namespace trident::judge {
namespace {

constexpr std::byte kCanary{0xA5};
/// Canary bytes on each side of an output, clipped to its mapping: more than any vector or unrolled iteration stores.
constexpr std::size_t kCanaryBytes = 4096;

/// Memory of runs that share a child.
constexpr std::size_t kSharedRunBytes = std::size_t{32} << 20;

// One array in guarded memory: flush with the end or the start of its mapping.
struct Array {
  std::span<std::byte> mapping;
  std::byte* data = nullptr;
  std::size_t bytes = 0;  ///< of an element
};

// Data for a child, prepared beforehand because it may not allocate.
struct GuardedContext {
  std::span<const Contestant> calls;
  bool (*kept)(void* context) = nullptr;
  struct Progress {
    std::uint64_t calls_begun, calls_done, wrote_outside;
  };
  volatile Progress* progress = nullptr;  // in shared memory
};

// Runs in the child: only loops, memory and the contestants.
void guarded_body(void* opaque) {
  const auto& context = *static_cast<const GuardedContext*>(opaque);
  for (std::size_t c = 0; c < context.calls.size(); ++c) {
    const Contestant& call = context.calls[c];
    if (call.reset != nullptr) call.reset(call.context);
    context.progress->calls_begun = c + 1;
    call.fn(call.context);
    if (!context.kept(call.context)) {
      context.progress->wrote_outside = 1;
      return;
    }
    context.progress->calls_done = c + 1;
  }
}

// A kernel's call and the places of its outputs.
struct OutputPlace {
  const Array* array = nullptr;
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  std::byte* log = nullptr;         ///< where the bytes go after the call
  const std::byte* copy = nullptr;  ///< input bytes to put there first (in place), or null
};
struct ArrayCall {
  KernelCall kernel;
  std::span<const OutputPlace> outputs;
};

struct Margins {
  std::byte *begin, *end;
};
Margins margins_of(const OutputPlace& out) {
  std::byte* const lo = out.array->mapping.data();
  std::byte* const hi = lo + out.array->mapping.size();
  std::byte* const end = out.data + out.bytes;
  return {static_cast<std::size_t>(out.data - lo) > kCanaryBytes ? out.data - kCanaryBytes : lo,
          static_cast<std::size_t>(hi - end) > kCanaryBytes ? end + kCanaryBytes : hi};
}

bool intact(const std::byte* begin, const std::byte* end) {
  return std::all_of(begin, end, [](std::byte b) { return b == kCanary; });
}

// Lays canaries around the outputs and copies the inputs there that they replace.
void reset_arrays(void* opaque) {
  for (const OutputPlace& out : static_cast<const ArrayCall*>(opaque)->outputs) {
    const Margins m = margins_of(out);
    std::memset(m.begin, static_cast<int>(kCanary), static_cast<std::size_t>(m.end - m.begin));
    if (out.copy != nullptr) std::memcpy(out.data, out.copy, out.bytes);
  }
}

void call_on_arrays(void* opaque) {
  call_kernel(&static_cast<ArrayCall*>(opaque)->kernel);
}

// Checks the canaries and copies the outputs to their log.
bool kept_to_arrays(void* opaque) {
  for (const OutputPlace& out : static_cast<const ArrayCall*>(opaque)->outputs) {
    const Margins m = margins_of(out);
    if (!intact(m.begin, out.data) || !intact(out.data + out.bytes, m.end)) return false;
    std::memcpy(out.log, out.data, out.bytes);
  }
  return true;
}

std::size_t output_bytes(const Signature::Output& output, std::uint64_t n) {
  return output.scalar ? output.bytes : static_cast<std::size_t>(n) * output.bytes;
}

std::size_t log_bytes(const Signature& signature, const GuardedRun& run) {
  std::size_t bytes = 0;
  for (const auto& call : run.calls)
    for (const auto& output : signature.outputs) bytes += output_bytes(output, call.n);
  return bytes;
}

std::size_t memory_of(const Signature& signature, const GuardedRun& run) {
  std::size_t bytes = log_bytes(signature, run);
  for (const std::uint32_t each : signature.input_bytes) bytes += static_cast<std::size_t>(run.elements) * each;
  for (const auto& output : signature.outputs) bytes += output_bytes(output, run.elements);
  return bytes;
}

// All the memory of one run; the spans and pointers of its calls point into it.
class Arena {
 public:
  Arena(const Signature& signature, const GuardedRun& run) : signature_(signature), run_(run) {}

  Result<void> make() {
    for (std::size_t i = 0; i < run_.inputs.size(); ++i) {
      TRY(Array array, make_array(signature_.input_bytes[i], run_.elements));
      if (!run_.inputs[i].empty()) std::memcpy(array.data, run_.inputs[i].data(), run_.inputs[i].size());
      inputs_.push_back(array);
      read_only_.push_back(array.mapping);
    }
    for (const auto& output : signature_.outputs) {
      TRY(Array array, make_array(output.bytes, output.scalar ? 1 : run_.elements));
      outputs_.push_back(array);
    }
    TRY(log_, os::map_shared(log_bytes(signature_, run_)));
    lay_out_calls();
    if (run_.counts) TRY_VOID(lay_out_counters());
    return {};
  }

  [[nodiscard]] std::size_t calls() const { return calls_.size(); }

  // Adds what the child calls and what it may not write.
  void enter(trident_entry entry, std::vector<Contestant>& contestants, std::vector<std::span<std::byte>>& read_only) {
    for (ArrayCall& call : calls_) {
      call.kernel.entry = entry;
      contestants.push_back({call_on_arrays, &call, reset_arrays});
    }
    read_only.insert(read_only.end(), read_only_.begin(), read_only_.end());
  }

  // Returns the outputs of all calls, which must be done.
  [[nodiscard]] std::vector<std::vector<std::vector<std::byte>>> outputs() const {
    std::vector<std::vector<std::vector<std::byte>>> all;
    for (const ArrayCall& call : calls_) {
      auto& outputs = all.emplace_back();
      for (const OutputPlace& out : call.outputs) outputs.emplace_back(out.log, out.log + out.bytes);
    }
    return all;
  }

  [[nodiscard]] std::vector<std::uint64_t> misses() const {
    std::vector<std::uint64_t> counts;
    for (const CountingSelf& self : selves_) counts.push_back(*self.misses);
    return counts;
  }

 private:
  Result<void> lay_out_counters() {
    TRY(counters_, os::map_shared(calls_.size() * sizeof(std::uint64_t)));
    for (std::size_t c = 0; c < calls_.size(); ++c)
      selves_.push_back({nullptr, static_cast<std::uint64_t*>(counters_.base()) + c});
    for (std::size_t c = 0; c < calls_.size(); ++c) calls_[c].kernel.self = &selves_[c];
    return {};
  }

  Result<Array> make_array(std::uint32_t bytes, std::uint64_t elements) {
    const std::size_t size = static_cast<std::size_t>(elements) * bytes;
    TRY(auto mapping, os::GuardedMapping::make(size));
    Array array{mapping.bytes(), mapping.bytes().data(), bytes};
    if (!run_.flush_start) array.data += array.mapping.size() - size;
    mappings_.push_back(std::move(mapping));
    return array;
  }

  // Returns the input that output `o` replaces in an in-place call, or the number of
  // inputs if none is left: the k-th output of an element size takes the k-th input
  // of that size. `rotation` changes the pairs: any output may share any input's
  // array.
  std::size_t partner_of(std::size_t o, std::size_t rotation) const {
    std::size_t rank = 0;
    for (std::size_t i = 0; i < o; ++i)
      rank += !signature_.outputs[i].scalar && signature_.outputs[i].bytes == signature_.outputs[o].bytes ? 1 : 0;
    std::vector<std::size_t> fitting;
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      if (signature_.input_bytes[i] == signature_.outputs[o].bytes && !signature_.is_table(i)) fitting.push_back(i);
    return rank < fitting.size() ? fitting[(rank + rotation) % fitting.size()] : inputs_.size();
  }

  void lay_out_calls() {
    const std::size_t ins = inputs_.size();
    const std::size_t outs = outputs_.size();
    in_.resize(run_.calls.size() * ins);
    out_.resize(run_.calls.size() * outs);
    places_.resize(out_.size());
    auto* log = static_cast<std::byte*>(log_.base());
    for (std::size_t c = 0; c < run_.calls.size(); ++c) {
      const GuardedCall& call = run_.calls[c];
      const auto first = static_cast<std::size_t>(call.first);
      const void** const in = in_.data() + c * ins;
      for (std::size_t i = 0; i < ins; ++i)
        in[i] = inputs_[i].data + (signature_.is_table(i) ? 0 : first * inputs_[i].bytes);
      for (std::size_t o = 0; o < outs; ++o) {
        const auto& output = signature_.outputs[o];
        OutputPlace& place = places_[c * outs + o];
        place = {&outputs_[o], outputs_[o].data + (output.scalar ? 0 : first * outputs_[o].bytes),
                 output_bytes(output, call.n), log};
        out_[c * outs + o] = place.data;
        log += place.bytes;
        const std::size_t partner = call.in_place && !output.scalar ? partner_of(o, c / 2) : ins;
        if (partner == ins) continue;
        place.copy = static_cast<const std::byte*>(in[partner]);
        in[partner] = place.data;
      }
      calls_.push_back({{nullptr, call.n, in, out_.data() + c * outs, run_.params[call.params].data()},
                        std::span(places_).subspan(c * outs, outs)});
    }
  }

  const Signature& signature_;
  const GuardedRun& run_;
  std::vector<os::GuardedMapping> mappings_;
  std::vector<std::span<std::byte>> read_only_;
  std::vector<Array> inputs_, outputs_;
  os::Mapping log_, counters_;
  std::vector<CountingSelf> selves_;  ///< by call, or none
  std::vector<const void*> in_;
  std::vector<void*> out_;
  std::vector<OutputPlace> places_;
  std::vector<ArrayCall> calls_;
};

// Returns how many of `runs` share the next child: all with one limit of time, and the first whatever its memory.
std::size_t sharing(const Signature& signature, std::span<const GuardedRun> runs) {
  std::size_t count = 0;
  for (std::size_t bytes = 0; count < runs.size() && runs[count].cpu_ns == runs[0].cpu_ns; ++count) {
    bytes += memory_of(signature, runs[count]);
    if (count > 0 && bytes > kSharedRunBytes) break;
  }
  return count;
}

// The end of the run that has the child's calls from `first` on. A child that ended badly did so in its last run, or in
// an earlier one with a call left to do or without a call behind it that began. (A child may write any progress.)
GuardedEnd end_of_run(const GuardedEnd& child, std::size_t first, std::size_t calls) {
  const std::size_t after = first + calls;
  const bool later = after < child.calls && child.calls_done >= after && child.calls_begun > after;
  if (child.sound() || later) return {{}, calls, calls, calls, false};
  return {child.end, calls, child.calls_begun - first, child.calls_done - first, child.wrote_outside};
}

// Makes `runs` in one child and adds the results of those that ended. A run that was not the child's first may have
// had too little time: if it was under way when the time was up, it adds nothing.
Result<void> run_together(trident_entry entry, const Signature& signature, std::span<const GuardedRun> runs,
                          std::vector<GuardedResults>& results) {
  std::vector<Arena> arenas;
  std::vector<Contestant> contestants;
  std::vector<std::span<std::byte>> read_only;
  for (const GuardedRun& run : runs) {
    TRY_VOID(arenas.emplace_back(signature, run).make());
    arenas.back().enter(entry, contestants, read_only);
  }
  TRY(const GuardedEnd child, run_guarded(contestants, kept_to_arrays, read_only, runs[0].cpu_ns));
  std::size_t first = 0;
  for (const Arena& arena : arenas) {
    const GuardedEnd end = end_of_run(child, first, arena.calls());
    if (end.end.kind == os::SandboxEnd::Kind::timed_out && &arena != &arenas.front()) return {};
    if (!end.sound()) {
      results.push_back({end, {}, {}});
      return {};
    }
    results.push_back({end, arena.outputs(), arena.misses()});
    first += arena.calls();
  }
  return {};
}

void check_shape(const Signature& signature, const GuardedRun& run) {
  CHECK(run.inputs.size() == signature.input_bytes.size());
  for (std::size_t i = 0; i < run.inputs.size(); ++i)
    CHECK(run.inputs[i].size() == run.elements * signature.input_bytes[i]);
  for (const auto& call : run.calls) {
    CHECK(call.first <= run.elements);
    CHECK(call.n <= run.elements - call.first);
    CHECK(call.params < run.params.size());
  }
}

}  // namespace

Signature signature_of(const kir::Kernel& kernel) {
  Signature signature;
  for (const auto& input : kernel.inputs) {
    signature.input_bytes.push_back(ir::bytes_of(input.type));
    signature.tables.push_back(input.is_table());
  }
  for (const auto& output : kernel.outputs)
    signature.outputs.push_back({ir::bytes_of(kernel.type_of(output.value)), output.kind == kir::OutputKind::scalar});
  return signature;
}

Result<GuardedEnd> run_guarded(std::span<const Contestant> calls, bool (*kept)(void* context),
                               std::span<const std::span<std::byte>> read_only, std::uint64_t cpu_ns) {
  using Progress = GuardedContext::Progress;
  TRY(const os::Mapping shared, os::map_shared(sizeof(Progress)));
  const auto* progress = static_cast<const Progress*>(shared.base());
  GuardedContext context{calls, kept, static_cast<Progress*>(shared.base())};
  TRY(const os::SandboxEnd end, run_in_child(read_only, cpu_ns, guarded_body, &context));
  if (end.kind != os::SandboxEnd::Kind::finished && progress->calls_begun == 0)
    return make_error(ErrorCode::kOsError, "a child %s before it called the code under test",
                      os::describe(end).c_str());
  return GuardedEnd{end, calls.size(), static_cast<std::size_t>(progress->calls_begun),
                    static_cast<std::size_t>(progress->calls_done), progress->wrote_outside != 0};
}

Result<GuardedResults> run_guarded(const image::Mapped& kernel, const Signature& signature, const GuardedRun& run) {
  TRY(std::vector<GuardedResults> results, run_guarded(kernel, signature, std::span(&run, 1)));
  return std::move(results.front());
}

Result<std::vector<GuardedResults>> run_guarded(const image::Mapped& kernel, const Signature& signature,
                                                std::span<const GuardedRun> runs) {
  for (const GuardedRun& run : runs) check_shape(signature, run);
  std::vector<GuardedResults> results;
  while (results.size() < runs.size() && (results.empty() || results.back().sound())) {
    const auto left = runs.subspan(results.size());
    TRY_VOID(run_together(kernel.entry(), signature, left.first(sharing(signature, left)), results));
  }
  return results;
}

std::string describe(const GuardedEnd& end) {
  if (end.wrote_outside) return "wrote outside its outputs";
  return end.end.kind == os::SandboxEnd::Kind::finished ? "ended its process" : os::describe(end.end);
}

}  // namespace trident::judge
