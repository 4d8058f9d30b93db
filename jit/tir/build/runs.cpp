#include "jit/tir/build/runs.h"

namespace trident::tir::build {
namespace {

constexpr std::size_t kCounts = 4;

/// Takes words from the front.
class Reader {
 public:
  explicit Reader(std::span<const std::uint64_t> words) : words_(words) {}

  [[nodiscard]] bool at_end() const { return words_.empty(); }
  /// True if `count` pieces of `each` words are left, all below p.
  [[nodiscard]] bool has(std::uint64_t count, std::uint64_t each) const {
    if (count > words_.size() / each) return false;
    for (const std::uint64_t word : words_.first(count * each))
      if (word >= field::kModulus) return false;
    return true;
  }
  std::uint64_t next() {
    const std::uint64_t out = words_.front();
    words_ = words_.subspan(1);
    return out;
  }
  Element element() { return Element(next()); }

 private:
  std::span<const std::uint64_t> words_;
};

/// Returns false if words are missing or not below p.
bool read_run(Reader& reader, Run& out) {
  if (!reader.has(kCounts, 1)) return false;
  std::uint64_t counts[kCounts];
  for (std::uint64_t& count : counts) count = reader.next();
  for (auto [list, count] : {std::pair(&out.public_input, counts[0]), std::pair(&out.secret_input, counts[1])}) {
    if (!reader.has(count, 1)) return false;
    for (; count > 0; --count) list->push_back(reader.element());
  }
  if (!reader.has(counts[2], field::kDigestWords)) return false;
  out.secret_digests.resize(counts[2]);
  for (Digest& digest : out.secret_digests)
    for (Element& e : digest) e = reader.element();
  if (!reader.has(counts[3], 2)) return false;
  for (; counts[3] > 0; --counts[3]) {
    const Element address = reader.element();
    out.ram.emplace_back(address, reader.element());
  }
  return true;
}

}  // namespace

std::vector<std::uint64_t> words_of(std::span<const Run> runs) {
  std::vector<std::uint64_t> out;
  for (const Run& run : runs) {
    for (const std::size_t count :
         {run.public_input.size(), run.secret_input.size(), run.secret_digests.size(), run.ram.size()})
      out.push_back(count);
    for (const auto* list : {&run.public_input, &run.secret_input})
      for (const Element e : *list) out.push_back(e.value());
    for (const Digest& digest : run.secret_digests)
      for (const Element e : digest) out.push_back(e.value());
    for (const auto& [address, word] : run.ram) out.push_back(address.value()), out.push_back(word.value());
  }
  return out;
}

Result<std::vector<Run>> runs_of(std::span<const std::uint64_t> words) {
  std::vector<Run> out;
  for (Reader reader(words); !reader.at_end();) {
    if (out.size() == limits::kBuildRunsMax)
      return make_error(ErrorCode::kLimitExceeded, "more than %zu runs", limits::kBuildRunsMax);
    if (!read_run(reader, out.emplace_back()))
      return make_error(ErrorCode::kRejectedMessage, "run %zu: words are missing, or one is not below p", out.size());
  }
  return out;
}

}  // namespace trident::tir::build
