#include "clients/emu/cpu.h"

#include <csignal>

namespace trident::emu {
namespace {

/// Numbers of QEMU's exceptions of Arm.
enum Exception : std::uint32_t { kUndefined = 1, kSystemCall = 2, kPrefetchAbort = 3, kDataAbort = 4, kBreakpoint = 7 };

/// No program reaches it: it lies beyond the address space.
constexpr std::uint64_t kNever = ~std::uint64_t{15};

int signal_of(std::uint32_t exception) {
  if (exception == kBreakpoint) return SIGTRAP;
  if (exception == kPrefetchAbort || exception == kDataAbort) return SIGBUS;
  return SIGILL;
}

const char* sentence_of(int signal) {
  if (signal == SIGTRAP) return "it ran a breakpoint";
  if (signal == SIGBUS) return "it read or wrote at an address that the access may not have";
  return "it ran what is no instruction";
}

}  // namespace

Result<std::unique_ptr<Cpu>> Cpu::make() {
  std::unique_ptr<Cpu> cpu(new Cpu);
  if (const uc_err error = uc_open(UC_ARCH_ARM64, UC_MODE_ARM, &cpu->engine_); error != UC_ERR_OK)
    return make_error(ErrorCode::kUnsupported, "Unicorn makes no AArch64 CPU: %s", uc_strerror(error));
  uc_hook interrupts = 0, accesses = 0;
  const bool hooked = uc_hook_add(cpu->engine_, &interrupts, UC_HOOK_INTR, reinterpret_cast<void*>(&on_interrupt),
                                  cpu.get(), 1, 0) == UC_ERR_OK &&
                      uc_hook_add(cpu->engine_, &accesses, UC_HOOK_MEM_INVALID, reinterpret_cast<void*>(&on_bad_access),
                                  cpu.get(), 1, 0) == UC_ERR_OK;
  if (!hooked || !cpu->enable_floats())
    return make_error(ErrorCode::kUnsupported, "Unicorn takes no hooks, or has no floats: is it 2.0.1 or later?");
  return cpu;
}

Cpu::~Cpu() {
  if (engine_ != nullptr) uc_close(engine_);
}

bool Cpu::enable_floats() {
  constexpr std::uint64_t kFullAccess = 3U << 20;  // CPACR_EL1.FPEN
  std::uint64_t control = 0;
  if (uc_reg_read(engine_, UC_ARM64_REG_CPACR_EL1, &control) != UC_ERR_OK) return false;
  control |= kFullAccess;
  return uc_reg_write(engine_, UC_ARM64_REG_CPACR_EL1, &control) == UC_ERR_OK;
}

bool Cpu::map(const Area& area) {
  return uc_mem_map_ptr(engine_, area.base, area.bytes, area.permissions, area.host) == UC_ERR_OK;
}

void Cpu::unmap(std::uint64_t base, std::uint64_t bytes) {
  uc_mem_unmap(engine_, base, bytes);
}

void Cpu::forget_code(std::uint64_t base, std::uint64_t bytes) {
  uc_ctl_remove_cache(engine_, base, base + bytes);
}

void Cpu::stop() {
  uc_emu_stop(engine_);
}

void Cpu::go_round() {
  goes_round_ = true;
  stop();
}

void Cpu::answer_call() {
  SystemCall call{};
  uc_reg_read(engine_, UC_ARM64_REG_X8, &call.number);
  for (unsigned i = 0; i < call.arguments.size(); ++i)
    uc_reg_read(engine_, UC_ARM64_REG_X0 + static_cast<int>(i), &call.arguments[i]);
  const std::uint64_t answer = call_(call);
  uc_reg_write(engine_, UC_ARM64_REG_X0, &answer);
}

void Cpu::on_interrupt(uc_engine*, std::uint32_t number, void* cpu) {
  auto& self = *static_cast<Cpu*>(cpu);
  if (number == kSystemCall) return self.answer_call();
  self.trap_ = signal_of(number);
  self.stop();
}

bool Cpu::on_bad_access(uc_engine*, uc_mem_type, std::uint64_t address, int, std::int64_t, void* cpu) {
  static_cast<Cpu*>(cpu)->bad_address_ = address;
  return false;
}

Stop Cpu::reason(uc_err error) const {
  Stop stop;
  uc_reg_read(engine_, UC_ARM64_REG_PC, &stop.pc);
  if (trap_ != 0) return {trap_, stop.pc, 0, sentence_of(trap_)};
  const auto bad = [&](const char* what) { return Stop{SIGSEGV, stop.pc, bad_address_, what}; };
  if (error == UC_ERR_OK) return stop;
  if (error == UC_ERR_READ_UNMAPPED) return bad("it read memory that is not mapped");
  if (error == UC_ERR_WRITE_UNMAPPED) return bad("it wrote memory that is not mapped");
  if (error == UC_ERR_FETCH_UNMAPPED) return bad("it jumped to memory that is not mapped");
  if (error == UC_ERR_READ_PROT) return bad("it read memory that may not be read");
  if (error == UC_ERR_WRITE_PROT) return bad("it wrote memory that may not be written");
  if (error == UC_ERR_FETCH_PROT) return bad("it jumped to memory that may not be run");
  return {SIGILL, stop.pc, 0, sentence_of(SIGILL)};
}

Stop Cpu::run(std::uint64_t pc, std::uint64_t sp, const std::function<std::uint64_t(const SystemCall&)>& call) {
  call_ = call;
  trap_ = 0;
  bad_address_ = 0;
  uc_reg_write(engine_, UC_ARM64_REG_SP, &sp);
  uc_err error = UC_ERR_OK;
  do {
    goes_round_ = false;
    error = uc_emu_start(engine_, pc, kNever, 0, 0);
    uc_reg_read(engine_, UC_ARM64_REG_PC, &pc);
  } while (error == UC_ERR_OK && goes_round_);
  return reason(error);
}

}  // namespace trident::emu
