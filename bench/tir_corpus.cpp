// The costs of the programs of the corpus (tests/tir/corpus): lowered without passes, with the peephole passes, and by
// hand. Every run's output is compared with the expected one first. Nothing here is timed: heights are exact.
//
//   bench_tir_corpus [--json]
#include <cmath>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "jit/tir/lowering/lowering.h"
#include "tests/tir/corpus/corpus.h"

namespace trident::bench {
namespace {

using nlohmann::json;
using tir::corpus::Case;
using tir::corpus::Measured;
using tir::vm::Heights;

struct Row {
  Case c;
  Measured plain, peephole;
  std::optional<Measured> hand;
};

Measured checked_run(const tir::tasm::Program& program, const Case& c, const char* how) {
  Measured result = tir::corpus::run(program, c);
  if (result.output != c.expected_output) {
    std::fprintf(stderr, "%s, %s: another output than expected %s\n", c.name.c_str(), how, result.failure_text.c_str());
    std::exit(1);
  }
  return result;
}

std::vector<Row> measure() {
  std::vector<Row> rows;
  for (Case& c : tir::corpus::read_cases()) {
    const auto program = tir::corpus::program_of(c);
    tir::lowering::Options plain;
    plain.passes = tir::lowering::PassSet::none();
    Row row{c,
            checked_run(tir::lowering::lower(program, plain), c, "without passes"),
            checked_run(tir::lowering::lower(program), c, "with passes"),
            {}};
    if (const auto hand = tir::corpus::hand_of(c)) row.hand = checked_run(*hand, c, "by hand");
    rows.push_back(std::move(row));
  }
  return rows;
}

std::uint64_t tallest_rows(const Measured& run) {
  return run.heights.of(run.heights.tallest());
}
const char* tallest_name(const Measured& run) {
  return tir::vm::kTableNames[static_cast<std::size_t>(run.heights.tallest())].data();
}

/// The change from `before` to `after`, over the same programs.
struct Change {
  std::size_t programs = 0, crossed = 0;  ///< crossed: the padded height fell
  double log2_padded = 0, log_tallest = 0;

  void add(const Measured& before, const Measured& after) {
    ++programs;
    crossed += after.heights.padded() < before.heights.padded() ? 1 : 0;
    log2_padded += std::log2(double(after.heights.padded()) / double(before.heights.padded()));
    log_tallest += std::log(double(tallest_rows(after)) / double(tallest_rows(before)));
  }
  [[nodiscard]] double mean_log2_padded() const { return log2_padded / double(programs); }
  [[nodiscard]] double tallest_ratio() const { return std::exp(log_tallest / double(programs)); }
};

struct Changes {
  Change peephole;  ///< against no passes
  /// A program by hand against ours with passes: those of the same method, and all that there are.
  Change hand_same, hand_all;
};
Changes changes_of(const std::vector<Row>& rows, std::optional<bool> held_out) {
  Changes out;
  for (const Row& row : rows) {
    if (held_out && row.c.held_out != *held_out) continue;
    out.peephole.add(row.plain, row.peephole);
    if (!row.hand) continue;
    out.hand_all.add(row.peephole, *row.hand);
    if (!row.c.other_method()) out.hand_same.add(row.peephole, *row.hand);
  }
  return out;
}

constexpr std::pair<const char*, std::optional<bool>> kSplits[] = {{"train", false}, {"test", true}, {"all", {}}};

void print_run(const Measured& run) {
  std::printf(" %5u %-9s %6llu %6llu", run.words, tallest_name(run), (unsigned long long)tallest_rows(run),
              (unsigned long long)run.heights.padded());
}
void print_change(const char* split, const char* what, const Change& change) {
  if (change.programs == 0) return;
  std::printf("%-5s  %-37s %4zu programs  log2 padded %+.3f  padded lower in %2zu  tallest table x %.3f\n", split, what,
              change.programs, change.mean_log2_padded(), change.crossed, change.tallest_ratio());
}

void print_table(const std::vector<Row>& rows) {
  std::printf("each: words, tallest table, its rows, padded height\n%-20s %-13s %-5s %-29s %-29s %-29s %s\n", "program",
              "topic", "split", " without passes", " with passes", " by hand", "passes/hand");
  for (const Row& row : rows) {
    std::printf("%-20s %-13s %-5s", row.c.name.c_str(), row.c.topic.c_str(), row.c.held_out ? "test" : "train");
    print_run(row.plain);
    print_run(row.peephole);
    if (row.hand) {
      print_run(*row.hand);
      std::printf("  %5.2f%s", double(tallest_rows(row.peephole)) / double(tallest_rows(*row.hand)),
                  row.c.other_method() ? " other method" : "");
    }
    std::printf("\n");
  }
  for (const auto& [name, held_out] : kSplits) {
    const Changes changes = changes_of(rows, held_out);
    print_change(name, "passes against none", changes.peephole);
    print_change(name, "by hand, same method, against passes", changes.hand_same);
    print_change(name, "by hand, any method, against passes", changes.hand_all);
  }
}

json json_of(const Measured& run) {
  json heights;
  for (std::size_t i = 0; i < tir::vm::kTableCount; ++i)
    heights[std::string(tir::vm::kTableNames[i])] = run.heights.rows[i];
  return {{"words", run.words},
          {"tallest", tallest_name(run)},
          {"rows", tallest_rows(run)},
          {"padded", run.heights.padded()},
          {"heights", heights}};
}
json json_of(const Change& change) {
  if (change.programs == 0) return nullptr;
  return {{"programs", change.programs},
          {"mean_log2_padded", change.mean_log2_padded()},
          {"padded_lower", change.crossed},
          {"tallest_ratio", change.tallest_ratio()}};
}

void print_json(const std::vector<Row>& rows) {
  json out;
  for (const Row& row : rows) {
    json each = {{"name", row.c.name},
                 {"topic", row.c.topic},
                 {"split", row.c.held_out ? "test" : "train"},
                 {"plain", json_of(row.plain)},
                 {"peephole", json_of(row.peephole)}};
    if (row.hand) {
      each["hand"] = json_of(*row.hand);
      each["hand"]["other_method"] = row.c.other_method();
    }
    out["programs"].push_back(std::move(each));
  }
  for (const auto& [name, held_out] : kSplits) {
    const Changes changes = changes_of(rows, held_out);
    out["summary"][name] = {{"peephole", json_of(changes.peephole)},
                            {"hand_same_method", json_of(changes.hand_same)},
                            {"hand_any_method", json_of(changes.hand_all)}};
  }
  std::printf("%s\n", out.dump(1).c_str());
}

}  // namespace
}  // namespace trident::bench

int main(int argc, char** argv) {
  const auto rows = trident::bench::measure();
  if (argc > 1 && std::strcmp(argv[1], "--json") == 0)
    trident::bench::print_json(rows);
  else
    trident::bench::print_table(rows);
  return 0;
}
