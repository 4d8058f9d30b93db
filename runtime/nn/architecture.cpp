#include "runtime/nn/architecture.h"

#include <cstdio>
#include <map>
#include <vector>

#include "runtime/store/sha256.h"

namespace trident::nn {

using autodiff::Source;

template <class Real>
std::string architecture_text(const autodiff::Tape<Real>& tape, const autodiff::Value<Real>& output) {
  const auto& ops = tape.ops();
  const auto& values = tape.values();
  std::vector<bool> needed(values.size());
  needed[output.id] = true;
  std::vector<bool> kept(ops.size());
  for (std::size_t i = ops.size(); i-- > 0;) {
    for (const std::uint32_t id : ops[i].outputs) kept[i] = kept[i] || needed[id];
    if (!kept[i]) continue;
    for (const std::uint32_t id : ops[i].inputs) {
      if (id != UINT32_MAX) needed[id] = true;
    }
  }
  std::map<std::uint32_t, std::size_t> numbers;  // of results, in order of recording
  const auto name = [&](std::uint32_t id) -> std::string {
    if (id == UINT32_MAX) return "none";
    const auto& value = values[id];
    switch (value.source) {
      case Source::input: return value.name + "[.., " + std::to_string(value.shape[-1]) + "]";
      case Source::integers: return value.name;
      case Source::parameter:
      case Source::rows: return value.name + value.shape.text();
      case Source::constant: return "constant" + value.shape.text();
      case Source::result: return "%" + std::to_string(numbers.at(id));
    }
    return "?";
  };
  std::string text;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (!kept[i]) continue;
    for (const std::uint32_t id : ops[i].outputs) numbers.emplace(id, numbers.size());
    text += name(ops[i].outputs[0]) + " = " + std::string(name_of(ops[i].kind));
    for (const auto& attribute : ops[i].attributes) {
      char number[40];
      std::snprintf(number, sizeof number, "%.6g", attribute.value);  // f32's 1e-5 and f64's are one
      text += " " + attribute.name + "=" + number;
    }
    for (const std::uint32_t id : ops[i].inputs) text += " " + name(id);
    text += "\n";
  }
  return text;
}

template <class Real>
std::string architecture_hash(const autodiff::Tape<Real>& tape, const autodiff::Value<Real>& output) {
  const std::string text = architecture_text(tape, output);
  std::string hex;
  for (const std::uint8_t byte : store::sha256({std::as_bytes(std::span(text))})) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", byte);
    hex += digits;
  }
  return hex;
}

template std::string architecture_text(const autodiff::Tape<float>&, const autodiff::Value<float>&);
template std::string architecture_text(const autodiff::Tape<double>&, const autodiff::Value<double>&);
template std::string architecture_hash(const autodiff::Tape<float>&, const autodiff::Value<float>&);
template std::string architecture_hash(const autodiff::Tape<double>&, const autodiff::Value<double>&);

}  // namespace trident::nn
