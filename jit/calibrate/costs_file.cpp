#include "jit/calibrate/costs_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "jit/corpus/corpus_reader.h"
#include "runtime/os/cpu.h"
#include "runtime/os/text_file.h"

namespace trident::calibrate {
namespace fs = std::filesystem;

Result<std::string> user_costs_path(std::string_view isa) {
  const char* xdg = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  const std::string file = std::string(isa) + ".costs";
  if (xdg != nullptr && xdg[0] == '/') return (fs::path(xdg) / "trident" / file).string();
  if (home != nullptr && home[0] == '/') return (fs::path(home) / ".cache" / "trident" / file).string();
  return make_error(
      ErrorCode::kNotFound,
      "no cache folder for the costs: neither XDG_CACHE_HOME nor HOME is an absolute path; use --output FILE");
}

Result<cost::Table> read_costs(const std::string& path) {
  TRY(const std::string text, os::read_text(path, corpus::kCorpusBytesMax));
  return cost::parse(text, path);
}

Result<void> write_costs(const std::string& path, const cost::Table& table) {
  const auto failed = [&](const std::string& why) {
    return make_error(ErrorCode::kOsError, "%s: cannot be written: %s", path.c_str(), why.c_str());
  };
  std::error_code code;
  if (const fs::path folder = fs::path(path).parent_path(); !folder.empty()) fs::create_directories(folder, code);
  if (code) return failed(code.message());
  const std::string unfinished = path + "." + std::to_string(::getpid()) + ".part";
  errno = 0;
  std::ofstream out(unfinished, std::ios::binary);
  out << cost::print(table);
  out.close();
  if (!out) {
    const std::string why = std::strerror(errno);
    fs::remove(unfinished, code);
    return failed(why);
  }
  if (std::rename(unfinished.c_str(), path.c_str()) == 0) return {};
  const std::string why = std::strerror(errno);
  fs::remove(unfinished, code);
  return failed(why);
}

Result<cost::Table> host_costs(std::string_view isa) {
  const auto path = user_costs_path(isa);
  std::error_code code;
  if (!path.ok() || !fs::exists(*path, code)) {
    std::fprintf(
        stderr,
        "trident: no costs were measured here for %s (run `trident calibrate --ops`); using the shipped costs\n",
        std::string(isa).c_str());
    return cost::shipped(isa, os::cpu_model());
  }
  TRY(cost::Table table, read_costs(*path));
  if (!cost::fits(table, os::cpu_model(), isa)) {
    std::fprintf(stderr, "trident: %s: measured on %s for %s, not here for %s; using the shipped costs\n",
                 path->c_str(), table.cpu.c_str(), table.isa.c_str(), std::string(isa).c_str());
    return cost::shipped(isa, os::cpu_model());
  }
  return table;
}

}  // namespace trident::calibrate
