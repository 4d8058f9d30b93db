// `trident weights`: which weights the daemon's search goes by, and others in their place. The daemon sees the change
// at once; it is told nothing.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "clients/cli/train/commands.h"
#include "clients/cli/train/state_option.h"
#include "clients/cli/train/weights_programs.h"
#include "clients/cli/verb/verb.h"
#include "jit/expr/rewrite/guides.h"
#include "jit/expr/rewrite/language.h"
#include "jit/expr/rewrite/rules.h"
#include "jit/nnue/rule_keys.h"
#include "jit/training/train_guide.h"
#include "runtime/base/counted.h"
#include "runtime/json/json.h"
#include "runtime/store/state_folder.h"

namespace trident::cli {
namespace {

/// Returns the whole name of the version that begins with `beginning`.
Result<std::string> version_named(const store::Versions& versions, const std::string& beginning) {
  auto name = versions.find(beginning);
  if (name.ok() || name.error().code != ErrorCode::kNotFound) return name;
  return make_error(ErrorCode::kNotFound, "%s: `trident weights list` shows those there are",
                    name.error().message.c_str());
}

constexpr std::size_t kShownDigits = 12;
constexpr std::size_t kStrangersShown = 5;
constexpr const char* kUntrained = "untrained";

struct WeightsVerb {
  std::string state, name;
  std::uint64_t seed = 1;
  bool json = false;
};

std::string shown(std::string_view name) {
  return std::string(name.substr(0, kShownDigits));
}

/// "held out 0.512 (0.587 before), 120 expressions, 2026-11-23T07:00:00Z"; what is no such object is shown as it is.
std::string figures_text(const store::Versions::Version& version) {
  if (version.name == store::Versions::kNone) return "the weights that come with the program";
  const auto root = Json::parse(version.figures);
  if (!root.is_object() || !root.contains("ratio")) return version.figures;
  return fmt::format("held out {:.4f} ({:.4f} before), {}, {}", root.value("ratio", 0.0),
                     root.value("ratio_before", 0.0), counted(root.value("held_out", std::uint64_t{0}), "expression"),
                     root.value("date", ""));
}

/// A choice that cannot be read is mended by another one.
Error with_mend(const Error& error, const std::string& state) {
  if (error.code != ErrorCode::kRejectedRecord) return error;
  return make_error(error.code, "%s; `trident weights use none --state %s` goes back to the program's own",
                    error.message.c_str(), state.c_str());
}

/// Versions and other files that nobody can use, on standard error.
void say_what_is_unfit(const store::Versions& versions, std::span<const store::Versions::Version> all) {
  for (const auto& version : all)
    if (version.name != store::Versions::kNone)
      if (const auto mapped = versions.map(version.name); !mapped.ok())
        std::fprintf(stderr, "trident: %s; it cannot be used\n", mapped.error().message.c_str());
  const std::vector<std::string> strangers = versions.strangers();
  if (strangers.empty()) return;
  const std::span shown(strangers.data(), std::min(strangers.size(), kStrangersShown));
  const std::size_t more = strangers.size() - shown.size();
  std::fprintf(
      stderr,
      "trident: %s: skipped files that are not versions of weights: %s%s; `trident weights show FILE` shows one\n",
      versions.folder().c_str(), fmt::format("{}", fmt::join(shown, ", ")).c_str(),
      more == 0 ? "" : fmt::format(" and {} more", more).c_str());
}

/// The daemon's weights, to look at alone: no folder is made. One that is not there is said on standard error, and has
/// no versions.
store::Versions weight_versions_there(const std::string& state) {
  auto versions = store::Versions::at(state + "/weights");
  std::error_code ignored;
  const bool no_state = !std::filesystem::exists(state, ignored);
  const std::string& absent = no_state ? state : versions.folder();
  if (no_state || (std::filesystem::is_directory(state, ignored) && !std::filesystem::exists(absent, ignored)))
    std::fprintf(stderr,
                 "trident: %s: there is no such folder, so no weights were promoted or chosen; check that --state is "
                 "the same as the daemon's (tridentd --state)\n",
                 absent.c_str());
  return versions;
}

Result<int> list(const WeightsVerb& verb) {
  TRY(const std::string state, store::state_folder(verb.state));
  const store::Versions versions = weight_versions_there(state);
  const auto listed = versions.list();
  if (!listed.ok()) return with_mend(listed.error(), state);
  const auto& all = *listed;
  say_what_is_unfit(versions, all);
  if (verb.json) {
    Json root = Json::array();
    for (const auto& version : all) {
      auto figures = Json::parse(version.figures);
      if (figures.is_discarded()) figures = nullptr;
      root.push_back({{"name", version.name}, {"chosen", version.chosen}, {"figures", figures}});
    }
    std::puts(root.dump(1).c_str());
    return 0;
  }
  for (const auto& version : all)
    std::printf("%c %-*s  %s\n", version.chosen ? '*' : ' ', static_cast<int>(kShownDigits),
                shown(version.name).c_str(), figures_text(version).c_str());
  if (const std::string line = programs_line(state); !line.empty()) std::printf("%s\n", line.c_str());
  return 0;
}

Result<int> programs(const WeightsVerb& verb) {
  TRY(const std::string state, store::state_folder(verb.state));
  return show_programs(state, verb.json);
}

Result<int> use(const WeightsVerb& verb) {
  TRY(const std::string state, store::state_folder(verb.state));
  TRY(store::Versions versions, store::weight_versions(state));
  std::string name;
  if (verb.name == kUntrained) {
    TRY(const std::vector<std::byte> block, training::untrained_guide(verb.seed));
    TRY(name, versions.add(block, R"({"untrained": true})"));
  } else if (verb.name == store::Versions::kNone) {
    name = verb.name;  // which is there, and mends a choice that cannot be read
  } else {
    TRY(name, version_named(versions, verb.name));
  }
  if (name != store::Versions::kNone) {  // what the daemon would refuse is not chosen
    TRY([[maybe_unused]] const auto weights, expr::rewrite::guide_weights(versions.path_of(name)));
  }
  TRY_VOID(versions.choose(name));
  std::printf("%s\n", name.c_str());
  return 0;
}

/// Built-in rules that have a row of biases of their own.
std::size_t rules_known(const nn::AccumulatorWeights& weights) {
  const std::vector<std::uint32_t> rows =
      nnue::rows_of(expr::rewrite::builtin_rules().rules, expr::rewrite::op_rows(), weights.keys());
  return rows.size() - static_cast<std::size_t>(std::count(rows.begin(), rows.end(), 0u));
}

Result<int> show(const WeightsVerb& verb) {
  std::string path;  // of the program's own: none
  store::Versions::Version version{std::string(store::Versions::kNone), "", false};
  if (verb.name.find('/') != std::string::npos) {
    path = version.name = verb.name;
  } else {
    TRY(const std::string state, store::state_folder(verb.state));
    const store::Versions versions = weight_versions_there(state);
    TRY(const std::string name, verb.name.empty() ? versions.chosen() : version_named(versions, verb.name));
    TRY(const auto all, versions.list());
    version = *std::find_if(all.begin(), all.end(), [&](const auto& v) { return v.name == name; });
    if (name != store::Versions::kNone) path = versions.path_of(name);
  }
  TRY(const nn::AccumulatorWeights weights, expr::rewrite::any_weights(path));
  const std::size_t rules = expr::rewrite::builtin_rules().rules.size(), known = rules_known(weights);
  const std::size_t bytes = std::size_t{weights.stored_rows()} * nn::kLanes;
  const bool guide = expr::rewrite::is_guide(weights);
  const bool judge = expr::rewrite::is_judge(weights) || !weights.behind().empty();
  if (verb.json) {
    auto figures = Json::parse(version.figures);
    if (figures.is_discarded()) figures = nullptr;
    const Json root = {{"name", version.name},
                       {"chosen", version.chosen},
                       {"features", weights.features()},
                       {"rows", weights.stored_rows()},
                       {"row_bytes", bytes},
                       {"rules", rules},
                       {"rules_known", known},
                       {"guide", guide},
                       {"judge", judge},
                       {"figures", figures}};
    std::puts(root.dump(1).c_str());
    return 0;
  }
  std::printf("%s%s\n", version.name.c_str(), version.chosen ? ", chosen" : "");
  std::printf("  features   %u of %u have a row, %.1f MB; the others have zeros\n", weights.stored_rows(),
              weights.features(), static_cast<double>(bytes) * 1e-6);
  if (!guide) std::printf("  guide      none: that head was never trained, and no search can go by these\n");
  std::printf("  rules      %zu of %zu built-in ones have biases of their own\n", known, rules);
  std::printf("  judge      %s\n", judge ? "trained: guesses times" : "none of its own: the program's");
  if (verb.name.find('/') == std::string::npos) std::printf("  figures    %s\n", figures_text(version).c_str());
  return 0;
}

Error nothing_to_roll_back(const std::string& why) {
  return make_error(
      ErrorCode::kNotFound,
      "%s: weights are chosen by `trident train daemon`; `trident weights list` shows them, --state names "
      "another folder",
      why.c_str());
}

Result<int> roll_back(const WeightsVerb& verb) {
  TRY(const std::string state, store::state_folder(verb.state));
  store::Versions versions = weight_versions_there(state);
  std::error_code failed;
  if (!std::filesystem::exists(versions.folder(), failed) && !failed)
    return nothing_to_roll_back(versions.folder() + ": nothing was chosen before");
  const auto name = versions.roll_back();
  if (!name.ok() && name.error().code == ErrorCode::kNotFound) return nothing_to_roll_back(name.error().message);
  if (!name.ok()) return name.error();
  std::printf("%s\n", name->c_str());
  return 0;
}

}  // namespace

void add_weights_command(Verb app, int& status) {
  const Verb verb = app.add_subcommand("weights", "List, show or roll back search weights");
  verb.require_subcommand();
  const auto add = [&](const char* name, const char* meaning, Result<int> (*run)(const WeightsVerb&)) {
    const Verb one = verb.add_subcommand(name, meaning);
    auto state = std::make_shared<WeightsVerb>();
    add_state_option(one, state->state);
    one.callback([state, run, &status] {
      const auto code = run(*state);
      status = code ? *code : report(code.error());
    });
    return std::pair{one, state};
  };
  auto [listing, listed] = add("list", "List all versions with their figures; a star marks the chosen one", list);
  listing.add_flag("--json", listed->json, "Print a JSON array instead of text");
  auto [showing, showed] = add("show", "Show one version: rows, rules that it knows, figures", show);
  showing.add_option(
      "NAME", showed->name,
      "First digits of the digest, none (the program's own), or a file with a / in it; default: the chosen version");
  showing.add_flag("--json", showed->json, "Print a JSON object instead of text");
  auto [using_, used] = add("use", "Choose a version, and print its name", use);
  using_
      .add_option("NAME", used->name,
                  "First digits of the version's digest, none (the program's own weights) or untrained")
      .required();
  using_.add_option("--seed", used->seed, "Seed of untrained weights").check(range(0, 1'000'000)).capture_default_str();
  auto [of_programs, of_programs_state] =
      add("programs", "List what was learnt from Triton VM programs, and what was promoted", programs);
  of_programs.add_flag("--json", of_programs_state->json, "Print a JSON object instead of text");
  add("rollback", "Go back to the version chosen before, and print its name", roll_back);
}

}  // namespace trident::cli
