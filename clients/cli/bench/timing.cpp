#include "clients/cli/bench/timing.h"

#include <signal.h>

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <optional>

#include "clients/cli/bench/c_source.h"
#include "jit/expr/builder.h"
#include "runtime/os/clock.h"
#include "runtime/os/cpu.h"
#include "runtime/os/interrupt.h"
#include "runtime/os/memfd.h"
#include "runtime/os/process.h"
#include "runtime/stats/robust.h"

namespace trident::cli {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kPage = 4096;
constexpr std::uint32_t kChildTimeoutMs = 600'000;
/// Range of inputs without a range.
constexpr double kFallbackLo = -2, kFallbackHi = 2;
constexpr std::uint64_t kCallsMax = 1u << 20;
constexpr kir::Assumed kNothingSeen = {std::numeric_limits<double>::infinity(),
                                       -std::numeric_limits<double>::infinity()};
/// The machine's rates drift slowly, and sampling them warms the processor for whoever comes next.
constexpr unsigned kRoundsPerRates = 5;

/// splitmix64: small, seedable, the same everywhere.
std::uint64_t next_random(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9E3779B97F4A7C15u);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

template <class T>
T sample_float(double lo, double hi, std::uint64_t& state) {
  const double u = static_cast<double>(next_random(state) >> 11) * 0x1p-53;
  T value = static_cast<T>(lo + (hi - lo) * u);
  // Rounding to a narrower type may step over an end of the range.
  if (static_cast<double>(value) < lo) value = std::nextafter(value, std::numeric_limits<T>::infinity());
  if (static_cast<double>(value) > hi) value = std::nextafter(value, -std::numeric_limits<T>::infinity());
  return value;
}

std::uint64_t sample_bits(const expr::Variable& v, double lo, double hi, std::uint64_t& state) {
  switch (v.type) {
    case ir::Type::f32: return std::bit_cast<std::uint32_t>(sample_float<float>(lo, hi, state));
    case ir::Type::f64: return std::bit_cast<std::uint64_t>(sample_float<double>(lo, hi, state));
    case ir::Type::i32:
    case ir::Type::i64: {
      const double u = static_cast<double>(next_random(state) >> 11) * 0x1p-53;
      return static_cast<std::uint64_t>(static_cast<std::int64_t>(std::floor(lo + (hi - lo + 1) * u)));
    }
    case ir::Type::b32:
    case ir::Type::b64: break;
  }
  CHECK(false);
}

/// Widens `seen` by a value.
void see(kir::Assumed& seen, double value) {
  seen.lo = std::min(seen.lo, value), seen.hi = std::max(seen.hi, value);
}

/// The `self` of a call, whose kernel may count misses (schemas/kernel_image.h).
struct Self {
  const void* unused = nullptr;
  std::uint64_t* misses = nullptr;
};
static_assert(offsetof(Self, misses) == TRIDENT_SELF_MISSES_OFFSET);

/// The child's results for the parent, in shared memory: a header, the times, the outputs.
struct SharedHeader {
  std::int32_t running;  ///< index of the contestant being run, -1 between them: tells who crashed
  std::int32_t done;     ///< 1 at the orderly end
  double clock_ghz;
};
struct SharedContestant {
  char failure[400];
};

class Shared {
 public:
  /// `times`: of one contestant, as many as there are samples of the machine's rates.
  static Result<Shared> make(std::size_t contestants, std::size_t times, std::size_t output_bytes) {
    Shared s;
    s.contestants_ = contestants, s.times_ = times, s.output_bytes_ = output_bytes;
    TRY(s.mapping_, os::map_shared(sizeof(SharedHeader) + contestants * (sizeof(SharedContestant) + times * 8) +
                                   times * sizeof(MachineRates) + contestants * output_bytes + kAlignment));
    return s;
  }
  [[nodiscard]] SharedHeader& header() { return *static_cast<SharedHeader*>(mapping_.base()); }
  [[nodiscard]] char* failure(std::size_t c) { return at<SharedContestant>(sizeof(SharedHeader))[c].failure; }
  [[nodiscard]] double* times(std::size_t c) { return at<double>(times_offset()) + c * times_; }
  [[nodiscard]] std::byte* outputs(std::size_t c) {
    return at<std::byte>(rates_offset() + times_ * sizeof(MachineRates)) + c * output_bytes_;
  }
  [[nodiscard]] MachineRates* rates() { return at<MachineRates>(rates_offset()); }

 private:
  [[nodiscard]] std::size_t times_offset() const {
    return sizeof(SharedHeader) + contestants_ * sizeof(SharedContestant);
  }
  [[nodiscard]] std::size_t rates_offset() const { return times_offset() + contestants_ * times_ * 8; }
  template <class T>
  [[nodiscard]] T* at(std::size_t offset) {
    return reinterpret_cast<T*>(static_cast<std::byte*>(mapping_.base()) + offset);
  }
  os::Mapping mapping_;
  std::size_t contestants_ = 0, times_ = 0, output_bytes_ = 0;
};

/// Denormals survive arithmetic: nobody has set flush-to-zero or denormals-are-zero.
bool denormals_work() {
  volatile double least_normal = DBL_MIN;
  const volatile double half = least_normal * 0.5;
  const volatile double denormal = 0x1p-1060;
  const volatile double scaled = denormal * 0x1p1000;
  return half != 0 && scaled != 0;
}

/// Clock in GHz from a chain of dependent 64-bit multiplications: 3 cycles each on every x86-64 since 2008.
double measure_clock() {
  constexpr int kMultiplications = 2000, kCycles = 3;
  std::uint64_t x = 3;
  const std::uint64_t start = os::cycle_counter();
  for (int i = 0; i < kMultiplications; ++i) {
    x *= 0x9E3779B97F4A7C15u;
    asm volatile("" : "+r"(x));
  }
  const double ns = static_cast<double>(os::cycle_counter() - start) * os::cycle_counter_ns();
  return kMultiplications * kCycles / ns;
}

double median_of(const std::vector<double>& values) {
  return values.empty() ? 0 : stats::median(values);
}

/// The child's side: opens, checks and times every contestant that has no failure yet.
class TimingChild {
 public:
  TimingChild(std::span<const Contestant> contestants, const Workload& workload, const TimingOptions& options,
              Shared& shared)
      : contestants_(contestants),
        workload_(workload),
        options_(options),
        shared_(shared),
        entries_(contestants.size()),
        objects_(contestants.size()),
        calls_(contestants.size()) {}

  int run() {
    os::restore_interrupts();
    ::signal(SIGPIPE, SIG_IGN);  // numexpr's process may be gone: an error value then
    (void)os::pin_to_current_cpu();
    for (std::size_t c = 0; c < contestants_.size(); ++c)
      if (active(c)) prepare(c);
    std::vector<double> clocks;
    for (std::size_t s = 0; s < options_.sizes.size(); ++s) time_size(s, clocks);
    shared_.header().clock_ghz = median_of(clocks);
    shared_.header().done = 1;
    return 0;
  }

 private:
  [[nodiscard]] bool active(std::size_t c) const { return shared_.failure(c)[0] == '\0'; }
  void fail(std::size_t c, const std::string& why) {
    std::snprintf(shared_.failure(c), sizeof(SharedContestant::failure), "%s", why.c_str());
  }

  void prepare(std::size_t c) {
    const Contestant& contestant = contestants_[c];
    shared_.header().running = static_cast<std::int32_t>(c);
    entries_[c] = contestant.entry;
    if (!contestant.object.empty() && !open(c)) return;
    for (std::size_t k = 0; k < workload_.outputs().size(); ++k)
      std::memset(workload_.outputs()[k], 0xA5, workload_.output_bytes()[k]);
    std::byte* to = shared_.outputs(c);
    if (contestant.numexpr != nullptr) {
      if (auto r = contestant.numexpr->result({to, workload_.output_bytes_total()}); !r) fail(c, r.error().message);
    } else {
      call(c, workload_.n());
      for (std::size_t k = 0; k < workload_.outputs().size(); ++k) {
        std::memcpy(to, workload_.outputs()[k], workload_.output_bytes()[k]);
        to += workload_.output_bytes()[k];
      }
    }
    if (!denormals_work()) fail(c, "it disabled denormals for the whole process (FTZ/DAZ)");
    shared_.header().running = -1;
  }

  bool open(std::size_t c) {
    auto object = os::SharedObject::open(contestants_[c].object);
    if (!object) return fail(c, object.error().message), false;
    auto symbol = object->symbol(kContestantSymbol);
    if (!symbol) return fail(c, symbol.error().message), false;
    entries_[c] = reinterpret_cast<trident_entry>(*symbol);
    objects_[c].emplace(std::move(*object));
    return true;
  }

  void call(std::size_t c, std::uint64_t n) {
    const auto* in = workload_.inputs().data();
    auto* out = workload_.outputs().data();
    if (entries_[c] != nullptr)
      entries_[c](&self_, n, in, out, workload_.params().data());
    else
      contestants_[c].interpreted->run(n, in, out, workload_.params().data());
  }

  /// Nanoseconds per call over a batch.
  double batch(std::size_t c, std::uint64_t n, std::uint64_t calls) {
    if (NumexprPeer* peer = contestants_[c].numexpr; peer != nullptr) {
      const auto ns = peer->time_ns(calls);
      if (!ns) return fail(c, ns.error().message), 0;
      return *ns;
    }
    call(c, n);  // caches and predictors see this contestant's code again
    const std::uint64_t start = os::cycle_counter();
    for (std::uint64_t i = 0; i < calls; ++i) call(c, n);
    return static_cast<double>(os::cycle_counter() - start) * os::cycle_counter_ns() / static_cast<double>(calls);
  }

  void calibrate(std::size_t c, std::uint64_t n) {
    calls_[c] = 1;
    while (calls_[c] < kCallsMax && active(c)) {
      const double ns = batch(c, n, calls_[c]) * static_cast<double>(calls_[c]);
      if (ns >= options_.batch_ns) break;
      const double wanted = ns > 0 ? 1.2 * options_.batch_ns / ns : 2;
      calls_[c] = static_cast<std::uint64_t>(static_cast<double>(calls_[c]) * std::clamp(wanted, 1.1, 16.0)) + 1;
    }
  }

  void time_size(std::size_t s, std::vector<double>& clocks) {
    const std::uint64_t n = options_.sizes[s];
    const auto runs = [&](std::size_t c) {
      // numexpr was given all n elements; its figure at another size would need another load().
      return active(c) && (contestants_[c].numexpr == nullptr || n == workload_.n());
    };
    for (std::size_t c = 0; c < contestants_.size(); ++c) {
      shared_.header().running = static_cast<std::int32_t>(c);
      if (runs(c)) calibrate(c, n);
    }
    for (unsigned round = 0; round < options_.rounds; ++round) {
      for (std::size_t i = 0; i < contestants_.size(); ++i) {
        const std::size_t c = (i + round) % contestants_.size();  // nobody always follows the same neighbour
        if (!runs(c)) continue;
        shared_.header().running = static_cast<std::int32_t>(c);
        shared_.times(c)[s * options_.rounds + round] = batch(c, n, calls_[c]);
        if (c != 0) continue;
        clocks.push_back(measure_clock());
        if (options_.rates_bits == 0) continue;
        MachineRates& rates = shared_.rates()[s * options_.rounds + round];
        rates = round % kRoundsPerRates == 0 ? sample_rates(options_.rates_bits, options_.rates_type) : (&rates)[-1];
      }
    }
    shared_.header().running = -1;
  }

  std::span<const Contestant> contestants_;
  const Workload& workload_;
  const TimingOptions& options_;
  Shared& shared_;
  std::vector<trident_entry> entries_;
  std::vector<std::optional<os::SharedObject>> objects_;
  std::vector<std::uint64_t> calls_;
  std::uint64_t misses_ = 0;
  const Self self_{.misses = &misses_};
};

/// Reads the shared memory of a child that ended in order.
TimingRun collect(std::size_t count, const Workload& workload, const TimingOptions& options, Shared& shared) {
  TimingRun run;
  run.clock_ghz = shared.header().clock_ghz;
  for (std::size_t c = 0; c < count; ++c) {
    Timing t;
    t.failure = shared.failure(c);
    if (t.failure.empty()) {
      for (std::size_t s = 0; s < options.sizes.size(); ++s) {
        const double* first = shared.times(c) + s * options.rounds;
        t.ns.emplace_back(first, first + options.rounds);
        if (t.ns.back()[0] == 0) t.ns.back().clear();
      }
      const std::byte* from = shared.outputs(c);
      for (const std::size_t bytes : workload.output_bytes()) {
        t.outputs.emplace_back(from, from + bytes);
        from += bytes;
      }
    }
    run.contestants.push_back(std::move(t));
  }
  for (std::size_t s = 0; s < options.sizes.size(); ++s)
    run.rates.emplace_back(shared.rates() + s * options.rounds, shared.rates() + (s + 1) * options.rounds);
  return run;
}

}  // namespace

Workload::Workload(const expr::Expr& expr, const std::vector<expr::Variable>& sampled, std::uint64_t n,
                   std::uint64_t seed)
    : n_(n) {
  std::vector<std::size_t> offsets;
  std::size_t arrays = 0;
  for (const auto& v : expr.variables) arrays += v.is_scalar() ? 0 : 1;
  arrays += expr.outputs.size();
  const std::size_t stagger = std::max(kAlignment, kPage / (arrays + 1) / kAlignment * kAlignment);
  std::size_t total = 0;
  const auto place = [&](std::size_t bytes) {
    // Start k is k staggers past a page boundary.
    total = (total + kPage - 1) / kPage * kPage + stagger * (offsets.size() % (kPage / stagger));
    offsets.push_back(total);
    total += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  };
  for (const auto& v : expr.variables)
    if (!v.is_scalar()) place(n * ir::bytes_of(v.type));
  for (const auto& output : expr.outputs) place(n * ir::bytes_of(expr.at(output.node).type));
  memory_ = std::make_unique<std::byte[]>(total + 2 * kPage);
  const auto address = reinterpret_cast<std::uintptr_t>(memory_.get());
  std::byte* const base = memory_.get() + ((kPage - address % kPage) % kPage);

  std::size_t next = 0;
  std::uint64_t state = seed;
  for (const auto& v : sampled) {
    const double lo = std::isfinite(v.lo) ? v.lo : std::isfinite(v.hi) ? v.hi - 1 : kFallbackLo;
    const double hi = std::isfinite(v.hi) ? v.hi : std::isfinite(v.lo) ? v.lo + 1 : kFallbackHi;
    kir::Assumed& seen = seen_.emplace_back(kNothingSeen);
    if (v.is_scalar()) {
      params_.push_back(sample_bits(v, lo, hi, state));
      see(seen, expr::value_of(v.type, params_.back()));
      continue;
    }
    std::byte* array = base + offsets[next++];
    const std::size_t width = ir::bytes_of(v.type);
    for (std::uint64_t i = 0; i < n; ++i) {
      const std::uint64_t bits = sample_bits(v, lo, hi, state);
      std::memcpy(array + i * width, &bits, width);
      see(seen, expr::value_of(v.type, bits));
    }
    inputs_.push_back(array);
    stream_bytes_ += width;
  }
  for (const auto& v : sampled)
    if (v.is_table()) params_.push_back(n);
  for (const auto& output : expr.outputs) {
    const std::size_t width = ir::bytes_of(expr.at(output.node).type);
    outputs_.push_back(base + offsets[next++]);
    output_bytes_.push_back(n * width);
    stream_bytes_ += width;
  }
}

std::size_t Workload::output_bytes_total() const {
  std::size_t total = 0;
  for (const std::size_t bytes : output_bytes_) total += bytes;
  return total;
}

double Timing::median_ns(std::size_t size) const {
  return size < ns.size() && !ns[size].empty() ? stats::median(ns[size]) : 0;
}

double median_ratio(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) ratios.push_back(a[i] / b[i]);
  return median_of(ratios);
}

Result<TimingRun> time_contestants(std::span<const Contestant> contestants, const Workload& workload,
                                   const TimingOptions& options) {
  TRY(Shared shared,
      Shared::make(contestants.size(), options.sizes.size() * options.rounds, workload.output_bytes_total()));
  os::cycle_counter_ns();  // calibrated once here, not in every child
  for (std::size_t attempt = 0; attempt <= contestants.size(); ++attempt) {
    shared.header().running = -1;
    TRY(os::Process child,
        os::Process::fork_child([&](int) { return TimingChild(contestants, workload, options, shared).run(); }));
    const auto exit = child.wait(kChildTimeoutMs);
    if (exit.ok() && exit->clean() && shared.header().done == 1)
      return collect(contestants.size(), workload, options, shared);
    const std::string how = exit.ok() ? exit->describe() : "it did not finish within ten minutes";
    const std::int32_t culprit = shared.header().running;
    if (culprit < 0) return make_error(ErrorCode::kInternal, "the timing child failed: %s", how.c_str());
    std::snprintf(shared.failure(static_cast<std::size_t>(culprit)), sizeof(SharedContestant::failure), "crashed: %s",
                  how.c_str());
  }
  return make_error(ErrorCode::kInternal, "every contestant failed");
}

}  // namespace trident::cli
