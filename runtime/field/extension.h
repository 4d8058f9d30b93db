// The cubic extension of the field, F_p[x] / (x^3 - x + 1): x^3 = x - 1, x^4 = x^2 - x.
#pragma once

#include "runtime/field/element.h"

namespace trident::field {

/// c[0] + c[1] x + c[2] x^2.
struct Extension {
  Element c[3];

  constexpr bool operator==(const Extension&) const = default;
  [[nodiscard]] constexpr bool is_zero() const { return c[0].is_zero() && c[1].is_zero() && c[2].is_zero(); }

  friend constexpr Extension operator+(const Extension& a, const Extension& b) {
    return {{a.c[0] + b.c[0], a.c[1] + b.c[1], a.c[2] + b.c[2]}};
  }
  friend constexpr Extension operator-(const Extension& a, const Extension& b) {
    return {{a.c[0] - b.c[0], a.c[1] - b.c[1], a.c[2] - b.c[2]}};
  }
  friend constexpr Extension operator*(const Extension& a, const Extension& b) {
    const Element p0 = a.c[0] * b.c[0], p1 = a.c[0] * b.c[1] + a.c[1] * b.c[0];
    const Element p2 = a.c[0] * b.c[2] + a.c[1] * b.c[1] + a.c[2] * b.c[0];
    const Element p3 = a.c[1] * b.c[2] + a.c[2] * b.c[1], p4 = a.c[2] * b.c[2];
    return {{p0 - p3, p1 + p3 - p4, p2 + p4}};
  }
  friend constexpr Extension operator*(Element a, const Extension& b) { return {{a * b.c[0], a * b.c[1], a * b.c[2]}}; }
};

/// 1/a; 0 for 0. Multiplication by a is a linear map; its determinant (the norm) and the first column of its adjugate
/// solve a b = 1.
constexpr Extension inverse(const Extension& a) {
  // Columns: a, a x, a x^2.
  const Element a0 = a.c[0], a1 = a.c[1], a2 = a.c[2];
  const Element m[3][3] = {{a0, -a2, -a1}, {a1, a0 + a2, a1 - a2}, {a2, a1, a0 + a2}};
  const Element k0 = m[1][1] * m[2][2] - m[1][2] * m[2][1];
  const Element k1 = m[1][2] * m[2][0] - m[1][0] * m[2][2];
  const Element k2 = m[1][0] * m[2][1] - m[1][1] * m[2][0];
  return inverse(m[0][0] * k0 + m[0][1] * k1 + m[0][2] * k2) * Extension{{k0, k1, k2}};
}

}  // namespace trident::field
