// The text of a table:
//
//   trident costs 1
//   cpu AMD EPYC (AuthenticAMD 26.2.1)
//   isa avx512
//   build 4c1f...
//   date 2026-11-22
//   unit f32 1.09 0.136           an fma's latency and reciprocal throughput, nanoseconds per vector
//   unit f64 1.09 0.136
//   # op         type       latency  throughput
//   add          f32              1           1
//
// The first line identifies the file; everything else may come in any order. # starts a comment.
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <map>

#include "jit/cost/cost.h"
#include "jit/cost/shipped_tables.h"
#include "runtime/base/check.h"
#include "runtime/base/embedded_file.h"

namespace trident::cost {
namespace {

constexpr std::string_view kTitle = "trident costs 1";
constexpr std::string_view kMend = "`trident calibrate --ops` writes a whole file";
/// Greatest figure: nothing takes a million times as long as an fma, so a larger one is a typing error.
constexpr double kFigureMax = 1e6;
constexpr std::size_t kShownMax = 60;

using Words = std::vector<std::string_view>;

Words words_of(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r";
  Words words;
  for (std::size_t at = line.find_first_not_of(kBlanks); at != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(kBlanks, at), line.size());
    words.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(kBlanks, end);
  }
  return words;
}

std::string joined(std::span<const std::string_view> words) {
  return fmt::format("{}", fmt::join(words, " "));
}

class Reader {
 public:
  explicit Reader(const std::string& file) : file_(file), seen_(rows().size()) {
    for (std::size_t i = 0; i < rows().size(); ++i) places_.emplace(name_of(rows()[i]), i);
    table_.cpu.clear();
    table_.figures.resize(rows().size());
  }

  Result<Table> read(std::string_view text) {
    bool titled = false;
    while (!text.empty()) {
      const std::string_view line = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(line.size() + 1, text.size()));
      ++line_;
      const Words words = words_of(line.substr(0, line.find('#')));
      if (words.empty()) continue;
      if (titled)
        TRY_VOID(read_line(words));
      else if (joined(words) != kTitle)
        return wrong(fmt::format("expected '{}', not '{:.{}}'; {}", kTitle, joined(words), kShownMax, kMend));
      titled = true;
    }
    if (!titled) return make_error(ErrorCode::kSyntaxError, "%s: the file is empty; %s", file_.c_str(), kMend.data());
    TRY_VOID(check_complete());
    return std::move(table_);
  }

 private:
  [[nodiscard]] Error wrong(const std::string& what) const {
    return make_error(ErrorCode::kSyntaxError, "%s:%zu: %s", file_.c_str(), line_, what.c_str());
  }

  Result<void> read_line(const Words& words) {
    const std::string_view key = words[0];
    for (const auto& [name, to] :
         {std::pair{"cpu", &table_.cpu}, {"isa", &table_.isa}, {"build", &table_.build}, {"date", &table_.date}})
      if (key == name) return read_text(words, *to);
    if (words.size() != 4)
      return wrong(fmt::format("expected an op, its type, latency and throughput (four words), not '{:.{}}'",
                               joined(words), kShownMax));
    return key == "unit" ? read_unit(words) : read_row(words);
  }

  Result<void> read_text(const Words& words, std::string& to) {
    if (!to.empty()) return wrong(fmt::format("'{}' is given twice; keep one", words[0]));
    if (words.size() < 2) return wrong(fmt::format("'{}' needs a value", words[0]));
    to = joined(std::span(words).subspan(1));
    return {};
  }

  Result<void> read_unit(const Words& words) {
    FmaTimes* times = words[1] == "f32" ? &table_.f32 : words[1] == "f64" ? &table_.f64 : nullptr;
    if (times == nullptr) return wrong(fmt::format("unit '{:.{}}': expected f32 or f64", words[1], kShownMax));
    if (*times != FmaTimes{}) return wrong(fmt::format("'unit {}' is given twice; keep one", words[1]));
    TRY(times->latency_ns, figure(words[2]));
    TRY(times->throughput_ns, figure(words[3]));
    if (times->latency_ns == 0 || times->throughput_ns == 0) return wrong("the time of an fma must be above 0 ns");
    return {};
  }

  Result<void> read_row(const Words& words) {
    const std::string op(words[0].substr(0, kShownMax)), type(words[1].substr(0, kShownMax));
    const auto at = places_.find(op + " " + type);
    if (at == places_.end()) {
      for (const Row& row : rows())
        if (name_of(row).starts_with(op + " "))
          return wrong(fmt::format("op '{}' has no row of type '{}'; one that it has is '{}'", op, type, name_of(row)));
      return wrong(fmt::format(
          "there is no op '{}' with a cost; jit/kir/ops.def lists the ops (constants and inputs cost nothing)", op));
    }
    if (seen_[at->second]) return wrong(fmt::format("'{}' is given twice; keep one", at->first));
    seen_[at->second] = true;
    TRY(table_.figures[at->second].latency, figure(words[2]));
    TRY(table_.figures[at->second].throughput, figure(words[3]));
    return {};
  }

  [[nodiscard]] Result<double> figure(std::string_view word) const {
    double value = 0;
    const auto [end, code] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (code != std::errc() || end != word.data() + word.size())
      return wrong(fmt::format("'{:.{}}' is not a number", word, kShownMax));
    if (!std::isfinite(value) || value < 0 || value > kFigureMax)
      return wrong(fmt::format("'{:.{}}': a figure is finite and from 0 to {}", word, kShownMax, kFigureMax));
    return value;
  }

  [[nodiscard]] Result<void> check_complete() const {
    std::vector<std::string> missing;
    if (table_.cpu.empty()) missing.emplace_back("cpu");
    if (table_.isa.empty()) missing.emplace_back("isa");
    for (std::size_t i = 0; i < seen_.size(); ++i)
      if (!seen_[i]) missing.push_back(name_of(rows()[i]));
    if (missing.empty()) return {};
    const std::string more = missing.size() > 1 ? fmt::format(" and for {} more", missing.size() - 1) : "";
    return make_error(ErrorCode::kSyntaxError, "%s: no line for '%s'%s; %s", file_.c_str(), missing[0].c_str(),
                      more.c_str(), kMend.data());
  }

  const std::string& file_;
  std::map<std::string, std::size_t> places_;
  std::vector<bool> seen_;
  Table table_;
  std::size_t line_ = 0;
};

}  // namespace

Result<Table> parse(std::string_view text, const std::string& file) {
  return Reader(file).read(text);
}

std::string print(const Table& table) {
  std::string text = fmt::format("{}\ncpu {}\nisa {}\n", kTitle, table.cpu, table.isa);
  if (!table.build.empty()) text += fmt::format("build {}\n", table.build);
  if (!table.date.empty()) text += fmt::format("date {}\n", table.date);
  for (const auto& [type, times] : {std::pair{"f32", table.f32}, {"f64", table.f64}})
    if (times != FmaTimes{}) text += fmt::format("unit {} {} {}\n", type, times.latency_ns, times.throughput_ns);
  text += fmt::format("# {:<13} {:<9} {:>9} {:>11}\n", "op", "type", "latency", "throughput");
  CHECK(table.figures.size() == rows().size());
  for (std::size_t i = 0; i < rows().size(); ++i) {
    const std::string name = name_of(rows()[i]);
    const std::size_t blank = name.find(' ');
    text += fmt::format("{:<15} {:<9} {:>9} {:>11}\n", name.substr(0, blank), name.substr(blank + 1),
                        table.figures[i].latency, table.figures[i].throughput);
  }
  return text;
}

const Table& shipped(std::string_view isa, std::string_view cpu) {
  static const std::vector<Table> kTables = [] {
    std::vector<Table> tables;
    for (const EmbeddedFile& shipped : kShippedTables) {
      Result<Table> table = parse(shipped.text, std::string(shipped.name));
      CHECK(table.ok());
      tables.push_back(std::move(table).value());
    }
    return tables;
  }();
  const auto best = [&](std::string_view set, std::string_view processor) {
    const Table* found = nullptr;
    for (const Table& table : kTables)
      if (fits(table, processor, set) && (found == nullptr || found->cpu == kAnyCpu)) found = &table;
    return found;
  };
  const Table* own = best(isa, cpu);
  const Table* table = own != nullptr ? own : best("avx2", kAnyCpu);
  CHECK(table != nullptr);
  return *table;
}

}  // namespace trident::cost
