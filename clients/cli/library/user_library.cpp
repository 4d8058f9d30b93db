#include "clients/cli/library/user_library.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "runtime/base/nearest.h"
#include "runtime/os/text_file.h"

namespace trident::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kTextBytesMax = std::size_t{1} << 20;
constexpr std::size_t kFilesMax = 10'000;

bool is_file_word(const std::string& word) {
  return word.ends_with(".fn") || word.find('/') != std::string::npos || fs::is_directory(word);
}

Result<void> add_folder(const std::string& folder, std::vector<std::string>& files) {
  std::vector<std::string> found;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (at->path().extension() == ".fn") found.push_back(at->path().string());
  if (error) return make_error(ErrorCode::kOsError, "%s: %s", folder.c_str(), error.message().c_str());
  if (found.empty()) return make_error(ErrorCode::kInvalidArgument, "%s: no file in it ends with .fn", folder.c_str());
  if (files.size() + found.size() > kFilesMax)
    return make_error(ErrorCode::kLimitExceeded, "%s: more than %zu files", folder.c_str(), kFilesMax);
  std::sort(found.begin(), found.end());
  files.insert(files.end(), found.begin(), found.end());
  return {};
}

Result<const function::Function*> shipped_function(const std::string& name) {
  const function::Library& library = function::Library::shipped();
  if (const function::Function* const found = library.find(name)) return found;
  std::vector<std::string> names;
  for (const function::Function* f : library.list()) names.push_back(f->name);
  constexpr std::size_t kTyposMax = 2;
  const std::string meant = nearest(names, name, kTyposMax);
  return make_error(ErrorCode::kInvalidArgument, "the library has no function '%s'%s; `trident library list` names all",
                    name.c_str(), meant.empty() ? "" : (": did you mean '" + meant + "'?").c_str());
}

}  // namespace

Result<std::vector<std::string>> function_files(const std::vector<std::string>& words) {
  std::vector<std::string> files;
  for (const std::string& word : words) {
    if (fs::is_directory(word))
      TRY_VOID(add_folder(word, files));
    else
      files.push_back(word);
  }
  return files;
}

Result<std::string> read_function(const std::string& file) {
  return os::read_text(file, kTextBytesMax);
}

Result<ChosenFunctions> chosen_functions(const std::vector<std::string>& words) {
  ChosenFunctions out;
  if (words.empty()) out.chosen = function::Library::shipped().list();
  std::vector<std::string> file_words;
  std::copy_if(words.begin(), words.end(), std::back_inserter(file_words), is_file_word);
  TRY(const std::vector<std::string> files, function_files(file_words));
  std::vector<std::string> texts;
  for (const std::string& file : files) {
    TRY(std::string text, read_function(file));
    texts.push_back(std::move(text));
  }
  std::vector<function::Library::Text> list;
  for (std::size_t i = 0; i < files.size(); ++i) list.push_back({files[i], texts[i]});
  if (!list.empty()) {
    TRY(function::Library library, function::Library::make(list, &function::Library::shipped()));
    out.users = std::make_unique<function::Library>(std::move(library));
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
