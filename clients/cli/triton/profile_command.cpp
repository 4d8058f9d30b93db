// `trident profile`: where the rows of a Triton VM program's tables come from.
#include <algorithm>
#include <cstdio>
#include <map>

#include "clients/cli/triton/commands.h"
#include "clients/cli/triton/run_program.h"
#include "clients/cli/verb/verb.h"
#include "jit/tir/vm/profile.h"
#include "runtime/json/json.h"
#include "runtime/report/flame_graph.h"

namespace trident::cli {
namespace {

using tir::vm::Heights;
using tir::vm::Table;
namespace tasm = tir::tasm;
namespace vm = tir::vm;

constexpr Table kOfInstructions[] = {Table::processor, Table::op_stack, Table::ram,
                                     Table::hash,      Table::cascade,  Table::u32};
constexpr std::size_t kSourceShown = 44;

struct ProfileVerb {
  ProgramRun program;
  std::string table = "tallest", svg;
  std::size_t top = 20;
};

std::string_view name_of(Table table) {
  return vm::kTableNames[static_cast<std::size_t>(table)];
}

unsigned long long shown(std::uint64_t rows) {
  return static_cast<unsigned long long>(rows);
}

struct Line {
  std::uint32_t number;
  std::uint32_t step;  ///< one of it
  Heights own;
};

/// A profile in the words of the source.
class Report {
 public:
  Report(const LoadedProgram& loaded, const vm::Profile& profile, const Heights& heights, const std::string& table)
      : loaded_(loaded), profile_(profile), heights_(heights), table_(table_named(table)) {
    for (const tasm::Mark& mark : loaded.program.marks)
      if (mark.kind == tasm::Mark::Kind::label) labels_.try_emplace(mark.instruction, mark.text);
  }

  [[nodiscard]] std::string flames() const {
    std::vector<report::Flame> flames;
    for (const vm::Frame& frame : profile_.frames)
      flames.push_back({name_of_frame(frame), frame.parent, frame.own.of(table_)});
    return report::flame_svg(flames, loaded_.file + ": rows of the " + std::string(name_of(table_)) + " table", "rows");
  }

  void print(std::size_t top) const {
    print_tables();
    std::vector<vm::Profile::Subroutine> subroutines = sorted_subroutines();
    std::printf("\n%-*s %10s %10s %10s  (rows of its own, by table; share of %s with calls)\n", 24, "subroutine",
                "calls", "own", "with calls", std::string(name_of(table_)).c_str());
    for (std::size_t i = 0; i < std::min(top, subroutines.size()); ++i) {
      const auto& row = subroutines[i];
      std::printf("%-24s %10llu %10llu %10llu %5.1f %%", name_of_entry(row.entry).c_str(), shown(row.calls),
                  shown(row.own.of(table_)), shown(row.inclusive.of(table_)), share(row.inclusive));
      print_rows(row.own);
    }
    print_left_out(subroutines.size(), top, "subroutines");
    const std::vector<Line> lines = sorted_lines();
    std::printf("\n%-6s %10s  %s\n", "line", "own", "source");
    for (std::size_t i = 0; i < std::min(top, lines.size()); ++i) {
      std::printf("%-6u %10llu %5.1f %%  %-*s", lines[i].number, shown(lines[i].own.of(table_)), share(lines[i].own),
                  static_cast<int>(kSourceShown), source_of(lines[i]).substr(0, kSourceShown).c_str());
      print_rows(lines[i].own);
    }
    print_left_out(lines.size(), top, "lines");
    if (profile_.frames_cut)
      std::printf("\nmore than %zu call paths: the rest is counted at its caller\n", vm::Profile::kFramesMax);
  }

  /// One object, written part by part: a program can have a million lines, and a tree of all of them would take a
  /// thousand bytes for each.
  void print_json(std::uint64_t cycles) const {
    Json head;
    head["cycles"] = cycles;
    head["heights"] = rows_of(heights_);
    head["tallest"] = name_of(heights_.tallest());
    head["padded_height"] = heights_.padded();
    head["table"] = name_of(table_);
    head["text"] = rows_of(profile_.text);
    for (const char* separator = "{\n"; const auto& [key, value] : head.items()) {
      std::printf("%s  %s: %s", separator, Json(key).dump().c_str(), value.dump().c_str());
      separator = ",\n";
    }
    const std::vector<vm::Profile::Subroutine> subroutines = sorted_subroutines();
    print_list("subroutines", subroutines.size(), [&](std::size_t i) -> Json {
      const auto& row = subroutines[i];
      return {{"name", name_of_entry(row.entry)},
              {"calls", row.calls},
              {"own", rows_of(row.own)},
              {"with_calls", rows_of(row.inclusive)}};
    });
    const std::vector<Line> lines = sorted_lines();
    print_list("lines", lines.size(), [&](std::size_t i) -> Json {
      return {{"line", lines[i].number}, {"source", source_of(lines[i])}, {"own", rows_of(lines[i].own)}};
    });
    print_list("paths", profile_.frames.size(), [&](std::size_t i) -> Json {
      const vm::Frame& frame = profile_.frames[i];
      return {{"name", name_of_frame(frame)},
              {"parent", i == 0 ? Json() : Json(frame.parent)},
              {"calls", frame.calls},
              {"own", rows_of(frame.own)}};
    });
    std::printf("\n}\n");
  }

 private:
  /// "tallest" is that in which instructions have the most rows.
  [[nodiscard]] Table table_named(const std::string& name) const {
    for (const Table table : kOfInstructions)
      if (name == name_of(table)) return table;
    const auto rows = [&](Table table) { return heights_.of(table) - profile_.text.of(table); };
    return *std::max_element(std::begin(kOfInstructions), std::end(kOfInstructions),
                             [&](Table a, Table b) { return rows(a) < rows(b); });
  }
  [[nodiscard]] std::string name_of_entry(std::uint32_t entry) const {
    const auto found = labels_.find(entry);
    return found != labels_.end() ? found->second : entry == 0 ? "(begin)" : "step " + std::to_string(entry);
  }
  [[nodiscard]] std::string name_of_frame(const vm::Frame& frame) const { return name_of_entry(frame.entry); }
  [[nodiscard]] double share(const Heights& rows) const {
    const std::uint64_t whole = heights_.of(table_);
    return whole == 0 ? 0 : 100.0 * static_cast<double>(rows.of(table_)) / static_cast<double>(whole);
  }
  [[nodiscard]] static Json rows_of(const Heights& heights) {
    Json out = Json::object();
    for (std::size_t t = 0; t < vm::kTableCount; ++t) out[std::string(vm::kTableNames[t])] = heights.rows[t];
    return out;
  }

  /// The most of the table first.
  [[nodiscard]] std::vector<vm::Profile::Subroutine> sorted_subroutines() const {
    std::vector<vm::Profile::Subroutine> out = profile_.subroutines();
    std::stable_sort(out.begin(), out.end(),
                     [&](const auto& a, const auto& b) { return a.inclusive.of(table_) > b.inclusive.of(table_); });
    return out;
  }
  /// Lines that were executed.
  [[nodiscard]] std::vector<Line> sorted_lines() const {
    std::vector<std::size_t> ends;
    for (std::size_t at = loaded_.text.find('\n'); at != std::string::npos; at = loaded_.text.find('\n', at + 1))
      ends.push_back(at);
    std::vector<std::uint32_t> places(ends.size() + 1);  // by line, of those below: its place + 1
    std::vector<Line> out;
    for (std::uint32_t step = 0; step < profile_.steps.size(); ++step) {
      const Heights& rows = profile_.steps[step];
      if (rows.of(Table::processor) == 0) continue;
      const auto line = static_cast<std::uint32_t>(
          std::lower_bound(ends.begin(), ends.end(), loaded_.program.offsets[step]) - ends.begin());
      if (places[line] == 0) {
        out.push_back({line + 1, step, {}});
        places[line] = static_cast<std::uint32_t>(out.size());
      }
      for (std::size_t t = 0; t < vm::kTableCount; ++t) out[places[line] - 1].own.rows[t] += rows.rows[t];
    }
    std::sort(out.begin(), out.end(), [&](const Line& a, const Line& b) {
      const std::uint64_t x = a.own.of(table_), y = b.own.of(table_);
      return x != y ? x > y : a.number < b.number;
    });
    return out;
  }
  [[nodiscard]] std::string source_of(const Line& line) const {
    const std::string_view text = ir::SourceText(loaded_.text, loaded_.file).line(loaded_.program.offsets[line.step]);
    std::string out;
    for (const char c : text.substr(std::min(text.find_first_not_of(" \t"), text.size())))
      out += c >= 0x20 && c < 0x7f ? c : '?';
    return out;
  }

  void print_tables() const {
    std::printf("%-11s %12s %12s\n", "table", "rows", "of the text");
    for (std::size_t t = 0; t < vm::kTableCount; ++t)
      std::printf("%-11s %12llu %12llu%s\n", std::string(vm::kTableNames[t]).c_str(), shown(heights_.rows[t]),
                  shown(profile_.text.rows[t]), static_cast<Table>(t) == heights_.tallest() ? "  decides" : "");
    std::printf("%-11s %12llu\n", "padded", shown(heights_.padded()));
  }
  /// Lists element(i) for all i below `count`, one a line.
  template <class Element>
  static void print_list(const char* name, std::size_t count, Element element) {
    std::printf(",\n  \"%s\": [", name);
    for (std::size_t i = 0; i < count; ++i) std::printf("%s\n    %s", i == 0 ? "" : ",", element(i).dump().c_str());
    std::printf(count == 0 ? "]" : "\n  ]");
  }
  static void print_rows(const Heights& rows) {
    for (const Table table : kOfInstructions)
      if (rows.of(table) > 0) std::printf("  %s %llu", std::string(name_of(table)).c_str(), shown(rows.of(table)));
    std::printf("\n");
  }
  static void print_left_out(std::size_t count, std::size_t top, const char* what) {
    if (count > top) std::printf("and %zu more %s (--top)\n", count - top, what);
  }

  const LoadedProgram& loaded_;
  const vm::Profile& profile_;
  const Heights& heights_;
  Table table_;
  std::map<std::uint32_t, std::string> labels_;
};

Result<int> profile(const ProfileVerb& verb) {
  if (verb.svg == "-" && verb.program.json)
    return make_error(ErrorCode::kInvalidArgument,
                      "--svg - and --json both write to standard output: give one of them");
  TRY(const auto loaded, load_program(verb.program));
  vm::Budget budget;
  budget.cycles = verb.program.cycles;
  vm::Machine machine;
  vm::Profile profile;
  if (machine.run(loaded->code, loaded->inputs(), budget, &profile) != vm::Failure::none) {
    loaded->report_failure(machine);
    return kExitWrong;
  }
  const Heights heights = machine.heights();
  const Report report(*loaded, profile, heights, verb.table);
  if (!verb.svg.empty()) TRY_VOID(write_text(verb.svg, report.flames()));
  if (verb.svg == "-") return 0;
  if (verb.program.json)
    report.print_json(machine.cycles());
  else
    report.print(verb.top);
  return 0;
}

}  // namespace

void add_profile_command(Verb app, int& status) {
  const Verb verb = app.add_subcommand("profile", "Show where the rows of a Triton VM program's tables come from");
  auto options = std::make_shared<ProfileVerb>();
  verb.add_option("FILE", options->program.file, "Program of Triton VM: TIR in a .tir, else TASM").required();
  verb.add_option("--input", options->program.public_input, "Public words, a list or FILE; repeatable")
      .take_all()
      .expected(1)
      .allow_extra_args(false);
  add_program_options(verb, options->program);
  std::vector<std::string> tables = {"tallest"};
  for (const Table table : kOfInstructions) tables.emplace_back(name_of(table));
  verb.add_option("--table", options->table, "Table to order by").check(one_of(tables)).capture_default_str();
  verb.add_option("--top", options->top, "Subroutines and lines to print").check(negative_fault).capture_default_str();
  verb.add_option("--svg", options->svg, "Write a flame graph to this file; - for standard output alone")
      .check(file_name_fault);
  verb.callback([options, &status] {
    const auto code = profile(*options);
    status = code ? *code : report(code.error());
  });
}

}  // namespace trident::cli
