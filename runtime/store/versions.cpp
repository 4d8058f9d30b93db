#include "runtime/store/versions.h"

#include <algorithm>
#include <filesystem>
#include <string>

#include "runtime/os/atomic_file.h"
#include "runtime/os/directory.h"
#include "runtime/os/file_lock.h"
#include "runtime/os/mapped_file.h"
#include "runtime/os/regular_file.h"

namespace trident::store {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kNameLength = 2 * sizeof(Digest);
constexpr std::string_view kLockFile = "lock";
constexpr std::string_view kBytes = Versions::kExtension, kFigures = ".json";
constexpr std::size_t kChosenBytesMax = 64 * 1024, kFiguresBytesMax = 1 << 20;

bool is_digest(std::string_view name) {
  return name.size() == kNameLength && name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string hexadecimal(const Digest& digest) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : digest) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

Result<void> write_file(const std::string& path, std::span<const std::byte> bytes) {
  TRY(os::AtomicFile file, os::AtomicFile::create(path));
  TRY_VOID(file.append(bytes));
  return file.commit();
}

Error not_there(std::string_view name) {
  return make_error(ErrorCode::kNotFound, "there is no version %s", std::string(name).c_str());
}

}  // namespace

Result<os::Mapping> map_verified(const std::string& path, std::string_view digest) {
  TRY(const os::Fd file, os::open_regular_file(path));
  return map_verified(file, path, digest);
}

Result<os::Mapping> map_verified(const os::Fd& file, const std::string& name, std::string_view digest) {
  TRY(os::Mapping mapping, os::map_file(file, name));
  if (hexadecimal(sha256_of(mapping.bytes())) != digest)
    return make_error(ErrorCode::kRejectedRecord, "%s: the file is damaged: its digest is not its name", name.c_str());
  return mapping;
}

Result<Versions> Versions::open(std::string folder) {
  TRY_VOID(os::make_private_directory_of(folder + "/" + std::string(kChosenFile)));
  return Versions(std::move(folder));
}

std::string Versions::path_of(std::string_view name, std::string_view extension) const {
  return folder_ + "/" + std::string(name) + std::string(extension);
}

Result<std::string> Versions::add(std::span<const std::byte> bytes, std::string_view figures) {
  const std::string name = hexadecimal(sha256_of(bytes));
  TRY(const os::FileLock lock, os::FileLock::hold(folder_ + "/" + std::string(kLockFile)));
  if (!map_verified(path_of(name), name).ok()) TRY_VOID(write_file(path_of(name), bytes));
  TRY_VOID(write_file(path_of(name, kFigures), std::as_bytes(std::span(figures))));
  return name;
}

Result<std::vector<std::string>> Versions::history() const {
  const auto bytes = os::read_file(folder_ + "/" + std::string(kChosenFile), kChosenBytesMax);
  if (!bytes.ok() && bytes.error().code == ErrorCode::kNotFound) return std::vector<std::string>{std::string(kNone)};
  if (!bytes.ok()) return bytes.error();
  const std::string_view text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  std::vector<std::string> names;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    names.emplace_back(text.substr(at, end - at));
    at = end + 1;
    if (!is_digest(names.back()) && names.back() != kNone)
      return make_error(ErrorCode::kRejectedRecord, "%s/%s: line %zu is not the name of a version", folder_.c_str(),
                        std::string(kChosenFile).c_str(), names.size());
  }
  if (names.empty()) names.emplace_back(kNone);
  return names;
}

Result<void> Versions::write_history(const std::vector<std::string>& names) const {
  std::string text;
  for (const std::string& name : names) text += name + "\n";
  return write_file(folder_ + "/" + std::string(kChosenFile), std::as_bytes(std::span(text)));
}

Result<std::string> Versions::chosen() const {
  TRY(std::vector<std::string> names, history());
  return std::move(names.front());
}

Result<void> Versions::choose(std::string_view name, std::optional<std::string_view> instead_of) {
  TRY(const os::FileLock lock, os::FileLock::hold(folder_ + "/" + std::string(kLockFile)));
  if (name != kNone) TRY_VOID(map(name));
  auto read = history();
  if (!read.ok() && instead_of) return read.error();
  std::vector<std::string> names = read.ok() ? std::move(*read) : std::vector<std::string>{std::string(kNone)};
  if (instead_of && names.front() != *instead_of)
    return make_error(ErrorCode::kCancelled, "another process chose version %s in the meantime", names.front().c_str());
  if (read.ok() && names.front() == name) return {};
  names.insert(names.begin(), std::string(name));
  names.resize(std::min(names.size(), kHistoryMax + 1));
  TRY_VOID(write_history(names));
  remove_forgotten(names);
  return {};
}

Result<std::string> Versions::roll_back() {
  TRY(const os::FileLock lock, os::FileLock::hold(folder_ + "/" + std::string(kLockFile)));
  TRY(std::vector<std::string> names, history());
  if (names.size() < 2) return make_error(ErrorCode::kNotFound, "%s: nothing was chosen before", folder_.c_str());
  names.erase(names.begin());
  if (names.front() != kNone) TRY_VOID(map(names.front()));
  TRY_VOID(write_history(names));
  return names.front();
}

void Versions::remove_forgotten(const std::vector<std::string>& kept) const {
  std::error_code failed;
  std::vector<fs::path> forgotten;
  // Removes versions that were rolled back from or never chosen, too: only their names can find them. Drafts go too:
  // this process holds the lock, so their writers are dead.
  for (fs::directory_iterator at(folder_, failed), end; !failed && at != end; at.increment(failed)) {
    const std::string stem = at->path().stem().string();
    const bool kept_one = !is_digest(stem) || std::find(kept.begin(), kept.end(), stem) != kept.end();
    if (!kept_one || at->path().extension() == ".part") forgotten.push_back(at->path());
  }
  for (const fs::path& path : forgotten) fs::remove(path, failed);
}

Result<std::vector<Versions::Version>> Versions::list() const {
  TRY(std::vector<std::string> names, history());
  const std::string chosen = names.front();
  std::vector<std::string> others{std::string(kNone)};
  std::error_code failed;
  for (fs::directory_iterator at(folder_, failed), end; !failed && at != end; at.increment(failed))
    if (at->path().extension() == kBytes && is_digest(at->path().stem().string()))
      others.push_back(at->path().stem().string());
  if (failed && failed != std::errc::no_such_file_or_directory)
    return make_error(ErrorCode::kOsError, "%s: cannot be read: %s", folder_.c_str(), failed.message().c_str());
  std::sort(others.begin(), others.end());
  names.insert(names.end(), others.begin(), others.end());
  std::vector<Version> list;
  for (const std::string& name : names) {
    const auto same = [&](const Version& v) { return v.name == name; };
    if (std::any_of(list.begin(), list.end(), same)) continue;
    Version& version = list.emplace_back();
    version.name = name, version.chosen = name == chosen;
    if (const auto text = os::read_file(path_of(name, kFigures), kFiguresBytesMax); text.ok())
      version.figures.assign(reinterpret_cast<const char*>(text->data()), text->size());
  }
  return list;
}

std::vector<std::string> Versions::strangers() const {
  std::vector<std::string> names;
  std::error_code failed;
  for (fs::directory_iterator at(folder_, failed), end; !failed && at != end; at.increment(failed)) {
    const std::string name = at->path().filename().string();
    const bool draft = at->path().extension() == ".part";
    if (name != kChosenFile && name != kLockFile && !draft && !is_digest(at->path().stem().string()))
      names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::string> Versions::find(std::string_view beginning) const {
  TRY(const std::vector<Version> all, list());
  std::optional<std::string> found;
  for (const Version& version : all) {
    if (!version.name.starts_with(beginning)) continue;
    if (found)
      return make_error(ErrorCode::kInvalidArgument, "the prefix %s is ambiguous: several versions begin with it",
                        std::string(beginning).c_str());
    found = version.name;
  }
  if (!found || beginning.empty()) return not_there(beginning);
  return *std::move(found);
}

Result<os::Mapping> Versions::map(std::string_view name) const {
  if (!is_digest(name)) return not_there(name);
  return map_verified(path_of(name), name);
}

}  // namespace trident::store
