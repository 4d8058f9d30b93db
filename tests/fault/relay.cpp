#include "tests/fault/relay.h"

#include <poll.h>

#include <cstring>
#include <deque>

#include "runtime/base/check.h"

namespace trident::testing {
namespace {

constexpr int kLookMs = 20;  // for the end of the test
constexpr std::size_t kPrefixBytes = 4;

bool send_all(const os::Fd& socket, std::span<const std::byte> bytes, int fd) {
  while (!bytes.empty()) {
    const os::Io io = os::send_bytes(socket, bytes, fd);
    if (io.status == os::IoStatus::would_block) {
      pollfd p{socket.get(), POLLOUT, 0};
      ::poll(&p, 1, kLookMs);
      continue;
    }
    if (io.status != os::IoStatus::ok) return false;
    bytes = bytes.subspan(io.bytes);
    fd = -1;
  }
  return true;
}

}  // namespace

std::string name_of(const Step& step) {
  std::string name = step.when == When::before ? "before " : step.when == When::half ? "half way through " : "after ";
  name += wire::EnumNameBody(step.kind);
  if (step.tier) name += std::string(" ") + wire::EnumNameTier(*step.tier);
  return name;
}

struct Relay::Side {
  os::Fd socket;
  std::vector<std::byte> buffer;
  std::deque<os::Fd> fds;
};

Relay::Relay(const std::string& path, std::string daemon_path, const Step& step, std::function<Then()> action)
    : daemon_path_(std::move(daemon_path)), step_(step), action_(std::move(action)) {
  auto listener = os::UnixListener::bind(path, 0600, 16);
  CHECK(listener.ok());
  listener_.emplace(std::move(*listener));
  acceptor_ = std::thread([this] { accept_all(); });
}

Relay::~Relay() {
  stop_ = true;
  acceptor_.join();
  for (std::thread& connection : connections_) connection.join();
}

void Relay::accept_all() {
  while (!stop_) {
    pollfd p{listener_->fd().get(), POLLIN, 0};
    if (::poll(&p, 1, kLookMs) != 1) continue;
    os::Accepted accepted = os::accept_unix(listener_->fd());
    if (accepted.status != os::AcceptStatus::ok) continue;
    connections_.emplace_back(
        [this, socket = std::make_shared<os::Fd>(std::move(accepted.socket))] { serve(std::move(*socket)); });
  }
}

void Relay::serve(os::Fd socket) {
  auto connected = os::connect_unix(daemon_path_, os::Blocking::no);
  if (!connected.ok()) return;  // no daemon: the client sees its connection end
  Side client{std::move(socket), {}, {}}, daemon{std::move(*connected), {}, {}};
  while (!stop_) {
    pollfd p[] = {{client.socket.get(), POLLIN, 0}, {daemon.socket.get(), POLLIN, 0}};
    if (::poll(p, 2, kLookMs) <= 0) continue;
    if (p[0].revents != 0 && !pass_on(client, daemon.socket)) return;
    if (p[1].revents != 0 && !pass_on(daemon, client.socket)) return;
  }
}

bool Relay::pass_on(Side& from, const os::Fd& to) {
  std::vector<std::byte> chunk(1 << 16);
  os::ReceivedFds fds;
  const os::Io io = os::receive(from.socket, chunk, fds);
  if (io.status == os::IoStatus::would_block) return true;
  if (io.status != os::IoStatus::ok) return false;
  for (std::size_t i = 0; i < fds.count; ++i) from.fds.push_back(std::move(fds.fds[i]));
  from.buffer.insert(from.buffer.end(), chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(io.bytes));
  while (from.buffer.size() >= kPrefixBytes) {
    std::uint32_t length;
    std::memcpy(&length, from.buffer.data(), kPrefixBytes);
    if (from.buffer.size() < kPrefixBytes + length) break;
    if (!pass_frame(from, to, kPrefixBytes + length)) return false;
    from.buffer.erase(from.buffer.begin(), from.buffer.begin() + static_cast<std::ptrdiff_t>(kPrefixBytes + length));
  }
  return true;
}

bool Relay::pass_frame(Side& from, const os::Fd& to, std::size_t size) {
  const std::vector<std::byte> frame(from.buffer.begin(), from.buffer.begin() + static_cast<std::ptrdiff_t>(size));
  // A buffer of its own: FlatBuffers wants alignment.
  const std::vector<std::byte> payload(frame.begin() + kPrefixBytes, frame.end());
  const wire::Message& message = *wire::GetMessage(payload.data());
  os::Fd fd;
  const auto* ready = message.body_as_KernelReady();
  if (ready != nullptr && ready->image() == nullptr && !from.fds.empty()) {
    fd = std::move(from.fds.front());
    from.fds.pop_front();
  }
  const bool meant =
      message.body_type() == step_.kind && (!step_.tier || (ready != nullptr && ready->tier() == *step_.tier));
  if (!meant || started_.exchange(true)) return send_all(to, frame, fd.get());
  const std::size_t first = step_.when == When::before ? 0 : step_.when == When::half ? size / 2 : size;
  const auto bytes = std::span(frame);
  if (!send_all(to, bytes.first(first), fd.get())) return false;
  if (first > 0) fd.reset();
  const Then then = action_();
  acted_ = true;
  return then == Then::go_on && send_all(to, bytes.subspan(first), fd.get());
}

}  // namespace trident::testing
