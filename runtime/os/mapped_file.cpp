#include "runtime/os/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

namespace trident::os {

Result<Mapping> map_file(const std::string& path) {
  const auto failed = [&] {
    return make_error(errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kOsError, "%s: %s", path.c_str(),
                      std::strerror(errno));
  };
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return failed();
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return failed();
  if (status.st_size <= 0) return make_error(ErrorCode::kInvalidArgument, "%s: an empty file", path.c_str());
  const auto size = static_cast<std::size_t>(status.st_size);
  void* base = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
  if (base == MAP_FAILED) return failed();
  return Mapping(base, size);
}

}  // namespace trident::os
