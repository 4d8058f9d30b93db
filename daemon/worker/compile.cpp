#include "daemon/worker/compile.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

#include "daemon/ingest/ingest.h"
#include "daemon/worker/build_program.h"
#include "daemon/worker/compile_function.h"
#include "daemon/worker/compile_loop.h"
#include "daemon/worker/protocol.h"
#include "daemon/worker/request_socket.h"
#include "daemon/worker/searches.h"
#include "jit/pipeline/pipeline.h"
#include "runtime/log/log.h"
#include "runtime/os/child.h"
#include "runtime/os/clock.h"
#include "runtime/os/confinement/confinement.h"
#include "runtime/os/cpu.h"
#include "runtime/os/cpu_quota.h"
#include "runtime/os/inherited.h"
#include "runtime/os/self.h"

namespace trident::worker {
namespace {

/// A worker that needs more is out of control; the front counts it as a crash.
constexpr std::uint64_t kAddressSpaceBytes = 4ull << 30;

bool serve_baseline(RequestSocket& front, std::uint64_t ticket, const ingest::Work& work,
                    const pipeline::Options& options) {
  const std::uint64_t begun_ns = os::thread_cpu_ns();
  const auto compiled = pipeline::compile_baseline(work.expr, options);
  const std::uint64_t cpu_ns = os::thread_cpu_ns() - begun_ns;
  if (!compiled.ok()) return send_failure(front, ticket, compiled.error(), cpu_ns);
  ResponseHeader response;
  response.ticket = ticket;
  response.kind = Kind::baseline_image;
  response.cpu_ns = cpu_ns;
  const auto& bytes = compiled->image.bytes;
  return front.send(response, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

bool serve(RequestSocket& front, std::span<const std::byte> request, Basis& basis, Searches& searches) {
  RequestHeader header;
  if (request.size() < sizeof(header)) return false;
  std::memcpy(&header, request.data(), sizeof(header));
  const auto tail = request.subspan(sizeof(header));
  if (header.tail == Tail::go_on) return searches.go_on(header.ticket);
  if (header.tail == Tail::forget) return searches.forget(header.ticket), true;
  if (header.tail != Tail::submit) {
    const auto file = header.tail == Tail::weights && !tail.empty() ? front.take_fd() : std::nullopt;
    basis.take(header.tail, {reinterpret_cast<const char*>(tail.data()), tail.size()}, file);
    return true;
  }
  const std::size_t assumed_bytes = header.assumed * sizeof(kir::Assumed);
  if (tail.size() < assumed_bytes) return false;
  const auto message = ingest::read(tail.subspan(assumed_bytes));
  if (const auto* loop = message.ok() ? std::get_if<ingest::SubmitLoop>(&*message) : nullptr)
    return compile_loop(front, header, *loop);
  if (const auto* function = message.ok() ? std::get_if<ingest::SubmitFunction>(&*message) : nullptr)
    return compile_function(front, header, *function);
  const auto* submit = message.ok() ? std::get_if<ingest::Submit>(&*message) : nullptr;
  if (submit == nullptr || !submit->work.ok())
    return send_failure(front, header.ticket,
                        make_error(ErrorCode::kInternal, "the daemon's front passed on a malformed message"));
  const ingest::Work& work = *submit->work;
  const auto isa = image::isa_of(header.isa);
  if (!isa.ok()) return send_failure(front, header.ticket, isa.error());
  pipeline::Options options;
  options.target = {.isa = *isa, .policy = work.policy, .elements = work.elements};
  options.target.assumed.resize(header.assumed);
  std::copy_n(tail.begin(), assumed_bytes, std::as_writable_bytes(std::span(options.target.assumed)).begin());
  options.budget = {.cpu_ns = header.budget_ns,
                    .effort = header.effort,
                    .two_threads = basis.two_threads,
                    .check_only = header.check_only != 0};
  options.search = basis.search(header.seed);
  options.checked = true;  // by ingest
  options.key = header.key;
  return header.lane == Lane::baseline ? serve_baseline(front, header.ticket, work, options)
                                       : searches.begin(header, work.expr, std::move(options), basis);
}

/// Touches the code and memory of a compilation before the first client waits for one.
void warm_up() {
  const auto expr = expr::parse("sin(x) * exp(y) + sqrt(x * x + y * y) / (1 + x)");
  if (!expr.ok()) return;
  for (int i = 0; i < 2; ++i) (void)pipeline::compile_baseline(*expr, {}).ok();
}

/// The programs lane keeps what it learns in files.
int confine_and_build_programs(const char* folder) {
  const os::Confined confined = os::confine(folder);
  return build_programs(confined.has_folder() ? folder : "");
}

}  // namespace

int run_worker(const char* lane, const char* folder) {
  os::release_standard_error_on(kReleaseStandardError);
  log::configure({.form = log::detect_form(), .tag = std::string("tridentd ") + lane});
  os::ResourceLimits limits{.core_bytes_max = 0};
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // whose shadows take terabytes of address space
  limits.address_space_bytes = kAddressSpaceBytes;
#endif
  if (const auto set = os::set_resource_limits(limits); !set.ok()) log::warning("{}", set.error().message);
  os::deny_writable_code();
  if (std::string_view(lane) == "programs") return confine_and_build_programs(folder);
  if (std::string_view(lane) == "baseline") warm_up();
  (void)os::cpu_name();  // which is a file's word
  Basis basis;
  basis.two_threads = os::affordable_cpus() > 1;  // likewise
  os::confine();                                  // the front says what it lacks
  if (std::string_view(lane) == "baseline") stage_loops(), stage_functions();
  RequestSocket front{os::Fd(os::kInheritedFd)};
  if (!front.send({.kind = Kind::ready})) return 0;
  Searches searches(front);
  while (true) {
    const auto request = front.next();
    if (request.empty() || !serve(front, request, basis, searches)) return 0;
  }
}

}  // namespace trident::worker
