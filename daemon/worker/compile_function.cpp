#include "daemon/worker/compile_function.h"

#include <string_view>

#include "jit/function/submission.h"
#include "jit/pipeline/function.h"
#include "runtime/log/log.h"
#include "runtime/os/sandbox.h"

namespace trident::worker {
namespace {

/// The stage of this process, once stage_functions() has made it.
std::unique_ptr<trials::Stage>& function_trials() {
  static std::unique_ptr<trials::Stage> of_all_functions;
  return of_all_functions;
}

constexpr std::string_view kWarmUpFunction =
    "fn count_bytes(x: [u8], c: u8) -> i64 {\n"
    "  let n = 0;\n"
    "  for i in 0..len(x) {\n"
    "    if x[i] == c { n = n + 1; }\n"
    "  }\n"
    "  return n;\n"
    "}\n";

Result<pipeline::CompiledFunction> compile_texts(const ingest::FunctionWork& work,
                                                 const pipeline::FunctionOptions& options) {
  TRY(const function::Program program, function::read_program(work.text, work.calls));
  return pipeline::compile_fastest(program.function(), program.library, options);
}

}  // namespace

bool compile_function(RequestSocket& front, const RequestHeader& request, const ingest::SubmitFunction& submit) {
  if (!submit.work.ok())
    return send_failure(front, request.ticket,
                        make_error(ErrorCode::kInternal, "the daemon's front passed on a malformed function"));
  const auto isa = image::isa_of(request.isa);
  if (!isa.ok()) return send_failure(front, request.ticket, isa.error());
  const std::uint64_t begun_ns = os::thread_work_ns();  // with the child of the trials
  const auto made = compile_texts(
      *submit.work, {.seed = request.seed, .key = request.key, .bulk = *isa, .stage = function_trials().get()});
  const std::uint64_t cpu_ns = os::thread_work_ns() - begun_ns;
  if (!made.ok()) return send_failure(front, request.ticket, made.error(), cpu_ns);
  const ResponseHeader header{
      .ticket = request.ticket, .kind = Kind::function_image, .baseline_checked = 1, .cpu_ns = cpu_ns};
  const auto& bytes = made->image.bytes;
  return front.send(header, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

void stage_functions() {
  if (auto made = pipeline::function_stage(); made.ok())
    function_trials() = std::move(*made);
  else
    log::warning("trials of functions will take longer: {}", made.error().message);
  (void)compile_texts({std::string(kWarmUpFunction), {}}, {.stage = function_trials().get()}).ok();
}

}  // namespace trident::worker
