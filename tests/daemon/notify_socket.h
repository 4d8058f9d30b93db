// The service manager's end of sd_notify(3).
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <string>

#include "runtime/os/fd.h"

namespace trident::tests {

/// A datagram socket in the place of systemd's.
class NotifySocket {
 public:
  NotifySocket() : fd_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    const std::string name = "@trident-notify-test-" + std::to_string(::getpid());
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    name.copy(address.sun_path, sizeof(address.sun_path) - 1);
    address.sun_path[0] = '\0';
    EXPECT_EQ(::bind(fd_.get(), reinterpret_cast<sockaddr*>(&address),
                     static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size())),
              0);
    ::setenv("NOTIFY_SOCKET", name.c_str(), 1);
  }
  ~NotifySocket() { ::unsetenv("NOTIFY_SOCKET"); }

  /// Waits for a notification that contains `text`; others, however many, do not prolong the wait.
  bool hears(const std::string& text, int timeout_ms = 10'000) {
    using std::chrono::steady_clock;
    const auto deadline = steady_clock::now() + std::chrono::milliseconds(timeout_ms);
    const auto left_ms = [&] {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - steady_clock::now());
      return static_cast<int>(std::max<std::int64_t>(0, left.count()));
    };
    pollfd p{fd_.get(), POLLIN, 0};
    while (::poll(&p, 1, left_ms()) == 1) {
      char buffer[512];
      const ssize_t n = ::recv(fd_.get(), buffer, sizeof(buffer), 0);
      if (n > 0 && std::string(buffer, static_cast<std::size_t>(n)).find(text) != std::string::npos) return true;
    }
    return false;
  }

 private:
  os::Fd fd_;
};

}  // namespace trident::tests
