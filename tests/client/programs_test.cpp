// Programs of Triton VM through the C interface: by a real daemon, by the engine in this process, by nobody. Oracle:
// our machine on what was given and on what came back; sums of squares by their formula.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "clients/c/trident.h"
#include "jit/tir/vm/machine.h"
#include "tests/daemon/private_daemon.h"

namespace trident::tests {
namespace {

using field::Element;

constexpr const char* kSquares =
    "read_io 1\ncall sum\nwrite_io 1\nhalt\nfn sum {\n  push 0\n  swap 1\n  loop {\n    dup 0 dup 0 mul\n    dup 2 "
    "add\n    swap 2 pop 1\n  }\n  pop 1\n  return\n}\n";

class ProgramContext {
 public:
  explicit ProgramContext(trident_mode mode, const std::string& socket = "/nonexistent/tridentd.sock") {
    ::setenv("TRIDENT_ENGINE", TRIDENT_ENGINE_PATH, 1);
    trident_options options{};
    options.struct_size = sizeof(options);
    options.mode = static_cast<std::uint32_t>(mode);
    options.socket_path = socket.c_str();
    options.connect_timeout_ms = 60'000;
    EXPECT_EQ(TRIDENT_OK, trident_open(&options, &ctx_)) << trident_last_error();
  }
  ProgramContext(const ProgramContext&) = delete;
  ProgramContext& operator=(const ProgramContext&) = delete;
  ~ProgramContext() { trident_close(ctx_); }
  operator trident_ctx*() const { return ctx_; }

 private:
  trident_ctx* ctx_ = nullptr;
};

/// TIR with one public word.
trident_program_options options_for(const std::uint64_t& input) {
  trident_program_options options{};
  options.struct_size = sizeof(options);
  options.form = TRIDENT_TIR;
  options.public_input = &input;
  options.public_count = 1;
  options.milliseconds = 3000;
  return options;
}

struct Run {
  std::vector<Element> output;
  tir::vm::Heights heights;
};
Run run_of(const std::string& tasm, std::uint64_t input) {
  const auto program = tir::tasm::assemble(ir::SourceText(tasm));
  EXPECT_TRUE(program.ok()) << tasm;
  tir::vm::Code code;
  EXPECT_TRUE(tir::vm::load(*program, code).ok());
  tir::vm::Machine machine;
  const std::vector<Element> words = {Element(input)};
  EXPECT_EQ(machine.run(code, {words, {}, {}, {}, {}}), tir::vm::Failure::none);
  return {machine.output(), machine.heights()};
}

void check_squares(trident_ctx* ctx, bool by_daemon) {
  const std::uint64_t input = 100;
  const trident_program_options options = options_for(input);
  trident_program* program = nullptr;
  ASSERT_EQ(TRIDENT_OK, trident_build_program(ctx, kSquares, &options, nullptr, nullptr, &program))
      << trident_last_error();
  ASSERT_NE(nullptr, program);
  EXPECT_EQ(sizeof(trident_program), program->struct_size);
  EXPECT_EQ(by_daemon ? 1u : 0u, program->by_daemon);
  EXPECT_EQ(1u, program->better);
  EXPECT_LT(program->words_after, program->words_before);
  EXPECT_LE(program->padded_after, program->padded_before);
  EXPECT_EQ(std::string(program->tasm).size(), program->tasm_size);
  for (const std::uint64_t n : {0, 1, 7, 100})
    EXPECT_EQ(run_of(program->tasm, n).output,
              std::vector<Element>{Element(n == 0 ? 0 : (n - 1) * n * (2 * n - 1) / 6)});
  const Run run = run_of(program->tasm, input);
  for (std::size_t t = 0; t < TRIDENT_TABLES; ++t) EXPECT_EQ(run.heights.rows[t], program->heights_after[t]) << t;
  EXPECT_EQ(run.heights.padded(), program->padded_after);
  EXPECT_GT(program->heights_before[TRIDENT_TABLE_PROCESSOR], 100u);
  EXPECT_EQ(256u, program->heights_before[TRIDENT_TABLE_LOOKUP]);
  const auto report = nlohmann::json::parse(program->report, nullptr, false);
  EXPECT_TRUE(report.contains("proposers")) << program->report;

  // Its own answer as TASM: nothing gets worse.
  trident_program_options again = options;
  again.form = TRIDENT_TASM;
  trident_program* second = nullptr;
  ASSERT_EQ(TRIDENT_OK, trident_build_program(ctx, program->tasm, &again, nullptr, nullptr, &second))
      << trident_last_error();
  EXPECT_EQ(program->padded_after, second->padded_before);
  EXPECT_LE(second->padded_after, second->padded_before);
  trident_free_program(second);
  trident_free_program(program);
}

TEST(ClientPrograms, AreBuiltByTheDaemon) {
  PrivateDaemon daemon;
  const ProgramContext ctx(TRIDENT_MODE_DAEMON, daemon.socket());
  check_squares(ctx, true);
}

TEST(ClientPrograms, AreBuiltByTheEngineInThisProcess) {
  check_squares(ProgramContext(TRIDENT_MODE_EMBEDDED), false);
  check_squares(ProgramContext(TRIDENT_MODE_AUTO), false);  // where no daemon is
}

/// Built for 100 and for 3: the report has the heights of both.
void check_runs(trident_ctx* ctx) {
  const std::uint64_t input = 100, other = 3;
  trident_program_options options = options_for(input);
  trident_program_run run{};
  run.public_input = &other, run.public_count = 1;
  options.runs = &run, options.run_count = 1;
  trident_program* program = nullptr;
  ASSERT_EQ(TRIDENT_OK, trident_build_program(ctx, kSquares, &options, nullptr, nullptr, &program))
      << trident_last_error();
  const auto runs = nlohmann::json::parse(program->report).at("runs");
  ASSERT_EQ(2u, runs.size());
  for (std::size_t i = 0; i < 2; ++i) {
    const Run measured = run_of(program->tasm, i == 0 ? input : other);
    for (std::size_t t = 0; t < TRIDENT_TABLES; ++t) EXPECT_EQ(measured.heights.rows[t], runs[i]["after"][t]) << t;
  }
  trident_free_program(program);
  options.runs = nullptr;
  EXPECT_EQ(TRIDENT_E_INVALID, trident_build_program(ctx, kSquares, &options, nullptr, nullptr, &program));
  options.runs = &run, options.run_count = 64;
  EXPECT_EQ(TRIDENT_E_LIMIT, trident_build_program(ctx, kSquares, &options, nullptr, nullptr, &program));
  // A caller from before there were runs: what stands behind its struct is not looked at.
  options.struct_size = offsetof(trident_program_options, runs);
  EXPECT_EQ(TRIDENT_OK, trident_build_program(ctx, kSquares, &options, nullptr, nullptr, &program));
  trident_free_program(program);
}

TEST(ClientPrograms, AreMeasuredOnAllRuns) {
  PrivateDaemon daemon;
  check_runs(ProgramContext(TRIDENT_MODE_DAEMON, daemon.socket()));
  check_runs(ProgramContext(TRIDENT_MODE_EMBEDDED));
}

void check_refusals(trident_ctx* ctx) {
  std::uint64_t input = 3;
  trident_program_options options = options_for(input);
  trident_program* program = nullptr;
  const auto status_of = [&](const char* text) {
    const trident_status status = trident_build_program(ctx, text, &options, nullptr, nullptr, &program);
    EXPECT_EQ(nullptr, program);
    return status;
  };
  EXPECT_EQ(TRIDENT_E_SYNTAX, status_of("push 1\n  frob"));
  EXPECT_NE(std::string::npos, std::string(trident_last_error()).find(":2:3: there is no operation 'frob'"))
      << trident_last_error();
  options.public_count = 0;
  EXPECT_EQ(TRIDENT_E_INVALID, status_of(kSquares));  // nothing to read
  EXPECT_NE(std::string::npos, std::string(trident_last_error()).find("input")) << trident_last_error();
}

TEST(ClientPrograms, MistakesAreNamed) {
  PrivateDaemon daemon;
  check_refusals(ProgramContext(TRIDENT_MODE_DAEMON, daemon.socket()));
  check_refusals(ProgramContext(TRIDENT_MODE_EMBEDDED));
}

TEST(ClientPrograms, ArgumentsAreChecked) {
  const ProgramContext ctx(TRIDENT_MODE_EMBEDDED);
  std::uint64_t input = 3;
  trident_program* program = nullptr;
  const auto status_of = [&](const trident_program_options& options) {
    program = reinterpret_cast<trident_program*>(1);
    const trident_status status = trident_build_program(ctx, kSquares, &options, nullptr, nullptr, &program);
    EXPECT_EQ(nullptr, program);
    return status;
  };
  trident_program_options options = options_for(input);
  options.form = 2;
  EXPECT_EQ(TRIDENT_E_INVALID, status_of(options));
  options = options_for(input);
  options.struct_size = 0;
  EXPECT_EQ(TRIDENT_E_INVALID, status_of(options));
  options = options_for(input);
  options.left_out = 16;
  EXPECT_EQ(TRIDENT_E_INVALID, status_of(options));
  options = options_for(input);
  options.ram_count = 1;
  EXPECT_EQ(TRIDENT_E_INVALID, status_of(options));
  options.ram_count = UINT64_MAX;
  EXPECT_EQ(TRIDENT_E_LIMIT, status_of(options));
  options = options_for(input);
  input = 0xFFFF'FFFF'0000'0001;  // p
  EXPECT_EQ(TRIDENT_E_INVALID, status_of(options));
  EXPECT_EQ(TRIDENT_E_INVALID, trident_build_program(nullptr, kSquares, nullptr, nullptr, nullptr, &program));
  EXPECT_EQ(TRIDENT_E_INVALID, trident_build_program(ctx, nullptr, nullptr, nullptr, nullptr, &program));
  EXPECT_EQ(TRIDENT_E_INVALID, trident_build_program(ctx, kSquares, nullptr, nullptr, nullptr, nullptr));
  trident_free_program(nullptr);
  // An older caller knows the first fields alone.
  options = options_for(input);
  options.struct_size = offsetof(trident_program_options, public_input);
  options.form = TRIDENT_TASM;
  ASSERT_EQ(TRIDENT_OK, trident_build_program(ctx, "push 1 write_io 1 halt", &options, nullptr, nullptr, &program))
      << trident_last_error();
  EXPECT_EQ(run_of(program->tasm, 0).output, std::vector<Element>{Element(1)});
  trident_free_program(program);
}

TEST(ClientPrograms, NobodyBuildsInModeInterp) {
  const ProgramContext ctx(TRIDENT_MODE_INTERP);
  trident_program* program = nullptr;
  EXPECT_EQ(TRIDENT_E_UNSUPPORTED, trident_build_program(ctx, "halt", nullptr, nullptr, nullptr, &program));
  EXPECT_NE(std::string::npos, std::string(trident_last_error()).find("mode interp"));
}

int give_up(std::uint32_t, std::uint32_t, void* user) {
  ++*static_cast<int*>(user);
  return 1;
}

TEST(ClientPrograms, AreGivenUpWhenTheCallerSaysSo) {
  PrivateDaemon daemon;
  for (const trident_mode mode : {TRIDENT_MODE_DAEMON, TRIDENT_MODE_EMBEDDED}) {
    const ProgramContext ctx(mode, daemon.socket());
    const std::uint64_t input = 100;
    const trident_program_options options = options_for(input);
    trident_program* program = nullptr;
    int calls = 0;
    EXPECT_EQ(TRIDENT_E_CANCELLED, trident_build_program(ctx, kSquares, &options, give_up, &calls, &program));
    EXPECT_EQ(nullptr, program);
    EXPECT_EQ(1, calls);
  }
}

TEST(ClientPrograms, SeveralThreadsAtOnce) {
  const ProgramContext ctx(TRIDENT_MODE_EMBEDDED);
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      const std::string text = "push " + std::to_string(t) + " push 0 add write_io 1 halt";
      trident_program* program = nullptr;
      if (trident_build_program(ctx, text.c_str(), nullptr, nullptr, nullptr, &program) != TRIDENT_OK) return;
      right += run_of(program->tasm, 0).output == std::vector<Element>{Element(static_cast<std::uint64_t>(t))} ? 1 : 0;
      trident_free_program(program);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(3, right);
}

}  // namespace
}  // namespace trident::tests
