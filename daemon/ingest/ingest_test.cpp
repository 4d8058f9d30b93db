// Oracles: the expression that went in (canonical bytes), expr::check on whatever comes out, and the limits of
// runtime/base/limits.h.
#include "daemon/ingest/ingest.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "runtime/base/limits.h"
#include "schemas/control_generated.h"
#include "schemas/function_image.h"

namespace trident::ingest {
namespace {

/// A message in memory aligned as the channel aligns it.
class Message {
 public:
  explicit Message(const flatbuffers::FlatBufferBuilder& builder) : size_(builder.GetSize()), words_(size_ / 8 + 1) {
    std::memcpy(words_.data(), builder.GetBufferPointer(), size_);
  }
  [[nodiscard]] std::span<std::byte> bytes() { return std::as_writable_bytes(std::span(words_)).first(size_); }
  void truncate(std::size_t size) { size_ = size; }

 private:
  std::size_t size_;
  std::vector<std::uint64_t> words_;
};

struct Terms {
  std::uint8_t policy = 1;
  double k = 2;
  std::uint32_t elements = 4096;
};

Message submit(const expr::Expr& expr, const Terms& terms = {}) {
  std::vector<wire::Node> nodes;
  for (const expr::Node& n : expr.nodes)
    nodes.emplace_back(static_cast<std::uint8_t>(n.op), static_cast<std::uint8_t>(n.type), std::uint16_t{0}, n.a.index,
                       n.b.index, n.c.index, n.imm);
  std::vector<wire::Variable> variables;
  for (const expr::Variable& v : expr.variables)
    variables.emplace_back(ir::element_number(v.type, v.storage), static_cast<std::uint8_t>(v.kind), std::uint16_t{0},
                           std::uint32_t{0}, v.lo, v.hi);
  std::vector<std::uint32_t> outputs;
  for (const expr::Output& o : expr.outputs) outputs.push_back(expr::output_word(o));
  flatbuffers::FlatBufferBuilder builder;
  const auto node_vector = builder.CreateVectorOfStructs(nodes);
  const auto variable_vector = builder.CreateVectorOfStructs(variables);
  const auto output_vector = builder.CreateVector(outputs);
  const auto body = wire::CreateSubmit(builder, 42, static_cast<wire::Policy>(terms.policy), terms.k, terms.elements,
                                       node_vector, variable_vector, output_vector, true);
  wire::FinishMessageBuffer(builder, wire::CreateMessage(builder, wire::Body::Submit, body.Union()));
  return Message(builder);
}

/// Returns the work read from a submission of `expr`.
Result<Work> work_of(const expr::Expr& expr, const Terms& terms = {}) {
  Message message = submit(expr, terms);
  auto request = read(message.bytes());
  EXPECT_TRUE(request.ok());
  auto* in = std::get_if<Submit>(&*request);
  EXPECT_NE(in, nullptr);
  EXPECT_EQ(in->job, 42u);
  EXPECT_TRUE(in->inline_images);
  return std::move(in->work);
}

expr::Expr parsed(const char* text) {
  auto expr = expr::parse(text);
  EXPECT_TRUE(expr.ok());
  return std::move(*expr);
}

/// A random well-formed f64 expression over two arrays and a parameter.
expr::Expr random_expr(std::mt19937_64& random, std::size_t size) {
  using expr::Op;
  expr::Expr expr;
  for (const char* name : {"x", "y"})
    expr.variables.push_back({name, ir::Type::f64, expr::VariableKind::array, -1.5, 8});
  expr.variables.push_back({"s", ir::Type::f64, expr::VariableKind::scalar, -1.5, 8});
  for (std::uint64_t i = 0; i < 3; ++i) {
    expr::Node node;
    node.op = Op::Variable;
    node.imm = i;
    expr.nodes.push_back(node);
  }
  constexpr Op kOps[] = {Op::Add, Op::Mul, Op::Fma, Op::Sin, Op::Neg, Op::Div, Op::Hypot, Op::Constant, Op::Max};
  while (expr.nodes.size() < size) {
    expr::Node node;
    node.op = kOps[random() % std::size(kOps)];
    const unsigned arity = expr::info(node.op).arity;
    expr::NodeId* const operands[] = {&node.a, &node.b, &node.c};
    for (unsigned i = 0; i < arity; ++i)
      *operands[i] = expr::NodeId(static_cast<std::uint32_t>(random() % expr.nodes.size()));
    if (node.op == Op::Constant) node.imm = std::bit_cast<std::uint64_t>(static_cast<double>(random() % 100) / 8);
    expr.nodes.push_back(node);
  }
  expr.outputs.push_back({"out", expr::NodeId(static_cast<std::uint32_t>(expr.nodes.size() - 1))});
  return expr;
}

TEST(Ingest, SoundSubmissionsComeOutAsTheyWentIn) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 300; ++i) {
    const expr::Expr expr = random_expr(random, 4 + random() % 200);
    ASSERT_TRUE(expr::check(expr).ok());
    const auto work = work_of(expr, {.policy = static_cast<std::uint8_t>(i % 3), .k = 2.0 + i, .elements = 7});
    ASSERT_TRUE(work.ok()) << work.error().message;
    EXPECT_EQ(expr::canonical_bytes(work->expr), expr::canonical_bytes(expr));
    EXPECT_EQ(static_cast<int>(work->policy.kind), i % 3);
    EXPECT_EQ(work->policy.k, 2.0 + i);
    EXPECT_EQ(work->elements, 7u);
  }
  for (const char* text : {"sum(x*y)", "(x > 0 ? sqrt(x) : 0, min(x, y))", "let t = x*x in t + 1/t",
                           "p: u8, h: f16; (u16_sat(p * 3), bool8(h > 1), f16(h))"}) {
    const expr::Expr expr = parsed(text);
    const auto work = work_of(expr);
    ASSERT_TRUE(work.ok()) << text << ": " << work.error().message;
    EXPECT_EQ(expr::canonical_bytes(work->expr), expr::canonical_bytes(expr)) << text;
  }
}

TEST(Ingest, EachFieldOutOfRangeIsRefused) {
  const expr::Expr good = parsed("fma(x, y, 2) + s");
  ASSERT_TRUE(work_of(good).ok());
  const auto refused = [&](auto change, ErrorCode code = ErrorCode::kRejectedMessage) {
    expr::Expr bad = good;
    change(bad);
    const auto work = work_of(bad);
    return !work.ok() && work.error().code == code;
  };
  const std::size_t last = good.nodes.size() - 1;
  const auto self = expr::NodeId(static_cast<std::uint32_t>(last));
  EXPECT_TRUE(refused([&](auto& e) { e.nodes[last].op = static_cast<expr::Op>(expr::kOpCount); }));
  EXPECT_TRUE(refused([&](auto& e) { e.nodes[last].op = static_cast<expr::Op>(255); }));
  EXPECT_TRUE(refused([&](auto& e) { e.nodes[0].type = static_cast<ir::Type>(6); }));
  EXPECT_TRUE(refused([&](auto& e) { e.nodes[last].a = self; }));  // itself: a cycle
  EXPECT_TRUE(refused([&](auto& e) { e.nodes[last].b = expr::NodeId(1u << 31); }));
  EXPECT_TRUE(refused([&](auto& e) { e.nodes[last].b = expr::NodeId(); }));   // missing
  EXPECT_TRUE(refused([&](auto& e) { e.nodes[last].c = expr::NodeId(0); }));  // one too many
  EXPECT_TRUE(refused([](auto& e) { e.variables.pop_back(); }));              // a variable that is not there
  EXPECT_TRUE(refused([](auto& e) { e.variables[0].type = static_cast<ir::Type>(12); }));
  EXPECT_TRUE(refused([](auto& e) { e.variables[0].lo = std::nan(""); }));
  EXPECT_TRUE(refused([](auto& e) { std::tie(e.variables[0].lo, e.variables[0].hi) = std::pair(2.0, 1.0); }));
  EXPECT_TRUE(refused([](auto& e) { e.outputs[0].node = expr::NodeId(1000); }));
  EXPECT_TRUE(refused([](auto& e) { e.outputs[0].storage = static_cast<ir::Storage>(ir::kStorageCount); }));
  EXPECT_TRUE(refused([](auto& e) { e.outputs[0].storage = ir::Storage::u8; }, ErrorCode::kTypeError));  // of an f64
  EXPECT_TRUE(refused([](auto& e) { e.nodes.resize(limits::kExprNodesMax + 1); }, ErrorCode::kLimitExceeded));
  EXPECT_TRUE(refused([](auto& e) { e.variables.resize(limits::kInputsMax + 1); }, ErrorCode::kLimitExceeded));
  EXPECT_TRUE(refused([](auto& e) { e.outputs.resize(limits::kOutputsMax + 1); }, ErrorCode::kLimitExceeded));
  for (const Terms& terms : {Terms{.policy = 3}, Terms{.k = 0.5}, Terms{.k = std::nan("")}, Terms{.k = 1e300},
                             Terms{.elements = 0}, Terms{.elements = ~0u}})
    EXPECT_FALSE(work_of(good, terms).ok());
}

TEST(Ingest, MutatedMessagesAreRefusedOrWellFormed) {
  std::mt19937_64 random(6);
  std::size_t refused_messages = 0, refused_jobs = 0, sound = 0;
  for (int i = 0; i < 60'000; ++i) {
    Message message = submit(random_expr(random, 4 + random() % 40));
    auto bytes = message.bytes();
    for (std::uint64_t k = 0; k <= random() % 6; ++k) {
      std::byte& byte = bytes[random() % bytes.size()];
      byte = random() % 2 == 0 ? static_cast<std::byte>(random()) : byte ^ static_cast<std::byte>(1u << random() % 8);
    }
    if (random() % 8 == 0) message.truncate(random() % bytes.size());
    const auto request = read(message.bytes());
    if (!request.ok()) {
      ++refused_messages;
      continue;
    }
    const auto* in = std::get_if<Submit>(&*request);
    if (in == nullptr) continue;
    if (!in->work.ok()) {
      ++refused_jobs;
      continue;
    }
    ++sound;
    ASSERT_TRUE(expr::check(in->work->expr).ok());
    ASSERT_FALSE(expr::canonical_bytes(in->work->expr).empty());
  }
  EXPECT_GT(refused_messages, 1000u);
  EXPECT_GT(refused_jobs, 1000u);
  EXPECT_GT(sound, 1000u);
}

TEST(Ingest, NoiseIsRefused) {
  std::mt19937_64 random(7);
  std::vector<std::uint64_t> words(64);
  for (int i = 0; i < 60'000; ++i) {
    for (auto& word : words) word = random() & random();
    auto bytes = std::as_writable_bytes(std::span(words)).first(random() % 512);
    if (bytes.size() >= 8) std::memcpy(bytes.data() + 4, "TRDW", 4);
    (void)read(bytes).ok();  // whatever it says, it returns
  }
  EXPECT_FALSE(read({}).ok());
}

TEST(Ingest, DaemonMessagesFromAClientAreRefusedAndUnknownOnesIgnored) {
  flatbuffers::FlatBufferBuilder builder;
  wire::FinishMessageBuffer(builder,
                            wire::CreateMessage(builder, wire::Body::Done, wire::CreateDone(builder, 1).Union()));
  Message done(builder);
  EXPECT_FALSE(read(done.bytes()).ok());

  builder.Clear();
  const auto later = static_cast<wire::Body>(static_cast<int>(wire::Body::MAX) + 1);
  wire::FinishMessageBuffer(builder, wire::CreateMessage(builder, later, wire::CreateDone(builder, 1).Union()));
  Message unknown(builder);
  const auto request = read(unknown.bytes());
  ASSERT_TRUE(request.ok());
  EXPECT_TRUE(std::holds_alternative<Unknown>(*request));
}

TEST(Ingest, ObservedRangesAreReadAsTheyAre) {
  flatbuffers::FlatBufferBuilder builder;
  const wire::Range ranges[] = {wire::Range(0, 1), wire::Range(2, -INFINITY)};
  const auto vector = builder.CreateVectorOfStructs(ranges, 2);
  const auto body = wire::CreateObserved(builder, 7, vector);
  wire::FinishMessageBuffer(builder, wire::CreateMessage(builder, wire::Body::Observed, body.Union()));
  const auto request = read(std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize())));
  ASSERT_TRUE(request.ok()) << request.error().message;
  const auto& observed = std::get<Observed>(*request);
  EXPECT_EQ(observed.job, 7u);
  ASSERT_EQ(observed.ranges.size(), 2u);
  EXPECT_EQ(observed.ranges[0].hi, 1);
  EXPECT_EQ(observed.ranges[1].lo, 2);
  EXPECT_FALSE(observed.ranges[0].or_nan || observed.ranges[1].or_nan);  // as older clients say it
}

/// Flags may be fewer or more than ranges.
TEST(Ingest, ObservedNanIsReadAsFarAsThereAreRangesAndFlags) {
  for (const std::vector<std::uint8_t>& flags : {std::vector<std::uint8_t>{}, {1}, {0, 1}, {2, 0}, {1, 1, 1, 1}}) {
    flatbuffers::FlatBufferBuilder builder;
    const wire::Range ranges[] = {wire::Range(0, 1), wire::Range(2, 3)};
    const auto vector = builder.CreateVectorOfStructs(ranges, 2);
    const auto or_nan = builder.CreateVector(flags);
    const auto body = wire::CreateObserved(builder, 7, vector, 0, or_nan);
    wire::FinishMessageBuffer(builder, wire::CreateMessage(builder, wire::Body::Observed, body.Union()));
    const auto request = read(std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize())));
    ASSERT_TRUE(request.ok()) << request.error().message;
    const auto& observed = std::get<Observed>(*request);
    ASSERT_EQ(observed.ranges.size(), 2u);
    for (std::size_t v = 0; v < 2; ++v)
      EXPECT_EQ(observed.ranges[v].or_nan, v < flags.size() && flags[v] != 0) << flags.size() << " " << v;
  }
}

Result<FunctionWork> function_of(const std::string* text, const std::string* calls) {
  flatbuffers::FlatBufferBuilder builder;
  const auto string = [&](const std::string* s) {
    return s == nullptr ? flatbuffers::Offset<flatbuffers::String>() : builder.CreateString(*s);
  };
  const auto text_at = string(text), calls_at = string(calls);
  const auto body = wire::CreateSubmitFunction(builder, 42, text_at, calls_at, true);
  wire::FinishMessageBuffer(builder, wire::CreateMessage(builder, wire::Body::SubmitFunction, body.Union()));
  Message message(builder);
  const auto request = read(message.bytes());
  EXPECT_TRUE(request.ok());
  const auto& submit = std::get<SubmitFunction>(*request);
  EXPECT_EQ(42u, submit.job);
  EXPECT_TRUE(submit.inline_images);
  return submit.work;
}

TEST(Functions, TextsAreTakenAsTheyAreUpToALimit) {
  const std::string text = "not even a function", calls("a\0b\0", 4);
  const auto work = function_of(&text, &calls);
  ASSERT_TRUE(work.ok());
  EXPECT_EQ(text, work->text);
  EXPECT_EQ(calls, work->calls);
  EXPECT_EQ("", function_of(&text, nullptr)->calls);
  const std::string most(TRIDENT_FUNCTION_TEXT_BYTES_MAX - text.size(), 'x'), more = most + "x", none;
  EXPECT_TRUE(function_of(&text, &most).ok());
  EXPECT_EQ(ErrorCode::kLimitExceeded, function_of(&text, &more).error().code);
  EXPECT_EQ(ErrorCode::kRejectedMessage, function_of(nullptr, &calls).error().code);
  EXPECT_EQ(ErrorCode::kRejectedMessage, function_of(&none, nullptr).error().code);
}

}  // namespace
}  // namespace trident::ingest
