#include "jit/judge/guarded.h"

#include <algorithm>
#include <cstring>

namespace trident::judge {
namespace {

constexpr std::byte kCanary{0xA5};
/// How much longer than its CPU time a child may take by the clock, on a machine that has others to run.
constexpr std::uint64_t kWallPerCpu = 20;
/// Canary bytes on each side of an output, clipped to its mapping: more than any vector or unrolled iteration stores.
constexpr std::size_t kCanaryBytes = 4096;

// One array in guarded memory: flush with the end or the start of its mapping.
struct Array {
  std::span<std::byte> mapping;
  std::byte* data = nullptr;
  std::size_t bytes = 0;  ///< of an element
};

// What the child needs, prepared beforehand because it may not allocate.
struct ChildCall {
  std::uint64_t n = 0;
  const std::uint64_t* params = nullptr;
  const void** in = nullptr;
  void** out = nullptr;
  std::byte** log = nullptr;         ///< where each output's bytes go
  const std::byte** copy = nullptr;  ///< per output: input bytes to put there first (in place), or null
  std::size_t* out_bytes = nullptr;
};
struct Progress {
  std::uint64_t calls_begun;
  std::uint64_t calls_done;
  std::uint64_t wrote_outside;
};
struct ChildContext {
  trident_entry entry = nullptr;
  const ChildCall* calls = nullptr;
  std::size_t call_count = 0;
  const Array* outputs = nullptr;
  std::size_t output_count = 0;
  volatile Progress* progress = nullptr;
};

struct Margins {
  std::byte *begin, *end;
};
Margins margins_of(const Array& array, std::byte* out, std::size_t bytes) {
  std::byte* const lo = array.mapping.data();
  std::byte* const hi = lo + array.mapping.size();
  return {static_cast<std::size_t>(out - lo) > kCanaryBytes ? out - kCanaryBytes : lo,
          static_cast<std::size_t>(hi - (out + bytes)) > kCanaryBytes ? out + bytes + kCanaryBytes : hi};
}

bool intact(const std::byte* begin, const std::byte* end) {
  return std::all_of(begin, end, [](std::byte b) { return b == kCanary; });
}

// Runs in the child: only loops, memory and the kernel.
void child_body(void* opaque) {
  const auto& context = *static_cast<const ChildContext*>(opaque);
  for (std::size_t c = 0; c < context.call_count; ++c) {
    const ChildCall& call = context.calls[c];
    for (std::size_t o = 0; o < context.output_count; ++o) {
      auto* out = static_cast<std::byte*>(call.out[o]);
      const Margins m = margins_of(context.outputs[o], out, call.out_bytes[o]);
      std::memset(m.begin, static_cast<int>(kCanary), static_cast<std::size_t>(m.end - m.begin));
      if (call.copy[o] != nullptr) std::memcpy(out, call.copy[o], call.out_bytes[o]);
    }
    context.progress->calls_begun = c + 1;
    context.entry(nullptr, call.n, call.in, call.out, call.params);
    for (std::size_t o = 0; o < context.output_count; ++o) {
      auto* out = static_cast<std::byte*>(call.out[o]);
      const Margins m = margins_of(context.outputs[o], out, call.out_bytes[o]);
      if (!intact(m.begin, out) || !intact(out + call.out_bytes[o], m.end)) {
        context.progress->wrote_outside = 1;
        return;
      }
      std::memcpy(call.log[o], out, call.out_bytes[o]);
    }
    context.progress->calls_done = c + 1;
  }
}

std::size_t output_bytes(const Signature::Output& output, std::uint64_t n) {
  return output.scalar ? output.bytes : static_cast<std::size_t>(n) * output.bytes;
}

// All the memory of one run; the spans and pointers of ChildCall point into it.
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
    std::size_t log_bytes = sizeof(Progress);
    for (const auto& call : run_.calls)
      for (const auto& output : signature_.outputs) log_bytes += output_bytes(output, call.n);
    TRY(log_, os::map_shared(log_bytes));
    lay_out_calls();
    return {};
  }

  Result<GuardedResults> run(trident_entry entry) {
    auto* progress = static_cast<Progress*>(log_.base());
    ChildContext context{entry, calls_.data(), calls_.size(), outputs_.data(), outputs_.size(), progress};
    const os::SandboxLimits limits{.cpu_ns = run_.cpu_ns,
                                   .wall_ns = run_.cpu_ns * kWallPerCpu,
                                   .cpu_seconds = static_cast<std::uint32_t>(run_.cpu_ns / 1'000'000'000u) + 2};
    TRY(const os::SandboxEnd end, os::run_sandboxed(limits, child_body, &context, read_only_));
    if (end.kind != os::SandboxEnd::Kind::finished && progress->calls_begun == 0)
      return make_error(ErrorCode::kOsError, "a child %s before it called the kernel", os::describe(end).c_str());
    GuardedResults results;
    results.end = end;
    results.calls_done = static_cast<std::size_t>(progress->calls_done);
    results.wrote_outside = progress->wrote_outside != 0;
    if (!results.sound()) return results;
    for (const ChildCall& call : calls_) {
      auto& outputs = results.outputs.emplace_back();
      for (std::size_t o = 0; o < outputs_.size(); ++o)
        outputs.emplace_back(call.log[o], call.log[o] + call.out_bytes[o]);
    }
    return results;
  }

 private:
  Result<Array> make_array(std::uint32_t bytes, std::uint64_t elements) {
    const std::size_t size = static_cast<std::size_t>(elements) * bytes;
    TRY(auto mapping, os::GuardedMapping::make(size));
    Array array{mapping.bytes(), mapping.bytes().data(), bytes};
    if (!run_.flush_start) array.data += array.mapping.size() - size;
    mappings_.push_back(std::move(mapping));
    return array;
  }

  // The input that output `o` replaces in an in-place call, or none: the k-th output of an element size takes the k-th
  // input of that size.
  // The input that output o takes the place of; as many as there are when none is left for it. `rotation` changes who
  // takes whose place: any output may be any input's array.
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
    out_log_.resize(out_.size());
    copy_.resize(out_.size());
    out_bytes_.resize(out_.size());
    auto* log = static_cast<std::byte*>(log_.base()) + sizeof(Progress);
    for (std::size_t c = 0; c < run_.calls.size(); ++c) {
      const GuardedCall& call = run_.calls[c];
      const auto first = static_cast<std::size_t>(call.first);
      ChildCall child{call.n,
                      run_.params[call.params].data(),
                      in_.data() + c * ins,
                      out_.data() + c * outs,
                      out_log_.data() + c * outs,
                      copy_.data() + c * outs,
                      out_bytes_.data() + c * outs};
      for (std::size_t i = 0; i < ins; ++i) {
        child.in[i] = inputs_[i].data + (signature_.is_table(i) ? 0 : first * inputs_[i].bytes);
      }
      for (std::size_t o = 0; o < outs; ++o) {
        const auto& output = signature_.outputs[o];
        std::byte* const place = outputs_[o].data + (output.scalar ? 0 : first * outputs_[o].bytes);
        child.out[o] = place;
        child.out_bytes[o] = output_bytes(output, call.n);
        child.log[o] = log;
        log += child.out_bytes[o];
        const std::size_t partner = call.in_place && !output.scalar ? partner_of(o, c / 2) : ins;
        if (partner == ins) continue;
        child.copy[o] = static_cast<const std::byte*>(child.in[partner]);
        child.in[partner] = place;
      }
      calls_.push_back(child);
    }
  }

  const Signature& signature_;
  const GuardedRun& run_;
  std::vector<os::GuardedMapping> mappings_;
  std::vector<std::span<std::byte>> read_only_;
  std::vector<Array> inputs_, outputs_;
  os::Mapping log_;
  std::vector<const void*> in_;
  std::vector<void*> out_;
  std::vector<std::byte*> out_log_;
  std::vector<const std::byte*> copy_;
  std::vector<std::size_t> out_bytes_;
  std::vector<ChildCall> calls_;
};

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

Result<GuardedResults> run_guarded(const image::Mapped& kernel, const Signature& signature, const GuardedRun& run) {
  CHECK(run.inputs.size() == signature.input_bytes.size());
  for (std::size_t i = 0; i < run.inputs.size(); ++i)
    CHECK(run.inputs[i].size() == run.elements * signature.input_bytes[i]);
  for (const auto& call : run.calls) {
    CHECK(call.first <= run.elements);
    CHECK(call.n <= run.elements - call.first);
    CHECK(call.params < run.params.size());
  }
  Arena arena(signature, run);
  TRY_VOID(arena.make());
  return arena.run(kernel.entry());
}

}  // namespace trident::judge
