#include "tests/library/tiers.h"

#include <gtest/gtest.h>

#include "runtime/os/cpu.h"

namespace trident::test {
namespace {

using function::Function;
using function::Library;

Result<Tier> native(const Function& f, const char* name, std::optional<codegen::Isa> bulk) {
  TRY(pipeline::CompiledFunction made, pipeline::compile_function(f, Library::shipped(), {.bulk = bulk}));
  TRY(const os::Fd fd, image::seal(made.image));
  TRY(image::Mapped mapped, image::Mapped::map(fd));
  return Tier{name, std::move(made.lowered), std::move(mapped)};
}

}  // namespace

std::vector<Tier> tiers(const Function& f) {
  auto lowered = function::lower(f, Library::shipped());
  EXPECT_TRUE(lowered.ok()) << lowered.error().message;
  std::vector<Tier> list;
  list.push_back({.lowered = std::move(*lowered)});
  if (!os::cpu_features().bmi2) return list;
  const auto add = [&](const char* name, std::optional<codegen::Isa> bulk) {
    auto code = native(f, name, bulk);
    EXPECT_TRUE(code.ok()) << f.name << " " << name << ": " << code.error().message;
    if (code.ok()) list.push_back(std::move(*code));
  };
  add("native", {});
  add("bulk, AVX2", codegen::Isa::avx2);
  if (os::cpu_features().avx512) add("bulk, AVX-512", codegen::Isa::avx512);
  return list;
}

}  // namespace trident::test
