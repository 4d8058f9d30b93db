// A kernel as compilers are asked for it: the daemon by a message, the engine by plain structs.
#include <mutex>
#include <vector>

#include "clients/c/context.h"
#include "clients/c/engine_library.h"
#include "clients/c/kernel.h"

namespace trident::client {
namespace {

// An expression in the engine's plain structs; borrows nothing.
struct FlatExpr {
  explicit FlatExpr(const Kernel& kernel) {
    nodes.reserve(kernel.expr.nodes.size());
    for (const expr::Node& n : kernel.expr.nodes) {
      nodes.push_back({static_cast<std::uint8_t>(n.op), static_cast<std::uint8_t>(n.type), 0, n.a.index, n.b.index,
                       n.c.index, n.imm});
    }
    for (const expr::Variable& v : kernel.expr.variables) {
      variables.push_back({ir::element_number(v.type, v.storage), static_cast<std::uint8_t>(v.kind), 0, 0, v.lo, v.hi});
    }
    for (const expr::Output& o : kernel.expr.outputs) outputs.push_back(expr::output_word(o));
  }
  void observe(const wire::Range& range) {
    observed.push_back({range.lo, range.hi});
    observed_nan.push_back(range.or_nan ? 1 : 0);
  }
  std::vector<trident_engine_range> observed;
  std::vector<std::uint8_t> observed_nan;
  std::vector<trident_engine_node> nodes;
  std::vector<trident_engine_variable> variables;
  std::vector<std::uint32_t> outputs;
};

trident_engine_job job_of(const Kernel& kernel, const FlatExpr& flat, const std::atomic<bool>* cancel) {
  trident_engine_job job{};
  job.struct_size = sizeof(job);
  job.policy = static_cast<std::uint32_t>(kernel.policy.kind);
  job.k = kernel.policy.k;
  job.isa = greatest_isa();
  job.elements = kernel.elements;
  job.nodes = flat.nodes.data();
  job.variables = flat.variables.data();
  job.outputs = flat.outputs.data();
  job.node_count = static_cast<std::uint32_t>(flat.nodes.size());
  job.variable_count = static_cast<std::uint32_t>(flat.variables.size());
  job.output_count = static_cast<std::uint32_t>(flat.outputs.size());
  job.cancel = cancel;
  job.observed = flat.observed.empty() ? nullptr : flat.observed.data();
  job.observed_nan = flat.observed.empty() ? nullptr : flat.observed_nan.data();
  return job;
}

/// Gives the search ranges that came after it had begun; `nan` is null where it does not ask for NaN.
int seen_meanwhile(void* user, trident_engine_range* ranges, std::uint8_t* nan) {
  Kernel& kernel = *static_cast<Kernel*>(user);
  const std::lock_guard lock(kernel.context.mutex);
  if (kernel.submission.observed.empty()) return 0;
  kernel.submission.search_again = false;  // no other search is needed for them
  for (const wire::Range& range : kernel.submission.observed) {
    *ranges++ = {range.lo, range.hi};
    if (nan != nullptr) *nan++ = range.or_nan ? 1 : 0;
  }
  return 1;
}

/// For engines that know of no NaN beside a range.
int ranges_seen_meanwhile(void* user, trident_engine_range* ranges) {
  return seen_meanwhile(user, ranges, nullptr);
}

}  // namespace

void Kernel::append_request(wire::Frame& out, std::uint64_t job, bool inline_images) const {
  wire::append_submit(out, expr, {job, policy, elements, inline_images});
}

void Kernel::compile(const Engine& engine, std::uint32_t tier, const std::atomic<bool>& cancel, EngineAnswer& answer) {
  engine.prepare_for(tier == TRIDENT_TIER_BASELINE ? TRIDENT_ENGINE_BASELINES : TRIDENT_ENGINE_SEARCHES);
  FlatExpr flat(*this);
  {
    const std::lock_guard lock(context.mutex);
    if (tier == TRIDENT_TIER_OPTIMISED) submission.search_again = false;  // ranges may have come since it was taken up
    for (const wire::Range& range : submission.observed) flat.observe(range);
  }
  trident_engine_job job = job_of(*this, flat, &cancel);
  job.observe = &ranges_seen_meanwhile;
  job.observe_or_nan = &seen_meanwhile;
  job.user = this;
  if (answer.may_keep) job.kept = &answer.kept;
  engine.compile(&job, tier, &answer.result);
}

}  // namespace trident::client
