#include "jit/trials/stage.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace trident::trials {
namespace {

/// Layouts that the runs of one script may have.
constexpr std::size_t kLayoutsMax = 8;

std::size_t script_bytes(const Stage::Room& room, std::size_t scene_bytes, std::size_t head_bytes) {
  const std::size_t run = scene_bytes + room.frame_bytes + room.windows * sizeof(region::Window);
  return head_bytes + room.runs * run + kLayoutsMax * Arena::kMemoryBytes;
}

constexpr std::size_t kPageBytes = 4096;

void touch(std::span<const std::byte> bytes) {
  for (std::size_t at = 0; at < bytes.size(); at += kPageBytes)
    (void)*static_cast<const volatile std::byte*>(&bytes[at]);
}

/// Copies `bytes` to `place` and moves that behind them.
const std::byte* put_bytes(std::byte*& place, std::span<const std::byte> bytes) {
  std::byte* const start = place;
  std::memcpy(start, bytes.data(), bytes.size());
  place += bytes.size();
  return start;
}

}  // namespace

Stage::Stage(const Room& room, Arena arena, os::CodeFile code, os::Mapping script, os::Mapping progress)
    : room_(room),
      arena_(std::move(arena)),
      code_(std::move(code)),
      script_memory_(std::move(script)),
      progress_memory_(std::move(progress)),
      read_only_(script_memory_.bytes()),
      script_(reinterpret_cast<Script*>(read_only_.data())),
      scenes_(reinterpret_cast<Scene*>(script_ + 1)),
      details_(reinterpret_cast<std::byte*>(scenes_ + room.runs)),
      progress_(static_cast<Progress*>(progress_memory_.base())) {}

Result<std::unique_ptr<Stage>> Stage::make(const Room& room) {
  TRY(Arena arena, Arena::make(room.frame_bytes, room.runs, room.local_bytes));
  TRY(os::CodeFile code, os::CodeFile::make(room.code_bytes));
  TRY(os::Mapping script, os::map_shared(script_bytes(room, sizeof(Scene), sizeof(Script))));
  TRY(os::Mapping progress, os::map_shared(sizeof(Progress)));
  return std::unique_ptr<Stage>(
      new Stage(room, std::move(arena), std::move(code), std::move(script), std::move(progress)));
}

Result<std::unique_ptr<Stage>> Stage::make_ahead(const Room& room) {
  TRY(std::unique_ptr<Stage> stage, make(room));
  const os::ForkServer::Work work{prepare, play, stage.get(), std::span(&stage->read_only_, 1)};
  TRY(os::ForkServer server, os::ForkServer::start(judge::child_limits(room.cpu_ns), work));
  stage->server_.emplace(std::move(server));
  return stage;
}

bool Stage::fits(const Subject& subject, const Options& options) const {
  return subject.frame_bytes == room_.frame_bytes && subject.region.windows <= room_.windows &&
         runs_max(options) <= room_.runs && subject.code.size() <= room_.code_bytes &&
         local_bytes(subject) <= room_.local_bytes && options.cpu_ns == room_.cpu_ns;
}

// --- in the child: no allocation, no locks ---------------------------------------------------------------------------

/// Touches all that runs will touch, and changes nothing: the results of the run before may still be read.
void Stage::prepare(void* opaque) {
  const Stage& stage = *static_cast<const Stage*>(opaque);
  touch(stage.code_.bytes());
  touch(stage.read_only_);
  const std::span<std::byte> bytes = stage.arena_.bytes();
  for (std::size_t at = 0; at < bytes.size(); at += kPageBytes)
    __atomic_fetch_or(reinterpret_cast<unsigned char*>(&bytes[at]), 0, __ATOMIC_RELAXED);
  __atomic_fetch_or(&const_cast<Progress*>(stage.progress_)->begun, 0, __ATOMIC_RELAXED);
  [[maybe_unused]] const volatile std::uint64_t digest = stage.arena_.digest(stage.room_.local_bytes).frame[0];
}

void Stage::play(void* opaque) {
  const Stage& stage = *static_cast<const Stage*>(opaque);
  for (std::size_t i = 0; i < stage.script_->runs; ++i) {
    const Scene& scene = stage.scenes_[i];
    std::memcpy(stage.arena_.frame().data(), scene.frame, stage.room_.frame_bytes);
    std::memcpy(stage.arena_.memory().data(), scene.contents, Arena::kMemoryBytes);
    soil(stage.arena_.locals(stage.script_->local_bytes));
    stage.progress_->begun = i + 1;
    stage.script_->entry(stage.arena_.frame().data(), scene.windows);
    stage.arena_.log(i) = stage.arena_.digest(stage.script_->local_bytes);
    stage.progress_->done = i + 1;
  }
}

// --- here ------------------------------------------------------------------------------------------------------------

Result<void> Stage::clear() {
  if (server_) TRY_VOID(server_->wait_for_child());
  return {};
}

Result<void> Stage::put(const Subject& subject) {
  script_->entry =
      reinterpret_cast<codegen::RegionEntry>(reinterpret_cast<std::uintptr_t>(code_.bytes().data()) + subject.entry);
  return code_.write(subject.code);
}

void Stage::write(std::span<const Run> runs) {
  CHECK(runs.size() <= room_.runs);
  std::byte* place = details_;
  std::map<const Layout*, const std::byte*> contents;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Run& run = runs[i];
    auto& layout = contents[run.layout];
    if (layout == nullptr) layout = put_bytes(place, run.layout->contents);
    CHECK(contents.size() <= kLayoutsMax);
    const std::byte* const frame = put_bytes(place, run.frame);
    scenes_[i] = {frame, layout,
                  reinterpret_cast<const region::Window*>(put_bytes(place, std::as_bytes(std::span(run.windows))))};
  }
  script_->runs = runs.size();
  script_->local_bytes = runs.empty() ? 0 : runs[0].local_bytes;
  progress_->begun = 0;
  progress_->done = 0;
}

Result<os::SandboxEnd> Stage::run_child() {
  if (server_) return server_->run();
  return judge::run_in_child(std::span(&read_only_, 1), room_.cpu_ns, play, this);
}

Result<judge::GuardedEnd> Stage::run(std::span<const Run> runs) {
  TRY_VOID(clear());
  write(runs);
  TRY(const os::SandboxEnd end, run_child());
  if (end.kind != os::SandboxEnd::Kind::finished && progress_->begun == 0)
    return make_error(ErrorCode::kOsError, "a child %s before it called the code under test",
                      os::describe(end).c_str());
  return judge::GuardedEnd{end, runs.size(), static_cast<std::size_t>(progress_->begun),
                           static_cast<std::size_t>(progress_->done), false};
}

}  // namespace trident::trials
