// Speculative kernels on data that never fit the ranges they assume, beside the general kernels in their images: what a
// wrong guess costs. The compiler refuses kernels that lose more than 5 %, by times of its own; these are other times,
// of images as clients get them, on data that it did not draw. The least time counts: a busy machine only adds.
//
//   bench_missing [--type f32|f64] FILE...
//
// Prints a line for each kernel, and for each length of a call the greatest time over the general kernel's.
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
  std::optional<image::ImageBytes> general;
  options.interim = [&](const pipeline::Interim& interim) { general = interim.image; };
  const auto optimised = pipeline::optimise(e, options);
  if (!optimised.ok() || !optimised->speculation || !optimised->speculation->published) return std::nullopt;
  if (!general) {
    auto baseline = pipeline::compile_baseline(e, options);
    if (!baseline.ok()) return std::nullopt;
    general = std::move(baseline->image);
  }
  auto fast = mapped(optimised->winner.image), slow = mapped(*general);
  if (!fast.ok() || !slow.ok()) return std::nullopt;
  return Both{std::move(*fast), std::move(*slow), options.target.assumed};
}

/// Arrays of values outside every assumed range, and room for results.
class MissingArrays {
 public:
  MissingArrays(const expr::Expr& e, const std::vector<kir::Assumed>& assumed) {
    const auto bytes = [](ir::Type type) { return kLengths.back() * ir::bytes_of(type); };
    for (std::size_t v = 0; v < e.variables.size(); ++v) {
      const double value = assumed[v].is_anything() ? 1.5 : assumed[v].hi + std::max(1.0, std::fabs(assumed[v].hi));
      auto& column = columns_.emplace_back(bytes(e.variables[v].type));
      fill(column, e.variables[v].type, value);
      in.push_back(column.data());
    }
    for (const expr::Output& output : e.outputs) {
      for (auto* results : {&results_, &others_}) results->emplace_back(bytes(e.at(output.node).type));
    }
    for (auto& results : results_) out.push_back(results.data());
    for (auto& results : others_) other_out.push_back(results.data());
  }

  [[nodiscard]] bool agree() const { return results_ == others_; }

  std::vector<const void*> in;
  std::vector<void*> out, other_out;

 private:
  static void fill(std::vector<std::byte>& column, ir::Type type, double value) {
    const auto fill_with = [&](auto one) {
      for (std::size_t at = 0; at < column.size(); at += sizeof one) std::memcpy(&column[at], &one, sizeof one);
    };
    ir::bytes_of(type) == 4 ? fill_with(static_cast<float>(value)) : fill_with(value);
  }

  std::vector<std::vector<std::byte>> columns_, results_, others_;
};

/// Returns the least times of a call, of the speculative kernel over the general one.
double ratio(const Both& both, MissingArrays& data, std::uint64_t n) {
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

/// Raises `worst`, by length.
void measure(const corpus::CorpusKernel& kernel, ir::Type type, std::array<double, kLengths.size()>& worst) {
  auto parsed = corpus::parse_definition(kernel, type);
  if (!parsed.ok()) return;  // this type does not have it
  const std::optional<Both> both = compile(*parsed);
  if (!both) return;
  MissingArrays data(*parsed, both->assumed);
  both->speculative.entry()(nullptr, kLengths.back(), data.in.data(), data.out.data(), nullptr);
  both->general.entry()(nullptr, kLengths.back(), data.in.data(), data.other_out.data(), nullptr);
  wrong_answers() += data.agree() ? 0 : 1;
  std::printf("%-24s%s", kernel.name.c_str(), data.agree() ? "" : " DIFFERS");
  for (std::size_t i = 0; i < kLengths.size(); ++i) {
    const double lost = ratio(*both, data, kLengths[i]);
    worst[i] = std::max(worst[i], lost);
    std::printf(" %8.4f", lost);
  }
  std::printf("\n");
  std::fflush(stdout);
}

int run(const std::vector<std::string>& files, ir::Type type) {
  std::array<double, kLengths.size()> worst{};
  for (const std::string& file : files) {
    const auto kernels = corpus::read_corpus(file);
    if (!kernels.ok()) return std::fprintf(stderr, "%s\n", kernels.error().message.c_str()), 2;
    for (const corpus::CorpusKernel& kernel : *kernels) measure(kernel, type, worst);
  }
  for (std::size_t i = 0; i < kLengths.size(); ++i)
    print_figure("data that never fit: " + std::to_string(kLengths[i]) + " elements", worst[i]);
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
