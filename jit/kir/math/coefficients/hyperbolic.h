// Written by hyperbolic.sollya: do not edit.
#pragma once

namespace trident::kir::math {

// sinh(r) = r + r^3 * P(r^2) and cosh(r) = 1 + r^2 * P(r^2) on |r| <= ln(2) / 2.
inline constexpr double kSinhF32Rel3[] = {0x1.5708a8p-3};                                 // 2^-15.6
inline constexpr double kSinhF32Ulp1[] = {0x1.555556p-3, 0x1.110fe2p-7, 0x1.a28f44p-13};  // 2^-34.1
inline constexpr double kSinhF64Ulp1[] = {0x1.5555555555559p-3, 0x1.111111110f655p-7, 0x1.a01a01b00341ep-13,
                                          0x1.71ddf81095bb6p-19, 0x1.af5f292bd1b87p-26};  // 2^-61.7
inline constexpr double kCoshF32Rel3[] = {0x1.021ee2p-1};                                 // 2^-13.3
inline constexpr double kCoshF32Ulp1[] = {0x1p-1, 0x1.5554e4p-5, 0x1.6d514ep-10};         // 2^-33.2
inline constexpr double kCoshF64Ulp1[] = {0x1p-1,
                                          0x1.5555555555558p-5,
                                          0x1.6c16c16c1500fp-10,
                                          0x1.a01a01ad74cb7p-16,
                                          0x1.27e4cc2d61514p-22,
                                          0x1.1f8ba985f2b17p-29};  // 2^-70

// tanh(x) = x + x^3 * P(x^2) on |x| <= 1.
inline constexpr double kTanhTo1F32Rel3[] = {-0x1.534874p-2, 0x1.ec9ddcp-4, -0x1.c13184p-6};  // 2^-13.3
inline constexpr double kTanhTo1F32Ulp4[] = {-0x1.55546cp-2, 0x1.10ecbp-3,   -0x1.b6419cp-5,
                                             0x1.4d8dd6p-6,  -0x1.9a2354p-8, 0x1.1550d8p-10};  // 2^-24.1

// tanh(x) = x c + x N(x^2) / (1 + x^2 Q(x^2)) on |x| <= 2 with c = 15/32, just below tanh(2) / 2: the quotient is
// small where tanh(x) is close to 1, and its rounding too. Q is that of the best rational function (Remez), rounded;
// N is fitted to it.
inline constexpr double kTanhTo2Constant = 0.46875;
inline constexpr double kTanhTo2F32Ulp4Q[] = {0x1.d0a008p-2, 0x1.45549p-6, 0x1.753172p-14};
inline constexpr double kTanhTo2F32Ulp4N[] = {0x1.1p-1, -0x1.7a0142p-4, -0x1.e28ba2p-8, -0x1.5ddfc2p-15};  // 2^-29.2
inline constexpr double kTanhTo2F64Ulp4Q[] = {0x1.e3b6ef7165d28p-2, 0x1.cf5e3b958e52cp-6, 0x1.d3ce34257bcaap-12,
                                              0x1.d942b5f43d474p-20};
inline constexpr double kTanhTo2F64Ulp4N[] = {0x1.1p-1,
                                              -0x1.517098845cf6p-4,
                                              -0x1.2a3a1f0445d41p-7,
                                              -0x1.6ea129121b206p-13,
                                              -0x1.a16cd29dab4cep-21,
                                              -0x1.16596afd2eb5bp-35};  // 2^-61.1

}  // namespace trident::kir::math
