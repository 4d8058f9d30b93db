// Written by payne_hanek.sollya: do not edit.
#pragma once

namespace trident::kir::math {

// f64: |x| in [2^(32 g + 1), 2^(32 g + 33)) is a multiple of 2^(32 g - 51). Parts 2 and 3 are scaled by 2^200.
inline constexpr double kTurnsF64Part0[] = {
    0x1.45f306dc9c883p-3,   0x1.45f306dc9c883p-3,   0x1.9836e4e44152ap-14,  0x1.054a7f09d5f48p-48,
    0x1.d5f47d4d37703p-80,  0x1.4ddc0db629599p-110, 0x1.4acc9e21c821p-145,  0x1.c820ff28b1d5fp-177,
    0x1.163abdebbc562p-206, 0x1.bc561b7246e3ap-238, 0x1.1b8e909374b8p-272,  0x1.ba5c00c925dd4p-303,
    0x1.25dd413a3243ap-335, 0x1.1921cfe1deb1dp-366, 0x1.deb1cb129a73fp-398, 0x1.34e7dd1046beap-431,
    0x1.1afa975da2427p-465, 0x1.b4484e99c7027p-494, 0x1.c7026b45f7e41p-526, 0x1.f7e413991d63ap-558,
    0x1.1d639835339f5p-590, 0x1.339f49c845f8cp-622, 0x1.17e2ef7e4a0ecp-656, 0x1.9283b1ff898p-686,
    0x1.897ffde05981p-718,  0x1.6603fbcbc462dp-752, 0x1.e2316b414da3fp-783, 0x1.4da3eda6cfd9ep-815,
    0x1.67ecf27cb09b7p-846, 0x1.6136e9e8c7ecdp-879, 0x1.8fd9a797fa8b6p-912, 0x1.fea2d7527bac8p-942};
inline constexpr double kTurnsF64Part1[] = {
    -0x1.6b01ec5417056p-57,  -0x1.6b01ec5417056p-57,  -0x1.ec54170565912p-73,  -0x1.596447e493ad5p-103,
    0x1.b6295993c439p-134,   0x1.e21c820ff28b2p-165,  -0x1.ae9c5421443aap-202, -0x1.443a9e48db91cp-234,
    -0x1.236e4716f6c8bp-260, 0x1.09374b801924cp-292,  0x1.924bba8274648p-328,  0x1.3a32439fc3bd6p-359,
    -0x1.e214e34ed658cp-394, -0x1.3b5963045df73p-420, -0x1.77dca0ad144bbp-454, 0x1.75da24274ce38p-485,
    0x1.338e04d68befdp-519,  -0x1.2e8206fb19b8ap-548, 0x1.cc8eb1cc1a99dp-581,  -0x1.f2b3182d8dee8p-612,
    -0x1.8dee81d1081b6p-644, -0x1.081b5f13801dap-676, 0x1.ff897ffde0598p-710,  -0x1.0fd33f8086877p-741,
    -0x1.0d0ee74a5f593p-774, 0x1.a0a6d1f6d367fp-806,  -0x1.2c98130d834f6p-838, 0x1.3e584dba7a32p-869,
    0x1.3d18fd9a797fbp-900,  0x1.e5fea2d7527bbp-934,  -0x1.5b08a7028341dp-967, -0x1.41a0e84c2f8c6p-998};
inline constexpr double kTurnsF64Part2[] = {
    -0x1.6447e493ad4cep89,   -0x1.6447e493ad4cep89,   0x1.b6c52b3278872p69,    0x1.93c439041fe51p42,
    0x1.07f9458eaf7afp12,    -0x1.508510ea79237p-20,  0x1.b7246e3a424ddp-58,   -0x1.6f6c8b47fe6dbp-88,
    -0x1.1ff9b6d115f63p-114, -0x1.15f62e6de301ep-146, 0x1.cfe1deb1cb12ap-182,  0x1.cb129a73ee882p-214,
    -0x1.177dca0ad144cp-250, 0x1.f52ebb4484e9ap-274,  -0x1.ec598e3f652e8p-308, 0x1.35a2fbf209cc9p-341,
    -0x1.f633714e33e56p-373, -0x1.c67cacc60b638p-402, -0x1.6c6f740e8840ep-439, -0x1.d1081b5f13802p-468,
    0x1.d8ffc4bffef03p-501,  -0x1.0fd33f8086877p-541, 0x1.fde5e2316b415p-567,  -0x1.d297d64b824b2p-596,
    0x1.f6d367ecf27cbp-630,  -0x1.86c1a7b24585dp-661, -0x1.22c2e70265868p-692, -0x1.32c3402ba515bp-723,
    -0x1.d28ad84538142p-754, -0x1.c0a0d0742617cp-789, -0x1.30be31821d6b6p-824, -0x1.0eb5ada2b2809p-855};
inline constexpr double kTurnsF64Part3[] = {
    0x1.e21c820ff28b2p35,    0x1.e21c820ff28b2p35,    0x1.07f9458eaf7afp12,    0x1.8eaf7aef1586ep-12,
    -0x1.d4f246dc8e2dfp-45,  0x1.b8e909374b802p-76,   0x1.700324977504fp-113,  -0x1.115f62e6de302p-142,
    0x1.921cfe1deb1cbp-170,  -0x1.0a71a76b2c609p-201, -0x1.63045df7282b4p-236, 0x1.afa975da24275p-269,
    0x1.213a671c09ad1p-304,  -0x1.c7eca5d040df6p-329, -0x1.037d8cdc538dp-363,  -0x1.4e33e566305b2p-397,
    -0x1.8c16c6f740e88p-427, 0x1.17e2ef7e4a0ecp-456,  0x1.41d8ffc4bffefp-493,  0x1.2fffbc0b301fep-523,
    -0x1.9fc04343b9d29p-556, -0x1.d297d64b824b2p-596, -0x1.2e092c98130d8p-622, -0x1.8130d834f648bp-650,
    0x1.36e9e8c7ecd3dp-687,  0x1.fb34f2ff516bbp-717,  -0x1.5d28ad8453814p-750, -0x1.14e050683a131p-780,
    0x1.7c5ecf41ce7dep-808,  -0x1.8c10eb5ada2b3p-843, 0x1.2ea6bfb5fb12p-878,   -0x1.0277039517bd5p-909};

// f32: |x| in [2^(8 g + 1), 2^(8 g + 9)) is a multiple of 2^(8 g - 22). Products with parts 0 and 1 are exact in f64.
inline constexpr double kTurnsF32Part0[] = {0x1.4p-3,        0x1.45fp-3,      0x1.45f3p-3,     0x1.45f306dp-3,
                                            0x1.f306dc9p-11, 0x1.06dc9c8p-19, 0x1.b939104p-28, 0x1.391054ap-36,
                                            0x1.1054a7ep-44, 0x1.529fc2p-54,  0x1.4fe13a8p-61, 0x1.f84eafap-67,
                                            0x1.3abe8f8p-77, 0x1.5f47d4cp-84, 0x1.a3ea69bp-91, 0x1.ea69bb8p-99};
inline constexpr double kTurnsF32Part1[] = {0x1.7cc1b72p-9,   0x1.836e4e4p-18,  0x1.b72722p-25,   0x1.9391054p-32,
                                            0x1.91054a7p-40,  0x1.054a7fp-48,   0x1.4a7f09dp-56,  0x1.fc2757cp-66,
                                            0x1.09d5f47p-72,  0x1.d5f47d4p-80,  0x1.f47d4d3p-88,  0x1.f534ddcp-98,
                                            0x1.4d37703p-104, 0x1.377036dp-112, 0x1.7036d8ap-120, 0x1.b6c52bp-131};
inline constexpr double kTurnsF32Part2[] = {
    0x1.c882a53f84ebp-39,   0x1.054a7f09d5f48p-48,  0x1.529fc2757d1f5p-54,  0x1.4fe13abe8fa9ap-61,
    0x1.e13abe8fa9a6fp-69,  0x1.3abe8fa9a6eep-77,   0x1.7d1f534ddc0dbp-86,  0x1.1f534ddc0db63p-94,
    0x1.a9a6ee06db14bp-101, 0x1.a6ee06db14acdp-109, 0x1.dc0db6295993cp-118, 0x1.b6c52b3278872p-131,
    0x1.b6295993c439p-134,  0x1.14acc9e21c821p-141, 0x1.5993c439041fep-150, 0x1.93c439041fe51p-158};

}  // namespace trident::kir::math
