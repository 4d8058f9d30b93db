// Waiting items of many users, served by time: the user that has used the least worker time is next.
//
// Start-time fair queueing (Goyal, Vin, Cheng 1996). Each user has a clock of the time that it was served. pop() takes
// the user whose clock is least, and virtual time becomes that clock. A user that begins to wait starts at virtual time
// at the earliest, so nobody saves up time while idle. Between two users that wait all along, service differs by at
// most one item of each.
//
// How long an item takes is known when it has been served. Until then its user is charged what the user's last item
// took; settle() corrects this. With several servers a user thus does not get all of them on one old clock.
//
// Items of one user belong to groups, its connections, which take turns: a program that asks for hundreds of kernels
// does not let another one of the same user wait for all of them. Each item has a round, one more than the item of its
// group before it and later than the round that was served last; a user's items are served by round. Within its group
// an item may be given a weight: the rounds of the group then go to its items by weight, the greatest first.
//
// Items that are to be served later come behind all others of their user, by weight. Each may need a server of its own:
// of these, and of no others, one that may not run lets those behind it pass.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <list>
#include <map>
#include <optional>
#include <utility>

namespace trident::jobs {

template <class T>
class FairQueue {
  struct Item {
    T value;
    std::uint64_t round;
    std::uint64_t group = 0, weight = 0;
    bool keeps_place = false;  ///< was put in front
  };

 public:
  enum class Line : std::uint8_t { urgent, ordinary, later };
  /// Names an item in the queue until it is taken or erased.
  struct Place {
    std::uint32_t user;
    Line line;
    typename std::list<Item>::iterator item;
  };

  Place push_back(std::uint32_t user, T value, std::uint64_t group = 0) {
    User& one = waiting(user);
    std::uint64_t& round = one.last_rounds[group];
    round = std::max(round, one.round) + 1;
    auto after = one.items.end();
    while (after != one.items.begin() && std::prev(after)->round > round) --after;
    return {user, Line::ordinary, one.items.insert(after, Item{std::move(value), round, group})};
  }
  /// Puts an item before the user's other items, but behind the urgent ones.
  Place push_front(std::uint32_t user, T value) {
    User& one = waiting(user);
    return {user, Line::ordinary, one.items.insert(one.items.begin(), Item{std::move(value), one.round, 0, 0, true})};
  }
  /// Puts an item behind the user's urgent items and before all others of that user. Other users see no difference.
  Place push_urgent(std::uint32_t user, T value) {
    auto& urgent = waiting(user).urgent;
    ++urgent_size_;
    return {user, Line::urgent, urgent.insert(urgent.end(), Item{std::move(value), 0})};
  }
  /// Puts an item behind the user's urgent and other items, and behind those of these that weigh as much.
  Place push_later(std::uint32_t user, T value, std::uint64_t weight) {
    auto& later = waiting(user).later;
    const auto lighter = [&](const Item& item) { return item.weight < weight; };
    const auto before = std::find_if(later.begin(), later.end(), lighter);
    return {user, Line::later, later.insert(before, Item{std::move(value), 0, 0, weight})};
  }

  /// Gives an item a weight, which only grows: it goes before lighter ones of its group. Urgent items, and those that
  /// were put in front, stay where they are.
  void set_weight(const Place& place, std::uint64_t weight) {
    Item& item = *place.item;
    if (place.line == Line::urgent || item.keeps_place || weight <= item.weight) return;
    item.weight = weight;
    if (place.line == Line::later) return raise(users_.at(place.user).later, place.item);
    std::list<Item>& items = users_.at(place.user).items;
    for (auto at = place.item; at != items.begin();) {
      --at;
      if (at->group != item.group || at->keeps_place) continue;
      if (at->weight >= weight) break;
      exchange(items, at, place.item);
      at = place.item;
    }
  }

  /// The next item of the user that has used the least time; settle() must follow when it was served. Passes over
  /// users whose next item `may_run` refuses. Looks at every user that waits.
  template <class MayRun>
  std::optional<T> pop(MayRun may_run) {
    auto least = users_.end();
    std::optional<At> next;
    for (auto at = users_.begin(); at != users_.end(); ++at) {
      User& user = at->second;
      if (!user.waits() || (least != users_.end() && !is_before(user, least->second))) continue;
      if (const auto runs = user.next(may_run)) least = at, next = runs;
    }
    if (least == users_.end()) return std::nullopt;
    User& user = least->second;
    virtual_ns_ = std::max(virtual_ns_, user.used_ns);
    user.expected_ns.push_back(user.last_ns);
    user.used_ns += user.last_ns;
    user.turn = ++turns_;
    if (!user.urgent.empty()) --urgent_size_;
    T value = std::move((*next)->value);
    user.take(*next);
    --size_;
    return value;
  }
  std::optional<T> pop() {
    return pop([](const T&) { return true; });
  }

  /// An item of the user that pop() has given out took `used_ns` of a server.
  void settle(std::uint32_t user, std::uint64_t used_ns) {
    User& one = users_.at(user);
    one.used_ns += used_ns - one.expected_ns.front();
    one.expected_ns.pop_front();
    one.last_ns = used_ns;
    forget_idle(user);
  }

  void erase(const Place& place) {
    User& user = users_.at(place.user);
    user.line(place.line).erase(place.item);
    user.begin_rounds_anew();
    if (place.line == Line::urgent) --urgent_size_;
    --size_;
    forget_idle(place.user);
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t urgent_size() const { return urgent_size_; }
  /// Items of the user that are neither urgent nor to be served later.
  [[nodiscard]] std::size_t size_of(std::uint32_t user) const {
    const auto at = users_.find(user);
    return at == users_.end() ? 0 : at->second.items.size();
  }

 private:
  using At = typename std::list<Item>::iterator;

  struct User {
    std::list<Item> urgent, items, later;
    std::map<std::uint64_t, std::uint64_t> last_rounds;  ///< by group, while items wait
    std::uint64_t round = 0;                             ///< of the item that was served last
    std::list<std::uint64_t> expected_ns;                ///< charged for each item that is being served
    std::uint64_t used_ns = 0, last_ns = 0;
    std::uint64_t turn = 0;  ///< when it was last served: users of equal clocks take turns

    [[nodiscard]] bool waits() const { return !urgent.empty() || !items.empty() || !later.empty(); }
    [[nodiscard]] bool idle() const { return !waits() && expected_ns.empty(); }
    [[nodiscard]] std::list<Item>& line(Line which) {
      return which == Line::urgent ? urgent : which == Line::ordinary ? items : later;
    }
    [[nodiscard]] std::list<Item>& first() { return !urgent.empty() ? urgent : !items.empty() ? items : later; }
    template <class MayRun>
    [[nodiscard]] std::optional<At> next(MayRun& may_run) {
      std::list<Item>& list = first();
      const auto end = &list == &later ? list.end() : std::next(list.begin());
      const auto at = std::find_if(list.begin(), end, [&](const Item& item) { return may_run(item.value); });
      return at == end ? std::nullopt : std::optional(at);
    }
    /// Takes an item out of the first list.
    void take(At item) {
      if (&first() == &items) round = items.front().round;
      first().erase(item);
      begin_rounds_anew();
    }
    void begin_rounds_anew() {
      if (!items.empty()) return;
      last_rounds.clear();
      round = 0;
    }
  };

  /// Puts an item whose weight has grown before lighter ones.
  static void raise(std::list<Item>& later, At item) {
    const auto lighter = [&](const Item& other) { return other.weight < item->weight; };
    later.splice(std::find_if(later.begin(), item, lighter), later, item);
  }
  /// Exchanges two items and their rounds; `a` is before `b`.
  static void exchange(std::list<Item>& items, At a, At b) {
    const At behind = std::next(b);
    items.splice(a, items, b);
    items.splice(behind, items, a);
    std::swap(a->round, b->round);
  }

  static bool is_before(const User& a, const User& b) {
    return a.used_ns != b.used_ns ? a.used_ns < b.used_ns : a.turn < b.turn;
  }

  /// Returns the user, which is about to get an item.
  User& waiting(std::uint32_t user) {
    User& one = users_[user];
    if (one.idle()) one.used_ns = std::max(one.used_ns, virtual_ns_);
    ++size_;
    return one;
  }

  /// Forgets a user that virtual time has caught up with. Where nobody waits or is served, time starts anew for all.
  void forget_idle(std::uint32_t user) {
    const auto at = users_.find(user);
    if (!at->second.idle()) return;
    if (at->second.used_ns <= virtual_ns_) users_.erase(at);
    if (!std::all_of(users_.begin(), users_.end(), [](const auto& entry) { return entry.second.idle(); })) return;
    users_.clear();
    virtual_ns_ = 0;
  }

  std::map<std::uint32_t, User> users_;
  std::uint64_t virtual_ns_ = 0;
  std::uint64_t turns_ = 0;
  std::size_t size_ = 0, urgent_size_ = 0;
};

}  // namespace trident::jobs
