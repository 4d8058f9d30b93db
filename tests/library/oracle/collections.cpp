#include <algorithm>

#include "tests/library/oracle/arguments.h"

namespace trident::test {
namespace {

Word mixed(Word x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

/// Numbers that wait, and those of a ring that do not.
Answer enqueue(Arguments& a) {
  List& q = list(a, 0);
  const Int room = static_cast<Int>(q.size()) - 2;
  if (q[0] >= room) return 0;
  q[static_cast<std::size_t>(2 + (q[1] + q[0]++) % room)] = number(a, 1);
  return 1;
}

Answer dequeue(Arguments& a) {
  List& q = list(a, 0);
  if (q[0] == 0) return 0;
  const Int x = q[static_cast<std::size_t>(2 + q[1])];
  q[1] = q[1] + 3 == static_cast<Int>(q.size()) ? 0 : q[1] + 1;
  --q[0];
  return x;
}

/// Reads a table by looking at all its places.
const Int* value_of(const List& t, Int key) {
  for (std::size_t at = 1; at + 2 < t.size(); at += 3)
    if (t[at + 2] == 1 && t[at] == key) return &t[at + 1];
  return nullptr;
}

/// The place of a key by the rule of the table: from its hash on, the first that is free or the key's.
Int place_of(const List& t, Int key) {
  const std::size_t places = t.empty() ? 0 : (t.size() - 1) / 3;
  for (std::size_t i = 0; i < places; ++i) {
    const std::size_t at = 1 + 3 * ((mixed(static_cast<Word>(key)) % places + i) % places);
    if (t[at + 2] == 0 || t[at] == key) return static_cast<Int>(at);
  }
  return -1;
}

Answer put(Arguments& a) {
  List& t = list(a, 0);
  const Int at = place_of(t, number(a, 1));
  if (at < 0) return 0;
  const auto place = t.begin() + at;
  if (place[2] == 0) ++t[0];
  place[0] = number(a, 1);
  place[1] = number(a, 2);
  place[2] = 1;
  return 1;
}

void queue(Arguments& a, Random& random) {
  List& q = list(a, 0);
  q.resize(2 + random() % 6, 3);
  const std::size_t room = q.size() - 2;
  q[0] = below(random, room + 1);
  q[1] = room == 0 ? 0 : below(random, room);
}

void stack(Arguments& a, Random& random) {
  List& s = list(a, 0);
  s.resize(1 + random() % 6, 3);
  s[0] = below(random, s.size());
}

void table(Arguments& a, Random& random) {
  List& t = list(a, 0);
  t.assign(1 + 3 * (random() % 8) + random() % 3, 0);
  for (std::size_t i = 0, n = random() % 9; i < n; ++i) {
    Arguments one{a[0], {.number = below(random, 12)}, {.number = below(random, 100)}};
    put(one);
    a[0] = one[0];
  }
  if (a.size() > 1) a[1].number = below(random, 14);
}

constexpr Oracle kCollectionsOracles[] = {
    {"hash_u64", [](Arguments& a) -> Answer { return wrapped(mixed(word(a, 0))); }, nullptr},
    {"hashtable_contains", [](Arguments& a) -> Answer { return value_of(list(a, 0), number(a, 1)) != nullptr; }, table},
    {"hashtable_count", [](Arguments& a) -> Answer { return list(a, 0)[0]; }, table},
    {"hashtable_get",
     [](Arguments& a) -> Answer {
       const Int* const found = value_of(list(a, 0), number(a, 1));
       return found != nullptr ? *found : number(a, 2);
     },
     table},
    {"hashtable_init",
     [](Arguments& a) -> Answer {
       list(a, 0).assign(list(a, 0).size(), 0);
       return 0;
     },
     nullptr},
    {"hashtable_place", [](Arguments& a) -> Answer { return place_of(list(a, 0), number(a, 1)); }, table},
    {"hashtable_put", put, table},
    {"queue_dequeue", dequeue, queue},
    {"queue_enqueue", enqueue, queue},
    {"queue_init",
     [](Arguments& a) -> Answer {
       if (list(a, 0).size() < 2) return {};
       std::fill_n(list(a, 0).begin(), 2, 0);
       return 0;
     },
     nullptr},
    {"queue_is_empty", [](Arguments& a) -> Answer { return list(a, 0)[0] == 0; }, queue},
    {"queue_peek",
     [](Arguments& a) -> Answer {
       Arguments copy = a;
       return dequeue(copy);
     },
     queue},
    {"queue_size", [](Arguments& a) -> Answer { return list(a, 0)[0]; }, queue},
    {"stack_init",
     [](Arguments& a) -> Answer {
       if (list(a, 0).empty()) return {};
       list(a, 0).front() = 0;
       return 0;
     },
     nullptr},
    {"stack_is_empty", [](Arguments& a) -> Answer { return list(a, 0)[0] == 0; }, stack},
    {"stack_peek",
     [](Arguments& a) -> Answer {
       const List& s = list(a, 0);
       return s[0] == 0 ? 0 : s[static_cast<std::size_t>(s[0])];
     },
     stack},
    {"stack_pop",
     [](Arguments& a) -> Answer {
       List& s = list(a, 0);
       return s[0] == 0 ? 0 : s[static_cast<std::size_t>(s[0]--)];
     },
     stack},
    {"stack_push",
     [](Arguments& a) -> Answer {
       List& s = list(a, 0);
       if (s[0] + 1 == static_cast<Int>(s.size())) return 0;
       s[static_cast<std::size_t>(++s[0])] = number(a, 1);
       return 1;
     },
     stack},
    {"stack_size", [](Arguments& a) -> Answer { return list(a, 0)[0]; }, stack},
};

}  // namespace

std::span<const Oracle> collections_oracles() {
  return kCollectionsOracles;
}

}  // namespace trident::test
