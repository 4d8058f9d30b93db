// Rewrite rules that a daemon is started with. Oracles: what the rule says, computed by libm; the instructions of the
// kernel; /proc; a notification socket of the test's own.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <optional>

#include "jit/codegen/codegen.h"
#include "jit/image/image.h"
#include "runtime/os/memfd.h"
#include "schemas/kernel_image.h"
#include "tests/daemon/notify_socket.h"
#include "tests/daemon/private_daemon.h"
#include "tests/daemon/raw_client.h"

namespace trident::tests {
namespace {

constexpr const char* kRule =
    "asinh-log: (asinh (div (sub (mul ?a ?a) 1) (mul 2 ?a))) => (log ?a) if pos(?a) ;; ieee=round real=guard\n";

/// factor*log(x), which only the rule says: an asinh takes a root, a log does not.
std::string text(unsigned factor) {
  return "x: f64 in [2, 8]; asinh((x*x - 1)/(2*x))*" + std::to_string(factor);
}

struct Kernel {
  bool takes_root = false;
  double error = 1;  ///< the greatest relative one of factor*log(x)
};

struct KernelAnswer {
  bool cached = false;
  std::optional<Kernel> optimised;
};

bool takes_root(const os::Fd& fd) {
  std::vector<std::byte> bytes(os::sealed_size(fd).value());
  EXPECT_EQ(::pread(fd.get(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  trident_image_header header;
  std::memcpy(&header, bytes.data(), sizeof header);
  codegen::MachineCode code;
  code.bytes.assign(bytes.begin() + header.code_offset, bytes.begin() + header.code_offset + header.code_size);
  code.code_size = code.pool_offset = header.code_size;
  const auto listing = codegen::disassemble(code, image::isa_of(header.isa).value());
  EXPECT_TRUE(listing.ok());
  return listing.ok() && listing->find("sqrt") != std::string::npos;  // vrsqrt14pd too
}

Kernel kernel_of(const os::Fd& fd, unsigned factor) {
  const auto mapped = image::Mapped::map(fd);
  EXPECT_TRUE(mapped.ok());
  if (!mapped.ok()) return {};
  std::vector<double> x;
  for (double at = 2; at <= 8; at += 0x1p-7) x.push_back(at);
  std::vector<double> results(x.size());
  const void* in[] = {x.data()};
  void* out[] = {results.data()};
  mapped->entry()(nullptr, x.size(), in, out, nullptr);
  Kernel kernel{takes_root(fd), 0};
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double right = factor * std::log(x[i]);
    kernel.error = std::fmax(kernel.error, std::fabs(results[i] - right) / right);
  }
  return kernel;
}

KernelAnswer ask(const PrivateDaemon& daemon, unsigned factor) {
  RawClient client = RawClient::ready(daemon.socket());
  client.send(submit_message(text(factor)));
  KernelAnswer answer;
  while (const auto incoming = client.next()) {
    const wire::Message& message = incoming->message();
    if (const auto* accepted = message.body_as_Accepted()) answer.cached = accepted->cached();
    const auto* ready = message.body_as_KernelReady();
    if (ready != nullptr && ready->tier() == wire::Tier::optimised) answer.optimised = kernel_of(incoming->fd, factor);
    if (incoming->kind() == wire::Body::Failure || incoming->kind() == wire::Body::Done) break;
  }
  return answer;
}

/// The first kernel that is published, which must be right; on a busy machine that need not be the first that is asked
/// for.
struct Published {
  unsigned factor = 0;
  bool takes_root = true;
};
Published published(const PrivateDaemon& daemon, unsigned first) {
  for (unsigned factor = first; factor < first + 5; ++factor) {
    const KernelAnswer answer = ask(daemon, factor);
    if (!answer.optimised) continue;
    EXPECT_LT(answer.optimised->error, 1e-14);
    return {factor, answer.optimised->takes_root};
  }
  ADD_FAILURE() << "nothing was published";
  return {};
}

/// Ends with all that was published on disk.
void end(PrivateDaemon& daemon, const Published& last) {
  EXPECT_TRUE(eventually([&] { return ask(daemon, last.factor).cached; }));
  daemon.signal(SIGTERM);
  EXPECT_EQ(daemon.wait(), "exit 0");
}

std::string written(const PrivateDaemon& daemon, const char* name, const std::string& rules) {
  const std::string path = daemon.directory() + "/" + name;
  std::ofstream(path) << rules;
  return path;
}

TEST(Rules, OfTheOwnerAreSearchedBy) {
  PrivateDaemon daemon;
  const Published without = published(daemon, 2);
  EXPECT_TRUE(without.takes_root);
  end(daemon, without);
  // These rules have more text than a client's message may have, and one file more.
  const std::string long_text = std::string(kRule, std::string(kRule).size() - 1) + std::string(3u << 20, ' ') + "\n";
  const std::vector<std::string> flags = {
      "--rules", written(daemon, "own.rules", long_text), "--rules",
      written(daemon, "more.rules", "more: (neg (neg (neg ?a))) => (neg ?a) ;; ieee=exact real=ok\n")};
  daemon.restart(flags);
  const auto workers = daemon.workers("optimise");
  EXPECT_FALSE(ask(daemon, without.factor).cached);
  const Published with = published(daemon, 10);
  EXPECT_FALSE(with.takes_root);
  EXPECT_EQ(daemon.workers("optimise"), workers);  // they live: they could read what the front told them
  // Whoever comes in place of a worker is told too.
  ::kill(workers.at(0), SIGKILL);
  EXPECT_TRUE(eventually([&] { return daemon.workers("optimise") != workers; }));
  const Published later = published(daemon, 20);
  EXPECT_FALSE(later.takes_root);
  end(daemon, later);
  daemon.restart(flags);
  EXPECT_TRUE(ask(daemon, with.factor).cached);
  daemon.restart({});
  EXPECT_TRUE(ask(daemon, without.factor).cached);
  EXPECT_FALSE(ask(daemon, with.factor).cached);
}

TEST(Rules, ComeFromTheConfigurationFileToo) {
  PrivateDaemon daemon;
  const std::string rules = written(daemon, "own.rules", kRule);
  const std::string file = written(daemon, "tridentd.toml", "rules = [\"" + rules + "\"]\n");
  daemon.restart({"--config", file});
  EXPECT_FALSE(published(daemon, 2).takes_root);
}

TEST(Rules, AreCheckedWhileTheServiceManagerWaits) {
  NotifySocket manager;
  PrivateDaemon daemon;
  ASSERT_TRUE(manager.hears("READY=1"));
  daemon.restart({"--rules", written(daemon, "own.rules", kRule)});
  EXPECT_TRUE(manager.hears("STATUS=checking rules: 0 of 1\nEXTEND_TIMEOUT_USEC="));
  EXPECT_TRUE(manager.hears("READY=1"));
  const std::string wrong = written(daemon, "wrong.rules", "\nroot: (sqrt (mul ?a ?a)) => ?a ;; ieee=round real=ok\n");
  auto refused = os::Child::spawn(
      {.program = TRIDENTD_PATH,
       .arguments = {"tridentd", "--socket", daemon.directory() + "/other.sock", "--cache", "none", "--rules", wrong}});
  ASSERT_TRUE(refused.ok());
  // One line, and so one variable of the protocol.
  EXPECT_TRUE(manager.hears("STATUS=no rules are loaded, because not all are right: " + wrong + ":2: root: wrong: "));
  EXPECT_EQ(refused->wait(), "exit 2");
}

}  // namespace
}  // namespace trident::tests
