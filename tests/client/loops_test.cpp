// Guests' loops through the whole library: compiled by a real daemon or by the engine in this process, entered in the
// middle of a guest's run. Oracle: the guest of guest_loops.h, which runs every instruction itself.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "clients/c/trident_loop.h"
#include "tests/client/client_context.h"
#include "tests/client/guest_loops.h"
#include "tests/daemon/private_daemon.h"
#include "tests/fault/scripted_daemon.h"

namespace trident::tests {
namespace {

using testing::ScriptedConnection;
using testing::ScriptedDaemon;

constexpr std::uint64_t kDataBytes = 1 << 16;
constexpr std::uint32_t kReadWrite = TRIDENT_LOOP_READ | TRIDENT_LOOP_WRITE;

/// A context and the loops of one CPU.
class Client {
 public:
  explicit Client(trident_mode mode) : context_(mode) { open_loops(); }
  Client(trident_mode mode, const std::string& socket) : context_(mode, socket) { open_loops(); }
  ~Client() { trident_loops_close(loops_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  trident_status map(std::uint64_t base, void* host, std::uint64_t size, std::uint32_t permissions) {
    trident_loop_memory memory{};
    memory.struct_size = sizeof memory;
    memory.permissions = permissions;
    memory.base = base;
    memory.size = size;
    memory.host = host;
    return trident_loops_map(loops_, &memory);
  }
  trident_loop* submit(const std::vector<std::uint32_t>& words, std::uint64_t head = kGuestHead,
                       std::uint32_t flags = 0) {
    trident_loop_request request{};
    request.struct_size = sizeof request;
    request.flags = flags;
    request.head = request.code_base = head;
    request.code = words.data();
    request.code_size = 4 * words.size();
    trident_loop* loop = nullptr;
    EXPECT_EQ(TRIDENT_OK, trident_loop_submit(loops_, &request, &loop)) << trident_last_error();
    return loop;
  }
  [[nodiscard]] nlohmann::json statistics() const { return context_.statistics("loops"); }
  [[nodiscard]] trident_loops* loops() const { return loops_; }

 private:
  void open_loops() { EXPECT_EQ(TRIDENT_OK, trident_loops_open(context_.get(), nullptr, &loops_)); }

  ClientContext context_;
  trident_loops* loops_ = nullptr;
};

trident_loop_facts facts_of(const trident_loop* loop) {
  trident_loop_facts facts{};
  facts.struct_size = sizeof facts;
  EXPECT_EQ(TRIDENT_OK, trident_loop_info(loop, &facts));
  return facts;
}

std::string note_of(const trident_loop* loop) {
  const char* note = facts_of(loop).note;
  return note == nullptr ? "" : note;
}

/// Waits until the loop is ready or given up.
std::uint32_t settled(const trident_loop* loop) {
  EXPECT_TRUE(eventually([&] { return facts_of(loop).state != TRIDENT_LOOP_WAITING; }));
  return facts_of(loop).state;
}

/// Runs the guest with native code wherever it is at the loop's head, with budgets that the random numbers choose.
struct Host {
  trident_loop* loop;
  std::mt19937_64& random;
  std::uint64_t entered = 0;

  void enter(Guest& guest) {
    std::uint64_t read = 0, written = 0;
    trident_loop_registers(loop, &read, &written);
    trident_loop_frame frame{};
    for (int i = 0; i < 32; ++i) frame.x[i] = (read >> i & 1) != 0 ? guest.x[i] : 0xdeadbeefdeadbeef;
    frame.nzcv = (read >> 32 & 1) != 0 ? guest.nzcv : 0xa0000000;
    frame.pc = guest.pc;
    frame.region.budget = 1 + random() % 100;
    if (trident_loop_enter(loop, &frame) == TRIDENT_LOOP_REFUSED) return;
    ++entered;
    for (int i = 0; i < 32; ++i)
      if ((written >> i & 1) != 0) guest.x[i] = frame.x[i];
    if ((written >> 32 & 1) != 0) guest.nzcv = frame.nzcv;
    guest.pc = frame.pc;
  }
  void run(const GuestLoop& what, Guest& guest) {
    while (what.is_in(guest.pc)) {
      if (guest.pc == kGuestHead) enter(guest);
      if (what.is_in(guest.pc)) what.step(guest);
    }
  }
};

/// A guest that is about to run a loop of up to 1000 rounds, on what is in `memory`.
Guest random_guest(std::mt19937_64& random, std::span<std::uint8_t> memory) {
  Guest guest;
  guest.data = memory;
  for (std::uint8_t& byte : memory) byte = static_cast<std::uint8_t>(random());
  for (std::uint64_t& x : guest.x) x = random();
  guest.nzcv = static_cast<std::uint32_t>(random() % 16) << 28;
  for (const int base : {0, 1, 5}) guest.x[base] = kGuestData + random() % (kDataBytes - 5000);
  guest.x[2] = 1 + random() % 1000;
  return guest;
}

void expect_same(const Guest& expected, const Guest& got, const std::string& name) {
  for (int i = 0; i < 32; ++i) ASSERT_EQ(expected.x[i], got.x[i]) << name << ": x" << i;
  ASSERT_EQ(expected.nzcv, got.nzcv) << name;
  ASSERT_EQ(expected.pc, got.pc) << name;
  ASSERT_EQ(0, std::memcmp(expected.data.data(), got.data.data(), expected.data.size())) << name << ": memory";
}

/// Compares `count` runs with native code to runs without. Memory is two regions that touch, and one to read only.
void compare_runs(Client& client, trident_loop* loop, const GuestLoop& what, int count) {
  std::mt19937_64 random(what.name.size());
  Host host{loop, random};
  std::vector<std::uint8_t> shared(kDataBytes), own(kDataBytes);
  const std::uint64_t cut = kDataBytes / 2 + 24, end = kDataBytes - 4096;
  const auto map = [&](std::uint64_t begin, std::uint64_t size, std::uint32_t permissions) {
    ASSERT_EQ(TRIDENT_OK, client.map(kGuestData + begin, shared.data() + begin, size, permissions));
  };
  map(0, cut, kReadWrite);
  map(cut, end - cut, kReadWrite);
  map(end, kDataBytes - end, TRIDENT_LOOP_READ);
  for (int i = 0; i < count; ++i) {
    Guest got = random_guest(random, shared);
    std::copy(shared.begin(), shared.end(), own.begin());
    Guest expected = got;
    expected.data = own;
    what.run(expected);
    host.run(what, got);
    ASSERT_NO_FATAL_FAILURE(expect_same(expected, got, what.name)) << "run " << i;
  }
  const trident_loop_facts facts = facts_of(loop);
  EXPECT_EQ(host.entered, facts.entries);
  EXPECT_GT(facts.entries, static_cast<std::uint64_t>(count));
  EXPECT_GT(facts.iterations, facts.entries);
  EXPECT_GT(facts.misses, 0u);
  trident_loops_unmap(client.loops(), kGuestData, kDataBytes);
}

void expect_right(Client& client, const GuestLoop& what, int count = 50) {
  trident_loop* loop = client.submit(what.words());
  ASSERT_NE(nullptr, loop);
  ASSERT_EQ(TRIDENT_LOOP_READY, settled(loop)) << what.name << ": " << note_of(loop);
  EXPECT_NE(0u, facts_of(loop).installed_ns);
  EXPECT_EQ(what.code.size(), facts_of(loop).instructions);
  compare_runs(client, loop, what, count);
  trident_loop_close(loop);
}

/// A loop of which no code is made, and the row of jit/loop/refusals.def that says why not.
struct Refused {
  const char* reason;
  std::uint32_t row;
  std::uint64_t offset;  ///< of the instruction that is the reason
  std::vector<std::uint32_t> words;
};

std::vector<Refused> refused_loops() {
  const std::uint32_t count = 0xf1000442, back = 0x54ffffc1;  // subs x2, x2, #1; b.ne to the first of three
  return {{"not a loop", 1, 0, {0x91000400, 0xd65f03c0}},     // add x0, x0, #1; ret
          {"floats", 3, 0, {0x1e612800, count, back}},        // fadd d0, d0, d1
          {"call", 4, 0, {0x94000000, count, back}},          // bl
          {"indirect", 5, 0, {0xd61f0060, count, back}},      // br x3
          {"system", 6, 0, {0xd4000001, count, back}},        // svc #0
          {"exclusive", 7, 0, {0xc85f7c03, count, back}},     // ldxr x3, [x0]
          {"polling", 9, 0, {0xb9400003, 0x34ffffe3}}};       // ldr w3, [x0]; cbz w3 to it
}

void expect_refusals(Client& client) {
  std::uint64_t head = kGuestHead;
  for (const Refused& refused : refused_loops()) {
    trident_loop* loop = client.submit(refused.words, head);
    ASSERT_EQ(TRIDENT_LOOP_GIVEN_UP, settled(loop)) << refused.reason;
    const trident_loop_facts facts = facts_of(loop);
    EXPECT_EQ(refused.row + 1, facts.reason) << refused.reason;
    EXPECT_EQ(head + refused.offset, facts.reason_address) << refused.reason;
    EXPECT_NE("", note_of(loop)) << refused.reason;
    trident_loop_frame frame{};
    frame.pc = head;
    frame.region.budget = 5;
    EXPECT_EQ(TRIDENT_LOOP_REFUSED, trident_loop_enter(loop, &frame));
    head += 0x1000;
  }
}

class LoopsTest : public ::testing::Test {
 protected:
  void SetUp() override {
#if !defined(__x86_64__)
    GTEST_SKIP() << "code of loops is made for x86-64";
#endif
  }
};

TEST_F(LoopsTest, TheEngineMakesThemInThisProcess) {
  Client client(TRIDENT_MODE_EMBEDDED);
  for (const GuestLoop& what : guest_loops()) ASSERT_NO_FATAL_FAILURE(expect_right(client, what));
  expect_refusals(client);
}

TEST_F(LoopsTest, TheDaemonMakesThem) {
  const PrivateDaemon daemon;
  Client client(TRIDENT_MODE_DAEMON, daemon.socket());
  for (const GuestLoop& what : guest_loops()) ASSERT_NO_FATAL_FAILURE(expect_right(client, what));
  EXPECT_EQ(guest_loops().size(), client.statistics()["compiled"]);
  expect_refusals(client);
  const nlohmann::json refused = client.statistics()["refused"];
  EXPECT_EQ(refused_loops().size(), refused.size());
  EXPECT_EQ(1, refused["call"]) << refused;
  Client again(TRIDENT_MODE_DAEMON, daemon.socket());
  for (const GuestLoop& what : guest_loops()) ASSERT_NO_FATAL_FAILURE(expect_right(again, what, 5));
  expect_refusals(again);
  const nlohmann::json now = again.statistics();
  EXPECT_EQ(guest_loops().size(), now["compiled"]);
  EXPECT_EQ(guest_loops().size(), now["cached"]);
  EXPECT_EQ(refused_loops().size(), now["known_failures"]);
  EXPECT_EQ(2, now["refused"]["call"]);
}

TEST_F(LoopsTest, LoopsAreJoinedWhereThatIsAskedFor) {
  // ldrb w3, [x1], #1; subs x2, x2, #1; b.ne -2; mov x1, x5; ldr x4, [x1], #8; subs x6, x6, #1; b.ne -2; ret
  const std::vector<std::uint32_t> words = {0x38401423, 0xF1000442, 0x54FFFFC1, 0xAA0503E1,
                                            0xF8408424, 0xF10004C6, 0x54FFFFC1, 0xD65F03C0};
  const PrivateDaemon daemon;
  Client engine(TRIDENT_MODE_EMBEDDED), client(TRIDENT_MODE_DAEMON, daemon.socket());
  for (Client* it : {&engine, &client}) {
    for (const std::uint32_t flags : {0u, std::uint32_t{TRIDENT_LOOP_JOINED}}) {
      trident_loop* loop = it->submit(words, kGuestHead, flags);
      ASSERT_EQ(TRIDENT_LOOP_READY, settled(loop)) << note_of(loop);
      EXPECT_EQ(facts_of(loop).instructions, flags == 0 ? 3u : 7u);
      trident_loop_close(loop);
    }
  }
}

TEST_F(LoopsTest, TheDaemonHearsHowTheyDo) {
  const PrivateDaemon daemon;
  Client client(TRIDENT_MODE_DAEMON, daemon.socket());
  const GuestLoop what = guest_loops()[1];
  trident_loop* loop = client.submit(what.words());
  ASSERT_EQ(TRIDENT_LOOP_READY, settled(loop)) << note_of(loop);
  compare_runs(client, loop, what, 20);
  const trident_loop_facts facts = facts_of(loop);
  trident_loop_seen(loop, 5000, 1000);
  EXPECT_TRUE(eventually([&] { return client.statistics()["entries"] == facts.entries; }));
  EXPECT_EQ(facts.iterations, client.statistics()["iterations"]);
  EXPECT_EQ(4000, client.statistics()["saved_ns"]);
  trident_loop_seen(loop, 100, 50);
  EXPECT_TRUE(eventually([&] { return client.statistics()["saved_ns"] == 4050; }));
  EXPECT_EQ(facts.entries, client.statistics()["entries"]) << "told once";
}

TEST_F(LoopsTest, TheyGoOnWhenTheDaemonDiesAndTheEngineMakesTheNext) {
  const PrivateDaemon daemon;
  Client client(TRIDENT_MODE_AUTO, daemon.socket());
  const std::vector<GuestLoop> all = guest_loops();
  trident_loop* loop = client.submit(all[0].words());
  ASSERT_EQ(TRIDENT_LOOP_READY, settled(loop)) << note_of(loop);
  daemon.signal(SIGKILL);
  compare_runs(client, loop, all[0], 10);
  trident_loop_close(loop);
  ASSERT_NO_FATAL_FAILURE(expect_right(client, all[1], 10));
}

/// A daemon that welcomes without the bit of loops, and hears none of them.
struct OldDaemon {
  std::atomic<int> loops = 0;
  ScriptedDaemon daemon{[this](ScriptedConnection& connection, int) {
    if (!connection.greet()) return;
    while (const auto request = connection.read(60'000)) {
      if (request->message().body_type() == wire::Body::SubmitLoop) ++loops;
      connection.answer_stats(*request);
    }
  }};
};

TEST_F(LoopsTest, AnOldDaemonLeavesThemToTheEngineOrToTheGuest) {
  OldDaemon old;
  {
    Client client(TRIDENT_MODE_DAEMON, old.daemon.path());
    trident_loop* loop = client.submit(guest_loops()[0].words());
    EXPECT_EQ(TRIDENT_LOOP_GIVEN_UP, settled(loop));
    EXPECT_NE(std::string::npos, note_of(loop).find("older")) << note_of(loop);
    EXPECT_EQ(0u, facts_of(loop).reason);
  }
  Client client(TRIDENT_MODE_AUTO, old.daemon.path());
  ASSERT_NO_FATAL_FAILURE(expect_right(client, guest_loops()[0], 10));
  EXPECT_EQ(0, old.loops);
}

/// A daemon that says that it knows loops, and never answers one.
TEST_F(LoopsTest, ADaemonThatDoesNotAcceptThemIsGivenUpForThem) {
  const ScriptedDaemon daemon([](ScriptedConnection& connection, int) {
    if (!connection.read()) return;
    flatbuffers::FlatBufferBuilder builder;
    const auto features = static_cast<std::uint64_t>(wire::Feature::loops);
    connection.send_frame(builder, wire::Body::Welcome, wire::CreateWelcome(builder, 1, 1, features).Union());
    while (const auto request = connection.read(60'000)) connection.answer_stats(*request);
  });
  Client client(TRIDENT_MODE_DAEMON, daemon.path());
  const auto begin = std::chrono::steady_clock::now();
  trident_loop* loop = client.submit(guest_loops()[0].words());
  EXPECT_EQ(TRIDENT_LOOP_GIVEN_UP, settled(loop));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::seconds(4));
  EXPECT_NE(std::string::npos, note_of(loop).find("said nothing of this job")) << note_of(loop);
}

TEST_F(LoopsTest, WithoutACompilerTheyAreTheGuests) {
  Client client(TRIDENT_MODE_INTERP);
  trident_loop* loop = client.submit(guest_loops()[0].words());
  EXPECT_EQ(TRIDENT_LOOP_GIVEN_UP, settled(loop));
  EXPECT_EQ("mode interp asks no compiler", note_of(loop));
}

}  // namespace
}  // namespace trident::tests
