#include "bench/loops/guest_machine.h"

#include <elf.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>

#include "bench/loops/cpu_clock.h"
#include "runtime/base/check.h"

namespace trident::bench {
namespace {

constexpr std::uint64_t kPageBytes = 4096;

template <class T>
T read(const std::vector<char>& file, std::uint64_t offset) {
  T value{};
  CHECK(offset <= file.size() && file.size() - offset >= sizeof value);
  std::memcpy(&value, file.data() + offset, sizeof value);
  return value;
}

std::vector<char> read_guest() {
  std::ifstream in(GUEST_PATH, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<Elf64_Phdr> segments_of(const std::vector<char>& file) {
  const auto header = read<Elf64_Ehdr>(file, 0);
  std::vector<Elf64_Phdr> segments;
  for (std::uint64_t i = 0; i < header.e_phnum; ++i) {
    const auto segment = read<Elf64_Phdr>(file, header.e_phoff + i * sizeof(Elf64_Phdr));
    if (segment.p_type == PT_LOAD) segments.push_back(segment);
  }
  return segments;
}

}  // namespace

int unicorn_register(unsigned number) {
  if (number < 29) return UC_ARM64_REG_X0 + static_cast<int>(number);
  return number == 29 ? UC_ARM64_REG_X29 : number == 30 ? UC_ARM64_REG_X30 : UC_ARM64_REG_SP;
}

GuestMachine::GuestMachine() {
  load();
  CHECK(uc_open(UC_ARCH_ARM64, UC_MODE_ARM, &engine_) == UC_ERR_OK);
  CHECK(uc_mem_map_ptr(engine_, base_, code_bytes_, UC_PROT_READ | UC_PROT_EXEC, memory_) == UC_ERR_OK);
  CHECK(uc_mem_map_ptr(engine_, base_ + code_bytes_, bytes_ - code_bytes_, UC_PROT_READ | UC_PROT_WRITE,
                       memory_ + code_bytes_) == UC_ERR_OK);
}

GuestMachine::~GuestMachine() {
  uc_close(engine_);
  ::munmap(memory_, bytes_);
}

/// The segments lie side by side; the one with code comes first.
void GuestMachine::load() {
  const std::vector<char> file = read_guest();
  const std::vector<Elf64_Phdr> segments = segments_of(file);
  CHECK(segments.size() == 2 && (segments[0].p_flags & PF_X) != 0);
  base_ = segments[0].p_vaddr / kPageBytes * kPageBytes;
  code_bytes_ = segments[1].p_vaddr / kPageBytes * kPageBytes - base_;
  bytes_ = (segments[1].p_vaddr + segments[1].p_memsz + kPageBytes - 1) / kPageBytes * kPageBytes - base_;
  memory_ =
      static_cast<std::uint8_t*>(::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  CHECK(memory_ != MAP_FAILED);
  for (const Elf64_Phdr& segment : segments)
    std::memcpy(at(segment.p_vaddr), file.data() + segment.p_offset, segment.p_filesz);
  const auto header = read<Elf64_Ehdr>(file, 0);
  for (std::uint64_t i = 0; i < header.e_shnum; ++i) {
    const auto section = read<Elf64_Shdr>(file, header.e_shoff + i * sizeof(Elf64_Shdr));
    if (section.sh_type != SHT_SYMTAB) continue;
    const auto names = read<Elf64_Shdr>(file, header.e_shoff + section.sh_link * sizeof(Elf64_Shdr));
    for (std::uint64_t s = 0; s < section.sh_size / sizeof(Elf64_Sym); ++s) {
      const auto symbol = read<Elf64_Sym>(file, section.sh_offset + s * sizeof(Elf64_Sym));
      symbols_.push_back({file.data() + names.sh_offset + symbol.st_name, symbol.st_value, symbol.st_size});
    }
  }
}

const GuestMachine::Symbol& GuestMachine::symbol(const std::string& name) const {
  const auto found = std::find_if(symbols_.begin(), symbols_.end(), [&](const Symbol& s) { return s.name == name; });
  CHECK(found != symbols_.end());
  return *found;
}

/// The guest's `kernels` begins with two addresses in each row: name and function.
GuestMachine::Function GuestMachine::function_of(std::uint32_t kernel) const {
  std::uint64_t address = 0;
  std::memcpy(&address, at(symbol("kernels").address + kernel * sizeof(struct kernel) + sizeof address),
              sizeof address);
  const auto is_it = [&](const Symbol& s) { return s.address == address && s.bytes != 0; };
  const auto found = std::find_if(symbols_.begin(), symbols_.end(), is_it);
  CHECK(found != symbols_.end());
  return {address, found->bytes};
}

std::uint64_t GuestMachine::run(const Work& work, std::uint64_t calls) {
  const std::uint64_t back = symbol("_start").address, stack = symbol("stack_end").address;
  const std::pair<unsigned, std::uint64_t> registers[] = {
      {0, work.kernel}, {1, work.bytes}, {2, calls}, {30, back}, {31, stack}};
  for (const auto& [number, value] : registers) uc_reg_write(engine_, unicorn_register(number), &value);
  CHECK(uc_emu_start(engine_, symbol("run_calls").address, back, 0, 0) == UC_ERR_OK);
  std::uint64_t result = 0;
  uc_reg_read(engine_, UC_ARM64_REG_X0, &result);
  return result;
}

double GuestMachine::cpu_ns(const Work& work, std::uint64_t calls) {
  const double begin = thread_cpu_ns();
  run(work, calls);
  return thread_cpu_ns() - begin;
}

void GuestMachine::fill(const Work& work) {
  fill_arena(at(symbol("arena").address), symbol("arena").address, work.bytes);
}

std::uint64_t GuestMachine::hash() const {
  return hash_arena(at(symbol("arena").address));
}

}  // namespace trident::bench
