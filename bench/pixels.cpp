// Compares expressions over pixels of 8 and 16 bits with the same loops in C (pixel_peers.c, by clang -O3 -march=native
// -ffast-math), and with the same expressions over arrays of floats, as callers without narrow elements would have
// them.
//
//   u8 blend           our time / clang's
//   floats: u8 blend   time over arrays of f32 / over arrays of pixels; their geomean at the end
//
// Our code and clang's read and write the same planes, a quarter of a page apart modulo a page: loads wait for stores
// whose addresses end in the same 12 bits, which made fast loops twice as slow where an allocator put the planes so.
// Policy bounded(2); kernels are the engine's in this process. Answers are compared first; those of functions and of
// regrouped sums may round to a neighbour.
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "bench/pixel_peers.h"
#include "bench/ratio.h"
#include "clients/c/trident.h"
#include "runtime/base/check.h"

namespace trident::bench {
namespace {

constexpr std::uint32_t kPatienceMs = 120'000;
constexpr std::uint64_t kElements = 16'384;
constexpr std::size_t kPage = 4096;
constexpr int kRounds = 101, kCalls = 20;

/// Texts in which MOST is the greatest pixel, OUT the cast to pixels, and SAT the one that rounds and clamps.
struct Case {
  const char* name;
  const char* text;
  int slack;
};
constexpr Case kCases[kPixelLoops] = {
    {"blend", "OUT((x*77 + y*179) >> 8)", 0},
    {"gamma", "SAT(pow(f32(x)/MOST, 0.45)*MOST)", 1},
    {"unsharp", "SAT(f32(x) + f32(x - y)*0.75)", 1},
    {"levels", "SAT(f32(x - 16)*(MOST/219) + 1)", 1},
    {"threshold", "OUT(select(x > y, MOST, 0))", 0},
    {"screen", "SAT(MOST - f32(MOST - x)*f32(MOST - y)/MOST)", 1},
    {"difference", "OUT(abs(x - y))", 0},
    {"luma", "OUT((x*66 + y*129 + z*25 + 128) >> 8)", 0},
    {"lerp", "SAT(f32(x) + f32(y - x)*f32(z)/MOST)", 1},
    {"add", "OUT(min(x + y, MOST))", 0},
};
/// Texts over arrays of floats, by case, with the same results.
constexpr const char* kFloatTexts[kPixelLoops] = {
    "floor((x*77 + y*179)/256)",
    "rint(min(max(pow(x/MOST, 0.45)*MOST, 0), MOST))",
    "rint(min(max(x + (x - y)*0.75, 0), MOST))",
    "rint(min(max((x - 16)*(MOST/219) + 1, 0), MOST))",
    "select(x > y, MOST, 0)",
    "rint(min(max(MOST - (MOST - x)*(MOST - y)/MOST, 0), MOST))",
    "abs(x - y)",
    "floor((x*66 + y*129 + z*25 + 128)/256)",
    "rint(min(max(x + (y - x)*z/MOST, 0), MOST))",
    "min(x + y, MOST)",
};

std::string with(std::string text, const std::string& word, const std::string& replacement) {
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += replacement.size())
    text.replace(at, word.size(), replacement);
  return text;
}

/// A kernel over three planes, which it may not all read.
class Planes {
 public:
  Planes(trident_ctx* ctx, const std::string& text, std::uint32_t type, std::size_t bytes) : bytes_(bytes) {
    const trident_variable variables[] = {{"x", type, TRIDENT_ARRAY, 0, most(bytes)},
                                          {"y", type, TRIDENT_ARRAY, 0, most(bytes)},
                                          {"z", type, TRIDENT_ARRAY, 0, most(bytes)}};
    trident_submit_options options = TRIDENT_SUBMIT_OPTIONS_INIT;
    options.type = TRIDENT_F32;
    options.variables = variables;
    options.variable_count = 3;
    options.elements_hint = kElements;
    if (trident_submit(ctx, text.c_str(), &options, &kernel_) != TRIDENT_OK)
      std::printf("%s\n%s\n", text.c_str(), trident_last_error());
    CHECK(kernel_ != nullptr);
    CHECK(trident_wait(kernel_, 2, kPatienceMs) == TRIDENT_OK);
    const std::size_t apart = kElements * bytes + kPage / 4;
    block_.resize(kPage + 4 * apart);
    void* first = block_.data();
    std::size_t room = block_.size();
    CHECK(std::align(kPage, 4 * apart, first, room) != nullptr);
    x_ = static_cast<std::byte*>(first), y_ = x_ + apart, z_ = y_ + apart, out_ = z_ + apart;
  }
  ~Planes() { trident_close_kernel(kernel_); }
  Planes(const Planes&) = delete;
  Planes& operator=(const Planes&) = delete;

  static double most(std::size_t bytes) { return bytes == 1 ? 255 : 65535; }

  template <class T>
  void fill(std::uint32_t mask) {
    std::uint32_t seed = 1;
    for (std::byte* plane : {x_, y_, z_})
      for (std::uint64_t i = 0; i < kElements; ++i) {
        seed = seed * 1664525u + 1013904223u;
        reinterpret_cast<T*>(plane)[i] = static_cast<T>(seed >> 16 & mask);
      }
  }
  void run() {
    const void* in[] = {x_, y_, z_};
    void* out[] = {out_};
    for (int i = 0; i < kCalls; ++i) trident_call(kernel_, kElements, in, out, nullptr);
  }
  void run_peer(pixel_loop loop) {
    for (int i = 0; i < kCalls; ++i) loop(kElements, x_, y_, z_, out_);
  }
  [[nodiscard]] std::vector<std::byte> result() const { return {out_, out_ + kElements * bytes_}; }
  /// Compares the plane that was written last with `peer`.
  [[nodiscard]] bool agrees(const std::vector<std::byte>& peer, int slack) const {
    for (std::uint64_t i = 0; i < kElements; ++i) {
      std::int32_t ours = 0, theirs = 0;
      std::memcpy(&ours, out_ + i * bytes_, bytes_);
      std::memcpy(&theirs, peer.data() + i * bytes_, bytes_);
      if (std::abs(ours - theirs) > slack) return false;
    }
    return true;
  }

 private:
  std::size_t bytes_;
  std::vector<std::byte> block_;
  std::byte *x_ = nullptr, *y_ = nullptr, *z_ = nullptr, *out_ = nullptr;  ///< in block_
  trident_kernel* kernel_ = nullptr;
};

trident_ctx* engine_context() {
  ::setenv("TRIDENT_ENGINE", TRIDENT_ENGINE_PATH, 1);
  trident_options options{};
  options.struct_size = sizeof(options);
  options.mode = TRIDENT_MODE_EMBEDDED;
  trident_ctx* ctx = nullptr;
  CHECK(trident_open(&options, &ctx) == TRIDENT_OK);
  return ctx;
}

double log_of_gains = 0;
int gains = 0;

void pixels(benchmark::State& state) {
  static trident_ctx* const ctx = engine_context();
  const std::size_t bytes = state.range(0) == 0 ? 1 : 2, number = static_cast<std::size_t>(state.range(1));
  const Case& what = kCases[number];
  const std::string type = bytes == 1 ? "u8" : "u16", most = bytes == 1 ? "255" : "65535";
  const std::string text = with(with(with(what.text, "OUT", type), "SAT", type + "_sat"), "MOST", most);
  Planes narrow(ctx, text, bytes == 1 ? TRIDENT_U8 : TRIDENT_U16, bytes);
  Planes wide(ctx, with(kFloatTexts[number], "MOST", most), TRIDENT_F32, sizeof(float));
  const std::uint32_t mask = bytes == 1 ? 0xFF : 0xFFFF;
  bytes == 1 ? narrow.fill<std::uint8_t>(mask) : narrow.fill<std::uint16_t>(mask);
  wide.fill<float>(mask);
  const pixel_loop peer = (bytes == 1 ? pixel_peers_u8 : pixel_peers_u16)[number];
  narrow.run_peer(peer);
  const std::vector<std::byte> peers = narrow.result();
  narrow.run();
  if (!narrow.agrees(peers, what.slack)) {
    state.SkipWithError("a wrong answer");
    ++wrong_answers();
    return;
  }
  const Rounds rounds =
      run_rounds(state, {[&] { narrow.run(); }, [&] { narrow.run_peer(peer); }, [&] { wide.run(); }}, kCalls);
  state.counters["ns"] = rounds.median_ns(0);
  print_figure(type + " " + what.name, rounds.ratio(0, 1));
  print_figure("floats: " + type + " " + what.name, rounds.ratio(2, 0));
  log_of_gains += std::log(rounds.ratio(2, 0));
  ++gains;
}
BENCHMARK(pixels)
    ->ArgsProduct({{0, 1}, benchmark::CreateDenseRange(0, kPixelLoops - 1, 1)})
    ->UseManualTime()
    ->Iterations(kRounds)
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace trident::bench

int main(int argc, char** argv) {
  using namespace trident::bench;
  const int status = run_benchmarks(argc, argv);
  if (gains != 0) print_figure("geomean of floats", std::exp(log_of_gains / gains));
  return status;
}
