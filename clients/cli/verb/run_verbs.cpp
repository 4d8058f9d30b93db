#include "clients/cli/verb/run_verbs.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <new>

#include "clients/cli/verb/verb.h"
#include "runtime/command_line/usage_error.h"
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

int parsed(command_line::Application& app, const std::vector<std::string>& words, const int& status) {
  try {
    const command_line::Parsed parsed = app.parse(words);
    if (parsed.outcome == command_line::Parsed::Outcome::ran) return status;
    if (parsed.outcome == command_line::Parsed::Outcome::answered) {
      std::cout << parsed.text;
      return 0;
    }
    std::fputs(printable(command_line::usage_error("trident", app.command(), parsed.text)).c_str(), stderr);
    return kExitUsage;
  } catch (const std::bad_alloc&) {
    std::fputs("trident: out of memory: the system refuses to give this process more (see ulimit -v)\n", stderr);
    return kExitUsage;
  }
}

}  // namespace

int run_verbs(command_line::Application& app, const std::vector<std::string>& words, const int& status) {
  return with_output_written(parsed(app, words, status));
}

int run_one_verb(const char* name, void (*add)(Verb app, int& status), int argc, char** argv) {
  os::occupy_standard_streams();
  os::ignore_file_size_signal();
  command_line::Application app("", "trident");
  int status = 0;
  add(app.command(), status);
  std::vector<std::string> words = {name};
  for (int i = 1; i < argc; ++i) words.emplace_back(argv[i]);
  return run_verbs(app, words, status);
}

}  // namespace trident::cli
