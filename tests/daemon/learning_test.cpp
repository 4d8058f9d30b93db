// Weights that change while a daemon runs, and the journal that it keeps. Oracles: statistics of the daemon, libm, the
// digest that the test itself has chosen, the texts that it has submitted.
#include <gtest/gtest.h>
#include <signal.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "jit/cost/cost.h"
#include "jit/expr/expr.h"
#include "jit/expr/rewrite/guides.h"
#include "jit/expr/rewrite/kinds.h"
#include "jit/image/image.h"
#include "jit/nnue/features.h"
#include "runtime/os/cpu.h"
#include "runtime/store/versions.h"
#include "tests/daemon/private_daemon.h"
#include "tests/daemon/raw_client.h"

namespace trident::tests {
namespace {

/// Weights of zeros, which score every rewrite alike; another `shift` gives other bytes.
std::vector<std::byte> weights(std::uint32_t shift) {
  nn::PlainWeights plain;
  plain.space = nnue::feature_space(expr::rewrite::node_kinds().hash, nnue::kDefaultDepth);
  for (auto& head : plain.heads) head.shift = shift;
  plain.heads[static_cast<std::size_t>(nn::HeadKind::guide)].keys = {1};  // no rule's, but a guide that was trained
  return nn::AccumulatorWeights::pack(plain).value();
}

class Learning : public ::testing::Test {
 protected:
  nlohmann::json stats() { return nlohmann::json::parse(RawClient::ready(daemon_.socket()).stats()); }
  bool goes_by(const std::string& name) {
    return eventually([&] { return stats()["learning"]["weights"] == name; });
  }
  store::Versions versions() { return store::Versions::open(daemon_.state() + "/weights").value(); }

  // On a busy machine too every job shall come to its end.
  PrivateDaemon daemon_{{"--budget-ms", "60000"}};
};

/// x + factor*y, for which a better kernel than the baseline is certain (as in private_daemon.h, but with less work).
std::string gain(unsigned factor) {
  constexpr int kIdleOperations = 40;
  std::string text = "x";
  for (int i = 0; i < kIdleOperations; ++i) text += "*1";
  return text + " + y*" + std::to_string(factor);
}

/// The tier of the kernel that comes next, once its results were compared with those of gain().
std::optional<wire::Tier> next_kernel(RawClient& client, double factor) {
  while (const auto incoming = client.next_result()) {
    const auto* ready = incoming->message().body_as_KernelReady();
    if (ready == nullptr) continue;
    const auto mapped = image::Mapped::map(incoming->fd);
    EXPECT_TRUE(mapped.ok());
    if (!mapped.ok()) return std::nullopt;
    const double x[] = {1, 2.5, -3, 1e6}, y[] = {0.5, -2, 7, 11};
    double results[4];
    const void* in[] = {x, y};
    void* out[] = {results};
    mapped->entry()(nullptr, 4, in, out, nullptr);
    for (int i = 0; i < 4; ++i) EXPECT_DOUBLE_EQ(results[i], x[i] + factor * y[i]);
    return ready->tier();
  }
  return std::nullopt;
}

void finish(RawClient& client) {
  while (const auto incoming = client.next_result())
    if (incoming->kind() == wire::Body::Done || incoming->kind() == wire::Body::Failure) return;
}

TEST_F(Learning, ChosenWeightsAreSeenAtOnce) {
  EXPECT_EQ(stats()["learning"]["weights"], "none");
  const auto workers = daemon_.workers("optimise");
  store::Versions folder = versions();
  const std::string first = folder.add(weights(6), "{}").value();
  ASSERT_TRUE(folder.choose(first).ok());
  EXPECT_TRUE(goes_by(first));
  const std::string second = folder.add(weights(7), "{}").value();
  ASSERT_TRUE(folder.choose(second).ok());
  EXPECT_TRUE(goes_by(second));
  ASSERT_TRUE(folder.roll_back().ok());
  EXPECT_TRUE(goes_by(first));
  EXPECT_EQ(daemon_.workers("optimise"), workers);
  // They are part of a kernel's key.
  RawClient client = RawClient::ready(daemon_.socket());
  client.send(submit_message(gain(3)));
  finish(client);
  const auto cached = [&] {
    RawClient other = RawClient::ready(daemon_.socket());
    other.send(submit_message(gain(3)));
    bool found = false;
    while (const auto incoming = other.next()) {
      if (const auto* accepted = incoming->message().body_as_Accepted()) found = accepted->cached();
      if (incoming->kind() == wire::Body::Done) break;
    }
    return found;
  };
  EXPECT_TRUE(eventually(cached));
  client.close();
  ASSERT_TRUE(folder.choose(second).ok());
  EXPECT_TRUE(goes_by(second));
  EXPECT_FALSE(cached());
  // A start takes up what is chosen.
  daemon_.restart();
  EXPECT_EQ(stats()["learning"]["weights"], second);
}

TEST_F(Learning, WhatIsDamagedIsNotUsed) {
  store::Versions folder = versions();
  const std::string good = folder.add(weights(6), "{}").value();
  ASSERT_TRUE(folder.choose(good).ok());
  ASSERT_TRUE(goes_by(good));
  std::vector<std::byte> damaged = weights(7);
  damaged[damaged.size() / 2] ^= std::byte{1};
  const std::string bad = folder.add(damaged, "{}").value();  // its name is right, what it holds is not
  ASSERT_TRUE(folder.choose(bad).ok());
  EXPECT_TRUE(goes_by("none"));
  RawClient client = RawClient::ready(daemon_.socket());
  client.send(submit_message(gain(3)));
  EXPECT_TRUE(next_kernel(client, 3));
  finish(client);
  ASSERT_TRUE(folder.roll_back().ok());
  EXPECT_TRUE(goes_by(good));
  daemon_.signal(SIGTERM);
  EXPECT_EQ(daemon_.wait(), "exit 0");
  std::ofstream(daemon_.state() + "/weights/chosen") << "nonsense\n";
  daemon_.restart();
  EXPECT_EQ(stats()["learning"]["weights"], "none");
}

// Its own job ends with the baseline, as nobody may wait for a better one; later searches have no such limit.
TEST_F(Learning, BetterKernelsReachClientsThatStillRun) {
  daemon_.restart({"--optimise-queue-per-user", "0", "--workers", "1", "--budget-ms", "60000"});
  RawClient busy = RawClient::ready(daemon_.socket()), client = RawClient::ready(daemon_.socket());
  const auto workers = daemon_.workers("optimise");
  ::kill(workers.at(0), SIGSTOP);
  busy.send(submit_message("x*y"));
  EXPECT_TRUE(busy.next_result());
  client.send(submit_message(gain(7)));
  EXPECT_EQ(next_kernel(client, 7), wire::Tier::baseline);
  ::kill(workers.at(0), SIGCONT);
  finish(client);
  EXPECT_EQ(stats()["jobs"]["checked_alone"], 1);
  store::Versions folder = versions();
  ASSERT_TRUE(folder.choose(folder.add(weights(6), "{}").value()).ok());
  EXPECT_EQ(next_kernel(client, 7), wire::Tier::optimised);
  EXPECT_GE(stats()["jobs"]["republished"], 1);
  // Closed kernels are not searched again.
  client.send(cancel_message(1));
  busy.close();
  EXPECT_TRUE(eventually([&] { return stats()["jobs"]["open_kernels"] == 0 && stats()["jobs"]["flights"] == 0; }));
  const auto renewals = stats()["jobs"]["renewals"];
  ASSERT_TRUE(folder.roll_back().ok());
  ASSERT_TRUE(goes_by("none"));
  EXPECT_EQ(stats()["jobs"]["renewals"], renewals);
}

// The daemon watches the folder, and reads again on SIGHUP; damaged files change nothing.
TEST_F(Learning, MeasuredCostsAreUsedAtOnce) {
  const auto workers = daemon_.workers("optimise");
  EXPECT_EQ(stats()["learning"]["costs"], "built in");
  cost::Table table = cost::shipped(os::cpu_features().avx512 ? "avx512" : "avx2");
  table.cpu = os::cpu_model(), table.build = "here", table.date = "2026-11-01";
  const std::string path = daemon_.state() + "/costs";
  const auto put = [&](const std::string& text) {
    std::ofstream(path + ".part") << text;
    std::filesystem::rename(path + ".part", path);
  };
  const auto changes = [&](std::uint64_t count) {
    return eventually([&] { return stats()["learning"]["costs_changed"] == count; });
  };
  RawClient client = RawClient::ready(daemon_.socket());
  client.send(submit_message(gain(3)));
  finish(client);
  table.figures[0].throughput += 1;
  put(cost::print(table));
  ASSERT_TRUE(changes(1));
  EXPECT_NE(stats()["learning"]["costs"].get<std::string>().find("measured 2026-11-01 on " + table.cpu),
            std::string::npos);
  // The client's kernel is searched again by the new costs, and the same worker lives on.
  EXPECT_TRUE(eventually([&] { return stats()["jobs"]["renewals"] == 1; }, 60));
  put("nonsense\n");
  sleep_ms(50);
  EXPECT_EQ(stats()["learning"]["costs_changed"], 1);
  table.figures[0].throughput += 1;
  // Not moved there: nobody looks until told to.
  std::ofstream(path) << cost::print(table);
  sleep_ms(50);
  EXPECT_EQ(stats()["learning"]["costs_changed"], 1);
  daemon_.signal(SIGHUP);
  EXPECT_TRUE(changes(2));
  EXPECT_TRUE(eventually([&] { return stats()["jobs"]["flights"] == 0; }, 60));
  EXPECT_EQ(daemon_.workers("optimise"), workers);
  daemon_.restart();
  EXPECT_NE(stats()["learning"]["costs"], "built in");
}

std::set<std::string> lines_of(const std::string& path) {
  std::set<std::string> lines;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);)
    if (!line.empty()) {
      EXPECT_TRUE(lines.insert(line).second) << line;
    }
  return lines;
}

TEST_F(Learning, TheJournalHasEachExpressionOnceAndNoNames) {
  const auto submit = [&](const std::string& text) {
    RawClient client = RawClient::ready(daemon_.socket());
    client.send(submit_message(text));
    EXPECT_TRUE(client.next_result());
  };
  const std::string path = daemon_.state() + "/journal";
  submit("secret_income*2 + secret_income");
  submit("secret_income*2 + secret_income");
  submit("u*3 + w");
  EXPECT_TRUE(eventually([&] { return lines_of(path).size() == 2; }));
  for (const std::string& line : lines_of(path)) {
    EXPECT_EQ(line.find("secret"), std::string::npos) << line;
    const auto read = expr::parse(line);
    ASSERT_TRUE(read.ok()) << line;
  }
  daemon_.restart();
  submit("u*3 + w");
  submit("q*3 + r");  // differs in its names alone
  submit("u*4 + w");
  EXPECT_TRUE(eventually([&] { return lines_of(path).size() == 3; }));
  daemon_.restart({"--journal-bytes", "0"});
  submit("u*5 + w");
  EXPECT_EQ(stats()["learning"]["noted"], 0);
  EXPECT_EQ(lines_of(path).size(), 3u);
}

}  // namespace
}  // namespace trident::tests
