#include "runtime/os/process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "runtime/os/self.h"

namespace trident::os {
namespace {

std::vector<std::string> shell(const std::string& script) {
  return {"/bin/sh", "-c", script};
}

TEST(Process, CommandOutputAndStatus) {
  const auto result = run_command(shell("echo one; echo two >&2; exit 3"), 5000);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->output, "one\ntwo\n");
  EXPECT_EQ(result->exit.status, 3);
  EXPECT_FALSE(result->exit.clean());
}

TEST(Process, MissingProgramIsNotFound) {
  const auto result = run_command(std::vector<std::string>{"/nonexistent/program"}, 1000);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::kNotFound);
}

TEST(Process, SilentCommandTimesOutAndIsReaped) {
  const auto result = run_command(shell("exec sleep 60"), 50);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::kTimeout);
}

TEST(Process, EchoThroughPipes) {
  Process::Options options;
  options.pipe_input = true;
  auto process = Process::spawn(std::vector<std::string>{"cat"}, options);
  ASSERT_TRUE(process.ok());
  const std::string text = "through the pipes";
  ASSERT_TRUE(write_fully(process->input(), std::as_bytes(std::span(text))).ok());
  std::string back(text.size(), '\0');
  ASSERT_TRUE(read_fully(process->output(), reinterpret_cast<std::byte*>(back.data()), back.size(), 5000).ok());
  EXPECT_EQ(back, text);
  process->close_input();
  const auto exit = process->wait(5000);
  ASSERT_TRUE(exit.ok());
  EXPECT_TRUE(exit->clean());
}

TEST(Process, EnvironmentIsAddedAndReplaced) {
  ::setenv("TRIDENT_PROCESS_TEST", "outer", 1);
  Process::Options options;
  options.environment = {"TRIDENT_PROCESS_TEST=inner"};
  auto process = Process::spawn(shell("printf %s \"$TRIDENT_PROCESS_TEST\""), options);
  ASSERT_TRUE(process.ok());
  EXPECT_EQ(process->read_all(5000).value(), "inner");
}

TEST(Process, ForkedChildStreamsAndCrashIsSeen) {
  auto child = Process::fork_child([](int fd) {
    const int value = 42;
    (void)write_fully(fd, std::as_bytes(std::span(&value, 1)));
    ::raise(SIGKILL);
    return 0;
  });
  ASSERT_TRUE(child.ok());
  int value = 0;
  ASSERT_TRUE(read_fully(child->output(), reinterpret_cast<std::byte*>(&value), sizeof value, 5000).ok());
  EXPECT_EQ(value, 42);
  EXPECT_EQ(read_fully(child->output(), reinterpret_cast<std::byte*>(&value), 1, 5000).error().code,
            ErrorCode::kDisconnected);
  const auto exit = child->wait(5000);
  ASSERT_TRUE(exit.ok());
  EXPECT_EQ(exit->signal, SIGKILL);
  EXPECT_NE(exit->describe().find("signal 9"), std::string::npos);
}

// A tool has no other way to say so; its caller reads the signal.
TEST(Process, ToolsAreEndedByWriteSignalsThatWeIgnore) {
  auto* const pipe_before = ::signal(SIGPIPE, SIG_DFL);
  auto* const size_before = ::signal(SIGXFSZ, SIG_DFL);
  ignore_write_signals();
  for (const auto& [name, number] : {std::pair{"PIPE", SIGPIPE}, {"XFSZ", SIGXFSZ}}) {
    ::raise(number);  // which this process outlives
    auto process = Process::spawn(shell("kill -" + std::string(name) + " $$"), {});
    ASSERT_TRUE(process.ok());
    const auto exit = process->wait(5000);
    ASSERT_TRUE(exit.ok());
    EXPECT_EQ(exit->signal, number);
  }
  ::signal(SIGPIPE, pipe_before);
  ::signal(SIGXFSZ, size_before);
}

TEST(SharedObject, FindsASymbolAndSaysWhatIsMissing) {
  auto libm = SharedObject::open("libm.so.6");
  ASSERT_TRUE(libm.ok());
  const auto cosine = libm->symbol("cos");
  ASSERT_TRUE(cosine.ok());
  EXPECT_EQ(reinterpret_cast<double (*)(double)>(*cosine)(0.0), 1.0);
  EXPECT_EQ(libm->symbol("no_such_function").error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(SharedObject::open("/nonexistent.so").ok());
}

}  // namespace
}  // namespace trident::os
