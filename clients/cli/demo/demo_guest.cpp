#include "clients/cli/demo/demo_guest.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <vector>

#include "clients/cli/demo/demo.h"
#include "clients/cli/demo/demo_text.h"
#include "clients/emu/guests/loop_program.h"
#include "runtime/json/json.h"
#include "runtime/os/directory.h"
#include "runtime/os/process.h"
#include "runtime/report/html_page.h"

namespace trident::cli {
namespace fs = std::filesystem;
namespace html = report::html;
namespace {

constexpr std::size_t kInputBytes = std::size_t{16} << 20;
constexpr std::uint32_t kRunTimeoutMs = 120'000;

/// A folder for the input and our own program; it goes with its files.
class Folder {
 public:
  explicit Folder(std::string path) : path_(std::move(path)) {}
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code code;
    fs::remove_all(path_, code);
  }
  [[nodiscard]] std::string file(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

Result<void> write_bytes(const std::string& path, const std::vector<std::byte>& bytes) {
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  const bool written = file != nullptr && std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  if (file == nullptr || std::fclose(file) != 0 || !written)
    return make_error(ErrorCode::kOsError, "%s: cannot be written", path.c_str());
  return {};
}

/// Bytes of a generator of Lehmer's: the same in every demo.
std::vector<std::byte> input_bytes() {
  std::vector<std::byte> bytes(kInputBytes);
  std::uint64_t state = 1;
  for (std::byte& byte : bytes) {
    state = state * 48271 % 2147483647;
    byte = static_cast<std::byte>(state >> 8);
  }
  return bytes;
}

/// Standard output of a command whose input is the file; then, as the last line, what it says to standard error.
Result<std::string> run_on(const std::string& input, const std::vector<std::string>& command,
                           const std::vector<std::string>& environment) {
  std::vector<std::string> argv{"/bin/sh", "-c", "exec \"$@\" < \"$0\"", input};
  argv.insert(argv.end(), command.begin(), command.end());
  os::Process::Options options;
  options.merge_errors = true;
  options.environment = environment;
  TRY(os::Process process, os::Process::spawn(argv, options));
  TRY(std::string output, process.read_all(kRunTimeoutMs));
  TRY(const os::Exit exit, process.wait(kRunTimeoutMs));
  if (!exit.clean())
    return make_error(ErrorCode::kOsError, "%s: %s\n%s", command.front().c_str(), exit.describe().c_str(),
                      output.c_str());
  return output;
}

/// Splits what trident-emu --json has printed: the guest's output, then a line of figures.
Result<GuestRun> run_of(const std::string& output) {
  const std::size_t brace = output.rfind("\n{");
  const Json figures = brace == std::string::npos ? Json() : Json::parse(output.substr(brace + 1));
  if (!figures.is_object())
    return make_error(ErrorCode::kInternal, "trident-emu printed no figures:\n%s", output.c_str());
  GuestRun run{output.substr(0, brace + 1), figures.value("cpu_s", 0.0), 0, 0, 0};
  const Json swap = figures.value("swap", Json());
  if (!swap.is_object()) return run;
  run.loops = swap.value("installed", std::uint64_t{0});
  run.iterations = swap.value("iterations", std::uint64_t{0});
  run.mismatches = swap.value("mismatches", std::uint64_t{0});
  return run;
}

struct Program {
  std::string name, expected;
  std::vector<std::string> command;
};

Result<Program> busybox(const std::string& path, const std::string& input) {
  TRY(const std::string expected, run_on(input, {"sha256sum"}, {}));
  return Program{"sha256sum (busybox, arm64), 16 MiB", expected, {path, "sha256sum"}};
}

Result<Program> own_program(const Folder& folder, const std::vector<std::byte>& input) {
  const std::string path = folder.file("sum");
  TRY_VOID(write_bytes(path, emu::loop_program()));
  return Program{"a sum by a program of our own (no busybox for arm64), 16 MiB", emu::loop_program_sum(input), {path}};
}

std::string rounds_text(std::uint64_t rounds) {
  return rounds >= 10'000'000 ? figure(static_cast<double>(rounds) * 1e-6, "%.0f million") : std::to_string(rounds);
}

std::string sentence(const DemoGuest& guest) {
  return figure(guest.before.cpu_s, "%.2f s") + " on Unicorn alone, " + figure(guest.after.cpu_s, "%.2f s") +
         " with its loops swapped: " + figure(guest.ratio(), "%.1fx") + "; " + std::to_string(guest.after.loops) +
         " loops, " + rounds_text(guest.after.iterations) + " rounds in native code; " +
         (guest.right() ? "the output is equal, and right" : "THE OUTPUT IS WRONG") +
         (guest.after.mismatches > 0 ? "; SHADOW RUNS DIFFERED" : "");
}

}  // namespace

Result<DemoGuest> run_demo_guest(const GuestOptions& options) {
  DemoGuest guest;
  if (::access(options.emulator.c_str(), X_OK) != 0) {
    guest.skipped = options.emulator + " is not there: it is built where libunicorn-dev is installed";
    return guest;
  }
  TRY(std::string made, os::make_temporary_directory("trident-guest"));
  const Folder folder(std::move(made));
  const std::vector<std::byte> input = input_bytes();
  const std::string file = folder.file("input");
  TRY_VOID(write_bytes(file, input));
  TRY(Program program, options.busybox.empty() ? own_program(folder, input) : busybox(options.busybox, file));
  guest.name = program.name, guest.expected = program.expected;
  TRY(const std::unique_ptr<PrivateDaemon> daemon, PrivateDaemon::start(options.daemon_program));
  const auto emulated = [&](std::vector<std::string> words) -> Result<GuestRun> {
    words.insert(words.begin(), {options.emulator, "--json"});
    words.insert(words.end(), program.command.begin(), program.command.end());
    TRY(const std::string output, run_on(file, words, {"TRIDENT_SOCKET=" + daemon->socket()}));
    return run_of(output);
  };
  TRY(guest.before, emulated({"--no-swap"}));
  TRY(guest.after, emulated({"--mode", "daemon"}));
  return guest;
}

std::string demo_guest_text(const DemoGuest& guest) {
  if (!guest.skipped.empty()) return "guest program: left out: " + guest.skipped + "\n";
  return "guest program, " + guest.name + ":\n" + sentence(guest) + "\n";
}

std::string demo_guest_html(const DemoGuest& guest) {
  if (!guest.skipped.empty()) return html::section("A guest program", "Left out: " + guest.skipped + ".", "");
  const std::vector<html::Series> series = {{"Unicorn alone", 2}, {"loops swapped", 0}};
  const std::vector<html::DotRow> rows = {
      {guest.name, {guest.before.cpu_s, guest.after.cpu_s}, figure(guest.ratio(), "%.1f") + "\xC3\x97 faster"}};
  return html::section("A guest program, before and after its loops are swapped",
                       "A program for AArch64 runs in trident-emu, on Unicorn. Its hot loops are found while it runs, "
                       "compiled by the daemon, compared with the guest in shadow runs, and run natively: " +
                           sentence(guest) + ".",
                       html::dot_chart(series, rows, "seconds of CPU time, detection included"));
}

}  // namespace trident::cli
