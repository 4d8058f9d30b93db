// Written by erf.sollya: do not edit.
#pragma once

namespace trident::kir::math {

// erf(x) = x + x * P(x^2) on |x| <= 1.
inline constexpr double kErfF32Rel3[] = {0x1.06dbp-3, -0x1.8023aap-2, 0x1.b9ae12p-4, -0x1.2ce93cp-6};  // 2^-15.1
inline constexpr double kErfF32Ulp4[] = {0x1.06eba2p-3,  -0x1.812674p-2, 0x1.ce0934p-4,
                                         -0x1.b5a2dap-6, 0x1.4244b6p-8,  -0x1.27390ap-11};  // 2^-24.6
inline constexpr double kErfF32Ulp1[] = {0x1.06eba8p-3, -0x1.81273ep-2,  0x1.ce2cf2p-4, -0x1.b7f88cp-6,
                                         0x1.54017p-8,  -0x1.a3d7eap-11, 0x1.4916ep-14};  // 2^-29.3
inline constexpr double kErfF64Ulp4[] = {0x1.06eba8214db69p-3,   -0x1.812746b0379fdp-2,  0x1.ce2f21a04360fp-4,
                                         -0x1.b82ce312ab099p-6,  0x1.565bcd126d384p-8,   -0x1.c02db4921a6fep-11,
                                         0x1.f9a3341efe9cdp-14,  -0x1.f4d31d4e62ec8p-17, 0x1.b9ed6eb7d4575p-20,
                                         -0x1.5f8e2da1063ddp-23, 0x1.fc0be2bc76031p-27,  -0x1.4525c7fd1f168p-30,
                                         0x1.25dda5aaf4c45p-34};  // 2^-56.3
inline constexpr double kErfF64Ulp1[] = {0x1.06eba8214db69p-3,   -0x1.812746b037a01p-2,  0x1.ce2f21a043a4ap-4,
                                         -0x1.b82ce312c3e9p-6,   0x1.565bcd1701e3dp-8,   -0x1.c02db58f47dcfp-11,
                                         0x1.f9a356eff7854p-14,  -0x1.f4d64f03b01eap-17, 0x1.ba20a39f93683p-20,
                                         -0x1.61c0ba0018c87p-23, 0x1.0e4cfe2071d0ep-26,  -0x1.e094c80960ab8p-30,
                                         0x1.216dabf46c512p-32,  -0x1.0960c7b9eea8ap-35};  // 2^-56.3

// log(1 - erf(1 + t)) on 1 <= 1 + t <= 4 (f32), 6 (f64).
inline constexpr double kLogErfcF32[] = {-0x1.d97fcp0,   -0x1.51c9aap1,  -0x1.afac02p-1,  -0x1.548222p-5, 0x1.49dbd8p-7,
                                         -0x1.0c4b28p-9, 0x1.4cee96p-12, -0x1.1003e6p-15, 0x1.abf49ep-20};  // 2^-25.1
inline constexpr double kLogErfcF64[] = {
    -0x1.d97fbf27aa2a1p0,   -0x1.51c9b0006c241p1,   -0x1.afabc11a28c61p-1,  -0x1.5477f09ce2604p-5,
    0x1.48c9d415dc06bp-7,   -0x1.033f6aa1c1a3cp-9,  0x1.f1b50956f91c9p-13,  0x1.b8b6546496a4fp-16,
    -0x1.c7464a1ff1866p-16, 0x1.4111b99aac0b5p-17,  -0x1.0d39314df04ddp-19, 0x1.79f9c35ee8d62p-24,
    0x1.2d76e577af827p-23,  -0x1.4e024d7e914d4p-24, 0x1.cc773f2bef092p-26,  -0x1.e656ff033f8a7p-28,
    0x1.9dccb33c559bdp-30,  -0x1.1ebae3360a407p-32, 0x1.41795611666f4p-35,  -0x1.1df899769957cp-38,
    0x1.85c603b194672p-42,  -0x1.7df2fbb453b23p-46, 0x1.d36a695e0ae64p-51,  -0x1.85324868e0fa3p-57,
    -0x1.282b487920a4p-61,  0x1.5f2e0a3a34fbcp-66};  // 2^-57

// erf(a) = 1 - (1 + (a + a P(a)) / 8)^-8 on 0 <= a <= 4 (f32), 6 (f64). The bound is that of
// erf(a); P is its best polynomial (Lawson), rounded coefficient by coefficient.
inline constexpr double kErfRootF32[] = {0x1.06ebaap-3, 0x1.6eb12ep-1,  0x1.92185ap-3,   0x1.ba5e4p-6,  0x1.5bab76p-7,
                                         0x1.15b83cp-9, 0x1.ffc746p-13, -0x1.8938b8p-16, 0x1.36b84ep-15};  // 2^-25.7
inline constexpr double kErfRootF64[] = {
    0x1.06eba8214db67p-3,   0x1.6eb167b83020dp-1,   0x1.9209b30f733c2p-3,   0x1.bd065ac817594p-6,
    0x1.4d2ccd2e071c2p-7,   0x1.6881437b492fep-9,   -0x1.e3702d8375ae2p-13, 0x1.12965d787f816p-13,
    0x1.bb2927aca80cfp-15,  -0x1.c3e163919411dp-16, 0x1.645b6077b465cp-18,  0x1.4b6979b270e5dp-19,
    -0x1.28fa89c251f02p-19, 0x1.d94c5caef3a77p-21,  -0x1.b232099eeca52p-23, 0x1.060fdda16d22p-26,
    0x1.0e12c70e83a29p-27,  -0x1.fe5f0cbc67f4dp-29, 0x1.df47bbae27f32p-31,  -0x1.20198e57fb6f1p-33,
    0x1.c13eeff98c817p-37,  -0x1.a16665b149b73p-41, 0x1.60fa697ab0793p-46};  // 2^-54.9

// erf(x) = x + x * P(x^2) on |x| <= 3/4, for erfc.
inline constexpr double kErfNearF32[] = {0x1.06eba8p-3,  -0x1.81273ap-2, 0x1.ce2adcp-4,
                                         -0x1.b7a96ap-6, 0x1.4f3036p-8,  -0x1.61e93cp-11};  // 2^-29.2
inline constexpr double kErfNearF64[] = {0x1.06eba8214db69p-3,   -0x1.812746b037a1p-2,   0x1.ce2f21a044eebp-4,
                                         -0x1.b82ce3136580ap-6,  0x1.565bcd3f21da5p-8,   -0x1.c02dc14c38f6fp-11,
                                         0x1.f9a58640de357p-14,  -0x1.f51b36983b0afp-17, 0x1.bfd2bc6f52085p-20,
                                         -0x1.b1cdce9a2517ep-23, 0x1.eda45afa6eeadp-25,  -0x1.ecd431247391fp-26,
                                         0x1.0e350a14eea7ap-27};  // 2^-56.3

// exp(x^2) erfc(x) (1 + 2 x) = 5/4 + P(t), t = (x - k) / (x + k), k = 2 on 3/4 <= x <= 10.1 (f32), k = 4 on 3/4 <= x
// <= 27.3 (f64).
inline constexpr double kErfcxF32[] = {0x1.ba0388p-6,   -0x1.7bf5e4p-4, -0x1.5407acp-3, 0x1.4ff938p-3,
                                       -0x1.bc324p-5,   -0x1.065c72p-7, 0x1.1e6108p-7,  0x1.2066d4p-10,
                                       -0x1.78cf78p-10, -0x1.e3f23p-15};  // 2^-29.1
inline constexpr double kErfcxF64[] = {
    -0x1.169ba4580a04fp-6, -0x1.1df1ad154a289p-3,  0x1.f7f5df66fdc65p-7,   0x1.16ecefcfa4d43p-4,
    -0x1.9ddb23c3eb851p-4, 0x1.7fee004e23e3fp-4,   -0x1.0fb06dfe07852p-4,  0x1.3079edf3b6932p-5,
    -0x1.09623892f25eap-6, 0x1.49c673821bab1p-8,   -0x1.8d4a8c917e8e9p-11, -0x1.a1dffbe4c1176p-13,
    0x1.3bdf476b80c1p-13,  -0x1.993c70a9f6966p-16, -0x1.785a1b34909f5p-17, 0x1.7dec7460b3612p-18,
    0x1.313a7706c2585p-22, -0x1.aa34702ea71b7p-21, 0x1.60bdb81c946c7p-24,  0x1.546e86c44a82bp-24,
    -0x1.3eef3562404fep-26};  // 2^-57.1

// exp(x^2) erfc(x) (1 + 9/8 x) = P(t), t = (x - k) / (x + k), k = 2 on 0 <= x <= 10.1 (f32), k = 4 on 0 <= x <= 27.3
// (f64): found likewise. With 9/8, just below 2 / sqrt(pi), P is flat where t loses most.
inline constexpr double kErfcxFlatF32[] = {0x1.a8fa7ap-1,   -0x1.e99f6cp-3,  0x1.9418dap-7, 0x1.d8eb28p-5,
                                           -0x1.d8b668p-6,  -0x1.8419a2p-10, 0x1.2513b4p-8, 0x1.5a2beep-12,
                                           -0x1.57ff92p-11, -0x1.6bde5ep-13};  // 2^-24.3
inline constexpr double kErfcxFlatF64[] = {
    0x1.81ca5c6ac35d4p-1,   -0x1.88f7ef80ff631p-3,  0x1.ab6160c8dc303p-4,   -0x1.12e8a665fa1acp-5,
    -0x1.2c4186333a348p-7,  0x1.9b7c27f7251f8p-6,   -0x1.82f2f299ebbfcp-6,  0x1.f4f0daa9525f5p-7,
    -0x1.e0b287d3f574fp-8,  0x1.452c04666be3dp-9,   -0x1.c8efc4c4041bap-12, -0x1.452b4e409ab11p-14,
    0x1.39fa917a12872p-14,  -0x1.e87c4cdde0181p-17, -0x1.51837cb250a52p-18, 0x1.972271ee6e9edp-19,
    0x1.ab84c9a3ef10bp-25,  -0x1.c3ed7f65927f8p-22, 0x1.7a41164592666p-25,  0x1.c0058657c5dfp-25,
    -0x1.a0a762b046a85p-28, -0x1.40df5fd1bb1e3p-28};  // 2^-55

}  // namespace trident::kir::math
