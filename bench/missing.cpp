// Speculative kernels beside the general kernels in their images, on data that never fit the ranges they assume, which
// is what a wrong guess costs, and on data that always do. The compiler refuses kernels that lose more than 5 %, by
// times of its own; these are other times, of images as clients get them, on data that it did not draw. The least time
// counts: a busy machine only adds. A ratio above 1.05 is taken twice more, and the median counts: of hundreds of
// ratios the greatest would otherwise be that which was disturbed most.
//
//   bench_missing [--type f32|f64] FILE...
//
// Prints two lines for each kernel. For each length of a call it prints the greatest time over the general kernel's on
// data that never fit, and the geomean of these on data that fit.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/ratio.h"
#include "bench/undeclared.h"
#include "jit/corpus/corpus_reader.h"
#include "jit/image/image.h"
#include "jit/pipeline/observed.h"
#include "jit/pipeline/pipeline.h"
#include "runtime/os/cpu.h"

namespace trident::bench {
namespace {

constexpr std::array<std::uint64_t, 4> kLengths = {16, 256, 4096, 1'000'000};
/// Turns of both kernels, of about so many elements each.
constexpr int kTurns = 60;
constexpr std::uint64_t kTurnElements = 65'536;
/// A ratio above this is taken again.
constexpr double kDoubtful = 1.05;

Result<image::Mapped> mapped(const image::ImageBytes& image) {
  TRY(const os::Fd fd, image::seal(image));
  return image::Mapped::map(fd);
}

/// A kernel that speculates, and the general one.
struct Both {
  image::Mapped speculative, general;
  std::vector<kir::Assumed> assumed;
};

/// Nothing where the compiler does not speculate.
std::optional<Both> compile(expr::Expr& e) {
  pipeline::Options options;
  options.target.isa = os::cpu_features().avx512 ? codegen::Isa::avx512 : codegen::Isa::avx2;
  options.target.assumed = pipeline::widened(e, undeclare(e));
  const auto optimised = pipeline::optimise(e, options);
  if (!optimised.ok() || !optimised->speculation || !optimised->speculation->published) return std::nullopt;
  auto fast = mapped(optimised->winner.image), slow = mapped(optimised->speculation->general);
  if (!fast.ok() || !slow.ok()) return std::nullopt;
  return Both{std::move(*fast), std::move(*slow), options.target.assumed};
}

enum class Place : std::uint8_t { outside, inside };

/// Arrays of values outside every assumed range or inside, and room for results.
class FilledArrays {
 public:
  FilledArrays(const expr::Expr& e, const std::vector<kir::Assumed>& assumed, Place place) : place_(place) {
    const auto bytes = [](ir::Type type) { return kLengths.back() * ir::bytes_of(type); };
    for (std::size_t v = 0; v < e.variables.size(); ++v) {
      auto& column = columns_.emplace_back(bytes(e.variables[v].type));
      fill(column, e.variables[v].type, assumed[v]);
      in.push_back(column.data());
    }
    for (const expr::Output& output : e.outputs) {
      types_.push_back(e.at(output.node).type);
      for (auto* results : {&results_, &others_}) results->emplace_back(bytes(types_.back()));
    }
    for (auto& results : results_) out.push_back(results.data());
    for (auto& results : others_) other_out.push_back(results.data());
  }

  /// Returns whether both kernels gave the same bits or, in the ranges, where the policy lets them differ, much the
  /// same values in all but a hundredth of the elements.
  [[nodiscard]] bool agree() const {
    if (place_ == Place::outside) return results_ == others_;
    for (std::size_t o = 0; o < types_.size(); ++o)
      if (!(types_[o] == ir::Type::f32 ? are_near<float>(o) : are_near<double>(o))) return false;
    return true;
  }

  std::vector<const void*> in;
  std::vector<void*> out, other_out;

 private:
  /// Returns element `at`: in the range all of it is visited evenly, but for its ends, which guards of f64 leave out.
  [[nodiscard]] double value(const kir::Assumed& range, std::size_t at) const {
    if (range.is_anything()) return 1.5;
    if (place_ == Place::outside) return range.hi + std::max(1.0, std::fabs(range.hi));
    constexpr double kGolden = 0.618033988749895;
    return range.lo + (range.hi - range.lo) * std::fmod(kGolden * (static_cast<double>(at) + 0.5), 1.0);
  }
  void fill(std::vector<std::byte>& column, ir::Type type, const kir::Assumed& range) const {
    const auto fill_with = [&]<class T>(T) {
      for (std::size_t at = 0; at < column.size() / sizeof(T); ++at) {
        const T one = static_cast<T>(value(range, at));
        std::memcpy(&column[at * sizeof one], &one, sizeof one);
      }
    };
    ir::bytes_of(type) == 4 ? fill_with(float{}) : fill_with(double{});
  }
  template <class T>
  [[nodiscard]] bool are_near(std::size_t output) const {
    constexpr double kNear = 0.01;
    std::size_t away = 0;
    const std::size_t count = results_[output].size() / sizeof(T);
    for (std::size_t i = 0; i < count; ++i) {
      T a{}, b{};
      std::memcpy(&a, &results_[output][i * sizeof a], sizeof a);
      std::memcpy(&b, &others_[output][i * sizeof b], sizeof b);
      const bool near = a == b || (a != a && b != b) || std::fabs(a - b) <= kNear * std::fabs(b);
      away += near ? 0 : 1;
    }
    return away * 100 <= count;
  }

  Place place_;
  std::vector<ir::Type> types_;
  std::vector<std::vector<std::byte>> columns_, results_, others_;
};

/// Returns the least times of a call, of the speculative kernel over the general one.
double ratio(const Both& both, FilledArrays& data, std::uint64_t n) {
  const std::uint64_t calls = std::max<std::uint64_t>(1, kTurnElements / n);
  double least[2] = {INFINITY, INFINITY};
  for (int turn = 0; turn < kTurns; ++turn)
    for (const int which : {turn % 2, 1 - turn % 2}) {
      const trident_entry entry = (which == 0 ? both.speculative : both.general).entry();
      const std::uint64_t begin = os::cycle_counter();
      for (std::uint64_t i = 0; i < calls; ++i) entry(nullptr, n, data.in.data(), data.out.data(), nullptr);
      least[which] = std::min(least[which], static_cast<double>(os::cycle_counter() - begin));
    }
  return least[0] / least[1];
}

double confirmed_ratio(const Both& both, FilledArrays& data, std::uint64_t n) {
  const double first = ratio(both, data, n);
  if (first <= kDoubtful) return first;
  const double second = ratio(both, data, n), third = ratio(both, data, n);
  return stats::median(std::array{first, second, third});
}

/// By length of a call, over the general kernels' times.
struct Figures {
  std::array<double, kLengths.size()> worst_outside{}, log_sum_inside{};
  int kernels = 0;
};

/// Returns the times by length on data in one place, after the answers were compared.
std::array<double, kLengths.size()> ratios(const char* name, const expr::Expr& e, const Both& both, Place place) {
  FilledArrays data(e, both.assumed, place);
  both.speculative.entry()(nullptr, kLengths.back(), data.in.data(), data.out.data(), nullptr);
  both.general.entry()(nullptr, kLengths.back(), data.in.data(), data.other_out.data(), nullptr);
  wrong_answers() += data.agree() ? 0 : 1;
  std::printf("%-24s %s%s", name, place == Place::outside ? "outside" : "inside ", data.agree() ? "" : " DIFFERS");
  std::array<double, kLengths.size()> all{};
  for (std::size_t i = 0; i < kLengths.size(); ++i) {
    all[i] = confirmed_ratio(both, data, kLengths[i]);
    std::printf(" %8.4f", all[i]);
  }
  std::printf("\n");
  std::fflush(stdout);
  return all;
}

void measure(const corpus::CorpusKernel& kernel, ir::Type type, Figures& figures) {
  auto parsed = corpus::parse_definition(kernel, type);
  if (!parsed.ok()) return;  // this type does not have it
  const std::optional<Both> both = compile(*parsed);
  if (!both) return;
  const auto outside = ratios(kernel.name.c_str(), *parsed, *both, Place::outside);
  const auto inside = ratios(kernel.name.c_str(), *parsed, *both, Place::inside);
  for (std::size_t i = 0; i < kLengths.size(); ++i) {
    figures.worst_outside[i] = std::max(figures.worst_outside[i], outside[i]);
    figures.log_sum_inside[i] += std::log(inside[i]);
  }
  ++figures.kernels;
}

int run(const std::vector<std::string>& files, ir::Type type) {
  Figures figures;
  for (const std::string& file : files) {
    const auto kernels = corpus::read_corpus(file);
    if (!kernels.ok()) return std::fprintf(stderr, "%s\n", kernels.error().message.c_str()), 2;
    for (const corpus::CorpusKernel& kernel : *kernels) measure(kernel, type, figures);
  }
  for (std::size_t i = 0; i < kLengths.size(); ++i) {
    const std::string elements = std::to_string(kLengths[i]) + " elements";
    print_figure("data that never fit: " + elements, figures.worst_outside[i]);
    print_figure("data that fit, geomean: " + elements, std::exp(figures.log_sum_inside[i] / figures.kernels));
  }
  return wrong_answers() == 0 ? 0 : 1;
}

}  // namespace
}  // namespace trident::bench

int main(int argc, char** argv) {
  std::vector<std::string> files(argv + 1, argv + argc);
  trident::ir::Type type = trident::ir::Type::f32;
  if (files.size() > 1 && files[0] == "--type") {
    if (files[1] == "f64") type = trident::ir::Type::f64;
    files.erase(files.begin(), files.begin() + 2);
  }
  return trident::bench::run(files, type);
}
