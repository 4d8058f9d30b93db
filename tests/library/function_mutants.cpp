// Mutants of the library's functions against their own @test lines and the oracle in plain C++.
//
//   function_mutants EQUIVALENT [--area NAME] [--draws N] [--tests-min PERCENT] [--suggest 1]
//
// Each mutant runs its function's @test lines in the interpreter, with a small budget that ends endless ones. Survivors
// run on N drawn inputs against the oracle. Those that it does not catch either must stand in the file EQUIVALENT:
// function, line and reason, with tabs between. `--suggest 1` prints @test lines that would catch survivors; their
// values are the oracle's. Exit 0: the bars hold.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <string>

#include "jit/function/call.h"
#include "runtime/base/check.h"
#include "tests/library/drawing.h"
#include "tests/library/mutants.h"

namespace {

using namespace trident;
using function::Function;
using function::Library;
using function::Lowered;
using test::Arguments;
using test::Oracle;

constexpr std::uint64_t kTestBudget = 16'384, kDrawBudget = 1'000'000;
constexpr std::size_t kTestColumnsMax = 118;

struct Options {
  std::string equivalent{}, area{};
  std::uint64_t draws = 10'000;
  double tests_min = 95;
  bool suggest = false;
};

/// Mutants that do what their function does: (function, line) and the reason.
using Reasons = std::map<std::pair<std::string, std::string>, std::string>;

struct Tally {
  std::size_t mutants = 0, by_tests = 0, by_oracle = 0, equivalent = 0, unknown = 0;
};

Reasons read_reasons(const std::string& path) {
  Reasons reasons;
  std::ifstream file(path);
  CHECK(file.good());
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::size_t first = line.find('\t'), second = line.find('\t', first + 1);
    CHECK(first != std::string::npos && second != std::string::npos && second + 1 < line.size());
    reasons[{line.substr(0, first), line.substr(first + 1, second - first - 1)}] = line.substr(second + 1);
  }
  return reasons;
}

const Oracle& oracle_of(const std::string& name) {
  for (const Oracle& oracle : test::oracles())
    if (oracle.name == name) return oracle;
  std::fprintf(stderr, "function_mutants: %s has no oracle\n", name.c_str());
  std::abort();
}

bool agrees(const Function& f, const Lowered& lowered, const Oracle& oracle, const Arguments& arguments) {
  const auto got = function::call(f, lowered, arguments, kDrawBudget);
  if (!got.ok()) return false;
  Arguments expected = arguments;
  const auto wanted = oracle.call(expected);
  if (got->fault.has_value() == wanted.has_value()) return false;
  if (!wanted) return true;
  if (f.result != function::Type::none && !function::is_same(f.result, got->result, *wanted)) return false;
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (got->arguments[i].elements != expected[i].elements) return false;
  return true;
}

struct Survivor {
  test::Mutant mutant;
  Lowered lowered;
};

bool survives_tests(const Function& f, const Lowered& lowered, std::uint64_t budget) {
  const auto misses = function::run_tests(f, lowered, nullptr, budget);
  return misses.ok() && misses->empty();
}

/// Returns rounds of loops that are enough for the tests of the function itself.
std::uint64_t budget_of(const Function& f, const Lowered& original) {
  std::uint64_t budget = kTestBudget;
  while (!survives_tests(f, original, budget)) {
    CHECK(budget < std::uint64_t{1} << 24);
    budget *= 4;
  }
  return budget;
}

/// Counts the mutants of a function and returns those that its tests do not catch.
std::vector<Survivor> survivors_of(const Function& f, const Lowered& original, Tally& tally) {
  const std::uint64_t budget = budget_of(f, original);
  std::vector<Survivor> list;
  test::each_mutant(f, [&](const test::Mutant& mutant) {
    auto lowered = function::lower(mutant.function, Library::shipped());
    if (!lowered.ok()) return;
    ++tally.mutants;
    if (survives_tests(mutant.function, *lowered, budget))
      list.push_back({mutant, std::move(*lowered)});
    else
      ++tally.by_tests;
  });
  return list;
}

/// Writes a drawn input as a line of @test with what the oracle gives; empty for calls that must fail.
std::string test_line(const Function& f, const Oracle& oracle, const Arguments& arguments) {
  Arguments after = arguments;
  const auto wanted = oracle.call(after);
  if (!wanted) return {};
  function::Case made{.arguments = arguments};
  const auto show_text = [&](std::size_t i, function::Argument& a) {
    a.is_text = f.parameters[i].type == function::Type::u8 && f.parameters[i].is_array();
  };
  if (f.result != function::Type::none)
    made.result = function::Argument{
        .is_real = f.result == function::Type::f64, .number = *wanted, .is_truth = f.result == function::Type::boolean};
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    show_text(i, made.arguments[i]);
    if (f.parameters[i].passing == function::Passing::in || !f.parameters[i].is_array()) continue;
    show_text(i, after[i]);
    made.after.push_back({f.parameters[i].name, after[i]});
  }
  Function shown = f;
  shown.tests = {made};
  const std::string text = function::print(shown);
  const std::size_t begin = text.find("@test");
  return text.substr(begin, text.find('\n', begin) - begin);
}

/// Suggests lines of @test that catch survivors, the shortest that was drawn for each.
void suggest(const Function& f, const Lowered& original, const std::vector<Survivor>& survivors) {
  const Oracle& oracle = oracle_of(f.name);
  std::set<std::size_t> caught;
  for (std::size_t n = 0; n < survivors.size(); ++n) {
    if (caught.contains(n)) continue;
    std::string best;
    Arguments input;
    test::Random random(11);
    for (int draw = 0, hits = 0; draw < 3000 && hits < 40; ++draw) {
      const Arguments arguments = test::draw(f, oracle, random);
      if (agrees(f, survivors[n].lowered, oracle, arguments) || !agrees(f, original, oracle, arguments)) continue;
      ++hits;
      const std::string line = test_line(f, oracle, arguments);
      if (line.empty() || line.size() > kTestColumnsMax || (!best.empty() && line.size() >= best.size())) continue;
      best = line;
      input = arguments;
    }
    if (best.empty()) continue;
    std::printf("%s\t%s\n", f.file.c_str(), best.c_str());
    for (std::size_t k = n; k < survivors.size(); ++k)
      if (!agrees(f, survivors[k].lowered, oracle, input)) caught.insert(k);
  }
}

bool oracle_catches(const Function& f, const Lowered& original, const Survivor& survivor, std::uint64_t draws) {
  const Oracle& oracle = oracle_of(f.name);
  test::Random random(7);
  for (std::uint64_t i = 0; i < draws; ++i) {
    const Arguments arguments = test::draw(f, oracle, random);
    if (!agrees(f, survivor.lowered, oracle, arguments) && agrees(f, original, oracle, arguments)) return true;
  }
  return false;
}

void judge(const Function& f, const Lowered& original, const std::vector<Survivor>& survivors, const Options& options,
           const Reasons& reasons, std::set<std::pair<std::string, std::string>>& used, Tally& tally) {
  for (const Survivor& survivor : survivors) {
    const std::pair<std::string, std::string> key{f.name, survivor.mutant.text};
    const char* verdict = "caught by the oracle";
    if (oracle_catches(f, original, survivor, options.draws)) {
      ++tally.by_oracle;
    } else if (const auto reason = reasons.find(key); reason != reasons.end()) {
      ++tally.equivalent;
      used.insert(key);
      verdict = reason->second.c_str();
    } else {
      ++tally.unknown;
      verdict = "NOT CAUGHT";
    }
    std::printf("%s:%zu\t%s\t%s\n", f.file.c_str(), survivor.mutant.line, survivor.mutant.text.c_str(), verdict);
  }
}

Options read_options(int argc, char** argv) {
  Options options;
  CHECK(argc >= 2);
  options.equivalent = argv[1];
  for (int i = 2; i + 1 < argc; i += 2) {
    const char* const value = argv[i + 1];
    if (std::strcmp(argv[i], "--area") == 0) options.area = value;
    if (std::strcmp(argv[i], "--draws") == 0) options.draws = std::strtoull(value, nullptr, 10);
    if (std::strcmp(argv[i], "--tests-min") == 0) options.tests_min = std::strtod(value, nullptr);
    if (std::strcmp(argv[i], "--suggest") == 0) options.suggest = std::strcmp(value, "1") == 0;
  }
  return options;
}

/// Counts rows of functions that were looked at and whose mutant did not survive.
std::size_t print_stale(const Reasons& reasons, const std::set<std::pair<std::string, std::string>>& used,
                        const Options& options) {
  std::size_t stale = 0;
  for (const auto& [key, reason] : reasons) {
    const Function* const f = Library::shipped().find(key.first);
    if (used.contains(key) || (f != nullptr && !options.area.empty() && f->area != options.area)) continue;
    ++stale;
    std::printf("%s\t%s\tlisted, but no mutant or one that is caught\n", key.first.c_str(), key.second.c_str());
  }
  return stale;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = read_options(argc, argv);
  const Reasons reasons = read_reasons(options.equivalent);
  std::set<std::pair<std::string, std::string>> used;
  Tally tally;
  for (const Function* f : Library::shipped().list()) {
    if (!options.area.empty() && f->area != options.area) continue;
    const auto original = function::lower(*f, Library::shipped());
    CHECK(original.ok());
    const auto survivors = survivors_of(*f, *original, tally);
    if (options.suggest)
      suggest(*f, *original, survivors);
    else
      judge(*f, *original, survivors, options, reasons, used, tally);
    std::fflush(stdout);
  }
  if (options.suggest) return 0;
  const std::size_t stale = print_stale(reasons, used, options);
  const double share = 100.0 * static_cast<double>(tally.by_tests) / static_cast<double>(tally.mutants);
  std::printf(
      "%zu mutants: %zu caught by @test lines (%.2f %%, bar %.2f), %zu by the oracle, %zu equivalent, %zu not "
      "caught (bar 0), %zu rows too many\n",
      tally.mutants, tally.by_tests, share, options.tests_min, tally.by_oracle, tally.equivalent, tally.unknown, stale);
  return share >= options.tests_min && tally.unknown == 0 && stale == 0 ? 0 : 1;
}
