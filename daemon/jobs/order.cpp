#include "daemon/jobs/order.h"

#include "jit/pipeline/key.h"
#include "jit/pipeline/loop.h"

namespace trident::jobs {
namespace {

std::uint64_t bytes_of(const expr::Expr& expr) {
  return expr.nodes.size() * sizeof(expr::Node) + expr.variables.size() * sizeof(expr::Variable) +
         expr.outputs.size() * sizeof(expr::Output);
}

}  // namespace

Result<OrderPtr> kernel_order(ingest::Work work, std::uint8_t isa, std::span<const std::byte> message) {
  pipeline::Target target{.policy = work.policy, .elements = work.elements};
  TRY(target.isa, image::isa_of(isa));
  const auto expr = std::make_shared<const expr::Expr>(std::move(work.expr));
  Order order;
  order.isa = isa;
  order.message.assign(message.begin(), message.end());
  order.parsed_bytes = bytes_of(*expr);
  order.identify = [expr, target](const pipeline::Search& search) {
    Order::Identity identity;
    identity.canonical = expr::canonical_bytes(*expr);
    identity.key = pipeline::expr_key(*expr, identity.canonical, target, search);
    return identity;
  };
  order.describe = [expr] { return expr::print_infix(*expr); };
  order.journal = expr;
  order.publish_unchecked = true;
  order.by_weights = true;
  return std::make_shared<const Order>(std::move(order));
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

OrderPtr program_order(std::uint32_t milliseconds, std::span<const std::byte> message) {
  Order order;
  order.lane = worker::Lane::programs;
  order.budget_ns = std::uint64_t{milliseconds} * 1'000'000;
  order.message.assign(message.begin(), message.end());
  order.describe = [bytes = message.size()] { return "a program of " + std::to_string(bytes) + " bytes"; };
  return std::make_shared<const Order>(std::move(order));
}

}  // namespace trident::jobs
