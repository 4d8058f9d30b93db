// The thread that talks to the daemon. It owns the connection; everything it learns goes through Context.
//
// It sleeps in poll() without a timer while nothing is pending and no kernel is watched (data_watch.h), save for a
// moment after a submission (os::Linger). With unfinished jobs and no daemon it tries again after 50 ms, doubling to
// 5 s, each with jitter. A lost connection puts the unfinished jobs back to waiting; submitting twice is harmless (the
// daemon's cache knows them).
//
// A daemon that is there but hangs (answer_watch.h) or floods (allowance.h) is given up for 5 s, then longer each time.
// In mode auto the engine takes over what waits then, and keeps it.
#pragma once

#include <pthread.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "clients/c/allowance.h"
#include "clients/c/answer_watch.h"
#include "clients/c/connection.h"
#include "clients/c/context.h"
#include "runtime/base/result.h"
#include "runtime/os/linger.h"

namespace trident::client {

class IoThread {
 public:
  explicit IoThread(Context& context);
  Result<void> start();
  void join();

 private:
  static void* main(void* self);
  void run();

  bool turn();
  bool take_jobs();
  [[nodiscard]] bool wants_daemon() const;
  void connect(std::uint64_t now);
  void lose(const Error& why, std::uint64_t now);
  void give_up_daemon(const char* why, std::uint64_t now);
  std::uint64_t pause_ms(ErrorCode why);
  [[nodiscard]] std::uint64_t takeover_ns() const;
  void give_to_engine(std::uint64_t now);
  void send_requests(std::uint64_t now);
  void send_job(std::uint64_t job);
  void probe(std::uint64_t now);
  [[nodiscard]] std::uint64_t wake_ns(std::uint64_t now) const;
  bool sleep();
  void receive();
  void check_deadlines();
  void check_answers(std::uint64_t now);
  void give_up_job(std::uint64_t job);
  void give_to_engine_or_end(std::uint64_t job, std::string_view why);
  void send_notes();
  void send_observed();
  void send_called();

  void on(const wire::Unknown&, os::Fd) {}
  void on(const wire::ProgramReady&, os::Fd) {}  // this connection asks for kernels only
  void on(const wire::Accepted& accepted, os::Fd);
  void on(const wire::Progress& progress, os::Fd) { context_.note_progress(progress); }
  void on(const wire::Welcome& welcome, os::Fd);
  void on(wire::KernelReady& ready, os::Fd image);
  void on(const wire::Revoke& revoke, os::Fd);
  void on(const wire::Done& done, os::Fd);
  void on(const wire::Failure& failure, os::Fd);
  void on(const wire::Stats& stats, os::Fd);
  void on(const wire::LoopRefused& refused, os::Fd);

  static constexpr std::uint64_t kMs = 1'000'000, kDelayMinMs = 50, kDelayMaxMs = 5000;

  Context& context_;
  pthread_t thread_{};
  bool started_ = false;

  std::optional<Connection> connection_;
  std::optional<Error> broken_;  // why the connection must be given up after the current message
  bool welcomed_ = false;
  std::uint64_t features_ = 0;  // the daemon's
  bool ever_connected_ = false;
  bool inline_images_ = false;
  std::uint32_t refused_images_ = 0;
  std::uint64_t deadline_ns_ = 0;   // for the welcome, or for the rest of a frame; 0: none
  std::uint64_t connected_ns_ = 0;  // when the connection was made, then when it was welcomed
  Allowance allowance_{0};
  AnswerWatch watch_{0};
  bool idle_ = true;            // no job was unfinished at the last look
  std::uint32_t given_up_ = 0;  // times in a row that a daemon hung or flooded

  os::Linger linger_;  // since the last submission or its first answers
  std::deque<std::uint64_t> waiting_;
  EngineThread* engine_ = nullptr;   // the context's, once it has taken jobs over
  bool woken_ = false;               // by the eventfd, which is still to be read
  bool rescan_ = false;              // waiting_ must be rebuilt from the submissions' states
  std::uint64_t hold_until_ns_ = 0;  // the daemon was busy

  std::uint64_t next_attempt_ns_ = 0;
  std::uint64_t delay_ms_;
  std::uint32_t attempts_ = 0;  // in a row without a welcome
  std::uint64_t jitter_state_;
};

}  // namespace trident::client
