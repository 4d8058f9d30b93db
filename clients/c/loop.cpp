#include "clients/c/loop.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>
#include <utility>

#include "clients/c/context.h"
#include "clients/c/loops.h"
#include "runtime/os/clock.h"

namespace trident::client {
namespace {

static_assert(offsetof(trident_loop_frame, x) == TRIDENT_AARCH64_FRAME_X);
static_assert(offsetof(trident_loop_frame, pc) == TRIDENT_AARCH64_FRAME_PC);
static_assert(offsetof(trident_loop_frame, iterations) == TRIDENT_AARCH64_FRAME_ITERATIONS);
static_assert(offsetof(trident_loop_frame, nzcv) == TRIDENT_AARCH64_FRAME_NZCV);
static_assert(offsetof(trident_loop_frame, scratch) == TRIDENT_AARCH64_FRAME_PRIVATE);
static_assert(sizeof(trident_loop_frame) == TRIDENT_AARCH64_FRAME_BYTES);

constexpr const char* kStale = "the guest has other code there now, or none";
constexpr const char* kExcluded = "trident_loops_exclude() excludes one of its instructions";
constexpr std::uint64_t kAllRegisters = ~std::uint64_t{0};
constexpr std::uint16_t kBaseIsPc = 32;

std::vector<std::byte> copy_of(const trident_loop_request& request) {
  const auto* first = static_cast<const std::byte*>(request.code);
  return {first, first + request.code_size};
}

}  // namespace

Loop::Loop(Loops& owner, const trident_loop_request& request)
    : trident_loop{},
      loops(owner),
      code_base(request.code_base),
      code_bytes(copy_of(request)),
      joined((request.flags & TRIDENT_LOOP_JOINED) != 0),
      submitted_ns(os::monotonic_ns()),
      submission(*this, code, &refuse) {
  entry = &refuse;
  windows = windows_.data();
  head = request.head;
  if (loops.is_excluded(head, head)) retire(kExcluded);
}

void Loop::refuse(trident_loop_frame* frame, const trident_region_window*) {
  frame->region.exit = TRIDENT_LOOP_REFUSED;
}

bool Loop::look(const trident_loop_frame& frame) try {
  catch_up();
  if (!is_ready()) return false;
  const bool other_memory = take_checks(kLoopMemory) != 0;
  if (other_memory) {
    const bool was_mapped = code_is_mapped_;
    find_code();
    if (was_mapped && !code_is_mapped_) return retire(kStale);
  }
  const bool was_written = take_checks(kLoopWritten) != 0;
  if ((was_written && !code_is_mapped_) || !code_is_same()) return retire(kStale);
  if (other_memory) fill_empty_windows(frame);
  return true;
} catch (const std::bad_alloc&) {  // all of it again at the next entry
  set_checks(kLoopNews | kLoopMemory);
  return false;
}

void Loop::left(trident_loop_frame& frame, std::uint64_t budget) {
  frame.iterations = budget - frame.region.budget;
  ++entries_;
  iterations_ += frame.iterations;
  if (frame.region.exit != TRIDENT_LOOP_MISS) return;
  ++misses_;
  if (frame.region.exit_window < shape_->windows.size()) fill(frame.region.exit_window, frame.region.exit_address);
}

void Loop::catch_up() {
  if (take_checks(kLoopNews) == 0 || retired_ != nullptr) return;
  const ImageMap* image = nullptr;
  {
    const std::lock_guard lock(loops.context.mutex);
    image = submission.slot.image();
  }
  entry = &refuse;  // until the new code has been looked at
  if (image == nullptr) return;
  try {
    adopt(*image);
  } catch (const std::bad_alloc&) {
    set_checks(kLoopNews);
    throw;
  }
}

/// Code that needs registers of which the caller does not know is not entered.
void Loop::adopt(const ImageMap& image) {
  LoopShape fresh = shape_of(image);
  if (shape_) {
    if (!fresh.fits(*shape_)) return;
    fresh.registers_read = shape_->registers_read;
    fresh.registers_written = shape_->registers_written;
  }
  shape_ = std::move(fresh);
  for (const trident_loop_range& range : shape_->ranges) {
    const std::uint64_t first = head + static_cast<std::uint64_t>(range.offset);
    if (loops.is_excluded(first, first + (range.bytes - 1))) static_cast<void>(retire(kExcluded));
  }
  if (retired_ != nullptr) return;
  entry = reinterpret_cast<trident_loop_entry>(image.entry_address());
  memory_changed();
}

bool Loop::retire(const char* why) {
  retired_ = why;
  stale_ = why == kStale;
  entry = &refuse;
  return false;
}

void Loop::memory_changed() {
  windows_ = {};
  set_checks(kLoopMemory);
}

void Loop::written(std::uint64_t base, std::uint64_t last) {
  if (touches(base, last)) set_checks(kLoopWritten);
}

void Loop::exclude(std::uint64_t first, std::uint64_t last) {
  if (shape_ ? touches(first, last) : head - first <= last - first) retire(kExcluded);
}

/// While the instructions are not known, any of the submitted code may be one.
bool Loop::touches(std::uint64_t first, std::uint64_t last) const {
  const auto overlap = [&](std::uint64_t begin, std::uint64_t bytes) {
    return begin <= last && first <= begin + (bytes - 1);
  };
  if (!shape_) return overlap(code_base, code_bytes.size());
  return std::any_of(shape_->ranges.begin(), shape_->ranges.end(), [&](const trident_loop_range& range) {
    return overlap(head + static_cast<std::uint64_t>(range.offset), range.bytes);
  });
}

void Loop::find_code() {
  pieces_.clear();
  own_code_.clear();
  code_is_mapped_ = true;
  for (const trident_loop_range& range : shape_->ranges) {
    const std::uint64_t address = head + static_cast<std::uint64_t>(range.offset);
    const std::size_t before = own_code_.size();
    if (!loops.memory.append_host(address, range.bytes, own_code_)) code_is_mapped_ = false;
    std::size_t copy = address - code_base;
    for (std::size_t i = before; i < own_code_.size(); ++i) {
      pieces_.push_back({own_code_[i], copy});
      copy += own_code_[i].end - own_code_[i].begin;
    }
  }
  const bool changes = std::any_of(own_code_.begin(), own_code_.end(),
                                   [&](const HostRange& bytes) { return loops.memory.is_writable(bytes); });
  changes ? set_checks(kLoopCompare) : static_cast<void>(take_checks(kLoopCompare));
}

bool Loop::code_is_same() const {
  return std::all_of(pieces_.begin(), pieces_.end(), [&](const Piece& piece) {
    return std::memcmp(reinterpret_cast<const void*>(piece.host.begin), code_bytes.data() + piece.copy,
                       piece.host.end - piece.host.begin) == 0;
  });
}

/// The registers that addresses come from say where they begin; a window that this gets wrong is filled on a miss.
void Loop::fill_empty_windows(const trident_loop_frame& frame) {
  for (std::size_t i = 0; i < shape_->windows.size(); ++i) {
    const std::uint16_t base = shape_->windows[i].base;
    if (windows_[i].span == 0) fill(i, base == kBaseIsPc ? frame.pc : frame.x[base]);
  }
}

void Loop::fill(std::size_t window, std::uint64_t address) {
  const trident_region_window found = loops.memory.window(address, shape_->windows[window].need, own_code_);
  if (found.span != 0) windows_[window] = found;
}

void Loop::registers(std::uint64_t& read, std::uint64_t& written) {
  catch_up();
  read = is_ready() ? shape_->registers_read : kAllRegisters;
  written = is_ready() ? shape_->registers_written : kAllRegisters;
}

void Loop::describe(trident_loop_facts& facts) const {
  facts.instructions = shape_->instructions;
  facts.windows = static_cast<std::uint32_t>(shape_->windows.size());
  for (std::size_t i = 0; i < shape_->windows.size(); ++i)
    facts.stores |= shape_->windows[i].need.stores ? 1u << i : 0u;
  const trident_loop_range &first = shape_->ranges.front(), &last = shape_->ranges.back();
  facts.code_begin = head + static_cast<std::uint64_t>(first.offset);
  facts.code_end = head + static_cast<std::uint64_t>(last.offset) + last.bytes;
}

trident_loop_facts Loop::facts() {
  trident_loop_facts now{};
  now.state = TRIDENT_LOOP_WAITING;
  {
    const std::lock_guard lock(loops.context.mutex);
    if (submission.state == JobState::finished) now.state = TRIDENT_LOOP_GIVEN_UP;
    now.reason = reason;
    now.reason_address = reason_address;
    now.installed_ns = installed_ns;
  }
  catch_up();  // after the look: a job that is finished has published what it got
  if (is_ready()) now.state = TRIDENT_LOOP_READY;
  if (retired_ != nullptr) now.state = stale_ ? TRIDENT_LOOP_STALE : TRIDENT_LOOP_GIVEN_UP;
  now.note = retired_;
  if (retired_ == nullptr && !is_ready()) now.note = loops.context.note_of(submission);
  if (shape_) describe(now);
  now.entries = entries_;
  now.iterations = iterations_;
  now.misses = misses_;
  return now;
}

void Loop::seen(std::uint64_t guest_ns, std::uint64_t kernel_ns) {
  const wire::LoopSeen seen{.entries = entries_ - told_entries_,
                            .iterations = iterations_ - told_iterations_,
                            .guest_ns = guest_ns,
                            .kernel_ns = kernel_ns};
  loops.context.tell_seen(submission, seen);
  told_entries_ = entries_;
  told_iterations_ = iterations_;
}

void Loop::tell(std::unique_lock<std::mutex>&) {
  if (installed_ns == 0 && submission.slot.tier() != 0) installed_ns = os::monotonic_ns() - submitted_ns;
  set_checks(kLoopNews);
}

}  // namespace trident::client
