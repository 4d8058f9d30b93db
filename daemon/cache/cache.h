// Results of optimise jobs, by user and key: hot entries in memory, all of them in a runtime/store that survives
// restarts.
//
// A user sees only the results of its own jobs: a shared cache would tell one user what another compiles. A
// processor or a build that differs changes the stored key, so stale entries are never found and age out. A hit also
// compares the canonical bytes of the expression, which makes even a hash collision harmless.
//
// Reads happen on the loop (microseconds); writes happen on a thread of their own, because a checkpoint may wait for
// the disk. When that thread falls behind, new entries are not stored: they stay hot, and would be compiled again.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "jit/image/image.h"
#include "runtime/sched/bounded_queue.h"
#include "runtime/store/store.h"

namespace trident::cache {

/// A valid image, held in memory, where it costs no descriptors. Null without an image.
using SharedImage = std::shared_ptr<const image::ImageBytes>;

/// The result stored for a key. `outcome` is a pipeline::Outcome; budget_spent is never stored.
struct Entry {
  std::uint8_t outcome = 0;
  SharedImage image;  ///< the best image that may run; none when the baseline was found wrong
  double baseline_ns = 0, winner_ns = 0;
  std::vector<std::byte> canonical;
  std::string reason{};  ///< why there is nothing better than the baseline; known while the entry is in memory
};

struct Options {
  std::string path;  ///< empty: nothing is stored
  std::uint64_t bytes_max = 0;
  std::uint32_t hot_entries_max = 0;
  std::uint64_t hot_bytes_max = 0;  ///< of the images of hot entries
};

struct Stats {
  std::uint64_t hot_hits = 0, stored_hits = 0, misses = 0, collisions = 0, refused_images = 0, not_stored = 0;
  std::size_t hot = 0;
  std::uint64_t hot_bytes = 0;
  store::Stats store;
};

class Cache {
 public:
  explicit Cache(const Options& options);
  /// Waits until everything handed over is stored.
  ~Cache();
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;

  /// The entry if it is in memory. Valid until the next call.
  const Entry* find_hot(std::uint32_t uid, const image::Key& key, std::span<const std::byte> canonical);
  /// The entry if it is stored; it becomes hot. Valid until the next call.
  const Entry* find_stored(std::uint32_t uid, const image::Key& key, std::span<const std::byte> canonical);
  void insert(std::uint32_t uid, const image::Key& key, Entry entry);

  [[nodiscard]] Stats stats() const;

 private:
  using StoreKey = store::Bytes;
  struct HotEntry {
    std::string key;
    Entry entry;
  };
  struct Write {
    StoreKey key;
    store::Bytes value;
  };
  [[nodiscard]] StoreKey store_key(std::uint32_t uid, const image::Key& key) const;
  const Entry* make_hot(std::string key, Entry entry);
  void cool(std::list<HotEntry>::iterator at);
  const Entry* same(const Entry& entry, std::span<const std::byte> canonical);
  /// One log line for each time the file was set aside, given up or had back.
  void tell_store_changes();

  Options options_;
  std::string host_;  ///< processor and build: part of every stored key
  store::Store store_;
  std::list<HotEntry> recent_;  ///< most recently used first
  std::unordered_map<std::string, std::list<HotEntry>::iterator> hot_;
  std::uint64_t hot_bytes_ = 0;
  Stats stats_;
  std::uint64_t told_set_aside_ = 0;  ///< the writer's, once it runs
  std::optional<store::Mode> told_mode_;
  sched::BoundedQueue<Write> writes_;
  std::thread writer_;
};

/// The stored form of an entry. Exposed for tests.
store::Bytes encode_entry(const Entry& entry);
/// Errors: RejectedRecord; RejectedImage when the image in it does not validate.
Result<Entry> decode_entry(std::span<const std::byte> bytes);

}  // namespace trident::cache
