#include "clients/cli/triton/program_runs.h"

#include <sstream>

#include "runtime/base/limits.h"
#include "runtime/os/text_file.h"

namespace trident::cli {
namespace {

constexpr const char* kBetween = ", \t\r";

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(kBetween);
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(kBetween) + 1 - first);
}

/// The text cut before every word that has a `=`.
std::vector<std::string> cut_at_equals(const std::string& text) {
  std::vector<std::string> out(1);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of(kBetween, at), text.size());
    const std::string word = text.substr(at, end - at);
    if (word.find('=') != std::string::npos) out.emplace_back();
    out.back() += text.substr(at, std::min(end + 1, text.size()) - at);
    at = end + 1;
  }
  return out;
}

std::vector<std::string>* field_named(ProgramRun& run, const std::string& name) {
  if (name == "in" || name == "input") return &run.public_input;
  if (name == "secret") return &run.secret_input;
  if (name == "digests") return &run.digests;
  return name == "ram" ? &run.ram : nullptr;
}

}  // namespace

Result<ProgramInputs> parse_run(const std::string& text) {
  ProgramRun run;
  std::vector<std::string>* field = nullptr;
  const std::vector<std::string> pieces = cut_at_equals(text);
  const auto bad = [&](const std::string& piece) {
    return make_error(ErrorCode::kInvalidArgument,
                      "run '%s': '%s': expected in=, secret=, digests= or ram= followed by words", text.c_str(),
                      trimmed(piece).c_str());
  };
  if (!trimmed(pieces.front()).empty()) return bad(pieces.front());
  for (std::size_t i = 1; i < pieces.size(); ++i) {
    // The comma before the next field separates no words.
    std::string piece = pieces[i].substr(0, pieces[i].find_last_not_of(" \t\r") + 1);
    if (i + 1 < pieces.size() && piece.ends_with(',')) piece.pop_back();
    const std::size_t equals = piece.find('=');
    if (auto* const named = field_named(run, piece.substr(0, equals)); named != nullptr) {
      field = named;
      piece.erase(0, equals + 1);
    } else if (field != &run.ram) {
      return bad(piece);
    }
    field->push_back(std::move(piece));
  }
  auto inputs = read_inputs(run);
  if (!inputs) return make_error(inputs.error().code, "run '%s': %s", text.c_str(), inputs.error().message.c_str());
  return inputs;
}

Result<std::vector<ProgramInputs>> read_runs(const std::string& path) {
  TRY(const std::string text, os::read_text(path, limits::kTasmTextBytesMax));
  std::istringstream lines(text);
  std::vector<ProgramInputs> out;
  std::size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.ends_with('\r')) line.pop_back();
    if (line.find_first_not_of(" \t") == std::string::npos || line.starts_with('#')) continue;
    auto run = parse_run(line);
    if (!run) return make_error(run.error().code, "%s:%zu: %s", path.c_str(), number, run.error().message.c_str());
    out.push_back(std::move(run).value());
  }
  if (out.empty()) return make_error(ErrorCode::kInvalidArgument, "%s: the file holds no run", path.c_str());
  return out;
}

}  // namespace trident::cli
