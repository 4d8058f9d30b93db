// The soak: many different expressions from several clients while the daemon is killed and started again and again.
//
//   client_soak [--submissions N] [--clients N] [--kills N] [--seed N]
//
// Each client is a thread with a context of its own. It submits random expressions under policy exact, whose meaning is
// fixed to the last bit: every answer, whichever tier gives it, must equal that of the kir interpreter run here on the
// unrewritten expression. Every fourth submission is a well-conditioned formula under bounded(2), compared with libm.
// Kernels stay open for a while and are called again, so that answers before, during and after swaps and daemon deaths
// are all compared. A killer ends the daemon with SIGKILL at even intervals and starts it again after 0 to 200 ms.
//
// Exit 0: no wrong answer, no failed call, every client connected again at the end, descriptors as before, a share of
// answers from compiled code that shows that the test tested something, and a daemon that ends by SIGTERM with status
// 0. Leaks are LeakSanitizer's to find: here at the end of main, in the last daemon and its workers when they end.
#include <dirent.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "clients/c/trident.h"
#include "jit/expr/expr.h"
#include "jit/kir/interpreter.h"
#include "tests/daemon/private_daemon.h"
#include "tests/daemon/sanitizer_reports.h"
#include "tests/support/random_expr.h"

namespace trident {
namespace {

using testing::Random;

struct Plan {
  std::uint32_t submissions = 10'000, clients = 8, kills = 20;
  std::uint64_t seed = 1;
};

struct Totals {
  std::atomic<std::uint32_t> submitted{0};
  std::atomic<std::uint64_t> calls{0}, compiled_calls{0}, wrong{0}, failed{0};
  std::atomic<std::uint64_t> baselines{0}, optimised{0}, no_gain{0}, reconnects{0}, errors{0}, refused{0};
};

constexpr std::size_t kElements = 67;  // no multiple of any vector length
constexpr std::size_t kOpenKernels = 24;
constexpr std::uint32_t kKeepEvery = 50;  // submissions whose kernel stays to the end, for the optimiser to get to

std::size_t open_descriptors() {
  DIR* directory = ::opendir("/proc/self/fd");
  std::size_t count = 0;
  while (::readdir(directory) != nullptr) ++count;
  ::closedir(directory);
  return count;
}

/// Elements of `type` packed from the low bytes of `bits`.
std::vector<std::byte> pack(ir::Type type, const std::vector<std::uint64_t>& bits) {
  const std::size_t size = ir::bytes_of(type);
  std::vector<std::byte> packed(bits.size() * size);
  for (std::size_t i = 0; i < bits.size(); ++i) std::memcpy(packed.data() + i * size, &bits[i], size);
  return packed;
}

template <class Float>
bool same_bits(const std::byte* a, const std::byte* b) {
  Float x, y;
  std::memcpy(&x, a, sizeof(x));
  std::memcpy(&y, b, sizeof(y));
  return std::memcmp(&x, &y, sizeof(x)) == 0 || (std::isnan(x) && std::isnan(y));
}

/// One submission with its inputs and the answer that is right.
struct Case {
  trident_kernel* kernel = nullptr;
  std::string text;
  std::vector<std::vector<std::byte>> arrays;
  std::vector<std::uint64_t> params;
  std::vector<ir::Type> types;  // of the outputs
  std::vector<std::vector<std::byte>> right;
  double tolerance = 0;  // relative; 0: to the bit

  [[nodiscard]] bool answers_right() const {
    std::vector<const void*> in;
    for (const auto& array : arrays) in.push_back(array.data());
    std::vector<std::vector<std::byte>> results;
    std::vector<void*> out;
    for (const auto& wanted : right) results.emplace_back(wanted.size(), std::byte{0xA5});
    for (auto& result : results) out.push_back(result.data());
    trident_call(kernel, kElements, in.data(), out.data(), params.data());
    for (std::size_t i = 0; i < results.size(); ++i) {
      const std::size_t size = ir::bytes_of(types[i]);
      for (std::size_t at = 0; at < results[i].size(); at += size) {
        if (!agrees(i, results[i].data() + at, right[i].data() + at)) return report(i, at / size, results[i], size);
      }
    }
    return true;
  }

 private:
  [[nodiscard]] bool agrees(std::size_t output, const std::byte* got, const std::byte* wanted) const {
    switch (types[output]) {
      case ir::Type::f32: return same_bits<float>(got, wanted);
      case ir::Type::f64: {
        if (tolerance == 0) return same_bits<double>(got, wanted);
        double g, w;
        std::memcpy(&g, got, sizeof(g));
        std::memcpy(&w, wanted, sizeof(w));
        return std::abs(g - w) <= tolerance * std::abs(w);
      }
      case ir::Type::i32:
      case ir::Type::b32: return std::memcmp(got, wanted, 4) == 0;
      case ir::Type::i64:
      case ir::Type::b64: return std::memcmp(got, wanted, 8) == 0;
    }
    return false;
  }
  [[nodiscard]] bool report(std::size_t output, std::size_t element, const std::vector<std::byte>& got,
                            std::size_t size) const {
    trident_kernel_info info{};
    info.struct_size = sizeof(info);
    trident_info(kernel, &info);
    std::uint64_t g = 0, w = 0;
    std::memcpy(&g, got.data() + element * size, size);
    std::memcpy(&w, right[output].data() + element * size, size);
    std::fprintf(stderr, "WRONG: tier %u isa %u output %zu element %zu: %llx, right is %llx\n%s\n", info.tier, info.isa,
                 output, element, static_cast<unsigned long long>(g), static_cast<unsigned long long>(w), text.c_str());
    return false;
  }
};

/// A random expression under policy exact; the oracle is the interpreter.
Case random_case(std::uint64_t seed) {
  Case c;
  const expr::Expr e = testing::random_expr(seed);
  c.text = expr::print_infix(e);
  Random random(seed ^ 0x5EED);
  std::vector<const void*> in;
  for (const expr::Variable& v : e.variables) {
    const auto values = testing::random_values(v, kElements, random);
    if (v.is_scalar()) {
      c.params.push_back(values[0]);
    } else {
      c.arrays.push_back(pack(v.type, values));
    }
  }
  for (const auto& array : c.arrays) in.push_back(array.data());
  const auto kernel = expr::lower(e, {.policy = {expr::PolicyKind::exact}, .simplify = false});
  CHECK(kernel.ok());
  std::vector<void*> out;
  for (const kir::Output& o : kernel->outputs) {
    const ir::Type type = kernel->type_of(o.value);
    c.types.push_back(type);
    c.right.emplace_back((o.kind == kir::OutputKind::array ? kElements : 1) * ir::bytes_of(type));
  }
  for (auto& right : c.right) out.push_back(right.data());
  kir::interpret(*kernel, kElements, in.data(), out.data(), c.params.data());
  return c;
}

/// A sum of positive terms over positive values: well-conditioned, so bounded(2) keeps it within a few ulp of libm.
Case formula_case(std::uint64_t seed) {
  Case c;
  Random random(seed);
  double k[4];
  for (double& value : k) value = 0.5 + random.unit();
  char text[256];
  std::snprintf(text, sizeof(text),
                "x in [0.5, 2], y in [0.5, 2]; %.17g*x*y + %.17g/(x + %.17g) + sqrt(y) + %.17g*exp(x)", k[0], k[1],
                k[2], k[3]);
  c.text = text;
  std::vector<double> x(kElements), y(kElements), z(kElements);
  for (std::size_t i = 0; i < kElements; ++i) {
    x[i] = 0.5 + 1.5 * random.unit();
    y[i] = 0.5 + 1.5 * random.unit();
    z[i] = k[0] * x[i] * y[i] + k[1] / (x[i] + k[2]) + std::sqrt(y[i]) + k[3] * std::exp(x[i]);
  }
  const auto bytes = [](const std::vector<double>& v) {
    const auto* first = reinterpret_cast<const std::byte*>(v.data());
    return std::vector<std::byte>(first, first + v.size() * sizeof(double));
  };
  c.arrays = {bytes(x), bytes(y)};
  c.types = {ir::Type::f64};
  c.right = {bytes(z)};
  c.tolerance = 4e-15;
  return c;
}

class Client {
 public:
  Client(const Plan& plan, Totals& totals, std::uint32_t number, const std::string& socket)
      : plan_(plan), totals_(totals), number_(number), random_(plan.seed * 1000 + number) {
    trident_options options{};
    options.struct_size = sizeof(options);
    options.socket_path = socket.c_str();
    expect_ok(trident_open(&options, &ctx_), "trident_open");
  }
  ~Client() {
    for (Case& c : open_) trident_close_kernel(c.kernel);
    for (Case& c : kept_) trident_close_kernel(c.kernel);
    trident_close(ctx_);
  }

  void run() {
    for (;;) {
      const std::uint32_t turn = totals_.submitted.fetch_add(1);
      if (turn >= plan_.submissions) break;
      submit(turn);
      if (open_.size() > kOpenKernels) close(random_.below(static_cast<std::uint32_t>(open_.size())));
      for (int i = 0; i < 3 && !open_.empty(); ++i)
        call(open_[random_.below(static_cast<std::uint32_t>(open_.size()))]);
    }
  }

  /// After every client's finish(): the optimiser gets to the kernels that were kept. `answered` counts its answers to
  /// all clients: on a busy machine they may take long, but two minutes without any mean that it hangs.
  void finish_kept(const std::function<std::uint64_t()>& answered) {
    for (const Case& c : kept_) {
      std::uint64_t before = 0;
      trident_status status = TRIDENT_E_TIMEOUT;
      do {
        before = answered();
        status = trident_wait(c.kernel, kOptimised, 120'000);
      } while (status == TRIDENT_E_TIMEOUT && answered() != before);
      expect_ok(status, "trident_wait for the optimiser");
    }
    for (const Case& c : kept_) call(c);
    count();
  }

  /// Answers of the optimiser so far, kernels and "no gain".
  [[nodiscard]] std::uint64_t optimiser_answers() const {
    trident_stats stats{};
    stats.struct_size = sizeof(stats);
    return trident_get_stats(ctx_, &stats) == TRIDENT_OK ? stats.optimised_received + stats.no_gain : 0;
  }

  /// A daemon is there for good now: wait for it, and compare what is open once more.
  void finish() {
    submit(plan_.submissions + number_);  // so that there is a reason to connect
    expect_ok(trident_wait(open_.back().kernel, kBaseline, 60'000), "trident_wait at the end");
    while (!open_.empty()) close(open_.size() - 1);
  }

 private:
  static constexpr std::uint32_t kBaseline = 1, kOptimised = 2;

  void count() {
    trident_stats stats{};
    stats.struct_size = sizeof(stats);
    expect_ok(trident_get_stats(ctx_, &stats), "trident_get_stats");
    if (stats.connected != 1) fail("not connected at the end");
    totals_.baselines += stats.baseline_received;
    totals_.optimised += stats.optimised_received;
    totals_.reconnects += stats.reconnects;
    totals_.errors += stats.errors;
    totals_.refused += stats.rejected_images;
    totals_.no_gain += stats.no_gain;
  }

  void submit(std::uint32_t turn) {
    const std::uint64_t seed = plan_.seed * 1'000'003 + turn;
    Case c = turn % 4 == 3 ? formula_case(seed) : random_case(seed);
    trident_submit_options options = TRIDENT_SUBMIT_OPTIONS_INIT;
    options.policy = c.tolerance == 0 ? TRIDENT_EXACT : TRIDENT_BOUNDED;
    options.elements_hint = 4096;
    const trident_status status = trident_submit(ctx_, c.text.c_str(), &options, &c.kernel);
    expect_ok(status, c.text.c_str());
    if (status != TRIDENT_OK) return;
    if (turn % kKeepEvery == 0) return kept_.push_back(std::move(c));
    open_.push_back(std::move(c));
    if (random_.chance(0.5)) call(open_.back());
    if (random_.chance(0.3)) {
      const trident_status waited = trident_wait(open_.back().kernel, kBaseline, random_.below(100));
      if (waited != TRIDENT_E_TIMEOUT) expect_ok(waited, "trident_wait");
      call(open_.back());
    }
  }

  void call(const Case& c) {
    trident_kernel_info info{};
    info.struct_size = sizeof(info);
    expect_ok(trident_info(c.kernel, &info), "trident_info");
    ++totals_.calls;
    if (info.tier > 0) ++totals_.compiled_calls;
    if (!c.answers_right()) ++totals_.wrong;
  }

  void close(std::size_t index) {
    call(open_[index]);
    trident_close_kernel(open_[index].kernel);
    std::swap(open_[index], open_.back());
    open_.pop_back();
  }

  void expect_ok(trident_status status, const char* what) {
    if (status != TRIDENT_OK) fail((std::string(what) + ": " + trident_last_error()).c_str());
  }
  void fail(const char* what) {
    ++totals_.failed;
    std::fprintf(stderr, "FAILED: client %u: %s\n", number_, what);
  }

  const Plan& plan_;
  Totals& totals_;
  const std::uint32_t number_;
  Random random_;
  trident_ctx* ctx_ = nullptr;
  std::vector<Case> open_, kept_;
};

Plan read_plan(int argc, char** argv) {
  Plan plan;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    const auto value = std::strtoull(argv[i + 1], nullptr, 10);
    if (name == "--submissions") plan.submissions = static_cast<std::uint32_t>(value);
    if (name == "--clients") plan.clients = static_cast<std::uint32_t>(value);
    if (name == "--kills") plan.kills = static_cast<std::uint32_t>(value);
    if (name == "--seed") plan.seed = value;
  }
  return plan;
}

/// A bar, on a terminal only.
void show_progress(const Plan& plan, std::uint32_t kills, std::uint32_t submitted) {
  constexpr std::uint64_t kCells = 30;
  static const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  if (!terminal) return;
  const std::uint64_t full = std::min(kCells, kCells * submitted / std::max(plan.submissions, 1u));
  std::printf("\r[%s%s] %u of %u submissions, %u of %u kills ", std::string(full, '#').c_str(),
              std::string(kCells - full, '-').c_str(), submitted, plan.submissions, kills, plan.kills);
  std::fflush(stdout);
}

int soak(const Plan& plan) {
  ::setenv("TRIDENT_ENGINE", "/nonexistent/libtrident-engine.so", 1);  // daemon or interpreter, nothing else
  const auto begin = std::chrono::steady_clock::now();
  // Small budgets: the kernels are tiny, and it is deaths and swaps that are tested, not the search.
  const tests::SanitizerReports reports;
  tests::PrivateDaemon daemon({"--budget-ms", "400"});
  Totals totals;
  const std::size_t descriptors = open_descriptors();
  {
    std::vector<std::unique_ptr<Client>> clients;
    for (std::uint32_t i = 0; i < plan.clients; ++i) {
      clients.push_back(std::make_unique<Client>(plan, totals, i, daemon.socket()));
    }
    std::vector<std::thread> threads;
    for (auto& client : clients) threads.emplace_back([&client] { client->run(); });
    Random random(plan.seed);
    for (std::uint32_t kill = 1; kill <= plan.kills; ++kill) {
      const std::uint64_t due = std::uint64_t{plan.submissions} * kill / (plan.kills + 1);
      for (unsigned waits = 0; totals.submitted < due; ++waits) {
        if (waits % 50 == 0) show_progress(plan, kill - 1, totals.submitted);
        tests::sleep_ms(2);
      }
      daemon.signal(SIGKILL);
      daemon.wait();
      tests::sleep_ms(random.below(200));
      daemon.restart();
      show_progress(plan, kill, totals.submitted);
    }
    for (std::thread& thread : threads) thread.join();
    show_progress(plan, plan.kills, totals.submitted);
    for (auto& client : clients) client->finish();
    const auto answered = [&clients] {
      std::uint64_t sum = 0;
      for (const auto& client : clients) sum += client->optimiser_answers();
      return sum;
    };
    for (auto& client : clients) client->finish_kept(answered);
  }
  if (open_descriptors() != descriptors) {
    std::fprintf(stderr, "FAILED: %zu descriptors before, %zu after\n", descriptors, open_descriptors());
    ++totals.failed;
  }
  daemon.signal(SIGTERM);
  if (const std::string end = daemon.wait(); end != "exit 0") {
    std::fprintf(stderr, "FAILED: the daemon ended with %s\n", end.c_str());
    ++totals.failed;
  }
  if (!reports.none()) ++totals.failed;
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::printf(
      "%s%u submissions from %u clients, %u kills, %.1f s: %llu calls (%.0f %% compiled), %llu baseline and %llu "
      "optimised kernels, %llu without gain, %llu reconnects, %llu jobs refused by the daemon\n",
      ::isatty(STDOUT_FILENO) == 1 ? "\n" : "", plan.submissions, plan.clients, plan.kills, took.count(),
      static_cast<unsigned long long>(totals.calls),
      100.0 * static_cast<double>(totals.compiled_calls) / static_cast<double>(totals.calls),
      static_cast<unsigned long long>(totals.baselines), static_cast<unsigned long long>(totals.optimised),
      static_cast<unsigned long long>(totals.no_gain), static_cast<unsigned long long>(totals.reconnects),
      static_cast<unsigned long long>(totals.errors));
  std::printf("%llu wrong answers, %llu client errors, %llu images refused\n",
              static_cast<unsigned long long>(totals.wrong), static_cast<unsigned long long>(totals.failed),
              static_cast<unsigned long long>(totals.refused));
  const bool vacuous = totals.compiled_calls * 10 < totals.calls || totals.reconnects < plan.kills;
  if (vacuous) std::fprintf(stderr, "FAILED: too few compiled calls or reconnects to mean anything\n");
  return totals.wrong == 0 && totals.failed == 0 && totals.refused == 0 && !vacuous ? 0 : 1;
}

}  // namespace
}  // namespace trident

int main(int argc, char** argv) {
  return trident::soak(trident::read_plan(argc, argv));
}
