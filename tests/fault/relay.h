// A relay between a client and the real daemon. It sees every frame in both directions and, once, at one chosen step of
// the conversation, runs an action: before the frame is passed on, when half of its bytes are (its descriptor is gone
// with the first), or after.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/os/fd.h"
#include "runtime/os/socket.h"
#include "schemas/control_generated.h"

namespace trident::testing {

enum class When { before, half, after };

struct Step {
  wire::Body kind = wire::Body::Hello;
  std::optional<wire::Tier> tier;  ///< of a KernelReady
  When when = When::before;
};
std::string name_of(const Step& step);

class Relay {
 public:
  /// Fate of the connection when the action has run.
  enum class Then { go_on, hang_up };

  /// Listens at `path`, passes on to `daemon_path`. The action runs in a thread of the relay, at most once.
  Relay(const std::string& path, std::string daemon_path, const Step& step, std::function<Then()> action);
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  [[nodiscard]] bool has_acted() const { return acted_; }

 private:
  struct Side;
  void accept_all();
  void serve(os::Fd client);
  bool pass_on(Side& from, const os::Fd& to);
  bool pass_frame(Side& from, const os::Fd& to, std::size_t size);

  std::string daemon_path_;
  Step step_;
  std::function<Then()> action_;
  std::atomic<bool> started_{false}, acted_{false}, stop_{false};
  std::optional<os::UnixListener> listener_;
  std::thread acceptor_;
  std::vector<std::thread> connections_;  ///< of the acceptor
};

}  // namespace trident::testing
