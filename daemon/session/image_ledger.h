// Which sealed images the clients hold, and how much of the daemon's memory that is.
//
// The pages of a sealed memfd count against the daemon as long as anybody has it open or mapped, whatever the protocol
// says: a client may keep a mapping after it closed the kernel. So an image is charged to its user from the moment it
// is sent by descriptor until no client has it any more, which the system is asked (cache::ImageFile).
//
//   claimed   an open job of a session refers to it          never asked about
//   loose     all its jobs are closed or their clients gone  asked about: when room is needed, and a while after
//
// An image that two jobs refer to is charged once. Where the system cannot tell, an image stays charged until its
// user's last connection has ended.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>

#include "daemon/cache/cache.h"

namespace trident::session {

class ImageLedger {
 public:
  struct Limits {
    std::uint64_t bytes_per_user = 0, bytes = 0;  ///< of one user, of all
    std::uint64_t files_per_user = 0, files = 0;  ///< each holds a descriptor of the daemon
  };
  explicit ImageLedger(const Limits& limits) : limits_(limits) {}
  void set_limits(const Limits& limits) { limits_ = limits; }

  /// Charges `image` for one more job of `uid`. False when there is no room for it: it must not be sent by descriptor.
  bool claim(std::uint32_t uid, const cache::SharedImage& image);
  /// The job is closed.
  void release(const std::shared_ptr<cache::ImageFile>& file);
  /// Whether the user is at a limit. Looks for images that nobody has any more first.
  bool full(std::uint32_t uid);
  /// The user's last connection has ended.
  void user_gone(std::uint32_t uid);

  /// Asks about up to `looks` loose images, in turns; drops those that nobody has. Returns how many it dropped.
  std::size_t sweep(std::size_t looks);
  [[nodiscard]] std::size_t loose() const { return loose_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] std::size_t files() const { return images_.size(); }
  [[nodiscard]] std::uint64_t bytes_of(std::uint32_t uid) const;

 private:
  struct Image {
    std::shared_ptr<cache::ImageFile> file;
    std::uint32_t uid = 0;
    std::uint64_t bytes = 0;
    std::uint32_t jobs = 0;
    bool listed = false;  ///< in its user's list of loose images, which may lag behind
  };
  struct User {
    std::uint64_t bytes = 0, files = 0;
    bool gone = false;
    std::deque<const cache::ImageFile*> loose;
  };

  [[nodiscard]] bool fits(const User& user, std::uint64_t bytes) const;
  bool make_room(std::uint32_t uid, std::uint64_t bytes);
  std::size_t sweep(std::uint32_t uid, std::size_t looks);
  void drop(const cache::ImageFile* file);

  Limits limits_;
  std::unordered_map<const cache::ImageFile*, Image> images_;
  std::unordered_map<std::uint32_t, User> users_;
  std::uint64_t bytes_ = 0;
  std::size_t loose_ = 0;
  std::uint32_t next_user_ = 0;  ///< where the next sweep of all begins
};

}  // namespace trident::session
