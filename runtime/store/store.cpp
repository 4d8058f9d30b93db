#include "runtime/store/store.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "runtime/os/clock.h"
#include "runtime/store/connection.h"
#include "runtime/store/sha256.h"

namespace trident::store {
namespace {

/// Reads between two puts whose order of use is remembered; more are forgotten, which only blurs eviction.
constexpr std::size_t kTouchedMax = 256;
/// A file that is corrupt again right after it was replaced is not the file's fault.
constexpr std::uint32_t kResetsInARowMax = 2;

std::string key_text(std::span<const std::byte> key) {
  return {reinterpret_cast<const char*>(key.data()), key.size()};
}

Digest digest_of(const std::string& key, std::span<const std::byte> value) {
  return sha256({std::as_bytes(std::span(key)), value});
}

}  // namespace

Store::Store(Options options) : options_(std::move(options)) {
  if (options_.path.empty())
    use_memory("no path was given");
  else
    open_disk();
  reader();  // at once: with the file open twice, a writer that gives up leaves the log readable
}

Store::~Store() = default;

void Store::open_disk() {
  writer_.reset();
  std::string why;
  auto [connection, verdict] = Connection::open(options_.path, Connection::Role::writer, why);
  if (verdict == Verdict::corrupt && resets_in_a_row_ < kResetsInARowMax) return set_file_aside(why);
  if (verdict != Verdict::ok) return use_memory(why);
  writer_ = std::move(connection);
  const std::lock_guard lock(mutex_);
  stats_.mode = Mode::disk;
  stats_.reason.clear();
  stats_.records = writer_->totals().records;
  stats_.bytes = writer_->totals().bytes;
  ++epoch_;
}

void Store::set_file_aside(const std::string& why) {
  writer_.reset();
  ++resets_in_a_row_;
  const std::string& path = options_.path;
  if (std::rename(path.c_str(), (path + ".corrupt").c_str()) != 0) return use_memory("cannot rename " + path);
  // A log that belongs to the old file would be replayed into the new one.
  std::remove((path + "-wal").c_str());
  std::remove((path + "-shm").c_str());
  {
    const std::lock_guard lock(mutex_);
    ++stats_.set_aside;
    stats_.set_aside_why = why;
    stats_.reason = why;
  }
  open_disk();
}

void Store::use_memory(const std::string& why) {
  writer_.reset();
  retry_at_ns_ = os::monotonic_ns() + options_.retry_after_ns;
  const std::lock_guard lock(mutex_);
  stats_.mode = Mode::memory;
  stats_.reason = why;
  // The reader keeps its file: a disk that takes no more writes still answers reads.
}

Store::Connection* Store::reader() {
  const std::uint64_t epoch = epoch_.load();
  if (epoch != reader_epoch_) {
    reader_epoch_ = epoch;
    reader_.reset();
    bool on_disk;
    {
      const std::lock_guard lock(mutex_);
      on_disk = stats_.mode == Mode::disk;
    }
    std::string why;
    if (on_disk) reader_ = Connection::open(options_.path, Connection::Role::reader, why).first;
  }
  return reader_.get();
}

std::optional<Bytes> Store::get(std::span<const std::byte> key) {
  const std::string text = key_text(key);
  if (auto value = get_from_memory(text)) return value;
  Connection::Row row;
  Verdict verdict = Verdict::absent;
  if (Connection* connection = reader()) verdict = connection->get(text, row);
  if (verdict == Verdict::corrupt) {
    corrupt_ = true;
    reader_.reset();  // not asked again until the writer has replaced the file
  }
  const std::lock_guard lock(mutex_);
  if (verdict != Verdict::ok) {
    ++stats_.misses;
    return std::nullopt;
  }
  const Digest digest = digest_of(text, row.value);
  if (row.digest.size() != digest.size() || std::memcmp(row.digest.data(), digest.data(), digest.size()) != 0) {
    ++stats_.rejected;
    ++stats_.misses;
    return std::nullopt;
  }
  ++stats_.hits;
  if (touched_.size() < kTouchedMax) touched_.push_back(text);
  return std::move(row.value);
}

Result<void> Store::put(std::span<const std::byte> key, std::span<const std::byte> value) {
  if (key.empty() || key.size() > kKeyBytesMax || value.size() > kRecordBytesMax)
    return make_error(ErrorCode::kLimitExceeded, "a record of %zu bytes or its key of %zu bytes is empty or too large",
                      value.size(), key.size());
  const std::string text = key_text(key);
  {
    const std::lock_guard lock(mutex_);
    ++stats_.puts;
  }
  if (corrupt_.exchange(false) && writer_) set_file_aside("a damaged record was read");
  if (!writer_ && !options_.path.empty() && os::monotonic_ns() >= retry_at_ns_) open_disk();
  if (!writer_ || !put_on_disk(text, value)) put_in_memory(text, value);
  return {};
}

bool Store::put_on_disk(const std::string& key, std::span<const std::byte> value) {
  std::vector<std::string> touched;
  {
    const std::lock_guard lock(mutex_);
    touched.swap(touched_);
  }
  std::uint64_t evicted = 0;
  const Digest digest = digest_of(key, value);
  const Verdict verdict = writer_->put(key, value, digest, touched, options_.bytes_max, evicted);
  if (verdict == Verdict::ok) {
    resets_in_a_row_ = 0;
    const std::lock_guard lock(mutex_);
    stats_.records = writer_->totals().records;
    stats_.bytes = writer_->totals().bytes;
    stats_.evicted += evicted;
    // The copy in memory is older now.
    if (const auto at = in_memory_.find(key); at != in_memory_.end()) {
      memory_bytes_ -= at->second->value.size();
      recent_.erase(at->second);
      in_memory_.erase(at);
    }
    return true;
  }
  {
    const std::lock_guard lock(mutex_);
    ++stats_.write_failures;
  }
  const std::string why = writer_->failure();
  if (verdict == Verdict::corrupt && resets_in_a_row_ < kResetsInARowMax) {
    set_file_aside(why);
    return writer_ && put_on_disk(key, value);
  }
  use_memory(why);
  return false;
}

void Store::put_in_memory(const std::string& key, std::span<const std::byte> value) {
  const std::lock_guard lock(mutex_);
  if (value.size() > options_.memory_bytes_max) return;
  if (const auto at = in_memory_.find(key); at != in_memory_.end()) {
    memory_bytes_ -= at->second->value.size();
    recent_.erase(at->second);
    in_memory_.erase(at);
  }
  recent_.push_front({key, Bytes(value.begin(), value.end())});
  in_memory_[key] = recent_.begin();
  memory_bytes_ += value.size();
  while (memory_bytes_ > options_.memory_bytes_max) {
    memory_bytes_ -= recent_.back().value.size();
    in_memory_.erase(recent_.back().key);
    recent_.pop_back();
    ++stats_.evicted;
  }
}

std::optional<Bytes> Store::get_from_memory(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto at = in_memory_.find(key);
  if (at == in_memory_.end()) return std::nullopt;
  recent_.splice(recent_.begin(), recent_, at->second);
  ++stats_.hits;
  return at->second->value;
}

Stats Store::stats() const {
  const std::lock_guard lock(mutex_);
  Stats copy = stats_;
  if (copy.mode == Mode::memory) {
    copy.records = recent_.size();
    copy.bytes = memory_bytes_;
  }
  return copy;
}

}  // namespace trident::store
