// The table of `trident top`, from counters written by hand.
#include "clients/cli/top_text.h"

#include <gtest/gtest.h>

namespace trident::cli {
namespace {

Reading reading(double at_s, const char* stats) {
  return {Json::parse(stats), at_s};
}

TEST(TopText, ShowsLevelsAndRatesOfThePartsInUse) {
  const Reading before = reading(10, R"({"uptime_s": 7322, "jobs": {"submitted": 1200000, "open_kernels": 3}})");
  const Reading now = reading(14, R"({"uptime_s": 7326, "jobs": {"submitted": 1234567, "open_kernels": 5},
                                      "programs": {"submitted": 0}, "cache": {"hot": 1}})");
  const std::string text = top_text(before, now);
  EXPECT_TRUE(text.starts_with("tridentd, up 2 h 2 min; rates of the last 4.0 s\n")) << text;
  EXPECT_NE(text.find("\n  open                                      5\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\n  submitted                                         8641.8            1,234,567\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("\ncache\n"), std::string::npos);
  EXPECT_EQ(text.find("Triton"), std::string::npos);  // nobody submits programs
  EXPECT_EQ(text.find("emulators"), std::string::npos);
}

TEST(TopText, CountersOfAnotherVersionAreNone) {
  const Reading none = reading(0, "{}");
  EXPECT_EQ(top_text(none, none).find("kernels"), std::string::npos);
  const Json json = top_json(none, reading(2, R"({"jobs": {"submitted": 10, "open_kernels": "many"}})"));
  const Json& jobs = json.at("parts").at("jobs");
  EXPECT_EQ(jobs.at("submitted").at("per_second").get<double>(), 5);
  EXPECT_EQ(jobs.at("submitted").at("total").get<double>(), 10);
  EXPECT_EQ(jobs.at("open_kernels").at("now").get<double>(), 0);
}

}  // namespace
}  // namespace trident::cli
