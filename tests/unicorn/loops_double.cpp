#include "tests/unicorn/loops_double.h"

#include <algorithm>
#include <cstring>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "jit/codegen/region.h"
#include "jit/loop/describe.h"
#include "jit/loop/discover.h"
#include "jit/loop/lift.h"
#include "jit/loop/polling.h"
#include "runtime/os/memfd.h"

namespace trident::tests {
namespace {

struct Range {
  std::uint64_t begin, end;
};

struct PrivateLoop;

struct PrivateLoops {
  trident_loops open{};
  std::vector<trident_loop_memory> memory;
  std::vector<Range> excluded;
  std::list<PrivateLoop> loops;
  std::uint64_t generation = 1;
};

struct PrivateLoop {
  trident_loop open{};
  PrivateLoops* owner = nullptr;
  std::optional<os::Mapping> code;
  loop::Description description;
  std::vector<trident_region_window> windows;
  std::vector<std::uint8_t> bytes;  ///< from code_base on
  std::uint64_t code_base = 0, generation = 0;
  std::size_t questions = 0;
  trident_loop_facts facts{};
  std::string note;
};

PrivateLoops& of(trident_loops* loops) {
  return *reinterpret_cast<PrivateLoops*>(loops);
}
PrivateLoop& of(trident_loop* loop) {
  return *reinterpret_cast<PrivateLoop*>(loop);
}
const PrivateLoop& of(const trident_loop* loop) {
  return *reinterpret_cast<const PrivateLoop*>(loop);
}

const trident_loop_memory* memory_at(const PrivateLoops& loops, std::uint64_t address) {
  for (const trident_loop_memory& memory : loops.memory)
    if (address - memory.base < memory.size) return &memory;
  return nullptr;
}

void unmap(PrivateLoops& loops, std::uint64_t base, std::uint64_t size) {
  std::vector<trident_loop_memory> left;
  for (const trident_loop_memory& memory : loops.memory) {
    const std::uint64_t end = memory.base + memory.size;
    const std::uint64_t from = std::max(base, memory.base), to = std::min(base + size, end);
    if (from >= to) {
      left.push_back(memory);
      continue;
    }
    if (from > memory.base)
      left.push_back({sizeof memory, memory.permissions, memory.base, from - memory.base, memory.host});
    if (to < end)
      left.push_back(
          {sizeof memory, memory.permissions, to, end - to, static_cast<char*>(memory.host) + (to - memory.base)});
  }
  loops.memory = left;
  ++loops.generation;
}

/// The loop of the head, with those behind it if they are to be joined.
std::variant<loop::Loop, loop::Refusal> found_in(const PrivateLoop& loop, std::span<const std::uint32_t> words,
                                                 bool joined) {
  const loop::Code code{loop.code_base, std::as_bytes(words)};
  if (auto whole = joined ? loop::discover_joined(code, loop.open.head) : std::nullopt) return std::move(*whole);
  return loop::discover(code, loop.open.head);
}

/// Compiles, or says why not.
void make(PrivateLoop& loop, std::vector<std::uint32_t> words, bool joined) {
  if (loops_double().corrupt) loops_double().corrupt(words);
  const auto found = found_in(loop, words, joined);
  if (const auto* refusal = std::get_if<loop::Refusal>(&found)) {
    loop.note = std::string(sentence_of(refusal->reason));
    loop.facts.reason = static_cast<std::uint32_t>(refusal->reason) + 1;
    return;
  }
  const auto region = loop::lift(std::get<loop::Loop>(found));
  if (!region.ok()) return void(loop.note = region.error().message);
  if (loop::polls(*region)) return void(loop.note = "it polls");
  const auto code = codegen::emit(*region);
  if (!code.ok()) return void(loop.note = code.error().message);
  auto mapping = os::map_code(code->bytes);
  if (!mapping.ok()) return void(loop.note = mapping.error().message);
  loop.code.emplace(std::move(*mapping));
  loop.description = loop::describe(std::get<loop::Loop>(found), *region);
  loop.windows.resize(loop.description.windows.size());
}

void set_facts(PrivateLoop& loop) {
  loop.facts.instructions = loop.description.counts.instructions;
  loop.facts.windows = static_cast<std::uint32_t>(loop.windows.size());
  for (std::size_t w = 0; w < loop.windows.size(); ++w)
    if ((loop.description.windows[w].access & TRIDENT_LOOP_STORES) != 0) loop.facts.stores |= 1u << w;
  loop.facts.code_begin = loop.open.head + static_cast<std::uint64_t>(loop.description.ranges.front().offset);
  const trident_loop_range& last = loop.description.ranges.back();
  loop.facts.code_end = loop.open.head + static_cast<std::uint64_t>(last.offset) + last.bytes;
}

bool is_excluded(const PrivateLoop& loop) {
  for (const Range& range : loop.owner->excluded)
    if (range.begin < loop.facts.code_end && loop.facts.code_begin < range.end) return true;
  return false;
}

/// Whether the guest's code is what was submitted.
bool is_current(const PrivateLoop& loop) {
  for (const trident_loop_range& range : loop.description.ranges) {
    for (std::uint32_t i = 0; i < range.bytes; i += 4) {
      const std::uint64_t address = loop.open.head + static_cast<std::uint64_t>(range.offset) + i;
      const trident_loop_memory* memory = memory_at(*loop.owner, address);
      if (memory == nullptr || std::memcmp(static_cast<char*>(memory->host) + (address - memory->base),
                                           loop.bytes.data() + (address - loop.code_base), 4) != 0)
        return false;
    }
  }
  return true;
}

void fill_window(PrivateLoop& loop, std::uint64_t address, std::uint32_t number) {
  const trident_loop_memory* const memory = memory_at(*loop.owner, address);
  const std::uint8_t access = loop.description.windows[number].access;
  if (memory == nullptr) return;
  const bool may_load = (memory->permissions & TRIDENT_LOOP_READ) != 0;
  const bool may_store =
      (memory->permissions & TRIDENT_LOOP_WRITE) != 0 && (memory->permissions & TRIDENT_LOOP_EXECUTE) == 0;
  if (((access & TRIDENT_LOOP_LOADS) != 0 && !may_load) || ((access & TRIDENT_LOOP_STORES) != 0 && !may_store)) return;
  loop.windows[number] = {memory->base, memory->size, reinterpret_cast<std::uint64_t>(memory->host) - memory->base};
}

}  // namespace

LoopsDouble& loops_double() {
  static thread_local LoopsDouble it;
  return it;
}

extern "C" {

trident_status trident_loops_open(trident_ctx*, const trident_loops_options* options, trident_loops** loops) {
  auto it = std::make_unique<PrivateLoops>();
  it->open.hot = options->hot != 0 ? options->hot : 1024;
  *loops = &it.release()->open;
  return TRIDENT_OK;
}

void trident_loops_close(trident_loops* loops) {
  delete &of(loops);
}

trident_status trident_loops_map(trident_loops* loops, const trident_loop_memory* memory) {
  for (const trident_loop_memory& other : of(loops).memory)
    if (memory->base < other.base + other.size && other.base < memory->base + memory->size) return TRIDENT_E_INVALID;
  of(loops).memory.push_back(*memory);
  ++of(loops).generation;
  return TRIDENT_OK;
}

void trident_loops_unmap(trident_loops* loops, uint64_t base, uint64_t size) {
  unmap(of(loops), base, size);
}
void trident_loops_written(trident_loops*, uint64_t, uint64_t) {}
void trident_loops_exclude(trident_loops* loops, uint64_t begin, uint64_t end) {
  of(loops).excluded.push_back({begin, end});
}

trident_status trident_loop_submit(trident_loops* loops, const trident_loop_request* request, trident_loop** loop) {
  PrivateLoop& it = of(loops).loops.emplace_back();
  const auto* const bytes = static_cast<const std::uint8_t*>(request->code);
  std::vector<std::uint32_t> words(request->code_size / 4);
  std::memcpy(words.data(), bytes, words.size() * 4);
  it.owner = &of(loops);
  it.open.head = request->head;
  it.open.checks = 1;
  it.bytes.assign(bytes, bytes + request->code_size);
  it.code_base = request->code_base;
  it.questions = loops_double().questions_until_ready;
  ++loops_double().submissions;
  make(it, words, (request->flags & TRIDENT_LOOP_JOINED) != 0);
  if (it.code) {
    set_facts(it);
    it.open.entry = reinterpret_cast<trident_loop_entry>(it.code->base());
    it.open.windows = it.windows.data();
  }
  *loop = &it.open;
  return TRIDENT_OK;
}

void trident_loop_registers(const trident_loop* loop, uint64_t* read, uint64_t* written) {
  *read = of(loop).description.counts.registers_read;
  *written = of(loop).description.counts.registers_written;
}

int trident_loop_is_ready(const trident_loop* loop) {
  auto& it = const_cast<PrivateLoop&>(of(loop));
  if (it.questions != 0) --it.questions;
  return it.code && it.questions == 0 ? 1 : 0;
}

trident_status trident_loop_info(const trident_loop* loop, trident_loop_facts* facts) {
  const PrivateLoop& it = of(loop);
  *facts = it.facts;
  facts->state = !it.code            ? TRIDENT_LOOP_GIVEN_UP
                 : it.questions != 0 ? TRIDENT_LOOP_WAITING
                 : !is_current(it)   ? TRIDENT_LOOP_STALE
                 : is_excluded(it)   ? TRIDENT_LOOP_GIVEN_UP
                                     : TRIDENT_LOOP_READY;
  facts->note = it.note.empty() ? nullptr : it.note.c_str();
  return TRIDENT_OK;
}

void trident_loop_seen(trident_loop*, uint64_t, uint64_t) {}

void trident_loop_close(trident_loop* loop) {
  of(loop).owner->loops.remove_if([&](const PrivateLoop& it) { return &it.open == loop; });
}

int trident_loop_look(trident_loop* loop, trident_loop_frame*) {
  PrivateLoop& it = of(loop);
  if (it.generation != it.owner->generation) std::fill(it.windows.begin(), it.windows.end(), trident_region_window{});
  it.generation = it.owner->generation;
  return it.code && !is_excluded(it) && is_current(it) ? 1 : 0;
}

void trident_loop_left(trident_loop* loop, trident_loop_frame* frame, uint64_t budget) {
  frame->iterations = budget - frame->region.budget;
  if (frame->region.exit == TRIDENT_LOOP_MISS)
    fill_window(of(loop), frame->region.exit_address, frame->region.exit_window);
}

}  // extern "C"

}  // namespace trident::tests
