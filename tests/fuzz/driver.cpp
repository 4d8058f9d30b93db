// An engine-free driver for the fuzz targets: the same LLVMFuzzerTestOneInput that libFuzzer calls, fed with random and
// mutated inputs from a seeded generator. It needs no special compiler, so every test run can afford a short campaign.
//
//   target [--runs N] [--seed S] [--seconds T] [--max-bytes B] [SEED_FILE...]
//
// Each seed file is one seed input, or with --lines one seed per line. Targets whose inputs are text get two kinds of
// mutants: of bytes, and of the words and groups that the seeds are made of (tokens.h). An input that takes more than
// ten seconds of processor time (not of the clock: a busy machine is no hang), or that ends the process, is left in
// crash-<target>.bin in the working directory; run `target --replay FILE` to see it again. The last line says how many
// inputs the target took for valid, and the time of the slowest one.

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/time.h>
#include <unistd.h>

#include "tests/fuzz/tokens.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
/// Tokens that a target's inputs are made of; nullptr ends the list.
extern "C" const char* const fuzz_dictionary[];
/// Set by the target: inputs are text; number of inputs that it has taken for valid so far.
extern "C" const bool fuzz_is_text;
extern "C" std::uint64_t fuzz_accepted;

namespace {

using trident::fuzz::Random;

constexpr unsigned kHangSeconds = 10;

const std::uint8_t* g_current_data = nullptr;
std::size_t g_current_size = 0;
char g_crash_path[256];

void save_current(int signal) {
  const int fd = ::open(g_crash_path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (fd >= 0) {
    if (::write(fd, g_current_data, g_current_size) < 0) ::_exit(98);
    ::close(fd);
  }
  constexpr char kText[] = "fuzz: this input ended the process; it was saved beside (crash-*.bin)\n";
  if (::write(2, kText, sizeof kText - 1) < 0) ::_exit(98);
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

double processor_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double g_slowest_seconds = 0;

void run_one(const std::vector<std::uint8_t>& input) {
  g_current_data = input.data();
  g_current_size = input.size();
  const itimerval limit{{0, 0}, {kHangSeconds, 0}};
  ::setitimer(ITIMER_PROF, &limit, nullptr);
  const double start = processor_seconds();
  LLVMFuzzerTestOneInput(input.data(), input.size());
  g_slowest_seconds = std::max(g_slowest_seconds, processor_seconds() - start);
}

std::vector<std::uint8_t> read_file(const char* path) {
  std::vector<std::uint8_t> bytes;
  if (std::FILE* file = std::fopen(path, "rb")) {
    std::uint8_t buffer[4096];
    for (std::size_t got; (got = std::fread(buffer, 1, sizeof buffer, file)) > 0;)
      bytes.insert(bytes.end(), buffer, buffer + got);
    std::fclose(file);
  } else {
    std::fprintf(stderr, "fuzz: cannot read %s\n", path);
    std::exit(2);
  }
  return bytes;
}

void insert(std::vector<std::uint8_t>& input, std::size_t at, const void* data, std::size_t size) {
  const auto* bytes = static_cast<const std::uint8_t*>(data);
  input.insert(input.begin() + static_cast<std::ptrdiff_t>(at), bytes, bytes + size);
}

void mutate(std::vector<std::uint8_t>& input, const std::vector<std::vector<std::uint8_t>>& seeds, std::size_t tokens,
            Random& random) {
  const std::size_t at = random.below(input.size() + 1);
  switch (random.below(9)) {
    case 0:  // flip a bit
      if (!input.empty()) input[random.below(input.size())] ^= static_cast<std::uint8_t>(1u << random.below(8));
      break;
    case 1:  // set a byte
      if (!input.empty()) input[random.below(input.size())] = static_cast<std::uint8_t>(random.next());
      break;
    case 2: {  // insert random bytes
      const std::uint64_t word = random.next();
      insert(input, at, &word, 1 + random.below(8));
      break;
    }
    case 3:  // delete a stretch
      if (!input.empty()) {
        const std::size_t from = random.below(input.size());
        const std::size_t count = 1 + random.below(std::min<std::size_t>(input.size() - from, 16));
        input.erase(input.begin() + static_cast<std::ptrdiff_t>(from),
                    input.begin() + static_cast<std::ptrdiff_t>(from + count));
      }
      break;
    case 4:  // repeat a stretch
      if (!input.empty()) {
        const std::size_t from = random.below(input.size());
        const std::vector<std::uint8_t> piece(
            input.begin() + static_cast<std::ptrdiff_t>(from),
            input.begin() + static_cast<std::ptrdiff_t>(from + random.below(input.size() - from) % 64));
        insert(input, at, piece.data(), piece.size());
      }
      break;
    case 5:  // splice with another seed
      if (!seeds.empty()) {
        const auto& other = seeds[random.below(seeds.size())];
        const std::size_t from = random.below(other.size() + 1);
        input.resize(at);
        input.insert(input.end(), other.begin() + static_cast<std::ptrdiff_t>(from), other.end());
      }
      break;
    case 6:  // an integer that breaks arithmetic
      if (input.size() >= 8) {
        constexpr std::uint64_t kNasty[] = {0,      1,          0x7F,       0x80,       0xFF, 0x7FFF,
                                            0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, ~0ull};
        const std::uint64_t value = kNasty[random.below(std::size(kNasty))];
        const std::size_t width = std::size_t{1} << random.below(4);
        std::memcpy(&input[random.below(input.size() - width + 1)], &value, width);
      }
      break;
    default:  // a token of the language
      if (tokens > 0) {
        const char* token = fuzz_dictionary[random.below(tokens)];
        insert(input, at, token, std::strlen(token));
      }
  }
}

std::vector<std::uint8_t> make_input(const std::vector<std::vector<std::uint8_t>>& seeds, std::size_t tokens,
                                     const trident::fuzz::TokenPool& pool, Random& random) {
  if (!pool.empty() && random.below(2) == 0) {
    const std::string text = pool.mutant(random);
    return {text.begin(), text.end()};
  }
  std::vector<std::uint8_t> input;
  if (!seeds.empty() && random.below(16) != 0) {
    input = seeds[random.below(seeds.size())];
    for (std::size_t rounds = std::size_t{1} << random.below(6); rounds > 0; --rounds)
      mutate(input, seeds, tokens, random);
  } else {
    for (std::size_t size = random.below(256); size > 0; --size) mutate(input, seeds, tokens, random);
  }
  return input;
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t runs = 20000, seed = 1;
  std::size_t max_bytes = 4096;
  long seconds = 0;
  bool lines = false;
  std::vector<std::vector<std::uint8_t>> seeds;
  const char* slash = std::strrchr(argv[0], '/');
  std::snprintf(g_crash_path, sizeof g_crash_path, "crash-%s.bin", slash != nullptr ? slash + 1 : argv[0]);
  for (int i = 1; i < argc; ++i) {
    const std::string_view arg = argv[i];
    const auto value = [&] {
      return i + 1 < argc ? argv[++i] : (std::fprintf(stderr, "fuzz: %s needs a value\n", argv[i]), std::exit(2), "");
    };
    if (arg == "--runs")
      runs = std::strtoull(value(), nullptr, 10);
    else if (arg == "--seed")
      seed = std::strtoull(value(), nullptr, 10);
    else if (arg == "--seconds")
      seconds = std::strtol(value(), nullptr, 10);
    else if (arg == "--max-bytes")
      max_bytes = std::strtoull(value(), nullptr, 10);
    else if (arg == "--lines")
      lines = true;
    else if (arg == "--replay") {
      run_one(read_file(value()));
      return 0;
    } else if (!lines)
      seeds.push_back(read_file(argv[i]));
    else {
      std::vector<std::uint8_t> line;
      for (const std::uint8_t byte : read_file(argv[i])) {
        if (byte != '\n')
          line.push_back(byte);
        else if (!line.empty())
          seeds.push_back(std::exchange(line, {}));
      }
    }
  }
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGPROF}) std::signal(signal, save_current);

  std::size_t tokens = 0;
  trident::fuzz::TokenPool pool;
  for (; fuzz_dictionary[tokens] != nullptr; ++tokens)
    if (fuzz_is_text) pool.add_words(fuzz_dictionary[tokens]);
  for (const auto& each : seeds) {
    run_one(each);
    if (fuzz_is_text) pool.add_seed({reinterpret_cast<const char*>(each.data()), each.size()});
  }
  const std::uint64_t accepted_seeds = std::exchange(fuzz_accepted, 0);

  Random random{seed * 0x2545F4914F6CDD1Du + 1};
  const std::time_t start = std::time(nullptr);
  std::uint64_t done = 0;
  for (; done < runs; ++done) {
    if (seconds > 0 && done % 256 == 0 && std::time(nullptr) - start >= seconds) break;
    std::vector<std::uint8_t> input = make_input(seeds, tokens, pool, random);
    if (input.size() > max_bytes) input.resize(max_bytes);
    run_one(input);
  }
  std::printf(
      "fuzz: %llu inputs from %zu seeds (%llu valid), seed %llu, in %ld s: %llu valid (%.1f %%), the slowest took %.0f "
      "ms: no crash, no hang, no wrong answer\n",
      static_cast<unsigned long long>(done), seeds.size(), static_cast<unsigned long long>(accepted_seeds),
      static_cast<unsigned long long>(seed), static_cast<long>(std::time(nullptr) - start),
      static_cast<unsigned long long>(fuzz_accepted),
      100.0 * static_cast<double>(fuzz_accepted) / static_cast<double>(std::max<std::uint64_t>(done, 1)),
      1e3 * g_slowest_seconds);
  return 0;
}
