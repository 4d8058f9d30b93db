// Oracles: digests of the standard (FIPS 180-4), the file system, and a writer that is killed.
#include "runtime/store/versions.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace trident::store {
namespace {

namespace fs = std::filesystem;

// sha256sum of "abc": FIPS 180-4.
constexpr const char* kAbc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

class VersionsTest : public ::testing::Test {
 protected:
  VersionsTest() {
    char pattern[] = "/dev/shm/trident-versions-XXXXXX";
    folder_ = ::mkdtemp(pattern);
  }
  ~VersionsTest() override { fs::remove_all(folder_); }
  [[nodiscard]] Versions open() const { return Versions::open(folder_ + "/weights").value(); }
  static std::string add(Versions& versions, std::string_view text) {
    return versions.add(bytes_of(text), "{}").value();
  }
  std::string folder_;
};

TEST_F(VersionsTest, AreNamedByWhatTheyHold) {
  Versions versions = open();
  EXPECT_EQ(versions.chosen().value(), Versions::kNone);
  EXPECT_EQ(add(versions, "abc"), kAbc);
  EXPECT_EQ(versions.chosen().value(), Versions::kNone);
  ASSERT_TRUE(versions.choose(kAbc).ok());
  EXPECT_EQ(open().chosen().value(), kAbc);
  const auto mapped = versions.map(kAbc);
  ASSERT_TRUE(mapped.ok());
  EXPECT_EQ(mapped->bytes().size(), 3u);
  EXPECT_EQ(std::string(static_cast<const char*>(mapped->base()), 3), "abc");
}

TEST_F(VersionsTest, RollBackStepByStep) {
  Versions versions = open();
  const std::string a = add(versions, "a");
  ASSERT_TRUE(versions.choose(a).ok());
  const std::string b = add(versions, "b");
  ASSERT_TRUE(versions.choose(b).ok());
  EXPECT_EQ(versions.roll_back().value(), a);
  EXPECT_EQ(versions.chosen().value(), a);
  EXPECT_EQ(versions.roll_back().value(), Versions::kNone);
  EXPECT_EQ(versions.roll_back().error().code, ErrorCode::kNotFound);
  // A version that was rolled back from is still found by its name, or by the beginning of it.
  EXPECT_EQ(versions.find(b.substr(0, 9)).value(), b);
  ASSERT_TRUE(versions.choose(b).ok());
  EXPECT_EQ(versions.chosen().value(), b);
  EXPECT_EQ(versions.roll_back().value(), Versions::kNone);
}

TEST_F(VersionsTest, ChooseOnlyInPlaceOfWhatWasLookedAt) {
  Versions versions = open();
  const std::string a = add(versions, "a"), b = add(versions, "b"), c = add(versions, "c");
  ASSERT_TRUE(versions.choose(b, Versions::kNone).ok());
  Versions other = open();
  const std::string d = add(other, "d");
  EXPECT_EQ(other.choose(d, Versions::kNone).error().code, ErrorCode::kCancelled);
  EXPECT_EQ(versions.chosen().value(), b);
  ASSERT_TRUE(other.choose(d, b).ok());
  EXPECT_EQ(versions.chosen().value(), d);
  // Versions that nobody chose are gone by then.
  EXPECT_EQ(other.choose(a).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(other.choose(c).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(versions.chosen().value(), d);
}

TEST_F(VersionsTest, KeepSoManyAndNoMore) {
  Versions versions = open();
  for (int i = 0; i < 30; ++i) ASSERT_TRUE(versions.choose(add(versions, "version " + std::to_string(i))).ok());
  std::size_t files = 0;
  for (const auto& entry : fs::directory_iterator(versions.folder()))
    files += entry.path().extension() == ".bytes" ? 1 : 0;
  EXPECT_EQ(files, Versions::kHistoryMax + 1);
  for (std::size_t i = 0; i < Versions::kHistoryMax; ++i) EXPECT_TRUE(versions.roll_back().ok());
  EXPECT_EQ(versions.roll_back().error().code, ErrorCode::kNotFound);
}

TEST_F(VersionsTest, AreRefusedWhenDamaged) {
  Versions versions = open();
  const std::string a = add(versions, "a good one");
  ASSERT_TRUE(versions.choose(a).ok());
  const std::string b = add(versions, "another one");
  std::ofstream(versions.path_of(b)) << "anXther one";
  EXPECT_EQ(versions.choose(b).error().code, ErrorCode::kRejectedRecord);
  EXPECT_EQ(versions.map(b).error().code, ErrorCode::kRejectedRecord);
  EXPECT_EQ(versions.chosen().value(), a);
  std::ofstream(versions.folder() + "/chosen") << "../../etc/passwd\n";
  EXPECT_EQ(versions.chosen().error().code, ErrorCode::kRejectedRecord);
  EXPECT_FALSE(versions.choose(a, a).ok());
  ASSERT_TRUE(versions.choose(a).ok());  // choosing again mends it
  EXPECT_EQ(versions.chosen().value(), a);
  EXPECT_EQ(add(versions, "another one"), b);  // written anew
  EXPECT_TRUE(versions.map(b).ok());
}

TEST_F(VersionsTest, WhoOnlyLooksMakesNothing) {
  const Versions absent = Versions::at(folder_ + "/weights");
  ASSERT_EQ(absent.list()->size(), 1u);
  EXPECT_EQ(absent.list()->front().name, Versions::kNone);
  EXPECT_TRUE(absent.list()->front().chosen);
  EXPECT_TRUE(absent.strangers().empty());
  EXPECT_FALSE(fs::exists(absent.folder()));
  std::ofstream(folder_ + "/file") << "no folder";
  EXPECT_EQ(Versions::at(folder_ + "/file").list().error().code, ErrorCode::kOsError);
}

constexpr uid_t kNobody = 65534;

/// Ends with 0 where it is told that the folder cannot be read. Root may look everywhere, so it is nobody who looks.
[[noreturn]] void list_without_rights(const Versions& versions) {
  if (::geteuid() == 0 && ::setuid(kNobody) != 0) ::_exit(2);
  const auto list = versions.list();
  const bool told = !list.ok() && list.error().message == versions.folder() + ": cannot be read: Permission denied";
  ::_exit(told ? 0 : 1);
}

TEST_F(VersionsTest, ThatMayNotBeLookedForAreNotNone) {
  Versions versions = open();
  add(versions, "abc");
  if (::geteuid() == 0)
    for (const std::string& folder : {folder_, versions.folder()})
      ASSERT_EQ(::chown(folder.c_str(), kNobody, static_cast<gid_t>(-1)), 0);
  ASSERT_EQ(::chmod(versions.folder().c_str(), 0300), 0);
  EXPECT_EXIT(list_without_rights(versions), testing::ExitedWithCode(0), "");
  ASSERT_EQ(::chmod(versions.folder().c_str(), 0700), 0);
}

TEST_F(VersionsTest, SayWhichFilesAreNoneOfTheirs) {
  Versions versions = open();
  ASSERT_TRUE(versions.choose(add(versions, "abc")).ok());
  std::ofstream(versions.path_of(kAbc, ".notes")) << "its owner's";
  std::ofstream(versions.folder() + "/chosen.1.0.part") << "a draft";
  EXPECT_TRUE(versions.strangers().empty());
  std::ofstream(versions.folder() + "/readme") << "a stranger";
  fs::create_directory(versions.folder() + "/folder");
  EXPECT_EQ(versions.strangers(), (std::vector<std::string>{"folder", "readme"}));
  EXPECT_EQ(versions.list()->size(), 2u);
}

// A writer is killed at any moment: what is chosen is always there, and whole.
TEST_F(VersionsTest, SurviveKillNine) {
  constexpr int kKills = 60;
  for (int kill = 0; kill < kKills; ++kill) {
    const pid_t child = ::fork();
    if (child == 0) {
      Versions versions = open();
      for (int i = 0;; ++i) {
        const auto name = versions.add(bytes_of(std::string(50'000, static_cast<char>('a' + i % 26))), "{}");
        if (!name.ok() || !versions.choose(*name).ok()) ::_exit(1);
        if (i % 3 == 2 && !versions.roll_back().ok()) ::_exit(1);
      }
    }
    ::usleep(1000 + 700 * static_cast<unsigned>(kill));
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    Versions versions = open();
    const auto chosen = versions.chosen();
    ASSERT_TRUE(chosen.ok()) << chosen.error().message;
    if (*chosen == Versions::kNone) continue;
    const auto mapped = versions.map(*chosen);
    ASSERT_TRUE(mapped.ok()) << mapped.error().message;
    EXPECT_EQ(mapped->bytes().size(), 50'000u);
  }
}

}  // namespace
}  // namespace trident::store
