#include "jit/nnue/incumbent.h"

#include <algorithm>
#include <numeric>

#include "runtime/base/check.h"

namespace trident::nnue {
namespace {

constexpr std::array<std::uint32_t, kDepthMax + 1> kPowerOf3 = {1, 3, 9, 27, 81};
// Memory reserved at first: as much as most searches fill.
constexpr std::uint32_t kReserveClasses = 4096, kReserveVectors = 512;
// Rows per pass over a vector: int16 holds their sum.
constexpr std::size_t kRowsPerPass = 128;
static_assert(kRowsPerPass + kPaths + 1 <= simd::kRowsMax);

}  // namespace

Incumbent::Incumbent(const nn::AccumulatorWeights& weights, unsigned depth)
    : weights_(weights), depth_(depth), accumulator_(weights.bias()), movement_(weights) {
  CHECK(depth >= 1 && depth <= kDepthMax);
  CHECK(weights.features() == kFeatures);
  make_room(kReserveClasses);
  vectors_.resize(kReserveVectors);
  for (std::uint32_t v = kReserveVectors; v-- > 0;) free_vectors_.push_back(v);
}

void Incumbent::clear() {
  std::fill_n(records_.begin(), used_, Record{});
  std::fill_n(references_.begin(), used_, References{});
  used_ = 0;
  free_vectors_.clear();
  for (auto v = static_cast<std::uint32_t>(vectors_.size()); v-- > 0;) free_vectors_.push_back(v);
  roots_.clear();
  accumulator_ = weights_.bias();
  nodes_ = 0, features_ = 0, clock_ = 0, all_touched_ = 0, rebuilds_ = 0, moves_ = 0, stamp_ = 0;
}

// --- records ---

void Incumbent::make_room(std::uint32_t classes) {
  used_ = std::max(used_, classes + kOverlayMax);
  if (records_.size() >= std::size_t{classes} + kOverlayMax) return;
  const std::size_t size = std::max<std::size_t>(std::size_t{classes} + kOverlayMax, records_.size() * 2);
  records_.resize(size);
  references_.resize(size);
}

void Incumbent::make_room_for(ClassId id, const Choice& choice) {
  std::uint32_t most = id;
  for (std::uint8_t s = 0; s < choice.arity; ++s) most = std::max(most, choice.child[s]);
  make_room(most + 1);
}

// Stores a choice; the caller updates references and lists of edges.
void Incumbent::store(Index i, const Choice& choice) {
  CHECK(choice.kind < kKinds && choice.arity <= 3);
  Record& r = records_[i];
  r.kind = choice.kind, r.arity = choice.arity;
  r.flags = kKnown;
  for (std::uint8_t s = 0; s < choice.arity; ++s) {
    const std::uint32_t child = choice.child[s];
    r.child[s] = child >= overlay_child(0) ? child - overlay_child(0) : child + kOverlayMax;
  }
}

const Incumbent::Record* Incumbent::record_of(ClassId id) const {
  return id < records_.size() - kOverlayMax ? &records_[resolve(id + kOverlayMax)] : nullptr;
}

ClassId Incumbent::find(ClassId id) const {
  return id < records_.size() - kOverlayMax ? resolve(id + kOverlayMax) - kOverlayMax : id;
}

bool Incumbent::knows(ClassId id) const {
  const Record* r = record_of(id);
  return r != nullptr && (r->flags & kKnown);
}

std::uint32_t Incumbent::references(ClassId id) const {
  const Record* r = record_of(id);
  return r != nullptr ? r->references : 0;
}

std::uint32_t Incumbent::touched(ClassId id) const {
  const Record* r = record_of(id);
  return r != nullptr ? std::max(r->touched, all_touched_) : all_touched_;
}

Choice Incumbent::choice(ClassId id) const {
  const Record* r = record_of(id);
  CHECK(r != nullptr && (r->flags & kKnown));
  Choice c{r->kind, r->arity, {}};
  for (std::uint8_t s = 0; s < r->arity; ++s) c.child[s] = resolve(r->child[s]) - kOverlayMax;
  return c;
}

void Incumbent::link(Index user, std::uint32_t slot) {
  const std::uint32_t edge = 4 * user + slot;
  Record& u = records_[user];
  Record& child = records_[u.child[slot]];
  u.previous[slot] = kNoEdge;
  u.next[slot] = child.first_edge;
  if (child.first_edge != kNoEdge) records_[child.first_edge / 4].previous[child.first_edge % 4] = edge;
  child.first_edge = edge;
}

void Incumbent::unlink(Index user, std::uint32_t slot) {
  const Record& u = records_[user];
  const std::uint32_t next = u.next[slot], previous = u.previous[slot];
  if (next != kNoEdge) records_[next / 4].previous[next % 4] = previous;
  if (previous != kNoEdge)
    records_[previous / 4].next[previous % 4] = next;
  else
    records_[u.child[slot]].first_edge = next;
}

void Incumbent::redirect_users(Index from, Index to) {
  for (std::uint32_t e = records_[from].first_edge; e != kNoEdge;) {
    const std::uint32_t next = records_[e / 4].next[e % 4];
    records_[e / 4].child[e % 4] = to;
    records_[e / 4].changed = clock_;  // what is out of T and has it below cannot see the union otherwise
    link(e / 4, e % 4);
    e = next;
  }
  records_[from].first_edge = kNoEdge;
  std::replace(roots_.begin(), roots_.end(), from, to);
}

// --- cones, and nodes above ---

// Walks the cone, with all references to `from` redirected to `to`, except those of the overlay's nodes.
void Incumbent::walk(Index top, Cone& cone, Index from, Index to) const {
  std::fill_n(cone.at.begin(), kFirstCode[depth_ + 1], kNothing);
  cone.count = 1;
  cone.changed = 0;
  cone.redirected = false;
  cone.code[0] = 0;
  cone.record[0] = top;
  cone.kind[0] = cone.at[0] = records_[top].kind;
  for (std::uint32_t i = 0; i < cone.count; ++i) {
    const Record& r = records_[cone.record[i]];
    cone.changed = std::max(cone.changed, r.changed);
    if (cone.code[i] >= kFirstCode[depth_]) continue;
    for (std::uint32_t s = 0; s < r.arity; ++s) {
      Index child = r.child[s];
      while (records_[child].flags & kUnited) {
        cone.changed = std::max(cone.changed, records_[child].changed);
        child = records_[child].child[0];
      }
      if (child == from && cone.record[i] >= kOverlayMax) {
        child = to;
        cone.redirected = true;
      }
      const std::uint32_t code = code_of_child(cone.code[i], s);
      cone.code[cone.count] = static_cast<std::uint8_t>(code);
      cone.record[cone.count] = child;
      cone.kind[cone.count] = cone.at[code] = records_[child].kind;
      ++cone.count;
    }
  }
}

// Compares without branches on a difference, as no processor predicts them.
void Incumbent::compare(const Cone& a, const Cone& b, Differences& out) {
  std::array<std::uint32_t, kDepthMax + 1> of_length{};
  std::uint32_t count = 0;
  for (std::uint32_t i = 0; i < a.count; ++i) {
    const std::uint8_t code = a.code[i], length = kLengthOf[code];
    const bool differs = a.kind[i] != b.at[code];
    out.path[count] = {length, static_cast<std::uint8_t>(code - kFirstCode[length]), a.kind[i]};
    count += differs;
    of_length[length] += differs;
  }
  std::partial_sum(of_length.begin(), of_length.end(), out.up_to.begin());
}

void Incumbent::find_above(Index top) {
  above_.clear();
  above_.push_back({top, 0, 0});
  std::size_t work = 0;
  for (std::size_t i = 0; i < above_.size(); ++i) {
    const Above a = above_[i];
    if (a.length == depth_) break;
    const auto length = static_cast<std::uint8_t>(a.length + 1);
    const std::size_t each = lost_.up_to[depth_ - length] + gained_.up_to[depth_ - length] + 1;
    for (std::uint32_t e = records_[a.record].first_edge; e != kNoEdge; e = records_[e / 4].next[e % 4]) {
      above_.push_back({e / 4, length, static_cast<std::uint8_t>(e % 4 * kPowerOf3[a.length] + a.offset)});
      work += each;
      if (2 * work > features_) {
        too_much_ = above_cut_ = true;
        return;
      }
    }
  }
}

// Moves the difference of the cones for a node that stays and has the place below it.
void Incumbent::move_difference(const Above& a) {
  const std::uint32_t above = feature(records_[a.record].kind, 0, kFirstCode[a.length]), room = depth_ - a.length;
  const auto feature_of = [&](const Differences& d) {
    return [&](std::size_t j) {
      const Differences::Path& p = d.path[j];
      const std::uint32_t longer = kFirstCode[a.length + p.length] - kFirstCode[a.length];
      return above + feature(0, p.kind, longer + a.offset * kPowerOf3[p.length] + p.offset);
    };
  };
  movement_.take_all(lost_.up_to[room], feature_of(lost_));
  movement_.add_all(gained_.up_to[room], feature_of(gained_));
}

// --- nodes that enter and leave ---

void Incumbent::begin() {
  ++stamp_;
  movement_.clear();
  above_.clear();
  looked_at_.clear(), coming_.clear(), going_.clear();
  old_cone_.count = new_cone_.count = 0;
  too_much_ = above_cut_ = false;
}

Incumbent::References& Incumbent::look_at(Index i) {
  References& r = references_[i];
  if (r.stamp != stamp_) {
    r = {stamp_, records_[i].references, records_[i].references};
    looked_at_.push_back(i);
  }
  return r;
}

void Incumbent::add_rows(const Cone& cone, bool plus) {
  const std::uint32_t above = feature(cone.kind[0], 0, 0);
  const auto feature_of = [&](std::size_t i) { return above + feature(0, cone.kind[i], cone.code[i]); };
  if (plus)
    movement_.add_all(cone.count, feature_of);
  else
    movement_.take_all(cone.count, feature_of);
}

void Incumbent::keep_vector(Index i, const Cone& cone) {
  Record& r = records_[i];
  if (r.vector == kNoVector) {
    if (free_vectors_.empty()) {
      free_vectors_.push_back(static_cast<std::uint32_t>(vectors_.size()));
      vectors_.emplace_back();
    }
    r.vector = free_vectors_.back();
    free_vectors_.pop_back();
  }
  rows_.clear();
  for (std::uint32_t n = 0; n < cone.count; ++n) {
    rows_.push_back(weights_.row(feature(cone.kind[0], cone.kind[n], cone.code[n])));
    weights_.prefetch(rows_.back());
  }
  simd::Terms terms{.rows = weights_.rows(), .plus = rows_.data()};
  terms.plus_count = rows_.size();
  simd::kernels().sum(vectors_[r.vector], terms);
  r.vector_rows = static_cast<std::uint8_t>(cone.count);
  r.flags |= kVectorHolds;
}

void Incumbent::drop_vector(Index i) {
  Record& r = records_[i];
  if (r.vector != kNoVector) free_vectors_.push_back(r.vector);
  r.vector = kNoVector;
  r.flags &= static_cast<std::uint8_t>(~kVectorHolds);
}

void Incumbent::gain(Index i, std::uint32_t references, Index from, Index to) {
  References& r = look_at(i);
  const bool comes = r.before == 0 && r.now == 0;
  r.now += references;
  if (!comes) return;
  CHECK(records_[i].flags & kKnown);  // a class without a known choice
  coming_.push_back(i);
  if (i == to && to < kOverlayMax) return;  // its rows: work_out()
  const bool walked = new_cone_.count > 0 && i == to;
  if (!walked) walk(i, cone_, from, to);
  const Cone& cone = walked ? new_cone_ : cone_;
  Record& record = records_[i];
  if ((record.flags & kVectorHolds) && cone.changed <= record.held && !cone.redirected) {
    movement_.add(vectors_[record.vector], cone.count);
    return;
  }
  record.flags &= static_cast<std::uint8_t>(~kVectorHolds);
  add_rows(cone, true);
}

void Incumbent::gain_below(Index from, Index to) {
  for (std::size_t n = 0; n < coming_.size(); ++n) {
    const Index i = coming_[n];
    for (std::uint32_t s = 0; s < records_[i].arity; ++s) {
      Index child = resolve(records_[i].child[s]);
      if (child == from && i >= kOverlayMax) child = to;
      gain(child, 1, from, to);
    }
  }
}

void Incumbent::lose(Index i, bool keep_vectors) {
  going_.push_back(i);
  const Record& r = records_[i];
  if (!(r.flags & kVectorHolds)) {
    walk(i, cone_);
    if (!keep_vectors) {
      add_rows(cone_, false);
      return;
    }
    keep_vector(i, cone_);
  }
  movement_.take(vectors_[r.vector], r.vector_rows);
}

void Incumbent::lose_below(bool keep_vectors) {
  for (std::size_t n = 0; n < going_.size(); ++n) {
    const Index i = going_[n];
    for (std::uint32_t s = 0; s < records_[i].arity; ++s) {
      const Index child = records_[i].child[s];
      if (--look_at(child).now == 0) lose(child, keep_vectors);
    }
  }
}

void Incumbent::move_reference_features() {
  for (const Index i : looked_at_) {
    const References& r = references_[i];
    const std::uint32_t kind = records_[i].kind, before = code_of_references(r.before), now = code_of_references(r.now);
    if (before == now) continue;
    if (before != 0) movement_.take(feature(kind, kind, before));
    if (now != 0) movement_.add(feature(kind, kind, now));
  }
}

// Computes the changes when all references to `from`, which is in T, go to `to`. Entering nodes are handled before
// leaving ones, so that nodes that stay are not looked at twice.
void Incumbent::work_out(Index from, Index to, bool keep_vectors) {
  begin();
  walk(from, old_cone_);
  walk(to, new_cone_, from, to);
  compare(old_cone_, new_cone_, lost_);
  compare(new_cone_, old_cone_, gained_);
  find_above(from);
  for (std::size_t i = 1; i < above_.size() && !too_much_; ++i) move_difference(above_[i]);
  References& r = look_at(from);
  const std::uint32_t references = r.now;
  r.now = 0;
  gain(to, references, from, to);
  gain_below(from, to);
  const bool goes = references_[from].now == 0;
  const bool holds = records_[from].flags & kVectorHolds;
  if (to < kOverlayMax && goes && !holds && old_cone_.kind[0] == new_cone_.kind[0]) {
    move_difference({from, 0, 0});  // one node replaces another of the same kind
  } else {
    if (to < kOverlayMax) add_rows(new_cone_, true);
    if (goes && holds) movement_.take(vectors_[records_[from].vector], records_[from].vector_rows);
    if (goes && !holds) add_rows(old_cone_, false);
  }
  if (goes) {
    going_.push_back(from);
    lose_below(keep_vectors);
  }
  move_reference_features();
}

// --- interface ---

void Incumbent::choose(ClassId id, const Choice& choice) {
  make_room_for(id, choice);
  const Index i = resolve(id + kOverlayMax);
  Record& r = records_[i];
  if ((r.flags & kKnown) && this->choice(id) == choice) return;
  ++clock_;
  if (r.references == 0) {
    store(i, choice);
    r.changed = r.touched = clock_;
    return;
  }
  constexpr Index kTo = 0;  // the overlay's first node
  store(kTo, choice);
  for (std::uint32_t s = 0; s < choice.arity; ++s) records_[kTo].child[s] = resolve(records_[kTo].child[s]);
  work_out(i, kTo, true);
  CHECK(references_[i].now == 0);  // the choice must not need itself
  touch_near(i);
  move_accumulator();

  for (std::uint32_t s = 0; s < r.arity; ++s) unlink(i, s);
  r.kind = records_[kTo].kind, r.arity = records_[kTo].arity, r.child = records_[kTo].child;
  for (std::uint32_t s = 0; s < r.arity; ++s) link(i, s);
  references_[i].now = references_[kTo].now;
  r.flags = kKnown;
  r.changed = clock_;
  settle(i);
}

void Incumbent::add_root(ClassId id) {
  make_room(id + 1);
  const Index i = resolve(id + kOverlayMax);
  ++clock_;
  begin();
  gain(i, 1, kNowhere, kNowhere);
  gain_below(kNowhere, kNowhere);
  move_reference_features();
  touch_near(i);
  move_accumulator();
  roots_.push_back(i);
  settle(kNowhere);
}

void Incumbent::unite(ClassId from_class, ClassId to_class) {
  make_room(std::max(from_class, to_class) + 1);
  const Index from = resolve(from_class + kOverlayMax), to = resolve(to_class + kOverlayMax);
  if (from == to) return;
  ++clock_;
  if (!(records_[to].flags & kKnown) && (records_[from].flags & kKnown)) {
    Record& t = records_[to];
    t.kind = records_[from].kind, t.arity = records_[from].arity, t.child = records_[from].child;
    t.flags = kKnown;
    t.changed = clock_;
  }
  if (records_[from].references > 0) {
    work_out(from, to, true);
    CHECK(references_[from].now == 0);
    touch_near(from);
    move_accumulator();
    redirect_users(from, to);
    settle(kNowhere);
  }
  drop_vector(from);
  records_[from].flags = kUnited;
  records_[from].child[0] = to;
  records_[from].changed = clock_;
  records_[to].touched = records_[from].touched = clock_;
}

// Applies the computed change to the accumulator while T is still the old one.
void Incumbent::move_accumulator() {
  ++moves_;
  too_much_ = too_much_ || 2 * movement_.passes() > features_;
  if (too_much_) return;
  movement_.apply(accumulator_);
  features_ = static_cast<std::uint64_t>(static_cast<std::int64_t>(features_) + movement_.rows_gained());
  nodes_ += static_cast<std::uint32_t>(coming_.size()) - static_cast<std::uint32_t>(going_.size());
}

// Applies the computed change to T, but for the edges of `instead` and those to the redirected node.
void Incumbent::settle(Index instead) {
  for (const Index i : coming_) {
    if (i < kOverlayMax) continue;
    Record& r = records_[i];
    for (std::uint32_t s = 0; s < r.arity; ++s) {
      const Index child = resolve(r.child[s]);
      if (child != r.child[s]) r.changed = clock_;
      r.child[s] = child;
      link(i, s);
    }
  }
  for (const Index i : going_) {
    if (i == instead) continue;
    for (std::uint32_t s = 0; s < records_[i].arity; ++s) unlink(i, s);
    records_[i].held = clock_;
  }
  for (const Index i : looked_at_)
    if (i >= kOverlayMax) records_[i].references = references_[i].now;
  for (std::size_t i = 1; i < above_.size(); ++i)
    records_[above_[i].record].flags &= static_cast<std::uint8_t>(~kVectorHolds);
  if (!too_much_) return;
  ++rebuilds_;
  accumulate_all(accumulator_, !above_cut_, features_, nodes_);
}

// Marks all records whose cone, choice or references change.
void Incumbent::touch_near(Index from) {
  if (above_cut_) all_touched_ = clock_;
  records_[from].touched = clock_;
  for (const Above& a : above_) records_[a.record].touched = clock_;
  for (const Index i : looked_at_) records_[i].touched = clock_;
}

void Incumbent::delta_of(ClassId from, ClassId to, Delta& out) {
  make_room(std::max(from, to) + 1);
  const Index f = resolve(from + kOverlayMax), t = resolve(to + kOverlayMax);
  CHECK(records_[f].references > 0);
  if (f == t)
    begin();
  else
    work_out(f, t, false);
  finish_delta(out);
}

void Incumbent::delta_of(ClassId from, const Overlay& overlay, Delta& out) {
  CHECK(overlay.count >= 1 && overlay.count <= kOverlayMax);
  make_room(from + 1);
  for (std::uint32_t n = 0; n < overlay.count; ++n) {
    for (std::uint8_t s = 0; s < overlay.nodes[n].arity; ++s)
      if (overlay.nodes[n].child[s] < overlay_child(0)) make_room(overlay.nodes[n].child[s] + 1);
    store(n, overlay.nodes[n]);
  }
  const Index f = resolve(from + kOverlayMax);
  CHECK(records_[f].references > 0);
  work_out(f, overlay.count - 1, false);
  finish_delta(out);
}

void Incumbent::finish_delta(Delta& out) {
  out.nodes_gained = static_cast<std::int32_t>(coming_.size()) - static_cast<std::int32_t>(going_.size());
  out.features = static_cast<std::uint32_t>(movement_.rows());
  out.fits = !too_much_ && movement_.sum(out.vector);
  out.depends_count = 0;
  const auto depend = [&](Index i) {
    if (i < kOverlayMax) return;
    if (out.depends_count < Delta::kDependsMax) out.depends[out.depends_count] = i - kOverlayMax;
    ++out.depends_count;
  };
  // A new way to the place shows in the references of some node above it.
  for (const Above& a : above_) depend(a.record);
  for (const Index i : looked_at_) depend(i);
  out.built = clock_;
}

bool Incumbent::holds(const Delta& delta) const {
  if (delta.built == clock_) return true;
  if (delta.depends_count > Delta::kDependsMax) return false;
  for (std::uint32_t i = 0; i < delta.depends_count; ++i)
    if (touched(delta.depends[i]) > delta.built) return false;
  return true;
}

// --- rebuilding ---

void Incumbent::accumulate_all(nn::Accumulator& sum, bool keep_vectors, std::uint64_t& features, std::uint32_t& nodes) {
  sum = weights_.bias();
  begin();
  features = 0;
  nodes = 0;
  coming_ = roots_;  // used as a stack
  while (!coming_.empty()) {
    const Index i = coming_.back();
    coming_.pop_back();
    if (references_[i].stamp == stamp_) continue;
    references_[i].stamp = stamp_;
    Record& r = records_[i];
    if (!keep_vectors) r.flags &= static_cast<std::uint8_t>(~kVectorHolds);
    walk(i, cone_);
    add_rows(cone_, true);
    if (const std::uint32_t code = code_of_references(r.references); code != 0)
      movement_.add(feature(r.kind, r.kind, code));
    ++nodes;
    for (std::uint32_t s = 0; s < r.arity; ++s) coming_.push_back(r.child[s]);
    if (movement_.rows() < kRowsPerPass) continue;
    features += movement_.rows();
    movement_.apply(sum);
    movement_.clear();
  }
  features += movement_.rows();
  movement_.apply(sum);
}

nn::Accumulator Incumbent::rebuilt() {
  nn::Accumulator sum;
  std::uint64_t features = 0;
  std::uint32_t nodes = 0;
  accumulate_all(sum, true, features, nodes);
  return sum;
}

}  // namespace trident::nnue
