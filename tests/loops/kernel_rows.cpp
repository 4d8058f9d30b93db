#include "tests/loops/kernel_rows.h"

#include <fstream>
#include <nlohmann/json.hpp>

namespace trident::tests {
namespace {

std::vector<std::byte> bytes_of(const std::string& hex) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return bytes;
}

}  // namespace

std::vector<KernelRow> kernel_rows(const std::string& file) {
  std::ifstream lines("tests/loops/kernels/" + file);
  std::vector<KernelRow> rows;
  for (std::string line; std::getline(lines, line);) {
    const auto row = nlohmann::json::parse(line);
    const std::uint64_t head = row["head"].is_string() ? std::stoull(row["head"].get<std::string>(), nullptr, 16)
                                                       : row["head"].get<std::uint64_t>();
    rows.push_back({row.value("label", "") + " " + row.value("opt", ""),
                    {.head = head, .code_base = head, .code = bytes_of(row["bytes"])}});
  }
  return rows;
}

std::vector<CompiledRow> compiled_rows() {
  std::vector<CompiledRow> rows;
  for (KernelRow& row : kernel_rows("kernel_loops.jsonl")) {
    auto outcome = pipeline::compile_loop(row.source, {.key = {}, .runs_trials = false});
    CHECK(outcome.ok());
    if (auto* compiled = std::get_if<pipeline::CompiledLoop>(&*outcome))
      rows.push_back({std::move(row.name), std::move(row.source), std::move(*compiled)});
  }
  return rows;
}

}  // namespace trident::tests
