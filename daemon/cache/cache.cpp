#include "daemon/cache/cache.h"

#include <cstring>
#include <iterator>

#include "jit/pipeline/pipeline.h"
#include "runtime/log/log.h"
#include "runtime/os/cpu.h"
#include "runtime/os/self.h"
#include "runtime/store/sha256.h"
#include "schemas/image_checks.h"

namespace trident::cache {
namespace {

/// Entries on their way to the disk. At 16 KiB each this is a few megabytes.
constexpr std::size_t kWritesMax = 512;
constexpr std::uint32_t kRecordMagic = 0x31455254;  // "TRE1": a change of layout is a new number

struct RecordHeader {
  std::uint32_t magic = kRecordMagic;
  std::uint8_t outcome = 0;
  std::uint8_t tier = 0;
  std::uint8_t reserved[2] = {};
  std::uint32_t canonical_bytes = 0;
  std::uint32_t image_bytes = 0;
  double baseline_ns = 0, winner_ns = 0;
};
static_assert(sizeof(RecordHeader) == 32);

std::string hot_key(std::uint32_t uid, const image::Key& key) {
  std::string text(sizeof(uid) + key.size(), '\0');
  std::memcpy(text.data(), &uid, sizeof(uid));
  std::memcpy(text.data() + sizeof(uid), key.data(), key.size());
  return text;
}

/// Identifies the processor and the build: measurements and code depend on them besides the key.
std::string host_identity() {
  const os::CpuFeatures& cpu = os::cpu_features();
  return os::cpu_name() + (cpu.avx2_fma ? "+avx2" : "") + (cpu.avx512 ? "+avx512" : "") + (cpu.neon ? "+neon" : "") +
         "/" + std::to_string(os::cache_bytes(1)) + "/" + std::to_string(os::cache_bytes(2)) + "/" + os::build_id();
}

std::uint64_t bytes_of(const SharedImage& image) {
  return image ? image->bytes.size() : 0;
}

/// Says whether an image is a loop's or a function's, of which nothing better follows the first.
bool is_of_region(std::span<const std::byte> image) {
  trident_image_header header;
  if (image.size() < sizeof header) return false;
  std::memcpy(&header, image.data(), sizeof header);
  return image::is_region_image(header.version);
}

/// Only answers that end a search are kept: the winner, the baseline that nothing beats, or the absence of both.
bool is_answer(const RecordHeader& header, std::span<const std::byte> image) {
  const bool carries = !image.empty();
  switch (static_cast<pipeline::Outcome>(header.outcome)) {
    case pipeline::Outcome::published: return carries && (header.tier == TRIDENT_TIER_OPTIMISED || is_of_region(image));
    case pipeline::Outcome::no_gain: return carries && header.tier == TRIDENT_TIER_BASELINE;
    case pipeline::Outcome::not_equivalent: return !carries;
    case pipeline::Outcome::budget_spent: return false;
  }
  return false;
}

}  // namespace

store::Bytes encode_entry(const Entry& entry) {
  const std::span<const std::byte> image = entry.image ? std::span(entry.image->bytes) : std::span<const std::byte>();
  RecordHeader header;
  header.outcome = entry.outcome;
  header.tier = entry.image ? entry.image->header().tier : std::uint8_t{0};
  header.canonical_bytes = static_cast<std::uint32_t>(entry.canonical.size());
  header.image_bytes = static_cast<std::uint32_t>(image.size());
  header.baseline_ns = entry.baseline_ns;
  header.winner_ns = entry.winner_ns;
  const auto head = std::as_bytes(std::span(&header, 1));
  store::Bytes bytes;
  bytes.reserve(head.size() + entry.canonical.size() + image.size());
  bytes.assign(head.begin(), head.end());
  bytes.insert(bytes.end(), entry.canonical.begin(), entry.canonical.end());
  bytes.insert(bytes.end(), image.begin(), image.end());
  return bytes;
}

Result<Entry> decode_entry(std::span<const std::byte> bytes) {
  RecordHeader header;
  if (bytes.size() < sizeof(header)) return make_error(ErrorCode::kRejectedRecord, "the record is too short");
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.magic != kRecordMagic ||
      bytes.size() != sizeof(header) + std::uint64_t{header.canonical_bytes} + header.image_bytes)
    return make_error(ErrorCode::kRejectedRecord, "the record has an unknown layout");
  const auto image = bytes.subspan(sizeof(header) + header.canonical_bytes);
  if (!is_answer(header, image))
    return make_error(ErrorCode::kRejectedRecord, "the record has an unknown outcome or tier");
  Entry entry;
  entry.outcome = header.outcome;
  entry.baseline_ns = header.baseline_ns;
  entry.winner_ns = header.winner_ns;
  const auto canonical = bytes.subspan(sizeof(header), header.canonical_bytes);
  entry.canonical.assign(canonical.begin(), canonical.end());
  if (!image.empty()) {
    TRY_VOID(image::validate(image));
    auto held = std::make_shared<const image::ImageBytes>(image::ImageBytes{{image.begin(), image.end()}});
    if (held->header().tier != header.tier)
      return make_error(ErrorCode::kRejectedRecord, "the image's tier differs from the record's");
    entry.image = std::move(held);
  }
  return entry;
}

Cache::Cache(const Options& options)
    : options_(options),
      host_(host_identity()),
      store_({.path = options.path, .bytes_max = options.bytes_max}),
      writes_(kWritesMax) {
  tell_store_changes();
  const os::BlockedSignals blocked;  // signals belong to the loop's thread
  writer_ = std::thread([this] {
    while (auto write = writes_.pop()) {
      if (const auto put = store_.put(write->key, write->value); !put.ok())
        log::warning("a kernel could not be cached: {}", put.error().message);
      tell_store_changes();
    }
  });
}

void Cache::tell_store_changes() {
  if (options_.path.empty()) return;  // as configured
  const store::Stats now = store_.stats();
  if (now.set_aside != told_set_aside_)
    log::warning("the cache {} is damaged or belongs to another program, so it was set aside as {}.corrupt: {}",
                 options_.path, options_.path, now.set_aside_why);
  if (now.mode != told_mode_ && now.mode == store::Mode::memory)
    log::warning("the cache is kept in memory only: {}: {}", options_.path, now.reason);
  if (now.mode != told_mode_ && now.mode == store::Mode::disk && told_mode_) log::info("the cache is on disk again");
  told_set_aside_ = now.set_aside;
  told_mode_ = now.mode;
}

Cache::~Cache() {
  writes_.close();
  writer_.join();
}

Cache::StoreKey Cache::store_key(std::uint32_t uid, const image::Key& key) const {
  const store::Digest digest = store::sha256(
      {std::as_bytes(std::span(&uid, 1)), std::as_bytes(std::span(key)), std::as_bytes(std::span(host_))});
  StoreKey bytes(digest.size());
  std::memcpy(bytes.data(), digest.data(), digest.size());
  return bytes;
}

const Entry* Cache::same(const Entry& entry, std::span<const std::byte> canonical) {
  if (entry.canonical.size() == canonical.size() &&
      std::memcmp(entry.canonical.data(), canonical.data(), canonical.size()) == 0)
    return &entry;
  ++stats_.collisions;
  return nullptr;
}

const Entry* Cache::find_hot(std::uint32_t uid, const image::Key& key, std::span<const std::byte> canonical) {
  const auto at = hot_.find(hot_key(uid, key));
  if (at == hot_.end()) return nullptr;
  recent_.splice(recent_.begin(), recent_, at->second);
  const Entry* entry = same(at->second->entry, canonical);
  if (entry != nullptr) ++stats_.hot_hits;
  return entry;
}

const Entry* Cache::find_stored(std::uint32_t uid, const image::Key& key, std::span<const std::byte> canonical) {
  const auto bytes = store_.get(store_key(uid, key));
  if (!bytes) {
    ++stats_.misses;
    return nullptr;
  }
  auto decoded = decode_entry(*bytes);
  if (!decoded.ok()) {
    ++stats_.refused_images;
    log::warning("a cached kernel was rejected: {}", decoded.error().message);
    return nullptr;
  }
  Entry& entry = *decoded;
  if (same(entry, canonical) == nullptr) return nullptr;
  if (entry.image && std::memcmp(entry.image->header().key, key.data(), key.size()) != 0) {
    ++stats_.refused_images;
    return nullptr;
  }
  ++stats_.stored_hits;
  return make_hot(hot_key(uid, key), std::move(entry));
}

const Entry* Cache::make_hot(std::string key, Entry entry) {
  if (const auto at = hot_.find(key); at != hot_.end()) cool(at->second);
  hot_bytes_ += bytes_of(entry.image);
  recent_.push_front({key, std::move(entry)});
  hot_[std::move(key)] = recent_.begin();
  const std::size_t entries_max = std::max<std::size_t>(options_.hot_entries_max, 1);
  while (recent_.size() > 1 && (recent_.size() > entries_max || hot_bytes_ > options_.hot_bytes_max))
    cool(std::prev(recent_.end()));
  return &recent_.front().entry;
}

void Cache::cool(std::list<HotEntry>::iterator at) {
  hot_bytes_ -= bytes_of(at->entry.image);
  hot_.erase(at->key);
  recent_.erase(at);
}

void Cache::insert(std::uint32_t uid, const image::Key& key, Entry entry) {
  if (!writes_.try_push({store_key(uid, key), encode_entry(entry)})) ++stats_.not_stored;
  make_hot(hot_key(uid, key), std::move(entry));
}

Stats Cache::stats() const {
  Stats copy = stats_;
  copy.hot = hot_.size();
  copy.hot_bytes = hot_bytes_;
  copy.store = store_.stats();
  return copy;
}

}  // namespace trident::cache
