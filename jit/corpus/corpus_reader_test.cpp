// Oracles: reviewed texts, and the two forms of the shared corpus, which hold the same kernels and must agree.
#include "jit/corpus/corpus_reader.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <regex>

namespace trident::corpus {
namespace {

TEST(CorpusReader, Tsv) {
  const auto kernels = parse_corpus("# comment\n\nhyp\tx:-2:2,y:0.5:1e3\tsqrt(x*x + y*y)\r\nconst\t\t1+1\n", "a.tsv");
  ASSERT_TRUE(kernels.ok()) << kernels.error().message;
  ASSERT_EQ(kernels->size(), 2u);
  const CorpusKernel& k = (*kernels)[0];
  EXPECT_EQ(k.name, "hyp");
  EXPECT_EQ(k.definition, "sqrt(x*x + y*y)");
  EXPECT_EQ(k.place, "a.tsv:3");
  ASSERT_EQ(k.variables.size(), 2u);
  EXPECT_EQ(k.variables[1].name, "y");
  EXPECT_EQ(k.variables[1].lo, 0.5);
  EXPECT_EQ(k.variables[1].hi, 1000);
  EXPECT_TRUE((*kernels)[1].variables.empty());
}

TEST(CorpusReader, Sexp) {
  const auto kernels = parse_corpus(
      ";; comment with ( bracket\n(kernel k1 :slice s :origin \"a ( \\\" b\" :vars ((x -1 +2) y)\n :body (+ x (sin "
      "y)))\n"
      "(kernel k2 :body 3 :vars ())",
      "a.sexp");
  ASSERT_TRUE(kernels.ok()) << kernels.error().message;
  ASSERT_EQ(kernels->size(), 2u);
  EXPECT_EQ((*kernels)[0].group, "s");
  EXPECT_EQ((*kernels)[0].definition, "(+ x (sin y))");
  ASSERT_EQ((*kernels)[0].variables.size(), 2u);
  EXPECT_EQ((*kernels)[0].variables[0].hi, 2);
  EXPECT_FALSE((*kernels)[0].variables[1].has_range());
  EXPECT_EQ((*kernels)[1].definition, "3");
}

TEST(CorpusReader, Rewrite) {
  const auto kernels =
      parse_corpus("; head | er\nlog-mix | medium | explog | a>0,b!=0 | (log (mul a b)) ; 4 / 4\n", "r.txt");
  ASSERT_TRUE(kernels.ok()) << kernels.error().message;
  ASSERT_EQ(kernels->size(), 1u);
  EXPECT_EQ((*kernels)[0].definition, "(log (mul a b))");
  ASSERT_EQ((*kernels)[0].variables.size(), 1u);
  EXPECT_GT((*kernels)[0].variables[0].lo, 0);
}

TEST(CorpusReader, AssumptionsBecomeRanges) {
  const auto read = [](const char* assumptions) {
    return parse_corpus("k | s | f | " + std::string(assumptions) + " | (add x y)\n", "r.txt");
  };
  const auto range = [&](const char* assumptions) {
    const auto kernels = read(assumptions);
    EXPECT_TRUE(kernels.ok()) << assumptions;
    EXPECT_EQ(1u, kernels->at(0).variables.size()) << assumptions;
    return std::pair(kernels->at(0).variables.at(0).lo, kernels->at(0).variables.at(0).hi);
  };
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(range("x>0"), std::pair(0x1p-126, inf));  // the least normal f32
  EXPECT_EQ(range("x>=0"), std::pair(0.0, inf));
  EXPECT_EQ(range("x<0"), std::pair(-inf, -0x1p-126));
  EXPECT_EQ(range("x<=0"), std::pair(-inf, 0.0));
  EXPECT_EQ(range("x>=1.5"), std::pair(1.5, inf));
  EXPECT_EQ(range(" x >= -2 , x <= 3 "), std::pair(-2.0, 3.0));
  EXPECT_EQ(range("x>0,x<1,x>=0.5"), std::pair(0.5, 1.0));
  const auto nonzero = read("x!=0,y!=0");
  ASSERT_TRUE(nonzero.ok());
  EXPECT_EQ(nonzero->at(0).nonzero, (std::vector<std::string>{"x", "y"}));
  EXPECT_TRUE(nonzero->at(0).variables.empty());
  // Under a policy of bits, a value above zero may be the least number of the type.
  const auto in_bits = [&](const char* assumptions, ir::Type type) {
    const expr::Expr e = parse_definition_in_bits(read(assumptions)->at(0), type).value();
    return std::pair(e.variables.at(0).lo, e.variables.at(0).hi);
  };
  EXPECT_EQ(in_bits("x>0", ir::Type::f64), std::pair(0x1p-1074, inf));
  EXPECT_EQ(in_bits("x<0", ir::Type::f32), std::pair(-inf, -0x1p-149));
  EXPECT_EQ(in_bits("x>0,x<=1,x>=0.5", ir::Type::f64), std::pair(0.5, 1.0));
  EXPECT_EQ(in_bits("x>=0", ir::Type::f64), std::pair(0.0, inf));
  // `rewrite` and `bench` promise bits under exact alone.
  using Kind = expr::PolicyKind;
  for (const auto& [kind, least] :
       {std::pair(Kind::exact, 0x1p-1074), std::pair(Kind::bounded, 0x1p-126), std::pair(Kind::fast, 0x1p-126)})
    EXPECT_EQ(parse_definition_under({kind, 2}, read("x>0")->at(0), ir::Type::f64)->variables.at(0).lo, least);
  for (const char* bad : {"x", "x!=1", "x!0", "x>", "x==1", "=1", ">0", "1>0", "x>y", "x>0,", "x>=2,x<=1", "x>nan"}) {
    const auto refused = to_expr(read(bad)->at(0), ir::Type::f64);
    ASSERT_FALSE(refused.ok()) << bad;
    EXPECT_NE(std::string::npos, refused.error().message.find("r.txt:1:")) << bad << ": " << refused.error().message;
  }
}

TEST(CorpusReader, RangesAreOfTheTypesThatTheTextDeclares) {
  const auto kernels = parse_corpus(
      "longs\tx:0:5,y:-1:1\tx: i64; x*x + i64(y)\nbytes\tb:3:1000\tb: u8; b*b\ntables\tt:0:1\ttable t; t[2*index]\n",
      "r");
  ASSERT_TRUE(kernels.ok()) << kernels.error().message;
  const auto first = [&](std::size_t i, ir::Type type) {
    const auto e = to_expr((*kernels)[i], type);
    EXPECT_TRUE(e.ok()) << e.error().message;
    return e->variables.front();
  };
  for (const ir::Type type : {ir::Type::f32, ir::Type::f64}) {
    const expr::Variable x = first(0, type), b = first(1, type), t = first(2, type);
    EXPECT_TRUE(x.type == ir::Type::i64 && x.lo == 0 && x.hi == 5);
    EXPECT_EQ(to_expr((*kernels)[0], type)->variables[1].type, type);
    EXPECT_TRUE(b.type == ir::Type::i32 && b.storage == ir::Storage::u8 && b.lo == 3 && b.hi == 255);
    EXPECT_TRUE(t.is_table() && t.type == type && t.hi == 1);
  }
}

TEST(CorpusReader, AWrongAssumptionFailsItsOwnCase) {
  const auto kernels = parse_corpus(
      "known | s | f | x>0,y!=0 | (add x y)\nunknown | s | f | x>0, q>0 | (add x 1)\n"
      "unread | s | f | x>y | (add x y)\nby | s | f | x>0 | (d x (mul y x))\nnever | s | f | q!=0 | (add x 1)\n",
      "r.txt");
  ASSERT_TRUE(kernels.ok()) << kernels.error().message;
  ASSERT_EQ(kernels->size(), 5u);
  const auto message = [&](std::size_t i) {
    const auto e = to_expr((*kernels)[i], ir::Type::f64);
    return e.ok() ? std::string("accepted") : e.error().message;
  };
  EXPECT_EQ(message(0), "accepted");
  EXPECT_EQ(message(1), "accepted");  // what is assumed of a variable that is not there says nothing
  EXPECT_NE(message(2).find("r.txt:3:20: 'y' is not a number"), std::string::npos) << message(2);
  EXPECT_EQ(message(3), "accepted");
  EXPECT_EQ(message(4), "accepted");
}

TEST(CorpusReader, ErrorsShowThePlace) {
  const auto message = [](const char* text) {
    const auto r = parse_corpus(text, "f");
    return r.ok() ? std::string("accepted") : r.error().message;
  };
  EXPECT_NE(message("k\tx:1\tx\n").find("f:1:3: expected name:lo:hi, found 'x:1'"), std::string::npos)
      << message("k\tx:1\tx\n");
  EXPECT_NE(message("# c\nk\tx:2:1\tx\n").find("f:2:"), std::string::npos);
  EXPECT_NE(message("k\tx:0:1,x:0:1\tx\n").find("declared twice"), std::string::npos);
  EXPECT_NE(message("k\tx:0:1\n").find("three columns"), std::string::npos);
  EXPECT_NE(message("(kernel k :vars ((x 0 one)) :body x)").find("'one' is not a number"), std::string::npos);
  EXPECT_NE(message("(kernel k :vars ((x 0 1)) :body (sin x)").find("f:1:"), std::string::npos);
  EXPECT_NE(message("(kernel k :vars ())").find("no :body"), std::string::npos);
  EXPECT_NE(message("a | b | c\n").find("five columns"), std::string::npos);
  EXPECT_NE(message("# nothing\n").find("no kernels"), std::string::npos);
  EXPECT_EQ(read_corpus("/nonexistent").error().code, ErrorCode::kInvalidArgument);
}

TEST(CorpusReader, BytesThatAreZeroAreNoText) {
  constexpr std::string_view kText("ok|1|f||x\na|1|f||(add x \0 y)\n", 30);
  const auto kernels = parse_corpus(kText, "r.txt");
  ASSERT_FALSE(kernels.ok());
  EXPECT_EQ(kernels.error().message.find("r.txt:2:15: this is not a text: it holds a NUL byte"), 0u)
      << kernels.error().message;
}

TEST(CorpusReader, SharedCorpusInBothForms) {
  const auto tsv = read_corpus("bench/corpus/kernels.tsv"), sexp = read_corpus("bench/corpus/kernels.sexp");
  ASSERT_TRUE(tsv.ok()) << tsv.error().message;
  ASSERT_TRUE(sexp.ok()) << sexp.error().message;
  ASSERT_EQ(tsv->size(), 22u);
  ASSERT_EQ(sexp->size(), tsv->size());
  std::size_t compared = 0;
  for (std::size_t i = 0; i < tsv->size(); ++i) {
    const CorpusKernel &a = (*tsv)[i], &b = (*sexp)[i];
    EXPECT_EQ(a.name, b.name);
    ASSERT_EQ(a.variables.size(), b.variables.size());
    for (std::size_t v = 0; v < a.variables.size(); ++v) {
      EXPECT_EQ(a.variables[v].name, b.variables[v].name);
      EXPECT_EQ(a.variables[v].lo, b.variables[v].lo);
      EXPECT_EQ(a.variables[v].hi, b.variables[v].hi);
    }
    const auto from_tsv = to_expr(a, ir::Type::f32), from_sexp = to_expr(b, ir::Type::f32);
    ASSERT_TRUE(from_tsv.ok()) << from_tsv.error().message;
    ASSERT_TRUE(from_sexp.ok()) << from_sexp.error().message;
    // "(-0.5)" is a literal in the one form and (neg 0.5) in the other.
    if (std::regex_search(a.definition, std::regex("\\(-[0-9]"))) continue;
    EXPECT_EQ(expr::canonical_bytes(*from_tsv), expr::canonical_bytes(*from_sexp)) << a.name;
    ++compared;
  }
  EXPECT_GE(compared, 15u);
  for (const auto& [file, count] : {std::pair{"kernels.tsv", 22u},
                                    {"rewrite.txt", 28u},
                                    {"fpbench/graphics.fpcore", 1u},
                                    {"unseen_science.tsv", 20u},
                                    {"unseen_graphics.tsv", 20u},
                                    {"unseen_statistics.tsv", 20u}}) {
    const auto all = read_expressions(std::string("bench/corpus/") + file);
    ASSERT_TRUE(all.ok()) << all.error().message;
    EXPECT_EQ(all->size(), count) << file;
  }
  for (const std::string corpus :
       {"fresh", "fresh2", "fresh3", "fresh4", "fresh5", "fresh6", "fresh7", "fresh8", "fresh9"})
    for (const char* const field : {"_science.tsv", "_graphics.tsv", "_statistics.tsv"}) {
      const auto all = read_corpus("bench/corpus/" + corpus + field);
      ASSERT_TRUE(all.ok()) << all.error().message;
      EXPECT_EQ(all->size(), 20u) << corpus << field;
      for (const CorpusKernel& k : *all) {
        const auto e = to_expr(k, ir::Type::f64);
        EXPECT_TRUE(e.ok()) << k.name << ": " << e.error().message;
      }
    }
  const auto rewrite = read_corpus("bench/corpus/rewrite.txt");
  ASSERT_TRUE(rewrite.ok()) << rewrite.error().message;
  EXPECT_EQ(rewrite->size(), 28u);
  for (const CorpusKernel& k : *rewrite) {
    const auto e = to_expr(k, ir::Type::f64);
    EXPECT_TRUE(e.ok()) << k.name << ": " << e.error().message;
  }
}

// Broken files are an error or kernels, never a crash: the text with bytes replaced, removed and doubled.
TEST(CorpusReader, MutatedTexts) {
  std::mt19937 random(1);
  const std::string seed =
      "(kernel k :slice s :origin \"o\" :vars ((x -1 2) (y 0 1)) :body (+ x (sin y)))\nk\tx:0:1\tx+1\n";
  for (int i = 0; i < 20000; ++i) {
    std::string text = seed;
    for (unsigned m = 0; m < 1 + random() % 4; ++m) {
      const std::size_t at = random() % text.size();
      switch (random() % 3) {
        case 0: text[at] = static_cast<char>(random() % 128); break;
        case 1: text.erase(at, random() % 8); break;
        default: text.insert(at, text.substr(random() % text.size(), random() % 16));
      }
      if (text.empty()) text = "(";
    }
    const auto kernels = parse_corpus(text, "m");
    if (!kernels.ok()) {
      EXPECT_FALSE(kernels.error().message.empty());
    }
  }
}

}  // namespace
}  // namespace trident::corpus
