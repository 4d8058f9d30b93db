// Written by inverse_trig.sollya: do not edit.
#pragma once

namespace trident::kir::math {

// atan(t) = t + t^3 * P(t^2) on |t| <= 1.
inline constexpr double kAtanF32Rel3[] = {-0x1.4f7bbep-2, 0x1.4641a4p-3, -0x1.7cd536p-5};  // 2^-11.9
inline constexpr double kAtanF32Ulp4[] = {-0x1.5552dcp-2, 0x1.991238p-3, -0x1.1f8fccp-3, 0x1.9847cep-4,
                                          -0x1.ed18dep-5, 0x1.951c26p-6, -0x1.3be3dp-8};  // 2^-23.1
inline constexpr double kAtanF32Ulp1[] = {-0x1.555552p-2, 0x1.99981cp-3, -0x1.24761ep-3, 0x1.c51134p-4,
                                          -0x1.695258p-4, 0x1.1505b2p-4, -0x1.70718ap-5, 0x1.751176p-6,
                                          -0x1.e65e16p-8, 0x1.292c46p-10};  // 2^-31.1
inline constexpr double kAtanF64Ulp4[] = {
    -0x1.5555555554f91p-2, 0x1.999999992d65bp-3,   -0x1.2492490e2b7f5p-3, 0x1.c71c6d07e0fafp-4,  -0x1.745cc994778f6p-4,
    0x1.3b10668b3d862p-4,  -0x1.10f7f0d84453p-4,   0x1.e0c892b5a1ba3p-5,  -0x1.aa828b61df12cp-5, 0x1.76e6ebb21202dp-5,
    -0x1.3d17a71a1f1d6p-5, 0x1.ee90bcf619febp-6,   -0x1.51c54d6a837abp-6, 0x1.7e1464a9b9474p-7,  -0x1.507471f6e5e08p-8,
    0x1.aa654dd241d61p-10, -0x1.56aecd4e70b32p-12, 0x1.04bc1401e42fp-15};  // 2^-52.4
inline constexpr double kAtanF64Ulp1[] = {
    -0x1.5555555555525p-2, 0x1.99999999954bbp-3,  -0x1.249249237c6c3p-3,  0x1.c71c717f3895cp-4,
    -0x1.745d11a4fcd9ep-4, 0x1.3b13663369d8p-4,   -0x1.110e4e0d17e9fp-4,  0x1.e1bb831196a38p-5,
    -0x1.ae5dda65be759p-5, 0x1.82d8dedb4aed4p-5,  -0x1.599eebdd1e671p-5,  0x1.2c24281a67a7dp-5,
    -0x1.e9d9f9ca4a95ap-6, 0x1.68159528e322dp-6,  -0x1.c7461d8640ed9p-7,  0x1.d750c8dcea856p-8,
    -0x1.79cde7fbb64a4p-9, 0x1.b3620e11a92ecp-11, -0x1.3eb141df756a8p-13, 0x1.bb170e756711p-17};  // 2^-57.6

// asin(t) = t + t^3 * P(t^2) on |t| <= 1/2.
inline constexpr double kAsinF32Rel3[] = {0x1.520904p-3, 0x1.82496ap-4};                               // 2^-14.7
inline constexpr double kAsinF32Ulp4[] = {0x1.554fap-3, 0x1.34dcd6p-4, 0x1.47ed5ap-5, 0x1.994f12p-5};  // 2^-23.4
inline constexpr double kAsinF32Ulp1[] = {0x1.5555c8p-3, 0x1.3301fep-4, 0x1.747cbep-5, 0x1.8c30b4p-6,
                                          0x1.596a7ep-5};  // 2^-27.6
inline constexpr double kAsinF64Ulp4[] = {0x1.5555555556d1ep-3,  0x1.333333308e48p-4,  0x1.6db6dd0fa7f93p-5,
                                          0x1.f1c69c12b4cdp-6,   0x1.6e970c969e244p-6, 0x1.1bac506a3d7dep-6,
                                          0x1.d556ba363973bp-7,  0x1.334448ecfb3c3p-7, 0x1.2b47e59c2794cp-6,
                                          -0x1.8049f8ac85022p-7, 0x1.025fb2fb0c961p-5};  // 2^-51.9
inline constexpr double kAsinF64Ulp1[] = {
    0x1.555555555538ep-3, 0x1.333333336ec3dp-4, 0x1.6db6db424bab2p-5,  0x1.f1c72c48e69cdp-6,
    0x1.6e89f2b076866p-6, 0x1.1c6bfa1bc577p-6,  0x1.c6fbce60e35efp-7,  0x1.8ed02b053074cp-7,
    0x1.ab5a5a0be6e54p-8, 0x1.4046a166cd6b9p-6, -0x1.0a569c41a84c3p-6, 0x1.059b65564f755p-5};  // 2^-55.9

}  // namespace trident::kir::math
