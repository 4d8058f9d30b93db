#include "tests/differential/corpus_sources.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <vector>

#include "jit/corpus/corpus_reader.h"

namespace trident::testing {

void each_corpus_source(std::size_t every, const std::function<void(const std::string&, const expr::Expr&)>& visit) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator("bench/corpus"))
    if (entry.path().extension() == ".tsv") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  CHECK(!files.empty());
  std::size_t number = 0;
  for (const auto& file : files) {
    const auto kernels = corpus::read_corpus(file.string());
    CHECK(kernels.ok());
    for (corpus::CorpusKernel kernel : *kernels) {
      if (number++ % every != 0) continue;
      kernel.definition = kernel.definition.substr(0, kernel.definition.find('\t'));  // by_hand.tsv has another form
      for (const ir::Type type : {ir::Type::f32, ir::Type::f64}) {
        const auto source = corpus::to_expr(kernel, type);
        if (!source.ok()) std::fprintf(stderr, "%s: %s\n", kernel.name.c_str(), source.error().message.c_str());
        CHECK(source.ok());
        visit(file.stem().string() + " " + kernel.name + " " + std::string(ir::name_of(type)), *source);
      }
    }
  }
}

}  // namespace trident::testing
