#include "clients/c/function_call.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <memory>

#include "jit/region/interpreter.h"
#include "runtime/base/float_environment.h"
#include "schemas/function_image.h"

namespace trident::client {
namespace {

using function::Function;
using function::Parameter;
using function::Passing;
using function::Type;

#define X(name, text, meaning) static_cast<std::uint32_t>(function::Failure::name) + 1,
constexpr std::uint32_t kFailures[] = {
#include "jit/function/failures.def"
};
#undef X
static_assert(std::size(kFailures) >= 4 && kFailures[0] == TRIDENT_FAILED_DIVISION &&
              kFailures[1] == TRIDENT_FAILED_INDEX && kFailures[2] == TRIDENT_FAILED_BUDGET &&
              kFailures[3] == TRIDENT_FAILED_RANGE);

/// Local arrays up to here lie on the caller's stack.
constexpr std::size_t kStackLocalBytes = 4096;

std::size_t bytes_of(Type type) {
  return type == Type::u8 ? 1 : 8;
}

/// The values that a parameter takes.
struct Range {
  std::int64_t lo = std::numeric_limits<std::int64_t>::min(), hi = std::numeric_limits<std::int64_t>::max();
  bool is_real = false;  ///< all are bits of f64
  [[nodiscard]] bool has(std::int64_t value) const {
    if (!is_real) return value >= lo && value <= hi;
    return function::real_of(value) >= function::real_of(lo) && function::real_of(value) <= function::real_of(hi);
  }
};

Range range_of(const Parameter& p) {
  Range range;
  if (p.type == Type::u8) range = {0, 255};
  if (p.type == Type::boolean) range = {0, 1};
  if (p.lo && p.type == Type::f64) return {*p.lo, *p.hi, true};
  if (p.lo) range = {std::max(range.lo, *p.lo), std::min(range.hi, *p.hi)};
  return range;
}

/// Elements are looked at only where a range is declared that their type does not imply.
bool elements_fit(const Parameter& p, const trident_argument& argument) {
  if (!p.lo || p.passing == Passing::out) return true;
  const Range range = range_of(p);
  if (p.type == Type::u8) {
    const auto* first = static_cast<const std::uint8_t*>(argument.data);
    return std::all_of(first, first + argument.count, [&](std::uint8_t byte) { return range.has(byte); });
  }
  const auto* first = static_cast<const std::int64_t*>(argument.data);
  return std::all_of(first, first + argument.count, [&](std::int64_t value) { return range.has(value); });
}

Error refused(const Function& function, const Parameter& p, const char* why) {
  return make_error(ErrorCode::kInvalidArgument, "%s of %s: %s", p.name.c_str(), function.name.c_str(), why);
}

Result<void> check_array(const Function& function, const Parameter& p, const trident_argument& argument) {
  constexpr std::uint64_t kBytesMax = std::uint64_t{1} << 47;
  if (argument.count > kBytesMax / bytes_of(p.type)) return refused(function, p, "the array is too long");
  if (argument.data == nullptr && argument.count != 0) return refused(function, p, "the array has no memory");
  if (reinterpret_cast<std::uintptr_t>(argument.data) % bytes_of(p.type) != 0)
    return refused(function, p, "the array is not aligned to its elements");
  return {};
}

bool overlap(const region::Window& a, const region::Window& b) {
  return a.span != 0 && b.span != 0 && a.delta < b.delta + b.span && b.delta < a.delta + a.span;
}

/// The windows of one call.
struct Windows {
  std::array<region::Window, TRIDENT_FUNCTION_WINDOWS_MAX> list{};
  std::array<const Parameter*, TRIDENT_FUNCTION_WINDOWS_MAX> of{};
  std::size_t count = 0;

  void add(void* data, std::uint64_t bytes, const Parameter* parameter) {
    of[count] = parameter;
    list[count++] = {0, bytes, reinterpret_cast<std::uintptr_t>(data)};
  }
};

/// An array that is written overlaps no other.
Result<void> check_aliases(const Function& function, const Windows& windows) {
  for (std::size_t i = 0; i < windows.count; ++i)
    for (std::size_t j = 0; j < i; ++j) {
      if (windows.of[i]->passing == Passing::in && windows.of[j]->passing == Passing::in) continue;
      if (!overlap(windows.list[i], windows.list[j])) continue;
      return refused(function, *windows.of[i],
                     ("it overlaps " + windows.of[j]->name + ", and one of them is written").c_str());
    }
  return {};
}

Result<void> add_arrays(const Function& function, std::span<const trident_argument> arguments, Windows& windows) {
  if (arguments.size() != function.parameters.size())
    return make_error(ErrorCode::kInvalidArgument, "%s takes %zu arguments, and there are %zu", function.name.c_str(),
                      function.parameters.size(), arguments.size());
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Parameter& p = function.parameters[i];
    if (!p.is_array()) continue;
    TRY_VOID(check_array(function, p, arguments[i]));
    windows.add(arguments[i].data, arguments[i].count * bytes_of(p.type), &p);
  }
  return check_aliases(function, windows);
}

bool is_in_range(const Parameter& p, const trident_argument& argument) {
  return p.is_array() ? elements_fit(p, argument) : range_of(p).has(argument.value.i);
}

/// The line of the function's head, where its ranges are promised.
constexpr std::uint32_t kRangeLine = 1;

/// Returns false, with what failed, for an argument outside of its range.
bool check_ranges(const Function& function, std::span<const trident_argument> arguments, trident_returned& returned) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (is_in_range(function.parameters[i], arguments[i])) continue;
    returned.failure = TRIDENT_FAILED_RANGE;
    returned.line = kRangeLine;
    returned.function = function.name.c_str();
    returned.argument = function.parameters[i].name.c_str();
    return false;
  }
  return true;
}

/// Frame of one call, and memory of its local arrays.
class Scene {
 public:
  Scene(const Runner& runner, Windows& windows) : runner_(runner), windows_(windows) {
    std::size_t bytes = 0;
    for (const std::uint64_t local : runner.layout.local_bytes) bytes += padded(local);
    std::byte* memory = stack_.data();
    if (bytes > stack_.size()) {
      heap_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
      memory = heap_.get();
    }
    for (const std::uint64_t local : runner.layout.local_bytes) {
      windows.add(memory, local, nullptr);
      memory += padded(local);
    }
  }

  /// Runs the code once on values that are set by `set`.
  void begin(std::uint64_t budget) {
    std::memset(frame_.data(), 0, runner_.layout.frame_bytes);
    write(offsetof(region::FrameHead, budget), budget);
  }
  void set(std::size_t parameter, std::int64_t value) { write(runner_.layout.slots[parameter], value); }
  void run() {
    if (runner_.entry != nullptr) return runner_.entry(frame_.data(), windows_.list.data());
    const std::span<std::byte> frame(frame_.data(), runner_.layout.frame_bytes);
    region::interpret(*runner_.region, frame, std::span(windows_.list).first(windows_.count),
                      std::numeric_limits<std::uint64_t>::max());
  }
  /// 0, or an enum trident_failure.
  [[nodiscard]] std::uint32_t failure() const { return read<std::uint32_t>(runner_.layout.failure_slot); }
  [[nodiscard]] const function::Place* place() const {
    const auto place = read<std::uint32_t>(runner_.layout.place_slot);
    return place < runner_.layout.places.size() ? &runner_.layout.places[place] : nullptr;
  }
  [[nodiscard]] std::int64_t result() const { return read<std::int64_t>(runner_.layout.result_slot); }

 private:
  static std::size_t padded(std::uint64_t bytes) { return (bytes + 15) / 16 * 16; }
  template <class T>
  [[nodiscard]] T read(std::uint32_t slot) const {
    T value;
    std::memcpy(&value, frame_.data() + slot, sizeof value);
    return value;
  }
  template <class T>
  void write(std::size_t slot, T value) {
    std::memcpy(frame_.data() + slot, &value, sizeof value);
  }

  const Runner& runner_;
  Windows& windows_;
  std::unique_ptr<std::byte[]> heap_;
  // Not cleared: frames are small, and code clears its arrays.
  alignas(16)
      std::array<std::byte, TRIDENT_FUNCTION_FRAME_BYTES_MAX> frame_;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  alignas(16) std::array<std::byte, kStackLocalBytes> stack_;          // NOLINT(cppcoreguidelines-pro-type-member-init)
};

void read_outcome(const Function& function, const Scene& scene, trident_returned& returned) {
  returned.failure = scene.failure();
  if (returned.failure == TRIDENT_RETURNED) {
    if (function.result != Type::none) returned.value.i = scene.result();
    return;
  }
  const function::Place* const place = scene.place();
  returned.line = place == nullptr ? 0 : place->line;
  returned.function = place == nullptr ? function.name.c_str() : place->function.c_str();
}

std::uint64_t status_of(const trident_returned& returned) {
  return returned.failure == TRIDENT_RETURNED ? 0 : std::uint64_t{returned.line} << 8 | returned.failure;
}

}  // namespace

int type_of(Type type) {
  switch (type) {
    case Type::i64: return TRIDENT_I64;
    case Type::u8: return TRIDENT_U8;
    case Type::boolean: return TRIDENT_BOOL;
    case Type::f64: return TRIDENT_F64;
    case Type::none: break;
  }
  return -1;
}

Result<void> call_function(const Function& function, const Runner& runner, std::span<const trident_argument> arguments,
                           std::uint64_t budget, trident_returned& returned) {
  Windows windows;
  TRY_VOID(add_arrays(function, arguments, windows));
  returned.tier = runner.tier;
  if (!check_ranges(function, arguments, returned)) return {};
  const StandardFloats floats;
  Scene scene(runner, windows);
  scene.begin(budget == 0 ? TRIDENT_BUDGET_DEFAULT : budget);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const bool is_array = function.parameters[i].is_array();
    scene.set(i, is_array ? static_cast<std::int64_t>(arguments[i].count) : arguments[i].value.i);
  }
  scene.run();
  read_outcome(function, scene, returned);
  return {};
}

void call_elements(const Function& function, const Runner& runner, std::uint64_t n, const void* const* in,
                   void* const* out) {
  const std::size_t parameters = function.parameters.size();
  std::array<trident_argument, limits::kInputsMax> arguments{};
  const StandardFloats floats;
  Windows windows;
  Scene scene(runner, windows);
  for (std::uint64_t i = 0; i < n; ++i) {
    for (std::size_t p = 0; p < parameters; ++p)
      std::memcpy(&arguments[p].value, static_cast<const std::int64_t*>(in[p]) + i, 8);
    trident_returned returned{};
    if (check_ranges(function, std::span(arguments).first(parameters), returned)) {
      scene.begin(TRIDENT_BUDGET_DEFAULT);
      for (std::size_t p = 0; p < parameters; ++p) scene.set(p, arguments[p].value.i);
      scene.run();
      read_outcome(function, scene, returned);
    }
    const std::uint64_t status = status_of(returned);
    if (out[0] != nullptr) std::memcpy(static_cast<std::int64_t*>(out[0]) + i, &returned.value, 8);
    if (out[1] != nullptr) std::memcpy(static_cast<std::int64_t*>(out[1]) + i, &status, 8);
  }
}

}  // namespace trident::client
