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
        if (!line.empty()) all.insert(line.substr(0, line.find(" ;")));  // without the uid, a comment
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

std::string text_of(const std::string& user, unsigned number) {
  return "x*" + user + " + y*" + std::to_string(number);
}

constexpr unsigned kFew = 5;
constexpr std::uint64_t kSmall = 16384;

// One that submits without end displaces its own lines, whoever comes first, before and after each restart.
TEST_F(JournalTest, OneUserDisplacesNobodyElse) {
  const auto left_of = [&](const std::string& user, unsigned count) {
    const auto all = lines();
    unsigned left = 0;
    for (unsigned i = 0; i < count; ++i) left += all.contains(journal_line(parsed(text_of(user, i)))) ? 1 : 0;
    return left;
  };
  constexpr unsigned kFlood = 3000;
  for (unsigned start = 0; start < 3; ++start) {
    Journal journal(path(), kSmall);
    for (unsigned i = 0; i < kFew && start == 0; ++i) journal.note(1000, parsed(text_of("100", i)));
    for (unsigned i = 0; i < kFlood; ++i) journal.note(2000, parsed(text_of("200", start * kFlood + i)));
    for (unsigned i = 0; i < kFew && start == 0; ++i) journal.note(3000, parsed(text_of("300", i)));
    EXPECT_EQ(left_of("100", kFew), kFew) << start;
    EXPECT_EQ(left_of("300", kFew), kFew) << start;
  }
  EXPECT_GT(left_of("200", 3 * kFlood), 3 * kFew);  // what nobody needs is the greedy one's
}

// Who submits an expression first is no reason to lose it.
TEST_F(JournalTest, AnExpressionOfTwoStaysForTheOther) {
  for (unsigned start = 0; start < 2; ++start) {
    Journal journal(path(), kSmall);
    for (const std::uint32_t uid : {2000u, 1000u})
      for (unsigned i = 0; i < kFew; ++i) journal.note(uid, parsed(text_of("100", i)));
    EXPECT_EQ(journal.stats().known, start == 0 ? 0u : kFew);  // uid 1000's; uid 2000's have gone
    for (unsigned i = 0; i < 3000; ++i) journal.note(2000, parsed(text_of("200", start * 3000 + i)));
    const auto all = lines();
    for (unsigned i = 0; i < kFew; ++i)
      EXPECT_TRUE(all.contains(journal_line(parsed(text_of("100", i))))) << start << i;
  }
}

TEST_F(JournalTest, LinesWithoutAUserStayAndAreDisplacedFirst) {
  {
    std::ofstream old(path());
    for (unsigned i = 0; i < 40; ++i) old << journal_line(parsed(text_of("100", i))) << '\n';
  }
  Journal journal(path(), kSmall);
  for (unsigned i = 0; i < kFew; ++i) journal.note(1000, parsed(text_of("200", i)));
  EXPECT_EQ(lines().size(), 40u + kFew);
  for (unsigned i = 0; i < 3000; ++i) journal.note(3000, parsed(text_of("300", i)));
  const auto all = lines();
  for (unsigned i = 0; i < kFew; ++i) EXPECT_TRUE(all.contains(journal_line(parsed(text_of("200", i))))) << i;
}

// Readers skip the uid, those of earlier builds too.
TEST_F(JournalTest, TheUserIsAComment) {
  Journal journal(path(), kSmall);
  journal.note(1000, parsed("x*y + 1"));
  std::ifstream in(path());
  std::string line;
  ASSERT_TRUE(std::getline(in, line));
  EXPECT_TRUE(line.ends_with(" ;1000;")) << line;
  const auto back = expr::parse_sexpr(line);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(expr::canonical_bytes(*back), expr::canonical_bytes(parsed("x*y + 1")));
}

TEST_F(JournalTest, BeginsAnewWhenItsFolderIsRemoved) {
  Journal journal(path(), kSmall);
  journal.note(1, parsed("x*y + 1"));
  fs::remove_all(folder_);
  journal.note(1, parsed("x*y + 2"));
  EXPECT_EQ(lines().size(), 1u);
  fs::rename(path(), folder_ + "/elsewhere");
  journal.note(1, parsed("x*y + 2"));  // known, but gone
  journal.note(1, parsed("x*y + 3"));
  EXPECT_EQ(lines().size(), 2u);
  EXPECT_EQ(journal.fault(), "");
  EXPECT_EQ(journal.stats().known, 0u);
}

TEST_F(JournalTest, SaysWhenItCannotBeginAnew) {
  Journal journal(path(), kSmall, 0);
  fs::remove_all(folder_);
  std::ofstream(folder_) << "a file";
  journal.note(1, parsed("x*y + 1"));
  EXPECT_EQ(journal.fault(), path() + ": Not a directory");
  EXPECT_EQ(journal.stats().lost, 1u);
  fs::remove(folder_);
  ::testing::internal::CaptureStderr();
  journal.note(1, parsed("x*y + 1"));
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("; 1 expression was lost"), std::string::npos);
  EXPECT_EQ(lines().size(), 1u);
  EXPECT_EQ(journal.fault(), "");
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
  std::ofstream(folder_) << "a file";
  Journal journal(path(), 1 << 16, 0);
  journal.note(1, parsed("x*y + 1"));
  EXPECT_EQ(journal.stats().lost, 1u);
  EXPECT_EQ(journal.fault(), path() + ": Not a directory");
  fs::remove(folder_);
  journal.note(1, parsed("x*y + 1"));
  EXPECT_EQ(lines().size(), 1u);
  EXPECT_EQ(journal.fault(), "");
}

TEST_F(JournalTest, DoesNotTryAtEverySubmission) {
  fs::remove_all(folder_);
  std::ofstream(folder_) << "a file";
  Journal journal(path(), 1 << 16, 3'600'000'000'000);
  fs::remove(folder_);
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
