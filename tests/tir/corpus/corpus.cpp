#include "tests/tir/corpus/corpus.h"

#include <cstdio>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "jit/tir/tasm/program.h"
#include "runtime/base/check.h"

namespace trident::tir::corpus {
namespace {

using nlohmann::json;

const std::string kFolder = "tests/tir/corpus/";

/// Empty when there is no such file.
std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return in.good() ? std::string{std::istreambuf_iterator<char>(in), {}} : std::string();
}

Element element(const json& value) {
  const auto number = value.get<std::uint64_t>();
  CHECK(number < field::kModulus);
  return Element(number);
}
std::vector<Element> elements(const json& list) {
  std::vector<Element> out;
  for (const json& value : list) out.push_back(element(value));
  return out;
}

Case case_of(const json& row) {
  Case c;
  c.name = row.at("name"), c.topic = row.at("topic"), c.what = row.at("what");
  c.held_out = row.at("split") == "test";
  c.public_input = elements(row.at("public_input"));
  c.secret_input = elements(row.at("secret_input"));
  for (const json& list : row.at("secret_digests")) {
    CHECK(list.size() == field::kDigestWords);
    Digest digest;
    for (std::size_t i = 0; i < digest.size(); ++i) digest[i] = element(list[i]);
    c.secret_digests.push_back(digest);
  }
  for (const json& pair : row.at("ram")) c.ram.emplace_back(element(pair.at(0)), element(pair.at(1)));
  c.expected_output = elements(row.at("expected_output"));
  c.text = text_of(kFolder + c.name + ".tir");
  c.hand = text_of(kFolder + "hand/" + c.name + ".tasm");
  return c;
}

}  // namespace

std::vector<Case> read_cases() {
  std::vector<Case> out;
  for (const json& row : json::parse(text_of(kFolder + "cases.json"))) out.push_back(case_of(row));
  CHECK(!out.empty());
  return out;
}

namespace {

template <class Program>
Program good(Result<Program> program) {
  if (!program) std::fprintf(stderr, "%s\n", program.error().message.c_str());
  CHECK(program.ok());
  return *std::move(program);
}

}  // namespace

language::Program program_of(const Case& c) {
  return good(language::parse(ir::SourceText(c.text, c.name + ".tir")));
}

std::optional<tasm::Program> hand_of(const Case& c) {
  if (c.hand.empty()) return {};
  return good(tasm::assemble(ir::SourceText(c.hand, c.name + ".tasm")));
}

Measured run(const tasm::Program& program, const Case& c, const vm::Budget& budget) {
  vm::Code code;
  CHECK(vm::load(program, code).ok());
  vm::Machine machine;
  Measured out;
  out.failure = machine.run(code, c.inputs(), budget);
  out.failure_text = machine.failure_text();
  out.output = machine.output();
  out.words = code.words();
  out.heights = machine.heights();
  return out;
}

}  // namespace trident::tir::corpus
