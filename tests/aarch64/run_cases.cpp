// run_cases FILE, built for AArch64 and run under qemu: runs every kernel and compares every lane of every output (any
// NaN equals any NaN), the bytes around the arrays and the callee-saved registers, in the standard floating-point
// environment and in another one.
#include <cmath>
#include <memory>

#include "runtime/os/memfd.h"
#include "tests/aarch64/case_file.h"
#include "tests/support/foreign_floats.h"

// call_preserving(entry, n, in, out, params, &result): calls entry(nullptr, n, in, out, params) with known values in
// x19-x28 and d8-d15; 0 if they are still there. What the entry returns goes to result.
extern "C" std::uint64_t call_preserving(const void* entry, std::uint64_t n, const void* const* in, void* const* out,
                                         const std::uint64_t* params, std::uint64_t* result);
asm(R"(
.text
.global call_preserving
.type call_preserving, %function
call_preserving:
  stp x29, x30, [sp, #-176]!
  mov x29, sp
  stp x19, x20, [sp, #16]
  stp x21, x22, [sp, #32]
  stp x23, x24, [sp, #48]
  stp x25, x26, [sp, #64]
  stp x27, x28, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  str x5, [sp, #160]
  .irp r, 19,20,21,22,23,24,25,26,27,28
  mov x\r, #(0x1100 + \r)
  .endr
  .irp r, 8,9,10,11,12,13,14,15
  mov x9, #(0x2200 + \r)
  fmov d\r, x9
  .endr
  mov x9, x0
  mov x0, #0
  blr x9
  ldr x9, [x29, #160]
  str x0, [x9]
  mov x0, #0
  .irp r, 19,20,21,22,23,24,25,26,27,28
  mov x9, #(0x1100 + \r)
  eor x9, x9, x\r
  orr x0, x0, x9
  .endr
  .irp r, 8,9,10,11,12,13,14,15
  mov x9, #(0x2200 + \r)
  fmov x10, d\r
  eor x9, x9, x10
  orr x0, x0, x9
  .endr
  mov x9, sp
  eor x9, x9, x29
  orr x0, x0, x9
  mov sp, x29
  ldp x19, x20, [sp, #16]
  ldp x21, x22, [sp, #32]
  ldp x23, x24, [sp, #48]
  ldp x25, x26, [sp, #64]
  ldp x27, x28, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  ldp x29, x30, [sp], #176
  ret
)");

namespace trident::testing {
namespace {

constexpr std::byte kUntouched{0xA5};
constexpr std::uint64_t kExitSpan = 128;  // as in jit/kir/kir.h

bool same_lane(std::uint8_t element, std::uint64_t a, std::uint64_t b) {
  if (a == b) return true;
  const auto [type, storage] = *ir::element_of_number(element);
  if (storage == ir::Storage::f16) return (a & 0x7FFF) > 0x7C00 && (b & 0x7FFF) > 0x7C00;
  if (storage != ir::Storage::own) return false;
  float fa = 0, fb = 0;
  double da = 0, db = 0;
  std::memcpy(&fa, &a, 4);
  std::memcpy(&fb, &b, 4);
  std::memcpy(&da, &a, 8);
  std::memcpy(&db, &b, 8);
  if (type == ir::Type::f32) return std::isnan(fa) && std::isnan(fb);
  return type == ir::Type::f64 && std::isnan(da) && std::isnan(db);
}

std::size_t bytes_of(std::uint8_t element) {
  const auto [type, storage] = *ir::element_of_number(element);
  return ir::bytes_of(type, storage);
}

/// An array that ends before, or begins after, a page that cannot be touched.
class GuardedArray {
 public:
  GuardedArray(std::uint8_t element, std::uint64_t n, bool at_front)
      : width_(bytes_of(element)), n_(n), mapping_(os::GuardedMapping::make(n * width_ + 64).value()) {
    for (std::byte& b : mapping_.bytes()) b = kUntouched;
    start_ = at_front ? 0 : mapping_.bytes().size() - n * width_;
  }
  std::byte* data() { return mapping_.bytes().data() + start_; }
  void set(std::uint64_t i, std::uint64_t lane) { std::memcpy(data() + i * width_, &lane, width_); }
  std::uint64_t get(std::uint64_t i) {
    std::uint64_t lane = 0;
    std::memcpy(&lane, data() + i * width_, width_);
    return lane;
  }
  bool surroundings_untouched() {
    const auto all = mapping_.bytes();
    for (std::size_t i = 0; i < all.size(); ++i)
      if ((i < start_ || i >= start_ + n_ * width_) && all[i] != kUntouched) return false;
    return true;
  }

 private:
  std::size_t width_;
  std::uint64_t n_;
  os::GuardedMapping mapping_;
  std::size_t start_ = 0;
};

/// Describes the fault of one run in the environment; empty when there is none.
std::string run_once(const Case& c, const CaseRun& run, const void* entry, const FloatEnvironment& environment) {
  std::vector<std::unique_ptr<GuardedArray>> inputs, outputs;
  std::vector<const void*> in;
  std::vector<void*> out;
  std::vector<bool> taken(c.input_types.size());
  for (std::size_t i = 0; i < c.input_types.size(); ++i) {
    const std::uint64_t count = run.inputs[i].size();
    inputs.push_back(std::make_unique<GuardedArray>(c.input_types[i], count, run.at_front != 0));
    for (std::uint64_t e = 0; e < count; ++e) inputs[i]->set(e, run.inputs[i][e]);
    in.push_back(inputs[i]->data());
  }
  std::vector<GuardedArray*> results;
  for (std::size_t o = 0; o < c.output_types.size(); ++o) {
    const bool scalar = c.scalar_outputs[o] != 0;
    GuardedArray* place = nullptr;
    for (std::size_t i = 0; i < taken.size() && place == nullptr && !scalar && (run.in_place >> o % 64 & 1) != 0; ++i)
      if (!taken[i] && c.table_inputs[i] == 0 && c.input_types[i] == c.output_types[o]) {
        taken[i] = true;
        place = inputs[i].get();
      }
    if (place == nullptr) {
      outputs.push_back(std::make_unique<GuardedArray>(c.output_types[o], scalar ? 1 : run.n, run.at_front != 0));
      place = outputs.back().get();
    }
    results.push_back(place);
    out.push_back(place->data());
  }
  std::vector<std::vector<std::uint64_t>> before(results.size());
  for (std::size_t o = 0; o < results.size(); ++o)
    for (std::size_t e = 0; e < run.expected[o].size(); ++e) before[o].push_back(results[o]->get(e));
  std::uint64_t changed = 0, returned = 0;
  bool intact = false;
  {
    const ForeignFloats floats(environment);
    changed = call_preserving(entry, run.n, in.data(), out.data(), c.params.data(), &returned);
    intact = floats.intact();
  }
  if (changed != 0) return "a callee-saved register changed";
  if (!intact) return "the floating-point environment changed";
  const std::uint64_t done = c.exits != 0 ? returned : run.n;
  const bool stops = run.first_exit < run.n;
  if (c.exits != 0 && (stops ? done > run.first_exit || run.first_exit - done >= kExitSpan : done != run.n))
    return "it stops at the wrong element";
  for (std::size_t o = 0; o < results.size(); ++o)
    for (std::size_t e = 0; e < run.expected[o].size(); ++e) {
      const bool is_done = c.exits == 0 || e < done;
      const std::uint64_t wanted = is_done ? run.expected[o][e] : before[o][e];
      if (!same_lane(c.output_types[o], results[o]->get(e), wanted)) {
        char text[160];
        std::snprintf(text, sizeof text, "output %zu element %zu: interpreter %016llx, native %016llx", o, e,
                      static_cast<unsigned long long>(wanted), static_cast<unsigned long long>(results[o]->get(e)));
        return text;
      }
    }
  for (const auto* list : {&inputs, &outputs})
    for (const auto& array : *list)
      if (!array->surroundings_untouched()) return "bytes around an array were overwritten";
  return {};
}

int run_file(const char* path) {
  std::FILE* file = std::fopen(path, "rb");
  if (file == nullptr) return 1;
  CaseStream stream(file, false);
  std::size_t cases = 0, runs = 0, failures = 0;
  for (int c = std::fgetc(file); c != EOF && failures < 20; c = std::fgetc(file)) {
    std::ungetc(c, file);
    Case test;
    stream.transfer(test);
    if (!stream.good()) return 1;
    const auto bytes = reinterpret_cast<const std::byte*>(test.code.data());
    const auto fd = os::make_sealed_memfd("kernel", {bytes, test.code.size()}, std::byte{0});
    if (!fd.ok()) return 1;
    const auto code = os::map_executable(*fd, test.code.size());
    if (!code.ok()) return 1;
    ++cases;
    for (const CaseRun& run : test.runs) {
      std::string fault = run_once(test, run, code->base(), {"standard", 0});
      const FloatEnvironment& foreign = kForeignFloats[runs++ % std::size(kForeignFloats)];
      if (fault.empty()) fault = run_once(test, run, code->base(), foreign);
      if (fault.empty()) continue;
      ++failures;
      std::printf("FAILED %s, n = %llu%s: %s\n", test.what.c_str(), static_cast<unsigned long long>(run.n),
                  run.in_place != 0 ? ", in place" : "", fault.c_str());
      break;
    }
  }
  std::fclose(file);
  std::printf("%zu kernels, %zu runs, %zu failures\n", cases, runs, failures);
  return failures == 0 && cases != 0 ? 0 : 1;
}

}  // namespace
}  // namespace trident::testing

int main(int argc, char** argv) {
  return argc == 2 ? trident::testing::run_file(argv[1]) : 2;
}
