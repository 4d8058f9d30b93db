// Written by roots.sollya: do not edit.
#pragma once

namespace trident::kir::math {

// First guess of m^(-1/3) on 1/2 <= m <= 4.
inline constexpr double kInverseCubeRoot[] = {0x1.cd09ap0,    -0x1.85048cp0, 0x1.0b1682p0,
                                              -0x1.95f736p-2, 0x1.3763f6p-4, -0x1.7814bap-8};  // 2^-8.3

}  // namespace trident::kir::math
