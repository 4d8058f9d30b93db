// The host's compiler at -O3, of the same source (CMakeLists.txt has the flags).
#include "bench/loops/column.h"
#include "bench/loops/cpu_clock.h"

namespace trident::bench {
namespace {

class NativeColumn final : public Column {
 public:
  explicit NativeColumn(Work work) : work_(work), arena_(ARENA_BYTES / sizeof(std::uint64_t)) {}

  Answer answer() override {
    fill_arena(bytes(), reinterpret_cast<std::uint64_t>(bytes()), work_.bytes);
    const std::uint64_t result = call();
    return {result, hash_arena(bytes())};
  }

  double cpu_ns(std::uint64_t calls) override {
    const double begin = thread_cpu_ns();
    for (std::uint64_t i = 0; i < calls; ++i) call();
    return thread_cpu_ns() - begin;
  }

  double rounds() const override { return work_.rounds(); }

 private:
  std::uint8_t* bytes() { return reinterpret_cast<std::uint8_t*>(arena_.data()); }
  std::uint64_t call() { return call_kernel_on(work_.kernel, bytes(), work_.bytes); }

  Work work_;
  std::vector<std::uint64_t> arena_;
};

}  // namespace

std::unique_ptr<Column> native_column(Work work) {
  return std::make_unique<NativeColumn>(work);
}

}  // namespace trident::bench
