#include "runtime/os/text_file.h"

#include <filesystem>
#include <fstream>
#include <vector>

#include "runtime/os/atomic_file.h"

namespace trident::os {
namespace {

// A pipe among these has been opened already, and by both ends.
bool is_opened_by_shell(const std::string& path) {
  return path == "/dev/stdin" || path.starts_with("/dev/fd/") || path.starts_with("/proc/self/fd/");
}

bool is_stream(const std::string& path) {
  std::error_code code;
  const std::filesystem::file_type type = std::filesystem::status(path, code).type();
  return type == std::filesystem::file_type::character ||
         (type == std::filesystem::file_type::fifo && is_opened_by_shell(path));
}

Error longer_than(const std::string& path, std::size_t bytes_max) {
  return make_error(ErrorCode::kLimitExceeded, "%s: the text is longer than %zu bytes", path.c_str(), bytes_max);
}

Result<std::string> read_stream(const std::string& path, std::size_t bytes_max) {
  constexpr std::size_t kPieceBytes = std::size_t{1} << 16;
  std::ifstream in(path, std::ios::binary);
  std::string text;
  while (in && text.size() <= bytes_max) {  // a device may never end
    const std::size_t before = text.size();
    text.resize(before + kPieceBytes);
    in.read(text.data() + before, kPieceBytes);
    text.resize(before + static_cast<std::size_t>(in.gcount()));
  }
  if (!in.is_open() || in.bad()) return make_error(ErrorCode::kInvalidArgument, "%s: cannot be read", path.c_str());
  if (text.size() > bytes_max) return longer_than(path, bytes_max);
  return text;
}

}  // namespace

Result<std::string> read_text(const std::string& path, std::size_t bytes_max) {
  if (is_stream(path)) return read_stream(path, bytes_max);
  const Result<std::vector<std::byte>> bytes = read_file(path, bytes_max);
  if (bytes.ok()) return std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  if (bytes.error().code == ErrorCode::kLimitExceeded) return longer_than(path, bytes_max);
  if (bytes.error().code == ErrorCode::kNotFound)
    return make_error(ErrorCode::kInvalidArgument, "%s: cannot be read: there is no such file", path.c_str());
  return make_error(ErrorCode::kInvalidArgument, "%s", bytes.error().message.c_str());
}

}  // namespace trident::os
