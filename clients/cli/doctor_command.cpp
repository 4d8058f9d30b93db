// `trident doctor`: is everything in place for kernels to be made, delivered and run here? Each check tries the thing
// itself rather than guess from versions, and a failure comes with its mend.
#include <unistd.h>

#include <array>
#include <cstdio>
#include <fstream>

#include "clients/c/engine_library.h"
#include "clients/c/peer.h"
#include "clients/c/trident.h"
#include "clients/cli/bench/compilers.h"
#include "clients/cli/bench/numexpr_peer.h"
#include "clients/cli/commands.h"
#include "clients/cli/daemon_stats.h"
#include "clients/cli/verb/verb.h"
#include "runtime/json/json.h"
#include "runtime/os/confinement/confinement.h"
#include "runtime/os/cpu.h"
#include "runtime/os/memfd.h"
#include "runtime/os/process.h"
#include "runtime/os/sandbox.h"

namespace trident::cli {
namespace {

enum class Status { ok, warning, failure };

struct HealthCheck {
  std::string name;
  Status status = Status::ok;
  std::string detail, mend;
};

std::string first_line_of(const char* path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

HealthCheck check_cpu() {
  const os::CpuFeatures& cpu = os::cpu_features();
  HealthCheck c{"processor", Status::ok, os::cpu_name(), ""};
  if (cpu.avx512)
    c.detail += ": AVX-512 (F, VL, DQ, BW), AVX2, FMA";
  else if (cpu.avx2_fma)
    c.detail += ": AVX2, FMA and F16C, no AVX-512";
  else if (cpu.neon)
    c.detail += ": Advanced SIMD (NEON)";
  else
    c = {"processor", Status::failure, c.detail + ": no AVX2 with FMA",
         "kernels need AVX2, FMA and F16C; in a virtual machine pass the host's CPU through (-cpu host)"};
  return c;
}

constexpr int kAnswer = 42;
/// endbr64; mov eax, 42; ret.
constexpr std::array<unsigned char, 10> kTinyCode = {0xF3, 0x0F, 0x1E, 0xFA, 0xB8, kAnswer, 0x00, 0x00, 0x00, 0xC3};

HealthCheck check_memfd() {
  const auto fd = os::make_sealed_memfd("trident-doctor", std::as_bytes(std::span(kTinyCode)), std::byte{0xCC});
  if (!fd)
    return {"sealed memfd", Status::failure, fd.error().message,
            "the kernel must allow memfd_create with sealing (Linux 3.17 or newer, not filtered by seccomp)"};
  return {"sealed memfd", Status::ok, "memfd_create and all four seals work", ""};
}

HealthCheck check_execution() {
#if defined(__x86_64__)
  HealthCheck c{
      "executable mapping", Status::failure, "",
      "allow executable file mappings: SELinux boolean or label (file:execute on tmpfs), or the container's policy"};
  const auto fd = os::make_sealed_memfd("trident-doctor", std::as_bytes(std::span(kTinyCode)), std::byte{0xCC});
  if (!fd) return c.detail = "no memfd to map", c;
  const auto mapping = os::map_executable(*fd, kTinyCode.size());
  if (!mapping) return c.detail = mapping.error().message, c;
  auto child = os::Process::fork_child([&](int) { return reinterpret_cast<int (*)()>(mapping->base())(); });
  if (!child) return c.detail = child.error().message, c;
  const auto exit = child->wait(5000);
  if (!exit || exit->signal != 0 || exit->status != kAnswer)
    return c.detail = "code in a sealed memfd does not run: " + (exit ? exit->describe() : exit.error().message), c;
  return {"executable mapping", Status::ok, "code in a sealed memfd runs", ""};
#else
  return {"executable mapping", Status::warning, "not tested on this architecture", ""};
#endif
}

HealthCheck check_noexec() {
  const std::string level = first_line_of("/proc/sys/vm/memfd_noexec");
  if (level.empty()) return {"vm.memfd_noexec", Status::ok, "not present in this kernel", ""};
  return {"vm.memfd_noexec", Status::ok, level + " (kernels work with 0, 1 and 2)", ""};
}

HealthCheck check_sandbox() {
  const auto end = os::run_sandboxed(
      {}, [](void*) {}, nullptr);
  if (!end)
    return {"sandbox", Status::failure, end.error().message,
            "untried kernels run in a seccomp sandbox: allow seccomp(2) and prctl(2) here"};
  if (end->kind != os::SandboxEnd::Kind::finished)
    return {"sandbox", Status::failure, "an empty child " + os::describe(*end), "please report this as a bug"};
  return {"sandbox", Status::ok, "children for untried code can be made", ""};
}

/// Returns the mend for a daemon that no connection leads to.
const char* mend_of(const Error& unreached) {
  if (unreached.message.find("not trusted") != std::string::npos)
    return "programs compute in their own process in the meantime; set TRIDENT_SOCKET to a socket that belongs to root "
           "or to you, or set TRIDENT_TRUSTED_UID to the daemon's user";
  if (unreached.code == ErrorCode::kOsError)
    return "programs compute in their own process in the meantime; set TRIDENT_SOCKET to a socket that can be reached, "
           "or mend what the system says of this one";
  return "start it: systemctl --user enable --now tridentd.socket, or run tridentd; TRIDENT_SOCKET names another "
         "socket";
}

/// Returns the mend for a daemon that takes connections and gives no statistics.
const char* mend_of_silence(const Error& unanswered) {
  if (unanswered.code == ErrorCode::kTimeout) return "restart it: systemctl --user restart tridentd";
  if (const char* const isa = ::secure_getenv("TRIDENT_ISA"); isa != nullptr && *isa != '\0')
    return "TRIDENT_ISA may leave nothing that the daemon compiles for: unset it and try again";
  return "mend what it says, then restart it: systemctl --user restart tridentd";
}

HealthCheck check_confinement() {
  const os::Confined found = os::try_confinement();
  if (found.missing.empty())
    return {"confinement", Status::ok, "compiler processes can be denied " + found.describe(), ""};
  return {"confinement", Status::warning,
          "compiler processes can be denied " + found.describe() + " alone: " + found.missing,
          "kernels are compiled anyway; allow seccomp(2) and landlock_*(2) here; Landlock needs Linux 5.13 or newer"};
}

/// Reports faults that an answering daemon finds in itself.
HealthCheck told_by_daemon(const std::string& stats) {
  const auto json = Json::parse(stats);
  const auto text = [&](const char* part, const char* name) {
    return json.is_object() ? json.value(part, Json::object()).value(name, std::string()) : std::string();
  };
  if (const std::string error = text("configuration", "reload_error"); !error.empty())
    return {"daemon", Status::warning, "answers, but its last reload failed: " + error,
            "fix the configuration and reload it: systemctl reload tridentd"};
  if (const std::string missing = text("workers", "not_confined"); !missing.empty())
    return {"daemon", Status::warning, "answers, but its compiler processes are not fully confined: " + missing,
            "allow seccomp(2) and landlock_*(2) where it runs; Landlock needs Linux 5.13 or newer"};
  if (const std::string fault = text("learning", "journal_fault"); !fault.empty())
    return {"daemon", Status::warning, "answers, but cannot write its journal of expressions " + fault,
            "training learns nothing from programs until it can: mend what the system says, or set journal_bytes to 0"};
  const auto jobs = json.is_object() ? json.value("jobs", Json::object()) : Json::object();
  std::string last;
  for (const Json& note : jobs.value("notes", Json::array()))
    last = "; the last kernel that did not get faster: " + note.get<std::string>();
  return {"daemon", Status::ok, "reachable and answering" + last, ""};
}

/// A word in the environment that nobody knows keeps each program from starting.
HealthCheck check_environment() {
  trident_options options{};
  options.struct_size = sizeof options;
  trident_ctx* ctx = nullptr;
  const trident_status opened = trident_open(&options, &ctx);
  const std::string why = opened == TRIDENT_OK ? "" : trident_last_error();
  trident_close(ctx);
  if (opened == TRIDENT_E_INVALID) return {"environment", Status::failure, why, "correct or unset that variable"};
  return {"environment", Status::ok, "the TRIDENT_ variables that are set have known values", ""};
}

/// Says whether programs that start here look at the data of their calls.
HealthCheck check_speculation() {
  const char* const word = ::secure_getenv("TRIDENT_SPECULATE");
  if (word != nullptr && *word == '0')
    return {"speculation", Status::ok, "off by TRIDENT_SPECULATE=0: code is fast in declared ranges only", ""};
  return {"speculation", Status::ok, "on: code becomes fast for the data of calls; TRIDENT_SPECULATE=0 turns it off",
          ""};
}

HealthCheck check_daemon(const HealthCheck& environment) {
  if (environment.status == Status::failure)
    return {"daemon", Status::warning, "not asked, because of the environment", ""};
  const auto stats = daemon_stats();
  if (stats) return told_by_daemon(*stats);
  const auto connection = client::connect_to_daemon(client::daemon_socket_path(nullptr));
  if (!connection) return {"daemon", Status::failure, connection.error().message, mend_of(connection.error())};
  return {"daemon", Status::failure, "it takes connections, but gives no statistics: " + stats.error().message,
          mend_of_silence(stats.error())};
}

HealthCheck check_engine() {
  const char* const named = ::secure_getenv("TRIDENT_ENGINE");
  const bool is_named = named != nullptr && *named != '\0';
  if (const auto engine = client::load_engine(); !engine)
    return {"engine", Status::warning, engine.error().message,
            std::string("needed only where no daemon answers: without the engine, programs then stay with the "
                        "interpreter. ") +
                (is_named ? "Correct or unset TRIDENT_ENGINE" : "`make install` installs it next to libtrident")};
  return {"engine", Status::ok, "libtrident-engine.so can be loaded", ""};
}

HealthCheck check_perf() {
  const std::string level = first_line_of("/proc/sys/kernel/perf_event_paranoid");
  if (level.empty()) return {"perf", Status::warning, "this kernel has no perf events", ""};
  if (std::atoi(level.c_str()) > 2 && ::geteuid() != 0)
    return {"perf", Status::warning, "kernel.perf_event_paranoid is " + level,
            "needed only to profile kernels with perf: sysctl kernel.perf_event_paranoid=2"};
  return {"perf", Status::ok, "perf events can be used", ""};
}

HealthCheck check_bench() {
  if (const auto compilers = find_compilers(codegen::Isa::avx2); !compilers)
    return {"benchmark compilers", Status::warning, compilers.error().message, "needed only for trident bench"};
  return {"benchmark compilers", Status::ok, "g++-12 and clang-19 are installed", ""};
}

HealthCheck check_numexpr() {
  const auto peer = NumexprPeer::start();
  if (!peer)
    return {"numexpr", Status::warning, peer.error().message, "needed only as one more contestant of trident bench"};
  return {"numexpr", Status::ok, peer->version(), ""};
}

const char* name_of(Status s) {
  switch (s) {
    case Status::ok: return "ok";
    case Status::warning: return "warning";
    case Status::failure: return "failure";
  }
  CHECK(false);
}

std::string as_text(const std::vector<HealthCheck>& checks) {
  const bool colour = os::terminal_size(STDOUT_FILENO).columns > 0;
  std::string out;
  for (const HealthCheck& c : checks) {
    const char* mark = c.status == Status::ok ? "ok  " : c.status == Status::warning ? "note" : "FAIL";
    const char* ink = c.status == Status::ok ? "\033[32m" : c.status == Status::warning ? "\033[33m" : "\033[31m";
    out += (colour ? ink : "") + std::string(mark) + (colour ? "\033[0m" : "") + "  " + c.name + ": " + c.detail + "\n";
    if (!c.mend.empty()) out += "      " + c.mend + "\n";
  }
  return out;
}

std::string as_json(const std::vector<HealthCheck>& checks, bool ok) {
  Json root = {{"ok", ok}, {"checks", Json::array()}};
  for (const HealthCheck& c : checks)
    root["checks"].push_back({{"name", c.name}, {"status", name_of(c.status)}, {"detail", c.detail}, {"mend", c.mend}});
  return root.dump(1) + "\n";
}

}  // namespace

void add_doctor_command(Verb app, int& status) {
  const Verb verb = app.add_subcommand("doctor", "Check processor, memory, permissions and daemon");
  auto json = std::make_shared<bool>(false);
  verb.add_flag("--json", *json, "Print a JSON object instead of text");
  verb.callback([json, &status] {
    // Checks that fork come first: the client library starts a thread.
    std::vector<HealthCheck> checks = {check_cpu(),     check_memfd(),       check_execution(),   check_noexec(),
                                       check_sandbox(), check_confinement(), check_perf(),        check_bench(),
                                       check_numexpr(), check_engine(),      check_speculation(), check_environment()};
    checks.push_back(check_daemon(checks.back()));
    bool ok = true;
    for (const HealthCheck& c : checks) ok = ok && c.status != Status::failure;
    std::fputs(*json ? as_json(checks, ok).c_str() : as_text(checks).c_str(), stdout);
    status = ok ? 0 : kExitWrong;
  });
}

}  // namespace trident::cli
