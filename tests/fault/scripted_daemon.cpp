#include "tests/fault/scripted_daemon.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "jit/image/image.h"
#include "schemas/kernel_image.h"

namespace trident::testing {
namespace {

constexpr int kAllSeals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

// void entry(self, n, in, out, params): for (i < n) ((u64*)out[0])[i] = bits
Bytes constant_code(double value) {
  std::vector<std::uint8_t> code = {
      0xf3, 0x0f, 0x1e, 0xfa,                    // endbr64
      0x48, 0x8b, 0x01,                          // mov rax, [rcx]
      0x48, 0x85, 0xf6,                          // test rsi, rsi
      0x74, 0x16,                                // je done
      0x49, 0xb9, 0,    0,    0, 0, 0, 0, 0, 0,  // mov r9, bits
      0x4c, 0x89, 0x08,                          // loop: mov [rax], r9
      0x48, 0x83, 0xc0, 0x08,                    // add rax, 8
      0x48, 0xff, 0xce,                          // dec rsi
      0x75, 0xf4,                                // jne loop
      0xc3,                                      // done: ret
  };
  const auto bits = std::bit_cast<std::uint64_t>(value);
  std::memcpy(code.data() + 14, &bits, sizeof(bits));
  Bytes bytes(code.size());
  std::memcpy(bytes.data(), code.data(), code.size());
  return bytes;
}

}  // namespace

Bytes build_image(const ConstantImage& wanted) {
  codegen::MachineCode code;
  code.bytes = constant_code(wanted.value);
  code.code_size = static_cast<std::uint32_t>(code.bytes.size());
  code.pool_offset = 64;
  code.bytes.resize(64, std::byte{0xCC});
  const image::Counts counts{wanted.inputs, wanted.outputs, wanted.params};
  return image::build(code, counts, codegen::Isa::avx2, static_cast<trident_tier>(wanted.tier), {}).bytes;
}

os::Fd seal_image(const Bytes& image, int seals) {
  os::Fd fd(::memfd_create("scripted", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  CHECK(::pwrite(fd.get(), image.data(), image.size(), 0) == static_cast<ssize_t>(image.size()));
  if (seals != 0) CHECK(::fcntl(fd.get(), F_ADD_SEALS, seals) == 0);
  return fd;
}

os::Fd seal_image(const Bytes& image) {
  return seal_image(image, kAllSeals);
}

std::unique_ptr<Request> ScriptedConnection::read(int timeout_ms) {
  for (;;) {
    std::uint32_t length = 0;
    if (incoming_.size() >= sizeof(length)) {
      std::memcpy(&length, incoming_.data(), sizeof(length));
      if (incoming_.size() >= sizeof(length) + length) {
        auto request = std::make_unique<Request>();
        request->bytes.assign(incoming_.begin() + 4, incoming_.begin() + 4 + length);
        incoming_.erase(incoming_.begin(), incoming_.begin() + 4 + length);
        flatbuffers::Verifier verifier(reinterpret_cast<const std::uint8_t*>(request->bytes.data()), length);
        CHECK(wire::VerifyMessageBuffer(verifier));  // the client under test must never send anything else
        return request;
      }
    }
    pollfd p{socket_.get(), POLLIN, 0};
    if (::poll(&p, 1, timeout_ms) <= 0) return nullptr;
    std::byte chunk[65536];
    const ssize_t n = ::recv(socket_.get(), chunk, sizeof(chunk), 0);
    if (n <= 0) return nullptr;
    incoming_.insert(incoming_.end(), chunk, chunk + n);
  }
}

std::uint64_t ScriptedConnection::read_submit(int timeout_ms) {
  while (auto request = read(timeout_ms)) {
    if (const auto* submit = request->message().body_as_Submit()) return submit->job();
  }
  return 0;
}

void ScriptedConnection::send_raw(const Bytes& bytes, const std::vector<int>& fds) {
  iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
  std::vector<char> control(CMSG_SPACE(fds.size() * sizeof(int)));
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  if (!fds.empty()) {
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    cmsghdr* c = CMSG_FIRSTHDR(&header);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
    std::memcpy(CMSG_DATA(c), fds.data(), fds.size() * sizeof(int));
  }
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t n = ::sendmsg(socket_.get(), &header, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;  // the client has gone: the test looks at the client, not at us
    sent += static_cast<std::size_t>(n);
    part = {const_cast<std::byte*>(bytes.data()) + sent, bytes.size() - sent};
    header.msg_control = nullptr;
    header.msg_controllen = 0;
  }
}

void ScriptedConnection::send_frame(flatbuffers::FlatBufferBuilder& builder, wire::Body kind,
                                    flatbuffers::Offset<void> body, const std::vector<int>& fds) {
  wire::FinishMessageBuffer(builder, wire::CreateMessage(builder, kind, body));
  const std::uint32_t length = builder.GetSize();
  Bytes frame(sizeof(length) + length);
  std::memcpy(frame.data(), &length, sizeof(length));
  std::memcpy(frame.data() + sizeof(length), builder.GetBufferPointer(), length);
  send_raw(frame, fds);
}

void ScriptedConnection::welcome(std::uint16_t version) {
  flatbuffers::FlatBufferBuilder b;
  send_frame(b, wire::Body::Welcome, wire::CreateWelcomeDirect(b, version, 1, 0, "scripted").Union());
}

void ScriptedConnection::ready(std::uint64_t job, const Bytes& image, int fd) {
  trident_image_header header;
  std::memcpy(&header, image.data(), sizeof(header));
  ready_claiming(job, header.tier, header.total_size, header.digest[0], header.digest[1], {fd});
}

void ScriptedConnection::ready_inline(std::uint64_t job, const Bytes& image) {
  trident_image_header header;
  std::memcpy(&header, image.data(), sizeof(header));
  flatbuffers::FlatBufferBuilder b;
  const auto bytes = b.CreateVector(reinterpret_cast<const std::uint8_t*>(image.data()), image.size());
  send_frame(b, wire::Body::KernelReady,
             wire::CreateKernelReady(b, job, static_cast<wire::Tier>(header.tier), header.total_size, header.digest[0],
                                     header.digest[1], bytes)
                 .Union());
}

void ScriptedConnection::ready_claiming(std::uint64_t job, std::uint8_t tier, std::uint32_t size, std::uint64_t low,
                                        std::uint64_t high, const std::vector<int>& fds) {
  flatbuffers::FlatBufferBuilder b;
  send_frame(b, wire::Body::KernelReady,
             wire::CreateKernelReady(b, job, static_cast<wire::Tier>(tier), size, low, high).Union(), fds);
}

void ScriptedConnection::revoke(std::uint64_t job, std::uint8_t tier) {
  flatbuffers::FlatBufferBuilder b;
  send_frame(b, wire::Body::Revoke, wire::CreateRevoke(b, job, static_cast<wire::Tier>(tier)).Union());
}

void ScriptedConnection::done(std::uint64_t job, wire::Outcome outcome, const char* reason) {
  flatbuffers::FlatBufferBuilder b;
  send_frame(b, wire::Body::Done, wire::CreateDoneDirect(b, job, outcome, reason).Union());
}

void ScriptedConnection::progress(std::uint64_t job) {
  flatbuffers::FlatBufferBuilder b;
  send_frame(b, wire::Body::Progress, wire::CreateProgress(b, job, wire::Stage::equiv, 1, 2, 1).Union());
}

void ScriptedConnection::answer_stats(const Request& request) {
  const auto* stats = request.message().body_as_StatsRequest();
  if (stats == nullptr) return;
  flatbuffers::FlatBufferBuilder b;
  send_frame(b, wire::Body::Stats, wire::CreateStatsDirect(b, stats->request(), "{}").Union());
}

void ScriptedConnection::failure(std::uint64_t job, std::uint8_t code, std::uint32_t retry_after_ms) {
  flatbuffers::FlatBufferBuilder b;
  send_frame(b, wire::Body::Failure, wire::CreateFailureDirect(b, job, code, "scripted", retry_after_ms).Union());
}

bool ScriptedConnection::greet() {
  const auto request = read();
  if (!request || request->message().body_as_Hello() == nullptr) return false;
  welcome();
  return true;
}

void ScriptedConnection::drain() {
  while (read(60'000)) {
  }
}

ScriptedDaemon::ScriptedDaemon(Script script) : script_(std::move(script)) {
  char directory[] = "/tmp/trident-scripted-XXXXXX";
  CHECK(::mkdtemp(directory) != nullptr);
  directory_ = directory;
  path_ = directory_ + "/s";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::snprintf(address.sun_path, sizeof(address.sun_path), "%s", path_.c_str());
  listener_ = os::Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  CHECK(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
  CHECK(::listen(listener_.get(), 64) == 0);
  stop_ = os::Fd(::eventfd(0, EFD_CLOEXEC));
  acceptor_ = std::thread([this] { accept_all(); });
}

ScriptedDaemon::~ScriptedDaemon() {
  const std::uint64_t one = 1;
  CHECK(::write(stop_.get(), &one, sizeof(one)) == sizeof(one));
  acceptor_.join();
  {
    const std::lock_guard lock(mutex_);
    for (const int socket : sockets_) ::shutdown(socket, SHUT_RDWR);
  }
  for (std::thread& thread : threads_) thread.join();
  for (const int socket : sockets_) ::close(socket);
  ::unlink(path_.c_str());
  ::rmdir(directory_.c_str());
}

void ScriptedDaemon::accept_all() {
  for (;;) {
    pollfd polled[2] = {{listener_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
    ::poll(polled, 2, -1);
    if (polled[1].revents != 0) return;
    os::Fd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!socket.valid()) continue;
    const int number = connections_.fetch_add(1);
    {
      const std::lock_guard lock(mutex_);
      sockets_.push_back(::fcntl(socket.get(), F_DUPFD_CLOEXEC, 0));
    }
    threads_.emplace_back([this, number, socket = std::move(socket)]() mutable {
      const int raw = socket.get();
      ScriptedConnection connection(std::move(socket));
      script_(connection, number);
      ::shutdown(raw, SHUT_RDWR);  // the duplicate must not keep the conversation open
    });
  }
}

}  // namespace trident::testing
