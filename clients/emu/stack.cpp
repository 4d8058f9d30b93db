#include "clients/emu/stack.h"

#include <elf.h>
#include <sys/random.h>
#include <unistd.h>

#include <array>

namespace trident::emu {
namespace {

constexpr std::uint64_t kStackEnd = (std::uint64_t{1} << 38) + (std::uint64_t{16} << 20);
constexpr std::uint64_t kStackBytes = std::uint64_t{8} << 20;
/// A quarter of the stack, as in Linux.
constexpr std::uint64_t kArgumentBytesMax = kStackBytes / 4;
/// Where static-pie programs go.
constexpr std::uint64_t kMovedTo = std::uint64_t{0x40} << 20;
/// HWCAP: floats and vectors. What is not claimed, such as LSE atomics, libraries do not use.
constexpr std::uint64_t kFloats = 1, kVectors = 2;
constexpr std::uint64_t kTicksPerSecond = 100;

/// Writes the stack from its end down.
class StackWriter {
 public:
  explicit StackWriter(GuestMemory& memory) : memory_(memory) {}
  std::uint64_t push(const void* bytes, std::size_t size) {
    sp_ -= size;
    memory_.fill(sp_, bytes, size);
    return sp_;
  }
  std::uint64_t push(const std::string& text) { return push(text.c_str(), text.size() + 1); }
  std::uint64_t push_words(const std::vector<std::uint64_t>& words) {
    sp_ = (sp_ - words.size() * 8) & ~std::uint64_t{15};
    memory_.fill(sp_, words.data(), words.size() * 8);
    return sp_;
  }

 private:
  GuestMemory& memory_;
  std::uint64_t sp_ = kStackEnd;
};

std::uint64_t bytes_of(const std::vector<std::string>& texts) {
  std::uint64_t bytes = 0;
  for (const std::string& text : texts) bytes += text.size() + 1 + sizeof(std::uint64_t);
  return bytes;
}

struct Pushed {
  std::uint64_t random, platform, name;
};

void push_auxiliary(std::vector<std::uint64_t>& words, const ElfProgram& program, std::uint64_t shift,
                    const Pushed& pushed) {
  const std::uint64_t headers = program.headers == 0 ? 0 : program.headers + shift;
  const std::pair<std::uint64_t, std::uint64_t> entries[] = {{AT_PHDR, headers},
                                                             {AT_PHENT, sizeof(Elf64_Phdr)},
                                                             {AT_PHNUM, headers == 0 ? 0 : program.header_count},
                                                             {AT_PAGESZ, kPageBytes},
                                                             {AT_BASE, 0},
                                                             {AT_FLAGS, 0},
                                                             {AT_ENTRY, program.entry + shift},
                                                             {AT_UID, ::getuid()},
                                                             {AT_EUID, ::geteuid()},
                                                             {AT_GID, ::getgid()},
                                                             {AT_EGID, ::getegid()},
                                                             {AT_SECURE, 0},
                                                             {AT_HWCAP, kFloats | kVectors},
                                                             {AT_HWCAP2, 0},
                                                             {AT_CLKTCK, kTicksPerSecond},
                                                             {AT_RANDOM, pushed.random},
                                                             {AT_PLATFORM, pushed.platform},
                                                             {AT_EXECFN, pushed.name},
                                                             {AT_NULL, 0}};
  for (const auto& [key, value] : entries) words.insert(words.end(), {key, value});
}

std::uint64_t build_stack(GuestMemory& memory, const ElfProgram& program, std::uint64_t shift,
                          const std::vector<std::string>& arguments, const std::vector<std::string>& environment) {
  StackWriter stack(memory);
  std::array<std::byte, 16> random{};
  (void)::getrandom(random.data(), random.size(), 0);
  const Pushed pushed{stack.push(random.data(), random.size()), stack.push(std::string("aarch64")),
                      stack.push(arguments.front())};
  std::vector<std::uint64_t> words{arguments.size()};
  for (const auto* texts : {&arguments, &environment}) {
    for (const std::string& text : *texts) words.push_back(stack.push(text));
    words.push_back(0);
  }
  push_auxiliary(words, program, shift, pushed);
  return stack.push_words(words);
}

Error no_room(const std::string& what) {
  return {ErrorCode::kOutOfMemory, what + " finds no room in the guest's memory"};
}

Result<void> place_segments(GuestMemory& memory, const ElfProgram& program, std::uint64_t shift,
                            std::span<const std::byte> file) {
  for (const Segment& s : program.segments) {
    const std::uint64_t base = page_down(s.address + shift), end = page_up(s.address + shift + s.bytes);
    if (!memory.map(base, end - base, s.permissions)) return no_room("the program");
    memory.fill(s.address + shift, file.data() + s.file_offset, s.file_bytes);
  }
  return {};
}

}  // namespace

Result<ProgramStart> load_program(GuestMemory& memory, const ElfProgram& program, std::span<const std::byte> file,
                                  const std::vector<std::string>& arguments,
                                  const std::vector<std::string>& environment) {
  if (bytes_of(arguments) + bytes_of(environment) > kArgumentBytesMax)
    return make_error(ErrorCode::kLimitExceeded, "arguments and environment are longer than 2 MiB");
  const std::uint64_t shift = program.movable ? kMovedTo - program.begin() : 0;
  TRY_VOID(place_segments(memory, program, shift, file));
  const std::uint64_t stack = kStackEnd - kStackBytes;
  if (!memory.is_free(stack, kStackBytes) || !memory.map(stack, kStackBytes, kRead | kWrite))
    return no_room("the stack");
  if (!memory.reserve_heap(program.end() + shift)) return no_room("the heap");
  return ProgramStart{program.entry + shift, build_stack(memory, program, shift, arguments, environment)};
}

}  // namespace trident::emu
