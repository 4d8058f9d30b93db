#include "daemon/worker/program_message.h"

#include "schemas/control_generated.h"

namespace trident::worker {

std::string program_message(std::uint64_t job, const tir::build::Built& built) {
  flatbuffers::FlatBufferBuilder builder(built.tasm.size() + 4096);
  const auto text = builder.CreateString(built.tasm);
  const auto report = builder.CreateString(built.report);
  const auto before = builder.CreateVector(built.before.rows, tir::vm::kTableCount);
  const auto after = builder.CreateVector(built.after.rows, tir::vm::kTableCount);
  const auto body = wire::CreateProgramReady(builder, job, text, before, after, built.words_before, built.words_after,
                                             report, static_cast<std::uint32_t>(built.runs));
  wire::FinishMessageBuffer(builder, wire::CreateMessage(builder, wire::Body::ProgramReady, body.Union()));
  return {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()};
}

bool is_program_message(std::span<const std::byte> message, std::uint64_t job) {
  constexpr flatbuffers::uoffset_t kDepthMax = 8, kTablesMax = 32;
  flatbuffers::Verifier verifier(reinterpret_cast<const std::uint8_t*>(message.data()), message.size(), kDepthMax,
                                 kTablesMax);
  if (!wire::VerifyMessageBuffer(verifier)) return false;
  const wire::ProgramReady* const body = wire::GetMessage(message.data())->body_as_ProgramReady();
  const auto complete = [](const auto* rows) { return rows != nullptr && rows->size() == tir::vm::kTableCount; };
  return body != nullptr && body->job() == job && body->text() != nullptr && complete(body->heights_before()) &&
         complete(body->heights_after());
}

}  // namespace trident::worker
