// The demo's guest: a program for AArch64 under trident-emu, on Unicorn alone and with its hot loops swapped by a
// private daemon. It prints the SHA-256 sum of a file by Debian's busybox for arm64; where that is not there, a sum by
// a program of our own (clients/emu/guests).
#pragma once

#include <cstdint>
#include <string>

#include "runtime/base/result.h"

namespace trident::cli {

struct GuestOptions {
  std::string emulator;        ///< path of trident-emu; one that is not there: the demo goes without
  std::string busybox;         ///< path of a busybox for arm64; empty: our own program
  std::string daemon_program;  ///< path of tridentd
};

struct GuestRun {
  std::string output;
  double cpu_s = 0;  ///< of the guest
  std::uint64_t loops = 0, iterations = 0, mismatches = 0;
};

struct DemoGuest {
  std::string skipped;  ///< why nothing was run; empty when it was
  std::string name;     ///< "sha256sum (busybox, arm64), 16 MiB"
  std::string expected;
  GuestRun before, after;
  [[nodiscard]] bool right() const { return before.output == expected && after.output == expected; }
  [[nodiscard]] double ratio() const { return after.cpu_s > 0 ? before.cpu_s / after.cpu_s : 0; }
  [[nodiscard]] bool failed() const { return skipped.empty() && (!right() || after.mismatches > 0); }
};

/// An error where the emulator, its program or the daemon does not run.
Result<DemoGuest> run_demo_guest(const GuestOptions& options);

std::string demo_guest_text(const DemoGuest& guest);
/// A section of the report.
std::string demo_guest_html(const DemoGuest& guest);

}  // namespace trident::cli
