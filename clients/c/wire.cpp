#include "clients/c/wire.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "runtime/base/limits.h"
#include "schemas/control_generated.h"
#include "schemas/loop_image.h"

namespace trident::client::wire {
namespace {

namespace fbs = ::trident::wire;

// Depth and tables of a message: Message -> body table -> vector. Anything deeper is not ours.
constexpr flatbuffers::uoffset_t kDepthMax = 8;
constexpr flatbuffers::uoffset_t kTablesMax = 32;

static_assert(kVersionMax == static_cast<std::uint16_t>(fbs::Protocol::version));

template <class Body>
void finish(Frame& out, flatbuffers::FlatBufferBuilder& builder, fbs::Body kind, flatbuffers::Offset<Body> body) {
  fbs::FinishMessageBuffer(builder, fbs::CreateMessage(builder, kind, body.Union()));
  const std::uint32_t length = builder.GetSize();
  const std::size_t start = out.size();
  out.resize(start + sizeof(length) + length);
  std::memcpy(out.data() + start, &length, sizeof(length));
  std::memcpy(out.data() + start + sizeof(length), builder.GetBufferPointer(), length);
}

fbs::Policy policy_of(expr::PolicyKind kind) {
  switch (kind) {
    case expr::PolicyKind::exact: return fbs::Policy::exact;
    case expr::PolicyKind::bounded: return fbs::Policy::bounded;
    case expr::PolicyKind::fast: return fbs::Policy::fast;
  }
  CHECK(false);
}

std::string text_of(const flatbuffers::String* text) {
  return text ? text->str() : std::string();
}

/// A value that a later version added means that there is nothing better.
Done::Outcome outcome_of(fbs::Outcome outcome) {
  switch (outcome) {
    case fbs::Outcome::published: return Done::Outcome::published;
    case fbs::Outcome::no_gain: return Done::Outcome::no_gain;
    case fbs::Outcome::budget_spent: return Done::Outcome::budget_spent;
    case fbs::Outcome::not_equivalent: return Done::Outcome::not_equivalent;
  }
  return Done::Outcome::no_gain;
}

KernelReady ready_of(const fbs::KernelReady& message) {
  KernelReady ready;
  ready.job = message.job();
  ready.tier = static_cast<std::uint8_t>(message.tier());
  ready.size = message.size();
  ready.digest_low = message.digest_low();
  ready.digest_high = message.digest_high();
  ready.baseline_ns = message.baseline_ns();
  ready.optimised_ns = message.optimised_ns();
  if (const auto* image = message.image()) {
    ready.inline_image = true;
    const auto* first = reinterpret_cast<const std::byte*>(image->data());
    ready.image.assign(first, first + image->size());
  }
  return ready;
}

std::vector<std::uint64_t> words_of(const flatbuffers::Vector<std::uint64_t>* words) {
  return words == nullptr ? std::vector<std::uint64_t>() : std::vector<std::uint64_t>(words->begin(), words->end());
}

/// Tables of a proof of Triton VM.
constexpr std::size_t kTables = 9;

Error refused(const char* why) {
  return make_error(ErrorCode::kRejectedMessage, "message from the daemon: %s", why);
}

}  // namespace

const std::uint64_t kFeatureObserved = static_cast<std::uint64_t>(fbs::Feature::observed);
const std::uint64_t kFeatureMissing = static_cast<std::uint64_t>(fbs::Feature::missing);
const std::uint64_t kFeatureCalled = static_cast<std::uint64_t>(fbs::Feature::called);
const std::uint64_t kFeatureLoops = static_cast<std::uint64_t>(fbs::Feature::loops);
const std::uint64_t kFeatureFunctions = static_cast<std::uint64_t>(fbs::Feature::functions);

void append_hello(Frame& out, std::uint8_t isa) {
  flatbuffers::FlatBufferBuilder builder(128);
  finish(out, builder, fbs::Body::Hello,
         fbs::CreateHello(builder, kVersionMin, kVersionMax, isa,
                          static_cast<std::uint64_t>(fbs::Feature::inline_images)));
}

void append_submit(Frame& out, const expr::Expr& expr, const SubmitTerms& terms) {
  flatbuffers::FlatBufferBuilder builder(256 + expr.nodes.size() * sizeof(fbs::Node) +
                                         expr.variables.size() * sizeof(fbs::Variable));
  fbs::Node* node = nullptr;
  const auto nodes = builder.CreateUninitializedVectorOfStructs<fbs::Node>(expr.nodes.size(), &node);
  for (const expr::Node& n : expr.nodes) {
    *node++ = fbs::Node(static_cast<std::uint8_t>(n.op), static_cast<std::uint8_t>(n.type), 0, n.a.index, n.b.index,
                        n.c.index, n.imm);
  }
  fbs::Variable* variable = nullptr;
  const auto variables = builder.CreateUninitializedVectorOfStructs<fbs::Variable>(expr.variables.size(), &variable);
  for (const expr::Variable& v : expr.variables) {
    *variable++ =
        fbs::Variable(ir::element_number(v.type, v.storage), static_cast<std::uint8_t>(v.kind), 0, 0, v.lo, v.hi);
  }
  std::uint32_t* output = nullptr;
  const auto outputs = builder.CreateUninitializedVector<std::uint32_t>(expr.outputs.size(), &output);
  for (const expr::Output& o : expr.outputs) *output++ = expr::output_word(o);
  finish(out, builder, fbs::Body::Submit,
         fbs::CreateSubmit(builder, terms.job, policy_of(terms.policy.kind), terms.policy.k, terms.elements, nodes,
                           variables, outputs, terms.inline_images));
}

void append_submit_program(Frame& out, std::uint64_t job, const SubmitProgram& program) {
  flatbuffers::FlatBufferBuilder builder(4096 + program.text.size());
  const auto text = builder.CreateString(program.text);
  const auto public_input = builder.CreateVector(program.public_input);
  const auto secret_input = builder.CreateVector(program.secret_input);
  const auto digests = builder.CreateVector(program.secret_digests);
  const auto ram = builder.CreateVector(program.ram);
  const auto runs = builder.CreateVector(program.runs);
  finish(out, builder, fbs::Body::SubmitProgram,
         fbs::CreateSubmitProgram(builder, job, program.tir ? fbs::ProgramForm::tir : fbs::ProgramForm::tasm, text,
                                  public_input, secret_input, digests, ram, program.cycles, program.milliseconds,
                                  program.programs, program.left_out, runs));
}

void append_submit_loop(Frame& out, const SubmitLoop& loop) {
  flatbuffers::FlatBufferBuilder builder(256 + loop.code.size());
  const auto code = builder.CreateVector(reinterpret_cast<const std::uint8_t*>(loop.code.data()), loop.code.size());
  finish(out, builder, fbs::Body::SubmitLoop,
         fbs::CreateSubmitLoop(builder, loop.job, TRIDENT_GUEST_AARCH64, loop.head, loop.code_base, code,
                               loop.inline_images, loop.joined));
}

void append_submit_function(Frame& out, const SubmitFunction& function) {
  flatbuffers::FlatBufferBuilder builder(256 + function.text.size() + function.calls.size());
  const auto text = builder.CreateString(function.text.data(), function.text.size());
  const auto calls = builder.CreateString(function.calls.data(), function.calls.size());
  finish(out, builder, fbs::Body::SubmitFunction,
         fbs::CreateSubmitFunction(builder, function.job, text, calls, function.inline_images));
}

void append_loop_seen(Frame& out, const LoopSeen& seen) {
  flatbuffers::FlatBufferBuilder builder(128);
  finish(out, builder, fbs::Body::LoopSeen,
         fbs::CreateLoopSeen(builder, seen.job, seen.entries, seen.iterations, seen.guest_ns, seen.kernel_ns));
}

void append_observed(Frame& out, std::uint64_t job, std::span<const Range> ranges, std::uint64_t misses,
                     std::uint64_t features) {
  const bool knows_nan = (features & kFeatureMissing) != 0;
  flatbuffers::FlatBufferBuilder builder(128 + ranges.size() * (sizeof(fbs::Range) + 1));
  fbs::Range* range = nullptr;
  const auto vector = builder.CreateUninitializedVectorOfStructs<fbs::Range>(ranges.size(), &range);
  for (const Range& r : ranges) {
    const Range told = r.or_nan && !knows_nan ? Range{} : r;
    *range++ = fbs::Range(told.lo, told.hi);
  }
  flatbuffers::Offset<flatbuffers::Vector<std::uint8_t>> or_nan;
  if (knows_nan && std::any_of(ranges.begin(), ranges.end(), [](const Range& r) { return r.or_nan; })) {
    std::uint8_t* flag = nullptr;
    or_nan = builder.CreateUninitializedVector(ranges.size(), &flag);
    for (const Range& r : ranges) *flag++ = r.or_nan ? 1 : 0;
  }
  finish(out, builder, fbs::Body::Observed, fbs::CreateObserved(builder, job, vector, misses, or_nan));
}

void append_called(Frame& out, std::uint64_t job, std::uint64_t weight) {
  flatbuffers::FlatBufferBuilder builder(128);
  finish(out, builder, fbs::Body::Called, fbs::CreateCalled(builder, job, weight));
}

void append_cancel(Frame& out, std::uint64_t job) {
  flatbuffers::FlatBufferBuilder builder(128);
  finish(out, builder, fbs::Body::Cancel, fbs::CreateCancel(builder, job));
}

void append_stats_request(Frame& out, std::uint64_t request) {
  flatbuffers::FlatBufferBuilder builder(128);
  finish(out, builder, fbs::Body::StatsRequest, fbs::CreateStatsRequest(builder, request));
}

Result<Incoming> decode(std::span<const std::byte> bytes) {
  const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  flatbuffers::Verifier verifier(data, bytes.size(), kDepthMax, kTablesMax);
  if (!fbs::VerifyMessageBuffer(verifier)) return refused("it is not a valid flatbuffer");
  const fbs::Message& message = *fbs::GetMessage(data);
  if (message.body() == nullptr) return refused("no body");
  if (message.body_type() > fbs::Body::MAX) return Incoming(Unknown{});
  switch (message.body_type()) {
    case fbs::Body::Welcome: {
      const auto& welcome = *message.body_as_Welcome();
      return Incoming(Welcome{welcome.version(), welcome.features()});
    }
    case fbs::Body::Accepted: return Incoming(Accepted{message.body_as_Accepted()->job()});
    case fbs::Body::Progress: {
      const auto& progress = *message.body_as_Progress();
      return Incoming(Progress{progress.job(), static_cast<std::uint8_t>(progress.stage()), progress.done(),
                               progress.total(), progress.best_ratio()});
    }
    case fbs::Body::KernelReady: return Incoming(ready_of(*message.body_as_KernelReady()));
    case fbs::Body::Revoke: {
      const auto& revoke = *message.body_as_Revoke();
      return Incoming(Revoke{revoke.job(), static_cast<std::uint8_t>(revoke.tier())});
    }
    case fbs::Body::Done: {
      const auto& done = *message.body_as_Done();
      return Incoming(Done{done.job(), outcome_of(done.outcome()), text_of(done.reason())});
    }
    case fbs::Body::Failure: {
      const auto& failure = *message.body_as_Failure();
      return Incoming(Failure{failure.job(), failure.code(), failure.retry_after_ms(), text_of(failure.message())});
    }
    case fbs::Body::Stats: {
      const auto& stats = *message.body_as_Stats();
      return Incoming(Stats{stats.request(), text_of(stats.json())});
    }
    case fbs::Body::ProgramReady: {
      const auto& ready = *message.body_as_ProgramReady();
      ProgramReady out{ready.job(),
                       text_of(ready.text()),
                       words_of(ready.heights_before()),
                       words_of(ready.heights_after()),
                       ready.words_before(),
                       ready.words_after(),
                       text_of(ready.report()),
                       ready.runs()};
      if (out.heights_before.size() != kTables || out.heights_after.size() != kTables)
        return refused("the program lacks the heights of its tables");
      return Incoming(std::move(out));
    }
    case fbs::Body::LoopRefused: {
      const auto& refused = *message.body_as_LoopRefused();
      return Incoming(LoopRefused{refused.job(), refused.reason(), refused.address(), text_of(refused.text())});
    }
    case fbs::Body::NONE:
    case fbs::Body::Hello:
    case fbs::Body::Submit:
    case fbs::Body::SubmitProgram:
    case fbs::Body::SubmitLoop:
    case fbs::Body::SubmitFunction:
    case fbs::Body::Observed:
    case fbs::Body::LoopSeen:
    case fbs::Body::Called:
    case fbs::Body::Cancel:
    case fbs::Body::StatsRequest: return refused("only a client may send this kind of message");
  }
  return Incoming(Unknown{});
}

}  // namespace trident::client::wire
