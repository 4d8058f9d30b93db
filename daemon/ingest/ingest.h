// The only code that reads bytes from outside: one wire message in, one checked request out.
//
// Three fences in a row, each cheap: the FlatBuffers verifier with tight limits (constant depth, no vector of tables);
// ranges of every op, type, index and count while the expression is built; the front end's own expr::check. What leaves
// here is an expression that the compiler may assume well-formed. Nothing is allocated by an unchecked length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "jit/expr/expr.h"
#include "jit/kir/guard.h"
#include "jit/tir/build/build.h"
#include "runtime/base/result.h"

namespace trident::ingest {

struct Hello {
  std::uint16_t version_min = 0, version_max = 0;
  std::uint8_t isa = 0;
  std::uint64_t features = 0;
};

/// A client's request to compile an expression.
struct Work {
  expr::Expr expr;
  expr::Policy policy;
  std::uint32_t elements = 0;
};

struct Submit {
  std::uint64_t job = 0;
  bool inline_images = false;
  /// RejectedMessage, TypeError, LimitExceeded, ...: this job is refused, the connection goes on.
  Result<Work> work;
};
struct SubmitProgram {
  std::uint64_t job = 0;
  /// RejectedMessage, LimitExceeded: this job is refused, the connection goes on. The text has not been looked at.
  Result<tir::build::Request> request;
};
/// A client's request to compile a guest's loop. The code has not been looked at.
struct LoopWork {
  std::uint8_t guest = 0;
  std::uint64_t head = 0, code_base = 0;
  std::vector<std::byte> code;
  bool joined = false;
};
struct SubmitLoop {
  std::uint64_t job = 0;
  bool inline_images = false;
  /// RejectedMessage, Unsupported, LimitExceeded: this job is refused, the connection goes on.
  Result<LoopWork> work;
};
/// A client's request to compile a function. The texts have not been looked at, apart from their size: workers parse.
struct FunctionWork {
  std::string text, calls;
};
struct SubmitFunction {
  std::uint64_t job = 0;
  bool inline_images = false;
  /// RejectedMessage, LimitExceeded: this job is refused, the connection goes on.
  Result<FunctionWork> work;
};
/// A client's word; nothing of it has been checked.
struct LoopSeen {
  std::uint64_t job = 0, entries = 0, iterations = 0, guest_ns = 0, kernel_ns = 0;
};
/// A client's hint; the numbers have not been looked at.
struct Observed {
  std::uint64_t job = 0;
  std::vector<kir::Assumed> ranges;  ///< by variable, as many as the message has, at most limits::kInputsMax
  std::uint64_t misses = 0;          ///< of speculative code, why these ranges replace others
};
/// A client's word; nothing of it has been checked.
struct Called {
  std::uint64_t job = 0, weight = 0;
};
struct Cancel {
  std::uint64_t job = 0;
};
struct StatsRequest {
  std::uint64_t request = 0;
};
/// A body that a newer peer may send; to be ignored.
struct Unknown {};

using Request = std::variant<Hello, Submit, SubmitProgram, SubmitLoop, SubmitFunction, LoopSeen, Observed, Called,
                             Cancel, StatsRequest, Unknown>;

/// Reads one message (8-byte aligned). Errors: RejectedMessage, after which the connection cannot be trusted further.
Result<Request> read(std::span<const std::byte> message);

}  // namespace trident::ingest
