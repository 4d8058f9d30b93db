// Runs plans (plan.h). The sections that run once run on splats, the body in blocks. The last incomplete granule runs
// on copies padded with the last element, so that nothing past the arrays' ends is read or written.
#include "jit/kir/interpreter.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <span>

#include "jit/kir/plan.h"
#include "runtime/base/float_environment.h"

namespace trident::kir {

namespace {

using Bases = std::byte* [kBasesMax];

std::byte* at(const Bases& bases, const Place& place) {
  return bases[place.base] + place.offset;
}

std::size_t index_mask(const Place& place) {
  return place.is_array ? ~std::size_t{0} : 0;
}

void fill(std::byte* to, std::uint64_t n, std::size_t width, const std::byte* value) {
  for (std::uint64_t i = 0; i < n; ++i, to += width) std::memcpy(to, value, width);
}

void fill_splat(std::byte* to, Type type, std::uint64_t bits) {
  fill(to, kBlockGranule, ir::bytes_of(type), reinterpret_cast<const std::byte*>(&bits));  // little endian
}

auto joiner(const Reduction& reduction) {
  return [op = joining_op(reduction.op), type = reduction.type](std::uint64_t earlier, std::uint64_t later) {
    return eval_lane(op, type, type, later, earlier, 0);
  };
}

void start_partials(const Reduction& reduction, std::byte* partials) {
  const std::uint64_t bits = start_bits(reduction.op, reduction.type);
  fill(partials, partials_of(reduction.type), ir::bytes_of(reduction.type), reinterpret_cast<const std::byte*>(&bits));
}

/// Returns the result of the chunk.
std::uint64_t chunk_result(const Reduction& reduction, const std::byte* partials) {
  const std::size_t width = ir::bytes_of(reduction.type);
  std::uint64_t lanes[kPartialBytes / 4] = {};
  for (std::size_t i = 0; i < partials_of(reduction.type); ++i) std::memcpy(&lanes[i], partials + i * width, width);
  return joined_partials(lanes, partials_of(reduction.type), joiner(reduction));
}

/// `n` elements of each array from number `first` on; only reductions may tell n from the next multiple of the granule.
void run_steps(std::span<const Step> steps, const Bases& bases, std::uint64_t first, std::size_t n) {
  BlockArgs args;
  args.first = first;
  const std::size_t whole = (n + kBlockGranule - 1) / kBlockGranule * kBlockGranule;
  for (const Step& step : steps) {
    args.d = at(bases, step.d);
    args.a = at(bases, step.a);
    args.b = at(bases, step.b);
    args.c = at(bases, step.c);
    args.a_mask = index_mask(step.a);
    args.b_mask = step.is_lookup ? step.last_entry : index_mask(step.b);
    args.c_mask = index_mask(step.c);
    args.table = bases[step.table_base];
    args.n = step.is_reduction ? n : whole;
    step.function(args);
  }
}

class Run {
 public:
  Run(const PlanState& plan, std::byte* scratch, std::uint64_t n, const void* const* in, void* const* out)
      : plan_(plan), n_(n), in_(in), out_(out) {
    bases_[kScratchBase] = scratch;
    // Constants are only read; one table of bases serves reading and writing.
    bases_[kConstantBase] = reinterpret_cast<std::byte*>(const_cast<ScratchLine*>(plan.constants.data()));
  }

  std::uint64_t run(const std::uint64_t* params) {
    for (std::size_t k = 0; k < plan_.inputs.size(); ++k) bases_[kFirstArrayBase + k] = input(k);  // tables stay there
    for (const Fill& x : plan_.fills)
      fill_splat(at(bases_, x.place), x.type,
                 x.is_count ? eval_lane(Op::Convert, x.type, Type::i64, n_, 0, 0) : params[x.param]);
    run_steps(plan_.invariant_steps, bases_, 0, kBlockGranule);
    for (const Reduction& x : plan_.reductions) {
      start_partials(x, at(bases_, x.partials));
      new (at(bases_, x.chunks)) ChunkBits;
    }
    const std::uint64_t done = run_body();
    for (const Store& x : plan_.filled_arrays) {
      std::byte element[sizeof(std::uint64_t)];
      store_elements(x, element, 1);
      fill(static_cast<std::byte*>(out_[x.output]), done, x.bytes, element);
    }
    run_epilogue();
    for (const Store& x : plan_.scalar_stores) std::memcpy(out_[x.output], at(bases_, x.place), x.bytes);
    return done;
  }

 private:
  /// Returns how many elements are done.
  std::uint64_t run_body() {
    if (plan_.body_steps.empty() && !plan_.exit) return n_;
    const std::uint64_t whole = n_ / kBlockGranule * kBlockGranule;
    for (std::uint64_t done = 0; done < whole;) {
      const std::size_t n = std::min({std::uint64_t{plan_.block}, whole - done, kChunk - done % kChunk});
      for (std::size_t k = 0; k < plan_.inputs.size(); ++k)
        bases_[kFirstArrayBase + k] = input(k) + done * plan_.inputs[k].bytes;
      for (std::size_t k = 0; k < plan_.outputs.size(); ++k)
        if (plan_.outputs[k].bytes != 0)
          bases_[output_base(k)] = static_cast<std::byte*>(out_[k]) + done * plan_.outputs[k].bytes;
      const std::size_t kept = run_block(done, n);
      done += kept;
      if (kept != n) return done;
      if (done % kChunk != 0) continue;
      end_chunk();
      if (plan_.decided && done != n_ && is_decided()) return n_;
    }
    const std::uint64_t done = whole == n_ ? n_ : whole + run_tail(whole, n_ - whole);
    if (n_ % kChunk != 0 || n_ == 0) end_chunk();
    return done;
  }

  /// Runs the body over `n` elements at the bases, or over those before the exit; returns their number.
  std::size_t run_block(std::uint64_t first, std::size_t n) {
    const std::span<const Step> steps = plan_.body_steps;
    run_steps(steps.first(plan_.steps_to_exit), bases_, first, n);
    const std::size_t kept = before_exit(n);
    if (kept == 0) return 0;
    run_steps(steps.subspan(plan_.steps_to_exit), bases_, first, kept);
    for (const Store& x : plan_.block_stores) store_elements(x, bases_[output_base(x.output)], kept);
    return kept;
  }

  void store_elements(const Store& x, std::byte* to, std::size_t n) const {
    if (ir::converts(x.storage))
      ir::narrow(x.storage, at(bases_, x.place), to, n);
    else
      std::memmove(to, at(bases_, x.place), n * x.bytes);
  }

  /// Returns how many of the block's `n` elements stand in granules before the first set lane of the exit's mask.
  [[nodiscard]] std::size_t before_exit(std::size_t n) const {
    if (!plan_.exit) return n;
    const std::byte* const mask = at(bases_, plan_.exit->place);
    const std::size_t step = plan_.exit->place.is_array ? plan_.exit->bytes : 0;
    for (std::size_t i = 0; i < n; ++i)
      if (mask[i * step] != std::byte{0}) return i / kBlockGranule * kBlockGranule;
    return n;
  }

  void end_chunk() {
    for (const Reduction& x : plan_.reductions) {
      std::byte* const partials = at(bases_, x.partials);
      chunks_of(x).add(chunk_result(x, partials), joiner(x));
      start_partials(x, partials);
    }
  }

  /// Computes the epilogue from the chunks so far.
  void run_epilogue() {
    for (const Reduction& x : plan_.reductions)
      fill_splat(at(bases_, x.result), x.type, chunks_of(x).result(joiner(x)));
    run_steps(plan_.epilogue_steps, bases_, 0, kBlockGranule);
  }

  bool is_decided() {
    run_epilogue();
    return *at(bases_, *plan_.decided) != std::byte{0};
  }

  ChunkBits& chunks_of(const Reduction& x) { return *reinterpret_cast<ChunkBits*>(at(bases_, x.chunks)); }

  /// Returns `n`, or 0 when the kernel stops before the tail.
  std::size_t run_tail(std::uint64_t done, std::size_t n) {
    for (std::size_t k = 0; k < plan_.inputs.size(); ++k) {
      const ArrayPlan& array = plan_.inputs[k];
      if (array.bytes == 0) continue;
      std::byte* copy = bases_[kScratchBase] + array.tail;
      std::memcpy(copy, static_cast<const std::byte*>(in_[k]) + done * array.bytes, n * array.bytes);
      fill(copy + n * array.bytes, kBlockGranule - n, array.bytes, copy + (n - 1) * array.bytes);
      bases_[kFirstArrayBase + k] = copy;
    }
    for (std::size_t k = 0; k < plan_.outputs.size(); ++k)
      bases_[output_base(k)] = bases_[kScratchBase] + plan_.outputs[k].tail;
    if (run_block(done, n) == 0) return 0;
    for (const std::uint32_t k : plan_.body_outputs) {
      const ArrayPlan& array = plan_.outputs[k];
      std::memcpy(static_cast<std::byte*>(out_[k]) + done * array.bytes, bases_[output_base(k)], n * array.bytes);
    }
    return n;
  }

  [[nodiscard]] std::byte* input(std::size_t k) const {
    return static_cast<std::byte*>(const_cast<void*>(in_[k]));  // only read
  }

  [[nodiscard]] std::size_t output_base(std::size_t output) const {
    return kFirstArrayBase + plan_.inputs.size() + output;
  }

  const PlanState& plan_;
  Bases bases_;
  const std::uint64_t n_;
  const void* const* in_;
  void* const* out_;
};

std::uint64_t run_pass(const PlanState& plan, std::uint64_t n, const void* const* in, void* const* out,
                       const std::uint64_t* params) {
  if (plan.scratch_bytes <= kStackScratchBytes) {
    ScratchLine scratch[kStackScratchBytes / sizeof(ScratchLine)];
    return Run(plan, scratch->bytes, n, in, out).run(params);
  }
  const std::lock_guard lock(plan.large_scratch_lock);
  return Run(plan, plan.large_scratch.data()->bytes, n, in, out).run(params);
}

/// Runs the passes from the first on. Each gets the parameters of the call and behind them the results of the one
/// before.
std::uint64_t run_passes(const PlanState& last, std::uint64_t n, const void* const* in, void* const* out,
                         const std::uint64_t* params) {
  if (last.before == nullptr) return run_pass(last, n, in, out, params);
  const PlanState* passes[kPassesMax];
  std::size_t count = 0;
  for (const PlanState* pass = last.before.get(); pass != nullptr; pass = pass->before.get()) passes[count++] = pass;
  std::uint64_t all[limits::kInputsMax + limits::kOutputsMax] = {}, results[limits::kOutputsMax] = {};
  std::copy_n(params, last.param_count, all);
  void* places[limits::kOutputsMax];
  for (std::size_t i = 0; i < limits::kOutputsMax; ++i) places[i] = &results[i];
  while (count-- > 0) {
    run_pass(*passes[count], n, in, places, all);
    std::copy(std::begin(results), std::end(results), all + last.param_count);
  }
  return run_pass(last, n, in, out, all);
}

}  // namespace

bool Plan::takes_turns() const {
  for (const PlanState* pass = state_.get(); pass != nullptr; pass = pass->before.get())
    if (!pass->large_scratch.empty()) return true;
  return false;
}

std::uint64_t Plan::run(std::uint64_t n, const void* const* in, void* const* out, const std::uint64_t* params) const {
  if (n == 0 && state_->scalar_stores.empty()) return 0;
  const StandardFloats floats;
  return run_passes(*state_, n, in, out, params);
}

std::uint64_t interpret(const Kernel& kernel, std::uint64_t n, const void* const* in, void* const* out,
                        const std::uint64_t* params) {
  return Plan::prepare(kernel).run(n, in, out, params);
}

}  // namespace trident::kir
