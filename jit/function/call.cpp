#include "jit/function/call.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "jit/region/interpreter.h"

namespace trident::function {
namespace {

std::string_view sentence_of(Failure failure) {
  constexpr std::string_view kSentences[] = {
#define X(name, text, meaning) meaning,
#include "jit/function/failures.def"
#undef X
  };
  return kSentences[static_cast<std::size_t>(failure)];
}

bool lies_in(const Parameter& p, std::int64_t value) {
  if (p.type == Type::u8 && (value < 0 || value > 255)) return false;
  if (p.lo && p.type == Type::f64) return real_of(value) >= real_of(*p.lo) && real_of(value) <= real_of(*p.hi);
  return !p.lo || (value >= *p.lo && value <= *p.hi);
}

bool lies_in(const Parameter& p, const Argument& argument) {
  if (p.passing == Passing::out) return true;
  if (!p.is_array()) return lies_in(p, argument.number);
  return std::all_of(argument.elements.begin(), argument.elements.end(),
                     [&](std::int64_t element) { return lies_in(p, element); });
}

Result<void> takes(const Function& function, std::span<const Argument> arguments) {
  if (arguments.size() != function.parameters.size())
    return make_error(ErrorCode::kInvalidArgument, "%s takes %zu arguments, and there are %zu", function.name.c_str(),
                      function.parameters.size(), arguments.size());
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Parameter& p = function.parameters[i];
    if (arguments[i].is_array != p.is_array())
      return make_error(ErrorCode::kInvalidArgument, "%s of %s is %s", p.name.c_str(), function.name.c_str(),
                        p.is_array() ? "an array" : "a single value");
    const bool is_empty = p.is_array() && arguments[i].elements.empty();
    if (arguments[i].is_real != (p.type == Type::f64) && !is_empty)
      return make_error(ErrorCode::kInvalidArgument, "%s of %s is %s", p.name.c_str(), function.name.c_str(),
                        p.type == Type::f64 ? "of f64: write 1.0, not 1" : "no f64");
    const auto is_byte = [](std::int64_t v) { return v >= 0 && v <= 255; };
    const bool fits = std::all_of(arguments[i].elements.begin(), arguments[i].elements.end(), is_byte);
    if (p.type == Type::u8 && p.is_array() && !fits)
      return make_error(ErrorCode::kInvalidArgument, "elements of %s are from 0 to 255", p.name.c_str());
  }
  return {};
}

/// Memory of the arrays of one call, each of its exact size, and the windows that lead to them.
class Memory {
 public:
  void add(const Parameter& p, const Argument& argument) {
    const std::size_t count = argument.elements.size(), bytes = element_bytes(p.type);
    auto& memory = add(count * bytes);
    for (std::size_t i = 0; i < count; ++i) std::memcpy(memory.data() + i * bytes, &argument.elements[i], bytes);
  }
  std::vector<std::byte>& add(std::size_t size) { return arrays_.emplace_back(size); }

  [[nodiscard]] std::vector<region::Window> windows() const {
    std::vector<region::Window> list;
    for (const auto& array : arrays_) list.push_back({0, array.size(), reinterpret_cast<std::uintptr_t>(array.data())});
    return list;
  }
  [[nodiscard]] std::vector<std::int64_t> elements(std::size_t number, Type type) const {
    const std::size_t bytes = element_bytes(type);
    std::vector<std::int64_t> list(arrays_[number].size() / bytes);
    for (std::size_t i = 0; i < list.size(); ++i) std::memcpy(&list[i], arrays_[number].data() + i * bytes, bytes);
    return list;
  }

 private:
  std::vector<std::vector<std::byte>> arrays_;
};

template <class T>
T read(std::span<const std::byte> frame, std::uint32_t slot) {
  T value;
  std::memcpy(&value, frame.data() + slot, sizeof value);
  return value;
}

template <class T>
void write(std::span<std::byte> frame, std::uint32_t slot, T value) {
  std::memcpy(frame.data() + slot, &value, sizeof value);
}

bool is_same_array(Type type, const Argument& a, const Argument& b) {
  return std::equal(a.elements.begin(), a.elements.end(), b.elements.begin(), b.elements.end(),
                    [&](std::int64_t x, std::int64_t y) { return is_same(type, x, y); });
}

std::string print_after(const Function& function, const Returned& returned, const Case::After& after) {
  const Argument& array = returned.arguments[*function.parameter(after.name)];
  Argument shown = array;
  shown.is_text = after.value.is_text;
  return after.name + " is " + print(shown) + ", not " + print(after.value);
}

/// Returns why a test does not hold; empty when it does.
std::string difference(const Function& function, const Case& test, const Returned& returned) {
  if (returned.fault) {
    if (test.failure == returned.fault->failure) return {};
    return print(*returned.fault);
  }
  if (test.failure) return "no error " + std::string(name_of(*test.failure));
  if (test.result && !is_same(function.result, test.result->number, returned.result)) {
    const Argument got{.is_real = test.result->is_real, .number = returned.result, .is_truth = test.result->is_truth};
    return print(got) + ", not " + print(*test.result);
  }
  for (const Case::After& after : test.after)
    if (!is_same_array(function.parameters[*function.parameter(after.name)].type,
                       returned.arguments[*function.parameter(after.name)], after.value))
      return print_after(function, returned, after);
  return {};
}

/// Frame and memory of one call.
struct Scene {
  std::vector<std::byte> frame;
  Memory memory{};
};

/// Fills the scene; returns the fault of an argument outside of its range.
std::optional<Fault> set_up(const Function& function, const Layout& layout, std::span<const Argument> arguments,
                            Scene& scene) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Parameter& p = function.parameters[i];
    if (!lies_in(p, arguments[i])) return Fault{Failure::range, {function.name, 1}, p.name};
    if (p.is_array()) scene.memory.add(p, arguments[i]);
    write(scene.frame, layout.slots[i],
          p.is_array() ? static_cast<std::int64_t>(arguments[i].elements.size()) : arguments[i].number);
  }
  for (const std::uint64_t bytes : layout.local_bytes) scene.memory.add(bytes);
  return {};
}

void take_results(const Function& function, const Layout& layout, const Scene& scene, Returned& returned) {
  for (std::size_t i = 0, array = 0; i < function.parameters.size(); ++i)
    if (function.parameters[i].is_array())
      returned.arguments[i].elements = scene.memory.elements(array++, function.parameters[i].type);
  if (const auto failure = read<std::uint32_t>(scene.frame, layout.failure_slot); failure != 0)
    returned.fault = {static_cast<Failure>(failure - 1),
                      layout.places[read<std::uint32_t>(scene.frame, layout.place_slot)]};
  else
    returned.result = read<std::int64_t>(scene.frame, layout.result_slot);
}

template <class Run>
Result<Returned> call_with(const Function& function, const Layout& layout, std::span<const Argument> arguments,
                           std::uint64_t budget, const Run& run) {
  TRY_VOID(takes(function, arguments));
  Returned returned{.arguments = {arguments.begin(), arguments.end()}};
  Scene scene{.frame = std::vector<std::byte>(layout.frame_bytes)};
  write(scene.frame, offsetof(region::FrameHead, budget), budget);
  returned.fault = set_up(function, layout, arguments, scene);
  if (returned.fault) return returned;
  run(scene.frame, scene.memory.windows());
  take_results(function, layout, scene, returned);
  return returned;
}

}  // namespace

std::string print(const Fault& fault) {
  const std::string place = fault.place.function + ": line " + std::to_string(fault.place.line) + ": ";
  return place + std::string(sentence_of(fault.failure)) + (fault.argument.empty() ? "" : ": " + fault.argument);
}

Result<Returned> call(const Function& function, const Lowered& lowered, std::span<const Argument> arguments,
                      std::uint64_t budget) {
  return call_with(function, lowered, arguments, budget, [&](std::span<std::byte> frame, const auto& windows) {
    region::interpret(lowered.region, frame, windows, std::numeric_limits<std::uint64_t>::max());
  });
}

Result<Returned> call(const Function& function, const Layout& layout, Entry entry, std::span<const Argument> arguments,
                      std::uint64_t budget) {
  return call_with(function, layout, arguments, budget,
                   [&](std::span<std::byte> frame, const auto& windows) { entry(frame.data(), windows.data()); });
}

Result<std::vector<Miss>> run_tests(const Function& function, const Lowered& lowered, Entry entry,
                                    std::uint64_t budget) {
  std::vector<Miss> misses;
  for (std::size_t t = 0; t < function.tests.size(); ++t) {
    const auto& arguments = function.tests[t].arguments;
    TRY(const Returned returned, entry != nullptr ? call(function, lowered, entry, arguments, budget)
                                                  : call(function, lowered, arguments, budget));
    if (std::string why = difference(function, function.tests[t], returned); !why.empty())
      misses.push_back({t, std::move(why)});
  }
  return misses;
}

}  // namespace trident::function
