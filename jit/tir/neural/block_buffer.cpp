#include "jit/tir/neural/block_buffer.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "runtime/os/atomic_file.h"
#include "runtime/store/sha256.h"
#include "runtime/tensor/generator.h"

namespace trident::tir::neural {
namespace {

static_assert(std::endian::native == std::endian::little);

// The file, in words of 64 bits: the magic and the number of records; for each record the costs, block and answer, each
// as a number of instructions and their opcodes and arguments; then SHA-256 of all before.
constexpr std::uint64_t kBufferMagic = 0x314b4c4252495431;  // "1TIRBLK1"
constexpr std::size_t kRecordWordsMax = 2 + 2 * (1 + 2 * kNodesMax);
constexpr std::size_t kFileBytesMax = (2 + kBlocksMax * kRecordWordsMax) * 8 + sizeof(store::Digest);

class WordReader {
 public:
  explicit WordReader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  /// Returns the next word; beyond the end 0, and failed() is true from then on.
  std::uint64_t next() {
    std::uint64_t word = 0;
    if (bytes_.size() < sizeof word) {
      failed_ = true;
      return 0;
    }
    std::memcpy(&word, bytes_.data(), sizeof word);
    bytes_ = bytes_.subspan(sizeof word);
    return word;
  }
  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] bool at_end() const { return bytes_.empty(); }

 private:
  std::span<const std::byte> bytes_;
  bool failed_ = false;
};

void write_block(const std::vector<Instruction>& block, std::vector<std::uint64_t>& words) {
  words.push_back(block.size());
  for (const Instruction& i : block) {
    words.push_back(tasm::row(i.op).opcode);
    words.push_back(i.argument.value());
  }
}

bool read_block(WordReader& reader, std::vector<Instruction>& block) {
  const std::uint64_t count = reader.next();
  if (reader.failed() || count > kNodesMax) return false;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto op = tasm::op_of_opcode(reader.next());
    const std::uint64_t argument = reader.next();
    if (!op || argument >= field::kModulus) return false;
    block.push_back({*op, Element(argument)});
  }
  return !reader.failed();
}

}  // namespace

bool held_out(std::span<const Instruction> block) {
  std::uint64_t hash = block.size();
  for (const Instruction& i : block)
    hash = tensor::mix(hash ^ tensor::mix(i.argument.value() + tasm::row(i.op).opcode));
  return hash % kHeldOutShare == 0;
}

Result<void> BlockBuffer::add(BlockRecord record) {
  for (const auto* block : {&record.block, &record.answer}) {
    const auto encoded = encode(*block);
    if (!encoded.ok()) return encoded.error();
  }
  const auto same =
      std::find_if(records_.begin(), records_.end(), [&](const BlockRecord& r) { return r.block == record.block; });
  if (same != records_.end()) {
    if (same->answer_cost < record.answer_cost) {
      record.answer = std::move(same->answer);
      record.answer_cost = same->answer_cost;
    }
    records_.erase(same);
  }
  if (records_.size() == kBlocksMax) records_.pop_front();
  records_.push_back(std::move(record));
  return {};
}

Result<void> BlockBuffer::save(const std::string& path) const {
  std::vector<std::uint64_t> words{kBufferMagic, records_.size()};
  for (const BlockRecord& record : records_) {
    words.push_back(static_cast<std::uint64_t>(record.block_cost));
    words.push_back(static_cast<std::uint64_t>(record.answer_cost));
    write_block(record.block, words);
    write_block(record.answer, words);
  }
  const auto bytes = std::as_bytes(std::span(words));
  const store::Digest digest = store::sha256_of(bytes);
  TRY(os::AtomicFile file, os::AtomicFile::create(path));
  TRY_VOID(file.append(bytes));
  TRY_VOID(file.append(std::as_bytes(std::span(digest))));
  return file.commit();
}

Result<BlockBuffer> BlockBuffer::load(const std::string& path) {
  TRY(const std::vector<std::byte> bytes, os::read_file(path, kFileBytesMax));
  const auto refused = [&] {
    return make_error(ErrorCode::kRejectedRecord, "%s: not a file of training blocks, or a damaged one", path.c_str());
  };
  if (bytes.size() < sizeof(store::Digest)) return refused();
  const auto body = std::span(bytes).first(bytes.size() - sizeof(store::Digest));
  const store::Digest digest = store::sha256_of(body);
  if (std::memcmp(digest.data(), bytes.data() + body.size(), digest.size()) != 0) return refused();
  WordReader reader(body);
  if (reader.next() != kBufferMagic) return refused();
  const std::uint64_t count = reader.next();
  BlockBuffer buffer;
  for (std::uint64_t i = 0; i < count; ++i) {
    BlockRecord record;
    record.block_cost = static_cast<std::int64_t>(reader.next());
    record.answer_cost = static_cast<std::int64_t>(reader.next());
    if (!read_block(reader, record.block) || !read_block(reader, record.answer)) return refused();
    if (!buffer.add(std::move(record)).ok()) return refused();
  }
  if (!reader.at_end()) return refused();
  return buffer;
}

}  // namespace trident::tir::neural
