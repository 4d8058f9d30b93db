// The client's end of the wire: our requests as frames, the daemon's frames as plain structs. The only file pair here
// that knows FlatBuffers (schemas/control.fbs is the contract). Bytes that come in are untrusted: every frame passes
// the FlatBuffers verifier under tight limits, then is copied into the structs below, so nothing refers to the buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "jit/expr/expr.h"
#include "runtime/base/result.h"

namespace trident::client::wire {

/// The protocol versions that this client speaks (schemas/VERSIONING.md).
inline constexpr std::uint16_t kVersionMin = 1;
inline constexpr std::uint16_t kVersionMax = 1;

/// Fields of a submission beside the expression itself.
struct SubmitTerms {
  std::uint64_t job = 0;
  expr::Policy policy;
  std::uint32_t elements = 4096;
  bool inline_images = false;  ///< ask for bytes instead of descriptors
};

/// schemas/control.fbs says what the fields are.
struct SubmitProgram {
  bool tir = false;  ///< the text is TIR, not TASM
  std::string text{};
  std::vector<std::uint64_t> public_input{}, secret_input{}, secret_digests{}, ram{};
  std::uint64_t cycles = 0;
  std::uint32_t milliseconds = 10'000, programs = 600;
  std::uint8_t left_out = 0;
  std::vector<std::uint64_t> runs{};  ///< further ones; as jit/tir/build/runs.h has them
};

struct SubmitLoop {
  std::uint64_t job = 0, head = 0, code_base = 0;
  std::span<const std::byte> code;
  bool inline_images = false;
  bool joined = false;
};
struct SubmitFunction {
  std::uint64_t job = 0;
  std::string_view text, calls;
  bool inline_images = false;
};
/// Sums since the last such message.
struct LoopSeen {
  std::uint64_t job = 0, entries = 0, iterations = 0, guest_ns = 0, kernel_ns = 0;
  void add(const LoopSeen& more) {
    entries += more.entries, iterations += more.iterations;
    guest_ns += more.guest_ns, kernel_ns += more.kernel_ns;
  }
};
/// Least and greatest number of a variable; from -inf to inf: not known.
struct Range {
  double lo = -std::numeric_limits<double>::infinity();
  double hi = std::numeric_limits<double>::infinity();
  bool or_nan = false;  ///< there were NaNs too
};
/// The bit of Welcome::features of a daemon that knows Observed.
extern const std::uint64_t kFeatureObserved;
/// The bit of Welcome::features of a daemon that knows of NaN beside a range.
extern const std::uint64_t kFeatureMissing;
/// The bit of Welcome::features of a daemon that knows Called.
extern const std::uint64_t kFeatureCalled;
/// The bit of Welcome::features of a daemon that knows SubmitLoop and LoopSeen.
extern const std::uint64_t kFeatureLoops;
/// The bit of Welcome::features of a daemon that knows SubmitFunction.
extern const std::uint64_t kFeatureFunctions;

using Frame = std::vector<std::byte>;

/// Each appends one frame (length word, then the message) to `out`.
void append_hello(Frame& out, std::uint8_t isa);
void append_submit(Frame& out, const expr::Expr& expr, const SubmitTerms& terms);
void append_submit_program(Frame& out, std::uint64_t job, const SubmitProgram& program);
void append_submit_loop(Frame& out, const SubmitLoop& loop);
void append_submit_function(Frame& out, const SubmitFunction& function);
void append_loop_seen(Frame& out, const LoopSeen& seen);
/// `features`: those of the daemon. One that knows of no NaN beside a range is told nothing of such a variable.
void append_observed(Frame& out, std::uint64_t job, std::span<const Range> ranges, std::uint64_t misses,
                     std::uint64_t features);
void append_called(Frame& out, std::uint64_t job, std::uint64_t weight);
void append_cancel(Frame& out, std::uint64_t job);
void append_stats_request(Frame& out, std::uint64_t request);

struct Welcome {
  std::uint16_t version = 0;
  std::uint64_t features = 0;
};
struct Accepted {
  std::uint64_t job = 0;
};
struct Progress {
  std::uint64_t job = 0;
  std::uint8_t stage = 0;  ///< Stage of the daemon's version, which may have more of them
  std::uint32_t done = 0, total = 0;
  double best_ratio = 0;
};
struct KernelReady {
  std::uint64_t job = 0;
  std::uint8_t tier = 0;
  std::uint32_t size = 0;
  std::uint64_t digest_low = 0, digest_high = 0;
  bool inline_image = false;     ///< false: the image is in the descriptor that came with the frame
  std::vector<std::byte> image;  ///< when inline
  double baseline_ns = 0, optimised_ns = 0;
};
struct Revoke {
  std::uint64_t job = 0;
  std::uint8_t tier = 0;
};
struct Done {
  enum class Outcome : std::uint8_t { published, no_gain, budget_spent, not_equivalent };
  std::uint64_t job = 0;
  Outcome outcome = Outcome::no_gain;
  std::string reason{};  ///< why nothing better was sent; empty from daemons that do not say
};
struct Failure {
  std::uint64_t job = 0;
  std::uint8_t code = 0;  ///< an ErrorCode of the daemon's version; compare, never cast
  std::uint32_t retry_after_ms = 0;
  std::string message;
};
struct LoopRefused {
  std::uint64_t job = 0;
  std::uint8_t reason = 0;
  std::uint64_t address = 0;
  std::string text;
};
struct Stats {
  std::uint64_t request = 0;
  std::string json;
};

struct ProgramReady {
  std::uint64_t job = 0;
  std::string text;                                          ///< TASM
  std::vector<std::uint64_t> heights_before, heights_after;  ///< nine each
  std::uint32_t words_before = 0, words_after = 0;
  std::string report;      ///< JSON
  std::uint32_t runs = 1;  ///< on which it was measured
};

struct Unknown {};  ///< a kind that a later version added: to be ignored

using Incoming = std::variant<Unknown, Welcome, Accepted, Progress, KernelReady, Revoke, Done, Failure, Stats,
                              ProgramReady, LoopRefused>;

/// Decodes one frame's message (the bytes after the length word). RejectedMessage when it is not one that a daemon
/// may send.
Result<Incoming> decode(std::span<const std::byte> message);

}  // namespace trident::client::wire
