#include "clients/cli/verb/run_verbs.h"

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <sstream>

#include "clients/cli/verb/verb.h"
#include "runtime/os/inherited.h"
#include "runtime/os/self.h"

namespace trident::cli {
namespace {

/// `status`, unless standard output has not taken what was written to it.
int with_output_written(int status) {
  const bool written = std::cout.flush().good() && std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (written) return status;
  std::fprintf(stderr, "trident: standard output cannot be written: %s\n", std::strerror(errno != 0 ? errno : EIO));
  return status != 0 ? status : kExitWrong;
}

/// CLI11 speaks through exceptions; they end here.
int parsed(CLI::App& app, const std::vector<const char*>& words, const int& status) {
  try {
    app.parse(static_cast<int>(words.size()), words.data());
    return status;
  } catch (const CLI::ParseError& error) {
    std::ostringstream message;
    const bool is_well = app.exit(error, std::cout, message) == 0;
    std::fputs(printable(message.str()).c_str(), stderr);
    return is_well ? 0 : kExitUsage;
  } catch (const std::bad_alloc&) {
    std::fputs("trident: out of memory: the system refuses to give this process more (see ulimit -v)\n", stderr);
    return kExitUsage;
  }
}

}  // namespace

int run_verbs(CLI::App& app, const std::vector<std::string>& words, const int& status) {
  std::vector<const char*> pointers;
  for (const std::string& word : words) pointers.push_back(word.c_str());
  return with_output_written(parsed(app, pointers, status));
}

int run_one_verb(const char* name, void (*add)(Verb app, int& status), int argc, char** argv) {
  os::occupy_standard_streams();
  os::ignore_file_size_signal();
  CLI::App app("", "trident");
  int status = 0;
  add(Verb(app), status);
  std::vector<std::string> words = {"trident", name};
  for (int i = 1; i < argc; ++i) words.emplace_back(argv[i]);
  return run_verbs(app, words, status);
}

}  // namespace trident::cli
