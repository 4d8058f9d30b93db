// The processor time of searches, pass by pass, children included: what sooner.cpp measures by the clock, without the
// daemon and steady on a machine that does other things. No range is declared. Data are said to be in the corpora's
// ranges, so that each search speculates on them as the daemon's does.
//
//   bench_search_time [--type f32|f64] [--isa avx2|avx512] [--general] [--two-threads] FILE...
//
// Prints a line for each kernel, the percentiles, the share of each pass in all of the time, and how much the searches
// have gained. --general: nothing is known of data, so there is no speculation.
// --two-threads: checks are divided between two threads, as in the daemon, and times are those of the clock.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "bench/ratio.h"
#include "bench/undeclared.h"
#include "jit/corpus/corpus_reader.h"
#include "jit/image/image.h"
#include "jit/pipeline/observed.h"
#include "jit/pipeline/pipeline.h"
#include "runtime/os/clock.h"
#include "runtime/os/cpu.h"
#include "runtime/os/sandbox.h"

namespace trident::bench {
namespace {

constexpr double kNear = 1.05;

struct Setting {
  ir::Type type = ir::Type::f32;
  codegen::Isa isa = codegen::Isa::avx512;
  bool general = false, two_threads = false;
};

struct Searched {
  std::string name;
  double work_s = 0;
  double early_s = 0;  ///< until a kernel was offered that takes at most kNear times the last one's time
  std::vector<pipeline::PassTime> passes;
  std::string outcome;
  std::string detail;  ///< the winner's form and variant
  double ratio = 1;    ///< the winner's time over the baseline's: what the search is for
};

/// A kernel that was offered, and when.
struct Offer {
  double work_s = 0, ratio = 1;
};

double early_of(const std::vector<Offer>& offers, double work_s, double ratio) {
  for (const Offer& offer : offers)
    if (offer.ratio <= ratio * kNear) return offer.work_s;
  return work_s;
}

std::optional<Searched> search(const corpus::CorpusKernel& kernel, const Setting& setting) {
  auto parsed = corpus::parse_definition(kernel, setting.type);
  if (!parsed.ok()) return std::nullopt;  // this type does not have it
  const std::vector<kir::Assumed> seen = undeclare(*parsed);
  pipeline::Options options;
  options.target.isa = setting.isa;
  options.budget.two_threads = setting.two_threads;
  if (!setting.general) options.target.assumed = pipeline::widened(*parsed, seen);
  const auto now_ns = [&] { return setting.two_threads ? os::monotonic_ns() : os::thread_work_ns(); };
  const std::uint64_t begin_ns = now_ns();
  const auto work_s = [&] { return 1e-9 * static_cast<double>(now_ns() - begin_ns); };
  std::vector<Offer> offers;
  options.interim = [&](const pipeline::Interim& i) { offers.push_back({work_s(), i.winner_ns / i.baseline_ns}); };
  const auto optimised = pipeline::optimise(*parsed, options);
  if (!optimised.ok()) return std::nullopt;
  std::string guarded;
  if (optimised->speculation)
    guarded = optimised->speculation->published ? ", guarded" : ", not guarded: " + optimised->speculation->refused;
  const double end_s = work_s();
  const double ratio = optimised->baseline_ns > 0 ? optimised->winner_ns / optimised->baseline_ns : 1;
  return Searched{kernel.name,
                  end_s,
                  early_of(offers, end_s, ratio),
                  optimised->times,
                  std::string(name_of(optimised->outcome)) + guarded,
                  optimised->detail,
                  ratio};
}

void print_line(const Searched& one) {
  std::printf("%-24s %7.3f s, %.3f s ", one.name.c_str(), one.early_s, one.work_s);
  for (const pipeline::PassTime& pass : one.passes)
    if (pass.work_ns >= 1'000'000) std::printf(" %s %.0f", pass.pass.c_str(), 1e-6 * static_cast<double>(pass.work_ns));
  std::printf("  (%s at %.3f: %s)\n", one.outcome.c_str(), one.ratio, one.detail.c_str());
  std::fflush(stdout);
}

void print_shares(const std::vector<Searched>& all) {
  std::map<std::string, double> of_pass;
  double sum = 0;
  for (const Searched& one : all)
    for (const pipeline::PassTime& pass : one.passes) {
      of_pass[pass.pass] += static_cast<double>(pass.work_ns);
      sum += static_cast<double>(pass.work_ns);
    }
  for (const auto& [pass, ns] : of_pass) std::printf("share of %-12s %5.1f %%\n", pass.c_str(), 100 * ns / sum);
}

void measure(const std::vector<corpus::CorpusKernel>& kernels, const Setting& setting) {
  const std::string name = setting.type == ir::Type::f32 ? "f32" : "f64";
  std::vector<Searched> all;
  for (const corpus::CorpusKernel& kernel : kernels)
    if (auto one = search(kernel, setting)) {
      print_line(*one);
      all.push_back(std::move(*one));
    }
  if (all.empty()) return;
  print_shares(all);
  std::sort(all.begin(), all.end(), [](const Searched& a, const Searched& b) { return a.work_s < b.work_s; });
  const std::string of = std::string(setting.two_threads ? "search: s, " : "search: s of processor time, ") + name;
  print_figure(of + ", P50", all[all.size() / 2].work_s);
  print_figure(of + ", P95", all[all.size() * 95 / 100].work_s);
  print_figure(of + ", most", all.back().work_s);
  std::sort(all.begin(), all.end(), [](const Searched& a, const Searched& b) { return a.early_s < b.early_s; });
  print_figure(of + ", to a kernel nearly as fast as the last, P50", all[all.size() / 2].early_s);
  print_figure(of + ", to a kernel nearly as fast as the last, P95", all[all.size() * 95 / 100].early_s);
  double sum = 0;
  for (const Searched& one : all) sum += std::log(one.ratio);
  print_figure("search: the winner's time over the baseline's, geomean, " + name,
               std::exp(sum / static_cast<double>(all.size())));
}

int run(std::vector<std::string> arguments) {
  std::vector<corpus::CorpusKernel> kernels;
  std::string type;
  Setting setting;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& a = arguments[i];
    if (a == "--type" && i + 1 < arguments.size()) {
      type = arguments[++i];
    } else if (a == "--isa" && i + 1 < arguments.size()) {
      setting.isa = arguments[++i] == "avx2" ? codegen::Isa::avx2 : codegen::Isa::avx512;
    } else if (a == "--general") {
      setting.general = true;
    } else if (a == "--two-threads") {
      setting.two_threads = true;
    } else {
      auto read = corpus::read_corpus(a);
      if (!read.ok()) return std::fprintf(stderr, "%s\n", read.error().message.c_str()), 2;
      std::move(read->begin(), read->end(), std::back_inserter(kernels));
    }
  }
  for (const auto& [text, of] : {std::pair("f32", ir::Type::f32), std::pair("f64", ir::Type::f64)})
    if (setting.type = of; type.empty() || type == text) measure(kernels, setting);
  return 0;
}

}  // namespace
}  // namespace trident::bench

int main(int argc, char** argv) {
  return trident::bench::run({argv + 1, argv + argc});
}
