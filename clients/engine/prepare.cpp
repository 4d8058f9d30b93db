// Everything that the engine makes once in a process, made by doing a small piece of each kind of work.
//
// A function-local static that one thread is making while another forks stays half made in the child, and whoever needs
// it there waits for ever. The host therefore calls this before the work itself, under a lock that its fork handlers
// take too. tests/client/fork_test.cpp reads the guards of all statics of this library and finds those missing here.
#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <variant>

#include "clients/c/engine_abi.h"
#include "jit/expr/expr.h"
#include "jit/function/submission.h"
#include "jit/image/image.h"
#include "jit/pipeline/function.h"
#include "jit/pipeline/loop.h"
#include "jit/pipeline/pipeline.h"
#include "jit/tir/build/build.h"
#include "jit/tir/superopt/shipped_weights.h"
#include "runtime/os/clock.h"

namespace {

namespace build = trident::tir::build;
namespace expr = trident::expr;
namespace image = trident::image;
namespace pipeline = trident::pipeline;

constexpr const char* kText = "x * x + exp(y) / x";
constexpr const char* kProgram = "halt";
constexpr const char* kFunction = "fn f(x: [i64]) -> i64 { let s = 0; for i in 0..len(x) { s = s + x[i]; } return s; }";
/// ldrb w2, [x1], #1; strb w2, [x0], #1; subs x3, x3, #1; b.ne back to the first.
constexpr std::uint32_t kLoop[] = {0x38401422, 0x38001402, 0xf1000463, 0x54ffffa1};

void prepare_baselines() {
  const auto parsed = expr::parse(kText);
  if (!parsed.ok()) return;
  const auto compiled = pipeline::compile_baseline(*parsed, {});
  if (compiled.ok()) (void)image::seal(compiled->image).ok();
}

/// Rules are compiled for each policy.
void prepare_searches() {
  const auto parsed = expr::parse(kText);
  if (!parsed.ok()) return;
  for (const auto kind : {expr::PolicyKind::exact, expr::PolicyKind::bounded, expr::PolicyKind::fast}) {
    (void)pipeline::optimise(*parsed, {.target = {.policy = {kind, 2}}, .trace = {.stop_after = "forms"}}).ok();
  }
  (void)trident::os::cycle_counter_ns();
}

void prepare_programs() {
  build::Request request;
  request.text = kProgram;
  request.milliseconds = 1;
  request.programs = 1;
  (void)build::build(request).ok();
  // A millisecond is too short for each proposer to have its turn.
  (void)trident::tir::superopt::shipped_ordering();
}

void prepare_loops() {
  const auto bytes = std::as_bytes(std::span(kLoop));
  const auto outcome = pipeline::compile_loop({.code = {bytes.begin(), bytes.end()}}, {});
  if (!outcome.ok()) return;
  if (const auto* compiled = std::get_if<pipeline::CompiledLoop>(&*outcome)) (void)image::seal(compiled->image).ok();
}

void prepare_functions() {
  const auto program = trident::function::read_program(kFunction, {});
  if (!program.ok()) return;
  const auto compiled = pipeline::compile_function(program->function(), program->library, {});
  if (compiled.ok()) (void)image::seal(compiled->image).ok();
}

struct Preparation {
  void (*prepare)();
  bool done = false;
};

}  // namespace

extern "C" void trident_engine_prepare(uint32_t work) {
  static constinit std::array<Preparation, 6> preparations = {{{nullptr, true},
                                                               {prepare_baselines},
                                                               {prepare_searches},
                                                               {prepare_programs},
                                                               {prepare_loops},
                                                               {prepare_functions}}};
  if (work >= preparations.size() || preparations[work].done) return;
  try {
    preparations[work].prepare();
    preparations[work].done = true;
  } catch (...) {  // out of memory: the work itself makes what it needs
  }
}
