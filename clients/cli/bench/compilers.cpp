#include "clients/cli/bench/compilers.h"

#define XXH_INLINE_ALL
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

#include "clients/cli/bench/c_source.h"
#include "runtime/os/cpu.h"
#include "runtime/os/interrupt.h"
#include "runtime/os/process.h"

namespace trident::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kCompileTimeoutMs = 120'000;
/// Objects kept in the cache; above it the oldest half goes.
constexpr std::size_t kCachedObjectsMax = 8192;

Result<std::string> version_of(const std::string& program) {
  const auto result = os::run_command(std::vector<std::string>{program, "--version"}, 10'000);
  if (!result || !result->exit.clean())
    return make_error(ErrorCode::kNotFound, "%s is missing, but the benchmark compares with it: apt-get install %s",
                      program.c_str(), program.c_str());
  return result->output.substr(0, result->output.find('\n'));
}

/// The cache's folder, made if need be. Without a home a folder of this process under /tmp serves.
Result<fs::path> cache_folder() {
  const char* xdg = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  fs::path base;
  if (xdg != nullptr && xdg[0] == '/')
    base = xdg;
  else if (home != nullptr && home[0] == '/')
    base = fs::path(home) / ".cache";
  else
    base = fs::path("/tmp") / ("trident-" + std::to_string(::getuid()));
  const fs::path folder = base / "trident" / "bench";
  std::error_code code;
  fs::create_directories(folder, code);
  if (code) return make_error(ErrorCode::kOsError, "%s: %s", folder.c_str(), code.message().c_str());
  fs::permissions(folder, fs::perms::owner_all, code);
  return folder;
}

/// Removes the oldest half when the cache has grown beyond its bound. Failures do not matter: it is a cache.
void bound_cache(const fs::path& folder) {
  std::vector<std::pair<fs::file_time_type, fs::path>> files;
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(folder, code)) files.emplace_back(entry.last_write_time(code), entry);
  if (files.size() <= kCachedObjectsMax) return;
  std::sort(files.begin(), files.end());
  for (std::size_t i = 0; i < files.size() / 2; ++i) fs::remove(files[i].second, code);
}

/// The processor's name and flags, which decide what -march=native means.
std::string processor_identity() {
  std::ifstream in("/proc/cpuinfo");
  std::string identity = os::cpu_name();
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("flags") || line.starts_with("model") || line.starts_with("stepping")) {
      identity += line;
      if (line.starts_with("flags")) break;
    }
  return identity;
}

std::string key_of(const Build& build, const std::string& processor) {
  std::string text = "trident bench object 1\n" + build.compiler->program + "\n" + build.compiler->version + "\n";
  for (const std::string& flag : build.compiler->flags) text += flag + "\n";
  text += processor + "\n" + build.source;
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  char hex[33];
  std::snprintf(hex, sizeof hex, "%016llx%016llx", static_cast<unsigned long long>(hash.high64),
                static_cast<unsigned long long>(hash.low64));
  return hex;
}

Result<void> run_step(const std::vector<std::string>& command) {
  TRY(const os::CommandResult result, os::run_command(command, kCompileTimeoutMs));
  if (result.exit.clean()) return {};
  std::string line;
  for (const std::string& word : command) line += (line.empty() ? "" : " ") + word;
  return make_error(ErrorCode::kOsError, "%s: %s\n%s", line.c_str(), result.exit.describe().c_str(),
                    result.output.substr(0, 4000).c_str());
}

/// Files of one build under way, removed at the end whatever happens.
struct Scratch {
  fs::path source, object, shared;
  explicit Scratch(const fs::path& stem) : source(stem), object(stem), shared(stem) {
    source += ".c", object += ".o", shared += ".so.part";
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    std::error_code code;
    for (const fs::path& path : {source, object, shared}) fs::remove(path, code);
  }
};

Result<void> build_one(Build& build, const fs::path& folder, const std::string& processor) {
  const std::string key = key_of(build, processor);
  const fs::path target = folder / (key + ".so");
  std::error_code code;
  build.cached = fs::exists(target, code);
  if (build.cached) {
    fs::last_write_time(target, fs::file_time_type::clock::now(), code);  // recently used goes last
    build.object = target;
    return {};
  }
  // Two runs of the benchmark may build the same object: each has its own scratch files, the rename decides.
  static std::atomic<unsigned> serial = 0;
  const Scratch scratch(folder / (key + "." + std::to_string(::getpid()) + "." + std::to_string(serial++)));
  std::ofstream(scratch.source) << build.source;
  std::vector<std::string> compile = {build.compiler->program, "-x", "c", "-std=gnu11", "-fPIC", "-w"};
  compile.insert(compile.end(), build.compiler->flags.begin(), build.compiler->flags.end());
  compile.insert(compile.end(), {"-c", scratch.source, "-o", scratch.object});
  TRY_VOID(run_step(compile));
  TRY_VOID(run_step({build.compiler->program, "-shared", "-o", scratch.shared, scratch.object, "-lmvec", "-lm"}));
  fs::rename(scratch.shared, target, code);
  if (code) return make_error(ErrorCode::kOsError, "%s: %s", target.c_str(), code.message().c_str());
  build.object = target;
  return {};
}

}  // namespace

Result<std::vector<Compiler>> find_compilers(codegen::Isa isa, Against against) {
  const auto with = [&](std::initializer_list<const char*> more) {
    std::vector<std::string> flags = {"-O3", "-march=native"};
    if (against == Against::fast_math) flags.emplace_back("-ffast-math");
    if (isa == codegen::Isa::avx2) flags.emplace_back("-mno-avx512f");
    flags.insert(flags.end(), more.begin(), more.end());
    return flags;
  };
  std::vector<Compiler> compilers;
  switch (against) {
    case Against::fast_math:
      compilers = {{"g++-12 libmvec", "g++-12", with({}), true, ""},
                   {"g++-12", "g++-12", with({"-U__FAST_MATH__"}), true, ""},
                   {"clang-19 libmvec", "clang-19", with({"-fveclib=libmvec"}), true, ""},
                   {"clang-19", "clang-19", with({}), true, ""}};
      break;
    case Against::strict:
      compilers = {{"clang-19 strict", "clang-19", with({}), true, ""},
                   {"clang-19 no errno", "clang-19", with({"-fno-math-errno"}), false, ""},
                   {"clang-19 libmvec", "clang-19", with({"-fno-math-errno", "-fveclib=libmvec"}), false, ""},
                   {"g++-12 strict", "g++-12", with({}), false, ""},
                   {"g++-12 no errno", "g++-12", with({"-fno-math-errno"}), false, ""}};
      break;
  }
  compilers.push_back({"g++-12 -O2", "g++-12", {"-O2"}, false, ""});
  for (Compiler& compiler : compilers) {
    TRY(compiler.version, version_of(compiler.program));
  }
  return compilers;
}

Result<void> build_all(std::vector<Build>& builds, unsigned jobs, const std::function<void(std::size_t)>& progress) {
  os::note_interrupts();
  TRY(const fs::path folder, cache_folder());
  const std::string processor = processor_identity();
  std::atomic<std::size_t> next = 0;
  std::size_t done = 0;
  std::mutex mutex;
  const auto work = [&] {
    for (std::size_t i = next++; i < builds.size() && os::check_interrupted().ok(); i = next++) {
      if (const auto result = build_one(builds[i], folder, processor); !result)
        builds[i].error = result.error().message;
      const std::lock_guard lock(mutex);
      progress(++done);
    }
  };
  std::vector<std::thread> threads;
  for (unsigned j = 0; j < std::max(1u, jobs); ++j) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  bound_cache(folder);
  return os::check_interrupted();
}

}  // namespace trident::cli
