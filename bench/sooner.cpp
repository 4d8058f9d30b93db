// The time from a submission to the last answer of the search, an optimised kernel or none, through a real daemon:
//
//   alone      every kernel of the corpora that the command line names, one after another: P50 and P95
//   together   the first 22 of them, submitted at once: until all are done
//   behind     one kernel of a second connection, submitted when 300 of a first one wait
//
// No ranges are declared. The daemon has no cache, so each kernel is searched. What the kernels compute is checked by
// the daemon and by tests; times alone are measured here.
#include <algorithm>
#include <string>
#include <vector>

#include "bench/private_daemon.h"
#include "bench/ratio.h"
#include "clients/c/trident.h"
#include "jit/corpus/corpus_reader.h"
#include "runtime/base/check.h"

namespace trident::bench {
namespace {

constexpr std::size_t kTogether = 22, kBefore = 300;
constexpr std::uint32_t kPatienceMs = 600'000;

double now_s() {
  return 1e-9 * static_cast<double>(os::monotonic_ns());
}

class Connection {
 public:
  explicit Connection(const std::string& socket) {
    trident_options options{};
    options.struct_size = sizeof(options);
    options.mode = TRIDENT_MODE_DAEMON;
    options.connect_timeout_ms = 10'000;
    options.socket_path = socket.c_str();
    CHECK(trident_open(&options, &ctx_) == TRIDENT_OK);
  }
  ~Connection() { trident_close(ctx_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  [[nodiscard]] trident_kernel* submit(const std::string& text, trident_type type) const {
    trident_submit_options options = TRIDENT_SUBMIT_OPTIONS_INIT;
    options.type = type;
    trident_kernel* kernel = nullptr;
    return trident_submit(ctx_, text.c_str(), &options, &kernel) == TRIDENT_OK ? kernel : nullptr;
  }

 private:
  trident_ctx* ctx_ = nullptr;
};

/// Waits for the end of the search and closes the kernel.
void finish(trident_kernel* kernel) {
  CHECK(trident_wait(kernel, 2, kPatienceMs) == TRIDENT_OK);
  trident_close_kernel(kernel);
}

std::vector<double> alone(const Connection& connection, const std::vector<std::string>& texts, trident_type type) {
  std::vector<double> times;
  for (const std::string& text : texts) {
    const double begin = now_s();
    trident_kernel* const kernel = connection.submit(text, type);
    if (kernel == nullptr) continue;  // this type does not have it
    finish(kernel);
    times.push_back(now_s() - begin);
  }
  std::sort(times.begin(), times.end());
  return times;
}

double together(const Connection& connection, const std::vector<std::string>& texts, trident_type type) {
  const double begin = now_s();
  std::vector<trident_kernel*> kernels;
  for (std::size_t i = 0; i < std::min(kTogether, texts.size()); ++i)
    if (trident_kernel* const kernel = connection.submit(texts[i], type)) kernels.push_back(kernel);
  for (trident_kernel* const kernel : kernels) finish(kernel);
  return now_s() - begin;
}

double behind(const std::string& socket) {
  const Connection first(socket), second(socket);
  std::vector<trident_kernel*> kernels;
  for (std::size_t i = 0; i < kBefore; ++i)
    kernels.push_back(first.submit("exp(x*" + std::to_string(i + 2) + ".5)*y + x", TRIDENT_F64));
  for (trident_kernel* const kernel : kernels) CHECK(trident_wait(kernel, 1, kPatienceMs) == TRIDENT_OK);
  const double begin = now_s();
  finish(second.submit("sqrt(x*x + 7.25*y)", TRIDENT_F64));
  const double end = now_s();
  for (trident_kernel* const kernel : kernels) trident_close_kernel(kernel);
  return end - begin;
}

void measure(const std::vector<std::string>& texts, trident_type type, const std::string& name) {
  const PrivateDaemon one, another;
  const std::vector<double> times = alone(Connection(one.socket()), texts, type);
  CHECK(!times.empty());
  std::printf("%zu kernels alone, %s, at most %.3f s\n", times.size(), name.c_str(), times.back());
  print_figure("alone: s to an optimised kernel, P50, " + name, times[times.size() / 2]);
  print_figure("alone: s to an optimised kernel, P95, " + name, times[times.size() * 95 / 100]);
  print_figure("together: s until 22 kernels are done, " + name, together(Connection(another.socket()), texts, type));
}

int run(const std::vector<std::string>& files) {
  std::vector<std::string> texts;
  for (const std::string& file : files) {
    const auto kernels = corpus::read_corpus(file);
    if (!kernels.ok()) return std::fprintf(stderr, "%s\n", kernels.error().message.c_str()), 2;
    for (const corpus::CorpusKernel& kernel : *kernels) texts.push_back(kernel.definition);
  }
  measure(texts, TRIDENT_F32, "f32");
  measure(texts, TRIDENT_F64, "f64");
  const PrivateDaemon daemon;
  print_figure("behind: s to an optimised kernel behind 300", behind(daemon.socket()));
  return 0;
}

}  // namespace
}  // namespace trident::bench

int main(int argc, char** argv) {
  return trident::bench::run({argv + 1, argv + argc});
}
