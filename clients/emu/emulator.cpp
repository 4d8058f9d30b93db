#include "clients/emu/emulator.h"

#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "clients/emu/cpu.h"
#include "clients/emu/stack.h"
#include "clients/emu/syscalls.h"
#include "runtime/os/clock.h"
#include "runtime/os/mapped_file.h"

namespace trident::emu {
namespace {

constexpr int kSignalStatus = 128;

std::string absolute(const std::string& path) {
  char found[PATH_MAX];
  return ::realpath(path.c_str(), found) != nullptr ? found : path;
}

std::string hex(std::uint64_t number) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(number));
  return text;
}

std::string signal_text(int signal) {
  return "signal " + std::to_string(signal) + " (" + ::strsignal(signal) + ")";
}

/// Says what stopped a program that did not end by itself.
std::string crash_text(const Stop& stop) {
  return signal_text(stop.signal) + ": " + stop.what +
         (stop.signal == SIGSEGV ? ", address " + hex(stop.address) : "") + ", in the block at pc " + hex(stop.pc);
}

void take_end(RunReport& report, const Stop& stop, const Kernel& kernel) {
  if (kernel.ending && kernel.ending->signal == 0) {
    report.status = kernel.ending->status;
    return;
  }
  const int signal = kernel.ending ? kernel.ending->signal : stop.signal;
  report.status = kSignalStatus + signal;
  report.crash = kernel.ending ? signal_text(signal) + ": it sent it to itself" : crash_text(stop);
}

/// A guest: its CPU, and the memory that both see.
struct Guest {
  std::unique_ptr<Cpu> cpu;
  GuestMemory memory;
  Kernel kernel;
  std::unique_ptr<Swap> swap;  ///< ends before the memory goes
  std::uint64_t went_round_ns = 0;

  Guest(std::unique_ptr<Cpu> made, const std::string& program)
      : cpu(std::move(made)),
        memory({[this](const Area& area) { return map(area); },
                [this](std::uint64_t base, std::uint64_t bytes) { unmap(base, bytes); },
                [this](std::uint64_t base, std::uint64_t bytes) { cpu->forget_code(base, bytes); }}),
        kernel(memory, absolute(program)) {}

  /// Sampling and refused loops delete hooks.
  bool is_time_to_go_round() {
    constexpr std::uint64_t kPauseNs = 20'000'000;
    const std::uint64_t now = os::monotonic_ns();
    if (now - went_round_ns < kPauseNs) return false;
    went_round_ns = now;
    return true;
  }
  bool map(const Area& area) {
    if (!cpu->map(area)) return false;
    if (swap) swap->map(area);
    return true;
  }
  void unmap(std::uint64_t base, std::uint64_t bytes) {
    cpu->unmap(base, bytes);
    if (swap) swap->unmap(base, bytes);
  }
  std::uint64_t call(const SystemCall& call) {
    const std::int64_t result = answer(kernel, call);
    if (kernel.ending)
      cpu->stop();
    else if (swap && is_time_to_go_round())
      cpu->go_round();
    return static_cast<std::uint64_t>(result);
  }
};

RunReport run(Guest& guest, const ProgramStart& start) {
  RunReport report;
  const std::uint64_t wall = os::monotonic_ns(), cpu = os::thread_cpu_ns();
  const Stop stop = guest.cpu->run(start.entry, start.sp, [&](const SystemCall& c) { return guest.call(c); });
  report.wall_ns = os::monotonic_ns() - wall;
  report.cpu_ns = os::thread_cpu_ns() - cpu;
  take_end(report, stop, guest.kernel);
  report.unknown_calls = guest.kernel.unknown;
  if (guest.swap) report.swap = guest.swap->report();
  return report;
}

}  // namespace

Result<RunReport> run_program(const RunOptions& options) {
  const std::string& path = options.arguments.front();
  TRY(const os::Mapping file, os::map_file(path));
  TRY(const ElfProgram program, read_elf(file.bytes(), path));
  TRY(std::unique_ptr<Cpu> cpu, Cpu::make());
  Guest guest(std::move(cpu), path);
  if (options.swap) {
    TRY(guest.swap, Swap::attach(*guest.cpu, *options.swap));
  }
  TRY(const ProgramStart start,
      load_program(guest.memory, program, file.bytes(), options.arguments, options.environment));
  return run(guest, start);
}

}  // namespace trident::emu
