// Oracle: lines as journald and JSON parsers expect them (nlohmann's parser for JSON).
#include "runtime/log/log.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "runtime/log/ration.h"

namespace trident::log {
namespace {

constexpr std::int64_t kTime = 951'827'696'789;  // 2000-02-29 12:34:56.789 UTC, by date(1)

TEST(Log, TextNamesTimeTagAndLevel) {
  EXPECT_EQ(format_line(Form::text, "t", Level::warning, kTime, "a b"), "2000-02-29T12:34:56.789Z t warning: a b\n");
}

TEST(Log, JournalPrioritiesAreSyslogs) {
  EXPECT_EQ(format_line(Form::journal, "t", Level::error, kTime, "m"), "<3>m\n");
  EXPECT_EQ(format_line(Form::journal, "t", Level::info, kTime, "m"), "<6>m\n");
  EXPECT_EQ(format_line(Form::journal, "t", Level::debug, kTime, "m"), "<7>m\n");
}

TEST(Log, AMessageCannotStartALineOfItsOwn) {
  EXPECT_EQ(format_line(Form::journal, "t", Level::info, kTime, "a\n<0>b\x01"), "<6>a\\n<0>b\\u0001\n");
}

TEST(Log, JsonRoundTripsEveryByteBelow128) {
  std::string message;
  for (char c = 1; c < 127; ++c) message += c;
  const std::string line = format_line(Form::json, "t\"g", Level::info, kTime, message);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const auto parsed = nlohmann::json::parse(line);
  EXPECT_EQ(parsed["message"], message);
  EXPECT_EQ(parsed["tag"], "t\"g");
  EXPECT_EQ(parsed["level"], "info");
}

TEST(Log, LevelsBelowTheConfiguredOneAreDropped) {
  configure({.level = Level::warning, .form = Form::journal, .tag = "t"});
  ::testing::internal::CaptureStderr();
  info("dropped {}", 1);
  warning("kept {}", 2);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "<4>kept 2\n");
}

TEST(Ration, LetsSoManyLinesThroughAndCountsTheOthers) {
  Ration ration(2, 100);
  int written = 0;
  for (std::uint64_t now = 1000; now < 1100; ++now) written += ration.take_at(now) ? 1 : 0;
  EXPECT_EQ(written, 2);
  EXPECT_TRUE(ration.take_at(1100));
  EXPECT_EQ(ration.left_out(), " (and 98 similar lines left out)");
  EXPECT_TRUE(ration.take_at(1101));
  EXPECT_EQ(ration.left_out(), "");
}

}  // namespace
}  // namespace trident::log
