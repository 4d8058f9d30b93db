#include "tests/library/oracle.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstring>
#include <numeric>
#include <string>

namespace trident::test {
namespace {

using Int = std::int64_t;
using Word = std::uint64_t;
using Answer = std::optional<Int>;
using List = std::vector<Int>;

List& list(Arguments& a, std::size_t i) {
  return a[i].elements;
}
Int number(const Arguments& a, std::size_t i) {
  return a[i].number;
}
Word word(const Arguments& a, std::size_t i) {
  return static_cast<Word>(a[i].number);
}
double real(const Arguments& a, std::size_t i) {
  return std::bit_cast<double>(a[i].number);
}
Answer answer(double value) {
  return std::bit_cast<Int>(value);
}
/// The C library's fmin, with the first of two zeros, and the number where the other is a signalling NaN.
double lesser(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) ? b : a;
  return a == 0 && b == 0 ? a : std::fmin(a, b);
}
double greater(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) ? b : a;
  return a == 0 && b == 0 ? a : std::fmax(a, b);
}
Int wrapped(Word bits) {
  return static_cast<Int>(bits);
}

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

Int sign_of(Int a) {
  return a < 0 ? -1 : a > 0;
}

Answer sorted(Arguments& a) {
  std::sort(list(a, 0).begin(), list(a, 0).end());
  return 0;
}

Int power(Word base, Int exponent) {
  Word result = 1;
  for (int bit = 62; bit >= 0; --bit) {
    result *= result;
    if (exponent >> bit & 1) result *= base;
  }
  return wrapped(result);
}

bool prime(Int n) {
  if (n < 2) return false;
  for (Int d = 2; d * d <= n; d += d == 2 ? 1 : 2)
    if (n % d == 0) return false;
  return true;
}

Int square_root(Int n) {
  Word low = 0, high = 3037000500;  // low^2 <= n < high^2
  while (high - low > 1) {
    const Word middle = (low + high) / 2;
    (middle * middle <= static_cast<Word>(n) ? low : high) = middle;
  }
  return wrapped(low);
}

Word mixed(Word x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

/// Numbers that wait, and those of a ring that do not.
Answer enqueue(Arguments& a) {
  List& q = list(a, 0);
  const Int room = static_cast<Int>(q.size()) - 2;
  if (q[0] >= room) return 0;
  q[static_cast<std::size_t>(2 + (q[1] + q[0]++) % room)] = number(a, 1);
  return 1;
}

Answer dequeue(Arguments& a) {
  List& q = list(a, 0);
  if (q[0] == 0) return 0;
  const Int x = q[static_cast<std::size_t>(2 + q[1])];
  q[1] = q[1] + 3 == static_cast<Int>(q.size()) ? 0 : q[1] + 1;
  --q[0];
  return x;
}

/// Reads a table by looking at all its places.
const Int* value_of(const List& t, Int key) {
  for (std::size_t at = 1; at + 2 < t.size(); at += 3)
    if (t[at + 2] == 1 && t[at] == key) return &t[at + 1];
  return nullptr;
}

/// The place of a key by the rule of the table: from its hash on, the first that is free or the key's.
Int place_of(const List& t, Int key) {
  const std::size_t places = t.empty() ? 0 : (t.size() - 1) / 3;
  for (std::size_t i = 0; i < places; ++i) {
    const std::size_t at = 1 + 3 * ((mixed(static_cast<Word>(key)) % places + i) % places);
    if (t[at + 2] == 0 || t[at] == key) return static_cast<Int>(at);
  }
  return -1;
}

Answer put(Arguments& a) {
  List& t = list(a, 0);
  const Int at = place_of(t, number(a, 1));
  if (at < 0) return 0;
  const auto place = t.begin() + at;
  if (place[2] == 0) ++t[0];
  place[0] = number(a, 1);
  place[1] = number(a, 2);
  place[2] = 1;
  return 1;
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

/// The whole array as bytes, zero bytes too.
std::string bytes(const Arguments& a, std::size_t i) {
  std::string all;
  for (const Int byte : a[i].elements) all += static_cast<char>(byte);
  return all;
}

bool is_space(Int c) {
  return c == ' ' || (c >= 9 && c <= 13);
}

bool ascii(int (*test)(int), Int c) {
  return c < 128 && test(static_cast<int>(c)) != 0;
}

// --- shapes ---

Int below(Random& random, std::size_t n) {
  return static_cast<Int>(random() % n);
}

void sort_lists(Arguments& a, Random&) {
  for (auto& one : a) std::sort(one.elements.begin(), one.elements.end());
}

void room_for_both(Arguments& a, Random& random) {
  sort_lists(a, random);
  list(a, 2).assign(list(a, 0).size() + list(a, 1).size() + random() % 3, 7);
}

void part(Arguments& a, Random& random) {
  List& numbers = list(a, 0);
  if (numbers.empty()) numbers.push_back(5);
  a[1].number = below(random, numbers.size());
  a[2].number = a[1].number + 1 + below(random, numbers.size() - static_cast<std::size_t>(a[1].number));
}

void heap_but_one(Arguments& a, Random& random) {
  List& numbers = list(a, 0);
  if (numbers.empty()) numbers.push_back(5);
  std::make_heap(numbers.begin(), numbers.end());
  const auto at = static_cast<std::size_t>(below(random, numbers.size()));
  a[1].number = static_cast<Int>(at);
  numbers[at] -= below(random, 50);
}

void queue(Arguments& a, Random& random) {
  List& q = list(a, 0);
  q.resize(2 + random() % 6, 3);
  const std::size_t room = q.size() - 2;
  q[0] = below(random, room + 1);
  q[1] = room == 0 ? 0 : below(random, room);
}

void stack(Arguments& a, Random& random) {
  List& s = list(a, 0);
  s.resize(1 + random() % 6, 3);
  s[0] = below(random, s.size());
}

void table(Arguments& a, Random& random) {
  List& t = list(a, 0);
  t.assign(1 + 3 * (random() % 8) + random() % 3, 0);
  for (std::size_t i = 0, n = random() % 9; i < n; ++i) {
    Arguments one{a[0], {.number = below(random, 12)}, {.number = below(random, 100)}};
    put(one);
    a[0] = one[0];
  }
  if (a.size() > 1) a[1].number = below(random, 14);
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

void small_exponent(Arguments& a, Random& random) {
  if (random() % 2 == 0) a[1].number = below(random, 70);
}

void often_equal(Arguments& a, Random& random) {
  if (random() % 2 == 0) a[1].elements = a[0].elements;
  if (random() % 2 == 0 && !a[1].elements.empty()) a[1].elements.back() ^= 1;
}

void often_found(Arguments& a, Random& random) {
  if (!list(a, 0).empty() && random() % 2 == 0) a[1].number = list(a, 0)[random() % list(a, 0).size()];
}

void sorted_and_found(Arguments& a, Random& random) {
  sort_lists(a, random);
  if (!list(a, 0).empty() && random() % 2 == 0) a[1].number = list(a, 0)[random() % list(a, 0).size()];
}

void sometimes_sorted(Arguments& a, Random& random) {
  if (random() % 2 == 0) sort_lists(a, random);
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

std::string bytes(const List& list, std::size_t count) {
  return {list.begin(), list.begin() + static_cast<std::ptrdiff_t>(count)};
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

constexpr Oracle kOracles[] = {
    // --- math ---
    {"abs_i64", [](Arguments& a) -> Answer { return wrapped(number(a, 0) < 0 ? 0 - word(a, 0) : word(a, 0)); },
     nullptr},
    {"clamp", [](Arguments& a) -> Answer { return std::min(std::max(number(a, 0), number(a, 1)), number(a, 2)); },
     nullptr},
    {"div_ceil",
     [](Arguments& a) -> Answer {
       if (number(a, 1) == 0) return {};
       const __int128 x = number(a, 0), y = number(a, 1);
       __int128 q = x / y;
       if (q * y != x && (x < 0) == (y < 0)) ++q;
       return static_cast<Int>(q);
     },
     nullptr},
    {"factorial",
     [](Arguments& a) -> Answer {
       List n(static_cast<std::size_t>(number(a, 0)));
       std::iota(n.begin(), n.end(), 1);
       return std::accumulate(n.begin(), n.end(), Int{1}, std::multiplies<>());
     },
     nullptr},
    {"fibonacci",
     [](Arguments& a) -> Answer {
       std::vector<Word> f{0, 1};
       while (f.size() <= static_cast<std::size_t>(number(a, 0))) f.push_back(f[f.size() - 1] + f[f.size() - 2]);
       return wrapped(f[static_cast<std::size_t>(number(a, 0))]);
     },
     nullptr},
    {"gcd", [](Arguments& a) -> Answer { return std::gcd(number(a, 0), number(a, 1)); }, nullptr},
    {"is_even", [](Arguments& a) -> Answer { return number(a, 0) % 2 == 0; }, nullptr},
    {"is_positive", [](Arguments& a) -> Answer { return number(a, 0) > 0; }, nullptr},
    {"is_prime", [](Arguments& a) -> Answer { return prime(number(a, 0)); },
     [](Arguments& a, Random& random) {
       if (random() % 50 != 0) a[0].number = below(random, 20000);
     }},
    {"isqrt", [](Arguments& a) -> Answer { return square_root(number(a, 0)); }, nullptr},
    {"lcm", [](Arguments& a) -> Answer { return std::lcm(number(a, 0), number(a, 1)); }, nullptr},
    {"loop_count", [](Arguments& a) -> Answer { return std::max<Int>(number(a, 0), 0); },
     [](Arguments& a, Random& random) { a[0].number = below(random, 600) - 100; }},
    {"loop_sum",
     [](Arguments& a) -> Answer {
       const Int first = number(a, 0), last = number(a, 1);
       return last < first ? 0 : (first + last) * (last - first + 1) / 2;
     },
     [](Arguments& a, Random& random) {
       a[0].number = below(random, 600) - 300;
       a[1].number = below(random, 600) - 300;
     }},
    {"max", [](Arguments& a) -> Answer { return std::max(number(a, 0), number(a, 1)); }, nullptr},
    {"power", [](Arguments& a) -> Answer { return power(word(a, 0), number(a, 1)); }, small_exponent},
    {"sign", [](Arguments& a) -> Answer { return sign_of(number(a, 0)); }, nullptr},
    {"triangle_number",
     [](Arguments& a) -> Answer {
       return static_cast<Int>(static_cast<__int128>(number(a, 0)) * (number(a, 0) + 1) / 2);
     },
     nullptr},
    {"min", [](Arguments& a) -> Answer { return std::min(number(a, 0), number(a, 1)); }, nullptr},
    // --- array ---
    {"array_eq", [](Arguments& a) -> Answer { return list(a, 0) == list(a, 1); }, often_equal},
    {"array_max",
     [](Arguments& a) -> Answer {
       if (list(a, 0).empty()) return {};
       return *std::max_element(list(a, 0).begin(), list(a, 0).end());
     },
     nullptr},
    {"array_min",
     [](Arguments& a) -> Answer {
       if (list(a, 0).empty()) return {};
       return *std::min_element(list(a, 0).begin(), list(a, 0).end());
     },
     nullptr},
    {"binary_search",
     [](Arguments& a) -> Answer {
       const auto found = std::lower_bound(list(a, 0).begin(), list(a, 0).end(), number(a, 1));
       const bool is_there = std::binary_search(list(a, 0).begin(), list(a, 0).end(), number(a, 1));
       return is_there ? found - list(a, 0).begin() : -1;
     },
     sorted_and_found},
    {"bubble_sort", sorted, nullptr},
    {"copy",
     [](Arguments& a) -> Answer {
       const std::size_t n = std::min(list(a, 0).size(), list(a, 1).size());
       std::copy_n(list(a, 0).begin(), n, list(a, 1).begin());
       return static_cast<Int>(n);
     },
     nullptr},
    {"count", [](Arguments& a) -> Answer { return std::count(list(a, 0).begin(), list(a, 0).end(), number(a, 1)); },
     often_found},
    {"countdown",
     [](Arguments& a) -> Answer {
       Word next = word(a, 0);
       for (Int& x : list(a, 1)) x = wrapped(next--);
       return 0;
     },
     nullptr},
    {"fill",
     [](Arguments& a) -> Answer {
       std::fill(list(a, 0).begin(), list(a, 0).end(), number(a, 1));
       return 0;
     },
     nullptr},
    {"insertion_sort", sorted, nullptr},
    {"is_sorted", [](Arguments& a) -> Answer { return std::is_sorted(list(a, 0).begin(), list(a, 0).end()); },
     sometimes_sorted},
    {"linear_search",
     [](Arguments& a) -> Answer {
       const auto found = std::find(list(a, 0).begin(), list(a, 0).end(), number(a, 1));
       return found == list(a, 0).end() ? -1 : found - list(a, 0).begin();
     },
     often_found},
    {"lower_bound",
     [](Arguments& a) -> Answer {
       return std::count_if(list(a, 0).begin(), list(a, 0).end(), [&](Int x) { return x < number(a, 1); });
     },
     sorted_and_found},
    {"memcmp", [](Arguments& a) -> Answer { return sign_of(bytes(a, 0).compare(bytes(a, 1))); }, often_equal},
    {"merge",
     [](Arguments& a) -> Answer {
       std::merge(list(a, 0).begin(), list(a, 0).end(), list(a, 1).begin(), list(a, 1).end(), list(a, 2).begin());
       return 0;
     },
     room_for_both},
    {"partition",
     [](Arguments& a) -> Answer {
       const auto first = list(a, 0).begin() + number(a, 1), last = list(a, 0).begin() + number(a, 2) - 1;
       const Int pivot = *last;
       auto at = first;  // Lomuto's order of exchanges is part of what is promised
       for (auto i = first; i != last; ++i)
         if (*i < pivot) std::iter_swap(i, at++);
       std::iter_swap(last, at);
       return at - list(a, 0).begin();
     },
     part},
    {"quicksort", sorted, nullptr},
    {"reverse",
     [](Arguments& a) -> Answer {
       std::reverse(list(a, 0).begin(), list(a, 0).end());
       return 0;
     },
     nullptr},
    {"rotate_left",
     [](Arguments& a) -> Answer {
       if (!list(a, 0).empty()) std::rotate(list(a, 0).begin(), list(a, 0).begin() + 1, list(a, 0).end());
       return 0;
     },
     nullptr},
    {"rotate_right",
     [](Arguments& a) -> Answer {
       if (!list(a, 0).empty()) std::rotate(list(a, 0).begin(), list(a, 0).end() - 1, list(a, 0).end());
       return 0;
     },
     nullptr},
    {"sift_down",
     [](Arguments& a) -> Answer {
       List& h = list(a, 0);
       for (auto at = static_cast<std::size_t>(number(a, 1));;) {
         std::size_t greatest = at;
         if (2 * at + 1 < h.size() && h[2 * at + 1] > h[greatest]) greatest = 2 * at + 1;
         if (2 * at + 2 < h.size() && h[2 * at + 2] > h[greatest]) greatest = 2 * at + 2;
         if (greatest == at) return 0;
         std::swap(h[at], h[greatest]);
         at = greatest;
       }
     },
     heap_but_one},
    {"sum",
     [](Arguments& a) -> Answer {
       Word total = 0;
       for (const Int x : list(a, 0)) total += static_cast<Word>(x);
       return wrapped(total);
     },
     nullptr},
    {"unique",
     [](Arguments& a) -> Answer {
       List kept = list(a, 0);
       kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
       std::copy(kept.begin(), kept.end(), list(a, 0).begin());
       return static_cast<Int>(kept.size());
     },
     sort_lists},
    {"upper_bound",
     [](Arguments& a) -> Answer {
       return std::count_if(list(a, 0).begin(), list(a, 0).end(), [&](Int x) { return x <= number(a, 1); });
     },
     sorted_and_found},
    // --- bitwise ---
    {"bswap", [](Arguments& a) -> Answer { return wrapped(__builtin_bswap64(word(a, 0))); }, nullptr},
    {"clear_lowest_bit",
     [](Arguments& a) -> Answer {
       Word x = word(a, 0);
       for (int bit = 0; bit < 64; ++bit)
         if (x >> bit & 1) return wrapped(x ^ Word{1} << bit);
       return 0;
     },
     nullptr},
    {"clz", [](Arguments& a) -> Answer { return std::countl_zero(word(a, 0)); }, nullptr},
    {"ctz", [](Arguments& a) -> Answer { return std::countr_zero(word(a, 0)); }, nullptr},
    {"extract_bits",
     [](Arguments& a) -> Answer {
       Word out = 0;
       for (Int i = 0; i < number(a, 2) && number(a, 1) + i < 64; ++i)
         out |= (word(a, 0) >> (number(a, 1) + i) & 1) << i;
       return wrapped(out);
     },
     nullptr},
    {"highest_set_bit", [](Arguments& a) -> Answer { return std::bit_width(word(a, 0)) - 1; }, nullptr},
    {"insert_bits",
     [](Arguments& a) -> Answer {
       Word out = word(a, 0);
       for (Int i = 0; i < number(a, 3) && number(a, 2) + i < 64; ++i) {
         const Word bit = Word{1} << (number(a, 2) + i);
         out = (word(a, 1) >> i & 1) != 0 ? out | bit : out & ~bit;
       }
       return wrapped(out);
     },
     nullptr},
    {"is_power_of_2", [](Arguments& a) -> Answer { return number(a, 0) > 0 && std::has_single_bit(word(a, 0)); },
     nullptr},
    {"isolate_lowest_bit",
     [](Arguments& a) -> Answer { return word(a, 0) == 0 ? 0 : wrapped(Word{1} << std::countr_zero(word(a, 0))); },
     nullptr},
    {"lowest_set_bit", [](Arguments& a) -> Answer { return word(a, 0) == 0 ? -1 : std::countr_zero(word(a, 0)); },
     nullptr},
    {"next_power_of_2",
     [](Arguments& a) -> Answer { return number(a, 0) < 1 ? 1 : wrapped(std::bit_ceil(word(a, 0))); }, nullptr},
    {"parity", [](Arguments& a) -> Answer { return std::popcount(word(a, 0)) % 2; }, nullptr},
    {"popcount", [](Arguments& a) -> Answer { return std::popcount(word(a, 0)); }, nullptr},
    {"reverse_bits",
     [](Arguments& a) -> Answer {
       Word out = 0;
       for (int bit = 0; bit < 64; ++bit) out = out << 1 | (word(a, 0) >> bit & 1);
       return wrapped(out);
     },
     nullptr},
    {"rotl", [](Arguments& a) -> Answer { return wrapped(std::rotl(word(a, 0), static_cast<int>(word(a, 1) % 64))); },
     nullptr},
    {"rotr", [](Arguments& a) -> Answer { return wrapped(std::rotr(word(a, 0), static_cast<int>(word(a, 1) % 64))); },
     nullptr},
    // --- string ---
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
    // --- float ---
    {"f64_from_bits", [](Arguments& a) -> Answer { return a[0].number; }, nullptr},
    {"f64_to_bits", [](Arguments& a) -> Answer { return a[0].number; }, nullptr},
    {"fabs", [](Arguments& a) { return answer(std::fabs(real(a, 0))); }, nullptr},
    {"fadd", [](Arguments& a) { return answer(real(a, 0) + real(a, 1)); }, nullptr},
    {"fceil", [](Arguments& a) { return answer(std::ceil(real(a, 0))); }, nullptr},
    {"fclamp", [](Arguments& a) { return answer(lesser(greater(real(a, 0), real(a, 1)), real(a, 2))); }, nullptr},
    {"fdiv", [](Arguments& a) { return answer(real(a, 0) / real(a, 1)); }, nullptr},
    {"ffloor", [](Arguments& a) { return answer(std::floor(real(a, 0))); }, nullptr},
    {"fis_infinite", [](Arguments& a) -> Answer { return std::isinf(real(a, 0)); }, nullptr},
    {"fis_nan", [](Arguments& a) -> Answer { return std::isnan(real(a, 0)); }, nullptr},
    {"fmax", [](Arguments& a) { return answer(greater(real(a, 0), real(a, 1))); }, nullptr},
    {"fmin", [](Arguments& a) { return answer(lesser(real(a, 0), real(a, 1))); }, nullptr},
    {"fmod", [](Arguments& a) { return answer(std::fmod(real(a, 0), real(a, 1))); }, nullptr},
    {"fmul", [](Arguments& a) { return answer(real(a, 0) * real(a, 1)); }, nullptr},
    {"frecip", [](Arguments& a) { return answer(1 / real(a, 0)); }, nullptr},
    {"fround", [](Arguments& a) { return answer(std::round(real(a, 0))); }, nullptr},
    {"fsign",
     [](Arguments& a) {
       const double x = real(a, 0);
       return answer(x == 0 || std::isnan(x) ? x : std::copysign(1.0, x));
     },
     nullptr},
    {"fsqrt", [](Arguments& a) { return answer(std::sqrt(real(a, 0))); }, nullptr},
    {"fsub", [](Arguments& a) { return answer(real(a, 0) - real(a, 1)); }, nullptr},
    {"lerp",
     [](Arguments& a) { return answer(real(a, 0) + (real(a, 1) - real(a, 0)) * real(a, 2)); }, nullptr},
    // --- collections ---
    {"hash_u64", [](Arguments& a) -> Answer { return wrapped(mixed(word(a, 0))); }, nullptr},
    {"hashtable_contains", [](Arguments& a) -> Answer { return value_of(list(a, 0), number(a, 1)) != nullptr; }, table},
    {"hashtable_count", [](Arguments& a) -> Answer { return list(a, 0)[0]; }, table},
    {"hashtable_get",
     [](Arguments& a) -> Answer {
       const Int* const found = value_of(list(a, 0), number(a, 1));
       return found != nullptr ? *found : number(a, 2);
     },
     table},
    {"hashtable_init",
     [](Arguments& a) -> Answer {
       list(a, 0).assign(list(a, 0).size(), 0);
       return 0;
     },
     nullptr},
    {"hashtable_place", [](Arguments& a) -> Answer { return place_of(list(a, 0), number(a, 1)); }, table},
    {"hashtable_put", put, table},
    {"queue_dequeue", dequeue, queue},
    {"queue_enqueue", enqueue, queue},
    {"queue_init",
     [](Arguments& a) -> Answer {
       if (list(a, 0).size() < 2) return {};
       std::fill_n(list(a, 0).begin(), 2, 0);
       return 0;
     },
     nullptr},
    {"queue_is_empty", [](Arguments& a) -> Answer { return list(a, 0)[0] == 0; }, queue},
    {"queue_peek",
     [](Arguments& a) -> Answer {
       Arguments copy = a;
       return dequeue(copy);
     },
     queue},
    {"queue_size", [](Arguments& a) -> Answer { return list(a, 0)[0]; }, queue},
    {"stack_init",
     [](Arguments& a) -> Answer {
       if (list(a, 0).empty()) return {};
       list(a, 0).front() = 0;
       return 0;
     },
     nullptr},
    {"stack_is_empty", [](Arguments& a) -> Answer { return list(a, 0)[0] == 0; }, stack},
    {"stack_peek",
     [](Arguments& a) -> Answer {
       const List& s = list(a, 0);
       return s[0] == 0 ? 0 : s[static_cast<std::size_t>(s[0])];
     },
     stack},
    {"stack_pop",
     [](Arguments& a) -> Answer {
       List& s = list(a, 0);
       return s[0] == 0 ? 0 : s[static_cast<std::size_t>(s[0]--)];
     },
     stack},
    {"stack_push",
     [](Arguments& a) -> Answer {
       List& s = list(a, 0);
       if (s[0] + 1 == static_cast<Int>(s.size())) return 0;
       s[static_cast<std::size_t>(++s[0])] = number(a, 1);
       return 1;
     },
     stack},
    {"stack_size", [](Arguments& a) -> Answer { return list(a, 0)[0]; }, stack},
};

}  // namespace

std::span<const Oracle> oracles() {
  return kOracles;
}

}  // namespace trident::test
