// trident_engine_build(): jit/tir/build behind flat arrays.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <new>
#include <span>
#include <string_view>

#include "clients/c/engine_abi.h"
#include "clients/c/trident.h"
#include "jit/tir/build/runs.h"
#include "runtime/base/float_environment.h"

namespace {

using trident::Error;
using trident::ErrorCode;
using trident::Result;
namespace build = trident::tir::build;
namespace vm = trident::tir::vm;

constexpr std::uint32_t kProgressSteps = 1000;
/// The structs as they were first; what was appended is absent in those of older clients.
constexpr std::size_t kProgramBytesMin = offsetof(trident_engine_program, runs);
constexpr std::size_t kBuiltBytesMin = offsetof(trident_engine_built, runs);

std::vector<build::Element> elements(const std::uint64_t* words, std::uint64_t count) {
  std::vector<build::Element> out;
  for (const std::uint64_t word : std::span(words, count)) out.emplace_back(word);
  return out;
}

build::Run run_of(const trident_engine_program& program) {
  build::Run out;
  out.public_input = elements(program.public_input, program.public_words);
  out.secret_input = elements(program.secret_input, program.secret_words);
  const auto digests = elements(program.secret_digests, program.digest_words);
  out.secret_digests.resize(digests.size() / std::tuple_size_v<build::Digest>);
  for (std::size_t i = 0; i < out.secret_digests.size(); ++i)
    std::copy_n(digests.begin() + static_cast<std::ptrdiff_t>(i * out.secret_digests[i].size()),
                out.secret_digests[i].size(), out.secret_digests[i].begin());
  const auto ram = elements(program.ram, program.ram_words);
  for (std::size_t i = 0; i + 1 < ram.size(); i += 2) out.ram.emplace_back(ram[i], ram[i + 1]);
  return out;
}

Result<std::vector<build::Run>> further_runs(const trident_engine_program& program) {
  if (program.struct_size < sizeof(program)) return std::vector<build::Run>();
  return build::runs_of(std::span(program.runs, program.runs_words));
}

build::Request request_of(const trident_engine_program& program, std::vector<build::Run> more) {
  build::Request out;
  out.form = program.form == TRIDENT_TIR ? build::Form::tir : build::Form::tasm;
  out.text.assign(program.text, program.text_size);
  out.runs = {run_of(program)};
  std::move(more.begin(), more.end(), std::back_inserter(out.runs));
  if (program.cycles != 0) out.cycles = std::min<std::uint64_t>(program.cycles, out.cycles);
  out.milliseconds = program.milliseconds;
  out.programs = program.programs;
  out.left_out = static_cast<std::uint8_t>(program.left_out);
  return out;
}

std::uint32_t status_of(ErrorCode code) {
  if (code == ErrorCode::kSyntaxError) return TRIDENT_E_SYNTAX;
  return code == ErrorCode::kLimitExceeded ? TRIDENT_E_LIMIT : TRIDENT_E_INVALID;
}

void refuse(trident_engine_built& built, std::uint32_t status, std::string_view text) {
  built.status = status;
  const std::size_t size = std::min(text.size(), sizeof(built.message) - 1);
  std::memcpy(built.message, text.data(), size);
  built.message[size] = '\0';
}

void build_into(const trident_engine_program& program, trident_engine_built& built, trident_engine_take_fn take,
                void* taker) {
  bool given_up = false;
  const auto progress = [&](double done) {
    if (program.progress == nullptr || given_up) return !given_up;
    given_up = program.progress(static_cast<std::uint32_t>(done * kProgressSteps), kProgressSteps, program.user) != 0;
    return !given_up;
  };
  Result<std::vector<build::Run>> more = further_runs(program);
  if (!more) return refuse(built, status_of(more.error().code), more.error().message);
  const Result<build::Built> result = build::build(request_of(program, std::move(more).value()), progress);
  if (given_up) return refuse(built, TRIDENT_E_CANCELLED, "given up");
  if (!result) return refuse(built, status_of(result.error().code), result.error().message);
  static_assert(vm::kTableCount == TRIDENT_TABLES);
  std::copy_n(result->before.rows, vm::kTableCount, built.heights_before);
  std::copy_n(result->after.rows, vm::kTableCount, built.heights_after);
  if (built.struct_size >= offsetof(trident_engine_built, reserved))
    built.runs = static_cast<std::uint32_t>(result->runs);
  built.words_before = result->words_before, built.words_after = result->words_after;
  built.status = TRIDENT_OK;
  take(taker, result->tasm.c_str(), result->tasm.size(), result->report.c_str(), result->report.size());
}

}  // namespace

extern "C" void trident_engine_build(const trident_engine_program* program, trident_engine_built* built,
                                     trident_engine_take_fn take, void* taker) {
  built->status = TRIDENT_E_UNSUPPORTED;
  if (program->struct_size < kProgramBytesMin || built->struct_size < kBuiltBytesMin) return;
  const trident::StandardFloats floats;
  try {
    build_into(*program, *built, take, taker);
  } catch (const std::bad_alloc&) {
    refuse(*built, TRIDENT_E_MEMORY, "out of memory");
  } catch (...) {
    refuse(*built, TRIDENT_E_INVALID, "internal error");
  }
}
