#include "tests/daemon/sanitizer_reports.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace trident::tests {
namespace {

void append_option(const char* variable, const std::string& option) {
  const char* before = std::getenv(variable);
  const std::string value = before == nullptr || *before == '\0' ? option : std::string(before) + ":" + option;
  ::setenv(variable, value.c_str(), 1);
}

}  // namespace

SanitizerReports::SanitizerReports() {
  char pattern[] = "/dev/shm/trident-reports-XXXXXX";
  directory_ = ::mkdtemp(pattern);
  for (const char* variable : {"ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"})
    append_option(variable, "log_path=" + directory_ + "/report");
}

SanitizerReports::~SanitizerReports() {
  std::filesystem::remove_all(directory_);
}

bool SanitizerReports::none() const {
  bool none = true;
  for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
    std::ifstream file(entry.path());
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    std::fprintf(stderr, "%s:\n%.4000s\n", entry.path().filename().c_str(), text.c_str());
    none = false;
  }
  return none;
}

}  // namespace trident::tests
