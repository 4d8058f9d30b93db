// libtrident-engine.so: the compiler inside the client's process, behind the plain C ABI of clients/c/engine_abi.h.
//
// The expression arrives as flat arrays, is rebuilt and checked like any other input, and goes through the same
// pipeline as in the daemon; what leaves is a sealed memfd, which libtrident maps exactly as it maps a daemon's. The
// judge times candidates in a forked child; nothing untried ever runs in the host process.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "clients/c/engine_abi.h"
#include "clients/engine/result.h"
#include "jit/expr/expr.h"
#include "jit/image/image.h"
#include "jit/pipeline/observed.h"
#include "jit/pipeline/pipeline.h"
#include "runtime/os/clock.h"

namespace {

using trident::Error;
using trident::ErrorCode;
using trident::make_error;
using trident::Result;
namespace codegen = trident::codegen;
namespace expr = trident::expr;
namespace image = trident::image;
namespace ir = trident::ir;
namespace kir = trident::kir;
namespace pipeline = trident::pipeline;
using trident::engine::hand_over;

/// The job of older callers ends before the ranges of its data.
constexpr std::size_t kJobBytesMin = offsetof(trident_engine_job, observed);

Result<expr::Expr> expr_of(const trident_engine_job& job) {
  expr::Expr e;
  e.nodes.reserve(job.node_count);
  for (std::uint32_t i = 0; i < job.node_count; ++i) {
    const trident_engine_node& n = job.nodes[i];
    if (n.op >= expr::kOpCount || n.type > static_cast<std::uint8_t>(ir::Type::b64)) {
      return make_error(ErrorCode::kInvalidArgument, "node %u: unknown op or type", i);
    }
    e.nodes.push_back({static_cast<expr::Op>(n.op), static_cast<ir::Type>(n.type), expr::NodeId(n.a), expr::NodeId(n.b),
                       expr::NodeId(n.c), n.imm});
  }
  for (std::uint32_t i = 0; i < job.variable_count; ++i) {
    const trident_engine_variable& v = job.variables[i];
    const std::optional<ir::Element> element = ir::element_of_number(v.type);
    if (!element) return make_error(ErrorCode::kInvalidArgument, "variable %u: unknown type", i);
    e.variables.push_back({"v" + std::to_string(i), element->type, static_cast<expr::VariableKind>(v.scalar), v.lo,
                           v.hi, element->storage});
  }
  for (std::uint32_t i = 0; i < job.output_count; ++i) {
    std::optional<expr::Output> output = expr::output_of_word("o" + std::to_string(i), job.outputs[i]);
    if (!output) return make_error(ErrorCode::kInvalidArgument, "output %u: unknown type", i);
    e.outputs.push_back(std::move(*output));
  }
  TRY_VOID(expr::check(e));
  return e;
}

Result<pipeline::Options> options_of(const trident_engine_job& job) {
  pipeline::Options options;
  if (job.policy > static_cast<std::uint32_t>(expr::PolicyKind::fast)) {
    return make_error(ErrorCode::kInvalidArgument, "unknown policy");
  }
  options.target.policy = {static_cast<expr::PolicyKind>(job.policy), job.k};
  if (job.isa > UINT8_MAX) return make_error(ErrorCode::kInvalidArgument, "unknown instruction set in the request");
  TRY(options.target.isa, image::isa_of(static_cast<std::uint8_t>(job.isa)));
  options.target.elements = job.elements;
  options.budget.cancelled = static_cast<const std::atomic<bool>*>(job.cancel);
  return options;
}

/// `nan`: null where there was none.
std::vector<kir::Assumed> assumed_of(const trident_engine_range* observed, const std::uint8_t* nan,
                                     const expr::Expr& e) {
  std::vector<kir::Assumed> seen;
  for (std::size_t v = 0; v < e.variables.size(); ++v)
    seen.push_back({observed[v].lo, observed[v].hi, nan != nullptr && nan[v] != 0});
  return pipeline::widened(e, seen);
}

/// A search with its job, which may end for now after its first look, if that has found something.
struct Searching {
  trident_engine_job job;
  expr::Expr expr;
  std::optional<image::ImageBytes> interim;  ///< the better of those that its first look has offered
  double baseline_ns = 0, interim_ns = 0;
  std::optional<pipeline::TwoLooks> looks;
};

/// Returns the function that asks the caller for ranges; empty if he offers none.
std::function<std::vector<kir::Assumed>()> asks(const Searching& search) {
  if (search.job.observe == nullptr && search.job.observe_or_nan == nullptr) return {};
  return [&job = search.job, &e = search.expr]() -> std::vector<kir::Assumed> {
    std::vector<trident_engine_range> ranges(e.variables.size());
    std::vector<std::uint8_t> nan(e.variables.size(), 0);
    const bool knows = job.observe_or_nan != nullptr ? job.observe_or_nan(job.user, ranges.data(), nan.data()) != 0
                                                     : job.observe(job.user, ranges.data()) != 0;
    return knows ? assumed_of(ranges.data(), nan.data(), e) : std::vector<kir::Assumed>();
  };
}

/// The caller gets what was found so far, and the search.
Result<void> keep(std::unique_ptr<Searching> search, trident_engine_result& result) {
  result.baseline_ns = search->baseline_ns;
  result.optimised_ns = search->interim_ns;
  if (search->interim) TRY_VOID(hand_over(*search->interim, result));
  search->interim.reset();
  result.outcome = TRIDENT_ENGINE_KEPT;
  void*& kept = *search->job.kept;
  kept = search.release();
  return {};
}

Result<void> end(Searching& search, trident_engine_result& result) {
  const pipeline::Optimised best = search.looks->take();
  result.baseline_ns = best.baseline_ns;
  result.optimised_ns = best.winner_ns;
  trident::engine::set_message(result, best.note);
  switch (best.outcome) {
    case pipeline::Outcome::published: return hand_over(best.winner.image, result);
    case pipeline::Outcome::not_equivalent: result.outcome = TRIDENT_ENGINE_NOT_EQUIVALENT; return {};
    case pipeline::Outcome::no_gain:
    case pipeline::Outcome::budget_spent: result.outcome = TRIDENT_ENGINE_NO_GAIN; return {};
  }
  return {};
}

Result<void> go_on(Searching& search, trident_engine_result& result) {
  TRY_VOID(search.looks->second());
  return end(search, result);
}

Result<void> optimise(const trident_engine_job& job, expr::Expr e, pipeline::Options options,
                      trident_engine_result& result) {
  auto search = std::make_unique<Searching>();
  search->job = job;
  search->expr = std::move(e);
  if (job.observed != nullptr) options.target.assumed = assumed_of(job.observed, job.observed_nan, search->expr);
  options.observe = asks(*search);
  if (job.kept != nullptr)
    options.interim = [&to = *search](const pipeline::Interim& interim) {
      to.interim = interim.image;
      to.baseline_ns = interim.baseline_ns;
      to.interim_ns = interim.winner_ns;
    };
  search->looks.emplace(search->expr, std::move(options));
  TRY(const bool more, search->looks->first());
  if (!more) return end(*search, result);
  const bool may_wait = job.kept != nullptr && search->looks->has_found();
  return may_wait ? keep(std::move(search), result) : go_on(*search, result);
}

Result<void> compile(const trident_engine_job& job, std::uint32_t tier, trident_engine_result& result) {
  TRY(expr::Expr e, expr_of(job));
  TRY(pipeline::Options options, options_of(job));
  if (tier != TRIDENT_TIER_BASELINE) return optimise(job, std::move(e), std::move(options), result);
  TRY(const pipeline::Compiled compiled, pipeline::compile_baseline(e, options));
  return hand_over(compiled.image, result);
}

}  // namespace

extern "C" {

uint32_t trident_engine_version(void) {
  return TRIDENT_ENGINE_ABI_VERSION;
}

void trident_engine_compile(const trident_engine_job* job, uint32_t tier, trident_engine_result* result) {
  result->outcome = TRIDENT_ENGINE_ERROR;
  result->fd = -1;
  if (job->struct_size < kJobBytesMin || result->struct_size < sizeof(*result)) return;
  trident_engine_job known{};  // a caller may be older
  std::memcpy(&known, job, std::min<std::size_t>(job->struct_size, sizeof known));
  trident::engine::answer(*result, [&] { return compile(known, tier, *result); });
}

void trident_engine_go_on(void* kept, trident_engine_result* result) {
  const std::unique_ptr<Searching> search(static_cast<Searching*>(kept));
  result->outcome = TRIDENT_ENGINE_ERROR;
  result->fd = -1;
  trident::engine::answer(*result, [&] { return go_on(*search, *result); });
}

void trident_engine_forget(void* kept) {
  delete static_cast<Searching*>(kept);
}

}  // extern "C"
