#include "daemon/learning/journal.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
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
    journal.note(parsed("x + y*" + std::to_string(i)));
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

TEST_F(JournalTest, GoesOnAfterACrash) {
  {
    Journal journal(path(), 1 << 16);
    journal.note(parsed("x*y + 1"));
  }
  std::ofstream(path(), std::ios::app) << "(kernel k :vars ((v0:f";
  Journal journal(path(), 1 << 16);
  journal.note(parsed("x*y + 1"));
  journal.note(parsed("x*y + 2"));
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
  off.note(parsed("x"));
  EXPECT_FALSE(fs::exists(path()));
}

}  // namespace
}  // namespace trident::learning
