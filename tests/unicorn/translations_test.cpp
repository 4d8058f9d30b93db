// Code that native stores change, or that other memory takes the place of: the guest runs what is there then. Oracle:
// the same guest in another engine, without a handle.
#include "tests/unicorn/offload.h"

namespace trident::tests {
namespace {

/// Copies [x14, x14 + x11) to x10, once.
const std::vector<std::uint32_t> kCopy = {mov(0, 10),         mov(4, 14),    mov(2, 11), ldrb_post(1, 4, 1),
                                          strb_post(1, 0, 1), subs(2, 2, 1), b_ne(-3),   kStop};
constexpr std::uint64_t kSource = 0x30'0000, kFunctionBytes = 128;

class Translations : public Offload {
 protected:
  Translations() {
    for (Guest* guest : {&plain_, &guest_}) {
      EXPECT_EQ(uc_mem_map(guest->uc, kSource, 0x4000, UC_PROT_READ), UC_ERR_OK);
      for (unsigned i = 0; i < 64; ++i) {
        std::vector<std::uint32_t> function(kFunctionBytes / 4, add(15, 15, i));
        function.back() = kStop;
        guest->write(kSource + i * kFunctionBytes, function.data(), kFunctionBytes);
      }
    }
    load(kCopy);
  }
  void protect(std::uint32_t perms) {
    for (Guest* guest : {&plain_, &guest_}) ASSERT_EQ(uc_mem_protect(guest->uc, kData, kDataBytes, perms), UC_ERR_OK);
  }
  GuestState copying(unsigned function, std::uint64_t to = kData) {
    GuestState state = repeated(to, kFunctionBytes, 1);
    state.x[14] = kSource + function * kFunctionBytes;
    return state;
  }
};

TEST_F(Translations, PagesThatAreWritableOrExecutableByTurns) {
  guest_.attach(early());
  for (unsigned i = 0; i < 64; ++i) {
    protect(UC_PROT_READ | UC_PROT_WRITE);
    run_both(copying(i));
    protect(UC_PROT_READ | UC_PROT_EXEC);
    run_both(repeated(0, 0, 1), kData + 64);
    EXPECT_EQ(guest_.state().x[15], 0x1111'000Fu + i * 15) << i;
  }
  EXPECT_GT(guest_.stats().entries, 20u);
}

TEST_F(Translations, TheFirstBlockOfALaterRun) {
  protect(UC_PROT_ALL);
  trident_unicorn_options options = early();
  options.sample_blocks = 2000;
  guest_.attach(options);
  for (unsigned i = 0; i < 64; ++i) {
    run_both(copying(i));
    run_both(repeated(0, 0, 1), kData + 64);
    EXPECT_EQ(guest_.state().x[15], 0x1111'000Fu + i * 15) << i;
  }
  for (unsigned i = 0; i < 40; ++i) run_both(copying(5, kData + 0x7000));
  const std::uint64_t entries = guest_.stats().entries;
  for (unsigned i = 0; i < 64; ++i) {
    for (unsigned page = 1; page < 5; ++page) {
      run_both(copying(i, kData + page * 0x1000));
      run_both(repeated(0, 0, 1), kData + page * 0x1000 + 64);
      EXPECT_EQ(guest_.state().x[15], 0x1111'000Fu + i * 15) << i;
    }
  }
  EXPECT_GT(entries, 20u);
}

TEST_F(Translations, CodeThatRanBeforeItIsWritableAndAttachedTo) {
  for (unsigned i = 0; i < 3; ++i) {
    protect(UC_PROT_READ | UC_PROT_WRITE);
    run_both(copying(i));
    protect(UC_PROT_READ | UC_PROT_EXEC);
    run_both(repeated(0, 0, 1), kData + 64);
    protect(UC_PROT_READ | UC_PROT_WRITE);
    guest_.attach(early());
    for (unsigned k = 0; k < 40; ++k) run_both(copying(i + 10, kData + 0x4000));
    EXPECT_GT(guest_.stats().entries, 10u);
    run_both(copying(i + 10));
    protect(UC_PROT_READ | UC_PROT_EXEC);
    run_both(repeated(0, 0, 1), kData + 64);
    EXPECT_EQ(guest_.state().x[15], 0x1111'000Fu + (i + 10) * 15) << i;
    protect(UC_PROT_READ | UC_PROT_WRITE);
    guest_.detach();
    run_both(copying(i + 20));
    protect(UC_PROT_READ | UC_PROT_EXEC);
    run_both(repeated(0, 0, 1), kData + 64);
    EXPECT_EQ(guest_.state().x[15], 0x1111'000Fu + (i + 20) * 15) << i;
  }
}

TEST_F(Translations, MemoryThatIsMadeAgain) {
  protect(UC_PROT_ALL);
  guest_.attach(early());
  for (unsigned i = 0; i < 64; ++i) {
    for (unsigned k = 0; k < 4; ++k) run_both(copying(i));
    run_both(repeated(0, 0, 1), kData + 64);
    for (Guest* guest : {&plain_, &guest_}) {
      uc_ctl_remove_cache(guest->uc, kData, kData + kDataBytes);
      uc_mem_unmap(guest->uc, kData, kDataBytes);
      uc_mem_map(guest->uc, kData, kDataBytes, UC_PROT_ALL);
    }
  }
  EXPECT_GT(guest_.stats().entries, 20u);
}

}  // namespace
}  // namespace trident::tests
