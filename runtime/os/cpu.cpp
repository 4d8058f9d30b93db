#include "runtime/os/cpu.h"

#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace trident::os {
namespace {

CpuFeatures detect() {
  CpuFeatures f;
#if defined(__x86_64__)
  __builtin_cpu_init();  // also asks xgetbv whether the system saves the wide registers
  f.avx2_fma = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
  f.bmi2 =
      f.avx2_fma && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("lzcnt");
  f.avx512 = f.avx2_fma && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
  f.avx512cd = f.avx512 && __builtin_cpu_supports("avx512cd");
  f.avx512vnni = f.avx512cd && __builtin_cpu_supports("avx512vnni");
#elif defined(__aarch64__)
  f.neon = true;
#endif
  return f;
}

std::string read_cpu_name() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    const auto colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

}  // namespace

const CpuFeatures& cpu_features() {
  static const CpuFeatures features = detect();
  return features;
}

std::string cpu_name() {
  static const std::string name = read_cpu_name();
  return name;
}

std::string cpu_model() {
  std::string model = cpu_name();
  for (char& c : model)
    if (c == '#' || static_cast<unsigned char>(c) < ' ') c = ' ';
#if defined(__x86_64__)
  unsigned eax = 0, registers[3] = {};
  if (__get_cpuid(0, &eax, &registers[0], &registers[2], &registers[1]) == 0) return model;
  char vendor[sizeof registers + 1] = {};
  std::memcpy(vendor, registers, sizeof registers);
  unsigned ignored = 0;
  if (__get_cpuid(1, &eax, &ignored, &ignored, &ignored) == 0) return model;
  // Intel SDM 2A, CPUID leaf 1: the extended fields count only beside the greatest family, or Intel's family 6.
  const unsigned base_family = eax >> 8 & 15;
  const unsigned family = base_family + (base_family == 15 ? eax >> 20 & 255 : 0);
  const unsigned extended_model = base_family == 15 || base_family == 6 ? eax >> 16 & 15 : 0;
  model += " (" + std::string(vendor) + " family " + std::to_string(family) + " model " +
           std::to_string(extended_model << 4 | (eax >> 4 & 15)) + " stepping " + std::to_string(eax & 15) + ")";
#endif
  return model;
}

std::size_t cache_bytes(int level) {
  const int name = level == 1 ? _SC_LEVEL1_DCACHE_SIZE : level == 2 ? _SC_LEVEL2_CACHE_SIZE : _SC_LEVEL3_CACHE_SIZE;
  const long bytes = sysconf(name);
  return bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
}

unsigned usable_cpus() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  const int count = CPU_COUNT(&set);
  return count > 0 ? static_cast<unsigned>(count) : 1;
}

Result<void> pin_to_current_cpu() {
  const int cpu = sched_getcpu();
  cpu_set_t set;
  CPU_ZERO(&set);
  if (cpu >= 0) CPU_SET(static_cast<unsigned>(cpu), &set);
  if (cpu < 0 || sched_setaffinity(0, sizeof set, &set) != 0)
    return make_error(ErrorCode::kOsError, "cannot pin the thread: %s", std::strerror(errno));
  return {};
}

}  // namespace trident::os
