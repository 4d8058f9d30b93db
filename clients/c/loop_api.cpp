// The edge of every function of trident_loop.h, as api.cpp is of trident.h.
#include "clients/c/abi_edge.h"
#include "clients/c/loops.h"

namespace {

using trident::Result;
using trident::client::guarded;
using trident::client::invalid;
using trident::client::Loop;
using trident::client::Loops;
using trident::client::narrowed;
using trident::client::widened;

/// The last address of [base, base + size), which is not empty; the greatest of all where that wraps around.
std::uint64_t last_of(std::uint64_t base, std::uint64_t size) {
  const std::uint64_t last = base + (size - 1);
  return last < base ? ~std::uint64_t{0} : last;
}

}  // namespace

extern "C" {

trident_status trident_loops_open(trident_ctx* ctx, const trident_loops_options* given, trident_loops** loops) {
  return guarded([&]() -> Result<void> {
    if (loops == nullptr) return invalid("null pointer");
    *loops = nullptr;
    if (ctx == nullptr) return invalid("null pointer");
    TRY(const trident_loops_options options, widened(given, trident_loops_options{}));
    if (options.guest != 0 && options.guest != TRIDENT_AARCH64)
      return invalid("trident_loops_options.guest is not TRIDENT_AARCH64");
    *loops = new Loops(*ctx, options);
    return {};
  });
}

void trident_loops_close(trident_loops* loops) {
  if (loops != nullptr) Loops::of(loops)->close();
}

trident_status trident_loops_map(trident_loops* loops, const trident_loop_memory* memory) {
  return guarded([&]() -> Result<void> {
    if (loops == nullptr || memory == nullptr) return invalid("null pointer");
    TRY(const trident_loop_memory region, widened(memory, trident_loop_memory{}));
    return Loops::of(loops)->map(region);
  });
}

void trident_loops_unmap(trident_loops* loops, uint64_t base, uint64_t size) {
  if (loops != nullptr && size != 0) Loops::of(loops)->unmap(base, size);
}

void trident_loops_written(trident_loops* loops, uint64_t base, uint64_t size) {
  if (loops != nullptr && size != 0) Loops::of(loops)->written(base, last_of(base, size));
}

void trident_loops_exclude(trident_loops* loops, uint64_t begin, uint64_t end) {
  if (loops == nullptr || end <= begin) return;
  Loops::of(loops)->exclude(begin, end - 1);
}

trident_status trident_loop_submit(trident_loops* loops, const trident_loop_request* given, trident_loop** loop) {
  return guarded([&]() -> Result<void> {
    if (loop == nullptr) return invalid("null pointer");
    *loop = nullptr;
    if (loops == nullptr || given == nullptr) return invalid("null pointer");
    TRY(const trident_loop_request request, widened(given, trident_loop_request{}));
    TRY(*loop, Loops::of(loops)->submit(request));
    return {};
  });
}

// News of the library's threads are taken over when somebody asks, so a handle is const to its user only.

void trident_loop_registers(const trident_loop* loop, uint64_t* read, uint64_t* written) {
  std::uint64_t both[2] = {~std::uint64_t{0}, ~std::uint64_t{0}};
  static_cast<void>(guarded([&]() -> Result<void> {
    if (loop != nullptr) Loop::of(const_cast<trident_loop*>(loop))->registers(both[0], both[1]);
    return {};
  }));
  if (read != nullptr) *read = both[0];
  if (written != nullptr) *written = both[1];
}

int trident_loop_is_ready(const trident_loop* handle) {
  if (handle == nullptr) return 0;
  Loop& loop = *Loop::of(const_cast<trident_loop*>(handle));
  const trident_status caught_up = guarded([&]() -> Result<void> {
    loop.catch_up();
    return {};
  });
  return caught_up == TRIDENT_OK && loop.is_ready() ? 1 : 0;
}

trident_status trident_loop_info(const trident_loop* loop, trident_loop_facts* facts) {
  return guarded([&]() -> Result<void> {
    if (loop == nullptr) return invalid("null pointer");
    return narrowed(Loop::of(const_cast<trident_loop*>(loop))->facts(), facts);
  });
}

void trident_loop_seen(trident_loop* loop, uint64_t guest_ns, uint64_t kernel_ns) {
  if (loop == nullptr) return;
  static_cast<void>(guarded([&]() -> Result<void> {
    Loop::of(loop)->seen(guest_ns, kernel_ns);
    return {};
  }));
}

void trident_loop_close(trident_loop* loop) {
  if (loop != nullptr) Loop::of(loop)->loops.close(*Loop::of(loop));
}

int trident_loop_look(trident_loop* loop, trident_loop_frame* frame) {
  return Loop::of(loop)->look(*frame) ? 1 : 0;
}

void trident_loop_left(trident_loop* loop, trident_loop_frame* frame, uint64_t budget) {
  Loop::of(loop)->left(*frame, budget);
}

}  // extern "C"
