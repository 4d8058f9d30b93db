// Waiting items of many users, taken in turn: a user with a thousand jobs delays another's one by one job.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <utility>

namespace trident::jobs {

template <class T>
class FairQueue {
 public:
  /// Names an item in the queue until it is taken or erased.
  struct Place {
    std::uint32_t user;
    typename std::list<T>::iterator item;
  };

  Place push_back(std::uint32_t user, T value) { return insert(user, std::move(value), false); }
  /// Before the user's other items.
  Place push_front(std::uint32_t user, T value) { return insert(user, std::move(value), true); }

  /// The first item of the user whose turn it is.
  std::optional<T> pop() {
    if (items_.empty()) return std::nullopt;
    auto at = items_.upper_bound(last_served_);
    if (at == items_.end()) at = items_.begin();
    last_served_ = at->first;
    T value = std::move(at->second.front());
    at->second.pop_front();
    if (at->second.empty()) items_.erase(at);
    --size_;
    return value;
  }

  void erase(const Place& place) {
    const auto at = items_.find(place.user);
    at->second.erase(place.item);
    if (at->second.empty()) items_.erase(at);
    --size_;
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t size_of(std::uint32_t user) const {
    const auto at = items_.find(user);
    return at == items_.end() ? 0 : at->second.size();
  }

 private:
  Place insert(std::uint32_t user, T value, bool front) {
    auto& list = items_[user];
    ++size_;
    return {user, list.insert(front ? list.begin() : list.end(), std::move(value))};
  }

  std::map<std::uint32_t, std::list<T>> items_;  ///< users with at least one item
  std::uint32_t last_served_ = 0;
  std::size_t size_ = 0;
};

}  // namespace trident::jobs
