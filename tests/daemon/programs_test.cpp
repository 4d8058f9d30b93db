// Programs of Triton VM over the socket. Oracle: our machine on the program sent and on the result; the contract for
// wrong messages.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "jit/tir/vm/machine.h"
#include "tests/daemon/private_daemon.h"
#include "tests/daemon/raw_client.h"

namespace trident::tests {
namespace {

using field::Element;

constexpr const char* kSquares =
    "read_io 1\ncall sum\nwrite_io 1\nhalt\nfn sum {\n  push 0\n  swap 1\n  loop {\n    dup 0 dup 0 mul\n    dup 2 "
    "add\n"
    "    swap 2 pop 1\n  }\n  pop 1\n  return\n}\n";

struct ProgramTerms {
  std::uint64_t job = 1;
  bool tir = true;
  std::vector<std::uint64_t> input{100}, digests{}, ram{};
  std::uint32_t milliseconds = 10'000;
  std::vector<std::uint64_t> runs{};
};

Payload program_message(const std::string& text, const ProgramTerms& terms = {}) {
  flatbuffers::FlatBufferBuilder builder;
  const auto body = wire::CreateSubmitProgram(
      builder, terms.job, terms.tir ? wire::ProgramForm::tir : wire::ProgramForm::tasm, builder.CreateString(text),
      builder.CreateVector(terms.input), 0, builder.CreateVector(terms.digests), builder.CreateVector(terms.ram), 0,
      terms.milliseconds, 600, 0, builder.CreateVector(terms.runs));
  wire::FinishMessageBuffer(builder, wire::CreateMessage(builder, wire::Body::SubmitProgram, body.Union()));
  const auto* first = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
  return {first, first + builder.GetSize()};
}

std::vector<Element> output_of(const std::string& tasm, std::uint64_t input) {
  const auto program = tir::tasm::assemble(ir::SourceText(tasm));
  EXPECT_TRUE(program.ok()) << tasm;
  tir::vm::Code code;
  EXPECT_TRUE(tir::vm::load(*program, code).ok());
  tir::vm::Machine machine;
  const std::vector<Element> words = {Element(input)};
  EXPECT_EQ(machine.run(code, {words, {}, {}, {}, {}}), tir::vm::Failure::none);
  return machine.output();
}

std::string failure_of(RawClient& client) {
  const auto answer = client.next_result();
  if (!answer || answer->kind() != wire::Body::Failure) return "no failure";
  return answer->message().body_as_Failure()->message()->str();
}

TEST(Programs, ComeBackCheaperAndDoTheSame) {
  PrivateDaemon daemon;
  RawClient client = RawClient::ready(daemon.socket());
  client.send(program_message(kSquares));
  const auto accepted = client.next();
  ASSERT_TRUE(accepted);
  EXPECT_EQ(accepted->kind(), wire::Body::Accepted);
  const auto answer = client.next_result();
  ASSERT_TRUE(answer);
  ASSERT_EQ(answer->kind(), wire::Body::ProgramReady);
  const auto& ready = *answer->message().body_as_ProgramReady();
  EXPECT_LT(ready.words_after(), ready.words_before());
  for (const std::uint64_t n : {0, 1, 7, 100})
    EXPECT_EQ(output_of(ready.text()->str(), n),
              std::vector<Element>{Element(n == 0 ? 0 : (n - 1) * n * (2 * n - 1) / 6)});
  const auto done = client.next_result();
  ASSERT_TRUE(done);
  ASSERT_EQ(done->kind(), wire::Body::Done);
  EXPECT_EQ(done->message().body_as_Done()->outcome(), wire::Outcome::published);
  const auto stats = nlohmann::json::parse(client.stats())["programs"];
  EXPECT_EQ(stats["submitted"], 1);
  EXPECT_EQ(stats["cheaper"], 1);
  // The number is free again.
  client.send(program_message(ready.text()->str(), {.tir = false}));
  ASSERT_TRUE(client.next_result());
}

TEST(Programs, AreMeasuredOnAllRuns) {
  PrivateDaemon daemon;
  RawClient client = RawClient::ready(daemon.socket());
  client.send(program_message(kSquares, {.runs = {1, 0, 0, 0, 7, 1, 0, 0, 0, 300}}));
  const auto answer = client.next_result();
  ASSERT_TRUE(answer);
  ASSERT_EQ(answer->kind(), wire::Body::ProgramReady);
  const auto& ready = *answer->message().body_as_ProgramReady();
  EXPECT_EQ(ready.runs(), 3u);
  const auto report = nlohmann::json::parse(ready.report()->str());
  ASSERT_EQ(report.at("runs").size(), 3u);
  const auto processor = [&](std::size_t run) { return report["runs"][run]["before"][1].get<std::uint64_t>(); };
  EXPECT_LT(processor(1), processor(0));
  EXPECT_LT(processor(0), processor(2));
}

TEST(Programs, MistakesAreAnsweredAndTheConnectionGoesOn) {
  PrivateDaemon daemon;
  RawClient client = RawClient::ready(daemon.socket());
  client.send(program_message("push 1\n  frob"));
  EXPECT_NE(failure_of(client).find(":2:3: there is no operation 'frob'"), std::string::npos);
  client.send(program_message(kSquares, {.input = {}}));
  EXPECT_NE(failure_of(client).find("EmptyPublicInput"), std::string::npos);
  client.send(program_message(kSquares, {.input = {field::kModulus}}));
  EXPECT_NE(failure_of(client).find("is not below p"), std::string::npos);
  client.send(program_message(kSquares, {.digests = {1, 2, 3}}));
  EXPECT_NE(failure_of(client).find("a digest has five words"), std::string::npos);
  client.send(program_message(kSquares, {.ram = {1}}));
  EXPECT_NE(failure_of(client).find("RAM an address and a word"), std::string::npos);
  client.send(program_message(kSquares, {.runs = {1, 0, 0, 0}}));
  EXPECT_NE(failure_of(client).find("run 1: words are missing"), std::string::npos);
  client.send(program_message(kSquares, {.runs = std::vector<std::uint64_t>(4 * 100)}));
  EXPECT_NE(failure_of(client).find("more than 64 runs"), std::string::npos);
  client.send(program_message(kSquares, {.runs = {0, 0, 0, 0}}));
  EXPECT_NE(failure_of(client).find("(run 2)"), std::string::npos);
  client.send(program_message(kSquares, {.milliseconds = 4'000'000'000}));
  EXPECT_NE(failure_of(client).find("at most"), std::string::npos);
  client.send(program_message(kSquares, {.job = 0}));
  EXPECT_NE(failure_of(client).find("job number"), std::string::npos);
  client.send(program_message(kSquares));
  const auto answer = client.next_result();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->kind(), wire::Body::ProgramReady);
}

TEST(Programs, AWorkerThatDiesIsToldAndReplaced) {
  PrivateDaemon daemon;
  RawClient client = RawClient::ready(daemon.socket());
  // A run of a hundred million cycles: long enough to be met.
  client.send(program_message("push 1 push 20000000 loop { } pop 1 pop 1 halt", {.milliseconds = 60'000}));
  const auto workers = daemon.workers("programs");
  ASSERT_EQ(workers.size(), 1u);
  sleep_ms(300);
  ::kill(workers[0], SIGKILL);
  EXPECT_NE(failure_of(client).find("the worker process ended"), std::string::npos);
  client.send(program_message(kSquares));
  const auto answer = client.next_result();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->kind(), wire::Body::ProgramReady);
  EXPECT_EQ(nlohmann::json::parse(client.stats())["programs"]["lost"], 1);
}

TEST(Programs, WhatIsCancelledIsNotAnswered) {
  PrivateDaemon daemon;
  RawClient client = RawClient::ready(daemon.socket());
  client.send(program_message("push 1 push 20000000 loop { } pop 1 pop 1 halt", {.job = 1, .milliseconds = 2'000}));
  client.send(program_message(kSquares, {.job = 2}));
  client.send(program_message(kSquares, {.job = 3}));
  client.send(cancel_message(1));
  client.send(cancel_message(2));
  const auto answer = client.next_result();
  ASSERT_TRUE(answer);
  ASSERT_EQ(answer->kind(), wire::Body::ProgramReady);
  EXPECT_EQ(answer->message().body_as_ProgramReady()->job(), 3u);
}

constexpr unsigned kPieces = 600;

/// One long block: the search for a shorter one takes minutes if it may.
std::string long_to_search() {
  std::string out;
  for (unsigned i = 0; i < kPieces; ++i)
    out += "read_io 1 dup " + std::to_string(i % 13 + 1) + " mul dup " + std::to_string(i % 11) + " add swap " +
           std::to_string(i % 14 + 1) + " dup " + std::to_string(i % 7) + " add\n";
  return out + "halt\n";
}

ProgramTerms minutes(std::uint64_t job) {
  return {.job = job, .tir = false, .input = std::vector<std::uint64_t>(kPieces, 7), .milliseconds = 600'000};
}

/// Until a worker has it and searches.
void wait_for_progress(RawClient& client) {
  while (const auto message = client.next())
    if (message->kind() == wire::Body::Progress) return;
  FAIL() << "no progress";
}

/// Many times the search of the small program, a small part of the limit of the long one.
constexpr int kSoonMs = 60'000;

void expect_squares_soon(RawClient& client, std::uint64_t job = 1) {
  const auto answer = client.next_result(kSoonMs);
  ASSERT_TRUE(answer) << "the worker is still at what nobody waits for";
  ASSERT_EQ(answer->kind(), wire::Body::ProgramReady);
  EXPECT_EQ(answer->message().body_as_ProgramReady()->job(), job);
  EXPECT_EQ(output_of(answer->message().body_as_ProgramReady()->text()->str(), 9), std::vector<Element>{Element(204)});
}

TEST(Programs, TheWorkerIsSoonFreeOfWhatNobodyWaitsFor) {
  PrivateDaemon daemon;
  RawClient first = RawClient::ready(daemon.socket()), other = RawClient::ready(daemon.socket());
  std::vector<int> workers;
  for (const bool goes_away : {false, true}) {
    first.send(program_message(long_to_search(), minutes(5)));
    wait_for_progress(first);
    if (workers.empty()) workers = daemon.workers("programs");
    other.send(program_message(kSquares, {.milliseconds = 1000}));
    goes_away ? first.close() : static_cast<void>(first.send(cancel_message(5)));
    expect_squares_soon(other);
    const auto done = other.next_result();
    ASSERT_TRUE(done);
    EXPECT_EQ(done->kind(), wire::Body::Done);
  }
  // It was asked, not killed: what it learns in the background goes on.
  EXPECT_EQ(daemon.workers("programs"), workers);
  const auto stats = nlohmann::json::parse(other.stats())["programs"];
  EXPECT_EQ(stats["cancelled"], 2);
  EXPECT_EQ(stats["cheaper"], 2);
  EXPECT_EQ(stats["lost"], 0);
}

TEST(Programs, AWorkerThatDoesNotHearOfACancellationIsReplaced) {
  PrivateDaemon daemon;
  RawClient client = RawClient::ready(daemon.socket());
  client.send(program_message(long_to_search(), minutes(1)));
  wait_for_progress(client);
  const auto workers = daemon.workers("programs");
  ASSERT_EQ(workers.size(), 1u);
  ::kill(workers[0], SIGSTOP);
  client.send(program_message(kSquares, {.job = 2, .milliseconds = 1000}));
  client.send(cancel_message(1));
  expect_squares_soon(client, 2);
  EXPECT_NE(daemon.workers("programs"), workers);
  EXPECT_EQ(nlohmann::json::parse(client.stats())["programs"]["lost"], 0);
}

TEST(Programs, WhatAnotherClientWaitsForGoesOn) {
  PrivateDaemon daemon;
  RawClient first = RawClient::ready(daemon.socket()), other = RawClient::ready(daemon.socket());
  // Both clients use the same program and job number; each in turn gives up while the other's is worked on or waits.
  first.send(program_message(long_to_search(), minutes(1)));
  wait_for_progress(first);
  ProgramTerms terms = minutes(1);
  terms.milliseconds = 3000;
  other.send(program_message(long_to_search(), terms));
  first.send(cancel_message(1));
  wait_for_progress(other);
  first.send(program_message(kSquares, {.milliseconds = 1000}));
  first.send(cancel_message(1));
  const auto answer = other.next_result();
  ASSERT_TRUE(answer);
  ASSERT_EQ(answer->kind(), wire::Body::ProgramReady);
  const auto& ready = *answer->message().body_as_ProgramReady();
  EXPECT_LE(ready.words_after(), ready.words_before());
  const auto stats = nlohmann::json::parse(first.stats())["programs"];
  EXPECT_EQ(stats["cancelled"], 2);
  EXPECT_EQ(stats["running"], 0);
  EXPECT_EQ(stats["waiting"], 0);
}

TEST(Programs, BlocksAreKeptToLearnFrom) {
  PrivateDaemon daemon;
  RawClient client = RawClient::ready(daemon.socket());
  client.send(program_message(kSquares));
  ASSERT_TRUE(client.next_result());
  EXPECT_TRUE(eventually([&] { return std::filesystem::exists(daemon.state() + "/programs"); }));
}

/// Messages of a log's lines that contain `part`, without their times.
std::vector<std::string> messages_with(const std::string& part, const std::string& path) {
  std::vector<std::string> found;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);)
    if (line.find(part) != std::string::npos) found.push_back(line.substr(line.find(' ') + 1));
  return found;
}

TEST(Programs, ARoundIsToldOncePerChange) {
  PrivateDaemon daemon;
  const std::string log = daemon.directory() + "/log";
  const int ours = ::dup(STDERR_FILENO);
  const int file = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  ASSERT_EQ(::dup2(file, STDERR_FILENO), STDERR_FILENO);
  daemon.restart({"--log-level", "info"});
  ::dup2(ours, STDERR_FILENO);
  ::close(ours);
  ::close(file);
  RawClient client = RawClient::ready(daemon.socket());
  client.send(program_message(kSquares));
  ASSERT_TRUE(client.next_result());
  ASSERT_TRUE(eventually([&] { return !messages_with("no training round yet", log).empty(); }));
  sleep_ms(300);  // for the other rounds of this program
  const auto told = messages_with("no training round yet", log);
  EXPECT_EQ(std::set<std::string>(told.begin(), told.end()).size(), told.size());
  EXPECT_TRUE(told.front().starts_with("tridentd programs info: no training round yet")) << told.front();
}

}  // namespace
}  // namespace trident::tests
