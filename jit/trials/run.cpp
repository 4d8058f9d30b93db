#include "jit/trials/run.h"

#include <vector>

namespace trident::trials {
namespace {

/// Data that the child finds prepared, because it may not allocate.
struct Call {
  codegen::RegionEntry entry;
  const Arena* arena;
  const Run* run;
  std::size_t number;
};

void begin(void* opaque) {
  const auto& call = *static_cast<const Call*>(opaque);
  set_up(*call.run, *call.arena);
}

void enter(void* opaque) {
  const auto& call = *static_cast<const Call*>(opaque);
  call.entry(call.arena->frame().data(), call.run->windows.data());
}

/// Keeps the digest. The arena's owner compares.
bool keep_digest(void* opaque) {
  const auto& call = *static_cast<const Call*>(opaque);
  call.arena->log(call.number) = call.arena->digest();
  return true;
}

}  // namespace

Result<judge::GuardedEnd> run_in_child(const Subject& subject, const Arena& arena, std::span<const Run> runs,
                                       std::uint64_t cpu_ns) {
  std::vector<Call> calls;
  std::vector<judge::Contestant> contestants;
  calls.reserve(runs.size());
  for (const Run& run : runs) {
    calls.push_back({subject.entry, &arena, &run, calls.size()});
    contestants.push_back({enter, &calls.back(), begin});
  }
  return judge::run_guarded(contestants, keep_digest, {}, cpu_ns);
}

}  // namespace trident::trials
