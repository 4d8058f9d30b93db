#include "tests/support/native_kernel.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "jit/kir/interpreter.h"
#include "runtime/os/cpu.h"
#include "runtime/os/memfd.h"

namespace trident::testing {

using ir::Type;

namespace {

constexpr std::byte kUntouched{0xA5};

/// Mappings by size that arrays have left: making one takes longer than most kernels.
std::map<std::size_t, std::vector<os::GuardedMapping>>& spare_mappings() {
  thread_local std::map<std::size_t, std::vector<os::GuardedMapping>> spare;
  return spare;
}

os::GuardedMapping guarded_mapping(std::size_t size) {
  std::vector<os::GuardedMapping>& spare = spare_mappings()[os::round_to_pages(size)];
  if (spare.empty()) return std::move(os::GuardedMapping::make(size)).value();
  os::GuardedMapping mapping = std::move(spare.back());
  spare.pop_back();
  return mapping;
}

bool are_untouched(std::span<const std::byte> bytes) {
  if (bytes.empty()) return true;
  return bytes[0] == kUntouched && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0;
}

/// One array between guard pages.
class GuardedArray {
 public:
  GuardedArray(std::size_t size, std::size_t away, bool at_front)
      : mapping_(guarded_mapping(size + away + 64)), size_(size) {
    std::fill(all().begin(), all().end(), kUntouched);
    offset_ = at_front ? away : all().size() - size - away;
  }
  GuardedArray(GuardedArray&&) = default;
  GuardedArray& operator=(GuardedArray&&) = delete;
  ~GuardedArray() {
    if (!all().empty()) spare_mappings()[all().size()].push_back(std::move(mapping_));
  }
  [[nodiscard]] std::byte* data() { return all().data() + offset_; }
  /// Nothing but the array has been written.
  [[nodiscard]] bool surroundings_untouched() {
    return are_untouched(all().first(offset_)) && are_untouched(all().subspan(offset_ + size_));
  }

 private:
  std::span<std::byte> all() { return mapping_.bytes(); }
  os::GuardedMapping mapping_;
  std::size_t size_ = 0, offset_ = 0;
};

/// Writes lanes as elements of `bytes` bytes each.
void write_lanes(std::span<const std::uint64_t> lanes, std::size_t bytes, std::byte* to) {
  const auto write = [&]<class Element>(Element) {
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      const auto element = static_cast<Element>(lanes[i]);
      std::memcpy(to + i * sizeof element, &element, sizeof element);
    }
  };
  switch (bytes) {
    case 1: return write(std::uint8_t{});
    case 2: return write(std::uint16_t{});
    case 4: return write(std::uint32_t{});
    default: return write(std::uint64_t{});
  }
}

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

bool Alternative::allows(const kir::Output& output, std::uint64_t element) const {
  if (output.kind == kir::OutputKind::array) return fits[element];
  return std::all_of(fits.begin(), fits.end(), [](bool fit) { return fit; });
}

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
    if (kernel.leaves_steps()) {
      void* const entry = reinterpret_cast<void*>(native.entry());
      return reinterpret_cast<codegen::ExitEntry>(entry)(nullptr, n, in, out, scalars);
    }
    native.entry()(nullptr, n, in, out, scalars);
    return n;
  };
  return compare_on(kernel, run, inputs, params, arrangement);
}

std::string compare_on(const kir::Kernel& kernel, const Run& run, const std::vector<std::vector<std::uint64_t>>& inputs,
                       const std::vector<std::uint64_t>& params, const Arrangement& arrangement,
                       const Alternative* alternative) {
  const std::uint64_t n = arrangement.n;
  const bool exits = kernel.leaves_steps();
  const kir::Kernel oracle = exits ? without_exit(kernel) : kernel;
  std::vector<GuardedArray> arrays;
  std::vector<std::vector<std::byte>> plain_in, expected, before, others;
  std::vector<const void*> in, interpreter_in;
  std::vector<void*> out, interpreter_out, alternative_out;
  const auto make_array = [&](std::size_t bytes, std::uint64_t count) -> GuardedArray& {
    return arrays.emplace_back(count * bytes, arrangement.misalign * bytes, arrangement.at_front);
  };
  for (std::size_t i = 0; i < kernel.inputs.size(); ++i) {
    const std::size_t bytes = kir::element_bytes(kernel.inputs[i]);
    const std::uint64_t count = kernel.inputs[i].is_table() ? inputs[i].size() : n;
    auto& plain = plain_in.emplace_back(count * bytes);
    write_lanes(std::span(inputs[i]).first(count), bytes, plain.data());
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
    alternative_out.push_back(others.emplace_back(expected.back()).data());
  }
  kir::interpret(oracle, n, interpreter_in.data(), interpreter_out.data(), params.data());
  if (alternative != nullptr)
    kir::interpret(alternative->kernel, n, interpreter_in.data(), alternative_out.data(), params.data());
  const std::uint64_t done = run(n, in.data(), out.data(), params.data());
  if (exits)
    if (std::string fault = fault_of_exit(done, n, expected.back()); !fault.empty()) return fault;
  for (std::size_t o = 0; o < kernel.outputs.size(); ++o) {
    const Type type = kernel.type_of(kernel.outputs[o].value);
    const ir::Storage storage = kernel.outputs[o].storage;
    const std::size_t bytes = kir::element_bytes(kernel, kernel.outputs[o]);
    const std::size_t size = expected[o].size(), done_size = exits ? std::min<std::size_t>(size, done * bytes) : size;
    std::copy(before[o].begin() + static_cast<std::ptrdiff_t>(done_size), before[o].end(),
              expected[o].begin() + static_cast<std::ptrdiff_t>(done_size));
    if (size == 0 || std::memcmp(expected[o].data(), out[o], size) == 0) continue;
    for (std::uint64_t e = 0; e < size / bytes; ++e) {
      std::uint64_t want = 0, have = 0, other = 0;
      std::memcpy(&want, &expected[o][e * bytes], bytes);
      std::memcpy(&have, static_cast<std::byte*>(out[o]) + e * bytes, bytes);
      std::memcpy(&other, &others[o][e * bytes], bytes);
      const auto is_same = [&](std::uint64_t wanted) {
        return ir::converts(storage) ? same_element(storage, wanted, have) : same_lane(type, wanted, have);
      };
      const bool may_be_other = alternative != nullptr && alternative->allows(kernel.outputs[o], e);
      if (!is_same(want) && !(may_be_other && is_same(other))) return describe(kernel, o, e, want, have, n);
    }
  }
  for (GuardedArray& array : arrays)
    if (!array.surroundings_untouched()) return "bytes around an array were overwritten\n";
  return {};
}

}  // namespace trident::testing
