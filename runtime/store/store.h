// Content-addressed records that survive restarts: key -> bytes, over SQLite, each record with its own digest.
//
// Problem: a cache file is trusted with machine code, yet it lies on a disk that fills up, gets truncated, bit-flipped
// and copied about. SQLite keeps its structure through crashes and never crashes on a mutated file, but does return
// changed values without notice. So every record carries a SHA-256 over key and value, checked on each read; a file
// that SQLite calls corrupt is renamed aside and a new one is started; a disk that refuses writes turns the store into
// a bounded map in memory, and the disk is tried again later. A lost record costs a recompilation, nothing else, hence
// WAL without a sync per commit: a killed process loses no committed record, a power cut may lose the last few.
//
// Threads: get() from one thread (an event loop; it never waits for a writer's sync), put() and close() from one other.
// Several processes may share a file.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/base/result.h"

namespace trident::store {

using Bytes = std::vector<std::byte>;

/// A record larger than this is refused: one record must not push out the rest.
inline constexpr std::size_t kRecordBytesMax = 4u << 20;
/// Keys are hashes or short tuples of them.
inline constexpr std::size_t kKeyBytesMax = 128;

struct Options {
  std::string path;                                ///< empty: in memory from the start
  std::uint64_t bytes_max = 256u << 20;            ///< of values; the least recently used go first
  std::uint64_t memory_bytes_max = 16u << 20;      ///< of values held while the disk refuses
  std::uint64_t retry_after_ns = 30'000'000'000u;  ///< how long a refusing disk is left alone
};

enum class Mode : std::uint8_t { disk, memory };

struct Stats {
  Mode mode = Mode::memory;
  std::string reason;         ///< why the mode is memory
  std::string set_aside_why;  ///< of the last file that was set aside
  std::uint64_t records = 0, bytes = 0;
  std::uint64_t hits = 0, misses = 0, puts = 0;
  std::uint64_t rejected = 0;  ///< records that failed their digest
  std::uint64_t evicted = 0;
  std::uint64_t set_aside = 0;  ///< corrupt files renamed to PATH.corrupt
  std::uint64_t write_failures = 0;
};

class Store {
 public:
  /// Never fails: what cannot be had on disk is had in memory, and stats() says why.
  explicit Store(Options options);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  /// The value of `key` if it is there and passes its digest.
  std::optional<Bytes> get(std::span<const std::byte> key);
  /// Adds or replaces; committed on return. Errors: LimitExceeded for a record or key that is too large.
  Result<void> put(std::span<const std::byte> key, std::span<const std::byte> value);

  [[nodiscard]] Stats stats() const;

 private:
  class Connection;
  struct MemoryRecord {
    std::string key;
    Bytes value;
  };

  void open_disk();
  void set_file_aside(const std::string& why);
  void use_memory(const std::string& why);
  bool put_on_disk(const std::string& key, std::span<const std::byte> value);
  void put_in_memory(const std::string& key, std::span<const std::byte> value);
  std::optional<Bytes> get_from_memory(const std::string& key);
  Connection* reader();

  Options options_;
  std::unique_ptr<Connection> writer_;
  std::uint64_t retry_at_ns_ = 0;
  std::uint32_t resets_in_a_row_ = 0;

  // Touched by get() only.
  std::unique_ptr<Connection> reader_;
  std::uint64_t reader_epoch_ = 0;

  std::atomic<std::uint64_t> epoch_{0};  ///< raised when the writer has opened another file
  std::atomic<bool> corrupt_{false};     ///< set by get(): the writer shall set the file aside

  mutable std::mutex mutex_;        ///< guards everything below
  std::list<MemoryRecord> recent_;  ///< most recently used first
  std::unordered_map<std::string, std::list<MemoryRecord>::iterator> in_memory_;
  std::uint64_t memory_bytes_ = 0;
  std::vector<std::string> touched_;  ///< keys read since the last put
  Stats stats_;
};

}  // namespace trident::store
