#include "tests/loops/unicorn_guest.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <thread>

namespace trident::tests {
namespace {

constexpr std::size_t kCodeBytes = 0x2000, kPageBytes = 0x1000;

constexpr std::size_t kRunsOfAnEngine = 20'000;

std::uint64_t page_of(std::uint64_t address) {
  return address & ~std::uint64_t{kPageBytes - 1};
}

int register_id(unsigned number) {
  if (number < 29) return UC_ARM64_REG_X0 + static_cast<int>(number);
  return number == 29 ? UC_ARM64_REG_X29 : number == 30 ? UC_ARM64_REG_X30 : UC_ARM64_REG_SP;
}

/// Keeps the address of the instruction that runs: at a fault, Unicorn 2.0 tells that of its block.
void note_address(uc_engine*, std::uint64_t address, std::uint32_t, void* kept) {
  *static_cast<std::uint64_t*>(kept) = address;
}

}  // namespace

UnicornGuest::UnicornGuest() {
  void* const memory = ::mmap(nullptr, kDataBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  data_ = static_cast<std::uint8_t*>(memory);
  open();
}

void UnicornGuest::open() {
  runs_ = 0;
  EXPECT_EQ(uc_open(UC_ARCH_ARM64, UC_MODE_ARM, &engine_), UC_ERR_OK);
  for (const std::uint64_t base : {kCodeBase, kOtherCodeBase})
    EXPECT_EQ(uc_mem_map(engine_, page_of(base), kCodeBytes, UC_PROT_READ | UC_PROT_EXEC), UC_ERR_OK);
  EXPECT_EQ(uc_mem_map_ptr(engine_, kDataBase, kDataBytes, UC_PROT_READ | UC_PROT_WRITE, data_), UC_ERR_OK);
  uc_hook hook = 0;
  EXPECT_EQ(uc_hook_add(engine_, &hook, UC_HOOK_CODE, reinterpret_cast<void*>(&note_address), &address_, 1, 0),
            UC_ERR_OK);
}

UnicornGuest::~UnicornGuest() {
  uc_close(engine_);
  ::munmap(data_, kDataBytes);
}

bool UnicornGuest::run(std::span<const std::uint32_t> code, GuestFrame& frame, std::uint64_t until,
                       std::size_t instructions, std::size_t head) {
  if (++runs_ > kRunsOfAnEngine) {
    uc_close(engine_);
    open();
  }
  for (unsigned r = 0; r < 32; ++r) uc_reg_write(engine_, register_id(r), &frame.x[r]);
  std::uint64_t nzcv = frame.nzcv;
  uc_reg_write(engine_, UC_ARM64_REG_NZCV, &nzcv);
  const std::uint64_t base = frame.pc - head;
  uc_mem_write(engine_, base, code.data(), code.size_bytes());
  // Whole pages: what was translated behind the code would run past `until`, which is looked for at translation.
  uc_ctl_remove_cache(engine_, page_of(base), page_of(base) + kCodeBytes);
  const uc_err error = uc_emu_start(engine_, frame.pc, until, 0, instructions);
  for (unsigned r = 0; r < 32; ++r) uc_reg_read(engine_, register_id(r), &frame.x[r]);
  uc_reg_read(engine_, UC_ARM64_REG_NZCV, &nzcv);
  uc_reg_read(engine_, UC_ARM64_REG_PC, &frame.pc);
  if (error == UC_ERR_READ_UNMAPPED || error == UC_ERR_WRITE_UNMAPPED) frame.pc = address_;
  frame.nzcv = static_cast<std::uint32_t>(nzcv);
  return error == UC_ERR_OK;
}

std::size_t cases(std::size_t by_default) {
  const char* const wanted = std::getenv("TRIDENT_LOOP_CASES");
  return wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : by_default;
}

void share_out(std::size_t wanted, std::uint64_t seed,
               const std::function<void(testing::Random& random, std::size_t count)>& run) {
  constexpr std::uint64_t kOtherSeed = 0x1'0000'0000;
  const auto share = [&](std::uint64_t own_seed, std::size_t count) {
    testing::Random random(own_seed);
    run(random, count);
  };
  const std::jthread other(share, seed + kOtherSeed, wanted / 2);
  share(seed, wanted - wanted / 2);
}

void fill(std::span<std::uint8_t> bytes, testing::Random& random) {
  for (std::size_t i = 0; i + 8 <= bytes.size(); i += 8) {
    const std::uint64_t eight = random.next();
    std::memcpy(bytes.data() + i, &eight, sizeof eight);
  }
}

std::uint64_t drawn(std::uint64_t random) {
  const std::uint64_t choice = random & 7, rest = random >> 3;
  switch (choice) {
    case 0: return rest % 64;
    case 1: return ~(rest % 64);
    case 2: return std::uint64_t{1} << (rest % 64);
    case 3: return static_cast<std::uint32_t>(rest);
    case 4: return 0x7FFF'FFFF'FFFF'FFFF + rest % 3;
    case 5: return 0x7FFF'FFFF + rest % 3;
    default: return random * 0x9E37'79B9'7F4A'7C15;
  }
}

}  // namespace trident::tests
