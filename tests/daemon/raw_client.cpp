#include "tests/daemon/raw_client.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "jit/expr/expr.h"
#include "runtime/base/check.h"
#include "runtime/os/cpu.h"
#include "schemas/kernel_image.h"

namespace trident::tests {
namespace {

std::uint8_t best_isa() {
  const os::CpuFeatures& cpu = os::cpu_features();
  return cpu.avx512 ? TRIDENT_ISA_AVX512 : cpu.avx2_fma ? TRIDENT_ISA_AVX2 : TRIDENT_ISA_NEON;
}

template <class Body>
Payload finish(flatbuffers::FlatBufferBuilder& builder, wire::Body kind, flatbuffers::Offset<Body> body) {
  wire::FinishMessageBuffer(builder, wire::CreateMessage(builder, kind, body.Union()));
  const auto* data = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
  return {data, data + builder.GetSize()};
}

}  // namespace

Payload hello_message(std::uint16_t version_min, std::uint16_t version_max, std::uint64_t features, std::uint8_t isa) {
  flatbuffers::FlatBufferBuilder builder;
  return finish(builder, wire::Body::Hello,
                wire::CreateHello(builder, version_min, version_max, isa != 0 ? isa : best_isa(), features));
}

Payload submit_message(const std::string& text, const SubmitTerms& terms) {
  const auto expr = expr::parse(text);
  CHECK(expr.ok());
  std::vector<wire::Node> nodes;
  for (const expr::Node& n : expr->nodes)
    nodes.emplace_back(static_cast<std::uint8_t>(n.op), static_cast<std::uint8_t>(n.type), std::uint16_t{0}, n.a.index,
                       n.b.index, n.c.index, n.imm);
  std::vector<wire::Variable> variables;
  for (const expr::Variable& v : expr->variables)
    variables.emplace_back(static_cast<std::uint8_t>(v.type), static_cast<std::uint8_t>(v.kind), std::uint16_t{0},
                           std::uint32_t{0}, v.lo, v.hi);
  std::vector<std::uint32_t> outputs;
  for (const expr::Output& o : expr->outputs) outputs.push_back(o.node.index);
  flatbuffers::FlatBufferBuilder builder;
  const auto node_vector = builder.CreateVectorOfStructs(nodes);
  const auto variable_vector = builder.CreateVectorOfStructs(variables);
  const auto output_vector = builder.CreateVector(outputs);
  return finish(builder, wire::Body::Submit,
                wire::CreateSubmit(builder, terms.job, terms.policy, terms.k, terms.elements, node_vector,
                                   variable_vector, output_vector, terms.inline_images));
}

Payload loop_message(std::span<const std::byte> code, const LoopTerms& terms) {
  flatbuffers::FlatBufferBuilder builder;
  const auto bytes = builder.CreateVector(reinterpret_cast<const std::uint8_t*>(code.data()), code.size());
  return finish(builder, wire::Body::SubmitLoop,
                wire::CreateSubmitLoop(builder, terms.job, terms.guest, terms.head, terms.base, bytes, true));
}

Payload function_message(std::string_view text, std::string_view calls, std::uint64_t job) {
  flatbuffers::FlatBufferBuilder builder;
  const auto text_at = builder.CreateString(text.data(), text.size());
  const auto calls_at = builder.CreateString(calls.data(), calls.size());
  return finish(builder, wire::Body::SubmitFunction, wire::CreateSubmitFunction(builder, job, text_at, calls_at, true));
}

Payload cancel_message(std::uint64_t job) {
  flatbuffers::FlatBufferBuilder builder;
  return finish(builder, wire::Body::Cancel, wire::CreateCancel(builder, job));
}

Payload stats_message(std::uint64_t request) {
  flatbuffers::FlatBufferBuilder builder;
  return finish(builder, wire::Body::StatsRequest, wire::CreateStatsRequest(builder, request));
}

Payload framed(std::span<const std::byte> payload) {
  const auto length = static_cast<std::uint32_t>(payload.size());
  Payload bytes(sizeof(length) + payload.size());
  std::memcpy(bytes.data(), &length, sizeof(length));
  std::copy(payload.begin(), payload.end(), bytes.begin() + sizeof(length));
  return bytes;
}

RawClient::RawClient(const std::string& socket_path) {
  auto connected = os::connect_unix(socket_path, os::Blocking::yes);
  CHECK(connected.ok());
  socket_ = std::move(*connected);
}

RawClient RawClient::ready(const std::string& socket_path, std::uint64_t features) {
  // Connections that were closed a moment ago may still count against the user: Busy is asked again.
  for (int i = 0; i < 1000; ++i) {
    RawClient client(socket_path);
    client.send(hello_message(1, 1, features));
    const auto welcome = client.next();
    CHECK(welcome.has_value());
    if (welcome->kind() == wire::Body::Welcome) return client;
    CHECK(welcome->kind() == wire::Body::Failure);
    CHECK(welcome->message().body_as_Failure()->code() == static_cast<std::uint8_t>(ErrorCode::kBusy));
    ::usleep(10'000);
  }
  CHECK(false);
}

bool RawClient::send_bytes(std::span<const std::byte> bytes, int fd) {
  while (!bytes.empty()) {
    const os::Io io = os::send_bytes(socket_, bytes, fd);
    if (io.status != os::IoStatus::ok) return false;
    bytes = bytes.subspan(io.bytes);
    fd = -1;
  }
  return true;
}

bool RawClient::read_more(int timeout_ms) {
  if (ended_) return false;
  pollfd p{socket_.get(), POLLIN, 0};
  if (::poll(&p, 1, timeout_ms) <= 0) return false;
  Payload chunk(1 << 16);
  os::ReceivedFds fds;
  const os::Io io = os::receive(socket_, chunk, fds);
  for (std::size_t i = 0; i < fds.count; ++i) fds_.push_back(std::move(fds.fds[i]));
  buffer_.insert(buffer_.end(), chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(io.bytes));
  ended_ = io.status != os::IoStatus::ok;
  return !ended_;
}

std::optional<Incoming> RawClient::next(int timeout_ms) {
  std::uint32_t length = 0;
  const auto whole = [&] {
    if (buffer_.size() < sizeof(length)) return false;
    std::memcpy(&length, buffer_.data(), sizeof(length));
    return buffer_.size() >= sizeof(length) + length;
  };
  while (!whole())
    if (!read_more(timeout_ms)) return std::nullopt;
  Incoming incoming;
  const auto begin = buffer_.begin() + sizeof(length);
  incoming.bytes.assign(begin, begin + length);
  buffer_.erase(buffer_.begin(), begin + length);
  flatbuffers::Verifier verifier(reinterpret_cast<const std::uint8_t*>(incoming.bytes.data()), incoming.bytes.size());
  CHECK(wire::VerifyMessageBuffer(verifier));
  if (const auto* ready = incoming.message().body_as_KernelReady(); ready != nullptr && ready->image() == nullptr) {
    CHECK(!fds_.empty());
    incoming.fd = std::move(fds_.front());
    fds_.pop_front();
  }
  return incoming;
}

std::optional<Incoming> RawClient::next_result(int timeout_ms) {
  while (auto incoming = next(timeout_ms))
    if (incoming->kind() != wire::Body::Accepted && incoming->kind() != wire::Body::Progress) return incoming;
  return std::nullopt;
}

bool RawClient::closed_by_daemon(int timeout_ms) {
  while (next(timeout_ms)) {
  }
  return ended_;
}

std::string RawClient::stats() {
  send(stats_message(7));
  while (auto incoming = next())
    if (const auto* stats = incoming->message().body_as_Stats()) return stats->json()->str();
  return {};
}

}  // namespace trident::tests
