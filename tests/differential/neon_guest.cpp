#include "tests/differential/neon_guest.h"

#include <gtest/gtest.h>

#include <vector>

namespace trident::testing {
namespace {

constexpr std::uint64_t kCode = 0x10'0000, kReturn = 0x80'0000, kStack = 0x100'0000, kData = 0x1000'0000;
constexpr std::size_t kPage = 0x1000, kCodeBytes = 0x40'0000, kStackBytes = 0x10'0000, kDataBytes = 0x400'0000;
constexpr std::uint64_t kBetween = 256;  // arrays are aligned as those of an allocator, and apart

void expect_ok(uc_err error) {
  EXPECT_EQ(error, UC_ERR_OK) << uc_strerror(error);
}

}  // namespace

NeonGuest::NeonGuest(const kir::Kernel& kernel, const codegen::MachineCode& code) : kernel_(kernel) {
  expect_ok(uc_open(UC_ARCH_ARM64, UC_MODE_ARM, &engine_));
  constexpr std::uint64_t kFloats = 3U << 20;  // CPACR_EL1.FPEN
  std::uint64_t control = 0;
  expect_ok(uc_reg_read(engine_, UC_ARM64_REG_CPACR_EL1, &control));
  control |= kFloats;
  expect_ok(uc_reg_write(engine_, UC_ARM64_REG_CPACR_EL1, &control));
  expect_ok(uc_mem_map(engine_, kCode, kCodeBytes, UC_PROT_READ | UC_PROT_EXEC));
  expect_ok(uc_mem_map(engine_, kReturn, kPage, UC_PROT_READ | UC_PROT_EXEC));
  expect_ok(uc_mem_map(engine_, kStack, kStackBytes, UC_PROT_READ | UC_PROT_WRITE));
  expect_ok(uc_mem_map(engine_, kData, kDataBytes, UC_PROT_READ | UC_PROT_WRITE));
  CHECK(code.bytes.size() <= kCodeBytes);
  expect_ok(uc_mem_write(engine_, kCode, code.bytes.data(), code.bytes.size()));
}

NeonGuest::~NeonGuest() {
  uc_close(engine_);
}

std::uint64_t NeonGuest::place(const void* data, std::size_t bytes) {
  const std::uint64_t address = free_;
  free_ += (bytes + 2 * kBetween - 1) / kBetween * kBetween;
  CHECK(free_ <= kData + kDataBytes);
  if (data != nullptr && bytes != 0) expect_ok(uc_mem_write(engine_, address, data, bytes));
  return address;
}

void NeonGuest::call(std::uint64_t n, std::uint64_t in, std::uint64_t out, std::uint64_t params) {
  const std::uint64_t self = 0, back = kReturn, stack = kStack + kStackBytes;
  const std::pair<int, std::uint64_t> registers[] = {
      {UC_ARM64_REG_X0, self},   {UC_ARM64_REG_X1, n},     {UC_ARM64_REG_X2, in},   {UC_ARM64_REG_X3, out},
      {UC_ARM64_REG_X4, params}, {UC_ARM64_REG_X30, back}, {UC_ARM64_REG_SP, stack}};
  for (const auto& [number, value] : registers) expect_ok(uc_reg_write(engine_, number, &value));
  expect_ok(uc_emu_start(engine_, kCode, kReturn, 0, 0));
  std::uint64_t end = 0;
  expect_ok(uc_reg_read(engine_, UC_ARM64_REG_PC, &end));
  EXPECT_EQ(end, kReturn);
}

void NeonGuest::run(std::uint64_t n, const void* const* in, void* const* out, const std::uint64_t* params) {
  free_ = kData;
  std::vector<std::uint64_t> inputs, outputs;
  for (std::size_t i = 0; i < kernel_.inputs.size(); ++i) {
    const kir::Input& input = kernel_.inputs[i];
    const std::uint64_t elements = input.is_table() ? params[*input.length] : n;
    inputs.push_back(place(in[i], static_cast<std::size_t>(elements) * kir::element_bytes(input)));
  }
  std::vector<std::size_t> sizes;
  for (const kir::Output& output : kernel_.outputs) {
    const std::uint64_t elements = output.kind == kir::OutputKind::array ? n : 1;
    sizes.push_back(static_cast<std::size_t>(elements) * kir::element_bytes(kernel_, output));
    outputs.push_back(place(nullptr, sizes.back()));
  }
  const auto table = [&](const std::vector<std::uint64_t>& addresses) {
    return place(addresses.data(), addresses.size() * sizeof(std::uint64_t));
  };
  call(n, table(inputs), table(outputs), place(params, kernel_.params.size() * sizeof(std::uint64_t)));
  for (std::size_t o = 0; o < outputs.size(); ++o)
    if (sizes[o] != 0) expect_ok(uc_mem_read(engine_, outputs[o], out[o], sizes[o]));
}

}  // namespace trident::testing
