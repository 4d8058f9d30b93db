// The constants of Tip5, in the form that its kernels use. tip5_test.cpp makes them again by their rules.
#pragma once

#include <cstdint>

namespace trident::field {

inline constexpr unsigned kTip5Width = 16, kTip5Rounds = 5;
/// State words that go through the table of bytes; the others are raised to the 7th power.
inline constexpr unsigned kTip5LookedUp = 4;

/// The first column of the circulant matrix: 16-bit pieces, little end first, of SHA-256("Tip5").
inline constexpr std::uint16_t kTip5Matrix[kTip5Width] = {61402, 1108,  28750, 33823, 7454,  43244, 53865, 12034,
                                                          56951, 27521, 41351, 40901, 12021, 59689, 26798, 17845};

/// 2^64 times the round constants: the first 16 bytes, little end first, of BLAKE3("Tip5" and the byte i), mod p.
inline constexpr std::uint64_t kTip5Constants[kTip5Rounds * kTip5Width] = {
    0x61ab60dce12a6137, 0xd9547ed03c2d8f14, 0xa1de063dce16c34a, 0x876c86765d4cf10b, 0x889cfb95a3fe2af2,
    0x43699f00e0086636, 0x7190db575712e44b, 0xd2b0d4b005bceb49, 0xd483cd36b29f2156, 0x44882a5588310f48,
    0x9f498aa3b091da34, 0x79338d4bf1ff20f5, 0x52c5b216fc597178, 0x48adad93be758d99, 0xfec868b59853d114,
    0xfb6b0d8a2cc48735, 0x20ef0328ebc0eeec, 0x5bba58025bdfe8e6, 0x27287a2602df87a9, 0x4e1934110c7397fa,
    0xa977eae0cf6133cb, 0x63fc191a6bef3d61, 0xaf39b21096b1f98d, 0x5933202ea3216fc1, 0xbfcf71e4029fd62d,
    0xcc520bfbfb4ad152, 0xf774f673e0c840b1, 0x0309bc69ad2abfa1, 0x275f3cb27a336665, 0x2c8f905ae6ad794b,
    0x61e609b31a9aa328, 0x5c92c93af0bb400b, 0x56411dbfe9bc674a, 0x5fc2a26b895bd10c, 0x3d9f2bf239dfe4f5,
    0x5ca88c43f0c467e0, 0x2e1c155235b5227b, 0x3220a672e82efadd, 0x4b861c4d0fdd1d04, 0xeb86ebd60308861f,
    0xbc3902de832913f5, 0x516bcbc01bf8f7c6, 0x738f27cfac69f270, 0xeac8ea36e798f708, 0x4bf937c4aa81ef62,
    0x220e67469498717d, 0x07e796f8f9fad5c4, 0xf2f6dd71e16d8ff5, 0x7d6e3a407aefd019, 0xe73743d7d4c162e9,
    0xef802e57717a8a87, 0x336e6aa553bcde49, 0xf3c8b2265e71152a, 0x6afb2112f02e0b04, 0x255319673d64ddb1,
    0x3866d0ee91012a32, 0xd22150224702d633, 0x12ee85b15e3f4dac, 0xfcd23eb4c9b208c8, 0xd727752f3d490349,
    0xaff543b3b670e77e, 0x17f192d4f48bc718, 0xb026adc00615dfdf, 0xe35c1017dcab5e5b, 0x6080bd0671014a42,
    0x0b8a28b7fe9a2b22, 0xae9da4cacc26240d, 0xd9e5a26b732867a0, 0x2d33784692fe65b8, 0xb7eee345dcb6de4c,
    0x59dde50c8f0c9826, 0x5ee62a88e059226d, 0xf6a203d0a302d668, 0x3b6ae69e93fb6a88, 0x2be69c3753fb6dbf,
    0xdfff43cb9f9a0f27, 0x5f4fdc6a15b64f4b, 0x97c0d760903d0ed1, 0x14148ebadb21a28b, 0xf2f24472b971e6c9,
};

}  // namespace trident::field
