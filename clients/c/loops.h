// The loops of one guest CPU: what trident_loops_open() returns. It has the guest's memory, the addresses that are
// excluded and the loops by their heads. One thread at a time uses all of it; only submissions are known to others.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "clients/c/context.h"
#include "clients/c/guest_memory.h"
#include "clients/c/loop.h"
#include "clients/c/trident_loop.h"

namespace trident::client {

struct Loops final : trident_loops {
  /// Keeps the context until close().
  Loops(Context& owner, const trident_loops_options& options);

  static Loops* of(trident_loops* handle) { return static_cast<Loops*>(handle); }

  /// Closes the loops and destroys this.
  void close();

  Result<void> map(const trident_loop_memory& region);
  void unmap(std::uint64_t base, std::uint64_t size);
  /// [first, last] are addresses, in this and what follows.
  void written(std::uint64_t first, std::uint64_t last);
  void exclude(std::uint64_t first, std::uint64_t last);
  [[nodiscard]] bool is_excluded(std::uint64_t first, std::uint64_t last) const;

  /// InvalidArgument, LimitExceeded: the request is unsound, or its head has a loop.
  Result<Loop*> submit(const trident_loop_request& request);
  void close(Loop& loop);

  Context& context;
  GuestMemory memory;

 private:
  struct Excluded {
    std::uint64_t first, last;
  };
  template <class Visit>
  void for_each(Visit visit) const {
    for (const auto& [head, loop] : by_head_) visit(*loop);
  }

  std::vector<Excluded> excluded_;
  bool excludes_all_ = false;  ///< there was no memory to note one
  std::unordered_map<std::uint64_t, Loop*> by_head_;
};

}  // namespace trident::client
