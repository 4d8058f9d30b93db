#include "jit/tir/neural/left_blocks.h"

#include <filesystem>
#include <system_error>

#include "runtime/os/directory.h"
#include "runtime/os/file_lock.h"

namespace trident::tir::neural {

Result<void> leave_blocks(const std::string& folder, const std::vector<BlockRecord>& records) {
  const std::string path = folder + "/left";
  TRY_VOID(os::make_private_directory_of(path));
  TRY([[maybe_unused]] const os::FileLock lock, os::FileLock::hold(path + ".lock"));
  BlockBuffer buffer;
  if (auto before = BlockBuffer::load(path); before.ok()) buffer = *std::move(before);
  for (const BlockRecord& record : records) (void)buffer.add(record).ok();
  return buffer.save(path);
}

Result<std::vector<BlockRecord>> take_left_blocks(const std::string& folder) {
  const std::string path = folder + "/left";
  std::error_code code;
  if (!std::filesystem::exists(path, code)) return std::vector<BlockRecord>();
  TRY([[maybe_unused]] const os::FileLock lock, os::FileLock::hold(path + ".lock"));
  const auto buffer = BlockBuffer::load(path);
  std::filesystem::remove(path, code);
  if (!buffer.ok()) return buffer.error();
  return std::vector<BlockRecord>(buffer->records().begin(), buffer->records().end());
}

}  // namespace trident::tir::neural
