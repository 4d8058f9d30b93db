// `trident loop`: the loops of a guest's code, and what becomes of them.
#include <charconv>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "clients/cli/loop/commands.h"
#include "clients/cli/loop/loop_heads.h"
#include "clients/cli/loop/loop_rate.h"
#include "clients/cli/loop/loop_reports.h"
#include "clients/cli/verb/verb.h"
#include "runtime/base/counted.h"

namespace trident::cli {
namespace {

struct LoopVerb {
  std::string file, hex, base = "0", head;
  bool region = false, measure = false, summary = false, json = false;
};

Result<std::uint64_t> address(const char* option, const std::string& text) {
  const bool is_hex = text.starts_with("0x") || text.starts_with("0X");
  const std::string_view digits = std::string_view(text).substr(is_hex ? 2 : 0);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, is_hex ? 16 : 10);
  if (error != std::errc() || end != digits.data() + digits.size())
    return make_error(ErrorCode::kInvalidArgument, "%s: expected an address such as 0x400580, found '%s'", option,
                      text.c_str());
  return value;
}

/// Looks at loops and reports each at once: a large program has thousands.
class Looking {
 public:
  Looking(const LoopVerb& verb, const GuestCode& code) : verb_(verb), code_(code) {}

  Result<void> one(std::uint64_t head, const std::vector<std::uint64_t>& jumps_back) {
    TRY(const LookedAt looked, look_at(head, jumps_back, true));
    if (verb_.json)
      loops_.push_back(loop_json(looked, verb_.region));
    else
      std::fputs(full_text(looked, verb_.region).c_str(), stdout);
    return {};
  }

  Result<void> all(const FoundHeads& found) {
    if (is_table()) print_title(found);
    for (const auto& [head, jumps_back] : found.heads) {
      TRY(const LookedAt looked, look_at(head, jumps_back, false));
      if (verb_.json && !verb_.summary) loops_.push_back(loop_json(looked, verb_.region));
      if (is_table()) std::fputs(row_text(looked).c_str(), stdout);
    }
    if (is_table()) std::puts("");
    if (!verb_.json) std::fputs(outcomes_.text().c_str(), stdout);
    if (found.is_cut && !verb_.json)
      std::printf("There are more: only the first %zu heads were taken.\n", kLoopHeadsMax);
    return {};
  }

  void print_json(bool is_cut) const {
    Json out = {{"file", code_.name}};
    out["code"] = Json::array();
    for (const CodeRange& range : code_.ranges)
      out["code"].push_back({{"address", hex(range.address)}, {"bytes", range.bytes.size()}});
    out["outcomes"] = outcomes_.json();
    out["is_cut"] = is_cut;
    out["loops"] = loops_;
    std::printf("%s\n", out.dump(2).c_str());
  }

 private:
  [[nodiscard]] bool is_table() const { return !verb_.json && !verb_.summary; }

  /// Trials take milliseconds, so that a table of thousands goes without.
  Result<LookedAt> look_at(std::uint64_t head, const std::vector<std::uint64_t>& jumps_back, bool with_trials) {
    TRY(LookedAt looked, look_at_loop(*code_.range_of(head), head, jumps_back, with_trials));
    if (verb_.measure) {
      looked.rate = Rate{};
      if (looked.made) {
        TRY(looked.rate, measured_rate(looked));
      }
    }
    outcomes_.add(looked);
    return looked;
  }

  void print_title(const FoundHeads& found) const {
    std::size_t bytes = 0;
    for (const CodeRange& range : code_.ranges) bytes += range.bytes.size();
    std::printf("%s: %s of code, %s of jumps backwards\n%s", code_.name.c_str(), counted(bytes, "byte").c_str(),
                counted(found.heads.size(), "target").c_str(), header_text(verb_.measure).c_str());
  }

  const LoopVerb& verb_;
  const GuestCode& code_;
  Outcomes outcomes_;
  std::vector<Json> loops_;
};

Result<std::uint64_t> wanted_head(const LoopVerb& verb, const GuestCode& code) {
  TRY(const std::uint64_t head, address("--head", verb.head));
  if (code.range_of(head) != nullptr) return head;
  return make_error(ErrorCode::kInvalidArgument, "--head: %s lies outside of the code; it begins at %s",
                    hex(head).c_str(), hex(code.ranges[0].address).c_str());
}

Result<int> look(const LoopVerb& verb) {
  if (verb.file.empty() == verb.hex.empty())
    return make_error(ErrorCode::kInvalidArgument, "give one of FILE and --hex WORDS");
  CodeOptions options{.file = verb.file, .hex = verb.hex, .base = 0};
  TRY(options.base, address("--base", verb.base));
  TRY(const GuestCode code, read_code(options));
  const FoundHeads found = find_loop_heads(code);
  if (verb.head.empty() && found.heads.empty())
    return make_error(ErrorCode::kInvalidArgument, "%s: there is no jump backwards; --head ADDRESS looks at one place",
                      code.name.c_str());
  Looking looking(verb, code);
  if (!verb.head.empty()) {
    TRY(const std::uint64_t head, wanted_head(verb, code));
    const auto jumps = found.heads.find(head);
    TRY_VOID(looking.one(head, jumps == found.heads.end() ? std::vector<std::uint64_t>() : jumps->second));
  } else if (found.heads.size() == 1 && !verb.summary) {
    TRY_VOID(looking.one(found.heads.begin()->first, found.heads.begin()->second));
  } else {
    TRY_VOID(looking.all(found));
  }
  if (verb.json) looking.print_json(found.is_cut);
  return 0;
}

}  // namespace

void add_loop_command(Verb app, int& status) {
  const Verb verb = app.add_subcommand("loop", "Show the loops of AArch64 code and what becomes of them");
  auto options = std::make_shared<LoopVerb>();
  const Option file = verb.add_option("FILE", options->file, "ELF file of AArch64; - for standard input, also in hex");
  verb.add_option("--hex", options->hex, "The code itself: words such as 38401403, or bytes in memory order")
      .excludes(file);
  verb.add_option("--base", options->base, "Address of the first word; of an ELF file, added to its addresses")
      .capture_default_str();
  verb.add_option("--head", options->head, "Show the loop at this address in full");
  verb.add_flag("--region", options->region, "Print the loop's region code too");
  verb.add_flag("--measure", options->measure, "Time the native code on drawn data");
  verb.add_flag("--summary", options->summary, "Count the outcomes, without the table");
  verb.add_flag("--json", options->json, "Print a JSON object instead");
  verb.callback([options, &status] {
    const auto code = look(*options);
    status = code ? *code : report(code.error());
  });
}

}  // namespace trident::cli
