// `trident oracle loops`: whether labelled loops become what their rows expect.
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "clients/cli/loop/commands.h"
#include "clients/cli/verb/row_file.h"
#include "clients/cli/verb/verb.h"
#include "jit/loop/oracle/oracle.h"
#include "runtime/base/counted.h"
#include "runtime/json/json.h"

namespace trident::cli {
namespace {

using loop::oracle::Verdict;

struct OracleLoopsVerb {
  std::vector<std::string> files;
  bool json = false;
};

/// Verdicts of all files, counted; lines for those that are wrong.
class Tally {
 public:
  explicit Tally(bool json) : json_(json) {}

  void take(const std::string& place, const std::string& row) {
    ++rows_;
    const auto verdict = loop::oracle::check(row);
    if (!verdict) return tell(place, "", verdict.error().message, malformed_);
    ++outcomes_[std::string(verdict->outcome())];
    if (json_) listed_.push_back(json_of(place, *verdict));
    if (verdict->is_right()) return;
    false_accepts_ += verdict->is_false_accept();
    tell(place, verdict->name, verdict->difference(), wrong_);
  }

  [[nodiscard]] bool all_right() const { return rows_ > 0 && wrong_ == 0 && malformed_ == 0; }

  void print() const {
    if (json_) return print_json();
    for (const auto& [outcome, count] : outcomes_) std::printf("%-12s %6zu\n", outcome.c_str(), count);
    std::printf("%s, %zu wrong (%zu of them accepted in error), %zu malformed\n", counted(rows_, "row").c_str(), wrong_,
                false_accepts_, malformed_);
  }

 private:
  void tell(const std::string& place, const std::string& name, const std::string& what, std::size_t& count) {
    ++count;
    if (json_ && name.empty()) listed_.push_back(Json{{"place", place}, {"right", false}, {"fault", what}});
    if (!json_) std::printf("%s: %s%s%s\n", place.c_str(), name.c_str(), name.empty() ? "" : ": ", what.c_str());
  }

  static Json json_of(const std::string& place, const Verdict& verdict) {
    Json row = {{"place", place},
                {"name", verdict.name},
                {"expected", name_of(verdict.expected)},
                {"outcome", verdict.outcome()},
                {"right", verdict.is_right()},
                {"false_accept", verdict.is_false_accept()}};
    if (verdict.compiles) return row;
    row["address"] = verdict.refusal.address;
    row["reason"] = sentence_of(verdict.refusal.reason);
    return row;
  }

  void print_json() const {
    Json out = {{"rows", rows_}, {"wrong", wrong_}, {"false_accepts", false_accepts_}, {"malformed", malformed_}};
    out["outcomes"] = Json::object();
    for (const auto& [outcome, count] : outcomes_) out["outcomes"][outcome] = count;
    out["loops"] = listed_;
    std::printf("%s\n", out.dump(2).c_str());
  }

  bool json_;
  std::size_t rows_ = 0, wrong_ = 0, false_accepts_ = 0, malformed_ = 0;
  std::map<std::string, std::size_t> outcomes_;
  std::vector<Json> listed_;
};

Result<int> check_files(const OracleLoopsVerb& verb) {
  Tally tally(verb.json);
  for (const std::string& file : verb.files)
    TRY_VOID(for_each_row(file, [&](const std::string& place, const std::string& row) { tally.take(place, row); }));
  tally.print();
  return tally.all_right() ? 0 : kExitWrong;
}

}  // namespace

void add_oracle_loops_command(Verb oracle, int& status) {
  const Verb verb = oracle.add_subcommand("loops", "Check what becomes of labelled loops of AArch64 code");
  auto options = std::make_shared<OracleLoopsVerb>();
  verb.add_option("FILE", options->files, "JSON Lines, a loop a row; - for standard input").required();
  verb.add_flag("--json", options->json, "Print a JSON object with every row's outcome instead");
  verb.callback([options, &status] {
    const auto code = check_files(*options);
    status = code ? *code : report(code.error());
  });
}

}  // namespace trident::cli
