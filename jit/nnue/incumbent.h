// The accumulator of the incumbent extraction T: the nodes reachable from the roots if every class has one chosen node.
//
//   accumulator(T) = bias + sum over v in T of h(v),   h(v) = rows of v's features (features.h)
//
// A change of one class's choice, or a union of two classes, redirects the references of one node to another. Then
//   - nodes that lose their last reference leave, and take their h with them;
//   - nodes that get their first come in with theirs;
//   - of the survivors only those that reach the place within `depth` steps change, by the difference of the two cones;
//   - and a node whose number of references changed may have another feature for it.
// So the work depends on the size of the change, not on that of T or of the graph; if a node is shared so widely
// that the work exceeds half a rebuild, the accumulator is rebuilt. Changing one way and back, or in another
// order, ends with the same bits (runtime/nn/accumulator/accumulator.h).
//
// h of a leaving node is kept as long as its cone stays the same, so that it costs one vector when it comes back
// (Stockfish's Finny table). A node that enters for the first time adds its rows; its vector is made when it leaves.
//
// Knows classes only by number and nodes only by kind and children. A class's record has the class's
// number, behind a few records for nodes that are not in the graph (Overlay).
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "jit/nnue/features.h"
#include "runtime/nn/accumulator/accumulator.h"

namespace trident::nnue {

using egraph::ClassId;

/// Most nodes of an overlay. overlay_child() refers to overlay node number `at` of the same overlay.
inline constexpr std::uint32_t kOverlayMax = 16;
constexpr std::uint32_t overlay_child(std::uint32_t at) {
  return 0xFFFF'FFE0u + at;
}

/// The node chosen for a class, as features see it. Children are classes of an e-graph, by any of their numbers.
struct Choice {
  std::uint8_t kind = 0, arity = 0;
  std::array<std::uint32_t, 3> child{};
  friend bool operator==(const Choice&, const Choice&) = default;
};

/// Nodes that a rewrite would make: its right side, and the nodes from T down to it. Children precede their users;
/// those that are not classes are overlay_child().
struct Overlay {
  std::array<Choice, kOverlayMax> nodes;
  std::uint32_t count = 0;
};

/// Change by a candidate: rows of the accumulator, nodes of T, and the classes it depends on.
struct Delta {
  nn::NodeVector vector;
  std::int32_t nodes_gained = 0;
  std::uint32_t features = 0;  ///< upper bound of the features gained and lost
  bool fits = false;           ///< false: too large for `vector`, or more work than half a rebuild
  /// Classes that must not be touched() later for the delta to hold; with more than kDependsMax any change ends it.
  static constexpr std::size_t kDependsMax = 44;
  std::uint32_t depends_count = 0;
  std::array<ClassId, kDependsMax> depends;
  std::uint32_t built = 0;  ///< Incumbent::clock() at that time
};

class Incumbent {
 public:
  /// Starts empty. `weights` must outlive it and be for features to `depth`, which is 1 to kDepthMax.
  explicit Incumbent(const nn::AccumulatorWeights& weights, unsigned depth = kDefaultDepth);

  /// Forgets everything; keeps its memory.
  void clear();
  /// Sets the choice of a class, whose children need choices before it enters T. In T this moves the accumulator: the
  /// choices must have no cycle, then and in between (of several changes those of children come first).
  void choose(ClassId id, const Choice& choice);
  /// Adds a root; may be one already.
  void add_root(ClassId id);
  /// Merges `from` into `to`, which keeps its choice and must not reach `from`. If the choice of `to` is unknown, it
  /// gets that of `from`.
  void unite(ClassId from, ClassId to);

  /// Computes the accumulator's change if every reference to `from`, which is in T, went to class `to`, or to the last
  /// node of `overlay`; references of the overlay itself to `from` stay. Changes only scratch memory.
  void delta_of(ClassId from, ClassId to, Delta& out);
  void delta_of(ClassId from, const Overlay& overlay, Delta& out);

  [[nodiscard]] const nn::Accumulator& accumulator() const { return accumulator_; }
  [[nodiscard]] const nn::AccumulatorWeights& weights() const { return weights_; }
  [[nodiscard]] unsigned depth() const { return depth_; }
  /// Returns the nodes of T; features() counts the features of all of them.
  [[nodiscard]] std::uint32_t nodes() const { return nodes_; }
  [[nodiscard]] std::uint64_t features() const { return features_; }
  /// Returns the class that `id` was united with, in the end.
  [[nodiscard]] ClassId find(ClassId id) const;
  [[nodiscard]] bool knows(ClassId id) const;
  /// True if the class is in T; references() counts its references there.
  [[nodiscard]] bool holds(ClassId id) const { return references(id) > 0; }
  [[nodiscard]] std::uint32_t references(ClassId id) const;
  [[nodiscard]] Choice choice(ClassId id) const;
  /// Rises with every change of a choice; touched() is the last such time at which something changed near a class.
  [[nodiscard]] std::uint32_t clock() const { return clock_; }
  [[nodiscard]] std::uint32_t touched(ClassId id) const;
  /// True if computing the delta anew would give the same.
  [[nodiscard]] bool holds(const Delta& delta) const;
  /// Counts changes of T so far; rebuilds() those that were rebuilds.
  [[nodiscard]] std::uint64_t moves() const { return moves_; }
  [[nodiscard]] std::uint64_t rebuilds() const { return rebuilds_; }

  /// Returns the accumulator computed from nothing, without any kept vector.
  [[nodiscard]] nn::Accumulator rebuilt();

 private:
  using Index = std::uint32_t;  ///< number of a record
  enum Flag : std::uint8_t { kKnown = 1, kUnited = 2, kVectorHolds = 4 };
  static constexpr std::uint32_t kNoEdge = 0xFFFF'FFFFu;
  static constexpr std::uint32_t kNoVector = 0xFFFF'FFFFu;
  static constexpr Index kNowhere = 0xFFFF'FFFFu;

  /// One class. Edges of T are numbered 4 * record + slot; those that lead to one record are a list.
  struct Record {
    std::uint8_t kind = 0, arity = 0, flags = 0, vector_rows = 0;
    std::array<Index, 3> child{};  ///< classes that may have been united since, unless in T
    std::uint32_t references = 0;
    std::uint32_t first_edge = kNoEdge;
    std::array<std::uint32_t, 3> next{}, previous{};
    std::uint32_t changed = 0;  ///< clock of its own choice's last change
    std::uint32_t touched = 0;
    std::uint32_t vector = kNoVector;
    std::uint32_t held = 0;  ///< outside T: last clock at which the vector was known to hold
  };
  static_assert(sizeof(Record) == 64);

  /// Nodes below a node, by path.
  struct Cone {
    std::uint32_t count = 0;
    std::uint32_t changed = 0;  ///< clock of its last change by a choice or a union
    bool redirected = false;
    std::array<std::uint8_t, kPaths> code;  ///< per entry, ascending
    std::array<std::uint8_t, kPaths> kind;
    std::array<Index, kPaths> record;
    std::array<std::uint8_t, kPaths> at;  ///< per code: the kind, or kNothing
  };
  static constexpr std::uint8_t kNothing = 0xFF;
  /// A node above, and the path from it.
  struct Above {
    Index record;
    std::uint8_t length, offset;  ///< code = kFirstCode[length] + offset
  };
  struct References {
    std::uint32_t stamp = 0, before = 0, now = 0;
  };
  /// Entries of one of two cones that the other lacks.
  struct Differences {
    struct Path {
      std::uint8_t length, offset, kind;
    };
    std::array<Path, kPaths> path;                     ///< ascending
    std::array<std::uint32_t, kDepthMax + 1> up_to{};  ///< per length, the number of paths that are no longer
  };

  [[nodiscard]] Index resolve(Index i) const {
    while (records_[i].flags & kUnited) i = records_[i].child[0];
    return i;
  }
  [[nodiscard]] const Record* record_of(ClassId id) const;
  void make_room(std::uint32_t classes);
  void make_room_for(ClassId id, const Choice& choice);
  void store(Index i, const Choice& choice);
  void link(Index user, std::uint32_t slot);
  void unlink(Index user, std::uint32_t slot);
  void redirect_users(Index from, Index to);

  void walk(Index top, Cone& cone, Index from = kNowhere, Index to = kNowhere) const;
  static void compare(const Cone& a, const Cone& b, Differences& out);
  void find_above(Index top);
  void move_difference(const Above& a);

  void begin();
  References& look_at(Index i);
  void gain(Index i, std::uint32_t references, Index from, Index to);
  void gain_below(Index from, Index to);
  void lose(Index i, bool keep_vectors);
  void lose_below(bool keep_vectors);
  void move_reference_features();
  void work_out(Index from, Index to, bool keep_vectors);
  void add_rows(const Cone& cone, bool plus);
  void keep_vector(Index i, const Cone& cone);
  void drop_vector(Index i);

  void move_accumulator();
  void settle(Index from);
  void touch_near(Index from);
  void finish_delta(Delta& out);
  void accumulate_all(nn::Accumulator& sum, bool keep_vectors, std::uint64_t& features, std::uint32_t& nodes);

  const nn::AccumulatorWeights& weights_;
  unsigned depth_;
  nn::Accumulator accumulator_;
  std::uint32_t nodes_ = 0;
  std::uint64_t features_ = 0;
  std::uint32_t clock_ = 0, all_touched_ = 0;
  std::uint64_t rebuilds_ = 0, moves_ = 0;
  std::vector<Record> records_;
  std::vector<References> references_;  ///< per record: scratch
  std::uint32_t used_ = 0;              ///< records in use
  std::vector<Index> roots_;
  std::deque<nn::NodeVector> vectors_;  ///< a deque, so that they keep their addresses
  std::vector<std::uint32_t> free_vectors_;

  // State of the change in progress.
  std::uint32_t stamp_ = 0;
  nn::Movement movement_;
  Cone old_cone_, new_cone_, cone_;
  std::vector<Above> above_;
  Differences lost_, gained_;
  std::vector<Index> looked_at_, coming_, going_;
  std::vector<std::uint32_t> rows_;
  bool above_cut_ = false;  ///< not all nodes above were looked at
  bool too_much_ = false;   ///< a rebuild is less work
};

}  // namespace trident::nnue
