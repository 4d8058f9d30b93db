#include "clients/cli/loop/guest_code.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <iostream>
#include <iterator>

#include "runtime/os/mapped_file.h"

namespace trident::cli {
namespace {

constexpr std::size_t kWordDigits = 8;
constexpr std::size_t kInputBytesMax = std::size_t{256} << 20;
constexpr std::string_view kElfMagic =
    "\x7f"
    "ELF";
constexpr std::string_view kBetween = " ,\t\r\n";

bool is_elf(std::span<const std::byte> bytes) {
  return bytes.size() >= kElfMagic.size() && std::memcmp(bytes.data(), kElfMagic.data(), kElfMagic.size()) == 0;
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; (at = text.find_first_not_of(kBetween, at)) != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(kBetween, at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

/// Appends the bytes that the digits of `word` stand for, two each; false where they stand for none.
bool append_digits(std::string_view word, std::vector<std::byte>& bytes) {
  if (word.empty() || word.size() % 2 != 0) return false;
  for (std::size_t i = 0; i < word.size(); i += 2) {
    std::uint8_t value = 0;
    const char* const end = word.data() + i + 2;
    const auto [stop, error] = std::from_chars(word.data() + i, end, value, 16);
    if (error != std::errc() || stop != end) return false;
    bytes.push_back(std::byte{value});
  }
  return true;
}

/// Appends a word: 8 digits are an instruction, whose bytes the guest has in the other order.
bool append_word(std::string_view word, std::vector<std::byte>& bytes) {
  if (word.starts_with("0x") || word.starts_with("0X")) word.remove_prefix(2);
  const std::size_t before = bytes.size();
  if (!append_digits(word, bytes)) return false;
  if (word.size() == kWordDigits) std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(before), bytes.end());
  return true;
}

Error at_place(const std::string& place, const Error& error) {
  return {error.code, place + ": " + error.message};
}

Result<GuestCode> code_of_hex(const std::string& name, std::string_view text, std::uint64_t base) {
  if (base % kInstructionBytes != 0)
    return make_error(ErrorCode::kInvalidArgument, "--base: instructions stand at multiples of 4");
  auto bytes = hex_code(text);
  if (!bytes) return at_place(name, bytes.error());
  GuestCode code{.name = name, .ranges = {}, .file = {}, .read = std::move(*bytes)};
  code.ranges.push_back({base, code.read});
  return code;
}

Result<GuestCode> with_elf_ranges(GuestCode code, std::span<const std::byte> bytes, std::uint64_t base) {
  auto ranges = elf_code(bytes, base);
  if (!ranges) return at_place(code.name, ranges.error());
  code.ranges = std::move(*ranges);
  return code;
}

Result<GuestCode> code_of_standard_input(std::uint64_t base) {
  std::string text;
  char chunk[1 << 16];
  while (text.size() <= kInputBytesMax && std::cin.read(chunk, sizeof chunk).gcount() > 0)
    text.append(chunk, static_cast<std::size_t>(std::cin.gcount()));
  if (text.size() > kInputBytesMax)
    return make_error(ErrorCode::kLimitExceeded, "standard input has more than %zu bytes", kInputBytesMax);
  const auto bytes = std::as_bytes(std::span(text));
  if (!is_elf(bytes)) return code_of_hex("standard input", text, base);
  GuestCode code{.name = "standard input", .ranges = {}, .file = {}, .read = {bytes.begin(), bytes.end()}};
  const std::span<const std::byte> read = code.read;
  return with_elf_ranges(std::move(code), read, base);
}

}  // namespace

const CodeRange* GuestCode::range_of(std::uint64_t address) const {
  for (const CodeRange& range : ranges)
    if (range.contains(address)) return &range;
  return nullptr;
}

Result<std::vector<std::byte>> hex_code(std::string_view text) {
  std::vector<std::byte> bytes;
  for (const std::string_view word : words_of(text))
    if (!append_word(word, bytes))
      return make_error(ErrorCode::kSyntaxError, "'%.40s' is no instruction in hexadecimal, such as 38401403",
                        std::string(word).c_str());
  if (bytes.empty() || bytes.size() % kInstructionBytes != 0)
    return make_error(ErrorCode::kSyntaxError, "%zu bytes are no whole instructions of 4 bytes", bytes.size());
  return bytes;
}

Result<GuestCode> read_code(const CodeOptions& options) {
  if (options.file.empty()) return code_of_hex("--hex", options.hex, options.base);
  if (options.file == "-") return code_of_standard_input(options.base);
  auto mapping = os::map_file(options.file);
  if (!mapping) return Error{ErrorCode::kInvalidArgument, mapping.error().message};
  GuestCode code{.name = options.file, .ranges = {}, .file = std::move(*mapping), .read = {}};
  const std::span<const std::byte> bytes = code.file.bytes();
  return with_elf_ranges(std::move(code), bytes, options.base);
}

}  // namespace trident::cli
