#include "daemon/learning/journal.h"

#include <algorithm>
#include <cstdio>
#include <functional>

#include "runtime/log/log.h"

namespace trident::learning {
namespace {

constexpr std::size_t kLineBytesMax = 16 * 1024;
constexpr std::size_t kNodesMax = 600;

std::uint64_t hash_of(const std::string& line) {
  return std::hash<std::string>()(line);
}

std::uint64_t read_lines(const std::string& path, std::unordered_set<std::uint64_t>& hashes) {
  std::ifstream in(path);
  std::uint64_t bytes = 0;
  for (std::string line; std::getline(in, line); bytes += line.size() + 1) hashes.insert(hash_of(line));
  return bytes;
}

}  // namespace

std::string journal_line(const expr::Expr& expr) {
  if (expr.nodes.size() > kNodesMax) return {};
  expr::Expr nameless = expr;
  std::size_t number = 0;
  for (expr::Variable& v : nameless.variables) v.name = "v" + std::to_string(number++);
  number = 0;
  for (expr::Output& o : nameless.outputs) o.name = "out" + std::to_string(number++);
  std::string line = expr::print_sexpr(nameless);
  if (line.size() > kLineBytesMax) return {};
  std::replace(line.begin(), line.end(), '\n', ' ');
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

Journal::Journal(std::string path, std::uint64_t bytes_max) : path_(std::move(path)), bytes_max_(bytes_max) {
  if (bytes_max_ == 0) return;
  read_lines(path_ + ".before", older_);
  bytes_ = read_lines(path_, newer_);
  file_.open(path_, std::ios::app);
  // A line that a crash has cut short ends here, and is no expression.
  if (file_ && bytes_ != 0) file_ << '\n' << std::flush;
  if (!file_) log::warning("the journal {} cannot be written: nothing is learnt from what clients submit", path_);
}

void Journal::begin_new() {
  file_.close();
  if (std::rename(path_.c_str(), (path_ + ".before").c_str()) == 0) older_ = std::exchange(newer_, {});
  file_.open(path_, std::ios::trunc);
  bytes_ = 0;
}

void Journal::note(const expr::Expr& expr) {
  if (bytes_max_ == 0 || !file_) return;
  const std::string line = journal_line(expr);
  const std::uint64_t hash = hash_of(line);
  if (line.empty()) {
    ++stats_.left_out;
    return;
  }
  if (newer_.contains(hash) || older_.contains(hash)) {
    ++stats_.known;
    return;
  }
  if (bytes_ + line.size() + 1 > bytes_max_ / 2) begin_new();
  file_ << line << '\n' << std::flush;
  if (!file_) {
    log::warning("the journal {} cannot be written any more", path_);
    return;
  }
  bytes_ += line.size() + 1;
  newer_.insert(hash);
  ++stats_.noted;
}

}  // namespace trident::learning
