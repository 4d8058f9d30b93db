// The intended values of a rule's constants: 0.1 is a tenth and 0.3333333333333333 a third.
#pragma once

#include <gmpxx.h>

#include <optional>

namespace trident::rulecheck {

/// Returns whether it is a multiple of 1/1024, which stands for itself.
bool is_dyadic(double constant);

/// Returns a fraction of small numbers or a decimal of few digits that rounds to the constant; nothing for pi.
std::optional<mpq_class> meant_by(double constant);

/// Returns the greatest integer that is not above x.
mpz_class floor_of(const mpq_class& x);

}  // namespace trident::rulecheck
