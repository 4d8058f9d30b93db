// libuv's loop, timers, polled descriptors and signals as values that clean up after themselves.
//
// A libuv handle may be freed only in its close callback, which runs later; so each handle lives on the heap, these
// values own it until destruction, and its close callback frees it. Destroying a value inside its own callback is fine.
#pragma once

#include <uv.h>

#include <cstdint>
#include <functional>

#include "runtime/base/result.h"
#include "runtime/os/fd.h"
#include "runtime/os/linger.h"

namespace trident::net {

class Loop {
 public:
  Loop();
  /// Runs pending close callbacks; every value below must be gone by then.
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  [[nodiscard]] uv_loop_t* raw() { return &loop_; }
  /// Serves until stop().
  void run();
  /// Work has come that more will follow: the loop looks again for a moment before it sleeps.
  void linger() { linger_.begin(); }
  void stop();

 private:
  uv_loop_t loop_;
  os::Linger linger_;
  bool stopped_ = false;
};

/// Calls back once after a delay. Costs nothing while stopped.
class Timer {
 public:
  explicit Timer(Loop& loop);
  ~Timer();
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  /// Starts anew even when running. `repeat_ms` 0: once.
  void start(std::uint64_t after_ms, std::function<void()> callback, std::uint64_t repeat_ms = 0);
  void stop();
  [[nodiscard]] bool running() const;

 private:
  struct State;
  State* state_;
};

/// Calls back while a descriptor is readable or writable. Does not own the descriptor, which must outlive it.
class Poller {
 public:
  static constexpr int kReadable = UV_READABLE, kWritable = UV_WRITABLE;
  /// Errors: OsError for a descriptor that cannot be polled.
  static Result<Poller> make(Loop& loop, const os::Fd& fd);
  Poller() = default;
  Poller(Poller&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  Poller& operator=(Poller&& other) noexcept;
  ~Poller();
  /// `callback(events)`; events 0 means that polling failed. Replaces what was watched before.
  void watch(int events, std::function<void(int)> callback);
  /// Changes the events and keeps the callback.
  void watch(int events);
  void stop();

 private:
  struct State;
  explicit Poller(State* state) : state_(state) {}
  State* state_ = nullptr;
};

/// Calls back on a signal. Does not keep the loop alive.
class SignalWatch {
 public:
  SignalWatch(Loop& loop, int signal, std::function<void()> callback);
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

 private:
  struct State;
  State* state_;
};

}  // namespace trident::net
