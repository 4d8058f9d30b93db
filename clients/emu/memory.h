// The guest's address space: areas of pages, each backed by the host's memory. System calls reach guest memory only
// through here, where every address is checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "clients/emu/elf.h"

namespace trident::emu {

/// Pages with the same permissions that lie together in the guest and in the host.
struct Area {
  std::uint64_t base, bytes;
  std::byte* host;
  std::uint32_t permissions;
  bool reserved;  ///< the host's pages belong to the heap's reservation, and stay when the area goes
};

/// Host memory that backs a range of the guest's.
struct Piece {
  std::byte* host;
  std::size_t bytes;
};

class GuestMemory {
 public:
  /// Told of every area that comes and goes; `map` returns false when the CPU cannot take it. `code_changes` is told
  /// before executable pages go, lose a permission, or are written by others than the CPU: it drops its translations.
  struct Watch {
    std::function<bool(const Area&)> map;
    std::function<void(std::uint64_t base, std::uint64_t bytes)> unmap;
    std::function<void(std::uint64_t base, std::uint64_t bytes)> code_changes = [](std::uint64_t, std::uint64_t) {};
  };

  explicit GuestMemory(Watch watch) : watch_(std::move(watch)) {}
  GuestMemory(const GuestMemory&) = delete;
  GuestMemory& operator=(const GuestMemory&) = delete;
  ~GuestMemory();

  /// Maps zeroed pages in the place of whatever is there. Returns false when memory or addresses are short. `base` and
  /// `bytes` are whole pages.
  bool map(std::uint64_t base, std::uint64_t bytes, std::uint32_t permissions);
  void unmap(std::uint64_t base, std::uint64_t bytes);
  /// Returns false when some page of the range is not mapped.
  bool protect(std::uint64_t base, std::uint64_t bytes, std::uint32_t permissions);
  /// Returns the highest free range below the stack; 0 when there is none.
  [[nodiscard]] std::uint64_t free_range(std::uint64_t bytes) const;
  [[nodiscard]] bool is_free(std::uint64_t base, std::uint64_t bytes) const;
  [[nodiscard]] bool is_mapped(std::uint64_t base, std::uint64_t bytes, std::uint32_t permissions) const;

  /// The heap grows in place, in one area: loops over it have one window.
  bool reserve_heap(std::uint64_t base);
  /// Moves the heap's end. Returns false, and changes nothing, when there is no room.
  bool set_heap_end(std::uint64_t end);
  [[nodiscard]] std::uint64_t heap_base() const { return heap_base_; }
  [[nodiscard]] std::uint64_t heap_end() const { return heap_end_; }

  /// Tells that somebody is about to write to the host's memory behind a range.
  void about_to_change(std::uint64_t address, std::uint64_t bytes) const;
  /// Returns the host's memory behind a range, in order; nothing when a byte of it lacks one of the permissions.
  [[nodiscard]] std::optional<std::vector<Piece>> pieces(std::uint64_t address, std::uint64_t bytes,
                                                         std::uint32_t permissions) const;
  [[nodiscard]] bool read(std::uint64_t address, void* to, std::size_t bytes) const;
  bool write(std::uint64_t address, const void* from, std::size_t bytes);
  /// Writes whatever the permissions are: the loader's way.
  void fill(std::uint64_t address, const void* from, std::size_t bytes);
  template <class T>
  [[nodiscard]] std::optional<T> get(std::uint64_t address) const {
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    return read(address, &value, sizeof value) ? std::optional<T>(value) : std::nullopt;
  }
  template <class T>
  bool put(std::uint64_t address, const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    return write(address, &value, sizeof value);
  }
  /// Reads a text that ends with 0; nothing at a bad address. A text of `bytes_max` or more comes back as that long.
  [[nodiscard]] std::optional<std::string> text(std::uint64_t address, std::size_t bytes_max) const;

 private:
  using Areas = std::map<std::uint64_t, Area>;
  bool place(Area area);
  [[nodiscard]] const Area* area_at(std::uint64_t address) const;
  void take_out(Areas::iterator at, std::uint64_t base, std::uint64_t end, std::optional<std::uint32_t> permissions);
  void give_back(const Area& area);
  void shrink_heap(std::uint64_t from, std::uint64_t to);

  Watch watch_;
  Areas areas_;
  std::uint64_t mapped_bytes_ = 0;
  std::byte* heap_ = nullptr;
  std::uint64_t heap_base_ = 0, heap_end_ = 0;
};

}  // namespace trident::emu
