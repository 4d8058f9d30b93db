// Oracle: the real Triton VM's answers (tests/tir). A row with any one answer changed must be noticed.
#include "jit/tir/oracle/oracle.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/unpacked.h"

namespace trident::tir::oracle {
namespace {

using nlohmann::json;

std::vector<std::string> lines(const std::string& name) {
  std::istringstream in(test::unpacked("tests/tir/oracles/" + name + ".xz"));
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

void expect_all_right(const std::string& name, Kind kind, std::size_t count) {
  Checker checker;
  std::uint64_t checked = 0;
  for (const std::string& line : lines(name)) {
    const Verdict verdict = checker.check(line);
    ASSERT_EQ(verdict.kind, kind);
    checked += verdict.checked;
    for (const std::string& wrong : verdict.wrong) ADD_FAILURE() << verdict.name << ": " << wrong;
  }
  EXPECT_EQ(checked, count);
}

TEST(Oracle, ProgramsByCategory) {
  expect_all_right("oracle.jsonl", Kind::program, 941);
}
TEST(Oracle, RandomPrograms) {
  expect_all_right("oracle_fuzz.jsonl", Kind::program, 86);
}
TEST(Oracle, Lowerings) {
  expect_all_right("tir_lowering.jsonl", Kind::lowering, 576);
  expect_all_right("trident_checks.jsonl", Kind::program, 13);
}
TEST(Oracle, Pairs) {
  expect_all_right("equiv_pairs.jsonl", Kind::equivalence, 37);
}
TEST(Oracle, Vectors) {
  expect_all_right("data_vectors.json", Kind::vectors, 115 + 12 + 1 + 8 + 6 + 4 + 11);
  expect_all_right("poseidon2_vectors.json", Kind::vectors, 3 + 5 + 7);
}

/// Expects every changed number of an answer to be reported.
void expect_noticed(json row, const json::json_pointer& at) {
  json& value = row[at];
  if (value.is_structured()) {
    for (const auto& [key, unused] : value.items()) expect_noticed(row, at / key);
    if (value.is_array()) {
      value.push_back(value.empty() ? json(0) : value.back());
      EXPECT_FALSE(Checker().check(row.dump()).wrong.empty()) << at;
    }
    return;
  }
  if (value.is_number()) value = value.get<std::uint64_t>() ^ 1;
  if (value.is_string()) value = "SomethingElse";
  EXPECT_FALSE(Checker().check(row.dump()).wrong.empty()) << at;
}

TEST(Oracle, NothingThatIsChangedGoesUnnoticed) {
  std::size_t seen = 0;
  for (const std::string& line : lines("oracle.jsonl")) {
    const json row = json::parse(line);
    const std::string name = row["name"];
    if (name != "sponge_absorb_mem_1" && name != "err_assert_vector_fail" && name != "err_parse_sub") continue;
    ++seen;
    for (const char* key : {"cycle_count", "error", "expected_output", "final_ram", "final_stack", "hash_rows",
                            "heights", "instruction_pointer", "padded_height", "program_digest", "program_encoding",
                            "program_words", "sponge_state", "u32_entries"})
      if (row.contains(key)) expect_noticed(row, json::json_pointer("/" + std::string(key)));
  }
  EXPECT_EQ(seen, 3u);
}

TEST(Oracle, LoweringsThatWriteSomethingElseAreNoticed) {
  std::size_t seen = 0, rows = 0;
  for (const std::string& line : lines("tir_lowering.jsonl")) {
    json row = json::parse(line);
    expect_noticed(row, json::json_pointer("/expected_output"));
    if (++rows % 16 == 1)
      for (const char* key : {"cycle_count", "final_ram", "final_stack", "hash_rows", "heights", "padded_height",
                              "program_digest", "program_words", "sponge_state", "u32_entries"})
        if (!row[key].is_null()) expect_noticed(row, json::json_pointer("/" + std::string(key)));
    row["tir_op"] = row["tir_op"] == "Add" ? "Mul" : "Add";
    seen += Checker().check(row.dump()).wrong.empty() ? 0 : 1;
  }
  EXPECT_GT(seen, 400u);
}

TEST(Oracle, ChangedVectorsAreNoticed) {
  const json all = json::parse(lines("data_vectors.json").at(0));
  // One row of each kind: all of it is changed number by number.
  json row;
  row["tip5_params"] = all["tip5_params"];
  for (const char* key : {"bfe", "xfe", "tip5_permutation", "tip5_hash_10", "tip5_hash_pair", "tip5_hash_varlen"})
    row[key] = json::array({all[key].back()});
  ASSERT_TRUE(Checker().check(row.dump()).wrong.empty());
  for (const auto& [key, value] : row.items()) {
    const json::json_pointer at("/" + key);
    if (key == "tip5_params")
      for (const auto& [what, unused] : value.items()) expect_noticed(row, at / what);
    else
      for (const auto& [what, unused] : value[0].items()) {
        const bool input = what == "a" || what == "b" || what == "in" || what == "left" || what == "right";
        if (!input) expect_noticed(row, at / 0 / what);
      }
  }
}

TEST(Oracle, PairsThatAreJudgedOtherwiseAreNoticed) {
  for (const std::string& line : lines("equiv_pairs.jsonl")) {
    json row = json::parse(line);
    row["equivalent"] = !row["equivalent"];
    EXPECT_EQ(Checker().check(row.dump()).wrong.size(), 1u) << line;
    if (row["witness_stack_bottom_first"].is_null()) continue;
    row["candidate"] = row["baseline"];  // then there is no difference to witness
    EXPECT_EQ(Checker().check(row.dump()).wrong.size(), 1u) << line;
  }
}

TEST(Oracle, WhatIsNullIsNotThere) {
  Checker checker;
  const auto faults = [&](const char* row) { return checker.check(row).wrong.size(); };
  EXPECT_EQ(faults(R"({"program": "push 7 write_io 1 halt", "error": null, "expected_output": [7], "ram": null})"), 0u);
  EXPECT_EQ(faults(R"({"program": "push 0 invert halt", "error": "InverseOfZero", "expected_output": null})"), 0u);
  EXPECT_EQ(checker.check(R"({"program": "push 0 invert halt", "error": null})").wrong.at(0).substr(0, 38),
            "failure: expected none, found InverseO");
  for (const std::string& line : lines("oracle.jsonl")) {
    json row = json::parse(line);
    if (!row.contains("error")) row["error"] = nullptr;
    EXPECT_TRUE(checker.check(row.dump()).wrong.empty()) << line;
  }
}

TEST(Oracle, SaysWhatItDoesNotUnderstand) {
  Checker checker;
  EXPECT_EQ(checker.check(R"({"baseline": "nop", "candidate": ""})").wrong.size(), 1u);
  EXPECT_EQ(checker.check(R"({"baseline": "nop", "candidate": "nip", "equivalent": true})").wrong.size(), 1u);
  EXPECT_EQ(checker.check(R"({"tir_op": "Add", "program": "halt"})").kind, Kind::lowering);
  EXPECT_FALSE(checker.check(R"({"tir_op": "Nonsense", "program": "halt", "expected_output": []})").understood);
  EXPECT_FALSE(checker.check("[]").understood);
  EXPECT_FALSE(checker.check("{}").understood);
  for (const char* bad : {"", "{", "nonsense", R"({"program": 5})", R"({"program": "halt", "public_input": [-1]})",
                          R"({"program": "halt", "public_input": 3})", R"({"program": "halt", "ram": [[1]]})",
                          R"({"program": "halt", "heights": {}, "padded_height": 256})",
                          R"({"program": "halt", "secret_digests": [[1, 2, 3, 4]]})",
                          R"({"program": "halt", "public_input": [18446744069414584321]})"})
    EXPECT_EQ(checker.check(bad).wrong.size(), 1u) << bad;
}

}  // namespace
}  // namespace trident::tir::oracle
