// The frame of a run lies at the end of a mapping, before a page that nobody may touch, with canaries in front:
//
//   | no access | canaries .. | frame | no access |
//
// The child copies each run's frame and the digest of its memory to a log that it shares with this process.
#include "jit/trials/run.h"

#include <algorithm>
#include <cstring>

namespace trident::trials {
namespace {

/// A run's results in shared memory; the frame follows.
struct LogHead {
  std::uint64_t digest[2];
};

/// Data that the child finds prepared, because it may not allocate.
struct Call {
  codegen::RegionEntry entry;
  const Arena* arena;
  const Run* run;
  std::span<std::byte> frame;     ///< that the code gets
  std::span<std::byte> canaries;  ///< in front of it
  std::byte* log;
};

void set_up(void* opaque) {
  const auto& call = *static_cast<const Call*>(opaque);
  call.arena->load(call.run->layout->contents);
  std::memset(call.canaries.data(), static_cast<int>(kCanary), call.canaries.size());
  std::memcpy(call.frame.data(), call.run->frame.data(), call.frame.size());
}

void enter(void* opaque) {
  const auto& call = *static_cast<const Call*>(opaque);
  call.entry(call.frame.data(), call.run->windows.data());
}

bool keep_results(void* opaque) {
  const auto& call = *static_cast<const Call*>(opaque);
  LogHead head{};
  digest_of(*call.arena, head.digest);
  std::memcpy(call.log, &head, sizeof head);
  std::memcpy(call.log + sizeof head, call.frame.data(), call.frame.size());
  return std::all_of(call.canaries.begin(), call.canaries.end(), [](std::byte b) { return b == kCanary; });
}

After after_of(const Call& call) {
  After after{.frame = {call.log + sizeof(LogHead), call.log + sizeof(LogHead) + call.frame.size()}};
  std::memcpy(after.digest, call.log, sizeof after.digest);
  return after;
}

}  // namespace

Result<Ran> run_in_child(const Subject& subject, const Arena& arena, std::span<const Run> runs, std::uint64_t cpu_ns) {
  TRY(const auto guarded, os::GuardedMapping::make(subject.frame_bytes));
  const std::span<std::byte> frame = guarded.bytes().last(subject.frame_bytes);
  const std::span<std::byte> canaries = guarded.bytes().first(guarded.bytes().size() - frame.size());
  const std::size_t log_bytes = sizeof(LogHead) + frame.size();
  TRY(const auto log, os::map_shared(std::max<std::size_t>(runs.size(), 1) * log_bytes));
  std::vector<Call> calls;
  std::vector<judge::Contestant> contestants;
  for (std::size_t i = 0; i < runs.size(); ++i)
    calls.push_back({subject.entry, &arena, &runs[i], frame, canaries, log.bytes().data() + i * log_bytes});
  for (Call& call : calls) contestants.push_back({enter, &call, set_up});
  TRY(const auto end, judge::run_guarded(contestants, keep_results, {}, cpu_ns));
  Ran ran{.end = end, .after = {}};
  for (std::size_t i = 0; i < std::min(end.calls_done, calls.size()); ++i) ran.after.push_back(after_of(calls[i]));
  return ran;
}

}  // namespace trident::trials
