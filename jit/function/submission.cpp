#include "jit/function/submission.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "schemas/function_image.h"

namespace trident::function {
namespace {

Error too_large() {
  return make_error(ErrorCode::kLimitExceeded,
                    "a function and all that it calls have at most %u bytes of text and %u functions",
                    TRIDENT_FUNCTION_TEXT_BYTES_MAX, TRIDENT_FUNCTION_CALLEES_MAX);
}

Result<void> check_size(const Program& program) {
  const auto count = std::count(program.calls.begin(), program.calls.end(), '\0');
  if (program.text.size() + program.calls.size() > TRIDENT_FUNCTION_TEXT_BYTES_MAX ||
      count > TRIDENT_FUNCTION_CALLEES_MAX)
    return too_large();
  return {};
}

std::vector<std::string_view> texts_in(std::string_view calls) {
  std::vector<std::string_view> texts;
  while (!calls.empty()) {
    const std::size_t end = std::min(calls.find('\0'), calls.size());
    texts.push_back(calls.substr(0, end));
    calls.remove_prefix(std::min(end + 1, calls.size()));
  }
  return texts;
}

/// Makes the library of `texts`, whose first is the program's function.
Result<void> make_library(Program& program, std::string_view file) {
  std::vector<Library::Text> texts;
  TRY(const Function first, parse(program.text, file));
  program.name = first.name;
  texts.push_back({first.name + ".fn", program.text, file == kSubmittedFile ? std::string_view() : file});
  for (const std::string_view text : texts_in(program.calls)) {
    TRY(const Function callee, parse(text, kSubmittedFile));
    texts.push_back({callee.name + ".fn", text});
  }
  TRY(program.library, Library::make(texts));
  return {};
}

/// Adds the texts of the functions that are called `names`, and of those that these call.
void add_calls(const std::vector<std::string>& names, const Library& library, std::set<std::string>& known,
               std::string& calls) {
  std::vector<std::string> waiting = names;
  while (!waiting.empty() && calls.size() <= TRIDENT_FUNCTION_TEXT_BYTES_MAX) {
    const std::string name = std::move(waiting.back());
    waiting.pop_back();
    const Function* const callee = library.find(name);
    if (callee == nullptr || !known.insert(name).second) continue;  // the checker names those that are missing
    calls += callee->text;
    calls += '\0';
    const std::vector<std::string> more = callees_of(*callee);
    waiting.insert(waiting.end(), more.begin(), more.end());
  }
}

Result<Program> finished(Program program, std::string_view file = kSubmittedFile) {
  TRY_VOID(check_size(program));
  TRY_VOID(make_library(program, file));
  return program;
}

}  // namespace

Result<Program> resolve(std::string_view text, const Library& (*library)(const void* user), const void* user,
                        std::string_view file) {
  if (text.size() > TRIDENT_FUNCTION_TEXT_BYTES_MAX) return too_large();
  TRY(const Function parsed, parse(text, file));
  Program program{std::string(text), {}, {}, {}};
  std::set<std::string> known = {parsed.name};
  if (const auto callees = callees_of(parsed); !callees.empty())
    add_calls(callees, library(user), known, program.calls);
  return finished(std::move(program), file);
}

Result<Program> resolve(const Function& function, const Library& library) {
  Program program{function.text, {}, {}, {}};
  std::set<std::string> known = {function.name};
  add_calls(callees_of(function), library, known, program.calls);
  return finished(std::move(program));
}

Result<Program> read_program(std::string_view text, std::string_view calls) {
  if (!calls.empty() && calls.back() != '\0')
    return make_error(ErrorCode::kRejectedMessage, "the last text of the functions that are called has no end");
  return finished({std::string(text), std::string(calls), {}, {}});
}

}  // namespace trident::function
