// An order: a submission as jobs see it. Kinds of work differ in the fields of an Order; apart from them, jobs tell
// only kernels, loops, functions and programs from each other. What a message means is known to whoever made its order
// and to the workers. The front parses a message once; jobs, renewals and the log go by the order from then on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "daemon/ingest/ingest.h"
#include "daemon/worker/protocol.h"
#include "jit/image/image.h"
#include "jit/pipeline/pipeline.h"

namespace trident::jobs {

struct Order {
  /// Names the result. Equal orders of a user share a job, and results are cached.
  struct Identity {
    image::Key key{};
    std::vector<std::byte> canonical;  ///< what the key is made of; compared where keys are equal
  };

  worker::Lane lane = worker::Lane::baseline;                 ///< whose workers begin
  std::uint8_t isa = 0;                                       ///< enum trident_isa; of kernels and functions
  std::uint64_t budget_ns = 0;                                ///< programs lane: what the client allows
  std::vector<std::byte> message;                             ///< as the client sent it: workers get it
  std::uint64_t parsed_bytes = 0;                             ///< memory that the functions below hold
  std::function<Identity(const pipeline::Search&)> identify;  ///< empty: nothing is shared or cached
  /// Makes the same order with ranges that were observed; null where they tell nothing. Empty: no such order.
  std::function<std::shared_ptr<const Order>(const Order& self, std::span<const kir::Assumed> seen)> assume;
  std::uint8_t assumed = 0;                   ///< ranges at the front of the message (RequestHeader::assumed)
  std::function<std::string()> describe;      ///< for the log
  std::shared_ptr<const expr::Expr> journal;  ///< what the journal is told; null: nothing
  bool loop = false;                          ///< a guest's
  bool function = false;                      ///< one with loops, of jit/function
  bool publish_unchecked = false;  ///< the first kernel goes out before anything has compared it with what it must do
  bool by_weights = false;         ///< the key depends on weights: searched again when others are chosen (renewals.h)

  /// Says whether a baseline worker tries the image before it answers, and nothing follows.
  [[nodiscard]] bool is_tried() const { return loop || function; }
  [[nodiscard]] std::uint64_t bytes() const { return message.size() + parsed_bytes; }
};
using OrderPtr = std::shared_ptr<const Order>;

/// Orders the kernel of an expression; `message` is the Submit that `work` was read from. Errors: Unsupported for an
/// unknown instruction set.
Result<OrderPtr> kernel_order(ingest::Work work, std::uint8_t isa, std::span<const std::byte> message);

/// Orders the code of a guest's loop; `message` is the SubmitLoop that `work` was read from. Errors: Unsupported for an
/// instruction set that no code of loops is made for.
Result<OrderPtr> loop_order(ingest::LoopWork work, std::uint8_t isa, std::span<const std::byte> message);

/// Orders the code of a function; `message` is the SubmitFunction that `work` was read from. Errors: Unsupported for an
/// instruction set that no code of functions is made for.
Result<OrderPtr> function_order(ingest::FunctionWork work, std::uint8_t isa, std::span<const std::byte> message);

/// Orders a program that is to become cheaper to prove; `message` is its SubmitProgram.
OrderPtr program_order(std::uint32_t milliseconds, std::span<const std::byte> message);

}  // namespace trident::jobs
