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

// log(1 - erf(x)) on 1 <= x <= 4 (f32), 6 (f64).
inline constexpr double kLogErfcF32[] = {0x1.4d87c8p-12, -0x1.215692p0,  -0x1.437fa4p-1,  -0x1.c2df8ep-4, 0x1.b0e0a2p-6,
                                         -0x1.37f372p-8, 0x1.38ff2ep-11, -0x1.82a472p-15, 0x1.b80daap-20};  // 2^-29.4
inline constexpr double kLogErfcF64[] = {
    0x1.6c25d99eb59a3p-24,  -0x1.20dd8559aa091p0,   -0x1.45f254e7ce345p-1,  -0x1.a508045455512p-4,
    0x1.3a213bb5f6e36p-6,   0x1.0ac6d5cff15cap-13,  -0x1.9d9bd9a369533p-10, 0x1.daa235b6a9591p-12,
    0x1.b63e245cc84a4p-14,  -0x1.5ce9185c94e6cp-13, 0x1.909377b38fd75p-14,  -0x1.4127cc4cc3af1p-15,
    0x1.9426413f07bc5p-17,  -0x1.9faac47171be3p-19, 0x1.62f28cb30f9a2p-21,  -0x1.f95a1a1a6e607p-24,
    0x1.2ae650eb7d186p-26,  -0x1.22ef6101feff2p-29, 0x1.ca1883d064548p-33,  -0x1.1b8b220e5f276p-36,
    0x1.067ea0d8d27f1p-40,  -0x1.469d34b3e7cdap-45, 0x1.73da37f0b7ba8p-51,  0x1.23420b8132464p-56,
    -0x1.5bad52efbd1bep-60, 0x1.8d2e760b21a75p-66};  // 2^-58.9

// (1 + 2 x) exp(x^2) erfc(x) as a polynomial of t = (x - k) / (x + k), k = 2 up to x = 10.1 (f32), 4 up to 27.3 (f64).
inline constexpr double kErfcxF32[] = {0x1.46e80ep0,    -0x1.7bf5e8p-4,  -0x1.5407a6p-3, 0x1.4ff9e4p-3,
                                       -0x1.bc2d58p-5,  -0x1.072134p-7,  0x1.1dca98p-7,  0x1.48a09p-10,
                                       -0x1.7abb84p-10, -0x1.ad474ep-12, 0x1.875fd4p-13, 0x1.78239ap-14};  // 2^-27.2
inline constexpr double kErfcxF64[] = {
    0x1.3ba5916e9fd7fp0,    -0x1.1df1ad154a29bp-3,  0x1.f7f5df66fcb7bp-7,   0x1.16ecefcfa5f4ep-4,
    -0x1.9ddb23c3e59c7p-4,  0x1.7fee004df8fbep-4,   -0x1.0fb06dfe86ed5p-4,  0x1.3079edf9a82edp-5,
    -0x1.0962387a7e8dp-6,   0x1.49c671a9e6ff5p-8,   -0x1.8d4aa397ae1dbp-11, -0x1.a1de94d2ea9dp-13,
    0x1.3be0fe8d2ac7ap-13,  -0x1.99680000497efp-16, -0x1.78ad4dfec8d1cp-17, 0x1.7f9eab19c7d63p-18,
    0x1.44cbdc3c65671p-22,  -0x1.bf3f5012a542cp-21, 0x1.0b5cc0cbe8c38p-24,  0x1.e879006ca6e9ep-24,
    -0x1.10a2a9378f117p-27, -0x1.c38dfccf92585p-27, -0x1.bda77d8d9d5c2p-30};  // 2^-54.4

}  // namespace trident::kir::math
