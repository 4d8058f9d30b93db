// The time from a function's text to its native code: from trident_submit() until code is there, over 200 different
// functions with a loop, a branch and a call, through a real daemon that tries each in a child before it answers.
// Beside it the same with the engine in this process, and the cost of the submission to its caller. Every function is
// called on both sides of the swap, and its results are compared with what they must be.
#include "bench/native_latency.h"
#include "clients/c/trident_function.h"

namespace trident::bench {
namespace {

/// About 32 instructions: a loop over an array, a branch, a call that is copied in.
std::string text_of(int number) {
  const std::string n = std::to_string(number);
  return "fn sample(x: [i64], limit: i64) -> i64 {\n  let s = " + n +
         ";\n  for i in 0..len(x) {\n    if x[i] < limit {\n      s = s + x[i] * " + n +
         ";\n    } else {\n      s = s ^^ max(x[i], " + n + ");\n    }\n  }\n  return s;\n}\n";
}

std::int64_t expected(int number, const std::vector<std::int64_t>& x, std::int64_t limit) {
  std::int64_t s = number;
  for (const std::int64_t v : x) s = v < limit ? s + v * number : s ^ std::max<std::int64_t>(v, number);
  return s;
}

class Client {
 public:
  Client(trident_mode mode, const std::string& socket) : context_(mode, socket) {
    for (int i = 0; i < 100; ++i) x_.push_back(i * 7919 % 1000 - 300);
  }

  Latency latency_of(int number) {
    trident_submit_options options = TRIDENT_SUBMIT_OPTIONS_INIT;
    options.syntax = TRIDENT_SYNTAX_FUNCTION;
    const std::string text = text_of(number);
    trident_kernel* kernel = nullptr;
    const double begin = now_us();
    CHECK(trident_submit(context_.get(), text.c_str(), &options, &kernel) == TRIDENT_OK);
    Latency times{now_us() - begin, -1};
    const bool interpreted = is_right(kernel, number, nullptr);
    const bool waited = trident_wait(kernel, 1, kPatienceMs) == TRIDENT_OK;
    const double end = now_us();
    std::uint32_t tier = 0;
    if (interpreted && waited && is_right(kernel, number, &tier) && tier != 0) times.native_us = end - begin;
    trident_close_kernel(kernel);
    return times;
  }

 private:
  bool is_right(const trident_kernel* kernel, int number, std::uint32_t* tier) {
    constexpr std::int64_t kLimit = 100;
    trident_argument arguments[2] = {};
    arguments[0].data = x_.data(), arguments[0].count = x_.size();
    arguments[1].value.i = kLimit;
    trident_returned returned{};
    returned.struct_size = sizeof returned;
    CHECK(trident_function_call(kernel, arguments, 2, 0, &returned) == TRIDENT_OK);
    if (tier != nullptr) *tier = returned.tier;
    return returned.failure == TRIDENT_RETURNED && returned.value.i == expected(number, x_, kLimit);
  }

  OpenContext context_;
  std::vector<std::int64_t> x_;
};

}  // namespace
}  // namespace trident::bench

int main(int argc, char** argv) {
  trident::bench::register_latencies<trident::bench::Client>("function");
  return trident::bench::run_benchmarks(argc, argv);
}
