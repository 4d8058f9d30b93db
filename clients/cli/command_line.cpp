#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>

#include "clients/cli/commands.h"

namespace trident::cli {
namespace {

constexpr const char* kDescription =
    "Trident makes hot math expressions faster: it compiles them to SIMD kernels that are measured on this machine "
    "and\n"
    "checked against a high-precision reference before they are used.";

constexpr const char* kFooter = R"(EXAMPLES
  trident run 'sin(x)*exp(-y)' -i x=0:3 -i y=1 -n 8       evaluate and print
  trident bench bench/corpus/kernels.tsv --type f32       compare with the pinned compilers
  trident bench 'sqrt(x*x + y*y)' -r x:-2:2 -r y:-2:2     the same for one expression
  trident explain 'tanh(a*x + b)' -r x:-1:1 --dump=k,m    kernel IR and machine code
  trident doctor                                          is everything in place?
  trident completion bash > ~/.local/share/bash-completion/completions/trident

EXIT STATUS
  0 success; 1 a wrong answer, a failed contestant or a failed check; 2 a mistake in the command line or a text

ENVIRONMENT
  TRIDENT_SOCKET    the daemon's socket, before $XDG_RUNTIME_DIR/trident/tridentd.sock and /run/trident/tridentd.sock
  XDG_CACHE_HOME    where compiled benchmark objects are kept (trident/bench); default ~/.cache

`trident VERB --help` describes a verb.)";

}  // namespace

int report(const Error& error) {
  std::fprintf(stderr, "trident: %s\n", error.message.c_str());
  switch (error.code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kSyntaxError:
    case ErrorCode::kTypeError:
    case ErrorCode::kUnsupported:
    case ErrorCode::kLimitExceeded: return kExitUsage;
    case ErrorCode::kInternal:
    case ErrorCode::kOutOfMemory:
    case ErrorCode::kOsError:
    case ErrorCode::kNotFound:
    case ErrorCode::kTimeout:
    case ErrorCode::kCancelled:
    case ErrorCode::kDisconnected:
    case ErrorCode::kRejectedMessage:
    case ErrorCode::kRejectedImage:
    case ErrorCode::kRejectedRecord:
    case ErrorCode::kExecDenied:
    case ErrorCode::kNotEquivalent:
    case ErrorCode::kBusy: return kExitWrong;
  }
  CHECK(false);
}

Result<void> write_text(const std::string& path, const std::string& text) {
  if (path == "-") {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return {};
  }
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (!out) return make_error(ErrorCode::kOsError, "%s: cannot be written", path.c_str());
  return {};
}

int run_command_line(int argc, char** argv) {
  CLI::App app(kDescription, "trident");
  app.footer(kFooter);
  app.set_version_flag("-V,--version", "trident " TRIDENT_VERSION);
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);
  int status = 0;
  add_run_command(app, status);
  add_bench_command(app, status);
  add_explain_command(app, status);
  add_disasm_command(app, status);
  add_doctor_command(app, status);
  add_demo_command(app, status);
  add_text_commands(app, status);
  add_completion_command(app, status);
  try {  // CLI11 speaks through exceptions; they end here
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error, std::cout, std::cerr);
    return code == 0 ? 0 : kExitUsage;
  }
  return status;
}

}  // namespace trident::cli
