// Written by constants.sollya: do not edit.
#pragma once

namespace trident::kir::math {

// Constants, leading part first.
inline constexpr double kLn2F32[] = {0x1.62e43p-1, -0x1.05c61p-29, -0x1.950d88p-54};
inline constexpr double kLn2F64[] = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56, 0x1.7b57a079a1934p-111};
inline constexpr double kLog2eF32[] = {0x1.715476p0, 0x1.4ae0cp-26, -0x1.e8883p-52};
inline constexpr double kLog2eF64[] = {0x1.71547652b82fep0, 0x1.777d0ffda0d24p-56, -0x1.60bb8a5442ab9p-110};
inline constexpr double kLog10eF32[] = {0x1.bcb7b2p-2, -0x1.5b235ep-27};
inline constexpr double kLog10eF64[] = {0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57};
inline constexpr double kLog10Of2F32[] = {0x1.344136p-2, -0x1.ec10cp-27};
inline constexpr double kLog10Of2F64[] = {0x1.34413509f79ffp-2, -0x1.9dc1da994fd21p-59};
inline constexpr double kPiF32[] = {0x1.921fb6p1, -0x1.777a5cp-24};
inline constexpr double kPiF64[] = {0x1.921fb54442d18p1, 0x1.1a62633145c07p-53};
inline constexpr double kInvPiF32[] = {0x1.45f306p-2, 0x1.b9391p-27, 0x1.529fc2p-53, 0x1.d5f47ep-79};
inline constexpr double kInvPiF64[] = {0x1.45f306dc9c883p-2, -0x1.6b01ec5417056p-56, -0x1.6447e493ad4cep-110,
                                       0x1.e21c820ff28b2p-164};

// All parts positive: n * part is +0 for n = 0, so that the sign of a zero survives. (Those of kLn2F64 are.)
inline constexpr double kLn2PositiveF32[] = {0x1.62e42ep-1, 0x1.efa39ep-25};

// pi in two and three parts, all positive: n * part is +0 for n = 0, so that the sign of a zero survives.
inline constexpr double kPi2F32[] = {0x1.921fb4p1, 0x1.4442d2p-23};
inline constexpr double kPi3F32[] = {0x1.921fb4p1, 0x1.4442dp-23, 0x1.84698ap-47};
inline constexpr double kPi2F64[] = {0x1.921fb54442d18p1, 0x1.1a62633145c07p-53};
inline constexpr double kPi3F64[] = {0x1.921fb54442d18p1, 0x1.1a62633145c06p-53, 0x1.c1cd129024e09p-106};

}  // namespace trident::kir::math
