#include "runtime/os/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "runtime/os/regular_file.h"

namespace trident::os {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 20;

Error file_error(const char* what, const std::string& path) {
  return make_error(errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kOsError, "%s: %s: %s", path.c_str(), what,
                    std::strerror(errno));
}

}  // namespace

AtomicFile::AtomicFile(std::string path, std::string draft, Fd fd)
    : path_(std::move(path)), draft_(std::move(draft)), fd_(std::move(fd)) {
  buffer_.reserve(kBufferBytes);
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      draft_(std::exchange(other.draft_, {})),
      fd_(std::move(other.fd_)),
      buffer_(std::move(other.buffer_)) {}

AtomicFile::~AtomicFile() {
  if (!draft_.empty()) (void)::unlink(draft_.c_str());
}

Result<AtomicFile> AtomicFile::create(const std::string& path) {
  static std::atomic<unsigned> counter{0};
  std::string draft = path + "." + std::to_string(::getpid()) + "." + std::to_string(counter++) + ".part";
  const int fd = ::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return file_error("cannot create", draft);
  struct stat old = {};
  if (::lstat(path.c_str(), &old) == 0 && S_ISREG(old.st_mode)) (void)::fchmod(fd, old.st_mode & 0777);
  return AtomicFile(path, std::move(draft), Fd(fd));
}

Result<void> AtomicFile::append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::size_t part = std::min(bytes.size(), kBufferBytes - buffer_.size());
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(part));
    bytes = bytes.subspan(part);
    if (buffer_.size() == kBufferBytes) TRY_VOID(write_out());
  }
  return {};
}

Result<void> AtomicFile::write_out() {
  std::size_t at = 0;
  while (at < buffer_.size()) {
    const ssize_t written = ::write(fd_.get(), buffer_.data() + at, buffer_.size() - at);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return file_error("cannot write", draft_);
    at += static_cast<std::size_t>(written);
  }
  buffer_.clear();
  return {};
}

Result<void> AtomicFile::commit() {
  TRY_VOID(write_out());
  if (::fsync(fd_.get()) != 0) return file_error("cannot sync", draft_);
  if (::rename(draft_.c_str(), path_.c_str()) != 0) return file_error("cannot rename to", path_);
  draft_.clear();
  const std::size_t slash = path_.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path_.substr(0, slash + 1);
  const Fd directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() < 0 || ::fsync(directory.get()) != 0) return file_error("cannot sync the folder of", path_);
  return {};
}

Result<std::vector<std::byte>> read_file(const std::string& path, std::size_t bytes_max) {
  TRY(const Fd fd, open_regular_file(path));
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return file_error("cannot stat", path);
  if (static_cast<std::size_t>(status.st_size) > bytes_max) {
    return make_error(ErrorCode::kLimitExceeded, "%s: the file has %lld bytes, more than the limit of %zu",
                      path.c_str(), static_cast<long long>(status.st_size), bytes_max);
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(status.st_size));
  std::size_t at = 0;
  while (at < bytes.size()) {
    const ssize_t count = ::read(fd.get(), bytes.data() + at, bytes.size() - at);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return file_error("cannot read", path);
    if (count == 0) break;  // it shrank
    at += static_cast<std::size_t>(count);
  }
  bytes.resize(at);
  return bytes;
}

}  // namespace trident::os
