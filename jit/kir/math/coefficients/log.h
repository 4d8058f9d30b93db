// Written by log.sollya: do not edit.
#pragma once

namespace trident::kir::math {

// log(1 + f) = f + f^2 * P(f) on sqrt(1/2) <= 1 + f <= sqrt(2).
inline constexpr double kLogF32Rel3[] = {-0x1.ff8652p-2, 0x1.57c3aep-2, -0x1.14651p-2, 0x1.6d613ap-3};  // 2^-14
inline constexpr double kLogF32Ulp4[] = {-0x1.fffffap-2, 0x1.5556f4p-2, -0x1.0004b2p-2, 0x1.98d2b6p-3,
                                         -0x1.53598ap-3, 0x1.318212p-3, -0x1.251a84p-3, 0x1.660aeap-4};  // 2^-25
inline constexpr double kLogF32Ulp1[] = {-0x1.fffff8p-2, 0x1.55555p-2,  -0x1.000432p-2, 0x1.99a41ap-3, -0x1.5425c2p-3,
                                         0x1.226df6p-3,  -0x1.0f3fcp-3, 0x1.08612ap-3,  -0x1.38478ep-4};  // 2^-27.8

// log2(1 + f) = f / ln(2) + f^2 * P(f) there.
inline constexpr double kLog2F32Rel3[] = {-0x1.70fcbp-1, 0x1.eff276p-2, -0x1.8ec0e8p-2, 0x1.0790fcp-2};  // 2^-14
inline constexpr double kLog2F32Ulp4[] = {-0x1.715472p-1, 0x1.ec72f2p-2, -0x1.715b3ap-2, 0x1.26e78ap-2,
                                          -0x1.e994bcp-3, 0x1.b8bdbep-3, -0x1.a6d5c8p-3, 0x1.024734p-3};  // 2^-25
inline constexpr double kLog2F32Ulp1[] = {-0x1.71547p-1, 0x1.ec7094p-2,  -0x1.715ac8p-2, 0x1.277ef4p-2, -0x1.eab17ep-3,
                                          0x1.a2e67cp-3, -0x1.877b1ap-3, 0x1.7e0ea2p-3,  -0x1.c3673cp-4};  // 2^-27.7

// log10(1 + f) = f / ln(10) + f^2 * P(f) there.
inline constexpr double kLog10F32Rel3[] = {-0x1.bc4ep-3, 0x1.2a9704p-3, -0x1.e025b2p-4, 0x1.3d5da6p-4};  // 2^-14
inline constexpr double kLog10F32Ulp4[] = {-0x1.bcb7acp-3, 0x1.287bdep-3, -0x1.bcbfe8p-4, 0x1.63198ap-4,
                                           -0x1.26c05cp-4, 0x1.095a28p-4, -0x1.fd37bap-5, 0x1.3716e6p-5};  // 2^-25
inline constexpr double kLog10F32Ulp1[] = {-0x1.bcb7aap-3, 0x1.287a72p-3, -0x1.bcbf2ap-4, 0x1.63cf3ap-4, -0x1.276f46p-4,
                                           0x1.f884b8p-5,  -0x1.d763ep-5, 0x1.cb65dep-5,  -0x1.0efffap-5};  // 2^-27.7

// log(1 + f) = f + f^2 * P(f) on -1/4 <= f <= 1/2, for log1p.
inline constexpr double kLog1pF32Rel3[] = {-0x1.fffadp-2, 0x1.598cbp-2, -0x1.075c3ap-2, 0x1.1f0c7cp-3};  // 2^-13.9
inline constexpr double kLog1pF32Ulp4[] = {-0x1.000014p-1, 0x1.5555e6p-2, -0x1.ffdddcp-3, 0x1.99217cp-3,
                                           -0x1.5884d2p-3, 0x1.32dc62p-3, -0x1.ee6364p-4, 0x1.bbbd64p-5};  // 2^-25.1
inline constexpr double kLog1pF32Ulp1[] = {-0x1p-1,       0x1.5555a6p-2,  -0x1.00004ep-2, 0x1.9968eap-3, -0x1.54eb3ep-3,
                                           0x1.288588p-3, -0x1.0db768p-3, 0x1.ad45e2p-4,  -0x1.721e2ep-5};  // 2^-27.6

// log(1 + f) = 2 atanh(s) = 2 s + s^3 P(s^2), s = f / (2 + f), on sqrt(1/2) <= 1 + f <= sqrt(2), and for log1p. The
// error is P's alone.
inline constexpr double kLogSeriesF64[] = {0x1.5555555555558p-1, 0x1.9999999995321p-2, 0x1.2492492def064p-2,
                                           0x1.c71c62e62a52ap-3, 0x1.7462b4c5f6e5fp-3, 0x1.39fe57d253a12p-3,
                                           0x1.2b58d77a1d4a2p-3};  // 2^-51
inline constexpr double kLog1pSeriesF64[] = {0x1.5555555555555p-1, 0x1.9999999999ff1p-2, 0x1.24924923cfb61p-2,
                                             0x1.c71c72ed4ffffp-3, 0x1.745ca8df1f2d1p-3, 0x1.3b2a4110140f4p-3,
                                             0x1.0e84e3343e823p-3, 0x1.16ce83aa89fp-3};  // 2^-54

// 1 / (1 + f) on -1/4 <= f <= 1/2, to weigh what is small beside f.
inline constexpr double kSlope1p[] = {0x1.02344ap0, -0x1.0db564p0, 0x1.884daap-1};  // 2^-6.6

}  // namespace trident::kir::math
