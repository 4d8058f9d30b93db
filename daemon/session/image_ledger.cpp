#include "daemon/session/image_ledger.h"

#include <algorithm>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/os/memfd.h"

namespace trident::session {
namespace {

/// Images asked about before somebody is told that there is no room: a few hundred microseconds at most.
constexpr std::size_t kLooksForRoom = 64;

}  // namespace

bool ImageLedger::claim(std::uint32_t uid, const cache::SharedImage& image) {
  const auto at = images_.find(image.file.get());
  if (at != images_.end()) {
    CHECK(at->second.uid == uid);  // jobs and cache share nothing between users
    if (at->second.jobs++ == 0) --loose_;
    return true;
  }
  const std::uint64_t bytes = os::round_to_pages(image.size);
  if (!make_room(uid, bytes)) return false;
  User& user = users_[uid];
  user.gone = false;
  user.bytes += bytes;
  ++user.files;
  bytes_ += bytes;
  images_.emplace(image.file.get(), Image{image.file, uid, bytes, 1});
  return true;
}

void ImageLedger::release(const std::shared_ptr<cache::ImageFile>& file) {
  const auto at = images_.find(file.get());
  CHECK(at != images_.end() && at->second.jobs > 0);
  Image& image = at->second;
  if (--image.jobs != 0) return;
  ++loose_;
  if (image.listed) return;
  image.listed = true;
  users_[image.uid].loose.push_back(file.get());
}

bool ImageLedger::full(std::uint32_t uid) {
  return !make_room(uid, os::page_bytes());
}

void ImageLedger::user_gone(std::uint32_t uid) {
  if (const auto at = users_.find(uid); at != users_.end()) at->second.gone = true;
}

std::size_t ImageLedger::sweep(std::size_t looks) {
  std::vector<std::uint32_t> uids;
  for (const auto& [uid, user] : users_)
    if (!user.loose.empty()) uids.push_back(uid);
  std::sort(uids.begin(), uids.end());
  std::rotate(uids.begin(), std::lower_bound(uids.begin(), uids.end(), next_user_), uids.end());
  std::size_t dropped = 0, left = uids.size();
  for (const std::uint32_t uid : uids) {
    const std::size_t share = std::max<std::size_t>(1, looks / left--);
    const std::size_t taken = std::min(share, users_.at(uid).loose.size());
    dropped += sweep(uid, taken);
    looks -= std::min(looks, taken);
    next_user_ = uid + 1;
    if (looks == 0) break;
  }
  return dropped;
}

std::uint64_t ImageLedger::bytes_of(std::uint32_t uid) const {
  const auto at = users_.find(uid);
  return at == users_.end() ? 0 : at->second.bytes;
}

bool ImageLedger::fits(const User& user, std::uint64_t bytes) const {
  return user.bytes + bytes <= limits_.bytes_per_user && user.files < limits_.files_per_user &&
         bytes_ + bytes <= limits_.bytes && images_.size() < limits_.files;
}

bool ImageLedger::make_room(std::uint32_t uid, std::uint64_t bytes) {
  if (const auto at = users_.find(uid); fits(at == users_.end() ? User() : at->second, bytes)) return true;
  sweep(uid, kLooksForRoom);
  if (const auto at = users_.find(uid); fits(at == users_.end() ? User() : at->second, bytes)) return true;
  if (bytes_ + bytes <= limits_.bytes && images_.size() < limits_.files) return false;  // no other user is in the way
  sweep(kLooksForRoom);
  const auto at = users_.find(uid);
  return fits(at == users_.end() ? User() : at->second, bytes);
}

std::size_t ImageLedger::sweep(std::uint32_t uid, std::size_t looks) {
  const auto user = users_.find(uid);
  if (user == users_.end()) return 0;
  auto& list = user->second.loose;
  const bool gone = user->second.gone;
  std::size_t dropped = 0;
  for (looks = std::min(looks, list.size()); looks > 0; --looks) {
    const cache::ImageFile* const file = list.front();
    list.pop_front();
    Image& image = images_.at(file);
    image.listed = false;
    if (image.jobs != 0) continue;  // claimed again
    const os::Holders clients = image.file->clients();
    if (clients == os::Holders::none || (clients == os::Holders::unknown && gone)) {
      ++dropped;
      drop(file);  // with the last one the user goes too, and the loop ends
      continue;
    }
    image.listed = true;
    list.push_back(file);
  }
  return dropped;
}

void ImageLedger::drop(const cache::ImageFile* file) {
  const auto at = images_.find(file);
  const auto user = users_.find(at->second.uid);
  user->second.bytes -= at->second.bytes;
  bytes_ -= at->second.bytes;
  --loose_;
  images_.erase(at);
  if (--user->second.files == 0) users_.erase(user);
}

}  // namespace trident::session
