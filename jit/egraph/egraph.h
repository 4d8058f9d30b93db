// E-graph: a set of terms that shares equal parts and holds many equal forms at once. A node is an op over classes; a
// class is a set of nodes known to be equal. Knows no expressions: the ops come as a table, facts of values (Facts) and
// the form of constants come as functions (Semantics).
//
// After egg (Willsey et al., POPL 2021): hash-consing, union-find, congruence restored in rebuild(), analyses. Unlike
// egg, nodes of commutative ops are stored once and matched both ways round; classes know which ops they hold; and
// rebuild() notes which classes were touched, so that matching looks at those alone.
//
// A node and the class that it founded have the same number. All memory is flat arrays indexed by it (bytes() counts
// them); members of a class, and edges to the users of a class, are rings, which splice in constant time.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "jit/egraph/proof_log.h"
#include "jit/egraph/watch.h"

namespace trident::egraph {

using ClassId = std::uint32_t;  ///< any member's number; find() gives the canonical one
using NodeIndex = std::uint32_t;
inline constexpr std::uint32_t kNone = 0xFFFF'FFFFu;

/// Facts::stage by default.
inline constexpr std::uint8_t kStageOfElements = 1;

inline constexpr std::uint8_t kNoSort = 0xFF;

/// One op. Words of a node's `child` beyond `children` are payload (a constant's bits, a variable's index).
struct OpRow {
  std::string_view text;
  std::uint8_t children = 0;
  bool commutes = false;  ///< in its first two children
  /// The sort of constants among its children; by default that of their siblings. A rule whose left side has such an op
  /// handles values of several sorts, and states them itself.
  std::uint8_t number_sort = kSiblingsSort;
  static constexpr std::uint8_t kSiblingsSort = 0xFF;
  /// The sort of its value where it is fixed; else the sort of that child.
  std::uint8_t sort = kNoSort, sort_child = 0;
};

/// Known facts of a class's value: every value lies in [lo, hi].
struct Facts {
  double lo = -std::numeric_limits<double>::infinity();
  double hi = std::numeric_limits<double>::infinity();
  std::uint32_t variables = 0;  ///< bit v: may depend on variable v; the last bit stands for all from 31 on
  bool may_be_nan : 1 = true;
  bool integral : 1 = false;
  bool nonzero : 1 = false;   ///< known from another source than the interval
  bool constant : 1 = false;  ///< the value is `lo`, exactly; a constant node has been or will be added
  /// The time at which it is known: 0 before all elements are looked at (so it is the same for all), later ones as the
  /// language defines. Equal values take the earliest.
  std::uint8_t stage = kStageOfElements;
  std::uint8_t sort = kNoSort;  ///< of the value, where the language says

  [[nodiscard]] bool finite() const {
    return !may_be_nan && lo > -std::numeric_limits<double>::infinity() && hi < std::numeric_limits<double>::infinity();
  }
  [[nodiscard]] bool is_nonzero() const { return nonzero || lo > 0 || hi < 0; }
};

struct Semantics {
  const void* context = nullptr;
  /// Returns the facts of a node from those of its children (unused ones point to empty Facts).
  Facts (*facts)(const void* context, const ENode& node, const std::array<const Facts*, 3>& children) = nullptr;
  /// Returns the leaf that stands for `value` in a sort.
  ENode (*constant)(const void* context, std::uint8_t sort, double value) = nullptr;
};

struct Limits {
  std::uint32_t nodes_max = 100'000;  ///< all ever added, live or not
  bool explain = false;               ///< keep a log of the reasons of all merges
  bool unions = false;                ///< keep a list of merged classes
};

/// Two classes became one, which is called `kept` from then on.
struct Union {
  ClassId kept = kNone, gone = kNone;
};

class EGraph {
  /// The last two belong to the class that the node founded: the lists of classes below that it is in.
  enum Flag : std::uint16_t { kInTable = 1, kDead = 2, kPruned = 4, kTouched = 8, kTeaching = 16 };

 public:
  /// `ops` and the target of `semantics` must outlive the graph. At most 256 ops.
  EGraph(std::span<const OpRow> ops, const Semantics& semantics, const Limits& limits);

  /// Returns the class of `node` (whose children may be any members of their classes); founds one if there is none.
  /// Returns kNone when the graph is full.
  ClassId add(const ENode& node) { return add(node.op, node.sort, node.child[0], node.child[1], node.child[2]); }
  /// Adds it word by word: a node that was just written to memory byte by byte is slow to read back as one.
  ClassId add(std::uint8_t op, std::uint8_t sort, std::uint32_t a, std::uint32_t b, std::uint32_t c);
  ClassId add_constant(std::uint8_t sort, double value) {
    return add(semantics_.constant(semantics_.context, sort, value));
  }
  /// Returns the sort of a node, derived from its op and its children.
  [[nodiscard]] std::uint8_t sort_of(std::uint8_t op, ClassId a, ClassId b, ClassId c) const {
    const OpRow& row = ops_[op];
    if (row.sort != kNoSort || row.children == 0) return row.sort != kNoSort ? row.sort : 0;
    return nodes_[find(row.sort_child == 0 ? a : row.sort_child == 1 ? b : c)].sort;
  }
  /// Returns the node that the last call of add() found or made.
  [[nodiscard]] NodeIndex last_added() const { return last_added_; }
  /// Returns the class of `node` if the graph has it, else kNone.
  [[nodiscard]] ClassId lookup(const ENode& node) const;
  /// Merges two classes. Returns false if they were known to be equal. Congruence waits for rebuild().
  bool merge(ClassId a, ClassId b) { return merge(a, b, Reason{}); }
  /// Merges them for a reason, which goes into the log and is about `a` and `b`, any members of their classes.
  bool merge(NodeIndex a, NodeIndex b, const Reason& reason);
  /// Restores congruence and facts. Matching needs it.
  void rebuild() {
    Watch endless;
    rebuild(endless);
  }
  /// Rebuilds until `watch` is late, then returns false: the next call does the rest. All equalities that were stated
  /// hold then, but not all that follow from them; terms may be extracted.
  bool rebuild(Watch& watch);

  [[nodiscard]] ClassId find(ClassId id) const {
    for (std::uint32_t up = up_[id]; !(up & kIsClass);) {
      const std::uint32_t further = up_[up];
      if (further & kIsClass) return up;
      up_[id] = further;
      id = further;
      up = up_[id];
    }
    return id;
  }
  [[nodiscard]] const ENode& node(NodeIndex index) const { return nodes_[index]; }
  [[nodiscard]] const OpRow& row(std::uint8_t op) const { return ops_[op]; }
  [[nodiscard]] std::span<const OpRow> ops() const { return ops_; }
  /// Returns the facts of a class; `id` must be canonical here and below.
  [[nodiscard]] const Facts& facts(ClassId id) const { return facts_[id]; }
  [[nodiscard]] std::uint8_t sort(ClassId id) const { return nodes_[id].sort; }
  /// Returns the sorts of all nodes: bit sort mod 64.
  [[nodiscard]] std::uint64_t sorts_held() const { return sorts_held_; }
  /// Returns the ops in the class, and some that were there once: bit op mod 64.
  [[nodiscard]] std::uint64_t ops_held(ClassId id) const { return op_bits_[id]; }

  /// Calls visit(NodeIndex) for the members of a class.
  template <class Visit>
  void each_node(ClassId id, const Visit& visit) const {
    const NodeIndex first = first_of(id);
    NodeIndex n = first;
    do {
      visit(n);
      n = next_[n];
    } while (n != first);
  }
  /// Calls visit(NodeIndex) for the nodes that use a class; a node that uses it twice is visited twice.
  template <class Visit>
  void each_user(ClassId id, const Visit& visit) const {
    const std::uint32_t first = first_edge_[id];
    if (first == kNone) return;
    std::uint32_t e = first;
    do {
      const NodeIndex n = user_of(e);
      if (!(nodes_[n].flags & (kDead | kPruned))) visit(n);
      e = edge_after(e);
    } while (e != first);
  }

  /// Returns the classes that got a member, lost their name or learnt a fact since the last call; canonical, each once.
  std::vector<ClassId> take_touched();

  [[nodiscard]] bool full() const { return nodes_.size() >= limits_.nodes_max; }
  /// Returns how many nodes fit before memory must be moved, which takes time.
  [[nodiscard]] std::size_t spare() const {
    return std::min(nodes_.capacity() - nodes_.size(), table_.size() * 3 / 4 - table_used_);
  }
  /// Returns how many nodes may still be added.
  [[nodiscard]] std::uint32_t room() const { return limits_.nodes_max - std::min(size(), limits_.nodes_max); }
  /// Nodes ever added, which the limit counts; and live ones, which duplicate no other.
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(nodes_.size()); }
  [[nodiscard]] std::uint32_t live() const { return live_; }
  [[nodiscard]] std::uint64_t merges() const { return merges_; }
  /// Returns whether two different constants, or values that cannot meet, were stated to be equal. Then a rule is
  /// wrong, and nothing in the graph may be trusted.
  [[nodiscard]] bool contradiction() const { return contradiction_; }
  [[nodiscard]] std::size_t bytes() const;
  /// Bytes per node that there is room for: room for many is allocated at once.
  [[nodiscard]] double bytes_per_node() const {
    return static_cast<double>(bytes()) / static_cast<double>(std::max<std::size_t>(nodes_.capacity(), 1));
  }
  /// Bytes per node that is no duplicate, at the present share of duplicates.
  [[nodiscard]] double bytes_per_live_node() const { return bytes_per_node() * size() / std::max<double>(live_, 1); }
  /// Merges in the order in which they happened; empty unless Limits::unions.
  [[nodiscard]] std::span<const Union> unions() const { return unions_; }
  /// Returns the log; null unless Limits::explain.
  [[nodiscard]] const ProofLog* proof_log() const { return log_.get(); }

 private:
  /// A node with canonical children, word by word.
  struct Key {
    std::uint8_t op, sort;
    std::uint32_t a, b, c;
  };
  [[nodiscard]] static Key key_of(const ENode& node) {
    return {node.op, node.sort, node.child[0], node.child[1], node.child[2]};
  }
  static constexpr std::uint32_t kIsClass = std::uint32_t{1} << 31;
  /// Third operands are rare: their edges have their own list.
  struct ThirdEdge {
    NodeIndex user;
    std::uint32_t next;
  };
  static constexpr std::uint32_t kIsThird = std::uint32_t{1} << 31;
  [[nodiscard]] NodeIndex user_of(std::uint32_t edge) const {
    return edge & kIsThird ? third_edges_[edge & ~kIsThird].user : edge / 2;
  }
  [[nodiscard]] std::uint32_t edge_after(std::uint32_t edge) const {
    return edge & kIsThird ? third_edges_[edge & ~kIsThird].next : next_edge_[edge];
  }
  [[nodiscard]] std::uint32_t& edge_after(std::uint32_t edge) {
    return edge & kIsThird ? third_edges_[edge & ~kIsThird].next : next_edge_[edge];
  }
  /// Returns a member of a canonical class, which always has one.
  [[nodiscard]] NodeIndex first_of(ClassId id) const { return up_[id] & ~kIsClass; }
  void canonicalise(Key& key) const;
  [[nodiscard]] static std::uint64_t hash(const Key& key);
  [[nodiscard]] static bool same(const ENode& node, const Key& key);
  [[nodiscard]] std::uint32_t slot_of(const Key& key) const;
  ClassId found(const Key& key, std::uint32_t slot);
  void insert(NodeIndex n, std::uint32_t slot);
  void erase(NodeIndex n);
  void grow_table();
  void touch(ClassId id);
  void teach(ClassId id);
  [[nodiscard]] Facts facts_of(const ENode& node) const;
  bool meet(ClassId id, const Facts& facts);
  void repair_node(NodeIndex n);
  void bury(ClassId id);
  void note_constant(ClassId id);
  void prune(ClassId id);

  std::span<const OpRow> ops_;
  Semantics semantics_;
  Limits limits_;

  std::vector<ENode> nodes_;
  /// Union-find. For a canonical class: a member, with kIsClass. For another: a class that it was merged into.
  mutable std::vector<std::uint32_t> up_;
  std::vector<NodeIndex> next_;  ///< ring of members
  std::vector<std::uint32_t> first_edge_;
  /// Rings of edges to a class: edge 2 * node + position, and kIsThird + place in the second list.
  std::vector<std::uint32_t> next_edge_;
  std::vector<ThirdEdge> third_edges_;
  std::vector<std::uint64_t> op_bits_;
  std::vector<Facts> facts_;
  std::vector<std::uint32_t> table_;  ///< open addressing, linear probing: node or kNone

  std::vector<NodeIndex> stale_nodes_;  ///< a child was renamed
  std::vector<NodeIndex> dead_;         ///< duplicates that are still members
  std::deque<ClassId> stale_facts_;     ///< users must learn
  std::vector<ClassId> new_constants_;
  std::vector<ClassId> touched_;
  std::vector<Union> unions_;
  std::unique_ptr<ProofLog> log_;
  NodeIndex last_added_ = kNone;
  std::uint64_t sorts_held_ = 0;
  std::uint32_t live_ = 0, table_used_ = 0;
  std::uint64_t merges_ = 0;
  bool contradiction_ = false;
};

}  // namespace trident::egraph
