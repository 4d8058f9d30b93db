// A few numbers that identify the compiler's output for a fixed corpus: README.md.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "jit/corpus/corpus_reader.h"
#include "jit/expr/rewrite/rewrite.h"
#include "jit/pipeline/forms.h"
#include "runtime/command_line/usage_error.h"

namespace trident {
namespace {

struct Settings {
  std::vector<std::string> corpora;
  std::uint64_t seed = 1;
  std::uint32_t nodes = expr::rewrite::kSearchBudget.nodes;
  std::uint64_t every = 1;
  bool backwards = false, swapped = false;
};

/// The variants of each form that are made.
constexpr std::size_t kVariants = 2;

struct Source {
  std::string name;
  expr::Expr expr;
};

Result<std::vector<Source>> read_sources(const std::string& corpus) {
  TRY(const std::vector<corpus::CorpusKernel> kernels, corpus::read_corpus(corpus));
  std::vector<Source> sources;
  for (const corpus::CorpusKernel& kernel : kernels) {
    for (const ir::Type type : {ir::Type::f32, ir::Type::f64}) {
      TRY(expr::Expr e, corpus::to_expr(kernel, type));
      sources.push_back({kernel.name + " " + std::string(ir::name_of(type)), std::move(e)});
    }
  }
  return sources;
}

/// FPBench's cores, one after the other; those that are no expressions (loops, tensors) are left out.
Result<std::vector<Source>> read_fpcores(const std::string& path) {
  std::ifstream file(path);
  if (!file) return make_error(ErrorCode::kNotFound, "cannot read %s", path.c_str());
  std::vector<Source> sources;
  std::string form;
  int depth = 0;
  bool quoted = false;
  for (std::string line; std::getline(file, line);) {
    for (const char c : line + "\n") {
      if (c == ';' && !quoted) break;
      if (c == '"') quoted = !quoted;
      if (!quoted) depth += c == '(' ? 1 : c == ')' ? -1 : 0;
      form += c;
      if (depth != 0 || c != ')' || quoted) continue;
      auto parsed = expr::parse_fpcore(form, {});
      if (parsed.ok()) sources.push_back({std::to_string(sources.size()), std::move(*parsed)});
      form.clear();
    }
  }
  return sources;
}

/// Hashes of the compiled sources; the order of the sources does not matter.
struct Stage {
  std::uint64_t sum = 0;
  std::size_t count = 0;
  void add(const std::string& name, const void* data, std::size_t size) {
    sum += XXH3_64bits_withSeed(data, size, XXH3_64bits(name.data(), name.size()));
    ++count;
  }
};

struct Signature {
  Stage found, kernels, code;
};

/// Keeps the first of every `every` sources.
void keep_some(std::vector<Source>& sources, std::size_t every) {
  std::vector<Source> kept;
  for (std::size_t i = 0; i < sources.size(); i += every) kept.push_back(std::move(sources[i]));
  sources = std::move(kept);
}

void swap_operands(expr::Expr& e) {
  for (expr::Node& n : e.nodes)
    if (n.op == expr::Op::Sub && n.a != n.b) return std::swap(n.a, n.b);
}

Result<void> add_search(const Source& source, const Settings& settings, Signature& signature) {
  expr::rewrite::RewriteOptions options;
  options.budget = expr::rewrite::kSearchBudget;
  options.budget.nodes = settings.nodes;
  options.seed = settings.seed;
  TRY(const expr::rewrite::Rewritten found, expr::rewrite::rewrite(source.expr, options));
  for (const expr::Expr& form : found.forms) {
    const std::vector<std::byte> bytes = expr::canonical_bytes(form);
    signature.found.add(source.name, bytes.data(), bytes.size());
  }
  const std::uint64_t counts[] = {found.stats.nodes, found.stats.applications, found.stats.matches, found.stats.graphs};
  signature.found.add(source.name, counts, sizeof counts);
  return {};
}

Result<void> add_code(const Source& source, const Settings& settings, Signature& signature) {
  const std::function<void(const pipeline::Progress&)> nobody;
  for (const codegen::Isa isa : {codegen::Isa::avx2, codegen::Isa::avx512, codegen::Isa::neon}) {
    for (const expr::PolicyKind policy : {expr::PolicyKind::bounded, expr::PolicyKind::exact}) {
      pipeline::Options options{.target = {.isa = isa, .policy = {.kind = policy}}, .search = {.seed = settings.seed}};
      options.search.costs = &expr::rewrite::default_op_costs(codegen::name_of(isa));  // whatever processor this is
      const pipeline::PassScope passes(options, nobody);
      TRY(const expr::Expr plain, expr::eliminate_derivatives(source.expr));
      TRY(const std::vector<pipeline::Form> forms, pipeline::forms(source.expr, plain, options, passes));
      for (const pipeline::Form& form : forms) {
        const std::string text = kir::print(form.kernel);
        signature.kernels.add(source.name + form.name, text.data(), text.size());
        std::vector<codegen::Variant> variants = codegen::variants(form.kernel, isa);
        variants.resize(std::min(variants.size(), kVariants));
        variants.push_back(pipeline::kBaselineVariant);
        for (const codegen::Variant& variant : variants) {
          const auto code = codegen::emit(form.kernel, isa, variant);
          if (!code.ok() && code.error().code != ErrorCode::kUnsupported) return code.error();
          if (code.ok()) signature.code.add(source.name + form.name, code->bytes.data(), code->bytes.size());
        }
      }
    }
  }
  return {};
}

Result<Signature> signature_of(const std::string& corpus, const Settings& settings) {
  TRY(std::vector<Source> sources, corpus.ends_with(".fpcore") ? read_fpcores(corpus) : read_sources(corpus));
  if (settings.every > 1) keep_some(sources, settings.every);
  if (settings.backwards) std::reverse(sources.begin(), sources.end());
  if (settings.swapped) swap_operands(sources.front().expr);
  Signature signature;
  for (Source& source : sources) {
    TRY_VOID(add_search(source, settings, signature));
    TRY(source.expr, expr::eliminate_derivatives(source.expr));
    TRY_VOID(add_code(source, settings, signature));
  }
  return signature;
}

int run(const Settings& settings) {
  std::uint64_t all = 0;
  for (const std::string& corpus : settings.corpora) {
    const auto signature = signature_of(corpus, settings);
    if (!signature.ok()) {
      std::fprintf(stderr, "%s: %s\n", corpus.c_str(), signature.error().message.c_str());
      return 2;
    }
    const std::string name = corpus.substr(corpus.find_last_of('/') + 1);
    const auto print = [&](const char* what, const Stage& stage) {
      std::printf("%-28s %-8s %6zu %016llx\n", name.c_str(), what, stage.count,
                  static_cast<unsigned long long>(stage.sum));
      all = XXH3_64bits_withSeed(&stage.sum, sizeof stage.sum, all);
    };
    print("search", signature->found);
    print("kernels", signature->kernels);
    print("code", signature->code);
  }
  std::printf("Signature: %016llx\n", static_cast<unsigned long long>(all));
  return 0;
}

}  // namespace
}  // namespace trident

int main(int argc, char** argv) {
  trident::Settings settings;
  trident::command_line::Application program("What the compiler makes of a corpus, as one number.", "signature");
  const trident::command_line::Command app = program.command();
  app.add_option("corpora", settings.corpora, "files like kernels.tsv, rewrite.txt, or of FPCore").required();
  app.add_option("--seed", settings.seed, "of the search").capture_default_str();
  app.add_option("--nodes", settings.nodes, "of one graph of the search").capture_default_str();
  app.add_option("--every", settings.every, "only each N-th expression of a corpus, from the first")
      .check(trident::command_line::range(std::uint64_t{1}, UINT64_MAX))
      .capture_default_str();
  app.add_flag("--backwards", settings.backwards, "the last expression first: it must not matter");
  app.add_flag("--swapped", settings.swapped, "with the operands of one subtraction swapped: it must matter");
  if (const auto status = trident::command_line::exit_status(program, program.parse(argc, argv))) return *status;
  return trident::run(settings);
}
