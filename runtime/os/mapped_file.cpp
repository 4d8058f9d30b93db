#include "runtime/os/mapped_file.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "runtime/os/regular_file.h"

namespace trident::os {

Result<Mapping> map_file(const std::string& path) {
  TRY(const Fd file, open_regular_file(path));
  return map_file(file, path);
}

Result<Mapping> map_file(const Fd& file, const std::string& name) {
  const auto failed = [&] { return make_error(ErrorCode::kOsError, "%s: %s", name.c_str(), std::strerror(errno)); };
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return failed();
  if (status.st_size <= 0) return make_error(ErrorCode::kInvalidArgument, "%s: the file is empty", name.c_str());
  const auto size = static_cast<std::size_t>(status.st_size);
  void* base = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
  if (base == MAP_FAILED) return failed();
  return Mapping(base, size);
}

}  // namespace trident::os
