// Counts read off listings that were counted by hand.
#include "clients/cli/bench/loop_profile.h"

#include <gtest/gtest.h>

#include "runtime/os/cpu.h"

namespace trident::cli {
namespace {

TEST(LoopProfile, CapstoneText) {
  const auto p = profile_main_loop(
      "    0  endbr64 \n"
      "    4  vbroadcastss zmm30, dword ptr [rip + 0x100]\n"
      "   10  vmovups zmm0, zmmword ptr [rdi + rax]\n"
      "   18  vmulps zmm1, zmm0, zmmword ptr [rsi + rax]\n"
      "   20  vmovaps zmm2, zmm1\n"
      "   28  vdivps zmm2, zmm30, zmm2\n"
      "   30  vmovups zmmword ptr [rsp + 0x40], zmm2\n"
      "   38  vfmadd231ps zmm1, zmm0, zmmword ptr [rsp + 0x40]\n"
      "   40  vmovups zmmword ptr [rdx + rax], zmm1\n"
      "   48  add rax, 0x40\n"
      "   4c  cmp rax, rcx\n"
      "   4f  jb 0x10\n"
      "   51  vmovups zmm0{k1}{z}, zmmword ptr [rdi + rax]\n"
      "   60  ret \n");
  ASSERT_TRUE(p.ok()) << p.error().message;
  EXPECT_EQ(p->instructions, 10u);
  EXPECT_EQ(p->arithmetic, 3u);  // multiplication, division, fma; moves are free
  EXPECT_EQ(p->divisions, 1u);
  EXPECT_EQ(p->loads, 3u);
  EXPECT_EQ(p->stores, 2u);
  EXPECT_EQ(p->spills, 1u);
  EXPECT_EQ(p->vector_bits, 512u);
  EXPECT_EQ(p->elements(4), 16);
  EXPECT_EQ(p->multiplies, 2u);
  EXPECT_EQ(p->additions, 0u);
  EXPECT_EQ(p->roots, 0u);
  EXPECT_TRUE(p->comparable());
  MachineRates rates{
      .vector_ns = 0.5, .multiply_ns = 0.5, .load_ns = 0.5, .store_ns = 1, .divide_ns = 16, .root_ns = 24};
  EXPECT_EQ(p->port_ns(rates), 2);  // two stores
  rates.load_ns = 0.75;
  EXPECT_EQ(p->port_ns(rates), 2.25);  // three loads
  rates.multiply_ns = 1.25;
  EXPECT_EQ(p->port_ns(rates), 2.5);  // two multiplications
  rates.vector_ns = 1;
  EXPECT_EQ(p->port_ns(rates), 3);  // three vector instructions
  EXPECT_EQ(p->divider_ns(rates), 16);
}

TEST(LoopProfile, ObjdumpTextTakesTheMainLoopAndCountsCalls) {
  const auto p = profile_main_loop(
      "0000000000001120 <trident_contestant>:\n"
      "    1120:\tvmovaps ymm1,YMMWORD PTR [rip+0xed8]        # 2000 <_fini+0xec4>\n"
      "    1130:\tvmovups ymm0,YMMWORD PTR [r12+rbx*1]\n"
      "    1138:\tcall   1050 <_ZGVdN8v_sinf@plt>\n"
      "    1140:\tvmovups YMMWORD PTR [r13+rbx*1+0x0],ymm0\n"
      "    1148:\tadd    rbx,0x20\n"
      "    1150:\tcmp    rbx,r14\n"
      "    1158:\tjne    1130 <trident_contestant+0x10>\n"
      "    1160:\tvmovss xmm0,DWORD PTR [rdi+rax*4]\n"
      "    1168:\tvmovss DWORD PTR [rsi+rax*4],xmm0\n"
      "    1170:\tinc    rax\n"
      "    1178:\tjne    1160 <trident_contestant+0x40>\n");
  ASSERT_TRUE(p.ok());
  EXPECT_EQ(p->calls, 1u);
  EXPECT_EQ(p->called, (std::map<std::string, unsigned>{{"_ZGVdN8v_sinf", 1}}));
  EXPECT_FALSE(p->comparable());
  EXPECT_EQ(p->vector_bits, 256u);
  EXPECT_EQ(p->elements(4), 8);
}

TEST(LoopProfile, NestedLoopsAndNone) {
  const auto inner =
      profile_main_loop("0 vaddpd zmm0, zmm0, zmm1\n10 vmovupd zmmword ptr [rdi], zmm0\n20 jne 0x10\n30 jne 0x0\n");
  ASSERT_TRUE(inner.ok());
  EXPECT_EQ(inner->arithmetic, 0u);
  EXPECT_EQ(inner->stored_bytes, 64u);
  EXPECT_EQ(profile_main_loop("0 ret\n").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(profile_main_loop("nonsense\n\n: :\n").error().code, ErrorCode::kNotFound);
}

TEST(LoopProfile, DividerTellsRootsFromDivisions) {
  const auto p = profile_main_loop(
      "0 vsqrtpd ymm0, ymmword ptr [rdi]\n8 vdivpd ymm0, ymm1, ymm0\n10 vmovupd ymmword ptr [rsi], ymm0\n18 jb 0x0\n");
  ASSERT_TRUE(p.ok());
  EXPECT_EQ(p->divisions, 2u);
  EXPECT_EQ(p->roots, 1u);
  EXPECT_EQ(p->divider_ns({.divide_ns = 3, .root_ns = 5}), 8);
}

TEST(LoopProfile, AdditionsOfFloatsHaveTheirOwnRate) {
  const auto p = profile_main_loop(
      "0 vaddpd zmm0, zmm1, zmmword ptr [rdi]\n6 vsubpd zmm0, zmm0, zmm1\nc vpaddq zmm2, zmm2, zmm3\n"
      "10 vfmsub213pd zmm0, zmm1, zmm2\n16 vmovupd zmmword ptr [rsi], zmm0\n20 jb 0x0\n");
  ASSERT_TRUE(p.ok());
  EXPECT_EQ(p->arithmetic, 4u);
  EXPECT_EQ(p->additions, 2u);  // neither that of integers nor the fused one
  EXPECT_EQ(p->multiplies, 1u);
  EXPECT_EQ(p->port_ns({.vector_ns = 0.25, .multiply_ns = 0.5, .add_ns = 0.75, .load_ns = 0.5, .store_ns = 1}), 1.5);
}

TEST(MachineRates, AreWhatAnyProcessorCouldDo) {
  if (!os::cpu_features().avx2_fma) GTEST_SKIP() << "no AVX2";
  for (const unsigned bits : {256u, 512u}) {
    if (bits == 512 && !os::cpu_features().avx512) continue;
    for (const ir::Type type : {ir::Type::f32, ir::Type::f64}) {
      MachineRates least;
      for (int i = 0; i < 50; ++i) {
        const MachineRates r = sample_rates(bits, type);
        ASSERT_TRUE(r.known());
        if (i == 0 || r.vector_ns < least.vector_ns) least.vector_ns = r.vector_ns;
        if (i == 0 || r.multiply_ns < least.multiply_ns) least.multiply_ns = r.multiply_ns;
        if (i == 0 || r.root_ns < least.root_ns) least.root_ns = r.root_ns;
      }
      // From eight a cycle at 6 GHz to one in 100 cycles at 1 GHz; roots take the divider many times longer than a
      // multiplication takes its port.
      EXPECT_GT(least.vector_ns, 0.02);
      EXPECT_LT(least.vector_ns, 100);
      EXPECT_GT(least.root_ns, 2 * least.multiply_ns);
    }
  }
}

}  // namespace
}  // namespace trident::cli
