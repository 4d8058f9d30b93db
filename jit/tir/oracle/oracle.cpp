#include "jit/tir/oracle/oracle.h"

#include "jit/tir/oracle/rows.h"
#include "runtime/base/check.h"

namespace trident::tir::oracle {
namespace {

constexpr std::size_t kShownMax = 24;  ///< elements of a list shown in a message

Kind kind_of(const Json& row) {
  const auto has = [&](const char* key) { return row.contains(key); };
  if (has("baseline") && has("candidate")) return Kind::equivalence;
  if (has("tir_op")) return Kind::lowering;
  if (has("bfe") || has("xfe") || has("tip5_permutation") || has("hash_fields")) return Kind::vectors;
  if (has("program")) return Kind::program;
  return Kind::unknown;
}

/// Leaves out members that are null, as they count as absent: "error": null of a row that ends well.
Json without_nulls(const Json& row) {
  if (row.is_discarded()) throw Json::Fault("it is no JSON");
  if (!row.is_object()) return row;
  Json kept = Json::object();
  for (const auto& [name, value] : row.items())
    if (!value.is_null()) kept[name] = value;
  return kept;
}

}  // namespace

std::string_view name_of(Kind kind) {
  switch (kind) {
    case Kind::program: return "programs";
    case Kind::vectors: return "vectors";
    case Kind::equivalence: return "equivalence pairs";
    case Kind::lowering: return "lowerings";
    case Kind::unknown: return "rows of an unknown form";
  }
  CHECK(false);
}

Element element(const Json& value) {
  if (!value.is_natural()) throw Json::Fault("expected an element, an integer from 0 to p - 1");
  const auto number = value.get<std::uint64_t>();
  if (number >= field::kModulus) throw Json::Fault("an element must be below p");
  return Element::canonical(number);
}

std::vector<Element> elements(const Json& list) {
  if (!list.is_array()) throw Json::Fault("a list of elements was expected");
  std::vector<Element> out;
  for (const Json& value : list) out.push_back(element(value));
  return out;
}

std::string text(const std::vector<Element>& list) {
  std::string out = "[";
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i == kShownMax) return out + ", ... " + std::to_string(list.size()) + " in all]";
    out += (i == 0 ? "" : ", ") + std::to_string(list[i].value());
  }
  return out + "]";
}

void compare(Verdict& verdict, const std::string& what, const std::vector<Element>& expected,
             const std::vector<Element>& found) {
  if (expected != found) verdict.wrong.push_back(what + ": expected " + text(expected) + ", found " + text(found));
}

void compare(Verdict& verdict, const std::string& what, std::uint64_t expected, std::uint64_t found) {
  if (expected != found)
    verdict.wrong.push_back(what + ": expected " + std::to_string(expected) + ", found " + std::to_string(found));
}

Verdict Checker::check(std::string_view text) {
  Verdict verdict;
  try {
    const Json row = without_nulls(Json::parse(text));
    if (row.is_object()) verdict.kind = kind_of(row);
    if (row.is_object() && row.contains("name") && row.at("name").is_string())
      verdict.name = row.at("name").get<std::string>();
    switch (verdict.kind) {
      case Kind::program: check_program(row, machine_, code_, verdict); break;
      case Kind::vectors: check_vectors(row, verdict); break;
      case Kind::lowering: check_lowering(row, machine_, code_, verdict); break;
      case Kind::equivalence: check_pair(row, verdict); break;
      case Kind::unknown: verdict.understood = false; break;
    }
  } catch (const Json::Fault& error) {
    verdict.wrong.push_back(std::string("this is not a valid row: ") + error.what());
  }
  return verdict;
}

}  // namespace trident::tir::oracle
