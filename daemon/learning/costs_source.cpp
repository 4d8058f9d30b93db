#include "daemon/learning/costs_source.h"

#include <filesystem>

#include "runtime/log/log.h"
#include "runtime/os/atomic_file.h"
#include "runtime/os/cpu.h"

namespace trident::learning {
namespace {

constexpr std::size_t kFileBytesMax = std::size_t{1} << 20;

}  // namespace

Result<std::unique_ptr<CostsSource>> CostsSource::make(std::string file, bool named) {
  std::unique_ptr<CostsSource> source(new CostsSource(std::move(file)));
  const auto loaded = source->load();
  if (loaded.ok()) return source;
  if (named) return loaded.error();
  if (loaded.error().code != ErrorCode::kNotFound)
    log::error("{}: using the built-in costs; fix the file, let this user read it, or remove it",
               loaded.error().message);
  return source;
}

Result<bool> CostsSource::load() {
  std::unique_ptr<const expr::rewrite::OpCosts> found;
  if (!file_.empty()) {
    const auto bytes = os::read_file(file_, kFileBytesMax);
    if (!bytes.ok()) return make_error(bytes.error().code, "costs: %s", bytes.error().message.c_str());
    const std::string text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
    TRY(cost::Table table, cost::parse(text, file_));
    if (const std::string cpu = os::cpu_model(); cost::fits(table, cpu, table.isa))
      found = std::make_unique<const expr::rewrite::OpCosts>(std::move(table));
    else
      log::warning("{}: measured on {}, but this processor is {}: using the built-in costs", file_, table.cpu, cpu);
  }
  std::string told = found != nullptr ? cost::print(found->table()) : std::string();
  if (told == told_) return false;
  before_ = std::exchange(costs_, std::move(found));
  told_ = std::move(told);
  log::info("{}: {}", file_, name());
  return true;
}

Result<void> CostsSource::look() {
  auto changed = load();
  if (!changed.ok() && changed.error().code != ErrorCode::kNotFound) return changed.error();
  if (changed.ok() && *changed && changed_) changed_();
  return {};
}

void CostsSource::look_and_tell() {
  if (const auto looked = look(); !looked.ok()) log::error("{}: the costs stay as they were", looked.error().message);
}

Result<void> CostsSource::start_watch(net::Loop& loop) {
  const std::filesystem::path path(file_);
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  TRY(watch_, os::FolderWatch::make(folder.string()));
  TRY(poller_, net::Poller::make(loop, watch_->fd()));
  poller_.watch(net::Poller::kReadable, [this, name = path.filename().string()](int) {
    if (watch_->drain(name)) look_and_tell();
  });
  return {};
}

void CostsSource::watch(net::Loop& loop, std::function<void()> changed) {
  changed_ = std::move(changed);
  if (file_.empty()) return;
  if (const auto watching = start_watch(loop); !watching.ok())
    log::warning("{}: new costs are read only on SIGHUP", watching.error().message);
  look_and_tell();  // what was put there between make() and now
}

std::string CostsSource::name() const {
  if (costs_ == nullptr) return "built in";
  const cost::Table& table = costs_->table();
  return table.isa + ", measured " + table.date + " on " + table.cpu;
}

}  // namespace trident::learning
