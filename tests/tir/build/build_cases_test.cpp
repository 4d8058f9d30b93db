// Oracle: the machine on the given program and on the result; for what can run, a flow over addresses that is written
// here. The rows of cases.json say what each program is there for.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "jit/tir/build/build.h"
#include "tests/tir/build/ending.h"

namespace trident::tir::build {
namespace {

using nlohmann::json;

const std::string kFolder = "tests/tir/build/";

std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.good()) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<Element> elements(const json& list) {
  std::vector<Element> out;
  for (const json& value : list) out.emplace_back(value.get<std::uint64_t>());
  return out;
}

std::vector<Digest> digests(const json& row) {
  std::vector<Digest> out;
  for (const json& list : row.value("digests", json::array())) {
    const std::vector<Element> words = elements(list);
    EXPECT_EQ(words.size(), field::kDigestWords);
    std::copy_n(words.begin(), field::kDigestWords, out.emplace_back().begin());
  }
  return out;
}

Request request_of(const json& row) {
  Request out;
  out.name = row.at("program").get<std::string>() + ".tasm";
  out.text = text_of(kFolder + out.name);
  out.runs.clear();
  for (const json& words : row.at("runs"))
    out.runs.push_back({.public_input = elements(words), .secret_digests = digests(row)});
  out.milliseconds = 5'000;
  return out;
}

/// Heights as the prover runs it: from its own digest.
vm::Heights heights_on(const tasm::Program& program, const Run& run) {
  vm::Code code;
  EXPECT_TRUE(vm::load(program, code));
  vm::Machine machine;
  EXPECT_EQ(machine.run(code, run.inputs()), vm::Failure::none) << machine.failure_text();
  return machine.heights();
}

/// Indices of unreachable instructions: one instruction leads to the next, to its skip target and to its callees.
std::vector<std::size_t> never_run(const tasm::Program& program) {
  const auto& all = program.instructions;
  std::map<std::uint64_t, std::size_t> index;
  std::uint64_t address = 0;
  for (std::size_t i = 0; i < all.size(); ++i) index[address] = i, address += all[i].words();
  std::vector<std::size_t> open = {0}, out;
  std::vector<bool> seen(all.size() + 2);
  while (!open.empty()) {
    const std::size_t i = open.back();
    open.pop_back();
    if (i >= all.size() || seen[i]) continue;
    seen[i] = true;
    const std::string name(tasm::row(all[i].op).text);
    if (name == "call") open.push_back(index.at(all[i].argument.value()));
    if (name == "skiz") open.push_back(i + 2);
    if (name != "halt" && name != "return" && name != "recurse" && name != "recurse_or_return") open.push_back(i + 1);
  }
  for (std::size_t i = 0; i < all.size(); ++i)
    if (!seen[i]) out.push_back(i);
  return out;
}

tournament::Score score_of(const Request& request, const std::string& text) {
  const tasm::Program program = assembled(text);
  tournament::Score out{.words = program.words()};
  for (const Run& run : request.runs) out.add(heights_on(program, run));
  return out;
}

void check_heights(const Request& request, const Built& built, const json& row) {
  const tasm::Program given = assembled(request.text), result = assembled(built.tasm);
  const json runs = json::parse(built.report).at("runs");
  ASSERT_EQ(runs.size(), request.runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const vm::Heights before = heights_on(given, request.runs[i]), after = heights_on(result, request.runs[i]);
    EXPECT_LE(after.padded(), before.padded()) << "run " << i;
    for (std::size_t t = 0; t < vm::kTableCount; ++t) {
      EXPECT_EQ(before.rows[t], runs[i].at("before")[t].get<std::uint64_t>()) << vm::kTableNames[t];
      EXPECT_EQ(after.rows[t], runs[i].at("after")[t].get<std::uint64_t>()) << vm::kTableNames[t];
    }
    if (i > 0) continue;
    EXPECT_EQ(after, built.after);
    EXPECT_LE(after.padded(), row.value("padded_max", before.padded()));
    EXPECT_LE(after.of(vm::Table::processor), row.value("processor_max", UINT64_MAX));
  }
  EXPECT_LE(result.words(), row.value("words_max", UINT32_MAX));
  EXPECT_EQ(never_run(result), std::vector<std::size_t>()) << built.tasm;
}

void check_endings(const Request& request, const Built& built, const json& row) {
  const tasm::Program given = assembled(request.text), result = assembled(built.tasm);
  const std::vector<Digest> secret = digests(row);
  json inputs = row.at("runs");
  inputs.insert(inputs.end(), row.at("tried").begin(), row.at("tried").end());
  for (const json& words : inputs) {
    const std::vector<Element> input = elements(words);
    const vm::Inputs machine_inputs{input, {}, secret, {}, {}};
    EXPECT_EQ(ending_of(given, machine_inputs), ending_of(result, machine_inputs)) << words << "\n" << built.tasm;
  }
}

TEST(BuildCases, EveryRow) {
  for (const json& row : json::parse(text_of(kFolder + "cases.json"))) {
    SCOPED_TRACE(row.at("program").get<std::string>());
    Request request = request_of(row);
    const auto built = build(request);
    ASSERT_TRUE(built) << built.error().message;
    check_heights(request, *built, row);
    check_endings(request, *built, row);
    const json report = json::parse(built->report);
    EXPECT_EQ(report.at("put_aside"), json::array());
    EXPECT_EQ(report.at("looks_at_digest"), row.value("looks_at_digest", false));
    for (std::size_t stage = 0; stage < std::size(kStageNames); ++stage) {
      request.left_out = static_cast<std::uint8_t>(1u << stage);
      const auto plainer = build(request);
      ASSERT_TRUE(plainer) << plainer.error().message;
      EXPECT_FALSE(score_of(request, plainer->tasm) < score_of(request, built->tasm))
          << "without " << kStageNames[stage];
    }
  }
}

}  // namespace
}  // namespace trident::tir::build
