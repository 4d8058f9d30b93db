#include "jit/function/library.h"

#include <algorithm>
#include <filesystem>

#include "jit/function/names.h"
#include "jit/function/shipped_functions.h"
#include "jit/ir/text.h"
#include "runtime/base/check.h"
#include "runtime/base/nearest.h"

namespace trident::function {
namespace {

std::string area_of(const std::string& file) {
  return std::filesystem::path(file).parent_path().filename().string();
}

std::string stem_of(const std::string& file) {
  return std::filesystem::path(file).stem().string();
}

void names_called(const Expression& e, std::vector<std::string>& out) {
  if (e.kind == Expression::Kind::call && intrinsic(e.name) == nullptr) out.push_back(e.name);
  for (const Expression& operand : e.operands) names_called(operand, out);
}

void names_called(const std::vector<Statement>& list, std::vector<std::string>& out) {
  for (const Statement& s : list) {
    for (const Expression& e : s.values) names_called(e, out);
    names_called(s.body, out);
    names_called(s.otherwise, out);
  }
}

enum class Mark : std::uint8_t { unseen, begun, done };

/// Checks functions, each after those that it calls.
class Order {
 public:
  Order(std::map<std::string, Function, std::less<>>& functions, const Library& library)
      : functions_(functions), library_(library) {}

  Result<void> visit(const std::string& name) {
    Mark& mark = marks_[name];
    if (mark == Mark::done) return {};
    Function& function = functions_.find(name)->second;
    const ir::SourceText source(function.text, function.file);
    if (mark == Mark::begun) return source.error(0, "the function calls itself" + circle_to(name));
    mark = Mark::begun;
    begun_.push_back(name);
    for (const std::string& callee : callees_of(function))
      if (functions_.contains(callee)) TRY_VOID(visit(callee));
    TRY_VOID(check(function, library_));
    marks_[name] = Mark::done;
    begun_.pop_back();
    return {};
  }

 private:
  /// Returns the calls from `name` to itself, if others are among them.
  [[nodiscard]] std::string circle_to(const std::string& name) const {
    auto at = std::find(begun_.begin(), begun_.end(), name);
    if (at + 1 == begun_.end()) return {};
    std::string calls = ": ";
    for (; at != begun_.end(); ++at) calls += *at + ", ";
    return calls + name + " (a function of the library calls yours where it has the name)";
  }

  std::map<std::string, Function, std::less<>>& functions_;
  const Library& library_;
  std::map<std::string, Mark> marks_;
  std::vector<std::string> begun_;  ///< each is called by the one before
};

/// Returns the name of the function whose absence an error reports; empty for other errors.
std::string absent_function(std::string_view message) {
  const std::size_t at = message.find(kAbsentFunction);
  if (at == std::string_view::npos) return {};
  message.remove_prefix(at + kAbsentFunction.size());
  return std::string(message.substr(0, message.find('\'')));
}

std::string replaced(std::string text, std::string_view word, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += by.size())
    text.replace(at, word.size(), by);
  return text;
}

}  // namespace

std::vector<std::string> callees_of(const Function& function) {
  std::vector<std::string> callees;
  names_called(function.body, callees);
  return callees;
}

Result<Library> Library::make(const std::vector<Text>& texts, const Library* base) {
  Library library;
  library.base_ = base;
  for (const Text& text : texts) {
    const std::string_view shown = text.shown.empty() ? text.file : text.shown;
    TRY(Function function, parse(text.text, shown));
    const ir::SourceText source(text.text, shown);
    function.area = area_of(text.file);
    if (function.name != stem_of(text.file))
      return source.error(0, "the file of a function '" + function.name + "' is called " + function.name + ".fn");
    if (intrinsic(function.name) != nullptr) return source.error(0, "the language has a function of this name");
    const IntrinsicRow* const row = shared_intrinsic(function.name);
    const Parameter* const first = function.parameters.empty() ? nullptr : &function.parameters[0];
    if (row != nullptr && first != nullptr && !first->is_array() && begins_with(*row, first->type))
      return source.error(0, "the language has a function of this name for " + std::string(name_of(first->type)));
    if (library.find(function.name) != nullptr)
      return source.error(0, "there is another function '" + function.name + "'");
    library.functions_.emplace(function.name, std::move(function));
  }
  Order order(library.functions_, library);
  for (const auto& [name, function] : library.functions_) TRY_VOID(order.visit(name));
  return library;
}

const Library& Library::shipped() {
  static const Library library = [] {
    std::vector<Text> texts;
    for (const EmbeddedFile& file : kShippedFunctions) texts.push_back({std::string(file.name), file.text});
    auto made = make(texts);
    CHECK(made.ok());
    return std::move(made).value();
  }();
  return library;
}

const Function* Library::find(std::string_view name) const {
  const auto found = functions_.find(name);
  if (found != functions_.end()) return &found->second;
  return base_ != nullptr ? base_->find(name) : nullptr;
}

std::vector<std::string> Library::names() const {
  std::vector<std::string> names = base_ != nullptr ? base_->names() : std::vector<std::string>();
  for (const auto& [name, function] : functions_) names.push_back(name);
  return names;
}

std::vector<const Function*> Library::list() const {
  std::vector<const Function*> all;
  for (const auto& [name, function] : functions_) all.push_back(&function);
  std::stable_sort(all.begin(), all.end(), [](const Function* a, const Function* b) { return a->area < b->area; });
  return all;
}

Error with_cure(Error error, const Library& known, const std::string& cure) {
  const std::string name = absent_function(error.message);
  if (name.empty()) return error;
  std::vector<std::string> names = known.names();
  for (std::string& word : intrinsic_names()) names.push_back(std::move(word));
  const std::string meant = nearest(names, name, name.size() / 4);
  error.message += "\n" + (meant.empty() ? replaced(cure, "NAME", name) : "did you mean '" + meant + "'?");
  return error;
}

}  // namespace trident::function
