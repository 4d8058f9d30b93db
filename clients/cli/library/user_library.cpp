#include "clients/cli/library/user_library.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "jit/function/folder.h"
#include "runtime/base/nearest.h"

namespace trident::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCureOfAbsent =
    "'NAME' is no shipped function: give NAME.fn, too, or the folder that has both files";

bool is_file_word(const std::string& word) {
  return word.ends_with(".fn") || word.find('/') != std::string::npos || fs::is_directory(word);
}

Result<const function::Function*> shipped_function(const std::string& name) {
  const function::Library& library = function::Library::shipped();
  if (const function::Function* const found = library.find(name)) return found;
  std::vector<std::string> names;
  for (const function::Function* f : library.list()) names.push_back(f->name);
  constexpr std::size_t kTyposMax = 2;
  const std::string meant = nearest(names, name, kTyposMax);
  return make_error(ErrorCode::kInvalidArgument, "the library has no function '%s'%s\n`trident library list` names all",
                    name.c_str(), meant.empty() ? "" : (": did you mean '" + meant + "'?").c_str());
}

}  // namespace

Result<std::vector<std::string>> function_files(const std::vector<std::string>& words) {
  std::vector<std::string> files;
  for (const std::string& word : words) {
    if (fs::is_directory(word)) {
      TRY(const std::vector<std::string> found, function::files_below(word));
      files.insert(files.end(), found.begin(), found.end());
    } else {
      files.push_back(word);
    }
  }
  return files;
}

Result<ChosenFunctions> chosen_functions(const std::vector<std::string>& words) {
  ChosenFunctions out;
  if (words.empty()) out.chosen = function::Library::shipped().list();
  std::vector<std::string> file_words;
  std::copy_if(words.begin(), words.end(), std::back_inserter(file_words), is_file_word);
  TRY(const std::vector<std::string> files, function_files(file_words));
  if (!files.empty()) {
    auto library = function::read_library(files, &function::Library::shipped());
    if (!library.ok()) return function::with_cure(library.error(), function::Library::shipped(), kCureOfAbsent);
    out.users = std::make_unique<function::Library>(std::move(*library));
    out.chosen = out.users->list();
  }
  for (const std::string& word : words) {
    if (is_file_word(word)) continue;
    TRY(const function::Function* const shipped, shipped_function(word));
    out.chosen.push_back(shipped);
  }
  return out;
}

}  // namespace trident::cli
