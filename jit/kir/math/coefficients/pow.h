// Written by pow.sollya: do not edit.
#pragma once

namespace trident::kir::math {

// atanh(s) = s + s^3 * P(s^2) on |s| <= 3 - sqrt(8).
inline constexpr double kAtanhF32[] = {0x1.555554p-2, 0x1.999bd2p-3, 0x1.23f25p-3, 0x1.ec01p-4};  // 2^-35
inline constexpr double kAtanhF64[] = {0x1.5555555555555p-2, 0x1.9999999999c4fp-3, 0x1.2492492450301p-3,
                                       0x1.c71c722ee0ff6p-4, 0x1.745ce7c369273p-4, 0x1.3b211ae8fe0ap-4,
                                       0x1.0eb2f19b02197p-4, 0x1.3221304020c76p-4, -0x1.88743ece3394ap-3,
                                       0x1.a6dc79d83aedcp0};  // 2^-67.2
inline constexpr double kAtanhF64Ulp4[] = {0x1.5555555555593p-2, 0x1.999999997fa39p-3, 0x1.2492494224e8ap-3,
                                           0x1.c71c51dcf7784p-4, 0x1.74664887e9802p-4, 0x1.39a0b4d8dc91ep-4,
                                           0x1.2f103aed59c0bp-4};  // 2^-59.5

// atanh(s) = s + s^3 / 3 + s^5 * P(s^2) there.
inline constexpr double kAtanhTailF32[] = {0x1.999998p-3, 0x1.2493acp-3, 0x1.c644a2p-4, 0x1.8fee66p-4};  // 2^-43.6
inline constexpr double kAtanhTailF64[] = {0x1.999999999999ap-3, 0x1.2492492492324p-3, 0x1.c71c71c75f25cp-4,
                                           0x1.745d1710b22a2p-4, 0x1.3b13cb3369a22p-4, 0x1.1108d658742a5p-4,
                                           0x1.e5557caba7483p-5, 0x1.354865efaf011p-5, 0x1.85216a3af7fb9p-2,
                                           -0x1.0df25d01da511p2, 0x1.7eec8a0dc8c54p4};  // 2^-77.4
inline constexpr double kAtanhTailF64Ulp4[] = {0x1.9999999999b33p-3, 0x1.249249245774dp-3, 0x1.c71c722df7e32p-4,
                                               0x1.745ce9ae525a5p-4, 0x1.3b1ef62450547p-4, 0x1.0f7ef257e43b5p-4,
                                               0x1.0e4c0c630b574p-4};  // 2^-66.3

// Constants, leading part first.
inline constexpr double kTwoLog2eF32[] = {0x1.715476p1, 0x1.4ae0cp-25};
inline constexpr double kTwoLog2eF64[] = {0x1.71547652b82fep1, 0x1.777d0ffda0d24p-55};
inline constexpr double kThirdF32[] = {0x1.555556p-2, -0x1.555556p-27};
inline constexpr double kThirdF64[] = {0x1.5555555555555p-2, 0x1.5555555555555p-56};

}  // namespace trident::kir::math
