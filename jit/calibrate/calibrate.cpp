#include "jit/calibrate/calibrate.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <set>

#include "jit/image/image.h"
#include "jit/judge/guarded.h"
#include "jit/judge/timing.h"
#include "jit/kir/interpreter.h"
#include "jit/kir/reduction.h"
#include "runtime/os/clock.h"
#include "runtime/os/cpu.h"
#include "runtime/os/interrupt.h"
#include "runtime/os/self.h"
#include "runtime/stats/robust.h"

namespace trident::calibrate {
namespace {

using cost::Figures;
using cost::FmaTimes;
using cost::Row;
using kir::Op;

constexpr std::uint64_t kLatencyElements = 64, kThroughputElements = 128;
/// Calls that reductions are timed in, within a chunk; their difference is free of the call and of the epilogue.
constexpr std::uint64_t kReductionShort = 256, kReductionLong = 1024;
constexpr unsigned kThroughputShort = 12, kThroughputLong = 36;
/// Steps of several instructions get fewer chains, which need more registers each, and fewer steps, which fill the
/// first-level cache of instructions and the processor's buffers of decoded instructions.
constexpr double kLongStepInsts = 4;
constexpr unsigned kLongStepChains = 8;
constexpr unsigned kThroughputInsts = 144;
/// A root more leaves less of a large number: no more than stay well above 1.
constexpr unsigned kRootsShort = 2, kRootsLong = 6;
/// Instructions of the shorter of two long chains: more than any processor holds at once, so that the part of a chain
/// that overlaps with the next one is the same for both.
constexpr unsigned kWindowInsts = 700;
constexpr unsigned kPilotSteps = 8;
/// How often a row that was disturbed is measured again.
constexpr int kRepeatsMax = 3;
/// Partial results in registers that hide an addition's latency.
constexpr unsigned kReductionRegisters = 8;

bool reduces(const Row& row) {
  return kir::info(row.op).signature == kir::Signature::Reduce;
}

/// Refuses to time a kernel that computes something else. The oracle is the interpreter.
Result<void> check_answer(const Row& row, const kir::Kernel& kernel, const image::Mapped& code, const OpInputs& inputs,
                          std::uint64_t elements) {
  const judge::Signature signature = judge::signature_of(kernel);
  judge::GuardedRun run;
  run.elements = elements;
  run.inputs.assign(inputs.arrays.begin(), inputs.arrays.end());
  run.params = {inputs.params};
  run.calls = {{.first = 0, .n = elements}};
  TRY(const judge::GuardedResults results, judge::run_guarded(code, signature, run));
  const auto wrong = [&](const std::string& what) {
    return make_error(ErrorCode::kInternal, "a kernel for '%s' %s: please report this as a bug",
                      cost::name_of(row).c_str(), what.c_str());
  };
  if (!results.sound()) return wrong(os::describe(results.end));
  std::vector<const void*> in;
  for (const auto& array : inputs.arrays) in.push_back(array.data());
  std::vector<std::vector<std::byte>> right;
  std::vector<void*> out;
  for (const auto& output : signature.outputs)
    right.emplace_back(output.bytes * (output.scalar ? 1 : static_cast<std::size_t>(elements)));
  for (auto& output : right) out.push_back(output.data());
  kir::Plan::prepare(kernel).run(elements, in.data(), out.data(), inputs.params.data());
  return results.outputs[0] == right ? Result<void>() : wrong("gives another result than the interpreter");
}

class Calibration {
 public:
  explicit Calibration(const CalibrateOptions& options) : options_(options) {}

  Result<Figures> measure(const Row& row) {
    Figures steps;
    if (reduces(row)) {
      // Each partial result waits for itself, once in as many elements as there are partial results.
      const double waits = static_cast<double>(lanes(row)) / static_cast<double>(kir::partials_of(row.type));
      TRY(steps.latency, reduction(row, Measure::latency, 1, waits));
      const auto chains = static_cast<unsigned>(std::max(1.0, kReductionRegisters * waits));
      TRY(steps.throughput, reduction(row, Measure::throughput, chains, chains));
      return steps;
    }
    TRY(steps.latency, latency(row));
    TRY(steps.throughput, throughput(row));
    return steps;
  }

  /// Times of an fma, from the last row that was measured.
  [[nodiscard]] FmaTimes fma_times() const { return fma_; }

 private:
  Result<image::Mapped> compile(const Row& row, const kir::Kernel& kernel, const codegen::Variant& variant) {
    TRY_VOID(kir::check(kernel));
    auto code = codegen::emit(kernel, options_.isa, variant);
    if (!code.ok())
      return make_error(code.error().code, "the kernel that times '%s' cannot be compiled: %s",
                        cost::name_of(row).c_str(), code.error().message.c_str());
    insts_ = code->loop_insts;
    const image::ImageBytes image =
        image::build(*code, image::counts_of(kernel), options_.isa, TRIDENT_TIER_OPTIMISED, {});
    TRY(const os::Fd fd, image::seal(image));
    return image::Mapped::map(fd);
  }

  [[nodiscard]] std::uint64_t lanes(const Row& row) const {
    const std::uint64_t vector_bytes = options_.isa == codegen::Isa::avx512 ? 64 : 32;
    return vector_bytes / ir::bytes_of(reference_type(row));
  }

  /// Checks a chain of fma. Rows of a type have the same ones, of the same inputs: each code is checked once.
  Result<void> check_reference(const Row& row, const kir::Kernel& kernel, const image::Mapped& code,
                               const OpInputs& inputs, std::uint64_t elements) {
    const auto& digest = code.header().digest;
    if (checked_references_.contains({digest[0], digest[1], elements})) return {};
    TRY_VOID(check_answer(row, kernel, code, inputs, elements));
    checked_references_.insert({digest[0], digest[1], elements});
    return {};
  }

  /// Times `kernels`, which take turns; the last two are chains of fma. [kernel][round], nanoseconds per call.
  Result<std::vector<std::vector<double>>> time(const Row& row, std::span<const kir::Kernel> kernels,
                                                std::span<const codegen::Variant> variants, std::uint64_t elements) {
    std::vector<image::Mapped> mapped;
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      TRY(image::Mapped image, compile(row, kernels[i], variants[i]));
      mapped.push_back(std::move(image));
    }
    std::vector<const image::Mapped*> contestants;
    for (const image::Mapped& image : mapped) contestants.push_back(&image);
    const OpInputs inputs = op_inputs(row, elements);
    const std::size_t references = kernels.size() - 2;
    for (std::size_t i = 0; i < references; ++i) TRY_VOID(check_answer(row, kernels[i], mapped[i], inputs, elements));
    for (std::size_t i = references; i < kernels.size(); ++i)
      TRY_VOID(check_reference(row, kernels[i], mapped[i], inputs, elements));
    judge::Signature signature;
    judge::Workload workload;
    workload.elements = elements;
    workload.params = inputs.params;
    for (const auto& array : inputs.arrays) {
      workload.inputs.emplace_back(array);
      signature.input_bytes.push_back(static_cast<std::uint32_t>(array.size() / elements));
    }
    signature.outputs.resize(kChains);
    constexpr std::uint64_t kCpuNs = 5'000'000'000;
    const judge::TimingRules rules{.rounds = options_.rounds, .batch_ns = options_.batch_ns, .cpu_ns = kCpuNs};
    TRY(judge::Timings timings, judge::time_rounds(contestants, signature, workload, rules));
    for (const os::SandboxEnd& end : timings.ends)
      if (end.kind != os::SandboxEnd::Kind::finished)
        return make_error(ErrorCode::kInternal, "a kernel for '%s' %s: please report this as a bug",
                          cost::name_of(row).c_str(), os::describe(end).c_str());
    return std::move(timings.ns);
  }

  /// So many that no latency shows, and that fit into the registers beside what the ops need: opmask registers are
  /// seven, AVX2 has sixteen of vectors.
  [[nodiscard]] unsigned throughput_chains(const Row& row) const {
    const bool few_registers = options_.isa != codegen::Isa::avx512;
    if (insts_per_step_ >= kLongStepInsts) return kLongStepChains - (few_registers ? 2 : 0);
    const bool masks = ir::is_mask(row.from);
    if (few_registers) return insts_per_step_ < 2 && !masks ? reference_chains() : kChains - 4;
    return masks ? kChains - 7 : kChains;
  }
  [[nodiscard]] unsigned reference_chains() const {
    return options_.isa == codegen::Isa::avx512 ? kChains : kChains - 2;
  }

  /// `op_steps`: more of them in the longer kernel of the op than in the shorter one, per element.
  Result<double> compare(const Row& row, const kir::Kernel& op_short, const kir::Kernel& op_long, unsigned fma_chains,
                         unsigned fma_short, unsigned fma_long, double op_steps, std::uint64_t elements,
                         double* fma_ns) {
    const kir::Kernel kernels[] = {op_short, op_long, reference_kernel(row, fma_chains, fma_short),
                                   reference_kernel(row, fma_chains, fma_long)};
    const codegen::Variant variants[] = {op_variant(row), op_variant(row), reference_variant(), reference_variant()};
    TRY(auto ns, time(row, kernels, variants, elements));
    const StepRounds rounds{std::move(ns[0]), std::move(ns[1]), std::move(ns[2]), std::move(ns[3])};
    const double fma_steps = static_cast<double>(fma_chains) * (fma_long - fma_short);
    auto ratio = steps_in_fmas(rounds, op_steps, fma_steps);
    if (!ratio.ok())
      return make_error(ratio.error().code, "'%s': %s", cost::name_of(row).c_str(), ratio.error().message.c_str());
    *fma_ns = fma_time(row, rounds, fma_steps, elements);
    return ratio;
  }

  [[nodiscard]] double fma_time(const Row& row, const StepRounds& rounds, double fma_steps,
                                std::uint64_t elements) const {
    const double vectors = static_cast<double>(elements) / static_cast<double>(lanes(row));
    return (stats::median(rounds.fma_long) - stats::median(rounds.fma_short)) / (fma_steps * vectors);
  }

  static codegen::Variant reference_variant() { return op_variant({.op = Op::Fma}); }

  Result<double> latency(const Row& row) {
    const kir::Kernel pilot = op_kernel(row, Measure::latency, 1, kPilotSteps);
    const kir::Kernel longer_pilot = op_kernel(row, Measure::latency, 1, 2 * kPilotSteps);
    TRY([[maybe_unused]] const image::Mapped short_pilot, compile(row, pilot, op_variant(row)));
    const double before = insts_;
    TRY([[maybe_unused]] const image::Mapped long_pilot, compile(row, longer_pilot, op_variant(row)));
    insts_per_step_ = std::max(1.0, (insts_ - before) / kPilotSteps);
    const auto steps = static_cast<unsigned>(std::ceil(kWindowInsts / insts_per_step_));
    return compare(row, op_kernel(row, Measure::latency, 1, steps), op_kernel(row, Measure::latency, 1, 2 * steps), 1,
                   kWindowInsts, 2 * kWindowInsts, steps, kLatencyElements, &fma_.latency_ns);
  }

  Result<double> throughput(const Row& row) {
    const unsigned chains = throughput_chains(row);
    const bool roots = row.op == Op::Sqrt;
    const bool long_steps = insts_per_step_ >= kLongStepInsts;
    const unsigned fitting = std::max(1u, static_cast<unsigned>(kThroughputInsts / insts_per_step_) / chains);
    const unsigned few = roots ? kRootsShort : long_steps ? fitting : kThroughputShort;
    const unsigned many = roots ? kRootsLong : long_steps ? 3 * fitting : kThroughputLong;
    return compare(row, op_kernel(row, Measure::throughput, chains, few),
                   op_kernel(row, Measure::throughput, chains, many), reference_chains(), kThroughputShort,
                   kThroughputLong, static_cast<double>(chains) * (many - few), kThroughputElements,
                   &fma_.throughput_ns);
  }

  /// Time of one of the row's ops in a reduction, where an element takes `per_element` of them.
  Result<double> reduction(const Row& row, Measure measure, unsigned chains, double per_element) {
    const bool waits = measure == Measure::latency;
    const unsigned fma_chains = waits ? 1 : reference_chains();
    const unsigned few = waits ? kWindowInsts : kThroughputShort, many = waits ? 2 * kWindowInsts : kThroughputLong;
    const kir::Kernel kernel = op_kernel(row, measure, chains, 1);
    double in_fmas[2] = {};
    const std::uint64_t elements[2] = {kReductionShort, kReductionLong};
    for (int i = 0; i < 2; ++i) {
      const kir::Kernel kernels[] = {kernel, reference_kernel(row, fma_chains, few),
                                     reference_kernel(row, fma_chains, many)};
      const codegen::Variant variants[] = {op_variant(row), reference_variant(), reference_variant()};
      TRY(auto ns, time(row, kernels, variants, elements[i]));
      const StepRounds rounds{std::vector<double>(ns[0].size()), std::move(ns[0]), std::move(ns[1]), std::move(ns[2])};
      const double fma_steps = static_cast<double>(fma_chains) * (many - few);
      // The unit is fmas of one element.
      TRY(in_fmas[i], steps_in_fmas(rounds, 1, fma_steps * static_cast<double>(elements[i])));
      if (!waits) fma_.throughput_ns = fma_time(row, rounds, fma_steps, elements[i]);
    }
    return std::max(0.0, in_fmas[1] - in_fmas[0]) / static_cast<double>(kReductionLong - kReductionShort) / per_element;
  }

  const CalibrateOptions& options_;
  FmaTimes fma_;
  std::set<std::array<std::uint64_t, 3>> checked_references_;  ///< digests of images, elements
  std::uint32_t insts_ = 0;                                    ///< of the loop that was compiled last
  double insts_per_step_ = 1;                                  ///< of the row whose latency was measured last
};

double to_three_digits(double value) {
  return std::round(value * 1000) / 1000;
}

std::size_t index_of(const Row& row) {
  const auto rows = cost::rows();
  const auto at = std::find(rows.begin(), rows.end(), row);
  CHECK(at != rows.end());
  return static_cast<std::size_t>(at - rows.begin());
}

/// One measurement of a row, and the time of an fma meanwhile.
struct Attempt {
  Figures steps;
  FmaTimes fma;
  bool made = false;
  [[nodiscard]] bool better_than(const Attempt& other) const {
    return made && (!other.made || fma.throughput_ns < other.fma.throughput_ns);
  }
};

/// The least that an fma took of many, by the float type: 0 before anything was measured.
struct FmaLeast {
  double f32 = 0, f64 = 0;
  double& of(ir::Type type) { return type == ir::Type::f32 ? f32 : f64; }
};

FmaLeast least_of(std::span<const Attempt> attempts) {
  FmaLeast least;
  for (std::size_t i = 0; i < attempts.size(); ++i) {
    if (!attempts[i].made) continue;
    double& of = least.of(reference_type(cost::rows()[i]));
    const double ns = attempts[i].fma.throughput_ns;
    if (of == 0 || ns < of) of = ns;
  }
  return least;
}

/// Whoever shares a core (the other thread of it, another machine) takes from some ports more than from others, so that
/// ratios shift: a row is measured again when fmas were slower beside it than they can be. A clock that follows the
/// load varies less.
bool was_disturbed(const Row& row, const Attempt& attempt, FmaLeast least) {
  constexpr double kSlower = 1.15;
  return !attempt.made || attempt.fma.throughput_ns > kSlower * least.of(reference_type(row));
}

}  // namespace

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[16];
  std::strftime(text, sizeof text, "%Y-%m-%d", &parts);
  return text;
}

bool is_recent(const std::string& date, std::uint32_t days) {
  unsigned year = 0, month = 0, day = 0;
  if (std::sscanf(date.c_str(), "%4u-%2u-%2u", &year, &month, &day) != 3) return false;
  using namespace std::chrono;
  const sys_days measured{std::chrono::year(static_cast<int>(year)) / month / day};
  const auto age = floor<std::chrono::days>(system_clock::now()) - measured;
  return age >= std::chrono::days(0) && age <= std::chrono::days(days);
}

bool is_current(const cost::Table& table, std::string_view isa, std::uint32_t days) {
  return cost::fits(table, os::cpu_model(), isa) && table.build == os::build_id() && is_recent(table.date, days);
}

Result<double> steps_in_fmas(const StepRounds& rounds, double op_steps, double fma_steps) {
  const std::size_t count =
      std::min({rounds.op_short.size(), rounds.op_long.size(), rounds.fma_short.size(), rounds.fma_long.size()});
  std::vector<double> ratios;
  for (std::size_t i = 0; i < count; ++i) {
    const double fma = (rounds.fma_long[i] - rounds.fma_short[i]) / fma_steps;
    if (fma > 0) ratios.push_back((rounds.op_long[i] - rounds.op_short[i]) / op_steps / fma);
  }
  if (ratios.empty() || 2 * ratios.size() < count)
    return make_error(ErrorCode::kTimeout,
                      "too many rounds were disturbed by other processes; try again when the machine is less busy");
  return std::max(0.0, stats::median(ratios));
}

bool is_measured(const Row& row) {
  const bool there_and_back = row.op == Op::Convert || row.op == Op::Bitcast;
  return !there_and_back || row.from < row.type;
}

std::vector<Figures> figures_of(std::span<const Figures> steps) {
  const auto rows = cost::rows();
  CHECK(steps.size() == rows.size());
  std::vector<Figures> figures(rows.size());
  const auto figure = [&](std::size_t i, Measure measure, double Figures::*what) {
    const OpStep step = step_of(rows[i], measure);
    double left = steps[i].*what;
    // Ops that are measured beside another op are measured alone themselves.
    for (const Row& other : step.beside) {
      const Row measured = is_measured(other) ? other : Row{other.op, other.from, other.type, other.form};
      left -= steps[index_of(measured)].*what * step_of(measured, measure).share;
    }
    figures[i].*what = to_three_digits(std::max(0.0, left) * step.share);
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!is_measured(rows[i])) continue;
    figure(i, Measure::latency, &Figures::latency);
    figure(i, Measure::throughput, &Figures::throughput);
  }
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (!is_measured(rows[i])) figures[i] = figures[index_of({rows[i].op, rows[i].from, rows[i].type, rows[i].form})];
  return figures;
}

Result<cost::Table> calibrate(const CalibrateOptions& options) {
  os::cycle_counter_ns();  // measured once here, not in every child
  const auto rows = cost::rows();
  Calibration calibration(options);
  cost::Table table;
  table.cpu = os::cpu_model();
  table.isa = codegen::name_of(options.isa);
  table.build = os::build_id();
  table.date = today();
  std::vector<Attempt> best(rows.size());
  for (int pass = 0; pass <= kRepeatsMax; ++pass) {
    const FmaLeast least = least_of(best);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (!is_measured(rows[i]) || (pass > 0 && !was_disturbed(rows[i], best[i], least))) continue;
      TRY_VOID(os::check_interrupted());
      if (options.progress) options.progress(i, rows.size(), cost::name_of(rows[i]));
      const auto steps = calibration.measure(rows[i]);
      if (!steps.ok() && (steps.error().code != ErrorCode::kTimeout || pass == kRepeatsMax)) return steps.error();
      const Attempt attempt{steps.ok() ? *steps : Figures{}, calibration.fma_times(), steps.ok()};
      if (attempt.better_than(best[i])) best[i] = attempt;
    }
  }
  std::vector<Figures> steps;
  for (const Attempt& attempt : best) steps.push_back(attempt.steps);
  table.f32 = best[index_of({Op::Fma, ir::Type::f32, ir::Type::f32, cost::Form::plain})].fma;
  table.f64 = best[index_of({Op::Fma, ir::Type::f64, ir::Type::f64, cost::Form::plain})].fma;
  for (FmaTimes* times : {&table.f32, &table.f64})
    *times = {to_three_digits(times->latency_ns), to_three_digits(times->throughput_ns)};
  table.figures = figures_of(steps);
  return table;
}

}  // namespace trident::calibrate
