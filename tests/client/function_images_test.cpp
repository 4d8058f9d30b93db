// Images of functions from a daemon that the test scripts: taken, revoked, refused where they are for another function.
// Oracle: which tier answers, and the sum.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "clients/c/trident_function.h"
#include "jit/function/describe.h"
#include "jit/function/submission.h"
#include "jit/image/image.h"
#include "jit/pipeline/function.h"
#include "schemas/function_image.h"
#include "schemas/image_checks.h"
#include "tests/fault/scripted_daemon.h"

namespace trident::tests {
namespace {

using testing::Bytes;
using testing::ScriptedConnection;
using testing::ScriptedDaemon;

constexpr std::uint32_t kPatienceMs = 60'000;
constexpr const char* kSum =
    "fn sum_of(x: [i64], first: i64) -> i64 { let s = first; for i in 0..len(x) { s = s + x[i]; } return s; }";

pipeline::CompiledFunction compiled(const char* text) {
  const auto program = function::read_program(text, {});
  CHECK(program.ok());
  auto made = pipeline::compile_function(program->function(), program->library, {});
  CHECK(made.ok());
  return std::move(*made);
}

Bytes image_of(const char* text) {
  return compiled(text).image.bytes;
}

/// The sum's image with more local arrays than windows are left for.
Bytes with_too_many_windows() {
  const pipeline::CompiledFunction made = compiled(kSum);
  function::Layout layout = made.lowered;
  layout.local_bytes.assign(TRIDENT_FUNCTION_WINDOWS_MAX, 8);
  return image::build_function(made.code, function::description_of(layout), codegen::Isa::avx2, TRIDENT_TIER_BASELINE,
                               {})
      .bytes;
}

/// The sum's image with words of its description changed, and the digest that belongs to it.
template <class Change>
Bytes described_otherwise(const Change& change) {
  Bytes bytes = image_of(kSum);
  trident_image_header header;
  std::memcpy(&header, bytes.data(), sizeof header);
  std::byte* const description = bytes.data() + header.description_offset;
  trident_function_description d;
  std::memcpy(&d, description, sizeof d);
  std::vector<std::uint32_t> homes(d.parameters);
  const auto homes_at = static_cast<std::ptrdiff_t>(image::parts_of(d).homes);
  std::memcpy(homes.data(), description + homes_at, 4 * homes.size());
  change(d, homes);
  std::memcpy(description + homes_at, homes.data(), 4 * homes.size());
  std::memcpy(description, &d, sizeof d);
  const XXH128_hash_t digest = image::digest_of(bytes);
  header.digest[0] = digest.low64, header.digest[1] = digest.high64;
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

/// The sum's image as an older daemon may send it, which did not ask what the client's processor has.
Bytes for_another_processor() {
  Bytes bytes = image_of(kSum);
  trident_image_header header;
  std::memcpy(&header, bytes.data(), sizeof header);
  header.isa = TRIDENT_ISA_NEON;
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

/// Says hello as a daemon that knows functions, and returns the job of the first one; 0 when the client is gone.
std::uint64_t first_job(ScriptedConnection& connection) {
  if (connection.read() == nullptr) return 0;
  flatbuffers::FlatBufferBuilder builder;
  const auto all = static_cast<std::uint64_t>(wire::Feature::ANY);
  const auto welcome = wire::CreateWelcome(builder, 1, TRIDENT_ISA_AVX2, all);
  connection.send_frame(builder, wire::Body::Welcome, welcome.Union());
  while (const auto request = connection.read(static_cast<int>(kPatienceMs)))
    if (const auto* submit = request->message().body_as_SubmitFunction()) return submit->job();
  return 0;
}

struct Client {
  trident_ctx* ctx = nullptr;
  trident_kernel* sum = nullptr;

  explicit Client(const std::string& socket) {
    trident_options options{};
    options.struct_size = sizeof options;
    options.mode = TRIDENT_MODE_DAEMON;
    options.socket_path = socket.c_str();
    options.connect_timeout_ms = kPatienceMs;
    EXPECT_EQ(TRIDENT_OK, trident_open(&options, &ctx)) << trident_last_error();
    trident_submit_options submit = TRIDENT_SUBMIT_OPTIONS_INIT;
    submit.syntax = TRIDENT_SYNTAX_FUNCTION;
    EXPECT_EQ(TRIDENT_OK, trident_submit(ctx, kSum, &submit, &sum)) << trident_last_error();
  }
  ~Client() {
    trident_close_kernel(sum);
    trident_close(ctx);
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// The tier that answers; 99 for a wrong answer.
  std::uint32_t answering_tier() {
    std::int64_t x[] = {1, 2, 3};
    trident_argument arguments[2] = {};
    arguments[0].data = x, arguments[0].count = 3;
    arguments[1].value.i = 10;
    trident_returned returned{};
    returned.struct_size = sizeof returned;
    EXPECT_EQ(TRIDENT_OK, trident_function_call(sum, arguments, 2, 0, &returned));
    return returned.value.i == 16 && returned.failure == TRIDENT_RETURNED ? returned.tier : 99;
  }
  /// Waits until nothing more will come.
  void wait() { EXPECT_EQ(TRIDENT_OK, trident_wait(sum, 2, kPatienceMs)) << trident_last_error(); }
};

TEST(FunctionImages, AnImageIsTakenInlineOrAsAFile) {
  const Bytes image = image_of(kSum);
  for (const bool is_inline : {true, false}) {
    ScriptedDaemon daemon([&](ScriptedConnection& connection, int) {
      const std::uint64_t job = first_job(connection);
      const os::Fd file = testing::seal_image(image);
      is_inline ? connection.ready_inline(job, image) : connection.ready(job, image, file.get());
      connection.done(job, wire::Outcome::published);
      connection.drain();
    });
    Client client(daemon.path());
    client.wait();
    EXPECT_EQ(1u, client.answering_tier());
  }
}

TEST(FunctionImages, ARevokedImageRunsNoMoreAndIsNotTakenAgain) {
  const Bytes image = image_of(kSum);
  ScriptedDaemon daemon([&](ScriptedConnection& connection, int) {
    const std::uint64_t job = first_job(connection);
    connection.ready_inline(job, image);
    connection.revoke(job, 1);
    connection.ready_inline(job, image);
    connection.done(job, wire::Outcome::not_equivalent);
    connection.drain();
  });
  Client client(daemon.path());
  client.wait();
  EXPECT_EQ(0u, client.answering_tier());
  trident_kernel_info info{};
  info.struct_size = sizeof info;
  EXPECT_EQ(TRIDENT_OK, trident_info(client.sum, &info));
  EXPECT_EQ(2u, info.swaps);
}

TEST(FunctionImages, WhatIsForAnotherFunctionIsRefused) {
  struct Row {
    const char* what;
    Bytes image;
  };
  const std::vector<Row> rows = {
      {"another number of parameters", image_of("fn f(x: [i64]) -> i64 { return len(x); }")},
      {"another instruction set", for_another_processor()},
      {"a kernel", testing::build_image({.inputs = 0, .outputs = 0})},
      {"too many windows", with_too_many_windows()},
      {"a frame beyond the limit", described_otherwise([](auto& d, auto&) { d.frame_bytes = 8192; })},
      {"a home outside of the frame", described_otherwise([](auto& d, auto&) { d.result_home = 4096; })},
      {"a home in the head", described_otherwise([](auto&, auto& homes) { homes[0] = 0; })},
      {"a home that is not aligned", described_otherwise([](auto&, auto& homes) { homes[1] += 4; })},
      {"more places than there are", described_otherwise([](auto& d, auto&) { d.places += 1; })},
      {"more parameters than there are", described_otherwise([](auto& d, auto&) { d.parameters += 1; })},
      {"a size that is not its own", described_otherwise([](auto& d, auto&) { d.bytes -= 1; })}};
  for (const Row& row : rows) {
    ScriptedDaemon daemon([&](ScriptedConnection& connection, int) {
      const std::uint64_t job = first_job(connection);
      connection.ready_inline(job, row.image);
      connection.done(job, wire::Outcome::published);
      connection.drain();
    });
    Client client(daemon.path());
    client.wait();
    EXPECT_EQ(0u, client.answering_tier()) << row.what;
    const char* const note = trident_kernel_note(client.sum);
    EXPECT_NE(nullptr, note == nullptr ? nullptr : std::strstr(note, "refused")) << row.what;
  }
}

}  // namespace
}  // namespace trident::tests
