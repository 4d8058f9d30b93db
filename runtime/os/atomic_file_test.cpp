// Oracle: what the file system holds.
#include "runtime/os/atomic_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "runtime/os/text_bytes.h"

namespace trident::os {
namespace {

class AtomicFileTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        testing::TempDir() + "atomic_file_" + std::to_string(::testing::UnitTest::GetInstance()->random_seed()) + "/";
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string text(const std::string& name) {
    const auto bytes = read_file(folder_ + name, 1 << 24);
    return bytes.ok() ? std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size()) : "?";
  }
  std::size_t files() {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_), {}));
  }
  std::string folder_;
};

TEST_F(AtomicFileTest, IsTheOldFileUntilItIsCommitted) {
  for (const std::string& content : {std::string("old"), std::string(3 << 20, 'x'), std::string()}) {
    const std::string before = text("file");
    auto file = AtomicFile::create(folder_ + "file");
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file->append(bytes_of(content)).ok());
    EXPECT_EQ(text("file"), before);
    ASSERT_TRUE(file->commit().ok());
    EXPECT_EQ(text("file"), content);
    EXPECT_EQ(files(), 1u);
  }
}

TEST_F(AtomicFileTest, KeepsPermissions) {
  for (const auto allowed : {std::filesystem::perms(0640), std::filesystem::perms(0755)}) {
    ASSERT_TRUE(AtomicFile::create(folder_ + "file")->commit().ok());
    std::filesystem::permissions(folder_ + "file", allowed);
    ASSERT_TRUE(AtomicFile::create(folder_ + "file")->commit().ok());
    EXPECT_EQ(std::filesystem::status(folder_ + "file").permissions(), allowed);
  }
}

TEST_F(AtomicFileTest, LeavesNothingBehindUncommitted) {
  {
    auto file = AtomicFile::create(folder_ + "file");
    ASSERT_TRUE(file->append(bytes_of("half")).ok());
    EXPECT_EQ(files(), 1u);
  }
  EXPECT_EQ(files(), 0u);
}

TEST_F(AtomicFileTest, ErrorsNameTheFile) {
  const auto nowhere = AtomicFile::create(folder_ + "no/such/file");
  ASSERT_FALSE(nowhere.ok());
  EXPECT_NE(nowhere.error().message.find("no/such/file"), std::string::npos);
  EXPECT_EQ(read_file(folder_ + "none", 10).error().code, ErrorCode::kNotFound);
  auto file = AtomicFile::create(folder_ + "file");
  ASSERT_TRUE(file->append(bytes_of("eleven byte")).ok());
  ASSERT_TRUE(file->commit().ok());
  EXPECT_EQ(read_file(folder_ + "file", 10).error().code, ErrorCode::kLimitExceeded);
  EXPECT_FALSE(read_file(folder_, 10).ok());
}

}  // namespace
}  // namespace trident::os
