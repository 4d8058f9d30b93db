#include "daemon/net/loop.h"

#include <memory>
#include <utility>

#include "runtime/base/check.h"

namespace trident::net {
namespace {

/// Closes the handle that `State` starts with; the State is deleted when libuv lets go of it.
template <class State>
void close_later(State* state) {
  state->callback = nullptr;
  uv_close(reinterpret_cast<uv_handle_t*>(&state->handle),
           [](uv_handle_t* handle) { delete static_cast<State*>(handle->data); });
}

}  // namespace

Loop::Loop() {
  CHECK(uv_loop_init(&loop_) == 0);
}

Loop::~Loop() {
  uv_run(&loop_, UV_RUN_NOWAIT);
  CHECK(uv_loop_close(&loop_) == 0);
}

void Loop::run() {
  while (!stopped_ && uv_run(&loop_, linger_.goes_on() ? UV_RUN_NOWAIT : UV_RUN_ONCE) != 0) {
  }
  stopped_ = false;
}

void Loop::stop() {
  stopped_ = true;
  uv_stop(&loop_);
}

struct Timer::State {
  uv_timer_t handle;
  std::function<void()> callback;
};

Timer::Timer(Loop& loop) : state_(new State{}) {
  CHECK(uv_timer_init(loop.raw(), &state_->handle) == 0);
  state_->handle.data = state_;
}

Timer::~Timer() {
  close_later(state_);
}

void Timer::start(std::uint64_t after_ms, std::function<void()> callback, std::uint64_t repeat_ms) {
  state_->callback = std::move(callback);
  const auto fire = [](uv_timer_t* handle) {
    // A copy, because the callback may restart or destroy its timer.
    if (const auto callback = static_cast<State*>(handle->data)->callback) callback();
  };
  CHECK(uv_timer_start(&state_->handle, fire, after_ms, repeat_ms) == 0);
}

void Timer::stop() {
  uv_timer_stop(&state_->handle);
}

bool Timer::running() const {
  return uv_is_active(reinterpret_cast<const uv_handle_t*>(&state_->handle)) != 0;
}

struct Poller::State {
  uv_poll_t handle;
  std::function<void(int)> callback;
  bool* destroyed = nullptr;  ///< set while the callback runs
};

Result<Poller> Poller::make(Loop& loop, const os::Fd& fd) {
  auto state = std::make_unique<State>();
  if (const int code = uv_poll_init(loop.raw(), &state->handle, fd.get()); code != 0)
    return make_error(ErrorCode::kOsError, "polling a descriptor: %s", uv_strerror(code));
  state->handle.data = state.get();
  return Poller(state.release());
}

Poller& Poller::operator=(Poller&& other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}

Poller::~Poller() {
  if (state_ == nullptr) return;
  if (state_->destroyed != nullptr) {
    // Inside its own callback: the function object must survive until it returns.
    *state_->destroyed = true;
    uv_poll_stop(&state_->handle);
    return;
  }
  close_later(state_);
}

void Poller::watch(int events, std::function<void(int)> callback) {
  state_->callback = std::move(callback);
  watch(events);
}

void Poller::watch(int events) {
  const auto ready = [](uv_poll_t* handle, int status, int ready_events) {
    auto* state = static_cast<State*>(handle->data);
    bool destroyed = false;
    state->destroyed = &destroyed;
    state->callback(status < 0 ? 0 : ready_events);
    state->destroyed = nullptr;
    if (destroyed) close_later(state);
  };
  CHECK(uv_poll_start(&state_->handle, events, ready) == 0);
}

void Poller::stop() {
  uv_poll_stop(&state_->handle);
}

struct SignalWatch::State {
  uv_signal_t handle;
  std::function<void()> callback;
};

SignalWatch::SignalWatch(Loop& loop, int signal, std::function<void()> callback)
    : state_(new State{{}, std::move(callback)}) {
  CHECK(uv_signal_init(loop.raw(), &state_->handle) == 0);
  state_->handle.data = state_;
  const auto caught = [](uv_signal_t* handle, int) {
    if (const auto callback = static_cast<State*>(handle->data)->callback) callback();
  };
  CHECK(uv_signal_start(&state_->handle, caught, signal) == 0);
  uv_unref(reinterpret_cast<uv_handle_t*>(&state_->handle));
}

SignalWatch::~SignalWatch() {
  close_later(state_);
}

}  // namespace trident::net
