#include "clients/c/kernel.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "clients/c/context.h"
#include "clients/c/observation.h"
#include "jit/expr/shape.h"
#include "runtime/base/float_environment.h"

namespace trident::client {
namespace {

// Fills the outputs when memory is too short even for the interpreter. The answers shout instead of lying: NaN for
// floats, the least integer for integers, all ones for narrow elements. trident_wait(kernel, 0, 0) after the submission
// rules this case out.
void fill_unanswered(const Kernel& kernel, std::uint64_t n, void* const* out) {
  for (std::size_t i = 0; i < kernel.expr.outputs.size(); ++i) {
    const std::uint64_t count = (kernel.scalar_outputs >> i & 1) != 0 ? 1 : n;
    if (count == 0) continue;
    if (ir::converts(kernel.expr.outputs[i].storage)) {
      std::memset(out[i], 0xFF, count * ir::facts_of(kernel.expr.outputs[i].storage).bytes);
      continue;
    }
    const auto fill = [&](auto value) { std::fill_n(static_cast<decltype(value)*>(out[i]), count, value); };
    switch (kernel.expr.at(kernel.expr.outputs[i].node).type) {
      case ir::Type::f32: fill(std::numeric_limits<float>::quiet_NaN()); break;
      case ir::Type::f64: fill(std::numeric_limits<double>::quiet_NaN()); break;
      case ir::Type::i32:
      case ir::Type::b32: fill(std::numeric_limits<std::int32_t>::min()); break;
      case ir::Type::i64:
      case ir::Type::b64: fill(std::numeric_limits<std::int64_t>::min()); break;
    }
  }
}

// The entry of a kernel that has no image.
void interpret_entry(const void* self, std::uint64_t n, const void* const* in, void* const* out,
                     const std::uint64_t* params) {
  const Kernel& kernel = *Kernel::of(static_cast<const trident_kernel*>(self));
  try {
    const auto lowered = kernel.lower();
    if (lowered) {
      lowered.value()->plan.run(n, in, out, params);
      return;
    }
  } catch (...) {  // bad_alloc; nothing may cross into the caller's C frames
  }
  fill_unanswered(kernel, n, out);
}

using EntryFunction = std::remove_pointer_t<trident_entry_fn>;

/// Weight of a call beside its elements.
constexpr std::uint64_t kCallWeight = 64;
/// Looks at the count of calls are so far apart: an eighth of the time that it is counted, within these.
constexpr std::uint64_t kCountNs = 20'000'000, kCountMaxNs = 2'000'000'000, kCountShare = 8;

void count_call(const Kernel& kernel, std::uint64_t n) {
  kernel.call_weight.fetch_add(n + kCallWeight, std::memory_order_relaxed);
}

// The entry of a kernel that waits for better code.
void counted_entry(const void* self, std::uint64_t n, const void* const* in, void* const* out,
                   const std::uint64_t* params) {
  const auto& kernel = static_cast<const Kernel&>(*static_cast<const trident_kernel*>(self));
  count_call(kernel, n);
  kernel.submission.slot.code<std::remove_pointer_t<trident_entry_fn>>()(self, n, in, out, params);
}

// The entry of a kernel whose calls are watched.
void watched_entry(const void* self, std::uint64_t n, const void* const* in, void* const* out,
                   const std::uint64_t* params) {
  const auto& kernel = static_cast<const Kernel&>(*static_cast<const trident_kernel*>(self));
  count_call(kernel, n);
  kernel.watch->note(n, in, params);
  kernel.submission.slot.code<EntryFunction>()(self, n, in, out, params);
}

/// Returns whether the caller has left a range open that code may assume.
bool is_open(const expr::Variable& v) {
  return !v.is_table() && !ir::converts(v.storage) && !(std::isfinite(v.lo) && std::isfinite(v.hi));
}

}  // namespace

Kernel::Kernel(Context& owner, expr::Expr&& expression, const expr::Policy& how, std::uint32_t length)
    : Handle(owner, false),
      expr(std::move(expression)),
      policy(how),
      elements(length),
      submission(*this, entry, &interpret_entry) {
  static_assert(sizeof(trident_kernel) == TRIDENT_SELF_MISSES_OFFSET, "the pointer to the counter follows the entry");
  misses = &miss_count;
  scalars = expr::parameters_of(expr.variables);
  scalar_count = static_cast<std::uint32_t>(scalars.size());
  for (const expr::Variable& v : expr.variables) array_count += v.is_scalar() ? 0 : 1;
  const Settings& settings = context.settings();
  if (settings.mode != TRIDENT_MODE_INTERP) submission.slot.set_resting_detour(&counted_entry);
  if (settings.speculate && settings.mode != TRIDENT_MODE_INTERP) {
    const bool learns = std::any_of(expr.variables.begin(), expr.variables.end(), is_open);
    watch = std::make_unique<DataWatch>(expr.variables, submission, &watched_entry, miss_count, learns);
  }
  if (!expr::has_reductions(expr)) return;
  const std::vector<expr::Shape> shapes = expr::shapes_of(expr);
  for (std::size_t i = 0; i < expr.outputs.size(); ++i) {
    const bool scalar = expr::output_kind(shapes[expr.outputs[i].node.index]) == kir::OutputKind::scalar;
    if (scalar) scalar_outputs |= std::uint64_t{1} << i;
  }
}

Kernel::~Kernel() {
  delete lowered.load(std::memory_order_acquire);
}

trident_entry_fn Kernel::enter(std::uint64_t n, const void* const* in, const std::uint64_t* params) const {
  const trident_entry_fn published = __atomic_load_n(&entry, __ATOMIC_ACQUIRE);
  if (published != &watched_entry && published != &counted_entry) return published;
  count_call(*this, n);
  if (published == &watched_entry) watch->note(n, in, params);
  return submission.slot.code<EntryFunction>();
}

trident_entry_fn Kernel::code() const {
  const trident_entry_fn published = __atomic_load_n(&entry, __ATOMIC_ACQUIRE);
  if (published != &watched_entry && published != &counted_entry) return published;
  return submission.slot.code<EntryFunction>();
}

void Kernel::count_part(std::uint64_t elements) const {
  const trident_entry_fn published = __atomic_load_n(&entry, __ATOMIC_ACQUIRE);
  if (published == &watched_entry || published == &counted_entry)
    call_weight.fetch_add(elements, std::memory_order_relaxed);
}

Result<const Lowered*> Kernel::lower() const {
  if (const Lowered* made = lowered.load(std::memory_order_acquire)) return made;
  const StandardFloats floats;  // a call's thread may get here first
  try {
    expr::LowerOptions options;
    options.policy = policy;
    options.simplify = false;
    TRY(const kir::Kernel kernel, expr::lower(expr, options));
    auto fresh = std::make_unique<const Lowered>(Lowered{kir::Plan::prepare(kernel), division_of(kernel)});
    const Lowered* expected = nullptr;
    if (!lowered.compare_exchange_strong(expected, fresh.get(), std::memory_order_acq_rel)) return expected;
    return fresh.release();
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::kOutOfMemory, {}};
  }
}

void Kernel::observe(std::uint64_t n, const void* const* in, const std::uint64_t* params) const {
  if (n == 0 || !context.settings().speculate) return;
  context.tell_observed(const_cast<Submission&>(submission), ranges_of(expr.variables, n, in, params));
}

std::uint64_t Kernel::look(std::uint64_t now_ns) {
  const std::uint64_t watched_ns = watch ? watch->look(now_ns) : DataWatch::kNever;
  if (submission.state == JobState::finished) return watched_ns;
  if (counted_since_ns == 0) counted_since_ns = now_ns;
  const std::uint64_t pause_ns = std::clamp((now_ns - counted_since_ns) / kCountShare, kCountNs, kCountMaxNs);
  return std::min(watched_ns, now_ns + pause_ns);
}

void Kernel::complete(ImageClaim& claim) const {
  claim.may_speculate = !submission.observed.empty();
  claim.inputs = array_count;
  claim.params = scalar_count;
  claim.outputs = static_cast<std::uint32_t>(expr.outputs.size());
}

/// A plan with a lock may be locked by a thread that is not here.
void* Kernel::give_up_locked() noexcept {
  const Lowered* made = lowered.load(std::memory_order_acquire);
  if (made == nullptr || !made->plan.takes_turns()) return nullptr;
  lowered.store(nullptr, std::memory_order_release);
  return const_cast<Lowered*>(made);
}

}  // namespace trident::client
