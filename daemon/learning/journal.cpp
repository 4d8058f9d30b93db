#include "daemon/learning/journal.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <functional>

#include "runtime/log/log.h"
#include "runtime/os/atomic_file.h"
#include "runtime/os/clock.h"
#include "runtime/os/directory.h"
#include "runtime/os/process.h"
#include "runtime/os/regular_file.h"

namespace trident::learning {
namespace {

constexpr std::size_t kLineBytesMax = 16 * 1024;
constexpr std::size_t kNodesMax = 600;
constexpr std::uint64_t kUnknownOwner = UINT64_MAX;
constexpr std::uint64_t kLookNs = 1'000'000'000;
constexpr const char* kBefore = ".before";

std::uint64_t hash_of(const std::string& line) {
  return std::hash<std::string>()(line);
}

/// The comment that names the owner. It ends with a semicolon, so one that was cut short names nobody.
std::string mark_of(std::uint32_t uid) {
  return " ;" + std::to_string(uid) + ";";
}

std::uint64_t owner_of(std::string_view line) {
  if (!line.ends_with(';')) return kUnknownOwner;
  line.remove_suffix(1);
  const std::string_view digits = line.substr(line.rfind(';') + 1);
  std::uint32_t uid = 0;
  const auto read = std::from_chars(digits.begin(), digits.end(), uid);
  return read.ec == std::errc() && read.ptr == digits.end() ? uid : kUnknownOwner;
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

Journal::Journal(std::string path, std::uint64_t bytes_max, std::uint64_t retry_ns)
    : path_(std::move(path)), bytes_max_(bytes_max), retry_ns_(retry_ns) {
  if (bytes_max_ != 0) written(open());
}

/// Makes memory say what the files hold.
void Journal::load() {
  shares_.clear();
  known_.clear();
  kept_bytes_ = 0;
  load(path_ + kBefore);
  load(path_);
}

void Journal::load(const std::string& path) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);)
    if (!line.empty()) keep(owner_of(line), {hash_of(line), line.size() + 1});
}

void Journal::keep(Owner owner, const Line& line) {
  if (!known_.insert(line.hash).second) return;
  Share& share = shares_[owner];
  share.lines.push_back(line);
  share.bytes += line.bytes;
  kept_bytes_ += line.bytes;
  while (kept_bytes_ > half()) {
    const auto most = std::max_element(shares_.begin(), shares_.end(),
                                       [](const auto& a, const auto& b) { return a.second.bytes < b.second.bytes; });
    const Line oldest = most->second.lines.front();
    most->second.lines.pop_front();
    most->second.bytes -= oldest.bytes;
    kept_bytes_ -= oldest.bytes;
    known_.erase(oldest.hash);
    if (most->second.lines.empty()) shares_.erase(most);
  }
}

/// Opens the file if none is open, or if the path leads to another one by now.
Result<void> Journal::open() {
  if (file_.valid() && os::is_at(file_, path_)) return {};
  if (file_.valid()) log::warning("the journal {} was removed or replaced; it begins anew", path_);
  file_.reset();
  load();
  (void)os::make_private_directory_of(path_).ok();  // opening the file says why it failed
  os::Fd file(::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  const off_t size = file.valid() ? ::lseek(file.get(), 0, SEEK_END) : -1;
  if (size < 0) return make_error(ErrorCode::kOsError, "%s", std::strerror(errno));
  bytes_ = static_cast<std::uint64_t>(size);
  // A line that a crash or a full disk has cut short ends here, and is no expression.
  if (bytes_ != 0) TRY_VOID(os::write_fully(file.get(), std::as_bytes(std::span("\n", 1))));
  bytes_ += bytes_ != 0 ? 1 : 0;
  file_ = std::move(file);
  return {};
}

/// Writes the lines to keep, of both files, to the older one and empties the newer one.
Result<void> Journal::begin_new() {
  std::unordered_set<std::uint64_t> left = known_;
  TRY(os::AtomicFile kept, os::AtomicFile::create(path_ + kBefore));
  for (const std::string& path : {path_ + kBefore, path_}) {
    std::ifstream in(path);
    for (std::string line; std::getline(in, line);)
      if (left.erase(hash_of(line)) != 0) TRY_VOID(kept.append(std::as_bytes(std::span(line += '\n'))));
  }
  TRY_VOID(kept.commit());
  if (::ftruncate(file_.get(), 0) != 0) return make_error(ErrorCode::kOsError, "ftruncate: %s", std::strerror(errno));
  bytes_ = 0;
  return {};
}

Result<void> Journal::append(const std::string& line) {
  TRY_VOID(open());
  if (bytes_ + line.size() > half()) TRY_VOID(begin_new());
  TRY_VOID(os::write_fully(file_.get(), std::as_bytes(std::span(line))));
  bytes_ += line.size();
  return {};
}

/// Says what has changed, and no more.
void Journal::written(const Result<void>& how) {
  const bool was_ill = ill_until_ns_ != 0;
  ill_until_ns_ = how.ok() ? 0 : os::monotonic_ns() + retry_ns_;
  fault_ = how.ok() ? "" : path_ + ": " + how.error().message;
  if (!how.ok()) file_.reset();
  if (!how.ok() && !was_ill)
    log::error(
        "cannot write the journal {}; submitted expressions are not recorded for training until it can be written "
        "(retried every {} s)",
        fault_, retry_ns_ / 1'000'000'000);
  if (how.ok() && was_ill)
    log::info("the journal {} can be written again; {} lost since the start", path_,
              stats_.lost == 1 ? "1 expression was" : std::to_string(stats_.lost) + " expressions were");
}

/// Returns true for a line that is kept. Looks at the file once a second: known lines write nothing.
bool Journal::is_known(std::uint64_t hash) {
  if (!known_.contains(hash)) return false;
  const std::uint64_t now = os::monotonic_ns();
  if (now - looked_ns_ < kLookNs) return true;
  looked_ns_ = now;
  return os::is_at(file_, path_);
}

void Journal::note(std::uint32_t uid, const expr::Expr& expr) {
  if (bytes_max_ == 0) return;
  if (ill_until_ns_ != 0 && os::monotonic_ns() < ill_until_ns_) {
    ++stats_.lost;
    return;
  }
  std::string line = journal_line(expr);
  if (!line.empty()) line += mark_of(uid);
  const std::uint64_t hash = hash_of(line);
  if (line.empty() || line.size() + 1 > half()) {
    ++stats_.left_out;
    return;
  }
  if (is_known(hash)) {
    ++stats_.known;
    return;
  }
  const auto how = append(line += '\n');
  if (!how.ok()) ++stats_.lost;
  written(how);
  if (!how.ok()) return;
  keep(uid, {hash, line.size()});
  ++stats_.noted;
}

}  // namespace trident::learning
