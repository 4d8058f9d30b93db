#include "clients/c/loops.h"

#include <algorithm>
#include <memory>

#include "schemas/loop_image.h"

namespace trident::client {
namespace {

constexpr std::uint32_t kHot = 1024;
constexpr std::uint64_t kInstructionBytes = 4;

Error refused_loop(const char* why) {
  return {ErrorCode::kInvalidArgument, std::string("trident_loop_request: ") + why};
}

Result<void> check(const trident_loop_request& request) {
  const std::uint64_t size = request.code_size;
  if (request.code == nullptr || size == 0) return refused_loop("it has no code");
  if (size > TRIDENT_LOOP_CODE_BYTES_MAX)
    return make_error(ErrorCode::kLimitExceeded, "the code of a loop has at most %u bytes, not %llu",
                      TRIDENT_LOOP_CODE_BYTES_MAX, static_cast<unsigned long long>(size));
  if (request.code_base + (size - 1) < request.code_base) return refused_loop("the code wraps around");
  if ((request.code_base | request.head | size) % kInstructionBytes != 0)
    return refused_loop("head, code_base and code_size are not multiples of 4");
  if (request.head - request.code_base >= size) return refused_loop("the head lies outside of the code");
  return {};
}

}  // namespace

Loops::Loops(Context& owner, const trident_loops_options& options) : trident_loops{}, context(owner) {
  hot = options.hot == 0 ? kHot : options.hot;
  context.hold();
}

void Loops::close() {
  for_each([&](Loop& loop) { context.remove(loop.submission); });
  context.release();
  delete this;
}

Result<void> Loops::map(const trident_loop_memory& region) {
  TRY_VOID(memory.map({region.base, region.size, reinterpret_cast<std::uintptr_t>(region.host), region.permissions}));
  for_each([](Loop& loop) { loop.memory_changed(); });
  return {};
}

void Loops::unmap(std::uint64_t base, std::uint64_t size) {
  memory.unmap(base, size);
  for_each([](Loop& loop) { loop.memory_changed(); });
}

void Loops::written(std::uint64_t first, std::uint64_t last) {
  for_each([&](Loop& loop) { loop.written(first, last); });
}

void Loops::exclude(std::uint64_t first, std::uint64_t last) {
  for_each([&](Loop& loop) { loop.exclude(first, last); });
  try {
    excluded_.push_back({first, last});
  } catch (const std::bad_alloc&) {
    excludes_all_ = true;  // rather than to forget one
  }
}

bool Loops::is_excluded(std::uint64_t first, std::uint64_t last) const {
  return excludes_all_ || std::any_of(excluded_.begin(), excluded_.end(), [&](const Excluded& range) {
           return range.first <= last && first <= range.last;
         });
}

Result<Loop*> Loops::submit(const trident_loop_request& request) {
  TRY_VOID(check(request));
  if (by_head_.contains(request.head)) return refused_loop("there is a loop with this head already");
  auto fresh = std::make_unique<Loop>(*this, request);
  const auto at = by_head_.emplace(request.head, fresh.get()).first;
  try {
    context.add(fresh->submission);
  } catch (const std::bad_alloc&) {
    by_head_.erase(at);
    throw;
  }
  if (fresh->is_retired()) context.finish(fresh->submission.job, Context::End::refused, {});
  return fresh.release();
}

void Loops::close(Loop& loop) {
  by_head_.erase(loop.head);
  context.remove(loop.submission);
}

}  // namespace trident::client
