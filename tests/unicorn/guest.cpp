#include "tests/unicorn/guest.h"

#include <gtest/gtest.h>

namespace trident::tests {
namespace {

int id_of(unsigned number) {
  if (number < 29) return UC_ARM64_REG_X0 + static_cast<int>(number);
  return number == 29 ? UC_ARM64_REG_X29 : number == 30 ? UC_ARM64_REG_X30 : UC_ARM64_REG_SP;
}

}  // namespace

Guest::Guest() {
  EXPECT_EQ(uc_open(UC_ARCH_ARM64, UC_MODE_ARM, &uc), UC_ERR_OK);
  EXPECT_EQ(uc_mem_map(uc, kCode, kCodeBytes, UC_PROT_READ | UC_PROT_EXEC), UC_ERR_OK);
  EXPECT_EQ(uc_mem_map(uc, kData, kDataBytes, UC_PROT_READ | UC_PROT_WRITE), UC_ERR_OK);
  write_code(kCode, std::vector<std::uint32_t>(kCodeBytes / 4, kStop));
}

Guest::~Guest() {
  detach();
  uc_close(uc);
}

void Guest::write_code(std::uint64_t address, const std::vector<std::uint32_t>& words) {
  write(address, words.data(), words.size() * 4);
  uc_ctl_remove_cache(uc, address, address + words.size() * 4);  // uc_mem_write() does not see to it
}

void Guest::write(std::uint64_t address, const void* bytes, std::size_t size) {
  ASSERT_EQ(uc_mem_write(uc, address, bytes, size), UC_ERR_OK);
}

std::vector<std::uint8_t> Guest::read(std::uint64_t address, std::size_t size) {
  std::vector<std::uint8_t> bytes(size);
  EXPECT_EQ(uc_mem_read(uc, address, bytes.data(), size), UC_ERR_OK);
  return bytes;
}

void Guest::set(const GuestState& state) {
  for (unsigned r = 0; r < 32; ++r) uc_reg_write(uc, id_of(r), &state.x[r]);
  uc_reg_write(uc, UC_ARM64_REG_NZCV, &state.nzcv);
}

GuestState Guest::state() {
  GuestState state;
  for (unsigned r = 0; r < 32; ++r) uc_reg_read(uc, id_of(r), &state.x[r]);
  uc_reg_read(uc, UC_ARM64_REG_NZCV, &state.nzcv);
  uc_reg_read(uc, UC_ARM64_REG_PC, &state.pc);
  return state;
}

uc_err Guest::run(std::uint64_t begin, std::uint64_t until, std::uint64_t timeout_us, std::size_t count) {
  return uc_emu_start(uc, begin, until, timeout_us, count);
}

void Guest::attach(trident_unicorn_options options, trident_ctx* context) {
  options.struct_size = sizeof options;
  int none = 0;
  if (context == nullptr) context = reinterpret_cast<trident_ctx*>(&none);
  ASSERT_EQ(trident_unicorn_attach(uc, context, &options, &handle), TRIDENT_OK) << trident_unicorn_error();
}

void Guest::detach() {
  trident_unicorn_detach(handle);
  handle = nullptr;
}

trident_unicorn_stats Guest::stats() {
  trident_unicorn_stats stats{};
  stats.struct_size = sizeof stats;
  trident_unicorn_get_stats(handle, &stats);
  return stats;
}

trident_unicorn_loop_facts Guest::loop(std::uint32_t number) {
  trident_unicorn_loop_facts facts{};
  facts.struct_size = sizeof facts;
  EXPECT_EQ(trident_unicorn_get_loop(handle, number, &facts), TRIDENT_OK);
  return facts;
}

trident_unicorn_options early() {
  trident_unicorn_options options{};
  options.hot = 16;
  options.shadow_first = 2;
  return options;
}

}  // namespace trident::tests
