#include "daemon/jobs/order.h"

#include "jit/pipeline/function.h"
#include "jit/pipeline/key.h"
#include "jit/pipeline/loop.h"
#include "jit/pipeline/observed.h"

namespace trident::jobs {
namespace {

std::uint64_t bytes_of(const expr::Expr& expr) {
  return expr.nodes.size() * sizeof(expr::Node) + expr.variables.size() * sizeof(expr::Variable) +
         expr.outputs.size() * sizeof(expr::Output);
}

/// The message with the assumed ranges in front, as workers take it.
std::vector<std::byte> with_ranges(const std::vector<kir::Assumed>& assumed, std::span<const std::byte> message) {
  const auto ranges = std::as_bytes(std::span(assumed));
  std::vector<std::byte> bytes(ranges.begin(), ranges.end());
  bytes.insert(bytes.end(), message.begin(), message.end());
  return bytes;
}

OrderPtr order_of(const std::shared_ptr<const expr::Expr>& expr, const pipeline::Target& target, std::uint8_t isa,
                  std::span<const std::byte> message) {
  Order order;
  order.isa = isa;
  order.message = with_ranges(target.assumed, message);
  order.assumed = static_cast<std::uint8_t>(target.assumed.size());
  order.parsed_bytes = bytes_of(*expr);
  order.identify = [expr, target](const pipeline::Search& search) {
    Order::Identity identity;
    identity.canonical = expr::canonical_bytes(*expr);
    identity.key = pipeline::expr_key(*expr, identity.canonical, target, search);
    return identity;
  };
  order.assume = [expr, target](const Order& self, std::span<const kir::Assumed> seen) {
    pipeline::Target narrower = target;
    narrower.assumed = pipeline::widened(*expr, seen);
    return order_of(expr, narrower, self.isa, std::span(self.message).subspan(self.assumed * sizeof(kir::Assumed)));
  };
  order.describe = [expr] { return expr::print_infix(*expr); };
  if (target.assumed.empty()) order.journal = expr;
  order.publish_unchecked = true;
  order.by_weights = true;
  return std::make_shared<const Order>(std::move(order));
}

}  // namespace

Result<OrderPtr> kernel_order(ingest::Work work, std::uint8_t isa, std::span<const std::byte> message) {
  pipeline::Target target{.policy = work.policy, .elements = work.elements};
  TRY(target.isa, image::isa_of(isa));
  return order_of(std::make_shared<const expr::Expr>(std::move(work.expr)), std::move(target), isa, message);
}

Result<OrderPtr> loop_order(ingest::LoopWork work, std::uint8_t isa, std::span<const std::byte> message) {
  if (isa == TRIDENT_ISA_NEON)
    return make_error(ErrorCode::kUnsupported, "no code of loops is made for AArch64 processors yet");
  const auto source = std::make_shared<const pipeline::LoopSource>(
      pipeline::LoopSource{work.guest, work.head, work.code_base, std::move(work.code), work.joined});
  Order order;
  order.isa = isa;
  order.message.assign(message.begin(), message.end());
  order.parsed_bytes = source->code.size();
  order.identify = [source](const pipeline::Search&) {
    Order::Identity identity;
    identity.key = pipeline::loop_key(*source);  // a digest of the instructions: canonical is as good as they
    const auto bytes = std::as_bytes(std::span(identity.key));
    identity.canonical.assign(bytes.begin(), bytes.end());
    return identity;
  };
  order.describe = [source] { return "a loop in " + std::to_string(source->code.size()) + " bytes of a guest's code"; };
  order.loop = true;
  return std::make_shared<const Order>(std::move(order));
}

Result<OrderPtr> function_order(ingest::FunctionWork work, std::uint8_t isa, std::span<const std::byte> message) {
  if (isa == TRIDENT_ISA_NEON)
    return make_error(ErrorCode::kUnsupported, "no code of functions is made for AArch64 processors yet");
  TRY(const codegen::Isa widest, image::isa_of(isa));
  const auto source = std::make_shared<const ingest::FunctionWork>(std::move(work));
  Order order;
  order.isa = isa;
  order.message.assign(message.begin(), message.end());
  order.parsed_bytes = source->text.size() + source->calls.size();
  order.identify = [source, widest](const pipeline::Search&) {
    Order::Identity identity;
    identity.key = pipeline::function_key(source->text, source->calls, widest);
    const auto bytes = std::as_bytes(std::span(identity.key));  // a digest of all of it
    identity.canonical.assign(bytes.begin(), bytes.end());
    return identity;
  };
  order.describe = [source] { return source->text; };
  order.function = true;
  return std::make_shared<const Order>(std::move(order));
}

OrderPtr program_order(std::uint32_t milliseconds, std::span<const std::byte> message) {
  Order order;
  order.lane = worker::Lane::programs;
  order.budget_ns = std::uint64_t{milliseconds} * 1'000'000;
  order.message.assign(message.begin(), message.end());
  order.describe = [bytes = message.size()] { return "a program of " + std::to_string(bytes) + " bytes"; };
  return std::make_shared<const Order>(std::move(order));
}

}  // namespace trident::jobs
