// Written by exp.sollya: do not edit.
#pragma once

namespace trident::kir::math {

// e^r = 1 + r + r^2 * P(r) on |r| <= ln(2) / 2.
inline constexpr double kExpF32Rel3[] = {0x1.0204c8p-1, 0x1.55411cp-3};                                // 2^-13
inline constexpr double kExpF32Ulp4[] = {0x1.fffdfcp-2, 0x1.5557aep-3, 0x1.572a24p-5, 0x1.1062ecp-7};  // 2^-23.2
inline constexpr double kExpF32Ulp1[] = {0x1.fffffap-2, 0x1.555492p-3, 0x1.555a26p-5, 0x1.123984p-7,
                                         0x1.694ccp-10};  // 2^-28.2
inline constexpr double kExpF64Ulp1[] = {0x1.000000000000ap-1,  0x1.55555555554fep-3,  0x1.55555555506b4p-5,
                                         0x1.1111111126b32p-7,  0x1.6c16c18479ce6p-10, 0x1.a01a012ff465dp-13,
                                         0x1.a0199955871b5p-16, 0x1.71df18d48c378p-19, 0x1.28ae06e3f52a9p-22,
                                         0x1.ad932d5340b22p-26};  // 2^-57.9

// e^r - 1 = r + r^2 * P(r) there, with the error relative to e^r - 1.
inline constexpr double kExpm1F32Rel3[] = {0x1.01e2dap-1, 0x1.56073ep-3};  // 2^-11.1
inline constexpr double kExpm1F32Ulp4[] = {0x1.fffffep-2, 0x1.5554bp-3, 0x1.555716p-5, 0x1.122798p-7,
                                           0x1.6b736p-10};  // 2^-26.1
inline constexpr double kExpm1F32Ulp1[] = {0x1p-1,        0x1.555554p-3,  0x1.5554fp-5,
                                           0x1.111306p-7, 0x1.6d436ep-10, 0x1.9e0c14p-13};  // 2^-31
inline constexpr double kExpm1F64Ulp4[] = {0x1.0000000000005p-1,  0x1.555555555553bp-3,  0x1.5555555552107p-5,
                                           0x1.1111111118832p-7,  0x1.6c16c17f310f4p-10, 0x1.a01a0177f3158p-13,
                                           0x1.a019a69a16ac1p-16, 0x1.71de81022f1cap-19, 0x1.28a297ae52083p-22,
                                           0x1.ae778fd287fc9p-26};  // 2^-55.5
inline constexpr double kExpm1F64Ulp1[] = {0x1p-1,
                                           0x1.5555555555559p-3,
                                           0x1.555555555554dp-5,
                                           0x1.111111110f657p-7,
                                           0x1.6c16c16c1aafap-10,
                                           0x1.a01a01b00201bp-13,
                                           0x1.a01a018e10779p-16,
                                           0x1.71ddf814729ep-19,
                                           0x1.27e5133843ba1p-22,
                                           0x1.af5f21a494ebdp-26,
                                           0x1.1f1a3431c916dp-29};  // 2^-61.5

// 2^r = 1 + r * P(r) on |r| <= 1/2.
inline constexpr double kExp2F32Rel3[] = {0x1.62f5fcp-1, 0x1.f00c58p-3, 0x1.c2a1d4p-5};  // 2^-13.3
inline constexpr double kExp2F32Ulp4[] = {0x1.62e42ap-1, 0x1.ebf9bap-3, 0x1.c6b69ap-5, 0x1.3ceafap-7,
                                          0x1.5bfd62p-10};  // 2^-23.3
inline constexpr double kExp2F32Ulp1[] = {0x1.62e43p-1,  0x1.ebfbd8p-3, 0x1.c6af74p-5,
                                          0x1.3b3094p-7, 0x1.5f0cap-10, 0x1.3faf58p-13};  // 2^-28
inline constexpr double kExp2F64Ulp1[] = {0x1.62e42fefa39efp-1,  0x1.ebfbdff82c5a6p-3,  0x1.c6b08d704a12cp-5,
                                          0x1.3b2ab6fb9fda5p-7,  0x1.5d87fe789e971p-10, 0x1.4309130f6d122p-13,
                                          0x1.ffcbfc66852d4p-17, 0x1.62bfc658596eep-20, 0x1.b52522bd4739dp-24,
                                          0x1.e61d45626749cp-28, 0x1.e97317216bebcp-32};  // 2^-57.3

// By eighths, |r| at most a sixteenth (of ln(2)): 2^(j/8); e^r = 1 + r + r^2 * P(r); 2^r = 1 + r * P(r).
inline constexpr double kEighthRoots[] = {0x1p0,
                                          0x1.172b83c7d517bp0,
                                          0x1.306fe0a31b715p0,
                                          0x1.4bfdad5362a27p0,
                                          0x1.6a09e667f3bcdp0,
                                          0x1.8ace5422aa0dbp0,
                                          0x1.ae89f995ad3adp0,
                                          0x1.d5818dcfba487p0};
inline constexpr double kExpEighthsF64[] = {0x1.000000000010bp-1,  0x1.555555555512dp-3,
                                            0x1.555555480c2p-5,    0x1.11111125ebd0ap-7,
                                            0x1.6c1cbe2ea2681p-10, 0x1.a01634e0ef05fp-13};  // 2^-58.3
inline constexpr double kExp2EighthsF64[] = {0x1.62e42fefa39efp-1, 0x1.ebfbdff82c798p-3, 0x1.c6b08d704b1d1p-5,
                                             0x1.3b2ab6ef4b102p-7, 0x1.5d87fe41186dp-10, 0x1.430e66258d6ffp-13,
                                             0x1.ffdd668f96922p-17};  // 2^-58.2

}  // namespace trident::kir::math
