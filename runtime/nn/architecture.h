// A model's architecture, as text and as a hash: which ops lead to an output, how they are wired, which parameters of
// which shape they use. Batch sizes, lengths and losses are left out: weights fit every tape with the same hash.
#pragma once

#include <string>

#include "runtime/autodiff/tape.h"

namespace trident::nn {

/// One line per op, in order of recording.
template <class Real>
std::string architecture_text(const autodiff::Tape<Real>& tape, const autodiff::Value<Real>& output);

/// SHA-256 of architecture_text in hexadecimal.
template <class Real>
std::string architecture_hash(const autodiff::Tape<Real>& tape, const autodiff::Value<Real>& output);

}  // namespace trident::nn
