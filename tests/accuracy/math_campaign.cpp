// The accuracy campaign: the greatest error of every math function by type, class and range.
//
//   math_campaign [--only NAME] [--stride N] [--points N] [--threads N] [--table FILE]
//
// f32 functions of one argument are evaluated at every float of every range (or every N-th with --stride), everything
// else at --points arguments. Walking over the floats goes block by block: the reference is computed once and every
// variant whose range holds the block is compared with it. The exit status says whether a measured error exceeds what
// stated_error_ulp() promises; --table writes the figures as Markdown.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "jit/kir/interpreter.h"
#include "tests/accuracy/measure.h"
#include "tests/accuracy/reference.h"
#include "tests/support/argument_sampler.h"
#include "tests/support/mpfr_oracle.h"

namespace trident::accuracy {
namespace {

using namespace kir::math;  // NOLINT: the program is about these names
using kir::Type;

constexpr std::size_t kBlock = 4096;
constexpr double kInf = std::numeric_limits<double>::infinity();
/// rel3 is coarse: every so-many-th float shows its error.
constexpr std::int64_t kCoarseStride = 61;

struct Settings {
  std::string only;
  std::int64_t stride = 1;
  std::int64_t points = 10'000'000;
  unsigned threads = 2;
  std::string table;
};

struct Case {
  Function f;
  Range x, y;
};
const std::vector<Case> kCases = {
#include "jit/kir/math/test_ranges.def"
};

/// One expansion under test, and its measured errors.
struct Variant {
  Case c;
  Type type;
  Accuracy accuracy;
  kir::Plan plan;
  double worst = 0;  ///< in ulp; relative for rel3
  double worst_x = 0, worst_y = 0;
  std::uint64_t count = 0;
};

Variant make_variant(const Case& c, Type type, Accuracy accuracy) {
  const Range ranges[] = {c.x, c.y};
  const kir::Kernel kernel = kernel_of(c.f, type, accuracy, std::span(ranges, arity_of(c.f)));
  CHECK(kir::check(kernel));
  return {.c = c, .type = type, .accuracy = accuracy, .plan = kir::Plan::prepare(kernel)};
}

/// The ulp of a reference value in f64; not for special values.
long double ulp_f64(long double value) {
  int exponent = 0;
  std::frexp(value, &exponent);
  return std::ldexp(1.0L, std::max(exponent - 53, -1074));
}

/// True where the class makes no promise: rel3 near zeros, in denormals and beyond the greatest float.
bool is_exempt(const Variant& v, double reference, double error) {
  const double least = v.type == Type::f32 ? 0x1p-126 : 0x1p-1022,
               greatest = v.type == Type::f32 ? 0x1.fp127 : 0x1.fp1023;
  const double size = std::fabs(reference);
  return v.accuracy == Accuracy::rel3 && (!(size <= greatest) || size < least || (size < 1e-3 && error < 1e-3));
}

/// Takes one result into account whose error may be a new maximum.
void record(Variant& v, Oracle& oracle, double x, double y, double got) {
  oracle.evaluate(v.c.f, x, y);
  const double error = v.accuracy == Accuracy::rel3 ? oracle.error_relative(got) : oracle.error_ulp(got, v.type);
  if (error <= v.worst) return;
  v.worst = std::isnan(error) ? kInf : error;
  v.worst_x = x;
  v.worst_y = y;
}

/// Errors this close below the maximum are settled by MPFR too, since libm's own error could hide a greater one; rel3
/// takes libm's word for the last thousandth.
double threshold(const Variant& v) {
  if (v.accuracy == Accuracy::rel3) return v.worst * 1.001;
  return v.worst - (v.type == Type::f32 ? 1e-6 : 4e-3);
}

void compare_f32(Variant& v, Oracle& oracle, const float* x, const float* y, const float* got, const double* reference,
                 std::size_t count) {
  double errors[kBlock];
  v.count += count;
  double limit = threshold(v);
  const auto measure = v.accuracy == Accuracy::rel3 ? measure_relative : measure_ulp;
  if (!measure(got, reference, limit, errors, count)) return;
  for (std::size_t i = 0; i < count; ++i)
    if (!(errors[i] < limit) && errors[i] != 0) {
      if (is_exempt(v, reference[i], std::fabs(got[i] - reference[i]))) continue;
      record(v, oracle, x[i], y == nullptr ? 0 : y[i], got[i]);
      limit = threshold(v);
    }
}

void compare_f64(Variant& v, Oracle& oracle, const double* x, const double* y, const double* got, std::size_t count) {
  v.count += count;
  for (std::size_t i = 0; i < count; ++i) {
    const long double reference = reference_f64(v.c.f, x[i], y[i]);
    const bool relative = v.accuracy == Accuracy::rel3;
    const long double difference = std::fabs(static_cast<long double>(got[i]) - reference);
    if (relative && is_exempt(v, static_cast<double>(reference), static_cast<double>(difference))) continue;
    double error = static_cast<double>(difference / (relative ? std::fabs(reference) : ulp_f64(reference)));
    if (static_cast<long double>(got[i]) == reference || (std::isnan(got[i]) && std::isnan(reference))) error = 0;
    if (!(error < threshold(v)) && error != 0) record(v, oracle, x[i], y[i], got[i]);
  }
}

/// Every stride-th float of the ranges of the variants (all of one function of one argument).
void walk_floats(std::vector<Variant*>& variants, std::int64_t stride) {
  // A coarse walk first: it finds nearly the maxima, and so spares MPFR all the lesser ones on the way up.
  if (stride < 1009) walk_floats(variants, 1009);
  Oracle oracle;
  std::vector<float> x(kBlock), out(kBlock);
  std::vector<double> reference(kBlock);
  const std::int64_t last = order_of(kInf, Type::f32);
  std::int64_t round = 0;
  for (std::int64_t first = -last; first <= last; first += static_cast<std::int64_t>(kBlock) * stride, ++round) {
    std::size_t count = 0;
    for (std::int64_t o = first; o <= last && count < kBlock; o += stride)
      x[count++] = static_cast<float>(from_order(o, Type::f32));
    bool have_reference = false;
    for (Variant* v : variants) {
      if (v->accuracy == Accuracy::rel3 && stride == 1 && round % kCoarseStride != 0) continue;
      const auto stop = x.begin() + static_cast<std::ptrdiff_t>(count);
      const auto begin = std::lower_bound(x.begin(), stop, v->c.x.lo);
      const auto end = std::upper_bound(begin, stop, v->c.x.hi);
      const auto from = static_cast<std::size_t>(begin - x.begin());
      const auto size = static_cast<std::size_t>(end - begin);
      if (size == 0) continue;
      if (!have_reference) reference_f32(v->c.f, x.data(), reference.data(), count);
      have_reference = true;
      const void* in[] = {&x[from]};
      void* outputs[] = {out.data()};
      v->plan.run(size, in, outputs, nullptr);
      compare_f32(*v, oracle, &x[from], nullptr, out.data(), &reference[from], size);
    }
  }
}

void sample(Variant& v, std::int64_t points) {
  Oracle oracle;
  Sampler sampler(v.type);
  std::vector<double> x(kBlock), y(kBlock), got(kBlock), reference(kBlock);
  std::vector<float> xf(kBlock), yf(kBlock), gotf(kBlock);
  const bool single = v.type == Type::f32;
  for (std::int64_t done = 0; done < points; done += kBlock) {
    for (std::size_t i = 0; i < kBlock; ++i) {
      x[i] = sampler.pick(v.c.x);
      y[i] = arity_of(v.c.f) == 2 ? sampler.pick(v.c.y) : 0;
      xf[i] = static_cast<float>(x[i]);
      yf[i] = static_cast<float>(y[i]);
      if (single) reference[i] = reference_f32(v.c.f, x[i], y[i]);
    }
    const void* in[] = {single ? static_cast<const void*>(xf.data()) : x.data(),
                        single ? static_cast<const void*>(yf.data()) : y.data()};
    void* outputs[] = {single ? static_cast<void*>(gotf.data()) : got.data()};
    v.plan.run(kBlock, in, outputs, nullptr);
    if (single)
      compare_f32(v, oracle, xf.data(), yf.data(), gotf.data(), reference.data(), kBlock);
    else
      compare_f64(v, oracle, x.data(), y.data(), got.data(), kBlock);
  }
}

/// Runs the jobs on a few threads.
void run_all(std::vector<std::function<void()>> jobs, unsigned threads) {
  std::atomic<std::size_t> next = 0;
  std::vector<std::thread> workers;
  for (unsigned t = 0; t < threads; ++t)
    workers.emplace_back([&] {
      for (std::size_t i = next++; i < jobs.size(); i = next++) jobs[i]();
    });
  for (std::thread& worker : workers) worker.join();
}

double stated(const Variant& v) {
  return v.accuracy == Accuracy::rel3 ? 1e-3 : stated_error_ulp(v.c.f, v.type, v.accuracy);
}

/// One line per variant, as soon as it is settled.
void report(std::span<Variant* const> variants) {
  static std::mutex lock;
  const std::lock_guard guard(lock);
  for (const Variant* v : variants)
    std::printf("%-6s %s %s [%g, %g]%s  max %.4g (stated %.4g) at %a, %a  %llu points%s\n", name_of(v->c.f).data(),
                ir::name_of(v->type).data(), name_of(v->accuracy).data(), v->c.x.lo, v->c.x.hi,
                v->c.x.may_be_nan ? " nan" : "", v->worst, stated(*v), v->worst_x, v->worst_y,
                static_cast<unsigned long long>(v->count), v->worst <= stated(*v) ? "" : "  EXCEEDED");
  std::fflush(stdout);
}

void write_table(const std::vector<Variant>& variants, const std::string& path) {
  std::map<Function, std::map<std::pair<Type, Accuracy>, double>> worst;
  for (const Variant& v : variants) {
    double& entry = worst[v.c.f][{v.type, v.accuracy}];
    entry = std::max(entry, v.worst);
  }
  std::ofstream out(path);
  out << "| function | f32 ulp1 | f32 ulp4 | f32 rel3 | f64 ulp1 | f64 ulp4 | f64 rel3 "
         "|\n|---|---|---|---|---|---|---|\n";
  for (auto& [f, row] : worst) {
    out << "| " << name_of(f);
    for (const Type type : {Type::f32, Type::f64})
      for (const Accuracy accuracy : {Accuracy::ulp1, Accuracy::ulp4, Accuracy::rel3}) {
        char text[32];
        std::snprintf(text, sizeof text, accuracy == Accuracy::rel3 ? " | %.1e" : " | %.3f", row[{type, accuracy}]);
        out << text;
      }
    out << " |\n";
  }
}

int run(const Settings& settings) {
  std::vector<Variant> variants;
  for (const Case& c : kCases)
    if (settings.only.empty() || settings.only == name_of(c.f))
      for (const Type type : {Type::f32, Type::f64})
        for (const Accuracy accuracy : {Accuracy::ulp1, Accuracy::ulp4, Accuracy::rel3})
          variants.push_back(make_variant(c, type, accuracy));

  std::map<Function, std::vector<Variant*>> walks;
  std::vector<std::function<void()>> jobs, samples;
  for (Variant& v : variants) {
    if (v.type == Type::f32 && arity_of(v.c.f) == 1)
      walks[v.c.f].push_back(&v);
    else
      samples.emplace_back([&v, &settings] {
        sample(v, settings.points);
        report(std::array{&v});
      });
  }
  for (auto& [f, list] : walks)
    jobs.emplace_back([&list = list, &settings] {
      walk_floats(list, settings.stride);
      report(list);
    });
  jobs.insert(jobs.end(), samples.begin(), samples.end());
  run_all(std::move(jobs), settings.threads);

  if (!settings.table.empty()) write_table(variants, settings.table);
  return std::ranges::all_of(variants, [](const Variant& v) { return v.worst <= stated(v); }) ? 0 : 1;
}

}  // namespace
}  // namespace trident::accuracy

int main(int argc, char** argv) {
  trident::accuracy::Settings settings;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view flag = argv[i];
    if (flag == "--only")
      settings.only = argv[i + 1];
    else if (flag == "--stride")
      settings.stride = std::max(1, std::atoi(argv[i + 1]));
    else if (flag == "--points")
      settings.points = std::atoll(argv[i + 1]);
    else if (flag == "--threads")
      settings.threads = static_cast<unsigned>(std::max(1, std::atoi(argv[i + 1])));
    else if (flag == "--table")
      settings.table = argv[i + 1];
  }
  return trident::accuracy::run(settings);
}
