#include "daemon/worker/build_program.h"

#include <optional>
#include <string>

#include "daemon/ingest/ingest.h"
#include "daemon/worker/program_message.h"
#include "daemon/worker/protocol.h"
#include "daemon/worker/request_socket.h"
#include "jit/tir/build/build.h"
#include "jit/tir/equiv/equiv.h"
#include "jit/tir/neural/apprentice.h"
#include "jit/tir/neural/shipped_weights.h"
#include "jit/tir/tasm/blocks.h"
#include "runtime/log/log.h"
#include "runtime/os/child.h"
#include "runtime/os/clock.h"
#include "schemas/stages.h"

namespace trident::worker {
namespace {

using tir::tasm::Instruction;
namespace neural = tir::neural;

constexpr std::uint64_t kRoundsPerProgram = 3;
/// Bytes of a program's text. The result is no longer, so it fits into a message with its other fields.
constexpr std::size_t kTextBytesMax = limits::kFrameBytesMax - (16u << 10);

/// How much shorter a block has become, none if it is not proven to do the same.
std::optional<double> judged(std::span<const Instruction> original, std::span<const Instruction> written) {
  if (tir::equiv::decide(original, written).answer != tir::equiv::Answer::equal) return {};
  return 1 - static_cast<double>(tir::tasm::words(written)) / static_cast<double>(tir::tasm::words(original));
}

/// The network, and its learning between programs.
class Learner {
 public:
  explicit Learner(const std::string& folder) {
    if (folder.empty()) return;
    auto opened = neural::Apprentice::open(folder, neural::shipped_weights());
    if (!opened.ok()) {
      log::warning("{}: the network does not learn from programs: {}", folder, opened.error().message);
      return;
    }
    apprentice_.emplace(std::move(opened).value());
    load();
  }

  /// Null: those that come with the program.
  [[nodiscard]] const neural::Weights* weights() const { return weights_ ? &*weights_ : nullptr; }

  void learn(std::vector<neural::BlockRecord> records) {
    if (!apprentice_) return;
    for (neural::BlockRecord& record : records) (void)apprentice_->add(std::move(record)).ok();
    if (learning_ && !learning_->finished()) return;
    learning_.reset();
    if (changed_.exchange(false)) load();
    learning_.emplace(*apprentice_, judged, neural::RoundOptions{}, kRoundsPerProgram,
                      [this](const Result<neural::RoundReport>& round) { tell(round); });
  }

 private:
  void load() {
    auto weights = apprentice_->chosen();
    if (!weights.ok()) return log::warning("cannot load the program network's weights: {}", weights.error().message);
    weights_ = *std::move(weights);
  }
  /// Reports a round; called by the learning thread.
  void tell(const Result<neural::RoundReport>& round) {
    if (!round.ok()) return tell_change(log::Level::warning, "a training round failed: " + round.error().message);
    if (round->promoted || round->dropped) changed_ = true;
    if (round->dropped)
      log::info("dropped the weights in use, which are worse than the shipped ones on {} held-out blocks",
                round->held_out);
    if (!round->enough)
      return tell_change(log::Level::info,
                         fmt::format("no training round yet: {} training blocks and {} held-out blocks, each needs {}",
                                     round->learned_from, round->held_out, neural::RoundOptions{}.blocks_min));
    tell_change(
        log::Level::info,
        fmt::format("weights {} gain {:.4f} on {} held-out blocks, before {:.4f} (drafts {:.4f}, before {:.4f}): {}",
                    round->promoted ? round->chosen : "of a candidate", round->gain_after, round->held_out,
                    round->gain_before, round->after, round->before, round->promoted ? "promoted" : "not promoted"));
  }
  /// Every program brings several rounds, and most find what the one before has found.
  void tell_change(log::Level level, std::string text) {
    if (text == told_) return;
    log::write(level, text);
    told_ = std::move(text);
  }

  std::optional<neural::Apprentice> apprentice_;
  std::optional<neural::Weights> weights_;
  std::atomic<bool> changed_{false};
  std::string told_;  ///< of the last round; the learning thread's
  std::optional<neural::BackgroundLearning> learning_;
};

bool serve(RequestSocket& front, std::span<const std::byte> request, Learner& learner) {
  RequestHeader header;
  if (request.size() < sizeof(header)) return false;
  std::memcpy(&header, request.data(), sizeof(header));
  if (header.tail == Tail::cancel) return true;  // of a request that has been answered
  const auto message = ingest::read(request.subspan(sizeof(header)));
  const auto* submit = message.ok() ? std::get_if<ingest::SubmitProgram>(&*message) : nullptr;
  if (submit == nullptr || !submit->request.ok())
    return send_failure(front, header.ticket,
                        make_error(ErrorCode::kInternal, "the daemon's front passed on a malformed message"));
  std::uint64_t next_progress_ns = 0;
  ResponseHeader response;
  response.ticket = header.ticket;
  response.kind = Kind::progress;
  response.code = static_cast<std::uint8_t>(Stage::judge);  // programs are measured as they are searched for
  response.total = 1000;
  response.best_ratio = 1;
  const auto progress = [&](double done) {
    const std::uint64_t now = os::monotonic_ns();
    if (now < next_progress_ns) return true;
    next_progress_ns = now + kProgressEveryNs;
    if (front.is_cancelled(header.ticket)) return false;
    response.done = static_cast<std::uint32_t>(1000 * done);
    return front.send(response);
  };
  tir::build::Request asked = *submit->request;
  asked.text_max = kTextBytesMax;
  auto built = tir::build::build(asked, progress, learner.weights());
  if (!built.ok()) return send_failure(front, header.ticket, built.error());
  response.kind = Kind::program;
  response.code = built->cheaper() ? 1 : 0;
  std::string tail = program_message(submit->job, *built);
  if (tail.size() > limits::kFrameBytesMax) {
    built->cut_report();
    tail = program_message(submit->job, *built);
  }
  const bool fits = tail.size() <= limits::kFrameBytesMax;
  const bool sent = fits ? front.send(response, tail)
                         : send_failure(front, header.ticket,
                                        make_error(ErrorCode::kLimitExceeded,
                                                   "the result takes %zu bytes, more than a message's limit of %zu",
                                                   tail.size(), limits::kFrameBytesMax));
  if (sent) learner.learn(built->records());
  return sent;
}

}  // namespace

int build_programs(const char* folder) {
  RequestSocket front{os::Fd(os::kInheritedFd)};
  Learner learner(folder);
  while (true) {
    const auto request = front.next();
    if (request.empty() || !serve(front, request, learner)) return 0;
  }
}

}  // namespace trident::worker
