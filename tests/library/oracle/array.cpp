#include <algorithm>
#include <cmath>
#include <utility>

#include "tests/library/oracle/arguments.h"

namespace trident::test {
namespace {

Answer sorted(Arguments& a) {
  std::sort(list(a, 0).begin(), list(a, 0).end());
  return 0;
}

void sort_lists(Arguments& a, Random&) {
  for (auto& one : a) std::sort(one.elements.begin(), one.elements.end());
}

void room_for_both(Arguments& a, Random& random) {
  sort_lists(a, random);
  list(a, 2).assign(list(a, 0).size() + list(a, 1).size() + random() % 3, 7);
}

void part(Arguments& a, Random& random) {
  List& numbers = list(a, 0);
  if (numbers.empty()) numbers.push_back(5);
  a[1].number = below(random, numbers.size());
  a[2].number = a[1].number + 1 + below(random, numbers.size() - static_cast<std::size_t>(a[1].number));
}

void heap_but_one(Arguments& a, Random& random) {
  List& numbers = list(a, 0);
  if (numbers.empty()) numbers.push_back(5);
  std::make_heap(numbers.begin(), numbers.end());
  const auto at = static_cast<std::size_t>(below(random, numbers.size()));
  a[1].number = static_cast<Int>(at);
  numbers[at] -= below(random, 50);
}

void sorted_and_found(Arguments& a, Random& random) {
  sort_lists(a, random);
  if (!list(a, 0).empty() && random() % 2 == 0) a[1].number = list(a, 0)[random() % list(a, 0).size()];
}

void sometimes_sorted(Arguments& a, Random& random) {
  if (random() % 2 == 0) sort_lists(a, random);
}

constexpr Oracle kArrayOracles[] = {
    {"array_eq", [](Arguments& a) -> Answer { return list(a, 0) == list(a, 1); }, often_equal},
    {"array_max",
     [](Arguments& a) -> Answer {
       if (list(a, 0).empty()) return {};
       return *std::max_element(list(a, 0).begin(), list(a, 0).end());
     },
     nullptr},
    {"array_min",
     [](Arguments& a) -> Answer {
       if (list(a, 0).empty()) return {};
       return *std::min_element(list(a, 0).begin(), list(a, 0).end());
     },
     nullptr},
    {"binary_search",
     [](Arguments& a) -> Answer {
       const auto found = std::lower_bound(list(a, 0).begin(), list(a, 0).end(), number(a, 1));
       const bool is_there = std::binary_search(list(a, 0).begin(), list(a, 0).end(), number(a, 1));
       return is_there ? found - list(a, 0).begin() : -1;
     },
     sorted_and_found},
    {"bubble_sort", sorted, nullptr},
    {"copy",
     [](Arguments& a) -> Answer {
       const std::size_t n = std::min(list(a, 0).size(), list(a, 1).size());
       std::copy_n(list(a, 0).begin(), n, list(a, 1).begin());
       return static_cast<Int>(n);
     },
     nullptr},
    {"count", [](Arguments& a) -> Answer { return std::count(list(a, 0).begin(), list(a, 0).end(), number(a, 1)); },
     often_found},
    {"countdown",
     [](Arguments& a) -> Answer {
       Word next = word(a, 0);
       for (Int& x : list(a, 1)) x = wrapped(next--);
       return 0;
     },
     nullptr},
    {"fill",
     [](Arguments& a) -> Answer {
       std::fill(list(a, 0).begin(), list(a, 0).end(), number(a, 1));
       return 0;
     },
     nullptr},
    {"insertion_sort", sorted, nullptr},
    {"is_sorted", [](Arguments& a) -> Answer { return std::is_sorted(list(a, 0).begin(), list(a, 0).end()); },
     sometimes_sorted},
    {"linear_search",
     [](Arguments& a) -> Answer {
       const auto found = std::find(list(a, 0).begin(), list(a, 0).end(), number(a, 1));
       return found == list(a, 0).end() ? -1 : found - list(a, 0).begin();
     },
     often_found},
    {"lower_bound",
     [](Arguments& a) -> Answer {
       return std::count_if(list(a, 0).begin(), list(a, 0).end(), [&](Int x) { return x < number(a, 1); });
     },
     sorted_and_found},
    {"memcmp", [](Arguments& a) -> Answer { return sign_of(bytes(a, 0).compare(bytes(a, 1))); }, often_equal},
    {"merge",
     [](Arguments& a) -> Answer {
       std::merge(list(a, 0).begin(), list(a, 0).end(), list(a, 1).begin(), list(a, 1).end(), list(a, 2).begin());
       return 0;
     },
     room_for_both},
    {"partition",
     [](Arguments& a) -> Answer {
       const auto first = list(a, 0).begin() + number(a, 1), last = list(a, 0).begin() + number(a, 2) - 1;
       const Int pivot = *last;
       auto at = first;  // Lomuto's order of exchanges is part of what is promised
       for (auto i = first; i != last; ++i)
         if (*i < pivot) std::iter_swap(i, at++);
       std::iter_swap(last, at);
       return at - list(a, 0).begin();
     },
     part},
    {"quicksort", sorted, nullptr},
    {"reverse",
     [](Arguments& a) -> Answer {
       std::reverse(list(a, 0).begin(), list(a, 0).end());
       return 0;
     },
     nullptr},
    {"rotate_left",
     [](Arguments& a) -> Answer {
       if (!list(a, 0).empty()) std::rotate(list(a, 0).begin(), list(a, 0).begin() + 1, list(a, 0).end());
       return 0;
     },
     nullptr},
    {"rotate_right",
     [](Arguments& a) -> Answer {
       if (!list(a, 0).empty()) std::rotate(list(a, 0).begin(), list(a, 0).end() - 1, list(a, 0).end());
       return 0;
     },
     nullptr},
    {"sift_down",
     [](Arguments& a) -> Answer {
       List& h = list(a, 0);
       for (auto at = static_cast<std::size_t>(number(a, 1));;) {
         std::size_t greatest = at;
         if (2 * at + 1 < h.size() && h[2 * at + 1] > h[greatest]) greatest = 2 * at + 1;
         if (2 * at + 2 < h.size() && h[2 * at + 2] > h[greatest]) greatest = 2 * at + 2;
         if (greatest == at) return 0;
         std::swap(h[at], h[greatest]);
         at = greatest;
       }
     },
     heap_but_one},
    {"sum",
     [](Arguments& a) -> Answer {
       Word total = 0;
       for (const Int x : list(a, 0)) total += static_cast<Word>(x);
       return wrapped(total);
     },
     nullptr},
    {"unique",
     [](Arguments& a) -> Answer {
       List kept = list(a, 0);
       kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
       std::copy(kept.begin(), kept.end(), list(a, 0).begin());
       return static_cast<Int>(kept.size());
     },
     sort_lists},
    {"upper_bound",
     [](Arguments& a) -> Answer {
       return std::count_if(list(a, 0).begin(), list(a, 0).end(), [&](Int x) { return x <= number(a, 1); });
     },
     sorted_and_found},
};

}  // namespace

std::span<const Oracle> array_oracles() {
  return kArrayOracles;
}

}  // namespace trident::test
