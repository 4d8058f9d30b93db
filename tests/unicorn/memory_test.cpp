// Memory that a handle adopts: how long it lives, and what may be touched. Oracle: the same guest in another engine,
// without a handle.
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <memory>

#include "tests/unicorn/offload.h"

namespace trident::tests {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kHasOwnAllocator = true;
#else
constexpr bool kHasOwnAllocator = false;
#endif

class Memory : public Offload {
 protected:
  void fill_data() {
    const std::vector<std::uint8_t> bytes(kDataBytes, 7);
    for (Guest* guest : {&plain_, &guest_}) guest->write(kData, bytes.data(), bytes.size());
  }
};

/// Takes memory that was freed, and writes to it.
void use_the_heap() {
  std::vector<std::vector<std::uint8_t>> taken;
  for (std::size_t i = 0; i < 64; ++i) taken.emplace_back(kDataBytes + 0x1000 - i * 256, 0x41);
}

TEST_F(Memory, AdoptedMemoryLivesWhateverItIsNamedLater) {
  alignas(4096) static std::uint8_t mine[kDataBytes];
  const trident_unicorn_region names[] = {
      {kData, 0x1000, nullptr, TRIDENT_UNICORN_KEEP, 0},
      {kData + 0x3000, 0x1000, nullptr, TRIDENT_UNICORN_KEEP, 0},
      {kData + 0x7000, 0x1000, nullptr, TRIDENT_UNICORN_KEEP, 0},
      {kData, kDataBytes, nullptr, TRIDENT_UNICORN_KEEP, 0},
      {kData - 64, kDataBytes + 128, nullptr, TRIDENT_UNICORN_KEEP, 0},
      {kData, 0x1000, mine, TRIDENT_UNICORN_POINTER, 0},
      {kData, kDataBytes, mine, TRIDENT_UNICORN_POINTER, 0},
  };
  load(kFill);
  for (const trident_unicorn_region& region : names) {
    fill_data();
    guest_.attach(early());
    run_both(repeated(kData + 0x100, 200, 30));
    ASSERT_EQ(trident_unicorn_map(guest_.handle, &region), TRIDENT_OK);
    run_both(repeated(kData + 0x200, 200, 30));
    use_the_heap();
    expect_equal();
    run_both(repeated(kData + 0x3100, 200, 30));
    guest_.detach();
    use_the_heap();
    expect_equal();
  }
}

TEST_F(Memory, ADeviceInThePlaceOfAdoptedMemoryIsNotRead) {
  std::size_t reads = 0;
  const auto read = +[](uc_engine*, std::uint64_t, unsigned, void* counted) -> std::uint64_t {
    return ++*static_cast<std::size_t*>(counted);
  };
  load(kFill);
  guest_.attach(early());
  run_both(repeated(kData, 200, 30));
  const trident_unicorn_region device = {kData + 0x2000, 0x1000, nullptr, TRIDENT_UNICORN_KEEP, 0};
  ASSERT_EQ(uc_mem_unmap(guest_.uc, device.base, device.size), UC_ERR_OK);
  ASSERT_EQ(uc_mmio_map(guest_.uc, device.base, device.size, read, &reads, nullptr, nullptr), UC_ERR_OK);
  ASSERT_EQ(trident_unicorn_map(guest_.handle, &device), TRIDENT_OK);
  guest_.set(repeated(kData + 0x4000, 200, 30));
  EXPECT_EQ(guest_.run(kCode), UC_ERR_EXCEPTION);
  guest_.detach();
  EXPECT_EQ(reads, 0u);
}

/// Limits the address space to what is taken, and `more`.
class AddressSpaceLimit {
 public:
  explicit AddressSpaceLimit(std::uint64_t more) {
    std::uint64_t pages = 0;
    std::FILE* const file = std::fopen("/proc/self/statm", "r");
    EXPECT_EQ(std::fscanf(file, "%lu", &pages), 1);
    std::fclose(file);
    ::getrlimit(RLIMIT_AS, &old_);
    const rlimit low{pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) + more, old_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_AS, &low), 0);
  }
  ~AddressSpaceLimit() { ::setrlimit(RLIMIT_AS, &old_); }
  AddressSpaceLimit(const AddressSpaceLimit&) = delete;
  AddressSpaceLimit& operator=(const AddressSpaceLimit&) = delete;

 private:
  rlimit old_{};
};

TEST_F(Memory, ARegionThatCannotBeAdoptedCostsNoOtherItsMemory) {
  if (kHasOwnAllocator) GTEST_SKIP() << "a sanitizer's allocator ends the process instead";
  constexpr std::uint64_t kLarge = 0x1000'0000, kLargeBytes = 800u << 20, kLate = 0x8000'0000;
  load(kFill);
  for (Guest* guest : {&plain_, &guest_})
    ASSERT_EQ(uc_mem_map(guest->uc, kLate, kDataBytes, UC_PROT_READ | UC_PROT_WRITE), UC_ERR_OK);
  guest_.attach(early());
  run_both(repeated(kLate, 200, 30));
  for (Guest* guest : {&plain_, &guest_}) {
    ASSERT_EQ(uc_mem_map(guest->uc, kLarge, kLargeBytes, UC_PROT_READ | UC_PROT_WRITE), UC_ERR_OK);
    ASSERT_EQ(uc_mem_protect(guest->uc, kLate, kDataBytes, UC_PROT_ALL), UC_ERR_OK);
  }
  const AddressSpaceLimit limit(100u << 20);
  run_both(repeated(kLate + 64, 200, 30));
  use_the_heap();
  EXPECT_TRUE(plain_.read(kLate, kDataBytes) == guest_.read(kLate, kDataBytes));
  guest_.detach();
  use_the_heap();
  EXPECT_TRUE(plain_.read(kLate, kDataBytes) == guest_.read(kLate, kDataBytes));
}

// Unicorn lets a load through that follows a store to the page, and no other: what native code stores it does not see.
TEST_F(Memory, PagesThatMayOnlyBeWrittenAreTheGuestsAlone) {
  std::vector<std::uint32_t> words = kFill;
  words[9] = ldr(4, 13, 0);
  words.insert(words.begin() + 10, kStop);
  words[5] = bl(6);
  load(words);
  guest_.attach(early());
  GuestState state = repeated(kData, 200, 50);
  state.x[13] = kData;
  run_both(state);
  for (Guest* guest : {&plain_, &guest_})
    ASSERT_EQ(uc_mem_protect(guest->uc, kData, kDataBytes, UC_PROT_WRITE), UC_ERR_OK);
  for (std::uint64_t page = 1; page < 7; ++page) {  // the loop comes into the page that is loaded from
    GuestState into = repeated(kData + page * 0x1000 - 100, 200, 1);
    into.x[13] = kData + page * 0x1000;
    run_both(into);
  }
}

/// Maps `host` twice, the second time with `offset` bytes fewer, one behind the other, and names both.
class Twice {
 public:
  static constexpr std::uint64_t kFirst = 0x50'0000, kSecond = 0x60'0000, kBytes = 0x4000;
  Twice(const std::array<Guest*, 2>& guests, std::uint64_t offset) {
    for (std::size_t i = 0; i < guests.size(); ++i) {
      regions_ = {{{kFirst, kBytes, host_[i], TRIDENT_UNICORN_POINTER, 0},
                   {kSecond, kBytes - offset, host_[i] + offset, TRIDENT_UNICORN_POINTER, 0}}};
      for (const trident_unicorn_region& region : regions_)
        EXPECT_EQ(uc_mem_map_ptr(guests[i]->uc, region.base, region.size, UC_PROT_READ | UC_PROT_WRITE, region.host),
                  UC_ERR_OK);
    }
  }
  /// Options that name the regions of the last guest.
  [[nodiscard]] trident_unicorn_options options() const {
    trident_unicorn_options options = early();
    options.regions = regions_.data();
    options.region_count = static_cast<std::uint32_t>(regions_.size());
    return options;
  }
  [[nodiscard]] bool is_equal() const { return std::memcmp(host_[0], host_[1], kBytes) == 0; }

 private:
  alignas(4096) std::uint8_t host_[2][kBytes] = {};
  std::array<trident_unicorn_region, 2> regions_{};
};

// Two shadow runs would call the code wrong if a store to one region were not seen in the other.
TEST_F(Memory, RegionsThatShowTheSameMemoryAreOneInShadowRuns) {
  // Stores bytes to x10, and loads them by x13, one behind.
  load({mov(0, 10), mov(2, 11), mov(6, 13), strb_post(1, 0, 1), ldrb_post(5, 6, 1), add_x(1, 1, 5), subs(2, 2, 1),
        b_ne(-4), bl(4), subs(12, 12, 1), b_ne(-10), kStop, kRet});
  const auto twice = std::make_unique<Twice>(std::array{&plain_, &guest_}, 0);
  guest_.attach(twice->options());
  GuestState state = repeated(Twice::kFirst + 0x100, 200, 100);
  state.x[13] = Twice::kSecond + 0xFF;
  run_both(state);
  EXPECT_TRUE(twice->is_equal());
  EXPECT_EQ(guest_.stats().mismatches, 0u) << guest_.loop().note;
  EXPECT_GT(guest_.stats().entries, 50u);
}

TEST_F(Memory, LoopsInRegionsThatShareSomeMemoryAreTheGuests) {
  load({mov(0, 10), mov(2, 11), mov(6, 13), strb_post(1, 0, 1), ldrb_post(5, 6, 1), add_x(1, 1, 5), subs(2, 2, 1),
        b_ne(-4), bl(4), subs(12, 12, 1), b_ne(-10), kStop, kRet});
  const auto twice = std::make_unique<Twice>(std::array{&plain_, &guest_}, 0x1000);
  guest_.attach(twice->options());
  GuestState state = repeated(Twice::kFirst + 0x1100, 200, 100);
  state.x[13] = Twice::kSecond + 0xFF;
  run_both(state);
  EXPECT_TRUE(twice->is_equal());
  EXPECT_EQ(guest_.stats().mismatches, 0u);
}

TEST_F(Memory, NamedRegionsThatWrapAroundAreInvalid) {
  const trident_unicorn_region wrong[] = {
      {kData, ~std::uint64_t{0}, nullptr, TRIDENT_UNICORN_KEEP, 0},
      {0xFFFF'FFFF'FFFF'F000, 0x2000, nullptr, TRIDENT_UNICORN_KEEP, 0},
      {0xFFFF'FFFF'FFFF'F000, 0x1001, this, TRIDENT_UNICORN_POINTER, 0},
  };
  int none = 0;
  for (const trident_unicorn_region& region : wrong) {
    trident_unicorn_options options = early();
    options.struct_size = sizeof options;
    options.regions = &region;
    options.region_count = 1;
    trident_unicorn* handle = nullptr;
    EXPECT_EQ(trident_unicorn_attach(guest_.uc, reinterpret_cast<trident_ctx*>(&none), &options, &handle),
              TRIDENT_E_INVALID);
  }
  load(kFill);
  guest_.attach(early());
  for (const trident_unicorn_region& region : wrong)
    EXPECT_EQ(trident_unicorn_map(guest_.handle, &region), TRIDENT_E_INVALID);
  const trident_unicorn_region to_the_end = {0xFFFF'FFFF'FFFF'F000, 0x1000, nullptr, TRIDENT_UNICORN_KEEP, 0};
  EXPECT_EQ(trident_unicorn_map(guest_.handle, &to_the_end), TRIDENT_OK);
  trident_unicorn_unmap(guest_.handle, kData, ~std::uint64_t{0});
  run_both(repeated(kData, 200, 50));
}

}  // namespace
}  // namespace trident::tests
