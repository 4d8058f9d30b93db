#include "tests/support/native_kernel.h"

#include <cstring>

#include "jit/kir/interpreter.h"
#include "runtime/os/cpu.h"
#include "runtime/os/memfd.h"

namespace trident::testing {

using ir::Type;

namespace {

constexpr std::byte kUntouched{0xA5};

/// One array between guard pages.
class GuardedArray {
 public:
  GuardedArray(std::size_t size, std::size_t away, bool at_front)
      : mapping_(std::move(os::GuardedMapping::make(size + away + 64)).value()), size_(size) {
    std::fill(all().begin(), all().end(), kUntouched);
    offset_ = at_front ? away : all().size() - size - away;
  }
  [[nodiscard]] std::byte* data() { return all().data() + offset_; }
  /// Nothing but the array has been written.
  [[nodiscard]] bool surroundings_untouched() {
    for (std::size_t i = 0; i < all().size(); ++i)
      if ((i < offset_ || i >= offset_ + size_) && all()[i] != kUntouched) return false;
    return true;
  }

 private:
  std::span<std::byte> all() { return mapping_.bytes(); }
  os::GuardedMapping mapping_;
  std::size_t size_ = 0, offset_ = 0;
};

/// Says what is wrong with the number of done elements, when those of the last array of `mask` are not 0 where the
/// kernel must stop.
std::string fault_of_exit(std::uint64_t done, std::uint64_t n, std::span<const std::byte> mask) {
  const std::size_t bytes = n == 0 ? 4 : mask.size() / n;
  std::uint64_t first = 0;
  while (first < n && mask[first * bytes] == std::byte{0}) ++first;
  const bool good = first == n ? done == n : done <= first && first - done < kir::kExitSpan;
  if (good) return {};
  return "the first set lane of the exit is " + std::to_string(first) + " of " + std::to_string(n) + ", but " +
         std::to_string(done) + " elements are done\n";
}

std::string describe(const kir::Kernel& kernel, std::size_t output, std::uint64_t i, std::uint64_t expected,
                     std::uint64_t actual, std::uint64_t n) {
  char text[200];
  std::snprintf(text, sizeof text, "output %zu (%s), element %llu of %llu: interpreter %016llx, native %016llx\n",
                output, kernel.outputs[output].name.c_str(), static_cast<unsigned long long>(i),
                static_cast<unsigned long long>(n), static_cast<unsigned long long>(expected),
                static_cast<unsigned long long>(actual));
  return text;
}

/// Any NaN equals any NaN.
bool same_element(ir::Storage storage, std::uint64_t a, std::uint64_t b) {
  const auto is_nan = [](std::uint64_t half) { return (half & 0x7FFFu) > 0x7C00u; };
  return a == b || (storage == ir::Storage::f16 && is_nan(a) && is_nan(b));
}

}  // namespace

std::vector<codegen::Isa> runnable_isas() {
  std::vector<codegen::Isa> isas;
  if (os::cpu_features().avx2_fma) isas.push_back(codegen::Isa::avx2);
  if (os::cpu_features().avx512) isas.push_back(codegen::Isa::avx512);
  return isas;
}

Result<image::Mapped> map_native(const kir::Kernel& kernel, codegen::Isa isa, const codegen::Variant& variant) {
  TRY(const codegen::MachineCode code, codegen::emit(kernel, isa, variant));
  const image::ImageBytes bytes = image::build(code, image::counts_of(kernel), isa, TRIDENT_TIER_OPTIMISED, {});
  TRY(const os::Fd fd, image::seal(bytes));
  return image::Mapped::map(fd);
}

Arguments random_arguments(const kir::Kernel& kernel, std::uint64_t n, Random& random) {
  Arguments arguments;
  constexpr std::uint64_t kLengths[] = {0, 1, 2, 7, 16, 33, 64, 127};
  for (const kir::Input& input : kernel.inputs) {
    const std::uint64_t length = kLengths[random.below(std::size(kLengths))];
    auto& lanes = arguments.inputs.emplace_back(input.is_table() ? length : n);
    for (std::uint64_t& lane : lanes) lane = random_lane(random, input.type);
  }
  for (const kir::Input& param : kernel.params) arguments.params.push_back(random_lane(random, param.type));
  for (std::size_t i = 0; i < kernel.inputs.size(); ++i) {
    if (!kernel.inputs[i].is_table()) continue;
    const std::uint64_t length = arguments.inputs[i].size();
    arguments.params[*kernel.inputs[i].length] = length == 0 && random.one_in(2) ? ~std::uint64_t{0} << 63 : length;
  }
  return arguments;
}

std::string compare_with_interpreter(const kir::Kernel& kernel, const image::Mapped& native,
                                     const Arrangement& arrangement) {
  Random random(arrangement.seed);
  const Arguments arguments = random_arguments(kernel, arrangement.n, random);
  return compare_on(kernel, native, arguments.inputs, arguments.params, arrangement);
}

std::string compare_on(const kir::Kernel& kernel, const image::Mapped& native,
                       const std::vector<std::vector<std::uint64_t>>& inputs, const std::vector<std::uint64_t>& params,
                       const Arrangement& arrangement) {
  const auto run = [&](std::uint64_t n, const void* const* in, void* const* out, const std::uint64_t* scalars) {
    if (kernel.exit.valid()) {
      void* const entry = reinterpret_cast<void*>(native.entry());
      return reinterpret_cast<codegen::ExitEntry>(entry)(nullptr, n, in, out, scalars);
    }
    native.entry()(nullptr, n, in, out, scalars);
    return n;
  };
  return compare_on(kernel, run, inputs, params, arrangement);
}

std::string compare_on(const kir::Kernel& kernel, const Run& run, const std::vector<std::vector<std::uint64_t>>& inputs,
                       const std::vector<std::uint64_t>& params, const Arrangement& arrangement) {
  const std::uint64_t n = arrangement.n;
  const bool exits = kernel.exit.valid();
  const kir::Kernel oracle = exits ? without_exit(kernel) : kernel;
  std::vector<GuardedArray> arrays;
  std::vector<std::vector<std::byte>> plain_in, expected, before;
  std::vector<const void*> in, interpreter_in;
  std::vector<void*> out, interpreter_out;
  const auto make_array = [&](std::size_t bytes, std::uint64_t count) -> GuardedArray& {
    return arrays.emplace_back(count * bytes, arrangement.misalign * bytes, arrangement.at_front);
  };
  for (std::size_t i = 0; i < kernel.inputs.size(); ++i) {
    const std::size_t bytes = kir::element_bytes(kernel.inputs[i]);
    const std::uint64_t count = kernel.inputs[i].is_table() ? inputs[i].size() : n;
    auto& plain = plain_in.emplace_back(count * bytes);
    for (std::uint64_t e = 0; e < count; ++e) std::memcpy(&plain[e * bytes], &inputs[i][e], bytes);
    GuardedArray& array = make_array(bytes, count);
    if (count != 0) std::memcpy(array.data(), plain.data(), plain.size());
    in.push_back(array.data());
    interpreter_in.push_back(plain.data());
  }
  std::vector<bool> taken(kernel.inputs.size());
  for (const kir::Output& output : kernel.outputs) {
    const std::size_t bytes = kir::element_bytes(kernel, output);
    const bool array = output.kind == kir::OutputKind::array;
    void* place = nullptr;
    const std::size_t inputs = kernel.inputs.size();
    for (std::size_t j = 0; j < inputs && arrangement.in_place && array && place == nullptr; ++j) {
      const std::size_t i = (j + arrangement.seed) % inputs;  // any output may be any input's array
      if (kernel.inputs[i].type != kernel.type_of(output.value) || kir::element_bytes(kernel.inputs[i]) != bytes)
        continue;
      if (kernel.inputs[i].is_table() || taken[i]) continue;
      taken[i] = true;
      place = const_cast<void*>(in[i]);
    }
    out.push_back(place != nullptr ? place : make_array(bytes, array ? n : 1).data());
    const std::size_t size = (array ? n : 1) * bytes;
    const auto* found = static_cast<const std::byte*>(out.back());
    before.emplace_back(found, found + size);
  }
  for (const kir::Output& output : oracle.outputs) {
    const std::uint64_t count = output.kind == kir::OutputKind::array ? n : 1;
    interpreter_out.push_back(expected.emplace_back(count * kir::element_bytes(oracle, output)).data());
  }
  kir::interpret(oracle, n, interpreter_in.data(), interpreter_out.data(), params.data());
  const std::uint64_t done = run(n, in.data(), out.data(), params.data());
  if (exits)
    if (std::string fault = fault_of_exit(done, n, expected.back()); !fault.empty()) return fault;
  for (std::size_t o = 0; o < kernel.outputs.size(); ++o) {
    const Type type = kernel.type_of(kernel.outputs[o].value);
    const ir::Storage storage = kernel.outputs[o].storage;
    const std::size_t bytes = kir::element_bytes(kernel, kernel.outputs[o]);
    for (std::uint64_t e = 0; e < expected[o].size() / bytes; ++e) {
      std::uint64_t want = 0, have = 0;
      std::memcpy(&want, e < done || !exits ? &expected[o][e * bytes] : &before[o][e * bytes], bytes);
      std::memcpy(&have, static_cast<std::byte*>(out[o]) + e * bytes, bytes);
      const bool same = ir::converts(storage) ? same_element(storage, want, have) : same_lane(type, want, have);
      if (!same) return describe(kernel, o, e, want, have, n);
    }
  }
  for (GuardedArray& array : arrays)
    if (!array.surroundings_untouched()) return "bytes around an array were overwritten\n";
  return {};
}

}  // namespace trident::testing
