// Products of the two halves of the array, of the two halves of these, and so on, until few are left whose inverses are
// found one after the other; then back: of 1 / (x y) the inverse of x is y / (x y). Halves are products of whole arrays
// each time, so that nothing waits for a single product but at the end.
#include "runtime/field/inverses.h"

#include <algorithm>

#include "runtime/field/element.h"
#include "runtime/field/kernels.h"

namespace trident::field {

namespace {

/// Below this the products are not worth a call.
constexpr std::size_t kFew = 8;

void invert_few(std::uint64_t* words, std::size_t count) {
  Element before[kFew], product = kOne;
  for (std::size_t i = 0; i < count; ++i) {
    before[i] = product;
    product *= Element::canonical(words[i]);
  }
  Element inverse_of_product = inverse(product);
  for (std::size_t i = count; i-- > 0;) {
    const Element word = Element::canonical(words[i]);
    words[i] = (inverse_of_product * before[i]).value();
    inverse_of_product *= word;
  }
}

void invert(const Kernels& k, std::uint64_t* words, std::size_t count, std::uint64_t* scratch) {
  if (count <= kFew) return invert_few(words, count);
  // Whole vectors, but at the end: word i goes with word i + half, and those from `paired` to `half` with none.
  const std::size_t half = ((count + 1) / 2 + 7) / 8 * 8, paired = count - half;
  std::uint64_t *const products = scratch, *const rest = scratch + half;
  k.multiply(products, words, words + half, paired);
  std::copy(words + paired, words + half, products + paired);
  invert(k, products, half, rest);
  k.multiply(rest, products, words, paired);
  k.multiply(words, products, words + half, paired);
  std::copy(products + paired, products + half, words + paired);
  std::copy(rest, rest + paired, words + half);
}

}  // namespace

void invert_nonzero(std::uint64_t* words, std::size_t count, std::uint64_t* scratch) {
  invert(kernels(), words, count, scratch);
}

}  // namespace trident::field
