#include "jit/learn/packed_kernels.h"

#include <lzma.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>

#include "runtime/base/check.h"
#include "runtime/base/limits.h"

namespace trident::learn {
namespace {

constexpr std::string_view kTitle = "trident timed kernels 1";
constexpr std::array<unsigned char, 6> kMagic = {0xFD, '7', 'z', 'X', 'Z', 0};
constexpr std::size_t kUnpackedMax = std::size_t{1} << 30;
constexpr std::uint64_t kUnpackingMemoryMax = std::uint64_t{256} << 20;
constexpr std::size_t kNameMax = 256;
/// Length of long texts. A quarter of the random programs are longer on average and have three quarters of all text: a
/// cut takes one in four of them.
constexpr std::size_t kLongText = 1200;
constexpr std::uint64_t kOfLongTexts = 4;

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (c == '\\')
      out += "\\\\";
    else
      out += c;
  }
  return out;
}

std::string plain(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    const char c = text[++i];
    out += c == 'n' ? '\n' : c == 't' ? '\t' : c;
  }
  return out;
}

std::vector<std::byte> compressed(const std::string& text) {
  std::vector<std::byte> out(lzma_stream_buffer_bound(text.size()));
  std::size_t size = 0;
  CHECK(lzma_easy_buffer_encode(9 | LZMA_PRESET_EXTREME, LZMA_CHECK_CRC64, nullptr,
                                reinterpret_cast<const std::uint8_t*>(text.data()), text.size(),
                                reinterpret_cast<std::uint8_t*>(out.data()), &size, out.size()) == LZMA_OK);
  out.resize(size);
  return out;
}

Result<std::string> decompressed(std::span<const std::byte> bytes, const std::string& file) {
  lzma_stream stream = LZMA_STREAM_INIT;
  if (lzma_stream_decoder(&stream, kUnpackingMemoryMax, 0) != LZMA_OK)
    return make_error(ErrorCode::kOutOfMemory, "%s: not enough memory to decompress it", file.c_str());
  std::string out;
  std::vector<std::uint8_t> block(std::size_t{1} << 18);
  stream.next_in = reinterpret_cast<const std::uint8_t*>(bytes.data());
  stream.avail_in = bytes.size();
  lzma_ret code = LZMA_OK;
  while (code == LZMA_OK && out.size() <= kUnpackedMax) {
    stream.next_out = block.data(), stream.avail_out = block.size();
    code = lzma_code(&stream, LZMA_FINISH);
    out.append(reinterpret_cast<const char*>(block.data()), block.size() - stream.avail_out);
  }
  const bool whole = code == LZMA_STREAM_END && stream.avail_in == 0;
  lzma_end(&stream);
  if (out.size() > kUnpackedMax)
    return make_error(ErrorCode::kLimitExceeded, "%s: more than %zu bytes of timed kernels", file.c_str(),
                      kUnpackedMax);
  if (!whole) return make_error(ErrorCode::kRejectedRecord, "%s: damaged timed kernels (xz)", file.c_str());
  return out;
}

class Reader {
 public:
  Reader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  Result<TimedKernels> read() {
    if (next() != kTitle) return wrong("this file does not hold timed kernels in a format that this version reads");
    while (!text_.empty()) {
      const std::string_view line = next();
      if (line == "times") break;
      TRY_VOID(entry(fields_of(line)));
    }
    for (TimedKernel& kernel : all_.kernels) {
      const std::vector<std::string_view> fields = fields_of(next());
      if (fields.size() != 2 || !time_of(fields[0], kernel.ns) || !time_of(fields[1], kernel.ns_again))
        return wrong("expected the two times of a kernel");
    }
    if (!text_.empty()) return wrong("expected the end of the file");
    for (const TimedFamily& family : all_.families)
      if (family.first == family.end) return wrong("a family has no kernels");
    return std::move(all_);
  }

 private:
  [[nodiscard]] Error wrong(const char* why) const {
    return make_error(ErrorCode::kRejectedRecord, "%s:%zu: %s", file_.c_str(), line_, why);
  }
  std::string_view next() {
    const std::size_t end = std::min(text_.find('\n'), text_.size());
    const std::string_view line = text_.substr(0, end);
    text_.remove_prefix(std::min(end + 1, text_.size()));
    ++line_;
    return line;
  }
  static std::vector<std::string_view> fields_of(std::string_view line) {
    std::vector<std::string_view> fields;
    for (;;) {
      const std::size_t tab = line.find('\t');
      fields.push_back(line.substr(0, tab));
      if (tab == std::string_view::npos) return fields;
      line.remove_prefix(tab + 1);
    }
  }
  static bool time_of(std::string_view text, double& ns) {
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), ns);
    return code == std::errc() && end == text.data() + text.size() && std::isfinite(ns) && ns > 0 && ns <= kTimedNsMax;
  }
  static bool is_name(std::string_view text) { return !text.empty() && text.size() <= kNameMax; }

  Result<void> entry(const std::vector<std::string_view>& fields) {
    if (fields.size() == 5 && fields[0] == "machine") {
      all_.machines.push_back({plain(fields[1]), plain(fields[2]), plain(fields[3]), plain(fields[4])});
      return {};
    }
    if (fields.size() == 4 && fields[0] == "family") return family(fields);
    if (fields.size() == 3 && fields[0].empty()) return kernel(fields);
    return wrong("expected a machine, a family or a kernel");
  }
  Result<void> family(const std::vector<std::string_view>& fields) {
    std::uint32_t machine = 0;
    const auto [end, code] = std::from_chars(fields[3].data(), fields[3].data() + fields[3].size(), machine);
    if (code != std::errc() || end != fields[3].data() + fields[3].size() || machine >= all_.machines.size())
      return wrong("a family belongs to no machine");
    if (!is_name(fields[1]) || !is_name(fields[2])) return wrong("a family needs a name and a generator");
    const auto at = static_cast<std::uint32_t>(all_.kernels.size());
    all_.families.push_back({plain(fields[1]), plain(fields[2]), machine, at, at});
    return {};
  }
  Result<void> kernel(const std::vector<std::string_view>& fields) {
    if (all_.families.empty()) return wrong("a kernel belongs to no family");
    TimedFamily& family = all_.families.back();
    if (!is_name(fields[1])) return wrong("a kernel's origin is empty or too long");
    if (fields[2].empty() || fields[2].size() > limits::kTextBytesMax)
      return wrong("a kernel's text is empty or too long");
    if (family.end - family.first == kFamilyKernelsMax) return wrong("a family has too many kernels");
    if (all_.kernels.size() == kTimedKernelsMax) return wrong("too many kernels");
    all_.kernels.push_back(
        {static_cast<std::uint32_t>(all_.families.size() - 1), plain(fields[2]), plain(fields[1]), 0, 0});
    ++family.end;
    return {};
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t line_ = 0;
  TimedKernels all_;
};

/// Hashes by FNV-1a, for an order that does not depend on the kernels' properties.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xCBF2'9CE4'8422'2325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100'0000'01B3u;
  return hash;
}

/// Chooses the source, the best form, then those whose texts hash lowest, in the family's order.
std::vector<std::uint32_t> chosen(const TimedKernels& all, const TimedFamily& family, std::size_t count) {
  std::vector<std::uint32_t> kernels;
  for (std::uint32_t k = family.first; k < family.end; ++k) kernels.push_back(k);
  const auto rank = [&](std::uint32_t k) {
    return k == family.first              ? std::uint64_t{0}
           : all.kernels[k].how == "best" ? std::uint64_t{1}
                                          : std::max<std::uint64_t>(hash_of(all.kernels[k].text), 2);
  };
  std::stable_sort(kernels.begin(), kernels.end(), [&](auto a, auto b) { return rank(a) < rank(b); });
  kernels.resize(std::min(kernels.size(), count));
  std::sort(kernels.begin(), kernels.end());
  return kernels;
}

bool is_cut(const TimedKernels& all, const TimedFamily& family) {
  std::size_t bytes = 0;
  for (std::uint32_t k = family.first; k < family.end; ++k) bytes += all.kernels[k].text.size();
  return bytes <= kLongText * (family.end - family.first) ||
         hash_of(family.generator + family.name) % kOfLongTexts == 0;
}

std::uint32_t machine_with_most(const TimedKernels& all) {
  std::vector<std::size_t> count(all.machines.size());
  for (const TimedFamily& family : all.families) count[family.machine] += family.end - family.first;
  return static_cast<std::uint32_t>(std::max_element(count.begin(), count.end()) - count.begin());
}

}  // namespace

std::vector<std::byte> pack(const TimedKernels& all) {
  std::string text = std::string(kTitle) + "\n";
  for (const Machine& m : all.machines)
    text +=
        "machine\t" + escaped(m.cpu) + "\t" + escaped(m.isa) + "\t" + escaped(m.build) + "\t" + escaped(m.date) + "\n";
  for (const TimedFamily& family : all.families) {
    text += "family\t" + escaped(family.name) + "\t" + escaped(family.generator) + "\t" +
            std::to_string(family.machine) + "\n";
    for (std::uint32_t k = family.first; k < family.end; ++k)
      text += "\t" + escaped(all.kernels[k].how) + "\t" + escaped(all.kernels[k].text) + "\n";
  }
  text += "times\n";
  char line[64];
  for (const TimedKernel& kernel : all.kernels) {
    std::snprintf(line, sizeof line, "%.4g\t%.4g\n", kernel.ns, kernel.ns_again);
    text += line;
  }
  return compressed(text);
}

bool is_packed(std::span<const std::byte> bytes) {
  return bytes.size() >= kMagic.size() && std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) == 0;
}

Result<TimedKernels> unpack(std::span<const std::byte> bytes, const std::string& file) {
  TRY(const std::string text, decompressed(bytes, file));
  return Reader(text, file).read();
}

TimedKernels cut(const TimedKernels& all, std::size_t kernels, std::size_t per_family) {
  TimedKernels out;
  if (all.families.empty()) return out;
  const std::uint32_t machine = machine_with_most(all);
  out.machines.push_back(all.machines[machine]);
  std::map<std::string, std::vector<std::uint32_t>> of_generator;
  for (std::uint32_t f = 0; f < all.families.size(); ++f)
    if (all.families[f].machine == machine && is_cut(all, all.families[f]))
      of_generator[all.families[f].generator].push_back(f);
  for (auto& [generator, families] : of_generator)
    std::sort(families.begin(), families.end(), [&](std::uint32_t a, std::uint32_t b) {
      return hash_of(all.families[a].name) < hash_of(all.families[b].name);
    });
  // Takes a family of each generator in turn, until there are enough.
  std::vector<std::uint32_t> taken;
  std::size_t count = 0;
  for (std::size_t at = 0, before = 1; count < kernels && before != 0; ++at) {
    before = 0;
    for (const auto& [generator, families] : of_generator) {
      if (at >= families.size() || count >= kernels) continue;
      const TimedFamily& family = all.families[families[at]];
      taken.push_back(families[at]);
      count += std::min<std::size_t>(family.end - family.first, per_family);
      ++before;
    }
  }
  std::sort(taken.begin(), taken.end());
  for (const std::uint32_t f : taken) {
    TimedFamily family = all.families[f];
    const std::vector<std::uint32_t> ones = chosen(all, family, per_family);
    family.machine = 0;
    family.first = static_cast<std::uint32_t>(out.kernels.size());
    for (const std::uint32_t k : ones) {
      out.kernels.push_back(all.kernels[k]);
      out.kernels.back().family = static_cast<std::uint32_t>(out.families.size());
    }
    family.end = static_cast<std::uint32_t>(out.kernels.size());
    out.families.push_back(family);
  }
  return out;
}

}  // namespace trident::learn
