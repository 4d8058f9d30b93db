#include "runtime/train/checkpoint.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <sstream>

#include "runtime/nn/safetensors.h"

namespace trident::train {
namespace {

using nn::ElementType;
using nn::TensorSource;

/// The state of the optimiser and of the tables' rows, as tensors.
std::vector<TensorSource> state_sources(const tensor::ParameterStore<float>& store, Optimiser<float>& optimiser) {
  std::vector<TensorSource> sources;
  const auto flat = [&](const char* name, std::span<float> values) {
    sources.push_back({name, ElementType::f32, {values.size()}, values.data(), 1, values.size(), values.size()});
  };
  flat("optimiser.first", optimiser.first_moment());
  flat("optimiser.second", optimiser.second_moment());
  for (const auto& table : store.tables()) {
    for (std::size_t plane = 1; plane < table->planes(); ++plane) {
      sources.push_back({"optimiser." + table->name() + "." + std::to_string(plane),
                         ElementType::f32,
                         {table->rows(), table->width()},
                         table->base() + plane * table->plane_stride(),
                         table->rows(),
                         table->width(),
                         table->row_stride()});
    }
    sources.push_back({"optimiser." + table->name() + ".updates",
                       ElementType::u32,
                       {table->rows()},
                       table->updates().data(),
                       1,
                       table->rows(),
                       table->rows()});
  }
  return sources;
}

/// Decimal for whole numbers, the bits in hexadecimal form for the others, so that they come back exactly.
template <class Number>
std::string text_of(Number number) {
  char buffer[64];
  std::to_chars_result end{};
  if constexpr (std::is_floating_point_v<Number>)
    end = std::to_chars(buffer, buffer + 64, number, std::chars_format::hex);
  else
    end = std::to_chars(buffer, buffer + 64, number);
  return {buffer, end.ptr};
}

template <class Number>
Result<void> read_number(const std::string& path, const nn::Metadata& metadata, const char* key, Number& number) {
  const auto found = metadata.find(key);
  std::errc error = std::errc::invalid_argument;
  if (found != metadata.end()) {
    const char *from = found->second.data(), *to = from + found->second.size();
    std::from_chars_result end{};
    if constexpr (std::is_floating_point_v<Number>)
      end = std::from_chars(from, to, number, std::chars_format::hex);
    else
      end = std::from_chars(from, to, number);
    if (end.ec == std::errc() && end.ptr == to) error = std::errc();
  }
  if (error == std::errc()) return {};
  return make_error(ErrorCode::kRejectedRecord,
                    "%s: this checkpoint cannot be resumed: its %s is missing or not a number", path.c_str(), key);
}

/// Each member of Progress with its name in the file, for both directions.
template <class P, class F>
void for_members(P& progress, F f) {
  f("progress.seed", progress.seed);
  f("progress.epoch", progress.epoch);
  f("progress.position", progress.position);
  f("progress.step", progress.step);
  f("progress.loss_sum", progress.loss_sum);
  f("progress.best_metric", progress.best_metric);
  f("progress.best_epoch", progress.best_epoch);
  f("progress.seconds", progress.seconds);
}

constexpr const char* kOptimiserSteps = "optimiser.steps";
constexpr const char* kHistory = "progress.history";
constexpr const char* kTerm = "terms.";  // and the name
// Version of the format of Progress; nn::Metadata has none.
constexpr const char* kVersionKey = "progress.version";
constexpr const char* kVersion = "2";

/// A line for each epoch.
std::string text_of(const std::vector<EpochFigures>& history) {
  std::string text;
  for (const EpochFigures& e : history) {
    text += text_of(e.step) + (e.best ? " 1" : " 0");
    for (const double figure : {e.loss, e.metric, e.beside, e.rate, e.seconds}) text += ' ' + text_of(figure);
    text += '\n';
  }
  return text;
}

bool read_figure(std::istream& in, double& figure) {
  std::string word;
  if (!(in >> word)) return false;
  const auto end = std::from_chars(word.data(), word.data() + word.size(), figure, std::chars_format::hex);
  return end.ec == std::errc() && end.ptr == word.data() + word.size();
}

/// Exactly as many epochs as are done.
Result<std::vector<EpochFigures>> read_history(const std::string& path, const nn::Metadata& metadata,
                                               std::uint64_t epochs) {
  const auto found = metadata.find(kHistory);
  std::istringstream lines(found == metadata.end() ? std::string() : found->second);
  std::vector<EpochFigures> history;
  bool whole = found != metadata.end();
  for (std::string line; whole && std::getline(lines, line);) {
    std::istringstream words(line);
    EpochFigures e;
    whole = static_cast<bool>(words >> e.step >> e.best);
    for (double* figure : {&e.loss, &e.metric, &e.beside, &e.rate, &e.seconds})
      whole = whole && read_figure(words, *figure);
    history.push_back(e);
  }
  if (whole && history.size() == epochs) return history;
  return make_error(ErrorCode::kRejectedRecord,
                    "%s: this checkpoint cannot be resumed: it does not hold the figures of %llu epochs", path.c_str(),
                    static_cast<unsigned long long>(epochs));
}

/// InvalidArgument with the first term that was another one.
Result<void> check_terms(const std::string& path, const nn::Metadata& metadata, const RunTerms& terms) {
  for (const auto& [name, value] : terms) {
    const auto found = metadata.find(kTerm + name);
    const std::string before = found == metadata.end() ? "none" : found->second;
    if (before != value)
      return make_error(ErrorCode::kInvalidArgument,
                        "%s: the run there has %s %s, this one %s: use the same value, or start over in another folder",
                        path.c_str(), name.c_str(), before.c_str(), value.c_str());
  }
  for (const auto& [key, value] : metadata)
    if (key.starts_with(kTerm) &&
        std::none_of(terms.begin(), terms.end(), [&key = key](const auto& term) { return kTerm + term.first == key; }))
      return make_error(
          ErrorCode::kInvalidArgument,
          "%s: the run there has %s %s, this one none: use the same value, or start over in another folder",
          path.c_str(), key.c_str() + std::strlen(kTerm), value.c_str());
  return {};
}

}  // namespace

Result<void> save_checkpoint(const std::string& path, const tensor::ParameterStore<float>& store,
                             Optimiser<float>& optimiser, const Progress& progress, const std::string& architecture) {
  nn::Metadata metadata = {{"architecture", architecture}, {"seed", text_of(store.seed())}};
  for_members(progress, [&](const char* key, const auto& value) { metadata[key] = text_of(value); });
  metadata[kOptimiserSteps] = text_of(optimiser.steps());
  metadata[kVersionKey] = kVersion;
  metadata[kHistory] = text_of(progress.history);
  for (const auto& [name, value] : progress.terms) metadata[kTerm + name] = value;
  std::vector<TensorSource> sources = nn::weight_sources(store);
  for (auto& source : state_sources(store, optimiser)) sources.push_back(std::move(source));
  return nn::write_safetensors(path, metadata, sources);
}

Result<Progress> load_checkpoint(const std::string& path, tensor::ParameterStore<float>& store,
                                 Optimiser<float>& optimiser, const std::string& architecture, const RunTerms& terms) {
  TRY(nn::SafetensorsFile file, nn::read_safetensors(path));
  const auto version = file.metadata.find(kVersionKey);
  if (file.metadata.contains(kOptimiserSteps) && (version == file.metadata.end() || version->second != kVersion))
    return make_error(ErrorCode::kRejectedRecord,
                      "%s: another version of this program wrote this checkpoint, so it cannot be resumed: start over "
                      "in another folder",
                      path.c_str());
  Progress progress;
  progress.terms = terms;
  std::uint64_t steps = 0;
  Result<void> state = read_number(path, file.metadata, kOptimiserSteps, steps);
  for_members(progress, [&](const char* key, auto& value) {
    if (state.ok()) state = read_number(path, file.metadata, key, value);
  });
  TRY_VOID(state);
  TRY_VOID(check_terms(path, file.metadata, terms));
  TRY(progress.history, read_history(path, file.metadata, progress.epoch));
  if (progress.best_epoch >= progress.epoch && (progress.epoch != 0 || progress.best_epoch != Progress::kNone))
    return make_error(ErrorCode::kRejectedRecord,
                      "%s: this checkpoint cannot be resumed: its best epoch is later than its last one", path.c_str());
  const std::vector<TensorSource> sources = state_sources(store, optimiser);
  std::vector<std::span<const std::byte>> data;
  for (const TensorSource& source : sources) {
    TRY(auto bytes, nn::expect_tensor(path, file, source.name, source.type, source.shape));
    data.push_back(bytes);
  }
  TRY_VOID(nn::load_weights(path, file, store, architecture));
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const std::size_t row_bytes = sources[i].row_elements * sizeof(float);
    auto* to = const_cast<std::byte*>(static_cast<const std::byte*>(sources[i].base));  // our own state
    for (std::size_t r = 0; r < sources[i].rows && row_bytes > 0; ++r) {
      std::memcpy(to + r * sources[i].row_stride * sizeof(float), data[i].data() + r * row_bytes, row_bytes);
    }
  }
  optimiser.set_steps(steps);
  return progress;
}

}  // namespace trident::train
