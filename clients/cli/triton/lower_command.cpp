// `trident lower`: TIR to TASM the classical way, or the peephole passes over TASM.
#include <cstdio>

#include "clients/cli/triton/commands.h"
#include "clients/cli/triton/run_program.h"
#include "clients/cli/verb/verb.h"
#include "jit/tir/lowering/lowering.h"
#include "runtime/json/json.h"

namespace trident::cli {
namespace {

using tir::lowering::PassSet;
namespace lowering = tir::lowering;

struct LowerVerb {
  std::string file, output = "-", passes = "all", vm = "7";
  bool json = false;
};

Result<PassSet> passes_of(const std::string& list) {
  if (list == "all") return PassSet::all();
  PassSet out = PassSet::none();
  if (list == "none") return out;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    const std::string name = list.substr(at, end - at);
    const auto pass = lowering::pass_named(name);
    if (!pass) {
      std::string names;
      for (std::size_t i = 0; i < lowering::kPassCount; ++i)
        names += " " + std::string(lowering::name_of(static_cast<lowering::Pass>(i)));
      return make_error(ErrorCode::kInvalidArgument,
                        "--passes: there is no pass '%s'; expected all, none or names from%s", name.c_str(),
                        names.c_str());
    }
    out = out.with(*pass);
    at = end + 1;
  }
  return out;
}

Result<int> lower(const LowerVerb& verb) {
  TRY(const PassSet passes, passes_of(verb.passes));
  TRY(const auto source, read_program(verb.file, machine_named(verb.vm), PassSet::none()));
  const auto program = lowering::peephole(source.program, passes);
  std::string text = tir::tasm::print(program);
  if (verb.json) {
    Json json;
    json["words_before_passes"] = source.program.words();
    json["words"] = program.words();
    json["instructions"] = program.instructions.size();
    json["program"] = text;
    text = json.dump(2) + "\n";
  }
  TRY_VOID(write_text(verb.output, text));
  return 0;
}

}  // namespace

void add_lower_command(Verb app, int& status) {
  const Verb verb = app.add_subcommand("lower", "Translate TIR to the assembly of Triton VM");
  auto options = std::make_shared<LowerVerb>();
  verb.add_option("FILE", options->file, "TIR in a .tir, else TASM to shorten").required();
  verb.add_option("-o,--output", options->output, "Write the assembly to this file; - for standard output")
      .check(file_name_fault)
      .capture_default_str();
  verb.add_option("--passes", options->passes, "Peephole passes: all, none, or names with commas between")
      .capture_default_str();
  add_machine_option(verb, options->vm);
  verb.add_flag("--json", options->json, "Print a JSON object with the program and its words instead");
  verb.callback([options, &status] {
    const auto code = lower(*options);
    status = code ? *code : report(code.error());
  });
}

}  // namespace trident::cli
