// Non-temporal stores are weakly ordered. A thread that learns from another one that the kernel has returned may not
// see them yet, unless an sfence came first. No run on this machine could show that reliably. So the oracle is the
// emitted code as Capstone reads it: on every path from a non-temporal store to a return there is an sfence.
#include <gtest/gtest.h>

#include <charconv>
#include <map>
#include <set>
#include <sstream>
#include <vector>

#include "jit/codegen/codegen.h"
#include "jit/kir/builder.h"

namespace trident::codegen {
namespace {

struct Line {
  std::string mnemonic, operands;
  std::uint64_t next = 0;  ///< address of the line that follows
};

std::map<std::uint64_t, Line> lines_of(const std::string& listing) {
  std::map<std::uint64_t, Line> lines;
  std::istringstream in(listing);
  Line* last = nullptr;
  for (std::string text; std::getline(in, text);) {
    std::istringstream words(text);
    std::uint64_t address = 0;
    Line line;
    words >> std::hex >> address >> line.mnemonic;
    std::getline(words, line.operands);
    if (last != nullptr) last->next = address;
    last = &(lines[address] = line);
  }
  return lines;
}

struct Paths {
  int streaming_stores = 0, returns = 0;
  bool unfenced_return = false;
};

/// Walks every path; visits an address at most once with and once without unfenced stores.
Paths walk(const std::map<std::uint64_t, Line>& lines) {
  Paths paths;
  using Visit = std::pair<std::uint64_t, bool>;
  std::set<Visit> seen;
  std::vector<Visit> open = {{0, false}};
  while (!open.empty()) {
    auto [address, unfenced] = open.back();
    open.pop_back();
    if (!seen.insert({address, unfenced}).second) continue;
    const auto at = lines.find(address);
    if (at == lines.end()) {
      ADD_FAILURE() << "a path leads out of the code, to " << address;
      return paths;
    }
    const Line& line = at->second;
    if (line.mnemonic == "ret") {
      ++paths.returns;
      paths.unfenced_return = paths.unfenced_return || unfenced;
      continue;
    }
    if (line.mnemonic.find("movnt") != std::string::npos) {
      ++paths.streaming_stores;
      unfenced = true;
    }
    if (line.mnemonic == "sfence" || line.mnemonic == "mfence") unfenced = false;
    if (line.mnemonic[0] == 'j') {
      const std::size_t hex = line.operands.find("0x");
      std::uint64_t target = 0;
      const char* digits = line.operands.data() + (hex == std::string::npos ? 1 : hex + 2);
      const auto [end, code] = std::from_chars(digits, line.operands.data() + line.operands.size(), target, 16);
      EXPECT_EQ(code, std::errc()) << line.mnemonic << line.operands;
      open.push_back({target, unfenced});
      if (line.mnemonic == "jmp") continue;
    }
    open.push_back({line.next, unfenced});
  }
  return paths;
}

kir::Kernel kernel_of(int outputs, ir::Type type) {
  kir::Kernel kernel;
  kir::Builder builder(kernel);
  kernel.inputs = {{"x", type}};
  const kir::Value x = builder.input(0);
  kir::Value v = x;
  for (int o = 0; o < outputs; ++o, v = builder.mul(v, x)) kernel.outputs.push_back({"o", v, kir::OutputKind::array});
  return kernel;
}

TEST(Streaming, AFenceStandsBetweenStoresPastTheCachesAndEveryReturn) {
  for (const Isa isa : {Isa::avx2, Isa::avx512})
    for (const ir::Type type : {ir::Type::f32, ir::Type::f64})
      for (const int outputs : {1, 3})
        for (const std::uint8_t vectors : {std::uint8_t{1}, std::uint8_t{2}, std::uint8_t{4}}) {
          const kir::Kernel kernel = kernel_of(outputs, type);
          const auto code = emit(kernel, isa, {.vectors = vectors, .non_temporal = true});
          ASSERT_TRUE(code.ok()) << code.error().message;
          const auto listing = disassemble(*code, isa);
          ASSERT_TRUE(listing.ok());
          const Paths paths = walk(lines_of(*listing));
          EXPECT_GE(paths.streaming_stores, outputs * vectors) << *listing;
          EXPECT_GE(paths.returns, 1);
          EXPECT_FALSE(paths.unfenced_return) << *listing;
          // The walk itself must find the missing fence.
          auto without = lines_of(*listing);
          for (auto& [address, line] : without)
            if (line.mnemonic == "sfence") line.mnemonic = "nop";
          EXPECT_TRUE(walk(without).unfenced_return);
        }
}

void expect_plain(const kir::Kernel& kernel, const Variant& variant) {
  for (const Isa isa : {Isa::avx2, Isa::avx512}) {
    const auto code = emit(kernel, isa, variant);
    ASSERT_TRUE(code.ok());
    const auto listing = disassemble(*code, isa);
    ASSERT_TRUE(listing.ok());
    EXPECT_EQ(std::string::npos, listing->find("movnt")) << *listing;
    EXPECT_EQ(std::string::npos, listing->find("sfence")) << *listing;
  }
}

TEST(Streaming, PlainVariantsNeitherStreamNorFence) {
  expect_plain(kernel_of(2, ir::Type::f64), {.vectors = 2});
}

TEST(Streaming, KernelsWithReductionsDoNotStream) {
  kir::Kernel kernel = kernel_of(2, ir::Type::f64);
  kir::Builder builder(kernel);
  kernel.outputs.push_back({"s", builder.reduce(kir::Op::Sum, kir::Value(0)), kir::OutputKind::scalar});
  expect_plain(kernel, {.vectors = 2, .non_temporal = true});
  for (const Variant& variant : variants(kernel, Isa::avx512)) EXPECT_FALSE(variant.non_temporal);
}

}  // namespace
}  // namespace trident::codegen
