#include "runtime/base/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>

namespace trident {
namespace {

Result<std::unique_ptr<int>> positive(int x) {
  if (x <= 0) return make_error(ErrorCode::kInvalidArgument, "%d is not positive", x);
  return std::make_unique<int>(x);
}

Result<int> doubled(int x) {
  TRY(const std::unique_ptr<int> value, positive(x));
  return *value * 2;
}

Result<void> only_positive(int x) {
  TRY_VOID(doubled(x));
  return {};
}

TEST(Result, TryPassesValuesOn) {
  EXPECT_EQ(doubled(21).value(), 42);
  EXPECT_TRUE(only_positive(1).ok());
}

TEST(Result, TryReturnsTheErrorUnchanged) {
  const Result<int> result = doubled(-3);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(result.error().message, "-3 is not positive");
  EXPECT_EQ(only_positive(0).error().message, "0 is not positive");
}

TEST(Result, ValueOfAnErrorIsABugThatEndsTheProcess) {
  EXPECT_DEATH(static_cast<void>(doubled(0).value()), "CHECK failed");
}

TEST(Errors, EveryCodeHasItsOwnNameAndASentence) {
  std::set<std::string_view> names;
  int codes = 0;
#define X(name, sentence)                             \
  names.insert(name_of(ErrorCode::k##name));          \
  EXPECT_GT(describe(ErrorCode::k##name).size(), 8u); \
  ++codes;
#include "runtime/base/errors.def"
#undef X
  EXPECT_EQ(names.size(), static_cast<std::size_t>(codes));
}

}  // namespace
}  // namespace trident
