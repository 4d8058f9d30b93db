// `trident oracle tir`: whether our machines answer as the real ones have.
#include <array>
#include <cstdio>

#include "clients/cli/triton/commands.h"
#include "clients/cli/verb/row_file.h"
#include "clients/cli/verb/verb.h"
#include "jit/tir/oracle/oracle.h"
#include "runtime/base/counted.h"

namespace trident::cli {
namespace {

using tir::oracle::Kind;
using tir::oracle::Verdict;

constexpr std::size_t kKinds = static_cast<std::size_t>(Kind::unknown) + 1;

/// Counts over all files.
struct Tally {
  struct Row {
    std::uint64_t checked = 0, wrong_rows = 0, not_understood = 0;
  };
  std::array<Row, kKinds> kinds;

  void add(const Verdict& verdict) {
    Row& row = kinds[static_cast<std::size_t>(verdict.kind)];
    row.checked += verdict.checked;
    row.wrong_rows += verdict.wrong.empty() ? 0 : 1;
    row.not_understood += verdict.understood || !verdict.wrong.empty() ? 0 : 1;
  }
  [[nodiscard]] bool all_right() const {
    std::uint64_t checked = 0, bad = 0;
    for (const Row& row : kinds) checked += row.checked, bad += row.wrong_rows + row.not_understood;
    return checked > 0 && bad == 0;
  }
  void print() const {
    std::uint64_t checked = 0, wrong = 0, skipped = 0;
    for (std::size_t k = 0; k < kKinds; ++k) {
      const Row& row = kinds[k];
      checked += row.checked, wrong += row.wrong_rows, skipped += row.not_understood;
      const std::string name(name_of(static_cast<Kind>(k)));
      if (row.checked > 0)
        std::printf("%s: %llu checked\n", name.c_str(), static_cast<unsigned long long>(row.checked));
      if (row.not_understood > 0)
        std::printf("%s: %s not understood by this version and not checked\n", name.c_str(),
                    counted(row.not_understood, "row is", "rows are").c_str());
    }
    std::printf("%llu checked, %s, %llu not checked\n", static_cast<unsigned long long>(checked),
                counted(wrong, "row differs", "rows differ").c_str(), static_cast<unsigned long long>(skipped));
  }
};

void check_row(tir::oracle::Checker& checker, const std::string& place, std::string_view text, Tally& tally) {
  const Verdict verdict = checker.check(text);
  tally.add(verdict);
  for (const std::string& wrong : verdict.wrong)
    std::printf("%s: %s%s%s\n", place.c_str(), verdict.name.c_str(), verdict.name.empty() ? "" : ": ", wrong.c_str());
}

Result<int> check_files(const std::vector<std::string>& files) {
  Tally tally;
  for (const std::string& file : files) {
    tir::oracle::Checker checker;
    TRY_VOID(for_each_row(
        file, [&](const std::string& place, const std::string& row) { check_row(checker, place, row, tally); }));
  }
  tally.print();
  return tally.all_right() ? 0 : kExitWrong;
}

}  // namespace

void add_oracle_tir_command(Verb oracle, int& status) {
  const Verb tir = oracle.add_subcommand("tir", "Compare rows of Triton VM: programs, heights, hashes");
  auto files = std::make_shared<std::vector<std::string>>();
  tir.add_option("FILE", *files, "JSON Lines, or one object in a .json; - for standard input").required();
  tir.callback([files, &status] {
    const auto code = check_files(*files);
    status = code ? *code : report(code.error());
  });
}

}  // namespace trident::cli
