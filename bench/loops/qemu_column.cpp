// qemu-user, as a child that is told through pipes what to run. The guest reads its own CPU time, which is the child's.
#include <unistd.h>

#include <sys/wait.h>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "bench/loops/column.h"
#include "runtime/base/check.h"

namespace trident::bench {
namespace {

/// As in guest.c.
struct Request {
  std::uint64_t kernel, bytes, calls, fill;
};
struct Reply {
  std::uint64_t cpu_ns, result, hash;
};

class QemuColumn final : public Column {
 public:
  explicit QemuColumn(Work work) : work_(work) {
    std::array<int, 2> to{}, from{};
    CHECK(::pipe(to.data()) == 0 && ::pipe(from.data()) == 0);
    child_ = ::fork();
    CHECK(child_ >= 0);
    if (child_ == 0) become_guest(to, from);
    ::close(to[0]);
    ::close(from[1]);
    to_ = to[1], from_ = from[0];
  }
  ~QemuColumn() override {
    ::close(to_);
    ::close(from_);
    ::waitpid(child_, nullptr, 0);
  }

  Answer answer() override {
    const Reply reply = run(1, true);
    return {reply.result, reply.hash};
  }
  double cpu_ns(std::uint64_t calls) override { return static_cast<double>(run(calls, false).cpu_ns); }
  double rounds() const override { return work_.rounds(); }

 private:
  [[noreturn]] static void become_guest(const std::array<int, 2>& to, const std::array<int, 2>& from) {
    ::dup2(to[0], 0);
    ::dup2(from[1], 1);
    for (const int fd : {to[0], to[1], from[0], from[1]}) ::close(fd);
    ::execlp("qemu-aarch64", "qemu-aarch64", GUEST_PATH, nullptr);
    std::_Exit(127);
  }

  Reply run(std::uint64_t calls, bool fill) const {
    const Request request{work_.kernel, work_.bytes, calls, fill ? 1u : 0u};
    Reply reply{};
    CHECK(::write(to_, &request, sizeof request) == sizeof request);
    CHECK(::read(from_, &reply, sizeof reply) == sizeof reply);
    return reply;
  }

  Work work_;
  pid_t child_ = -1;
  int to_ = -1, from_ = -1;
};

bool is_installed() {
  return std::system("command -v qemu-aarch64 > /dev/null 2>&1") == 0;
}

}  // namespace

std::unique_ptr<Column> qemu_column(Work work) {
  static const bool installed = is_installed();
  return installed ? std::make_unique<QemuColumn>(work) : nullptr;
}

}  // namespace trident::bench
