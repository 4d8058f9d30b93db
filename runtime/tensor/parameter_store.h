// The parameters of a model as ONE flat vector with named slices, so that optimisers, averaging, hashing and files need
// know nothing of layers; and tables of rows, which are too large for that and of which a step touches few.
//
//   ParameterStore   [ w1 ....... | b1 .. | w2 ... | ]     slices start at 64-byte boundaries, padding is zero
//   RowTable         row i: [ weight | m | v ]             one row's state is contiguous: one step, one stretch of
//   memory
//
// Memory is reserved once, so slices never move while more are declared.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/os/memfd.h"
#include "runtime/tensor/shape.h"

namespace trident::tensor {

/// The role of a slice for the optimiser: weights decay, biases do not, statistics follow
/// running := running - rate * slope (see autodiff/batch_norm.h) and are no part of norms.
enum class SliceKind : std::uint8_t { weight, bias, statistic };

struct Slice {
  std::string name;
  Shape shape;
  std::size_t offset;  ///< elements from the start of the flat vector
  SliceKind kind;
};

/// First values. Uniform only: no logarithm or cosine of a library in the weights.
enum class Initialiser : std::uint8_t {
  zeros,
  ones,
  he_uniform,      ///< +- sqrt(6 / fan_in): before relu
  xavier_uniform,  ///< +- sqrt(6 / (fan_in + fan_out))
};

/// Rows of an embedding. `planes` is what each row holds besides alignment: 1 the weight alone, 2 with Adagrad's sum of
/// squares, 3 with Adam's m and v.
template <class Real>
class RowTable {
 public:
  RowTable(std::string name, std::size_t rows, std::size_t width, std::size_t planes);
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] std::size_t width() const { return width_; }
  [[nodiscard]] std::size_t planes() const { return planes_; }
  /// Elements from one plane, one row to the next.
  [[nodiscard]] std::size_t plane_stride() const { return plane_stride_; }
  [[nodiscard]] std::size_t row_stride() const { return plane_stride_ * planes_; }
  Real* row(std::size_t i) { return base() + i * row_stride(); }
  [[nodiscard]] const Real* row(std::size_t i) const { return base() + i * row_stride(); }
  [[nodiscard]] Real* base() const { return static_cast<Real*>(memory_.base()); }
  /// How many updates each row has had: its own bias correction.
  [[nodiscard]] std::span<std::uint32_t> updates() const {
    return {static_cast<std::uint32_t*>(updates_memory_.base()), rows_};
  }
  /// Weights uniform in +- bound, by seed, name, row and column.
  void initialise(std::uint64_t seed, Real bound);

 private:
  std::string name_;
  std::size_t rows_, width_, planes_, plane_stride_;
  os::Mapping memory_, updates_memory_;
};

template <class Real>
class ParameterStore {
 public:
  /// `seed`: of all first values. At most `elements_max` elements may be declared.
  explicit ParameterStore(std::uint64_t seed, std::size_t elements_max = std::size_t{1} << 26);

  /// The index of slice `name`, declared and initialised if it is not there yet. The same name with another shape is a
  /// bug. `fan_in` and `fan_out` are for the initialiser.
  std::size_t declare(std::string_view name, Shape shape, SliceKind kind, Initialiser initialiser,
                      std::size_t fan_in = 1, std::size_t fan_out = 1);
  /// Declares a table of rows as declare() does; first weights are uniform in +- bound.
  RowTable<Real>& declare_rows(std::string_view name, std::size_t rows, std::size_t width, std::size_t planes,
                               Real bound);

  [[nodiscard]] const std::vector<Slice>& slices() const { return slices_; }
  [[nodiscard]] const std::vector<std::unique_ptr<RowTable<Real>>>& tables() const { return tables_; }
  [[nodiscard]] const Slice* find(std::string_view name) const;
  [[nodiscard]] std::span<Real> flat() const { return {static_cast<Real*>(memory_.base()), size_}; }
  /// How many elements may be declared.
  [[nodiscard]] std::size_t elements_max() const { return elements_max_; }
  [[nodiscard]] std::span<Real> values(const Slice& slice) const {
    return flat().subspan(slice.offset, slice.shape.count());
  }
  [[nodiscard]] std::uint64_t seed() const { return seed_; }

 private:
  std::uint64_t seed_;
  std::size_t size_ = 0, elements_max_;
  std::vector<Slice> slices_;
  std::vector<std::unique_ptr<RowTable<Real>>> tables_;
  os::Mapping memory_;
};

extern template class RowTable<float>;
extern template class RowTable<double>;
extern template class ParameterStore<float>;
extern template class ParameterStore<double>;

}  // namespace trident::tensor
