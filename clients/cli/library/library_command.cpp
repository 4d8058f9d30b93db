// `trident library`: functions with loops, listed, shown, tested and formatted.
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "clients/cli/library/commands.h"
#include "clients/cli/library/user_library.h"
#include "clients/cli/verb/output_file.h"
#include "clients/cli/verb/verb.h"
#include "jit/function/call.h"
#include "jit/function/folder.h"
#include "jit/image/image.h"
#include "jit/pipeline/function.h"
#include "jit/region/region.h"
#include "runtime/base/counted.h"
#include "runtime/json/json.h"
#include "runtime/os/atomic_file.h"

namespace trident::cli {
namespace {

using function::Function;

/// Names the runner of functions.
enum class Tier : std::uint8_t { interpreted, native, optimised };

struct LibraryVerb {
  std::vector<std::string> words;
  std::string tier = "interpreted";
  std::string name;
  bool json = false, region = false, check = false;
};

Tier tier_of(std::string_view name) {
  if (name == "native") return Tier::native;
  return name == "optimised" ? Tier::optimised : Tier::interpreted;
}

std::string head_of(const Function& f) {
  const std::string text = function::print(f);
  const std::size_t begin = text.rfind("\nfn ", text.find(" {\n")) + 1;
  return text.substr(begin, text.find(" {\n", begin) - begin);
}

std::string first_prompt(const Function& f) {
  return f.prompts.empty() ? "" : f.prompts[0];
}

Result<int> list_functions(const LibraryVerb& verb) {
  TRY(const ChosenFunctions functions, chosen_functions(verb.words));
  Json rows = Json::array();
  for (const Function* f : functions.chosen) {
    if (verb.json)
      rows.push_back(Json{{"area", f->area},
                          {"name", f->name},
                          {"head", head_of(*f)},
                          {"prompts", f->prompts},
                          {"tests", f->tests.size()}});
    else
      std::printf("%-12s %-20s %s\n", f->area.c_str(), f->name.c_str(), first_prompt(*f).c_str());
  }
  if (verb.json) std::printf("%s\n", Json{{"functions", rows}}.dump(2).c_str());
  return 0;
}

Result<int> show_function(const LibraryVerb& verb) {
  TRY(const ChosenFunctions functions, chosen_functions({verb.name}));
  for (const Function* f : functions.chosen) {
    std::printf("%s", function::print(*f).c_str());
    if (!verb.region) continue;
    TRY(const function::Lowered lowered, function::lower(*f, functions.library()));
    std::printf("\n%s", region::print(lowered.region).c_str());
  }
  return 0;
}

/// Runs the tests on machine code that has passed its trials.
Result<std::vector<function::Miss>> run_native_tests(const Function& f, const function::Library& library, Tier tier) {
  pipeline::FunctionOptions options;
  if (tier == Tier::optimised) options.bulk = pipeline::bulk_isa();
  TRY(const pipeline::CompiledFunction made, pipeline::compile_function(f, library, options));
  TRY(const os::Fd fd, image::seal(made.image));
  TRY(const image::Mapped mapped, image::Mapped::map(fd));
  return function::run_tests(f, made.lowered, mapped.region_entry());
}

Result<std::vector<function::Miss>> run_tests(const Function& f, const function::Library& library, Tier tier) {
  if (tier != Tier::interpreted) return run_native_tests(f, library, tier);
  TRY(const function::Lowered lowered, function::lower(f, library));
  return function::run_tests(f, lowered);
}

/// Counts tests of all functions; prints those that do not hold.
class TestReport {
 public:
  TestReport(bool json, Tier tier) : json_(json), tier_(tier) {}

  Result<void> take(const Function& f, const function::Library& library) {
    TRY(const std::vector<function::Miss> misses, run_tests(f, library, tier_));
    ++functions_;
    tests_ += f.tests.size();
    for (const function::Miss& miss : misses) tell(f, miss);
    return {};
  }

  [[nodiscard]] bool holds() const { return failed_ == 0; }

  void print() const {
    if (json_) {
      const Json out = {{"functions", functions_}, {"tests", tests_}, {"failed", failed_}, {"misses", misses_}};
      std::printf("%s\n", out.dump(2).c_str());
      return;
    }
    std::printf("%s, %s, %zu failed\n", counted(functions_, "function").c_str(), counted(tests_, "test").c_str(),
                failed_);
  }

 private:
  void tell(const Function& f, const function::Miss& miss) {
    ++failed_;
    const std::size_t line = function::line_of_test(f, miss.test);
    if (json_)
      misses_.push_back(Json{{"function", f.name}, {"file", f.file}, {"line", line}, {"why", miss.why}});
    else
      std::printf("%s:%zu: %s\n  %s\n", f.file.c_str(), line, miss.why.c_str(),
                  function::text_of_line(f.text, line).c_str());
  }

  bool json_;
  Tier tier_;
  std::size_t functions_ = 0, tests_ = 0, failed_ = 0;
  Json misses_ = Json::array();
};

Result<int> test_functions(const LibraryVerb& verb) {
  TRY(const ChosenFunctions functions, chosen_functions(verb.words));
  TestReport tests(verb.json, tier_of(verb.tier));
  for (const Function* f : functions.chosen) TRY_VOID(tests.take(*f, functions.library()));
  tests.print();
  return tests.holds() ? 0 : kExitWrong;
}

/// Writes the file whole or not at all.
Result<void> replace(const std::string& path, const std::string& text) {
  TRY_VOID(can_take_place(path));
  TRY(os::AtomicFile file, os::AtomicFile::create(path));
  TRY_VOID(file.append(std::as_bytes(std::span(text))));
  return file.commit();
}

Result<int> format_functions(const LibraryVerb& verb) {
  TRY(const std::vector<std::string> files, function_files(verb.words));
  bool all_formed = true;
  for (const std::string& file : files) {
    TRY(const std::string text, function::read_file(file));
    TRY(const Function parsed, function::parse(text, file));
    const std::string formed = function::print(parsed);
    if (formed == text) continue;
    all_formed = false;
    if (verb.check)
      std::printf("%s: not in the form of the formatter\n", file.c_str());
    else
      TRY_VOID(replace(file, formed));
  }
  return all_formed || !verb.check ? 0 : kExitWrong;
}

/// Adds a verb that runs `run` on its options.
Verb add_verb(Verb library, int& status, const std::shared_ptr<LibraryVerb>& options, const char* name,
              const char* meaning, Result<int> (*run)(const LibraryVerb&)) {
  const Verb verb = library.add_subcommand(name, meaning);
  verb.callback([options, &status, run] {
    const auto code = run(*options);
    status = code ? *code : report(code.error());
  });
  return verb;
}

constexpr const char* kWords =
    "Names of shipped functions, .fn files or folders of these; default: all that is shipped";

}  // namespace

namespace {

/// Adds list, show, test and format to `library`.
void add_parts(Verb library, int& status) {
  const auto options = std::make_shared<LibraryVerb>();
  const Verb list = add_verb(library, status, options, "list", "List functions by area", list_functions);
  list.add_option("FUNCTION", options->words, kWords);
  list.add_flag("--json", options->json, "Print a JSON object");
  const Verb show =
      add_verb(library, status, options, "show", "Print a function in the standard format", show_function);
  show.add_option("FUNCTION", options->name, "Name of a shipped function, or a .fn file").required();
  show.add_flag("--region", options->region, "Print the region code too, between text and machine code");
  const Verb test = add_verb(library, status, options, "test", "Run the @test lines of functions", test_functions);
  test.add_option("FUNCTION", options->words, kWords);
  test.add_flag("--json", options->json, "Print a JSON object");
  test.add_option("--tier", options->tier, "Who runs them: interpreted, native or optimised (machine code)")
      .check(one_of({"interpreted", "native", "optimised"}))
      .capture_default_str();
  const Verb format =
      add_verb(library, status, options, "format", "Rewrite .fn files in their one form", format_functions);
  format.add_option("FILE", options->words, ".fn files, or folders of these").required();
  format.add_flag("--check", options->check,
                  "Write nothing; end with status 1 if a file is not in the standard format");
}

/// Runs the tests of the words interpreted and as machine code, as the other name's users expect of it.
int run_as(const char* alias, const char* meant, const LibraryVerb& options) {
  std::fprintf(stderr, "trident: `%s` is another name of `%s`\n", alias, meant);
  const auto code = test_functions(options);
  return code ? *code : report(code.error());
}

}  // namespace

void add_library_command(Verb app, int& status) {
  const Verb library = app.add_subcommand("library", "List, show, test and format functions with loops");
  library.require_subcommand();
  add_parts(library, status);
}

void add_stdlib_command(Verb app, int& status) {
  const Verb stdlib = app.add_subcommand("stdlib", "Another name of library");
  struct Wanted {
    bool build = false, verify = false;
  };
  const auto wanted = std::make_shared<Wanted>();
  stdlib.add_flag("--build", wanted->build, "Make machine code of every shipped function, and try it");
  stdlib.add_flag("--verify", wanted->verify, "Run the @test lines of all of them");
  stdlib.callback([wanted, stdlib, &status] {
    if (stdlib.chosen()) return;
    if (!wanted->build && !wanted->verify) {
      status = report(make_error(ErrorCode::kInvalidArgument, "give --build, --verify, or list, show, test or format"));
      return;
    }
    LibraryVerb options;
    options.tier = wanted->build ? "native" : "interpreted";
    status = run_as("trident stdlib", wanted->build ? "trident library test --tier native" : "trident library test",
                    options);
  });
  add_parts(stdlib, status);
}

void add_test_command(Verb app, int& status) {
  const Verb test = app.add_subcommand("test", "Another name of library test");
  const auto options = std::make_shared<LibraryVerb>();
  const auto package = std::make_shared<std::string>("lib");
  test.add_option("-p,--package", *package, "lib: the shipped functions; else a folder or file of functions")
      .capture_default_str();
  test.add_flag("--json", options->json, "Print a JSON object");
  test.callback([options, package, &status] {
    if (*package != "lib") options->words = {*package};
    status = run_as("trident test", "trident library test", *options);
  });
}

}  // namespace trident::cli
