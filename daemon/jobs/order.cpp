#include "daemon/jobs/order.h"

#include "jit/pipeline/key.h"

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

OrderPtr program_order(std::uint32_t milliseconds, std::span<const std::byte> message) {
  Order order;
  order.lane = worker::Lane::programs;
  order.budget_ns = std::uint64_t{milliseconds} * 1'000'000;
  order.message.assign(message.begin(), message.end());
  order.describe = [bytes = message.size()] { return "a program of " + std::to_string(bytes) + " bytes"; };
  return std::make_shared<const Order>(std::move(order));
}

}  // namespace trident::jobs
