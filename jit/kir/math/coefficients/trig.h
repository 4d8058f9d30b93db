// Written by trig.sollya: do not edit.
#pragma once

namespace trident::kir::math {

// sin(r) = r + r^3 * P(r^2) on |r| <= pi/2 (a little more for the inexact quotient).
inline constexpr double kSinPiF32Rel3[] = {-0x1.54369cp-3, 0x1.f566e6p-8};  // 2^-12.8
inline constexpr double kSinPiF32[] = {-0x1.55555p-3, 0x1.110f14p-7, -0x1.9f6e38p-13, 0x1.5d253ep-19};
inline constexpr double kSinPiF64[] = {-0x1.5555555555555p-3,  0x1.11111111110c9p-7,   -0x1.a01a01a014b7fp-13,
                                       0x1.71de3a5292fa4p-19,  -0x1.ae6454cce4c28p-26, 0x1.6123cad1395d5p-33,
                                       -0x1.ae42d9402b0d8p-41, 0x1.881b00734fdf2p-49};

// sin(r) and cos(r) = 1 + r^2 * P(r^2) on |r| <= pi/4.
inline constexpr double kSinF32Rel3[] = {-0x1.4c8fd8p-3};                                  // 2^-10.8
inline constexpr double kSinF32Ulp1[] = {-0x1.555544p-3, 0x1.1106d8p-7, -0x1.99256ep-13};  // 2^-27.8
inline constexpr double kSinF64Ulp1[] = {-0x1.5555555555548p-3,  0x1.111111110f6f8p-7,
                                         -0x1.a01a019bddfe8p-13, 0x1.71de35490f062p-19,
                                         -0x1.ae5e4099ac547p-26, 0x1.5d87d79867461p-33};           // 2^-57.8
inline constexpr double kCosF32Rel3[] = {-0x1.ffbfep-2, 0x1.4b54ap-5};                             // 2^-16
inline constexpr double kCosF32Ulp4[] = {-0x1.ffffbp-2, 0x1.553dfcp-5, -0x1.643776p-10};           // 2^-24.6
inline constexpr double kCosF32Ulp1[] = {-0x1p-1, 0x1.55554ap-5, -0x1.6c0c2p-10, 0x1.99e424p-16};  // 2^-32.9
inline constexpr double kCosF64Ulp4[] = {-0x1.fffffffffff8fp-2,  0x1.555555554eaefp-5,
                                         -0x1.6c16c163ae7b5p-10, 0x1.a019f7cc1bd45p-16,
                                         -0x1.27df262dc3a9bp-22, 0x1.1b8244a2c0978p-29};  // 2^-53.7
inline constexpr double kCosF64Ulp1[] = {-0x1p-1,
                                         0x1.5555555555549p-5,
                                         -0x1.6c16c16c14c37p-10,
                                         0x1.a01a019c36217p-16,
                                         -0x1.27e4f7b51e3dcp-22,
                                         0x1.1ee9b4a2cfc24p-29,
                                         -0x1.8f92fc27d66ccp-37};  // 2^-63.6

// tan(r) = r + r^3 * P(r^2) on |r| <= pi/4.
inline constexpr double kTanF32Rel3[] = {0x1.571094p-2, 0x1.e1e7b2p-4, 0x1.7bd54ap-4};  // 2^-14.2
inline constexpr double kTanF32Ulp4[] = {0x1.5554d6p-2, 0x1.112f92p-3, 0x1.b54d36p-5,
                                         0x1.920852p-6, 0x1.81e146p-9, 0x1.370008p-7};  // 2^-25.6
inline constexpr double kTanF32Ulp1[] = {0x1.555562p-2, 0x1.110d26p-3,   0x1.baed76p-5, 0x1.5bfe2ep-6,
                                         0x1.66a186p-7, -0x1.9121cap-15, 0x1.233f32p-8};  // 2^-29.3
inline constexpr double kTanF64Ulp4[] = {
    0x1.55555555554dfp-2,   0x1.11111111196e5p-3,  0x1.ba1ba1b37df3dp-5,   0x1.664f49d49362cp-6,  0x1.226e0d864c8adp-7,
    0x1.d6d9e1004cfcfp-9,   0x1.7d532de6562b8p-10, 0x1.383f15d623ba5p-11,  0x1.cf4b74d4e8d1ap-13, 0x1.249edde494a0fp-13,
    -0x1.00d05faf8e962p-15, 0x1.8774d56bb2599p-14, -0x1.89faf53bce386p-15, 0x1.66716ba8e514dp-16};  // 2^-56
inline constexpr double kTanF64Ulp1[] = {
    0x1.555555555555fp-2,  0x1.1111111110493p-3,   0x1.ba1ba1bad05f8p-5,  0x1.664f48596fe63p-6,
    0x1.226e3afa4aeedp-7,  0x1.d6d2d3d89d1e2p-9,   0x1.7db2aa225b86ap-10, 0x1.34b105160ceffp-11,
    0x1.ffcd2fcf92efdp-13, 0x1.5b4a281aa1cb5p-14,  0x1.1fc6a05f13e86p-14, -0x1.cbb5125cd3209p-16,
    0x1.a46d8e51c93e4p-15, -0x1.a3a2f8fd5655bp-16, 0x1.4e579976e612dp-17};  // 2^-59.7

// tan(r) = (r + r^3 N(r^2)) / (1 + r^2 Q(r^2)) there.
inline constexpr double kTanQuotientF32Q[] = {-0x1.b76f4ep-2, 0x1.3e6636p-7};
inline constexpr double kTanQuotientF32N[] = {-0x1.886736p-4};  // 2^-25.2
inline constexpr double kTanQuotientF64Q[] = {-0x1.d8b212e43687cp-2, 0x1.7e7b65ecdbe41p-6, -0x1.b525a3961a3dep-13};
inline constexpr double kTanQuotientF64N[] = {-0x1.06b97b1dc26a5p-3, 0x1.6fc6f84cdda85p-9,
                                              -0x1.f637c19604a2ep-18};  // 2^-55

}  // namespace trident::kir::math
