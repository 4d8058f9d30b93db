#include "jit/loop/oracle/oracle.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <iterator>
#include <optional>
#include <vector>

#include "jit/loop/lift.h"
#include "jit/loop/polling.h"
#include "runtime/json/json.h"
#include "schemas/loop_image.h"

namespace trident::loop::oracle {
namespace {

constexpr std::string_view kExpectations[] = {"compile", "refuse", "not_a_loop", "either"};
constexpr std::size_t kDigits = 8;  ///< of an instruction
constexpr std::uint64_t kInstructionBytes = 4;

struct Row {
  std::vector<std::byte> bytes;
  std::uint64_t head = 0;
  std::optional<std::uint64_t> tail;
  Expectation expected = Expectation::either;
  std::string name;
};

Error fault(const std::string& what) {
  return {ErrorCode::kSyntaxError, what};
}

/// Nothing unless all of `text` is one number.
std::optional<std::uint64_t> number(std::string_view text, int base) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

Result<std::uint64_t> address(const Json& row, const char* name) {
  const Json& value = row.at(name);
  const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  const auto found = text.starts_with("0x") ? number(text.substr(2), 16) : number(text, 10);
  if (!found) return fault(std::string(name) + ": expected an address such as \"0x100018\", found " + text);
  return *found;
}

Result<std::vector<std::byte>> bytes_of(const std::string& digits) {
  if (digits.empty() || digits.size() % kDigits != 0)
    return fault("bytes: expected 8 hex digits an instruction, found " + std::to_string(digits.size()) + " digits");
  if (digits.size() > 2 * TRIDENT_LOOP_CODE_BYTES_MAX)
    return fault("bytes: at most " + std::to_string(TRIDENT_LOOP_CODE_BYTES_MAX) + " bytes are looked at");
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    const std::string pair = digits.substr(i, 2);
    const auto value = number(pair, 16);
    if (!value) return fault("bytes: '" + pair + "' is no pair of hex digits");
    bytes.push_back(static_cast<std::byte>(*value));
  }
  return bytes;
}

Result<Expectation> expectation_of(const std::string& word) {
  const auto* const found = std::find(std::begin(kExpectations), std::end(kExpectations), word);
  if (found == std::end(kExpectations))
    return fault("expect: expected compile, refuse, not_a_loop or either, found '" + word + "'");
  return static_cast<Expectation>(found - std::begin(kExpectations));
}

std::string name_of_row(const Json& row) {
  const std::string label = row.value("label", ""), opt = row.value("opt", "");
  return label + (label.empty() || opt.empty() ? "" : " ") + opt;
}

Result<Row> members_of(const Json& json) {
  Row row;
  TRY(row.bytes, bytes_of(json.at("bytes").get<std::string>()));
  TRY(row.head, address(json, "head"));
  TRY(row.expected, expectation_of(json.at("expect").get<std::string>()));
  row.name = name_of_row(json);
  if (!json.contains("tail")) return row;
  TRY(const std::uint64_t tail, address(json, "tail"));
  if (tail % kInstructionBytes != row.head % kInstructionBytes || tail - row.head >= row.bytes.size())
    return fault("tail: lies outside of the row's bytes");
  row.tail = tail;
  return row;
}

Result<Row> parse(std::string_view text) {
  const Json json = Json::parse(text);
  if (!json.is_object()) return fault("expected a JSON object");
  try {
    return members_of(json);
  } catch (const Json::Fault& missing) {
    return fault(missing.what());
  }
}

/// The limit that a loop exceeds which cannot be lifted.
Reason limit_of(const Loop& loop) {
  return windows_of(loop).size() > TRIDENT_LOOP_WINDOWS_MAX ? Reason::windows : Reason::too_long;
}

/// Nothing when the loop of the row compiles.
std::optional<Refusal> refusal_of(const Row& row) {
  const auto found = discover({row.head, row.bytes}, row.head);
  if (const auto* refusal = std::get_if<Refusal>(&found)) return std::optional(*refusal);
  const Loop& loop = std::get<Loop>(found);
  // Another loop may have the same head. The row asks for the one that its tail closes.
  if (row.tail && loop.instructions.count(*row.tail) == 0) return std::optional(Refusal{Reason::not_a_loop, *row.tail});
  const auto region = lift(loop);
  if (!region.ok()) return std::optional(Refusal{limit_of(loop), row.head});
  if (polls(*region)) return std::optional(Refusal{Reason::polling, row.head});
  return std::optional<Refusal>();
}

}  // namespace

std::string_view name_of(Expectation expectation) {
  return kExpectations[static_cast<std::size_t>(expectation)];
}

bool Verdict::is_right() const {
  switch (expected) {
    case Expectation::either: return true;
    case Expectation::compile: return compiles || refusal.reason == Reason::floats;
    case Expectation::refuse: return !compiles;
    case Expectation::not_a_loop: return !compiles && refusal.reason == Reason::not_a_loop;
  }
  CHECK(false);
}

bool Verdict::is_false_accept() const {
  return compiles && !is_right();
}

std::string_view Verdict::outcome() const {
  return compiles ? "compile" : loop::name_of(refusal.reason);
}

std::string Verdict::difference() const {
  std::string text = "expected " + std::string(name_of(expected)) + ", found " + std::string(outcome());
  if (compiles) return text;
  char place[32];
  std::snprintf(place, sizeof place, " at 0x%llx", static_cast<unsigned long long>(refusal.address));
  return text + place + ": " + std::string(sentence_of(refusal.reason));
}

Result<Verdict> check(std::string_view text) {
  TRY(const Row row, parse(text));
  const auto refusal = refusal_of(row);
  Verdict verdict{.name = row.name, .expected = row.expected, .compiles = !refusal, .refusal = {}};
  if (refusal) verdict.refusal = *refusal;
  return verdict;
}

}  // namespace trident::loop::oracle
