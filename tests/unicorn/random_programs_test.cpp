// Programs that do anything with an engine while its guest runs loops: they write, protect, unmap and make memory anew,
// change code, stop and go on, run the engine in a hook, attach and detach. Oracle: the same program with an engine
// that nothing is attached to; registers, flags and memory are compared at each system call and at each fault.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/loops/random_body.h"
#include "tests/support/random.h"
#include "tests/unicorn/guest.h"
#include "tests/unicorn/words.h"

namespace trident::tests {
namespace {

constexpr std::uint64_t kSlots = kCode + 0x1000, kSlotBytes = 0x100, kSlotCount = 16;
constexpr std::uint64_t kMade = 0x30'0000, kMadeBytes = 0x4000;  ///< code that the guest makes
constexpr std::uint64_t kPage = 0x1000;
constexpr std::uint64_t kTemplates = 0x40'0000, kTemplatesBytes = kSlotCount * kSlotBytes;
constexpr unsigned kCopySlot = 0;
constexpr std::uint64_t kPatienceUs = 2'000'000;  ///< with half a function that never ends

/// main: svc; blr x17; b main.
const std::vector<std::uint32_t> kMain = {kStop, 0xD63F'0220, b(-2)};
/// Copies [x14, x14 + x11) to x10.
const std::vector<std::uint32_t> kCopy = {mov(0, 10),         mov(4, 14),    mov(2, 11), ldrb_post(1, 4, 1),
                                          strb_post(1, 0, 1), subs(2, 2, 1), b_ne(-3),   kRet};
const std::vector<std::uint32_t> kFillAll = {mov(0, 10), mov(2, 11), strb_post(1, 0, 1), subs(2, 2, 1), b_ne(-2), kRet};
const std::vector<std::uint32_t> kSumAll = {mov(0, 10), mov(2, 11), ldrb_post(1, 0, 1), add_x(3, 3, 1), subs(2, 2, 1),
                                            b_ne(-3),   kRet};

struct Snapshot {
  GuestState state;
  std::uint64_t memory = 0;
  int error = -1;  ///< of a run that failed
  bool operator==(const Snapshot& other) const {
    return state.x == other.state.x && state.nzcv == other.state.nzcv && memory == other.memory && error == other.error;
  }
};

std::uint64_t hash_of(const std::vector<std::uint8_t>& bytes, std::uint64_t hash) {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i + 8 <= bytes.size(); i += 8) {
    std::memcpy(&word, &bytes[i], 8);
    hash = (hash ^ word) * 0x9E37'79B9'7F4A'7C15u;
    hash ^= hash >> 29;
  }
  return hash;
}

class Program {
 public:
  Program(std::uint64_t seed, bool attaches) : random_(seed), shape_(seed ^ 0x5555), attaches_(attaches) {
    EXPECT_EQ(uc_mem_map(guest_.uc, kMade, kMadeBytes, UC_PROT_ALL), UC_ERR_OK);
    EXPECT_EQ(uc_mem_map(guest_.uc, kTemplates, kTemplatesBytes, UC_PROT_READ), UC_ERR_OK);
    guest_.write_code(kCode, kMain);
    for (unsigned slot = 0; slot < kSlotCount; ++slot) {
      guest_.write_code(kSlots + slot * kSlotBytes, slot == kCopySlot ? kCopy : drawn_function());
      write_template(slot);
    }
    uc_hook hook = 0;
    uc_hook_add(guest_.uc, &hook, UC_HOOK_INTR, reinterpret_cast<void*>(&at_call), this, 1, 0);
    made_perms_.fill(UC_PROT_ALL);
  }

  std::vector<Snapshot> run(std::size_t calls) {
    calls_left_ = calls;
    attach();
    std::uint64_t pc = kCode;
    for (int runs = 0; calls_left_ != 0 && runs < 4000; ++runs) {
      const uc_err error = guest_.run(pc, 0, attaches_ ? 0 : kPatienceUs);
      std::size_t is_late = 0;
      uc_query(guest_.uc, UC_QUERY_TIMEOUT, &is_late);
      if (is_late != 0) return {};
      pc = error == UC_ERR_OK ? kCode + 4 : kCode;  // Unicorn does not always tell where a stop in a hook was
      if (error != UC_ERR_OK) note(error);
    }
    if (guest_.handle != nullptr) stats = guest_.stats();
    guest_.detach();
    note(-2);
    return std::move(seen_);
  }

  trident_unicorn_stats stats{};
  std::vector<std::string> log;  ///< what led to each snapshot

 private:
  std::vector<std::uint32_t> drawn_function() {
    const std::uint32_t kind = shape_.below(6);
    if (kind == 0) return kFillAll;
    if (kind == 1) return kSumAll;
    if (kind == 2) return kCopy;
    std::vector<std::uint32_t> words = RandomBody(shape_).code(1 + shape_.below(12));
    words.push_back(kRet);
    return words;
  }
  void write_template(unsigned slot) {
    std::vector<std::uint32_t> words = drawn_function();
    words.resize(kSlotBytes / 4, kRet);
    guest_.write(kTemplates + slot * kSlotBytes, words.data(), kSlotBytes);
  }

  void attach() {
    trident_unicorn_options options = early();
    const std::uint64_t kind = random_.below(8);
    options.hot = 4;
    if (kind == 0) options.flags |= TRIDENT_UNICORN_JOINED;
    if (kind == 1) options.flags |= TRIDENT_UNICORN_VERIFY;
    if (kind == 2) options.sample_blocks = 300;
    options.budget = kind == 3 ? 7 : 0;
    if (attaches_ && guest_.handle == nullptr) guest_.attach(options);
  }

  void note(int error) {
    Snapshot now{guest_.state(), 0, error};
    now.state.pc = 0;
    for (const auto& [base, bytes] : {std::pair{kData, kDataBytes}, std::pair{kMade, kMadeBytes}})
      for (std::uint64_t at = base; at < base + bytes; at += kPage) {
        std::vector<std::uint8_t> page(kPage);
        if (uc_mem_read(guest_.uc, at, page.data(), kPage) == UC_ERR_OK) now.memory = hash_of(page, now.memory + 1);
      }
    seen_.push_back(now);
    log.push_back(text_);
    text_.clear();
  }

  static void at_call(uc_engine*, std::uint32_t, void* data) {
    auto* const self = static_cast<Program*>(data);
    if (self->is_nested_) {
      uc_emu_stop(self->guest_.uc);
      return;
    }
    self->note(-1);
    if (--self->calls_left_ == 0) {
      uc_emu_stop(self->guest_.uc);
      return;
    }
    if (self->random_.one_in(3)) self->act();
    self->call_next();
  }

  std::uint64_t drawn_address() {
    const std::uint64_t size = kDataBytes - 64;
    return random_.one_in(5) ? kMade + random_.below(kMadeBytes) : kData + random_.below(size);
  }

  void call_next() {
    GuestState state = guest_.state();
    if (random_.one_in(2))
      for (unsigned r = 0; r < 16; ++r) state.x[r] = random_.next() >> random_.below(64);
    for (unsigned r = 20; r < 24; ++r) state.x[r] = drawn_address();
    state.x[24] = random_.below(64);
    state.x[27] = 1 + random_.below(40);
    state.x[28] = 1 + random_.below(40);
    state.x[10] = drawn_address();
    state.x[14] = drawn_address();
    state.x[11] = 1 + random_.below(400);
    const unsigned page = random_.below(kMadeBytes / kPage);
    if (random_.one_in(3) && (made_perms_[page] & UC_PROT_EXEC) != 0 && is_made_[page] != 0) {
      state.x[17] = kMade + page * kPage + (is_made_[page] - 1) * kSlotBytes;
    } else if (random_.one_in(4)) {  // the guest makes a function
      const unsigned slot = random_.below(kPage / kSlotBytes);
      state.x[10] = kMade + page * kPage + slot * kSlotBytes;
      state.x[14] = kTemplates + random_.below(kSlotCount) * kSlotBytes;
      state.x[11] = kSlotBytes;
      state.x[17] = kSlots + kCopySlot * kSlotBytes;
      if ((made_perms_[page] & UC_PROT_WRITE) != 0) is_made_[page] = slot + 1;
    } else {
      state.x[17] = kSlots + random_.below(kSlotCount) * kSlotBytes;
    }
    if (is_made_spoilt(state)) state.x[10] = kData + 64;
    guest_.set(state);
    char line[120];
    std::snprintf(line, sizeof line, " call %lx x10 %lx x14 %lx x11 %lx", state.x[17], state.x[10], state.x[14],
                  state.x[11]);
    text_ += line;
  }
  std::string text_;

  /// Functions that are made stay whole: others store to data only.
  bool is_made_spoilt(GuestState& state) {
    if (state.x[11] == kSlotBytes && state.x[14] >= kTemplates) return false;
    for (unsigned r = 20; r < 24; ++r)
      if (state.x[r] >= kMade) state.x[r] = kData + 0x2000;
    return state.x[10] >= kMade;
  }

  void protect(std::uint64_t at, std::uint32_t perms) {
    EXPECT_EQ(uc_mem_protect(guest_.uc, at, kPage, perms), UC_ERR_OK);
  }

  void make_anew(std::uint64_t at, std::uint32_t perms) {
    uc_ctl_remove_cache(guest_.uc, at, at + kPage);
    EXPECT_EQ(uc_mem_unmap(guest_.uc, at, kPage), UC_ERR_OK);
    EXPECT_EQ(uc_mem_map(guest_.uc, at, kPage, perms), UC_ERR_OK);
  }

  void change_code() {
    const std::uint64_t slot = 1 + random_.below(kSlotCount - 1);
    std::vector<std::uint32_t> words = drawn_function();
    guest_.write_code(kSlots + slot * kSlotBytes, words);
  }

  void run_nested() {
    const GuestState before = guest_.state();
    GuestState state = before;
    state.x[10] = kData + random_.below(0x1000);
    state.x[11] = 1 + random_.below(300);
    state.x[30] = kCode + 0x800;
    guest_.set(state);
    is_nested_ = true;
    (void)guest_.run(kSlots + kCopySlot * kSlotBytes, kCode + 0x800);
    is_nested_ = false;
    guest_.set(before);
    uc_reg_write(guest_.uc, UC_ARM64_REG_PC, &before.pc);
  }

  void act() {
    const unsigned page = random_.below(kDataBytes / kPage), made = random_.below(kMadeBytes / kPage);
    const std::uint64_t choice = random_.below(14);
    const std::uint64_t word = random_.next();
    constexpr std::uint32_t kPerms[] = {UC_PROT_READ, UC_PROT_READ | UC_PROT_WRITE, UC_PROT_ALL,
                                        UC_PROT_READ | UC_PROT_WRITE};
    constexpr std::uint32_t kMadePerms[] = {UC_PROT_READ | UC_PROT_EXEC, UC_PROT_READ | UC_PROT_WRITE, UC_PROT_ALL};
    const std::uint32_t perms = kPerms[random_.below(4)], made_perms = kMadePerms[random_.below(3)];
    char line[120];
    std::snprintf(line, sizeof line, " act %lu page %u perms %u made %u perms %u", choice, page, perms, made,
                  made_perms);
    text_ += line;
    switch (choice) {
      case 0: protect(kData + page * kPage, perms); break;
      case 1: make_anew(kData + page * kPage, perms); break;
      case 2: guest_.write(kData + page * kPage + word % 4000, &word, 8); break;
      case 3: change_code(); break;
      case 4: uc_emu_stop(guest_.uc); break;
      case 5:
      case 6: protect(kMade + made * kPage, made_perms), made_perms_[made] = made_perms; break;
      case 7: run_nested(); break;
      case 8:
        if (guest_.handle != nullptr) trident_unicorn_pause(guest_.handle, static_cast<int>(word & 1));
        break;
      case 9:
        if (word % 3 == 0) {
          guest_.detach();
          if (attaches_)
            attach();
          else
            (void)random_.below(8);
        }
        break;
      case 10:
        if (guest_.handle != nullptr)
          trident_unicorn_loop(guest_.handle, kSlots + kSlotBytes * (word % kSlotCount) + 8);
        break;
      default: break;
    }
  }

 private:
  testing::Random random_, shape_;
  bool attaches_, is_nested_ = false;
  Guest guest_;
  std::size_t calls_left_ = 0;
  std::array<std::uint32_t, kMadeBytes / kPage> made_perms_{};
  std::array<unsigned, kMadeBytes / kPage> is_made_{};
  std::vector<Snapshot> seen_;
};

TEST(RandomPrograms, DoWhatTheyDoAlone) {
  constexpr std::uint64_t kPrograms = 12;
  constexpr std::size_t kCalls = 1500;
  std::uint64_t entries = 0;
  for (std::uint64_t seed = 1; seed <= kPrograms; ++seed) {
    Program alone(seed, false), attached(seed, true);
    const std::vector<Snapshot> right = alone.run(kCalls);
    if (right.empty()) continue;
    const std::vector<Snapshot> got = attached.run(kCalls);
    entries += attached.stats.entries;
    for (std::size_t i = 0; i < std::min(right.size(), got.size()); ++i)
      ASSERT_TRUE(right[i] == got[i]) << "program " << seed << " at " << i << ":" << alone.log[i];
    ASSERT_EQ(right.size(), got.size()) << seed;
  }
  EXPECT_GT(entries, 1000u);
}

}  // namespace
}  // namespace trident::tests
