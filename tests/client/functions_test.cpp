// Functions with loops through the whole library: interpreted at once, compiled by a real daemon or by the engine in
// this process, swapped while they run. Oracle: the same functions of the C++ library.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "clients/c/trident_function.h"
#include "runtime/os/cpu.h"
#include "tests/client/client_context.h"
#include "tests/daemon/private_daemon.h"
#include "tests/fault/scripted_daemon.h"

namespace trident::tests {
namespace {

constexpr const char* kGcd =
    "fn gcd(a: i64, b: i64) -> i64 {\n"
    "  while b != 0 {\n"
    "    let r = a % b;\n"
    "    a = b;\n"
    "    b = r;\n"
    "  }\n"
    "  return abs(a);\n"
    "}\n";
constexpr const char* kDivide = "fn divide(a: i64, b: i64) -> i64 {\n  let c = 1;\n  return a / b;\n}\n";
constexpr const char* kBytes =
    "@param c in [32, 126]: a letter\n"
    "fn replaced(s: inout [u8], c: u8, by: u8) -> i64 {\n"
    "  let n = 0;\n"
    "  for i in 0..len(s) {\n"
    "    if s[i] == c {\n"
    "      s[i] = by;\n"
    "      n = n + 1;\n"
    "    }\n"
    "  }\n"
    "  return n;\n"
    "}\n";
constexpr const char* kUntilZero =
    "fn until_zero(x: [i64]) -> i64 {\n"
    "  let i = 0;\n"
    "  while x[i] != 0 {\n"
    "    i = i + 1;\n"
    "  }\n"
    "  return i;\n"
    "}\n";

trident_argument value_of(std::int64_t value) {
  trident_argument argument{};
  argument.value.i = value;
  return argument;
}
template <class T>
trident_argument array_of(std::vector<T>& elements) {
  trident_argument argument{};
  argument.data = elements.data();
  argument.count = elements.size();
  return argument;
}

class Client {
 public:
  explicit Client(trident_mode mode) : context_(mode) {}
  Client(trident_mode mode, const std::string& socket) : context_(mode, socket) {}

  [[nodiscard]] trident_kernel* submit(const char* text) const {
    trident_submit_options options = TRIDENT_SUBMIT_OPTIONS_INIT;
    options.syntax = TRIDENT_SYNTAX_FUNCTION;
    trident_kernel* kernel = nullptr;
    status_ = trident_submit(context_.get(), text, &options, &kernel);
    return kernel;
  }
  [[nodiscard]] trident_status status() const { return status_; }
  [[nodiscard]] trident_library* library(const char* folder = nullptr) const {
    trident_library* library = nullptr;
    status_ = trident_library_open(context_.get(), folder, &library);
    return library;
  }
  [[nodiscard]] nlohmann::json statistics() const { return context_.statistics("functions"); }

 private:
  ClientContext context_;
  mutable trident_status status_ = TRIDENT_OK;
};

trident_returned call(const trident_kernel* kernel, const std::vector<trident_argument>& arguments,
                      std::uint64_t budget = 0) {
  trident_returned returned{};
  returned.struct_size = sizeof returned;
  EXPECT_EQ(TRIDENT_OK, trident_function_call(kernel, arguments.data(), static_cast<std::uint32_t>(arguments.size()),
                                              budget, &returned))
      << trident_last_error();
  return returned;
}

trident_kernel_info info_of(const trident_kernel* kernel) {
  trident_kernel_info info{};
  info.struct_size = sizeof info;
  EXPECT_EQ(TRIDENT_OK, trident_info(kernel, &info));
  return info;
}

trident_kernel* named(trident_library* library, const char* name) {
  trident_kernel* kernel = nullptr;
  EXPECT_EQ(TRIDENT_OK, trident_library_function(library, name, &kernel)) << trident_last_error();
  return kernel;
}

void expect_native(trident_kernel* kernel) {
  ASSERT_EQ(TRIDENT_OK, trident_wait(kernel, 1, kPatienceMs)) << trident_last_error();
  ASSERT_NE(0u, info_of(kernel).tier) << trident_kernel_note(kernel);
}

/// Compares with std::gcd on drawn numbers.
void expect_gcd(const trident_kernel* kernel, std::uint32_t tier) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 200; ++i) {
    const auto a = static_cast<std::int64_t>(random() >> (random() % 60 + 2)),
               b = static_cast<std::int64_t>(random() >> (random() % 60 + 2));
    const trident_returned returned = call(kernel, {value_of(a), value_of(b)});
    ASSERT_EQ(std::gcd(a, b), returned.value.i) << a << ' ' << b;
    ASSERT_EQ(TRIDENT_RETURNED, returned.failure);
    ASSERT_EQ(tier, returned.tier);
  }
}

/// Failures are values with the line, whoever computes.
void expect_failures(const Client& client, bool native) {
  trident_kernel* divide = client.submit(kDivide);
  trident_kernel* find = client.submit(kUntilZero);
  trident_kernel* replace = client.submit(kBytes);
  for (trident_kernel* kernel : {divide, find, replace}) {
    ASSERT_NE(nullptr, kernel) << trident_last_error();
    if (native) {
      ASSERT_NO_FATAL_FAILURE(expect_native(kernel));
    }
  }
  const trident_returned by_zero = call(divide, {value_of(7), value_of(0)});
  EXPECT_EQ(TRIDENT_FAILED_DIVISION, by_zero.failure);
  EXPECT_EQ(3u, by_zero.line);
  EXPECT_STREQ("divide", by_zero.function);
  EXPECT_EQ(0, by_zero.value.i);
  EXPECT_EQ(-3, call(divide, {value_of(7), value_of(-2)}).value.i);

  std::vector<std::int64_t> list = {5, 6, 7};
  const trident_returned beyond = call(find, {array_of(list)});
  EXPECT_EQ(TRIDENT_FAILED_INDEX, beyond.failure);
  EXPECT_EQ(3u, beyond.line);
  EXPECT_EQ(TRIDENT_FAILED_BUDGET, call(find, {array_of(list)}, 2).failure);
  list[2] = 0;
  EXPECT_EQ(2, call(find, {array_of(list)}).value.i);

  std::vector<std::uint8_t> text = {'a', 'b', 'a'};
  const trident_returned out_of_range = call(replace, {array_of(text), value_of(7), value_of('x')});
  EXPECT_EQ(TRIDENT_FAILED_RANGE, out_of_range.failure);
  EXPECT_STREQ("c", out_of_range.argument);
  EXPECT_EQ(TRIDENT_FAILED_RANGE, call(replace, {array_of(text), value_of('a'), value_of(256)}).failure);
  EXPECT_EQ(2, call(replace, {array_of(text), value_of('a'), value_of('x')}).value.i);
  EXPECT_EQ((std::vector<std::uint8_t>{'x', 'b', 'x'}), text);
  for (trident_kernel* kernel : {divide, find, replace}) trident_close_kernel(kernel);
}

TEST(FunctionsTest, TheInterpreterAnswersAlone) {
  const Client client(TRIDENT_MODE_INTERP);
  trident_kernel* gcd = client.submit(kGcd);
  ASSERT_NE(nullptr, gcd) << trident_last_error();
  ASSERT_NO_FATAL_FAILURE(expect_gcd(gcd, 0));
  ASSERT_NO_FATAL_FAILURE(expect_failures(client, false));
  EXPECT_EQ(TRIDENT_OK, trident_wait(gcd, 0, 0));
  trident_close_kernel(gcd);
}

TEST(FunctionsTest, TheEngineMakesCodeInThisProcess) {
  const Client client(TRIDENT_MODE_EMBEDDED);
  trident_kernel* gcd = client.submit(kGcd);
  ASSERT_NE(nullptr, gcd) << trident_last_error();
  ASSERT_NO_FATAL_FAILURE(expect_native(gcd));
  ASSERT_NO_FATAL_FAILURE(expect_gcd(gcd, info_of(gcd).tier));
  ASSERT_NO_FATAL_FAILURE(expect_failures(client, true));
  trident_close_kernel(gcd);
}

/// The optimised tier reverses lists of any length.
void expect_reversed(const Client& client) {
  trident_library* library = client.library();
  trident_kernel* reverse = named(library, "reverse");
  ASSERT_NO_FATAL_FAILURE(expect_native(reverse));
  EXPECT_EQ(2u, info_of(reverse).tier);
  for (std::size_t count = 0; count < 70; ++count) {
    std::vector<std::int64_t> numbers(count);
    std::iota(numbers.begin(), numbers.end(), -3);
    const std::vector<std::int64_t> backwards(numbers.rbegin(), numbers.rend());
    EXPECT_EQ(2u, call(reverse, {array_of(numbers)}).tier);
    EXPECT_EQ(backwards, numbers);
  }
  trident_library_close(library);
}

TEST(FunctionsTest, TheEngineMakesTheOptimisedTier) {
  if (!os::cpu_features().bmi2) GTEST_SKIP() << "the code of functions needs a processor with BMI2";
  const Client client(TRIDENT_MODE_EMBEDDED);
  expect_reversed(client);
}

TEST(FunctionsTest, TheDaemonMakesCodeAndKnowsItAgain) {
  const PrivateDaemon daemon;
  const Client client(TRIDENT_MODE_DAEMON, daemon.socket());
  trident_kernel* gcd = client.submit(kGcd);
  ASSERT_NE(nullptr, gcd) << trident_last_error();
  ASSERT_NO_FATAL_FAILURE(expect_native(gcd));
  ASSERT_NO_FATAL_FAILURE(expect_gcd(gcd, info_of(gcd).tier));
  ASSERT_NO_FATAL_FAILURE(expect_failures(client, true));
  EXPECT_EQ(4, client.statistics()["compiled"]);
  const Client again(TRIDENT_MODE_DAEMON, daemon.socket());
  trident_kernel* same = again.submit(kGcd);
  ASSERT_NO_FATAL_FAILURE(expect_native(same));
  EXPECT_EQ(4, again.statistics()["compiled"]);
  EXPECT_EQ(1, again.statistics()["cached"]);
  trident_close_kernel(same);
  trident_close_kernel(gcd);
}

/// The daemon's code of a loop over an array does many rounds at once; a second client gets the same.
TEST(FunctionsTest, TheDaemonMakesTheOptimisedTierOfLoopsOverArrays) {
  if (!os::cpu_features().bmi2) GTEST_SKIP() << "the code of functions needs a processor with BMI2";
  const PrivateDaemon daemon;
  for (int round = 0; round < 2; ++round) {
    const Client client(TRIDENT_MODE_DAEMON, daemon.socket());
    expect_reversed(client);
  }
}

TEST(FunctionsTest, CodeOutlivesTheDaemon) {
  PrivateDaemon daemon;
  for (const int compiled : {1, 0}) {
    const Client client(TRIDENT_MODE_DAEMON, daemon.socket());
    trident_kernel* gcd = client.submit(kGcd);
    ASSERT_NO_FATAL_FAILURE(expect_native(gcd));
    ASSERT_NO_FATAL_FAILURE(expect_gcd(gcd, info_of(gcd).tier));
    EXPECT_EQ(1 - compiled, client.statistics()["cached"]) << "found in the stored cache";
    trident_close_kernel(gcd);
    daemon.signal(SIGTERM);
    daemon.wait();
    daemon.restart();
  }
}

TEST(FunctionsTest, ValuesAloneMakeAKernel) {
  const Client client(TRIDENT_MODE_EMBEDDED);
  trident_kernel* divide = client.submit(kDivide);
  ASSERT_NE(nullptr, divide);
  EXPECT_EQ(2u, info_of(divide).array_count);
  EXPECT_EQ(2u, info_of(divide).output_count);
  EXPECT_EQ(1, trident_array_index(divide, "b"));
  EXPECT_EQ(-1, trident_scalar_index(divide, "b"));
  EXPECT_EQ(1, trident_output_index(divide, "status"));
  EXPECT_EQ(TRIDENT_I64, trident_array_type(divide, 0));
  const std::vector<std::int64_t> a = {7, 8, -9}, b = {2, 0, 2};
  for (int round = 0; round < 2; ++round) {
    std::vector<std::int64_t> result(3, 99), status(3, 99);
    const void* const in[] = {a.data(), b.data()};
    void* const out[] = {result.data(), status.data()};
    trident_call(divide, 3, in, out, nullptr);
    EXPECT_EQ((std::vector<std::int64_t>{3, 0, -4}), result);
    EXPECT_EQ((std::vector<std::int64_t>{0, 3 * 256 + TRIDENT_FAILED_DIVISION, 0}), status);
    ASSERT_NO_FATAL_FAILURE(expect_native(divide));
  }
  trident_close_kernel(divide);
}

/// Paths without loops become an expression, whose kernel does many elements at once; each alone gives the same.
TEST(FunctionsTest, ManyElementsOfAFunctionOfRealsAreEachAsOne) {
  constexpr const char* kRamp =
      "fn ramp(x: f64, lo: f64) -> f64 {\n  if x < lo {\n    return -lo;\n  }\n  return x * x + lo;\n}";
  const PrivateDaemon daemon;
  for (const trident_mode mode : {TRIDENT_MODE_INTERP, TRIDENT_MODE_EMBEDDED, TRIDENT_MODE_DAEMON}) {
    const Client client(mode, daemon.socket());
    trident_kernel* ramp = client.submit(kRamp);
    ASSERT_NE(nullptr, ramp) << trident_last_error();
    std::vector<double> x, lo, expected;
    for (int i = 0; i < 1000; ++i) {
      x.push_back(i % 7 == 0 ? NAN : i / 3.0 - 100), lo.push_back(i % 11 - 5);
      expected.push_back(x.back() < lo.back() ? -lo.back() : x.back() * x.back() + lo.back());
    }
    for (int round = 0; round < 3; ++round) {
      std::vector<double> result(x.size(), 99);
      std::vector<std::int64_t> status(x.size(), 99);
      const void* const in[] = {x.data(), lo.data()};
      void* const out[] = {result.data(), status.data()};
      trident_call(ramp, x.size(), in, out, nullptr);
      for (std::size_t i = 0; i < x.size(); ++i) {
        trident_argument arguments[2] = {};
        arguments[0].value.f = x[i], arguments[1].value.f = lo[i];
        const double alone = call(ramp, {arguments[0], arguments[1]}).value.f;
        ASSERT_TRUE(result[i] == expected[i] || (result[i] != result[i] && expected[i] != expected[i])) << i;
        ASSERT_TRUE(alone == expected[i] || (alone != alone && expected[i] != expected[i])) << i;
        ASSERT_EQ(0, status[i]);
      }
      trident_wait(ramp, 1, 10000);
    }
    trident_close_kernel(ramp);
  }
}

TEST(FunctionsTest, ArgumentsThatDoNotFitAreRefused) {
  const Client client(TRIDENT_MODE_INTERP);
  trident_library* library = client.library();
  ASSERT_NE(nullptr, library) << trident_last_error();
  trident_kernel* strcmp_of = named(library, "strcmp");
  trident_kernel* copy = named(library, "copy");
  std::vector<std::uint8_t> text = {'a', 'b', 0};
  std::vector<std::int64_t> list = {1, 2, 3, 4};
  EXPECT_EQ(0, call(strcmp_of, {array_of(text), array_of(text)}).value.i) << "arrays that are read may overlap";
  trident_returned returned{};
  returned.struct_size = sizeof returned;
  const auto refuses = [&](const trident_kernel* kernel, std::vector<trident_argument> arguments) {
    return trident_function_call(kernel, arguments.data(), static_cast<std::uint32_t>(arguments.size()), 0,
                                 &returned) == TRIDENT_E_INVALID;
  };
  trident_argument first = array_of(list), second = array_of(list);
  first.count = 3;
  second.data = list.data() + 2, second.count = 2;
  EXPECT_TRUE(refuses(copy, {first, second})) << "one of them is written";
  EXPECT_NE(nullptr, std::strstr(trident_last_error(), "overlaps")) << trident_last_error();
  EXPECT_TRUE(refuses(copy, {first}));
  first.data = reinterpret_cast<std::byte*>(list.data()) + 1, first.count = 1;
  EXPECT_TRUE(refuses(copy, {first, second}));
  first.data = nullptr;
  EXPECT_TRUE(refuses(copy, {first, second}));
  trident_library_close(library);
}

TEST(FunctionsTest, BadTextsAreRefusedWithThePlace) {
  const Client client(TRIDENT_MODE_INTERP);
  EXPECT_EQ(nullptr, client.submit("fn f(a: i64) -> i64 {\n  return a +;\n}\n"));
  EXPECT_EQ(TRIDENT_E_SYNTAX, client.status());
  EXPECT_NE(nullptr, std::strstr(trident_last_error(), "function:2:")) << trident_last_error();
  EXPECT_EQ(nullptr, client.submit("fn f(a: i64) -> bool {\n  return a;\n}\n"));
  EXPECT_EQ(TRIDENT_E_TYPE, client.status());
  EXPECT_EQ(nullptr, client.submit("fn f(a: i64) -> i64 {\n  return f(a);\n}\n"));
  EXPECT_EQ(nullptr, client.submit("fn f(a: i64) -> i64 {\n  return no_such_function(a);\n}\n"));
}

TEST(FunctionsTest, AFolderThatCannotBeReadIsABadArgument) {
  const Client client(TRIDENT_MODE_INTERP);
  for (const char* folder : {"/nowhere", "", "/dev/null"}) {
    EXPECT_EQ(nullptr, client.library(folder));
    EXPECT_EQ(TRIDENT_E_INVALID, client.status()) << folder;
  }
}

TEST(FunctionsTest, AFoldersFunctionsAreTestedAndCallableByName) {
  const PrivateDaemon daemon;
  const Client client(TRIDENT_MODE_DAEMON, daemon.socket());
  const std::string folder = daemon.directory() + "/own";
  std::filesystem::create_directories(folder + "/numbers");
  const auto write = [&](const std::string& file, const std::string& text) {
    std::ofstream(folder + "/" + file) << text;
  };
  write("numbers/twice_gcd.fn",
        "@test twice_gcd(48, 18) = 12\nfn twice_gcd(a: i64, b: i64) -> i64 {\n  return double(gcd(a, b));\n}\n");
  write("double.fn", "@test double(4) = 8\nfn double(a: i64) -> i64 {\n  return 2 * a;\n}\n");
  trident_library* library = client.library(folder.c_str());
  ASSERT_NE(nullptr, library) << trident_last_error();
  ASSERT_EQ(2u, trident_library_size(library));
  trident_kernel* twice = named(library, "twice_gcd");
  EXPECT_EQ(twice, named(library, "twice_gcd")) << "one handle";
  ASSERT_NO_FATAL_FAILURE(expect_native(twice));
  EXPECT_EQ(42, call(twice, {value_of(63), value_of(42)}).value.i);
  trident_kernel* none = nullptr;
  EXPECT_EQ(TRIDENT_E_INVALID, trident_library_function(library, "twise_gcd", &none));
  EXPECT_NE(nullptr, std::strstr(trident_last_error(), "'twice_gcd'")) << trident_last_error();
  trident_library_close(library);

  write("double.fn", "@test double(4) = 9\nfn double(a: i64) -> i64 {\n  return 2 * a;\n}\n");
  EXPECT_EQ(nullptr, client.library(folder.c_str()));
  EXPECT_EQ(TRIDENT_E_INVALID, client.status());
  EXPECT_NE(nullptr, std::strstr(trident_last_error(), "double.fn:1: a test does not hold: 8, not 9"))
      << trident_last_error();
  EXPECT_EQ(nullptr, client.library("/nonexistent"));
}

TEST(FunctionsTest, ADaemonThatKnowsNoneLeavesThemToTheEngineOrTheInterpreter) {
  testing::ScriptedDaemon old([](testing::ScriptedConnection& connection, int) {
    if (connection.greet()) connection.drain();
  });
  const Client strict(TRIDENT_MODE_DAEMON, old.path());
  trident_kernel* gcd = strict.submit(kGcd);
  ASSERT_EQ(TRIDENT_OK, trident_wait(gcd, 1, kPatienceMs));
  EXPECT_NE(nullptr, std::strstr(trident_kernel_note(gcd), "older than this library"));
  ASSERT_NO_FATAL_FAILURE(expect_gcd(gcd, 0));
  trident_close_kernel(gcd);
  const Client client(TRIDENT_MODE_AUTO, old.path());
  gcd = client.submit(kGcd);
  ASSERT_NO_FATAL_FAILURE(expect_native(gcd));
  ASSERT_NO_FATAL_FAILURE(expect_gcd(gcd, info_of(gcd).tier));
  trident_close_kernel(gcd);
}

TEST(FunctionsTest, AForkedChildCallsThemAndSubmitsMore) {
  const PrivateDaemon daemon;
  const Client client(TRIDENT_MODE_AUTO, daemon.socket());
  trident_kernel* gcd = client.submit(kGcd);
  ASSERT_NO_FATAL_FAILURE(expect_native(gcd));
  const pid_t child = ::fork();
  if (child == 0) {
    const bool old_one = call(gcd, {value_of(48), value_of(18)}).value.i == 6;
    trident_kernel* fresh = client.submit(kDivide);
    const bool waited = fresh != nullptr && trident_wait(fresh, 1, kPatienceMs) == TRIDENT_OK;
    const trident_returned returned = call(fresh, {value_of(9), value_of(3)});
    ::_exit(old_one && waited && returned.value.i == 3 && returned.tier != 0 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(child, ::waitpid(child, &status, 0));
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  trident_close_kernel(gcd);
}

TEST(FunctionsTest, AForkedChildFindsWhatAThreadOfTheParentWasAskingFor) {
  const Client client(TRIDENT_MODE_INTERP);
  for (int round = 0; round < 20; ++round) {
    trident_library* library = client.library();
    std::vector<std::thread> askers;
    for (int t = 0; t < 2; ++t)
      askers.emplace_back([&] {
        for (std::uint32_t i = 0; i < trident_library_size(library); ++i)
          named(library, trident_library_name(library, i));
      });
    ::usleep(static_cast<unsigned>(round) * 300);
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(30);
      ::_exit(call(named(library, "gcd"), {value_of(48), value_of(18)}).value.i == 6 ? 0 : 1);
    }
    for (std::thread& asker : askers) asker.join();
    int status = 0;
    ASSERT_EQ(child, ::waitpid(child, &status, 0));
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    trident_library_close(library);
  }
}

/// A text from this machine: what this test program was made of would do as well.
std::string real_text() {
  std::ifstream file(REAL_TEXT_PATH);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Work over a text, checked against the C++ library at each step.
class TextWork {
 public:
  explicit TextWork(trident_library* library)
      : gcd_(named(library, "gcd")), strchr_(named(library, "strchr")), sort_(named(library, "quicksort")) {
    const std::string text = real_text();
    bytes_.assign(text.begin(), text.end());
    EXPECT_GT(bytes_.size(), 1000u);
  }

  /// One turn: a window of the text is searched and its words' lengths are sorted and divided.
  void turn() {
    const std::size_t begin = random_() % (bytes_.size() - 600), size = 1 + random_() % 500;
    trident_argument window{};
    window.data = bytes_.data() + begin, window.count = size;
    const int sought = bytes_[random_() % bytes_.size()];
    const void* const found = std::memchr(bytes_.data() + begin, sought, size);
    const std::int64_t place =
        found == nullptr ? -1 : static_cast<const std::uint8_t*>(found) - (bytes_.data() + begin);
    note(call(strchr_, {window, value_of(sought)}), place);
    std::vector<std::int64_t> numbers(size);
    for (std::size_t i = 0; i < size; ++i) numbers[i] = bytes_[begin + i] * 1000003 % 4096;
    std::vector<std::int64_t> expected = numbers;
    std::sort(expected.begin(), expected.end());
    const trident_returned sorted = call(sort_, {array_of(numbers)});
    note(sorted, 0);
    wrong_ += numbers == expected ? 0 : 1;
    const std::int64_t a = expected.back(), b = expected.front();
    note(call(gcd_, {value_of(a), value_of(b)}), std::gcd(a, b));
    ++turns_;
  }

  [[nodiscard]] std::uint64_t wrong() const { return wrong_; }
  [[nodiscard]] std::uint64_t turns() const { return turns_; }
  [[nodiscard]] std::uint64_t interpreted() const { return calls_[0]; }
  [[nodiscard]] std::uint64_t native() const { return calls_[1] + calls_[2]; }

 private:
  void note(const trident_returned& returned, std::int64_t expected) {
    ++calls_[returned.tier % 3];
    wrong_ += returned.failure == TRIDENT_RETURNED && returned.value.i == expected ? 0 : 1;
  }

  trident_kernel *gcd_, *strchr_, *sort_;
  std::vector<std::uint8_t> bytes_;
  std::mt19937_64 random_{7};
  std::uint64_t wrong_ = 0, turns_ = 0, calls_[3] = {};
};

TEST(FunctionsTest, AnswersStayWhileCodeIsSwappedAndTheDaemonIsKilled) {
  PrivateDaemon daemon;
  std::mt19937_64 random(3);
  std::uint64_t interpreted = 0, native = 0;
  for (int life = 0; life < 8; ++life) {
    const Client client(TRIDENT_MODE_AUTO, daemon.socket());
    ::setenv("TRIDENT_ENGINE", "/nonexistent", 1);  // where the daemon is away, the interpreter goes on
    trident_library* library = client.library();
    ASSERT_NE(nullptr, library) << trident_last_error();
    TextWork work(library);
    std::thread killer([&, delay = random() % 8] {
      if (life % 2 == 1) sleep_ms(static_cast<unsigned>(delay)), daemon.signal(SIGKILL);
    });
    if (life % 2 == 0)
      EXPECT_TRUE(eventually([&] { return work.turn(), work.native() > 300; }));
    else
      for (int i = 0; i < 300; ++i) work.turn();
    killer.join();
    EXPECT_EQ(0u, work.wrong()) << "of " << work.turns() << " turns";
    interpreted += work.interpreted(), native += work.native();
    trident_library_close(library);
    if (life % 2 == 1) daemon.wait(), daemon.restart();
  }
  EXPECT_GT(interpreted, 0u);
  EXPECT_GT(native, 1000u);
  ::setenv("TRIDENT_ENGINE", TRIDENT_ENGINE_PATH, 1);
}

TEST(FunctionsTest, ThreadsCallOneHandleWhileItIsSwapped) {
  const PrivateDaemon daemon;
  const Client client(TRIDENT_MODE_DAEMON, daemon.socket());
  for (int round = 0; round < 5; ++round) {
    trident_kernel* gcd = client.submit((std::string("// ") + std::to_string(round) + "\n" + kGcd).c_str());
    ASSERT_NE(nullptr, gcd) << trident_last_error();
    std::atomic<std::uint64_t> wrong = 0, native = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t)
      threads.emplace_back([&, t] {
        for (std::int64_t i = 1; i < 100'000 && native.load() < 3000; ++i) {
          const trident_returned returned = call(gcd, {value_of(i * 12), value_of(18 + t)});
          wrong += returned.value.i == std::gcd(i * 12, std::int64_t{18 + t}) ? 0 : 1;
          native += returned.tier != 0 ? 1 : 0;
        }
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(0u, wrong);
    ASSERT_NO_FATAL_FAILURE(expect_native(gcd));
    trident_close_kernel(gcd);
  }
}

}  // namespace
}  // namespace trident::tests
