#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstring>
#include <span>
#include <string>

#include "tests/library/oracle/arguments.h"

namespace trident::test {
namespace {

/// Returns the text up to its first zero byte.
std::string text(const Arguments& a, std::size_t i) {
  std::string all;
  for (const Int byte : a[i].elements) all += static_cast<char>(byte);
  return all.substr(0, all.find('\0'));
}

/// Writes a text, and a zero byte where there is room; false when there is too little.
bool write(List& to, const std::string& words, std::size_t at = 0) {
  if (at + words.size() > to.size()) return false;
  for (const char c : words) to[at++] = static_cast<unsigned char>(c);
  if (at < to.size()) to[at] = 0;
  return true;
}

int digit(Int c) {
  if (c >= '0' && c <= '9') return static_cast<int>(c - '0');
  const Int small = c | 32;
  return small >= 'a' && small <= 'f' && c < 128 ? static_cast<int>(small - 'a' + 10) : -1;
}

Answer to_text(Arguments& a, bool hex) {
  char digits[32];
  const auto [end, error] =
      hex ? std::to_chars(digits, digits + 32, word(a, 0), 16) : std::to_chars(digits, digits + 32, number(a, 0));
  const std::string words(digits, end);
  if (!write(list(a, 1), words)) return {};
  return static_cast<Int>(words.size());
}

Answer read_digits(const std::string& s, Word base, std::size_t at) {
  Word value = 0;
  for (; at < s.size() && digit(static_cast<unsigned char>(s[at])) >= 0 &&
         static_cast<Word>(digit(static_cast<unsigned char>(s[at]))) < base;
       ++at)
    value = value * base + static_cast<Word>(digit(static_cast<unsigned char>(s[at])));
  return wrapped(value);
}

bool is_space(Int c) {
  return c == ' ' || (c >= 9 && c <= 13);
}

bool ascii(int (*test)(int), Int c) {
  return c < 128 && test(static_cast<int>(c)) != 0;
}

/// A part of the first text, or another text.
void often_a_part(Arguments& a, Random& random) {
  const List& whole = list(a, 0);
  if (random() % 3 == 0) return;
  const std::size_t from = random() % (whole.size() + 1), n = random() % (whole.size() - from + 1);
  list(a, 1).assign(whole.begin() + static_cast<std::ptrdiff_t>(from),
                    whole.begin() + static_cast<std::ptrdiff_t>(from + n));
}

void digits(Arguments& a, Random& random) {
  constexpr std::string_view kLetters = "0123456789-+ xXaAfFgG";
  for (Int& byte : list(a, 0)) byte = static_cast<unsigned char>(kLetters[random() % kLetters.size()]);
}

/// FIPS 180-4 on 32-bit words, with any round constants.
std::array<unsigned char, 32> sha256(std::span<const Int> constants, std::string message) {
  std::array<std::uint32_t, 8> state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  const Word bits = 8 * message.size();
  message += '\x80';
  while (message.size() % 64 != 56) message += '\0';
  for (int shift = 56; shift >= 0; shift -= 8) message += static_cast<char>(bits >> shift);
  for (std::size_t block = 0; block < message.size(); block += 64) {
    std::array<std::uint32_t, 64> w{};
    for (std::size_t i = 0; i < 64; ++i) w[i / 4] = w[i / 4] << 8 | static_cast<unsigned char>(message[block + i]);
    for (std::size_t i = 16; i < 64; ++i)
      w[i] = w[i - 16] + (std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3)) + w[i - 7] +
             (std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10));
    auto [a, b, c, d, e, f, g, h] = state;
    for (std::size_t i = 0; i < 64; ++i) {
      const std::uint32_t t = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + ((e & f) ^ (~e & g)) +
                              static_cast<std::uint32_t>(constants[i]) + w[i];
      const std::uint32_t u = (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      h = g, g = f, f = e, e = d + t, d = c, c = b, b = a, a = t + u;
    }
    const std::array<std::uint32_t, 8> after = {a, b, c, d, e, f, g, h};
    for (std::size_t i = 0; i < 8; ++i) state[i] += after[i];
  }
  std::array<unsigned char, 32> digest{};
  for (std::size_t i = 0; i < 32; ++i) digest[i] = static_cast<unsigned char>(state[i / 4] >> (24 - 8 * (i % 4)));
  return digest;
}

/// The first bits behind the point of the cube roots of the first primes.
List sha256_constants() {
  List all;
  for (int p = 2; all.size() < 64; ++p) {
    bool is_prime = true;
    for (int d = 2; d * d <= p; ++d) is_prime = is_prime && p % d != 0;
    const long double root = std::cbrt(static_cast<long double>(p));
    if (is_prime) all.push_back(static_cast<Int>((root - std::floor(root)) * 0x1p32L));
  }
  return all;
}

bool write_digest(List& to, const std::array<unsigned char, 32>& digest) {
  if (to.size() < digest.size()) return false;
  std::copy(digest.begin(), digest.end(), to.begin());
  return true;
}

Answer hmac_sha256(Arguments& a) {
  const List constants = sha256_constants();
  const auto hashed = [&](const std::string& message) {
    const auto digest = sha256(constants, message);
    return std::string(digest.begin(), digest.end());
  };
  std::string key = bytes(list(a, 0), list(a, 0).size());
  if (key.size() > 64) key = hashed(key);
  key.resize(64);
  std::string inner = key, outer = key;
  for (char& c : inner) c ^= 0x36;
  for (char& c : outer) c ^= 0x5c;
  const std::string message = outer + hashed(inner + bytes(list(a, 1), list(a, 1).size()));
  return write_digest(list(a, 2), sha256(constants, message)) ? Answer(0) : Answer();
}

/// Makes room for a digest, most of the time, and lengths around those of a block.
void digest_room(Arguments& a, Random& random) {
  if (random() % 8 != 0) a.back().elements.resize(32 + random() % 3);
  for (std::size_t i = 0; i + 1 < a.size(); ++i)
    if (a[i].is_array && random() % 2 == 0) a[i].elements.resize(48 + random() % 100, 'x');
}

void joined_shape(Arguments& a, Random& random) {
  digest_room(a, random);
  list(a, 0).resize(random() % 8 == 0 ? 63 : 64, 77);
  a[2].number = static_cast<Int>(random() % (list(a, 1).size() + 2));
}

constexpr Oracle kStringOracles[] = {
    {"atoi", [](Arguments& a) -> Answer { return read_digits(bytes(a, 0), 10, 0); }, digits},
    {"atoi_signed",
     [](Arguments& a) -> Answer {
       const std::string s = bytes(a, 0);
       std::size_t at = 0;
       while (at < s.size() && is_space(static_cast<unsigned char>(s[at]))) ++at;
       const bool minus = at < s.size() && s[at] == '-', plus = at < s.size() && s[at] == '+';
       const Word value = static_cast<Word>(*read_digits(s, 10, at + (minus || plus ? 1 : 0)));
       return wrapped(minus ? 0 - value : value);
     },
     digits},
    {"char_to_digit", [](Arguments& a) -> Answer { return digit(number(a, 0)); }, nullptr},
    {"count_char",
     [](Arguments& a) -> Answer {
       const std::string s = text(a, 0);
       return std::count(s.begin(), s.end(), static_cast<char>(number(a, 1)));
     },
     often_found},
    {"ends_with", [](Arguments& a) -> Answer { return text(a, 0).ends_with(text(a, 1)); }, often_a_part},
    {"hash_string",
     [](Arguments& a) -> Answer {
       Word hash = 14695981039346656037u;
       for (const char c : text(a, 0)) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
       return wrapped(hash);
     },
     nullptr},
    {"htoi",
     [](Arguments& a) -> Answer {
       const std::string s = bytes(a, 0);
       const bool prefix = s.starts_with("0x") || s.starts_with("0X");
       return read_digits(s, 16, prefix ? 2 : 0);
     },
     digits},
    {"is_alnum", [](Arguments& a) -> Answer { return ascii(std::isalnum, number(a, 0)); }, nullptr},
    {"is_alpha", [](Arguments& a) -> Answer { return ascii(std::isalpha, number(a, 0)); }, nullptr},
    {"is_digit", [](Arguments& a) -> Answer { return ascii(std::isdigit, number(a, 0)); }, nullptr},
    {"is_space", [](Arguments& a) -> Answer { return is_space(number(a, 0)); }, nullptr},
    {"itoa", [](Arguments& a) { return to_text(a, false); }, nullptr},
    {"itoa_hex", [](Arguments& a) { return to_text(a, true); }, nullptr},
    {"starts_with", [](Arguments& a) -> Answer { return text(a, 0).starts_with(text(a, 1)); }, often_a_part},
    {"strcat",
     [](Arguments& a) -> Answer {
       const std::string from = text(a, 0), to = text(a, 1);
       if (!write(list(a, 1), from, to.size())) return {};
       return static_cast<Int>(from.size() + to.size());
     },
     nullptr},
    {"strchr",
     [](Arguments& a) -> Answer {
       const std::string s = bytes(a, 0);
       const std::size_t found = s.find(static_cast<char>(number(a, 1))), end = s.find('\0');
       return found == std::string::npos || found > end ? -1 : static_cast<Int>(found);
     },
     often_found},
    {"strcmp", [](Arguments& a) -> Answer { return sign_of(std::strcmp(text(a, 0).c_str(), text(a, 1).c_str())); },
     often_equal},
    {"strcpy",
     [](Arguments& a) -> Answer {
       const std::string from = text(a, 0);
       if (!write(list(a, 1), from)) return {};
       return static_cast<Int>(from.size());
     },
     nullptr},
    {"strlen", [](Arguments& a) -> Answer { return static_cast<Int>(text(a, 0).size()); }, nullptr},
    {"strncpy",
     [](Arguments& a) -> Answer {
       const std::string from = text(a, 0);
       List& to = list(a, 2);
       const auto n = static_cast<std::size_t>(number(a, 1));
       for (std::size_t i = 0; i < std::min(n, to.size()); ++i)
         to[i] = i < from.size() ? static_cast<unsigned char>(from[i]) : 0;
       return static_cast<Int>(std::min({n, to.size(), from.size()}));
     },
     [](Arguments& a, Random& random) {
       if (random() % 4 != 0) a[1].number = below(random, 12);
     }},
    {"strrchr",
     [](Arguments& a) -> Answer {
       const std::size_t found = text(a, 0).rfind(static_cast<char>(number(a, 1)));
       return found == std::string::npos ? -1 : static_cast<Int>(found);
     },
     often_found},
    {"strstr",
     [](Arguments& a) -> Answer {
       const std::size_t found = text(a, 0).find(text(a, 1));
       return found == std::string::npos ? -1 : static_cast<Int>(found);
     },
     often_a_part},
    {"to_lower",
     [](Arguments& a) -> Answer {
       for (Int& c : list(a, 0))
         if (c < 128) c = std::tolower(static_cast<int>(c));
       return 0;
     },
     nullptr},
    {"to_upper",
     [](Arguments& a) -> Answer {
       for (Int& c : list(a, 0))
         if (c < 128) c = std::toupper(static_cast<int>(c));
       return 0;
     },
     nullptr},
    {"trim_left",
     [](Arguments& a) -> Answer {
       const std::string s = text(a, 0);
       const std::size_t begin = std::min(s.find_first_not_of(" \t\n\v\f\r"), s.size());
       if (begin > 0) write(list(a, 0), s.substr(begin));
       return static_cast<Int>(s.size() - begin);
     },
     digits},
    {"trim_right_len",
     [](Arguments& a) -> Answer { return static_cast<Int>(text(a, 0).find_last_not_of(" \t\n\v\f\r") + 1); }, digits},
    {"hmac_sha256", hmac_sha256, digest_room},
    {"sha256",
     [](Arguments& a) -> Answer {
       const auto digest = sha256(sha256_constants(), bytes(list(a, 0), list(a, 0).size()));
       return write_digest(list(a, 1), digest) ? Answer(0) : Answer();
     },
     digest_room},
    {"sha256_constants",
     [](Arguments& a) -> Answer {
       const List constants = sha256_constants();
       if (list(a, 0).size() < constants.size()) return {};
       std::copy(constants.begin(), constants.end(), list(a, 0).begin());
       return 0;
     },
     [](Arguments& a, Random& random) { list(a, 0).resize(63 + random() % 4, 5); }},
    {"sha256_joined",
     [](Arguments& a) -> Answer {
       const auto h = static_cast<std::size_t>(number(a, 2));
       if (list(a, 0).size() < 64 || h > list(a, 1).size()) return {};
       const std::string message = bytes(list(a, 1), h) + bytes(list(a, 3), list(a, 3).size());
       return write_digest(list(a, 4), sha256(list(a, 0), message)) ? Answer(0) : Answer();
     },
     joined_shape},
};

}  // namespace

std::span<const Oracle> string_oracles() {
  return kStringOracles;
}

}  // namespace trident::test
