#include "jit/function/folder.h"

#include <algorithm>
#include <filesystem>

#include "jit/function/call.h"
#include "runtime/os/text_file.h"

namespace trident::function {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFileBytesMax = std::size_t{1} << 20;
constexpr std::size_t kFilesMax = 10'000;

}  // namespace

Result<std::vector<std::string>> files_below(const std::string& folder) {
  std::vector<std::string> found;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->path().extension() == ".fn") found.push_back(at->path().string());
    if (found.size() > kFilesMax)
      return make_error(ErrorCode::kLimitExceeded, "%s: more than %zu files", folder.c_str(), kFilesMax);
  }
  if (error) return make_error(ErrorCode::kOsError, "%s: %s", folder.c_str(), error.message().c_str());
  if (found.empty()) return make_error(ErrorCode::kInvalidArgument, "%s: no file in it ends with .fn", folder.c_str());
  std::sort(found.begin(), found.end());
  return found;
}

Result<std::string> read_file(const std::string& file) {
  return os::read_text(file, kFileBytesMax);
}

Result<Library> read_library(const std::vector<std::string>& files, const Library* base) {
  std::vector<std::string> texts;
  for (const std::string& file : files) {
    TRY(std::string text, read_file(file));
    texts.push_back(std::move(text));
  }
  std::vector<Library::Text> list;
  for (std::size_t i = 0; i < files.size(); ++i) list.push_back({files[i], texts[i]});
  return Library::make(list, base);
}

Result<void> test_library(const Library& library) {
  for (const Function* f : library.list()) {
    TRY(const Lowered lowered, lower(*f, library));
    TRY(const std::vector<Miss> misses, run_tests(*f, lowered));
    if (misses.empty()) continue;
    return make_error(ErrorCode::kInvalidArgument, "%s:%zu: a test does not hold: %s", f->file.c_str(),
                      line_of_test(*f, misses[0].test), misses[0].why.c_str());
  }
  return {};
}

std::string text_of_line(std::string_view text, std::size_t line) {
  std::size_t begin = 0;
  for (std::size_t at = 1; at < line && begin < text.size(); ++at)
    begin = std::min(text.find('\n', begin), text.size() - 1) + 1;
  return std::string(text.substr(begin, text.find('\n', begin) - begin));
}

std::size_t line_of_test(const Function& function, std::size_t test) {
  const auto offset = static_cast<std::ptrdiff_t>(function.tests[test].offset);
  return static_cast<std::size_t>(std::count(function.text.begin(), function.text.begin() + offset, '\n')) + 1;
}

}  // namespace trident::function
