// The guest's part of the demo with scripts in the place of emulator and daemon. Oracle: what the scripts print.
#include "clients/cli/demo/demo_guest.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace trident::cli {
namespace {

namespace fs = std::filesystem;

/// A folder with a daemon that does no more than open its socket, and an emulator made by each test.
class DemoGuestTest : public ::testing::Test {
 protected:
  DemoGuestTest() {
    std::string folder = (fs::temp_directory_path() / "trident-guest-test-XXXXXX").string();
    EXPECT_NE(::mkdtemp(folder.data()), nullptr);
    folder_ = folder;
    options_.daemon_program = script("daemon", "touch \"$2\"; exec sleep 100");
    options_.busybox = "busybox";
  }
  ~DemoGuestTest() override { fs::remove_all(folder_); }

  std::string script(const char* name, const std::string& text) {
    const fs::path path = folder_ / name;
    std::ofstream(path) << "#!/bin/sh\n" << text << "\n";
    fs::permissions(path, fs::perms::owner_all);
    return path.string();
  }
  /// An emulator that answers by `answer`, and takes twice the time without swapped loops.
  DemoGuest run(const std::string& answer, const std::string& mismatches) {
    options_.emulator = script("emulator", answer + R"(
case "$2" in
  --no-swap) echo '{"cpu_s":2.5,"swap":null}' ;;
  *) [ -n "$TRIDENT_SOCKET" ] && echo '{"cpu_s":1.25,"swap":{"installed":3,"iterations":12345678,"mismatches":)" +
                                               mismatches + R"(}}' ;;
esac >&2)");
    auto guest = run_demo_guest(options_);
    EXPECT_TRUE(guest.ok()) << guest.error().message;
    return guest.ok() ? *guest : DemoGuest();
  }

  fs::path folder_;
  GuestOptions options_;
};

TEST_F(DemoGuestTest, TellsWhatWasGained) {
  const DemoGuest guest = run("sha256sum", "0");
  EXPECT_TRUE(guest.right());
  EXPECT_FALSE(guest.failed());
  EXPECT_DOUBLE_EQ(guest.ratio(), 2);
  EXPECT_EQ(
      demo_guest_text(guest),
      "guest program, sha256sum (busybox, arm64), 16 MiB:\n2.50 s on Unicorn alone, 1.25 s with its loops swapped: "
      "2.0x; 3 loops, 12 million rounds in native code; the output is equal, and right\n");
  EXPECT_NE(demo_guest_html(guest).find("2.0"), std::string::npos);
}

TEST_F(DemoGuestTest, WrongOutputAndMismatchesFail) {
  EXPECT_TRUE(run("echo wrong", "0").failed());
  EXPECT_NE(demo_guest_text(run("echo wrong", "0")).find("OUTPUT IS WRONG"), std::string::npos);
  EXPECT_TRUE(run("sha256sum", "1").failed());
}

TEST_F(DemoGuestTest, WithoutAnEmulatorItIsLeftOut) {
  options_.emulator = (folder_ / "nowhere").string();
  const auto guest = run_demo_guest(options_);
  ASSERT_TRUE(guest.ok());
  EXPECT_FALSE(guest->failed());
  EXPECT_NE(demo_guest_text(*guest).find("libunicorn-dev"), std::string::npos);
}

TEST_F(DemoGuestTest, AnEmulatorThatFailsIsAnError) {
  options_.emulator = script("emulator", "echo no room >&2; exit 127");
  const auto guest = run_demo_guest(options_);
  ASSERT_FALSE(guest.ok());
  EXPECT_NE(guest.error().message.find("no room"), std::string::npos);
}

}  // namespace
}  // namespace trident::cli
