#include "daemon/learning/weights_source.h"

#include "daemon/worker/protocol.h"
#include "runtime/log/log.h"

namespace trident::learning {
namespace {

constexpr const char* kFallback = "the search uses the shipped weights";

}  // namespace

WeightsSource::WeightsSource(net::Loop& loop, const std::string& folder, std::function<void()> changed)
    : changed_(std::move(changed)) {
  auto versions = store::Versions::open(folder);
  if (!versions.ok()) {
    log::error("{}: {}; let this user write there, or name another folder with --state", versions.error().message,
               kFallback);
    return;
  }
  versions_ = std::move(*versions);
  // Watched before it is read, so that no change is missed in between.
  const Result<void> watching = watch(loop, folder);
  if (!watching.ok()) log::warning("{}: promoted weights are read only at the next start", watching.error().message);
  load();
}

Result<void> WeightsSource::watch(net::Loop& loop, const std::string& folder) {
  TRY(watch_, os::FolderWatch::make(folder));
  TRY(poller_, net::Poller::make(loop, watch_->fd()));
  poller_.watch(net::Poller::kReadable, [this](int) {
    if (watch_->drain(store::Versions::kChosenFile) && load()) changed_();
  });
  return {};
}

bool WeightsSource::load() {
  auto chosen = versions_->chosen();
  if (!chosen.ok()) {
    log::error("{}: {}; let this user read it, or choose others with `trident weights`", chosen.error().message,
               kFallback);
    chosen = std::string(store::Versions::kNone);
  }
  if (*chosen == name_) return false;
  std::unique_ptr<const pipeline::SearchWeights> found;
  std::string told, name{store::Versions::kNone};
  if (*chosen != store::Versions::kNone) {
    const std::string path = versions_->path_of(*chosen);
    auto mapped = pipeline::SearchWeights::map(path, *chosen);
    if (mapped.ok()) {
      found = std::make_unique<const pipeline::SearchWeights>(std::move(*mapped));
      told = worker::told_weights(*chosen, path), name = *chosen;
    } else {
      log::error("{}: {}; let this user read it, or choose others with `trident weights`", mapped.error().message,
                 kFallback);
    }
  }
  if (name == name_) return false;
  before_ = std::exchange(weights_, std::move(found));
  told_ = std::move(told), name_ = std::move(name);
  log::info("search weights: {}", name_ == store::Versions::kNone ? "shipped" : name_);
  return true;
}

}  // namespace trident::learning
