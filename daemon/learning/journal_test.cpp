#include "daemon/learning/journal.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>

namespace trident::learning {
namespace {

namespace fs = std::filesystem;

class JournalTest : public ::testing::Test {
 protected:
  JournalTest() {
    char pattern[] = "/dev/shm/trident-journal-XXXXXX";
    folder_ = ::mkdtemp(pattern);
  }
  ~JournalTest() override { fs::remove_all(folder_); }
  [[nodiscard]] std::string path() const { return folder_ + "/journal"; }
  [[nodiscard]] std::set<std::string> lines() const {
    std::set<std::string> all;
    for (const char* name : {"/journal", "/journal.before"}) {
      std::ifstream in(folder_ + name);
      for (std::string line; std::getline(in, line);)
        if (!line.empty()) all.insert(line);
    }
    return all;
  }
  std::string folder_;
};

expr::Expr parsed(const std::string& text) {
  return expr::parse(text).value();
}

TEST_F(JournalTest, IsBounded) {
  constexpr std::uint64_t kBytes = 4096;
  Journal journal(path(), kBytes);
  for (int i = 0; i < 1000; ++i) {
    journal.note(1, parsed("x + y*" + std::to_string(i)));
    std::uint64_t bytes = 0;
    for (const auto& entry : fs::directory_iterator(folder_)) bytes += entry.file_size();
    ASSERT_LE(bytes, kBytes);
  }
  EXPECT_EQ(journal.stats().noted, 1000u);
  const auto all = lines();
  EXPECT_GT(all.size(), 20u);
  EXPECT_TRUE(all.contains(journal_line(parsed("x + y*999"))));
  EXPECT_FALSE(all.contains(journal_line(parsed("x + y*1"))));
}

std::string text_of(const std::string& user, int number) {
  return "x*" + user + " + y*" + std::to_string(number);
}

// One that submits without end displaces its own lines, whoever comes first; after a restart too.
TEST_F(JournalTest, OneUserDisplacesNobodyElse) {
  constexpr int kFew = 10;
  const auto left_of = [&](const std::string& user, int count) {
    const auto all = lines();
    int left = 0;
    for (int i = 0; i < count; ++i) left += all.contains(journal_line(parsed(text_of(user, i)))) ? 1 : 0;
    return left;
  };
  {
    Journal journal(path(), 16384);
    for (int i = 0; i < kFew; ++i) journal.note(1, parsed(text_of("100", i)));
    for (int i = 0; i < 3000; ++i) journal.note(2, parsed(text_of("200", i)));
    for (int i = 0; i < kFew; ++i) journal.note(3, parsed(text_of("300", i)));
    for (int i = 3000; i < 6000; ++i) journal.note(2, parsed(text_of("200", i)));
    EXPECT_EQ(left_of("100", kFew), kFew);
    EXPECT_EQ(left_of("300", kFew), kFew);
    EXPECT_GT(left_of("200", 6000), 3 * kFew);  // what nobody needs is the greedy one's
  }
  // The journal has forgotten these users, but half of it still has their lines.
  Journal journal(path(), 16384);
  for (int i = 0; i < 3000; ++i) journal.note(4, parsed(text_of("400", i)));
  EXPECT_GT(left_of("300", kFew) + left_of("200", 6000), 3 * kFew);
}

// A limit on the size of files stands for a full disk: a write that begins is cut short.
TEST_F(JournalTest, GoesOnWhenTheDiskHasRoomAgain) {
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  Journal journal(path(), 1 << 16, 0);
  journal.note(1, parsed("x*y + 1"));
  const rlimit full{fs::file_size(path()) + 5, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &full), 0);
  journal.note(1, parsed("x*y + 2"));
  journal.note(1, parsed("x*y + 3"));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(journal.stats().lost, 2u);
  journal.note(1, parsed("x*y + 4"));
  journal.note(1, parsed("x*y + 2"));  // lost, not known
  EXPECT_EQ(journal.stats().noted, 3u);
  const auto all = lines();
  for (const char* text : {"x*y + 1", "x*y + 2", "x*y + 4"})
    EXPECT_TRUE(all.contains(journal_line(parsed(text)))) << text;
}

TEST_F(JournalTest, GoesOnWhenItsFolderIsThereAgain) {
  fs::remove_all(folder_);
  Journal journal(path(), 1 << 16, 0);
  journal.note(1, parsed("x*y + 1"));
  EXPECT_EQ(journal.stats().lost, 1u);
  EXPECT_EQ(journal.fault(), path() + ": No such file or directory");
  fs::create_directory(folder_);
  journal.note(1, parsed("x*y + 1"));
  EXPECT_EQ(lines().size(), 1u);
  EXPECT_EQ(journal.fault(), "");
}

TEST_F(JournalTest, DoesNotTryAtEverySubmission) {
  fs::remove_all(folder_);
  Journal journal(path(), 1 << 16, 3'600'000'000'000);
  fs::create_directory(folder_);
  journal.note(1, parsed("x*y + 1"));
  EXPECT_EQ(journal.stats().lost, 1u);
  EXPECT_FALSE(fs::exists(path()));
}

TEST_F(JournalTest, GoesOnAfterACrash) {
  {
    Journal journal(path(), 1 << 16);
    journal.note(1, parsed("x*y + 1"));
  }
  std::ofstream(path(), std::ios::app) << "(kernel k :vars ((v0:f";
  Journal journal(path(), 1 << 16);
  journal.note(1, parsed("x*y + 1"));
  journal.note(1, parsed("x*y + 2"));
  EXPECT_EQ(journal.stats().known, 1u);
  const auto all = lines();
  EXPECT_EQ(all.size(), 3u);
  EXPECT_TRUE(all.contains(journal_line(parsed("x*y + 2"))));
}

TEST_F(JournalTest, LinesMeanTheExpression) {
  for (const char* text : {"x: f32 in [0, 1]; u = x*y; (u + exp(diff(sin(x)*a, x)), u*2)", "select(x < 1, 0.1, y^3)"}) {
    const expr::Expr e = parsed(text);
    const auto back = expr::parse(journal_line(e));
    ASSERT_TRUE(back.ok()) << journal_line(e);
    EXPECT_EQ(expr::canonical_bytes(*back), expr::canonical_bytes(e)) << journal_line(e);
  }
}

TEST_F(JournalTest, LeavesOutWhatIsHuge) {
  std::string text = "x";
  for (int i = 0; i < 700; ++i) text += "*" + std::to_string(i + 2);
  EXPECT_TRUE(journal_line(parsed(text)).empty());
  Journal off(path(), 0);
  off.note(1, parsed("x"));
  EXPECT_FALSE(fs::exists(path()));
}

}  // namespace
}  // namespace trident::learning
