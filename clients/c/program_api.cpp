// trident_build_program(): arguments into a message to the daemon or a call of the engine, the answer into memory that
// the caller gives back.
#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <span>
#include <string>

#include "clients/c/abi_edge.h"
#include "clients/c/engine_library.h"
#include "clients/c/program.h"
#include "runtime/base/limits.h"
#include "runtime/base/program_limits.h"

namespace {

using trident::Error;
using trident::ErrorCode;
using trident::make_error;
using trident::Result;
using trident::client::guarded;
using trident::client::invalid;
using trident::client::Settings;
using trident::client::widened;
namespace client = trident::client;

constexpr std::uint64_t kModulus = 0xFFFF'FFFF'0000'0001;  // elements are below it
constexpr std::uint64_t kDigestWords = 5;
constexpr std::uint32_t kStages =
    TRIDENT_WITHOUT_PEEPHOLES | TRIDENT_WITHOUT_SUBROUTINES | TRIDENT_WITHOUT_SUPEROPTIMISER | TRIDENT_WITHOUT_NETWORK;

/// A program and the texts that it points at.
struct Held final : trident_program {
  std::string tasm_text, report_text;
};

struct Progress {
  int (*call)(std::uint32_t, std::uint32_t, void*);
  void* user;
};

Result<std::vector<std::uint64_t>> words_of(const std::uint64_t* words, std::uint64_t count, std::uint64_t each,
                                            const char* what) {
  if (count > trident::limits::kTextBytesMax / each)
    return make_error(ErrorCode::kLimitExceeded, "%s has too many words", what);
  if (count != 0 && words == nullptr) return make_error(ErrorCode::kInvalidArgument, "%s is null", what);
  std::vector<std::uint64_t> out(words, words + count * each);
  for (const std::uint64_t word : out)
    if (word >= kModulus)
      return make_error(ErrorCode::kInvalidArgument, "%s has %llu, which is not below p = 2^64 - 2^32 + 1", what,
                        static_cast<unsigned long long>(word));
  return out;
}

/// Appends a run, as jit/tir/build/runs.h has it.
Result<void> append_run(std::vector<std::uint64_t>& out, const trident_program_run& run) {
  TRY(const auto public_input, words_of(run.public_input, run.public_count, 1, "public_input"));
  TRY(const auto secret_input, words_of(run.secret_input, run.secret_count, 1, "secret_input"));
  TRY(const auto digests, words_of(run.secret_digests, run.digest_count, kDigestWords, "secret_digests"));
  TRY(const auto ram, words_of(run.ram, run.ram_count, 2, "ram"));
  out.insert(out.end(), {run.public_count, run.secret_count, run.digest_count, run.ram_count});
  for (const auto* words : {&public_input, &secret_input, &digests, &ram})
    out.insert(out.end(), words->begin(), words->end());
  return {};
}

Result<client::wire::SubmitProgram> program_of(const char* text, const trident_program_options& options) {
  const std::size_t size = ::strnlen(text, trident::limits::kTextBytesMax + 1);
  if (size > trident::limits::kTextBytesMax) return Error{ErrorCode::kLimitExceeded, "the text is longer than 1 MiB"};
  if (options.form > TRIDENT_TIR)
    return invalid("trident_program_options.form is neither TRIDENT_TASM nor TRIDENT_TIR");
  if ((options.left_out & ~kStages) != 0) return invalid("trident_program_options.left_out has an unknown bit");
  if (options.reserved != 0) return invalid("trident_program_options.reserved is not 0");
  client::wire::SubmitProgram program{.tir = options.form == TRIDENT_TIR, .text = {text, size}};
  TRY(program.public_input, words_of(options.public_input, options.public_count, 1, "public_input"));
  TRY(program.secret_input, words_of(options.secret_input, options.secret_count, 1, "secret_input"));
  TRY(program.secret_digests, words_of(options.secret_digests, options.digest_count, kDigestWords, "secret_digests"));
  TRY(program.ram, words_of(options.ram, options.ram_count, 2, "ram"));
  if (options.run_count >= trident::limits::kBuildRunsMax)
    return make_error(ErrorCode::kLimitExceeded, "at most %zu runs besides the first",
                      trident::limits::kBuildRunsMax - 1);
  if (options.run_count != 0 && options.runs == nullptr) return invalid("trident_program_options.runs is null");
  for (const trident_program_run& run : std::span(options.runs, options.run_count))
    TRY_VOID(append_run(program.runs, run));
  program.cycles = options.cycles;
  if (options.milliseconds != 0) program.milliseconds = options.milliseconds;
  if (options.programs != 0) program.programs = options.programs;
  program.left_out = static_cast<std::uint8_t>(options.left_out);
  return program;
}

Result<void> by_daemon(const std::string& socket, const client::wire::SubmitProgram& program, const Progress& progress,
                       Held& out) {
  TRY(client::wire::ProgramReady ready,
      client::build_program(socket, program, [&](std::uint32_t done, std::uint32_t total) {
        return progress.call == nullptr || progress.call(done, total, progress.user) == 0;
      }));
  if (ready.heights_before.size() != TRIDENT_TABLES || ready.heights_after.size() != TRIDENT_TABLES)
    return Error{ErrorCode::kRejectedMessage, "the daemon's answer has the wrong number of tables"};
  std::copy(ready.heights_before.begin(), ready.heights_before.end(), out.heights_before);
  std::copy(ready.heights_after.begin(), ready.heights_after.end(), out.heights_after);
  out.words_before = ready.words_before, out.words_after = ready.words_after;
  out.tasm_text = std::move(ready.text), out.report_text = std::move(ready.report);
  out.by_daemon = 1;
  return {};
}

void take_texts(void* taker, const char* tasm, std::uint64_t tasm_size, const char* report, std::uint64_t report_size) {
  Held& out = *static_cast<Held*>(taker);
  out.tasm_text.assign(tasm, tasm_size), out.report_text.assign(report, report_size);
}

/// Translates an engine's status to an error code that status_of() in last_error.cpp translates back.
ErrorCode code_of(std::uint32_t status) {
  switch (status) {
    case TRIDENT_E_SYNTAX: return ErrorCode::kSyntaxError;
    case TRIDENT_E_LIMIT: return ErrorCode::kLimitExceeded;
    case TRIDENT_E_MEMORY: return ErrorCode::kOutOfMemory;
    case TRIDENT_E_CANCELLED: return ErrorCode::kCancelled;
    case TRIDENT_E_UNSUPPORTED: return ErrorCode::kUnsupported;
    default: return ErrorCode::kInvalidArgument;
  }
}

Result<void> by_engine(const client::wire::SubmitProgram& program, const Progress& progress, Held& out) {
  TRY(const client::Engine engine, client::load_engine());
  if (engine.build == nullptr)
    return Error{ErrorCode::kUnsupported, "this older version of libtrident-engine.so cannot build programs"};
  trident_engine_program asked{};
  asked.struct_size = sizeof(asked);
  asked.form = program.tir ? TRIDENT_TIR : TRIDENT_TASM;
  asked.text = program.text.c_str(), asked.text_size = program.text.size();
  asked.public_input = program.public_input.data(), asked.public_words = program.public_input.size();
  asked.secret_input = program.secret_input.data(), asked.secret_words = program.secret_input.size();
  asked.secret_digests = program.secret_digests.data(), asked.digest_words = program.secret_digests.size();
  asked.ram = program.ram.data(), asked.ram_words = program.ram.size();
  asked.cycles = program.cycles;
  asked.milliseconds = program.milliseconds, asked.programs = program.programs, asked.left_out = program.left_out;
  asked.progress = progress.call, asked.user = progress.user;
  asked.runs = program.runs.data(), asked.runs_words = program.runs.size();
  engine.prepare_for(TRIDENT_ENGINE_PROGRAMS);
  const auto built = std::make_unique<trident_engine_built>();
  built->struct_size = sizeof(*built);
  engine.build(&asked, built.get(), take_texts, &out);
  if (built->status != TRIDENT_OK) return Error{code_of(built->status), built->message};
  if (built->runs == 0 && !program.runs.empty())
    return Error{ErrorCode::kUnsupported,
                 "this older version of libtrident-engine.so measures a program on one run only"};
  std::copy_n(built->heights_before, TRIDENT_TABLES, out.heights_before);
  std::copy_n(built->heights_after, TRIDENT_TABLES, out.heights_after);
  out.words_before = built->words_before, out.words_after = built->words_after;
  return {};
}

/// The daemon or the engine, as the context's mode says.
Result<void> built(const Settings& settings, const client::wire::SubmitProgram& program, const Progress& progress,
                   Held& out) {
  if (settings.mode == TRIDENT_MODE_INTERP)
    return Error{ErrorCode::kUnsupported, "mode interp uses neither daemon nor engine, so programs cannot be built"};
  if (settings.mode == TRIDENT_MODE_EMBEDDED) return by_engine(program, progress, out);
  const Result<void> answered = by_daemon(settings.socket_path, program, progress, out);
  if (settings.mode == TRIDENT_MODE_DAEMON || answered || !client::nobody_builds(answered.error())) return answered;
  const Result<void> here = by_engine(program, progress, out);
  if (here || here.error().code != ErrorCode::kUnsupported) return here;
  return make_error(ErrorCode::kDisconnected, "no daemon: %s; no engine: %s", answered.error().message.c_str(),
                    here.error().message.c_str());
}

std::uint64_t tallest(const std::uint64_t (&heights)[TRIDENT_TABLES]) {
  return *std::max_element(std::begin(heights), std::end(heights));
}

void complete(Held& out) {
  out.struct_size = sizeof(trident_program);
  const std::uint64_t before = tallest(out.heights_before), after = tallest(out.heights_after);
  out.padded_before = std::bit_ceil(before), out.padded_after = std::bit_ceil(after);
  const bool better = out.padded_after != out.padded_before ? out.padded_after < out.padded_before
                      : after != before                     ? after < before
                                                            : out.words_after < out.words_before;
  out.better = better ? 1 : 0;
  out.tasm = out.tasm_text.c_str(), out.tasm_size = out.tasm_text.size();
  out.report = out.report_text.c_str();
}

}  // namespace

extern "C" {

trident_status trident_build_program(trident_ctx* ctx, const char* text, const trident_program_options* options,
                                     int (*progress)(uint32_t done, uint32_t total, void* user), void* user,
                                     trident_program** program) {
  return guarded([&]() -> Result<void> {
    if (program == nullptr) return invalid("null pointer");
    *program = nullptr;
    if (ctx == nullptr || text == nullptr) return invalid("null pointer");
    TRY(const trident_program_options wide, widened(options, trident_program_options{}));
    TRY(const client::wire::SubmitProgram asked, program_of(text, wide));
    auto held = std::make_unique<Held>();
    TRY_VOID(built(ctx->settings(), asked, {progress, user}, *held));
    complete(*held);
    *program = held.release();
    return {};
  });
}

void trident_free_program(trident_program* program) {
  delete static_cast<Held*>(program);
}

}  // extern "C"
