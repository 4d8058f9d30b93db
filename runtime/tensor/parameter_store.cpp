#include "runtime/tensor/parameter_store.h"

#include <cmath>

#include "runtime/base/check.h"
#include "runtime/tensor/arena.h"
#include "runtime/tensor/generator.h"

namespace trident::tensor {

std::string Shape::text() const {
  std::string out = "[";
  for (std::size_t i = 0; i < rank_; ++i) out += (i ? ", " : "") + std::to_string(extents_[i]);
  return out + "]";
}

namespace {
template <class Real>
std::size_t round_to_alignment(std::size_t count) {
  constexpr std::size_t kElements = kAlignment / sizeof(Real);
  return (count + kElements - 1) / kElements * kElements;
}

os::Mapping map_or_die(std::size_t bytes) {
  auto mapping = os::map_private(bytes);
  CHECK(mapping.ok());
  return std::move(mapping).value();
}
}  // namespace

template <class Real>
RowTable<Real>::RowTable(std::string name, std::size_t rows, std::size_t width, std::size_t planes)
    : name_(std::move(name)),
      rows_(rows),
      width_(width),
      planes_(planes),
      plane_stride_(round_to_alignment<Real>(width)),
      memory_(map_or_die(rows * plane_stride_ * planes * sizeof(Real))),
      updates_memory_(map_or_die(rows * sizeof(std::uint32_t))) {
  CHECK(rows > 0 && rows <= INT32_MAX && width > 0 && planes >= 1 && planes <= 3);
}

template <class Real>
void RowTable<Real>::initialise(std::uint64_t seed, Real bound) {
  const std::uint64_t stream = hash_of(name_);
  for (std::size_t r = 0; r < rows_; ++r) {
    Generator generator(seed, stream, r * width_);
    for (std::size_t c = 0; c < width_; ++c) {
      row(r)[c] = static_cast<Real>((2 * generator.uniform() - 1) * static_cast<double>(bound));
    }
  }
}

template <class Real>
ParameterStore<Real>::ParameterStore(std::uint64_t seed, std::size_t elements_max)
    : seed_(seed), elements_max_(elements_max), memory_(map_or_die(elements_max * sizeof(Real))) {}

template <class Real>
std::size_t ParameterStore<Real>::declare(std::string_view name, Shape shape, SliceKind kind, Initialiser initialiser,
                                          std::size_t fan_in, std::size_t fan_out) {
  for (std::size_t i = 0; i < slices_.size(); ++i) {
    if (slices_[i].name == name) {
      CHECK(slices_[i].shape == shape && slices_[i].kind == kind);
      return i;
    }
  }
  const std::size_t rounded = round_to_alignment<Real>(shape.count());
  CHECK(rounded <= elements_max_ - size_);
  slices_.push_back({std::string(name), shape, size_, kind});
  size_ += rounded;
  Generator generator(seed_, hash_of(name));
  double bound = 0;
  if (initialiser == Initialiser::he_uniform) bound = std::sqrt(6.0 / static_cast<double>(fan_in));
  if (initialiser == Initialiser::xavier_uniform) bound = std::sqrt(6.0 / static_cast<double>(fan_in + fan_out));
  for (Real& value : values(slices_.back())) {
    if (initialiser == Initialiser::ones) value = Real{1};
    if (bound > 0) value = static_cast<Real>((2 * generator.uniform() - 1) * bound);
  }
  return slices_.size() - 1;
}

template <class Real>
RowTable<Real>& ParameterStore<Real>::declare_rows(std::string_view name, std::size_t rows, std::size_t width,
                                                   std::size_t planes, Real bound) {
  for (const auto& table : tables_) {
    if (table->name() == name) {
      CHECK(table->rows() == rows && table->width() == width && table->planes() == planes);
      return *table;
    }
  }
  tables_.push_back(std::make_unique<RowTable<Real>>(std::string(name), rows, width, planes));
  tables_.back()->initialise(seed_, bound);
  return *tables_.back();
}

template <class Real>
const Slice* ParameterStore<Real>::find(std::string_view name) const {
  for (const Slice& slice : slices_) {
    if (slice.name == name) return &slice;
  }
  return nullptr;
}

template class RowTable<float>;
template class RowTable<double>;
template class ParameterStore<float>;
template class ParameterStore<double>;

}  // namespace trident::tensor
