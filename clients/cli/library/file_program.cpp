#include "clients/cli/library/file_program.h"

#include <filesystem>
#include <map>
#include <utility>
#include <vector>

#include "jit/function/folder.h"

namespace trident::cli {
namespace {

namespace fs = std::filesystem;
using function::Library;

bool has_functions(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (at->path().extension() == ".fn") return true;
  return false;
}

/// Finds NAME.fn in `folder` or above it; empty when no folder there has it.
fs::path file_above(fs::path folder, const std::string& name) {
  for (; has_functions(folder); folder = folder.parent_path()) {
    std::error_code error;
    if (fs::path file = folder / (name + ".fn"); fs::is_regular_file(file, error)) return file;
    if (folder == folder.parent_path()) break;
  }
  return {};
}

/// Follows the calls of a file's function through the files nearby.
class Nearby {
 public:
  Result<void> follow(const fs::path& first) {
    for (waiting_ = {first}; !waiting_.empty();) {
      const fs::path file = std::move(waiting_.back());
      waiting_.pop_back();
      TRY(const std::string text, function::read_file(file.string()));
      TRY(const function::Function parsed, function::parse(text, file.string()));
      for (const std::string& name : function::callees_of(parsed)) find(name, file.parent_path());
    }
    return {};
  }
  [[nodiscard]] std::vector<std::string> files() const {
    std::vector<std::string> all;
    for (const auto& [name, file] : files_) all.push_back(file.string());
    return all;
  }

 private:
  void find(const std::string& name, const fs::path& folder) {
    if (Library::shipped().find(name) != nullptr || files_.contains(name)) return;
    const fs::path file = file_above(folder, name);
    if (file.empty()) return;  // a word of the language, or absent
    files_.emplace(name, file);
    waiting_.push_back(file);
  }

  std::vector<fs::path> waiting_;
  std::map<std::string, fs::path> files_;
};

Result<function::Program> resolve_file(const std::string& file, const std::vector<std::string>& others) {
  TRY(const std::string text, function::read_file(file));
  TRY(const Library library, function::read_library(others, &Library::shipped()));
  const auto itself = [](const void* user) -> const Library& { return *static_cast<const Library*>(user); };
  return function::resolve(text, itself, &library, file);
}

/// Lists the files below `folder` that make a library: `file` itself is left out where its name is a shipped
/// function's.
Result<std::vector<std::string>> files_beside(const std::string& file, const std::string& folder) {
  TRY(std::vector<std::string> files, function::files_below(folder));
  const bool is_shipped = Library::shipped().find(fs::path(file).stem().string()) != nullptr;
  std::erase_if(files, [&](const std::string& other) {
    std::error_code error;
    return is_shipped && fs::equivalent(other, file, error);
  });
  return files;
}

Result<function::Program> program_nearby(const std::string& file) {
  Nearby nearby;
  TRY_VOID(nearby.follow(fs::absolute(file).lexically_normal()));
  auto program = resolve_file(file, nearby.files());
  if (program.ok()) return program;
  return function::with_cure(
      program.error(), Library::shipped(),
      "'NAME' is no shipped function, and no NAME.fn is beside its caller or above: give --library FOLDER");
}

Result<function::Program> program_below(const std::string& file, const std::string& folder) {
  TRY(const std::vector<std::string> others, files_beside(file, folder));
  auto program = resolve_file(file, others);
  if (program.ok()) return program;
  return function::with_cure(program.error(), Library::shipped(), "add NAME.fn to " + folder);
}

/// Returns how to get the file, if it is absent and has the name of a shipped function.
std::string how_to_write(const std::string& file) {
  const std::string name = fs::path(file).stem().string();
  if (fs::exists(file) || Library::shipped().find(name) == nullptr) return {};
  return "\n`trident library show " + name + " > " + name + ".fn` writes the shipped function";
}

}  // namespace

void add_library_option(Verb verb, std::string& folder) {
  verb.add_option("--library", folder,
                  "Folder of the functions that NAME.fn calls; default: that of the file and those above it");
}

Result<void> check_library_fits(Verb verb) {
  if (verb.count("--library") == 0) return {};
  return make_error(ErrorCode::kInvalidArgument, "--library is about functions, which are files NAME.fn");
}

Result<function::Program> program_of_file(const std::string& file, const std::string& folder) {
  auto program = folder.empty() ? program_nearby(file) : program_below(file, folder);
  if (program.ok()) return program;
  return Error{program.error().code, program.error().message + how_to_write(file)};
}

}  // namespace trident::cli
