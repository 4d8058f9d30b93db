// The cache file in every state that a restart may find it in. Oracle: whether answers come as cached, what the log
// says, and what lies in the directory; SQLite itself where a lock is held.
#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "jit/cost/cost.h"
#include "runtime/os/cpu.h"
#include "tests/daemon/private_daemon.h"
#include "tests/daemon/raw_client.h"

namespace trident::tests {
namespace {

namespace fs = std::filesystem;

/// Collects the standard error of daemons that are started meanwhile.
class CapturedLog {
 public:
  explicit CapturedLog(const std::string& directory) : path_(directory + "/log"), before_(::dup(2)) {
    const os::Fd file(::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    ::dup2(file.get(), 2);
  }
  ~CapturedLog() { ::dup2(before_.get(), 2); }
  [[nodiscard]] bool has(const std::string& what) const {
    std::ifstream file(path_);
    return std::string{std::istreambuf_iterator<char>(file), {}}.find(what) != std::string::npos;
  }
  [[nodiscard]] bool says(const std::string& what) const {
    return eventually([&] { return has(what); });
  }

 private:
  std::string path_;
  os::Fd before_;
};

struct Answer {
  bool cached = false, kernel = false, failed = false;
};

/// Submits and follows to the end.
Answer ask(const PrivateDaemon& daemon, const std::string& text) {
  RawClient client = RawClient::ready(daemon.socket());
  client.send(submit_message(text));
  Answer answer;
  while (const auto incoming = client.next()) {
    const wire::Message& message = incoming->message();
    if (const auto* accepted = message.body_as_Accepted()) answer.cached = accepted->cached();
    if (incoming->kind() == wire::Body::KernelReady) answer.kernel = true;
    if (incoming->kind() == wire::Body::Failure) answer.failed = true;
    if (answer.failed || incoming->kind() == wire::Body::Done) break;
  }
  return answer;
}

void end(PrivateDaemon& daemon) {
  daemon.signal(SIGTERM);
  EXPECT_EQ(daemon.wait(), "exit 0");
}

/// Eventually, because the optimiser may have been out of time on a busy machine, which is not cached.
bool gets_cached(const PrivateDaemon& daemon, const std::string& text) {
  return eventually([&] { return ask(daemon, text).cached; }, 1);
}

TEST(Persistence, TheSecondRunIsServedFromTheCache) {
  PrivateDaemon daemon;
  EXPECT_FALSE(ask(daemon, kText).cached);
  ASSERT_TRUE(gets_cached(daemon, kText));
  end(daemon);
  daemon.restart();
  const Answer second = ask(daemon, kText);
  EXPECT_TRUE(second.cached);
  EXPECT_TRUE(second.kernel);
  const auto stats = nlohmann::json::parse(RawClient::ready(daemon.socket()).stats());
  EXPECT_EQ(stats["cache"]["stored_hits"], 1);
  EXPECT_EQ(stats["cache"]["mode"], "disk");
}

TEST(Persistence, MeasuredCostsHaveKernelsOfTheirOwn) {
  PrivateDaemon daemon;
  ASSERT_TRUE(gets_cached(daemon, kText));
  end(daemon);
  cost::Table table = cost::shipped(os::cpu_features().avx512 ? "avx512" : "avx2");
  const auto written = [&](const char* name) {
    const std::string path = daemon.directory() + "/" + name;
    std::ofstream(path) << cost::print(table);
    return path;
  };
  table.figures[0].throughput += 1;
  daemon.restart({"--costs", written("own.costs")});
  const auto workers = daemon.workers("optimise");
  const Answer first = ask(daemon, kText);
  EXPECT_FALSE(first.cached);
  EXPECT_TRUE(first.kernel);
  EXPECT_TRUE(gets_cached(daemon, kText));
  EXPECT_EQ(daemon.workers("optimise"), workers);  // they live: they could read what the front told them
  end(daemon);
  table.cpu = "Another (X family 1)";
  {
    const CapturedLog log(daemon.directory());
    daemon.restart({"--costs", written("other.costs")});
    EXPECT_TRUE(log.says("measured on Another (X family 1)"));
    EXPECT_TRUE(ask(daemon, kText).cached);  // under the key of the costs that are built in
  }
}

/// Harm done to a file. The daemon reports it, keeps the old file, serves, and caches again.
struct Harm {
  const char* name;
  void (*do_it)(const std::string& path);
};

class Harmed : public ::testing::TestWithParam<Harm> {};

TEST_P(Harmed, IsSaidAndSurvived) {
  PrivateDaemon daemon;
  ASSERT_TRUE(gets_cached(daemon, kText));
  end(daemon);
  GetParam().do_it(daemon.cache());
  {
    const CapturedLog log(daemon.directory());
    daemon.restart();
    EXPECT_TRUE(log.says("set aside as " + daemon.cache() + ".corrupt"));
  }
  EXPECT_TRUE(fs::exists(daemon.cache() + ".corrupt"));
  const Answer first = ask(daemon, kText);
  EXPECT_FALSE(first.cached);
  EXPECT_TRUE(first.kernel);
  ASSERT_TRUE(gets_cached(daemon, kText));
  end(daemon);
  daemon.restart();
  EXPECT_TRUE(ask(daemon, kText).cached);
}

void write_over(const std::string& path, std::streamoff at, std::size_t size) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(at);
  for (std::size_t i = 0; i < size; ++i) file.put(static_cast<char>(i * 37));
  ASSERT_TRUE(file.good());
}

void make_foreign_database(const std::string& path) {
  fs::remove(path);
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
  EXPECT_EQ(
      sqlite3_exec(db, "CREATE TABLE bookmarks(url); INSERT INTO bookmarks VALUES('x')", nullptr, nullptr, nullptr),
      SQLITE_OK);
  sqlite3_close(db);
}

INSTANTIATE_TEST_SUITE_P(
    Persistence, Harmed,
    ::testing::Values(Harm{"head", [](const std::string& path) { write_over(path, 0, 100); }},
                      Harm{"first_pages", [](const std::string& path) { write_over(path, 100, 6000); }},
                      Harm{"truncated_in_a_page", [](const std::string& path) { fs::resize_file(path, 700); }},
                      Harm{"text", [](const std::string& path) { std::ofstream(path) << std::string(5000, 'n'); }},
                      Harm{"another_programs_database", make_foreign_database}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(Persistence, AnEmptyFileIsFilledAndADirectoryIsLeftAlone) {
  PrivateDaemon daemon;
  end(daemon);
  fs::resize_file(daemon.cache(), 0);
  fs::remove(daemon.cache() + "-wal");
  daemon.restart();
  EXPECT_TRUE(gets_cached(daemon, kText));
  end(daemon);
  fs::remove_all(daemon.cache());
  fs::remove(daemon.cache() + "-wal");
  fs::create_directory(daemon.cache());
  const CapturedLog log(daemon.directory());
  daemon.restart();
  EXPECT_TRUE(log.says("the cache is kept in memory only"));
  EXPECT_TRUE(ask(daemon, kText).kernel);
  EXPECT_TRUE(fs::is_directory(daemon.cache()));
}

TEST(Persistence, AFileThatAnotherHoldsLockedIsDoneWithout) {
  PrivateDaemon daemon;
  ASSERT_TRUE(gets_cached(daemon, kText));
  end(daemon);
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(daemon.cache().c_str(), &db), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(db, "PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE; PRAGMA user_version=1", nullptr, nullptr,
                         nullptr),
            SQLITE_OK);
  {
    const CapturedLog log(daemon.directory());
    daemon.restart();
    EXPECT_TRUE(log.says("the cache is kept in memory only"));
  }
  EXPECT_TRUE(ask(daemon, kText).kernel);
  EXPECT_FALSE(fs::exists(daemon.cache() + ".corrupt"));
  sqlite3_exec(db, "ROLLBACK", nullptr, nullptr, nullptr);
  sqlite3_close(db);
  end(daemon);
  daemon.restart();
  EXPECT_TRUE(ask(daemon, kText).cached);  // nothing was lost
}

TEST(Persistence, AFullDiskCostsTheCacheOnly) {
  PrivateDaemon daemon;
  ASSERT_TRUE(gets_cached(daemon, kText));
  end(daemon);
  // No file may grow beyond this: room for an image, not for a few of them in the cache.
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto size = std::max<rlim_t>(fs::file_size(daemon.cache()), 48 * 1024);
  const rlimit tight{size, before.rlim_max};
  {
    const CapturedLog log(daemon.directory());
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
    daemon.restart();
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    const auto said = [&] { return log.has("the cache is kept in memory only"); };
    for (int i = 0; i < 24 && !said(); ++i) EXPECT_TRUE(ask(daemon, "x*" + std::to_string(i) + " + y").kernel) << i;
    EXPECT_TRUE(eventually(said));
  }
  EXPECT_TRUE(ask(daemon, kText).cached);  // what is stored can still be read
  EXPECT_TRUE(is_running(daemon.pid()));
  end(daemon);
  daemon.restart();
  EXPECT_TRUE(ask(daemon, kText).cached);
  EXPECT_FALSE(fs::exists(daemon.cache() + ".corrupt"));
}

TEST(Persistence, TwoDaemonsOnOneFileDoNoHarm) {
  PrivateDaemon one;
  PrivateDaemon other({"--cache", one.cache(), "--budget-ms", "50"});
  const auto text = [](int i) { return "x*" + std::to_string(i) + " - y"; };
  for (int i = 0; i < 8; ++i) {
    EXPECT_TRUE(ask(i % 2 == 0 ? one : other, text(i)).kernel);
    if (i == 4) {
      other.signal(SIGKILL);
      other.wait();
      other.restart();
    }
  }
  for (const PrivateDaemon* each : {&one, &other}) {
    const auto stats = nlohmann::json::parse(RawClient::ready(each->socket()).stats());
    EXPECT_EQ(stats["cache"]["mode"], "disk");
    EXPECT_EQ(stats["cache"]["set_aside"], 0);
  }
  // One daemon serves the other's results.
  ASSERT_TRUE(gets_cached(one, kText));
  EXPECT_TRUE(gets_cached(other, kText));
}

}  // namespace
}  // namespace trident::tests
