// A context in a mode of its own for tests of the whole library.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "clients/c/trident.h"

namespace trident::tests {

inline constexpr std::uint32_t kPatienceMs = 60'000;

class ClientContext {
 public:
  /// The engine is the one that was built; nothing listens on the default socket.
  explicit ClientContext(trident_mode mode, const std::string& socket = "/nonexistent/tridentd.sock") {
    ::setenv("TRIDENT_ENGINE", TRIDENT_ENGINE_PATH, 1);
    trident_options options{};
    options.struct_size = sizeof(options);
    options.mode = static_cast<std::uint32_t>(mode);
    options.socket_path = socket.c_str();
    options.connect_timeout_ms = kPatienceMs;
    EXPECT_EQ(TRIDENT_OK, trident_open(&options, &ctx_)) << trident_last_error();
  }
  ~ClientContext() { trident_close(ctx_); }
  ClientContext(const ClientContext&) = delete;
  ClientContext& operator=(const ClientContext&) = delete;

  [[nodiscard]] trident_ctx* get() const { return ctx_; }
  /// The daemon's counters of a kind of work.
  [[nodiscard]] nlohmann::json statistics(const char* kind) const {
    char text[32768];
    EXPECT_EQ(TRIDENT_OK, trident_daemon_stats(ctx_, text, sizeof(text), kPatienceMs)) << trident_last_error();
    return nlohmann::json::parse(text)[kind];
  }

 private:
  trident_ctx* ctx_ = nullptr;
};

}  // namespace trident::tests
