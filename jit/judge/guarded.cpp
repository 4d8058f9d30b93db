#include "jit/judge/guarded.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>

namespace trident::judge {
namespace {

constexpr std::byte kCanary{0xA5};
/// Canary bytes on each side of an output, clipped to its mapping: more than any vector or unrolled iteration stores.
constexpr std::size_t kCanaryBytes = 4096;

/// Memory of turns that share a child.
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

// Returns the values of an output's elements.
std::vector<std::byte> values_of(ir::Storage storage, std::span<const std::byte> elements) {
  if (!ir::converts(storage)) return {elements.begin(), elements.end()};
  const std::size_t n = elements.size() / ir::facts_of(storage).bytes;
  std::vector<std::byte> values(n * ir::bytes_of(ir::facts_of(storage).type));
  ir::widen(storage, elements.data(), values.data(), n);
  return values;
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

std::size_t array_bytes(const Signature& signature, const GuardedRun& run) {
  std::size_t bytes = 0;
  for (const std::uint32_t each : signature.input_bytes) bytes += static_cast<std::size_t>(run.elements) * each;
  for (const auto& output : signature.outputs) bytes += output_bytes(output, run.elements);
  return bytes;
}

// The arrays of one run, for all kernels that make it: each call lays its canaries over what others have left.
class Arena {
 public:
  Arena(const Signature& signature, const GuardedRun& run) : signature_(signature), run_(run) {}

  Result<void> make() {
    for (std::size_t i = 0; i < run_.inputs.size(); ++i) {
      TRY(Array array, make_array(signature_.input_bytes[i], run_.elements));
      fill_input(signature_, i, run_.inputs[i], array.data);
      inputs_.push_back(array);
      read_only_.push_back(array.mapping);
    }
    for (const auto& output : signature_.outputs) {
      TRY(Array array, make_array(output.bytes, output.scalar ? 1 : run_.elements));
      outputs_.push_back(array);
    }
    return {};
  }

  [[nodiscard]] const Signature& signature() const { return signature_; }
  [[nodiscard]] const GuardedRun& run() const { return run_; }
  [[nodiscard]] std::span<const Array> inputs() const { return inputs_; }
  [[nodiscard]] std::span<const Array> outputs() const { return outputs_; }
  /// Lists the memory that the child may not write.
  [[nodiscard]] std::span<const std::span<std::byte>> read_only() const { return read_only_; }

 private:
  Result<Array> make_array(std::uint32_t bytes, std::uint64_t elements) {
    const std::size_t size = static_cast<std::size_t>(elements) * bytes;
    TRY(auto mapping, os::GuardedMapping::make(size));
    Array array{mapping.bytes(), mapping.bytes().data(), bytes};
    if (!run_.flush_start) array.data += array.mapping.size() - size;
    mappings_.push_back(std::move(mapping));
    return array;
  }

  const Signature& signature_;
  const GuardedRun& run_;
  std::vector<os::GuardedMapping> mappings_;
  std::vector<std::span<std::byte>> read_only_;
  std::vector<Array> inputs_, outputs_;
};

// The calls of one kernel on the arrays of a run, and the logs of their outputs.
class Calls {
 public:
  /// `log`: log_bytes() in shared memory. The arena outlives the calls.
  Calls(const Arena& arena, trident_entry entry, std::byte* log) : arena_(arena) { lay_out(entry, log); }

  [[nodiscard]] std::size_t count() const { return calls_.size(); }

  Result<void> count_misses() {
    TRY(counters_, os::map_shared(calls_.size() * sizeof(std::uint64_t)));
    for (std::size_t c = 0; c < calls_.size(); ++c)
      selves_.push_back({nullptr, static_cast<std::uint64_t*>(counters_.base()) + c});
    for (std::size_t c = 0; c < calls_.size(); ++c) calls_[c].kernel.self = &selves_[c];
    return {};
  }

  // Adds what the child calls.
  void enter(std::vector<Contestant>& contestants) {
    for (ArrayCall& call : calls_) contestants.push_back({call_on_arrays, &call, reset_arrays});
  }

  // Returns the outputs of all calls, which must be done.
  [[nodiscard]] std::vector<std::vector<std::vector<std::byte>>> outputs() const {
    std::vector<std::vector<std::vector<std::byte>>> all;
    all.reserve(calls_.size());
    for (const ArrayCall& call : calls_) {
      auto& outputs = all.emplace_back();
      outputs.reserve(call.outputs.size());
      for (std::size_t o = 0; o < call.outputs.size(); ++o)
        outputs.push_back(
            values_of(arena_.signature().outputs[o].storage, {call.outputs[o].log, call.outputs[o].bytes}));
    }
    return all;
  }

  [[nodiscard]] std::vector<std::uint64_t> misses() const {
    std::vector<std::uint64_t> counts;
    for (const CountingSelf& self : selves_) counts.push_back(*self.misses);
    return counts;
  }

 private:
  // Returns the input that output `o` replaces in an in-place call, or the number of
  // inputs if none is left: the k-th output of an element size takes the k-th input
  // of that size. `rotation` changes the pairs: any output may share any input's
  // array.
  [[nodiscard]] std::size_t partner_of(std::size_t o, std::size_t rotation) const {
    const Signature& signature = arena_.signature();
    std::size_t rank = 0;
    for (std::size_t i = 0; i < o; ++i)
      rank += !signature.outputs[i].scalar && signature.outputs[i].bytes == signature.outputs[o].bytes ? 1 : 0;
    std::vector<std::size_t> fitting;
    for (std::size_t i = 0; i < arena_.inputs().size(); ++i)
      if (signature.input_bytes[i] == signature.outputs[o].bytes && !signature.is_table(i)) fitting.push_back(i);
    return rank < fitting.size() ? fitting[(rank + rotation) % fitting.size()] : arena_.inputs().size();
  }

  void lay_out(trident_entry entry, std::byte* log) {
    const GuardedRun& run = arena_.run();
    const std::size_t ins = arena_.inputs().size();
    const std::size_t outs = arena_.outputs().size();
    in_.resize(run.calls.size() * ins);
    out_.resize(run.calls.size() * outs);
    places_.resize(out_.size());
    for (std::size_t c = 0; c < run.calls.size(); ++c) {
      const GuardedCall& call = run.calls[c];
      const void** const in = in_.data() + c * ins;
      place_inputs(call, in);
      for (std::size_t o = 0; o < outs; ++o) log = place_output(call, c, o, in, log);
      calls_.push_back({{entry, call.n, in, out_.data() + c * outs, run.params[call.params].data()},
                        std::span(places_).subspan(c * outs, outs)});
    }
  }

  void place_inputs(const GuardedCall& call, const void** in) const {
    for (std::size_t i = 0; i < arena_.inputs().size(); ++i) {
      const Array& input = arena_.inputs()[i];
      in[i] = input.data + (arena_.signature().is_table(i) ? 0 : static_cast<std::size_t>(call.first) * input.bytes);
    }
  }

  // Returns the end of the output's log.
  std::byte* place_output(const GuardedCall& call, std::size_t c, std::size_t o, const void** in, std::byte* log) {
    const auto& output = arena_.signature().outputs[o];
    const Array& array = arena_.outputs()[o];
    const std::size_t ins = arena_.inputs().size(), at = c * arena_.outputs().size() + o;
    OutputPlace& place = places_[at];
    place = {&array, array.data + (output.scalar ? 0 : static_cast<std::size_t>(call.first) * array.bytes),
             output_bytes(output, call.n), log};
    out_[at] = place.data;
    const std::size_t partner = call.in_place && !output.scalar ? partner_of(o, c / 2) : ins;
    if (partner != ins) {
      place.copy = static_cast<const std::byte*>(in[partner]);
      in[partner] = place.data;
    }
    return log + place.bytes;
  }

  const Arena& arena_;
  os::Mapping counters_;
  std::vector<CountingSelf> selves_;  ///< by call, or none
  std::vector<const void*> in_;
  std::vector<void*> out_;
  std::vector<OutputPlace> places_;
  std::vector<ArrayCall> calls_;
};

// One kernel's run, by their numbers.
struct Turn {
  std::size_t kernel = 0, run = 0;
};

// The end of the turn that has the child's calls from `first` on. A child that ended badly did so in its last turn, or
// in an earlier one with a call left to do or without a call behind it that began. (A child may write any progress.)
GuardedEnd end_of_turn(const GuardedEnd& child, std::size_t first, std::size_t calls) {
  const std::size_t after = first + calls;
  const bool later = after < child.calls && child.calls_done >= after && child.calls_begun > after;
  if (child.sound() || later) return {{}, calls, calls, calls, false};
  return {child.end, calls, child.calls_begun - first, child.calls_done - first, child.wrote_outside};
}

// Makes the runs of several kernels, many in one child.
class Turns {
 public:
  Turns(std::span<const GuardedKernel> kernels, const Signature& signature, std::span<const GuardedRun> runs)
      : kernels_(kernels), signature_(signature), runs_(runs), results_(kernels.size()) {
    for (std::size_t k = 0; k < kernels.size(); ++k)
      for (const std::size_t run : kernels[k].runs) waiting_.push_back({k, run});
  }

  Result<std::vector<std::vector<GuardedResults>>> take() {
    while (!waiting_.empty()) TRY_VOID(take_together(sharing()));
    return std::move(results_);
  }

 private:
  // Returns how many share the next child: all with one limit of time, and the first whatever its memory.
  [[nodiscard]] std::size_t sharing() const {
    std::vector<bool> made(runs_.size());
    const std::uint64_t cpu_ns = runs_[waiting_[0].run].cpu_ns;
    std::size_t count = 0;
    for (std::size_t bytes = 0; count < waiting_.size(); ++count) {
      const std::size_t r = waiting_[count].run;
      bytes += log_bytes(signature_, runs_[r]) + (made[r] ? 0 : array_bytes(signature_, runs_[r]));
      made[r] = true;
      if (runs_[r].cpu_ns != cpu_ns || (count > 0 && bytes > kSharedRunBytes)) break;
    }
    return count;
  }

  Result<void> take_together(std::size_t count) {
    const auto turns = std::span(waiting_).first(count);
    std::vector<std::unique_ptr<Arena>> arenas(runs_.size());
    std::vector<std::unique_ptr<Calls>> calls;
    std::vector<Contestant> contestants;
    std::vector<std::span<std::byte>> read_only;
    std::size_t bytes = 0;
    for (const Turn& turn : turns) bytes += log_bytes(signature_, runs_[turn.run]);
    TRY(const os::Mapping log, os::map_shared(bytes));
    auto* at = static_cast<std::byte*>(log.base());
    for (const Turn& turn : turns) {
      std::unique_ptr<Arena>& arena = arenas[turn.run];
      if (!arena) {
        arena = std::make_unique<Arena>(signature_, runs_[turn.run]);
        TRY_VOID(arena->make());
        read_only.insert(read_only.end(), arena->read_only().begin(), arena->read_only().end());
      }
      calls.push_back(std::make_unique<Calls>(*arena, kernels_[turn.kernel].image->entry(), at));
      if (runs_[turn.run].counts) TRY_VOID(calls.back()->count_misses());
      calls.back()->enter(contestants);
      at += log_bytes(signature_, runs_[turn.run]);
    }
    TRY(const GuardedEnd child, run_guarded(contestants, kept_to_arrays, read_only, runs_[turns[0].run].cpu_ns));
    end_turns(child, calls);
    return {};
  }

  // Adds the results of those that ended. A turn that was not the child's first may have had too little time: if it was
  // under way when the time was up, it is taken again. A kernel whose run is not sound makes no other.
  void end_turns(const GuardedEnd& child, std::span<const std::unique_ptr<Calls>> calls) {
    std::size_t first = 0, ended = 0;
    for (; ended < calls.size(); ++ended) {
      const Calls& made = *calls[ended];
      const GuardedEnd end = end_of_turn(child, first, made.count());
      if (end.end.kind == os::SandboxEnd::Kind::timed_out && ended > 0) break;
      auto& results = results_[waiting_[ended].kernel];
      if (!end.sound()) {
        results.push_back({end, {}, {}});
        drop_turns_after(ended++);
        break;
      }
      results.push_back({end, made.outputs(), made.misses()});
      first += made.count();
    }
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(ended));
  }

  void drop_turns_after(std::size_t turn) {
    const auto after = waiting_.begin() + static_cast<std::ptrdiff_t>(turn + 1);
    const std::size_t kernel = waiting_[turn].kernel;
    waiting_.erase(std::remove_if(after, waiting_.end(), [&](const Turn& t) { return t.kernel == kernel; }),
                   waiting_.end());
  }

  std::span<const GuardedKernel> kernels_;
  const Signature& signature_;
  std::span<const GuardedRun> runs_;
  std::vector<Turn> waiting_;
  std::vector<std::vector<GuardedResults>> results_;
};

void check_shape(const Signature& signature, const GuardedRun& run) {
  CHECK(run.inputs.size() == signature.input_bytes.size());
  for (std::size_t i = 0; i < run.inputs.size(); ++i)
    CHECK(run.inputs[i].size() == run.elements * signature.value_bytes(i));
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
    signature.input_bytes.push_back(kir::element_bytes(input));
    signature.storages.push_back(input.storage);
    signature.tables.push_back(input.is_table());
  }
  for (const auto& output : kernel.outputs)
    signature.outputs.push_back(
        {kir::element_bytes(kernel, output), output.kind == kir::OutputKind::scalar, output.storage});
  return signature;
}

void fill_input(const Signature& signature, std::size_t input, std::span<const std::byte> values, std::byte* elements) {
  if (values.empty()) return;
  if (const ir::Storage storage = signature.storage(input); ir::converts(storage))
    ir::narrow(storage, values.data(), elements, values.size() / signature.value_bytes(input));
  else
    std::memcpy(elements, values.data(), values.size());
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
  GuardedKernel one{&kernel, std::vector<std::size_t>(runs.size())};
  std::iota(one.runs.begin(), one.runs.end(), std::size_t{0});
  TRY(auto results, run_guarded(std::span(&one, 1), signature, runs));
  return std::move(results.front());
}

Result<std::vector<std::vector<GuardedResults>>> run_guarded(std::span<const GuardedKernel> kernels,
                                                             const Signature& signature,
                                                             std::span<const GuardedRun> runs) {
  for (const GuardedRun& run : runs) check_shape(signature, run);
  return Turns(kernels, signature, runs).take();
}

std::string describe(const GuardedEnd& end) {
  if (end.wrote_outside) return "wrote outside its outputs";
  return end.end.kind == os::SandboxEnd::Kind::finished ? "ended its process" : os::describe(end.end);
}

}  // namespace trident::judge
