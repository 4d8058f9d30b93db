// Oracle: the library, which makes the same values of the same braces.
#include "runtime/json/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>

namespace trident {
namespace {

/// A value of every kind, by the one and by the other.
template <class Value>
Value every_kind() {
  Value out = {{"zero", 0},
               {"negative", -7},
               {"least", std::numeric_limits<std::int64_t>::min()},
               {"most", std::numeric_limits<std::uint64_t>::max()},
               {"third", 1.0 / 3},
               {"whole", 4096.0},
               {"tiny", 5e-324},
               {"float", 0.1f},
               {"infinite", std::numeric_limits<double>::infinity()},
               {"true", true},
               {"null", nullptr},
               {"text", "quote \" tab \t \xC3\xA9"},
               {"pairs", std::vector<std::pair<double, double>>{{1, 2}, {0.5, 1e300}}},
               {"names", {"b", "a", "c"}},
               {"of two", {"a", "b"}},
               {"nested", {{"z", {{"y", std::vector<int>{1, 2}}}}, {"a", std::string("x")}}}};
  out["rows"] = Value::array();
  out["rows"].push_back({{"name", std::string_view("row")}, {"value", 1u}});
  out["rows"].push_back(Value());
  out["empty"] = Value::object();
  out["made"]["below"] = 3;
  out["zero"] = 1;
  return out;
}

TEST(Json, SaysWhatTheLibrarySays) {
  const Json ours = every_kind<Json>();
  const auto theirs = every_kind<nlohmann::ordered_json>();
  EXPECT_EQ(ours.dump(), theirs.dump());
  EXPECT_EQ(ours.dump(1), theirs.dump(1));
  EXPECT_EQ(ours.dump(2), theirs.dump(2));
}

TEST(Json, ReadsWhatTheLibraryReads) {
  for (const char* text : {"{}", "[]", "null", "[1, -1, 1.0, 1e400, 18446744073709551615, 18446744073709551616, true]",
                           "{\"a\": {\"b\": [[]]}}", "{\"a\": 1, \"b\": 2, \"a\": 3}", "\"\\u00e9\"", "3"}) {
    const auto theirs = nlohmann::ordered_json::parse(text, nullptr, false);
    const Json ours = Json::parse(text);
    EXPECT_EQ(ours.is_discarded(), theirs.is_discarded()) << text;
    if (!theirs.is_discarded()) {
      EXPECT_EQ(ours.dump(), theirs.dump()) << text;
    }
  }
}

TEST(Json, DiscardsWhatIsNoJsonOrTooDeep) {
  for (const char* text : {"", "{", "{\"a\"}", "[1,]", "nul"}) EXPECT_TRUE(Json::parse(text).is_discarded()) << text;
  const std::size_t many = 100'000;
  EXPECT_TRUE(Json::parse(std::string(many, '[') + std::string(many, ']')).is_discarded());
  EXPECT_FALSE(Json::parse(std::string(200, '[') + std::string(200, ']')).is_discarded());
}

TEST(Json, MembersByName) {
  const Json json = Json::parse(R"({"n": 3, "x": 0.5, "t": "word", "b": true, "list": [1, 2], "o": {"k": -1}})");
  EXPECT_EQ(json.at("n").get<std::size_t>(), 3u);
  EXPECT_EQ(json.at("o").at("k").get<int>(), -1);
  EXPECT_EQ(json.at("list").at(1).get<unsigned>(), 2u);
  EXPECT_EQ(json.value("x", 0.0), 0.5);
  EXPECT_EQ(json.value("t", ""), "word");
  EXPECT_TRUE(json.value("b", false));
  EXPECT_EQ(json.value("absent", 7), 7);
  EXPECT_EQ(json.value("t", 7), 7);
  EXPECT_EQ(json.value("n", std::string("none")), "none");
  EXPECT_EQ(json.value("absent", Json::object()).value("k", 1), 1);
  EXPECT_FALSE(json.contains("k"));
  std::string names;
  for (const auto& [name, value] : json.items()) names += name + value.dump();
  EXPECT_EQ(names, R"(n3x0.5t"word"btruelist[1,2]o{"k":-1})");
}

TEST(Json, FaultsSayWhatIsMissing) {
  const Json json = {{"t", "word"}, {"list", {1, 2}}};
  EXPECT_THROW((void)json.at("absent"), Json::Fault);
  EXPECT_THROW((void)json.at("t").at("k"), Json::Fault);
  EXPECT_THROW((void)json.at("list").at(2), Json::Fault);
  EXPECT_THROW((void)json.at("t").get<int>(), Json::Fault);
  EXPECT_THROW(Json(3)["a"] = 1, Json::Fault) << "a number has no members";
  EXPECT_THROW(Json(Json::array())["a"] = 1, Json::Fault);
  EXPECT_THROW(Json(Json::object()).push_back(1), Json::Fault) << "an element of an object needs a name";
  EXPECT_THROW((void)json.at("list").get<std::string>(), Json::Fault);
}

TEST(Json, UpdateTakesTheOthersMembers) {
  Json json = {{"a", 1}, {"b", 2}};
  json.update({{"b", 3}, {"c", 4}});
  EXPECT_EQ(json.dump(), R"({"a":1,"b":3,"c":4})");
}

TEST(Json, BytesThatAreNoTextAreReplaced) {
  EXPECT_EQ(Json("a\xFFz").dump(), "\"a\xEF\xBF\xBDz\"");
}

}  // namespace
}  // namespace trident
