/* Decodes and runs one instruction at a time: a row of kForms for each encoding class. Nothing is shared with Trident's
 * own decoder (jit/loop), so that the two check each other. */
#include "toy_cpu.h"

#include <stddef.h>
#include <string.h>

static uint32_t bits(uint32_t word, unsigned low, unsigned count) {
  return (word >> low) & ((1u << count) - 1);
}

static uint64_t sign_extended(uint64_t value, unsigned width) {
  const uint64_t sign = (uint64_t)1 << (width - 1);
  const uint64_t kept = width == 64 ? value : value & ((sign << 1) - 1);
  return (kept ^ sign) - sign;
}

static uint64_t ones(unsigned count) {
  return count >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << count) - 1;
}

static unsigned width_of(uint32_t word) {
  return word >> 31 != 0 ? 64 : 32;
}

static uint64_t cut(uint64_t value, unsigned width) {
  return value & ones(width);
}

/* Number 31 is zero in most places, and sp in some. */
static uint64_t get(const toy_cpu* cpu, uint32_t number) {
  return number == 31 ? 0 : cpu->x[number];
}

static void set(toy_cpu* cpu, uint32_t number, uint64_t value) {
  if (number != 31) cpu->x[number] = value;
}

static uint64_t rotated(uint64_t value, unsigned right, unsigned width) {
  const uint64_t low = cut(value, width);
  return right == 0 ? low : cut(low >> right | low << (width - right), width);
}

static uint64_t shifted(uint64_t value, uint32_t kind, unsigned amount, unsigned width) {
  const uint64_t low = cut(value, width);
  if (kind == 0) return cut(low << amount, width);
  if (kind == 1) return low >> amount;
  if (kind == 2) return cut((uint64_t)((int64_t)sign_extended(low, width) >> amount), width);
  return rotated(low, amount, width);
}

/* UXTB .. SXTX, then to the left. */
static uint64_t extended(uint64_t value, uint32_t option, unsigned left) {
  const unsigned width = 8u << (option & 3);
  return (option >= 4 ? sign_extended(value, width) : cut(value, width)) << left;
}

static void set_flags(toy_cpu* cpu, int n, int z, int c, int v) {
  cpu->nzcv = (uint32_t)n << 31 | (uint32_t)z << 30 | (uint32_t)c << 29 | (uint32_t)v << 28;
}

/* a + b, or a - b as a + ~b + 1. */
static uint64_t sum(toy_cpu* cpu, uint64_t a, uint64_t b, int subtract, int flags, unsigned width) {
  const uint64_t left = cut(a, width), right = cut(subtract ? ~b : b, width);
  const uint64_t result = cut(left + right + (uint64_t)subtract, width);
  const uint64_t sign = (uint64_t)1 << (width - 1);
  const int carry = result < left || (subtract && result == left && right == ones(width));
  if (flags) set_flags(cpu, (result & sign) != 0, result == 0, carry, (~(left ^ right) & (left ^ result) & sign) != 0);
  return result;
}

static int holds(const toy_cpu* cpu, uint32_t condition) {
  const int n = cpu->nzcv >> 31 & 1, z = cpu->nzcv >> 30 & 1, c = cpu->nzcv >> 29 & 1, v = cpu->nzcv >> 28 & 1;
  const int base[] = {z, c, n, v, c && !z, n == v, n == v && !z, 1};
  const int held = base[condition >> 1];
  return (condition & 1) != 0 && condition != 15 ? !held : held;
}

/* The repeated pattern that an immediate of a logical instruction stands for; 0 where it stands for none. */
static uint64_t pattern(uint32_t word, unsigned width) {
  const uint32_t n = bits(word, 22, 1), right = bits(word, 16, 6), size = bits(word, 10, 6);
  unsigned element = 64;
  if (n == 0) {
    for (element = 32; element > 1 && (size & element) != 0;) element /= 2;
  }
  if (element < 2 || element > width || (size & (element - 1)) == element - 1) return 0;
  const uint64_t one = rotated(ones((size & (element - 1)) + 1), right & (element - 1), element);
  uint64_t all = 0;
  for (unsigned at = 0; at < width; at += element) all |= one << at;
  return all;
}

static int add_immediate(toy_cpu* cpu, uint32_t w) {
  const uint64_t operand = (uint64_t)bits(w, 10, 12) << (bits(w, 22, 1) * 12);
  const int flags = (int)bits(w, 29, 1);
  const uint64_t result = sum(cpu, cpu->x[bits(w, 5, 5)], operand, (int)bits(w, 30, 1), flags, width_of(w));
  if (!flags || bits(w, 0, 5) != 31) cpu->x[bits(w, 0, 5)] = result;
  return 1;
}

static int add_shifted(toy_cpu* cpu, uint32_t w) {
  const unsigned width = width_of(w), amount = bits(w, 10, 6);
  if (bits(w, 22, 2) == 3 || amount >= width) return 0;
  const uint64_t operand = shifted(get(cpu, bits(w, 16, 5)), bits(w, 22, 2), amount, width);
  set(cpu, bits(w, 0, 5), sum(cpu, get(cpu, bits(w, 5, 5)), operand, (int)bits(w, 30, 1), (int)bits(w, 29, 1), width));
  return 1;
}

static int add_extended(toy_cpu* cpu, uint32_t w) {
  if (bits(w, 10, 3) > 4) return 0;
  const uint64_t operand = extended(get(cpu, bits(w, 16, 5)), bits(w, 13, 3), bits(w, 10, 3));
  const int flags = (int)bits(w, 29, 1);
  const uint64_t result = sum(cpu, cpu->x[bits(w, 5, 5)], operand, (int)bits(w, 30, 1), flags, width_of(w));
  if (!flags || bits(w, 0, 5) != 31) cpu->x[bits(w, 0, 5)] = result;
  return 1;
}

/* AND, ORR, EOR, ANDS. */
static uint64_t logic(toy_cpu* cpu, uint32_t w, uint64_t operand) {
  const unsigned width = width_of(w);
  const uint64_t a = get(cpu, bits(w, 5, 5));
  const uint32_t kind = bits(w, 29, 2);
  const uint64_t result = cut(kind == 1 ? a | operand : kind == 2 ? a ^ operand : a & operand, width);
  if (kind == 3) set_flags(cpu, (int)(result >> (width - 1) & 1), result == 0, 0, 0);
  return result;
}

static int logic_shifted(toy_cpu* cpu, uint32_t w) {
  const unsigned width = width_of(w), amount = bits(w, 10, 6);
  if (amount >= width) return 0;
  const uint64_t operand = shifted(get(cpu, bits(w, 16, 5)), bits(w, 22, 2), amount, width);
  set(cpu, bits(w, 0, 5), logic(cpu, w, bits(w, 21, 1) != 0 ? ~operand : operand));
  return 1;
}

static int logic_immediate(toy_cpu* cpu, uint32_t w) {
  const uint64_t operand = pattern(w, width_of(w));
  if (operand == 0) return 0;
  const uint64_t result = logic(cpu, w, operand);
  if (bits(w, 29, 2) != 3 || bits(w, 0, 5) != 31) cpu->x[bits(w, 0, 5)] = result;
  return 1;
}

/* MOVN, MOVZ, MOVK. */
static int move_wide(toy_cpu* cpu, uint32_t w) {
  const unsigned left = bits(w, 21, 2) * 16, width = width_of(w);
  const uint64_t operand = (uint64_t)bits(w, 5, 16) << left;
  const uint32_t kind = bits(w, 29, 2);
  if (kind == 1 || left >= width) return 0;
  const uint64_t kept = get(cpu, bits(w, 0, 5)) & ~((uint64_t)0xffff << left);
  set(cpu, bits(w, 0, 5), cut(kind == 0 ? ~operand : kind == 2 ? operand : kept | operand, width));
  return 1;
}

/* SBFM, BFM, UBFM: shifts, extensions, and fields. */
static int bitfield(toy_cpu* cpu, uint32_t w) {
  const unsigned width = width_of(w), right = bits(w, 16, 6), last = bits(w, 10, 6);
  const uint32_t kind = bits(w, 29, 2);
  if (kind == 3 || bits(w, 22, 1) != (width == 64) || right >= width || last >= width) return 0;
  const uint64_t source = get(cpu, bits(w, 5, 5)), to = get(cpu, bits(w, 0, 5));
  const unsigned count = last >= right ? last - right + 1 : last + 1, left = last >= right ? 0 : width - right;
  const uint64_t field = last >= right ? source >> right : source;
  uint64_t result = kind == 0 ? sign_extended(field, count) << left : (field & ones(count)) << left;
  if (kind == 1) result |= to & ~(ones(count) << left);
  set(cpu, bits(w, 0, 5), cut(result, width));
  return 1;
}

/* CSEL, CSINC, CSINV, CSNEG. */
static int select_by_condition(toy_cpu* cpu, uint32_t w) {
  if (bits(w, 29, 1) != 0 || bits(w, 11, 1) != 0) return 0;
  uint64_t other = get(cpu, bits(w, 16, 5));
  if (bits(w, 30, 1) != 0) other = ~other;
  if (bits(w, 10, 1) != 0) other += 1;
  set(cpu, bits(w, 0, 5), cut(holds(cpu, bits(w, 12, 4)) ? get(cpu, bits(w, 5, 5)) : other, width_of(w)));
  return 1;
}

/* MADD, MSUB. */
static int multiply(toy_cpu* cpu, uint32_t w) {
  const uint64_t product = get(cpu, bits(w, 5, 5)) * get(cpu, bits(w, 16, 5)), to = get(cpu, bits(w, 10, 5));
  set(cpu, bits(w, 0, 5), cut(bits(w, 15, 1) != 0 ? to - product : to + product, width_of(w)));
  return 1;
}

static uint8_t* memory_at(toy_cpu* cpu, uint64_t address, uint64_t bytes) {
  for (size_t i = 0; i < TOY_MEMORIES; ++i) {
    const toy_memory* m = &cpu->memory[i];
    if (address - m->base < m->size && bytes <= m->size - (address - m->base)) return m->host + (address - m->base);
  }
  return NULL;
}

/* `kind`: 0 stores, 1 loads, 2 and 3 load with the sign, into 64 and 32 bits. */
static int move_memory(toy_cpu* cpu, uint64_t address, uint32_t size, uint32_t kind, uint32_t number) {
  const unsigned bytes = 1u << size;
  uint8_t* const at = memory_at(cpu, address, bytes);
  uint64_t value = get(cpu, number);
  if (at == NULL || (kind >= 2 && size == 3) || (kind == 3 && size == 2)) return 0;
  if (kind == 0) {
    memcpy(at, &value, bytes);
    return 1;
  }
  value = 0;
  memcpy(&value, at, bytes);
  if (kind >= 2) value = cut(sign_extended(value, bytes * 8), kind == 3 ? 32 : 64);
  set(cpu, number, value);
  return 1;
}

static int memory_offset(toy_cpu* cpu, uint32_t w) {
  const uint32_t size = bits(w, 30, 2);
  return move_memory(cpu, cpu->x[bits(w, 5, 5)] + ((uint64_t)bits(w, 10, 12) << size), size, bits(w, 22, 2),
                     bits(w, 0, 5));
}

/* LDUR and the like, and both kinds of write-back. */
static int memory_indexed(toy_cpu* cpu, uint32_t w) {
  const uint64_t base = cpu->x[bits(w, 5, 5)], moved = base + sign_extended(bits(w, 12, 9), 9);
  const uint32_t mode = bits(w, 10, 2);
  if (mode == 2) return 0;
  if (!move_memory(cpu, mode == 1 ? base : moved, bits(w, 30, 2), bits(w, 22, 2), bits(w, 0, 5))) return 0;
  if (mode != 0) cpu->x[bits(w, 5, 5)] = moved;
  return 1;
}

static int memory_register(toy_cpu* cpu, uint32_t w) {
  const uint32_t size = bits(w, 30, 2), option = bits(w, 13, 3);
  if ((option & 2) == 0) return 0;
  const uint64_t index = extended(get(cpu, bits(w, 16, 5)), option, bits(w, 12, 1) != 0 ? size : 0);
  return move_memory(cpu, cpu->x[bits(w, 5, 5)] + index, size, bits(w, 22, 2), bits(w, 0, 5));
}

static int memory_pair(toy_cpu* cpu, uint32_t w) {
  const uint32_t kind = bits(w, 30, 2), mode = bits(w, 23, 2), size = kind == 2 ? 3 : 2, load = bits(w, 22, 1);
  const uint64_t base = cpu->x[bits(w, 5, 5)], moved = base + (sign_extended(bits(w, 15, 7), 7) << size);
  const uint64_t address = mode == 1 ? base : moved, bytes = (uint64_t)1 << size;
  if (kind == 3 || (kind == 1 && !load) || mode == 0 || memory_at(cpu, address, 2 * bytes) == NULL) return 0;
  const uint32_t how = kind == 1 ? 2 : load;
  if (!move_memory(cpu, address, size, how, bits(w, 0, 5))) return 0;
  if (!move_memory(cpu, address + bytes, size, how, bits(w, 10, 5))) return 0;
  if (mode != 2) cpu->x[bits(w, 5, 5)] = moved;
  return 1;
}

/* Branches find pc at the next instruction. */
static int jump(toy_cpu* cpu, uint64_t words, unsigned width) {
  cpu->pc += (sign_extended(words, width) << 2) - 4;
  return 1;
}

static int branch(toy_cpu* cpu, uint32_t w) {
  return jump(cpu, bits(w, 0, 26), 26);
}

static int branch_if(toy_cpu* cpu, uint32_t w) {
  return holds(cpu, bits(w, 0, 4)) ? jump(cpu, bits(w, 5, 19), 19) : 1;
}

/* CBZ, CBNZ. */
static int branch_zero(toy_cpu* cpu, uint32_t w) {
  const int zero = cut(get(cpu, bits(w, 0, 5)), width_of(w)) == 0;
  return zero != (int)bits(w, 24, 1) ? jump(cpu, bits(w, 5, 19), 19) : 1;
}

/* TBZ, TBNZ. */
static int branch_bit(toy_cpu* cpu, uint32_t w) {
  const unsigned bit = (w >> 31) << 5 | bits(w, 19, 5);
  return (get(cpu, bits(w, 0, 5)) >> bit & 1) == bits(w, 24, 1) ? jump(cpu, bits(w, 5, 14), 14) : 1;
}

static const struct {
  uint32_t mask, value;
  int (*run)(toy_cpu*, uint32_t);
} kForms[] = {
    {0x1f800000, 0x11000000, add_immediate},   {0x1f200000, 0x0b000000, add_shifted},
    {0x1fe00000, 0x0b200000, add_extended},    {0x1f000000, 0x0a000000, logic_shifted},
    {0x1f800000, 0x12000000, logic_immediate}, {0x1f800000, 0x12800000, move_wide},
    {0x1f800000, 0x13000000, bitfield},        {0x1fe00000, 0x1a800000, select_by_condition},
    {0x7fe00000, 0x1b000000, multiply},        {0x3f000000, 0x39000000, memory_offset},
    {0x3f200000, 0x38000000, memory_indexed},  {0x3f200c00, 0x38200800, memory_register},
    {0x3e000000, 0x28000000, memory_pair},     {0xfc000000, 0x14000000, branch},
    {0xff000010, 0x54000000, branch_if},       {0x7e000000, 0x34000000, branch_zero},
    {0x7e000000, 0x36000000, branch_bit},
};

int toy_step(toy_cpu* cpu) {
  const uint8_t* const at = memory_at(cpu, cpu->pc, 4);
  uint32_t word;
  if (at == NULL || cpu->pc % 4 != 0) return 0;
  memcpy(&word, at, sizeof word);
  for (size_t i = 0; i < sizeof kForms / sizeof kForms[0]; ++i) {
    if ((word & kForms[i].mask) != kForms[i].value) continue;
    cpu->pc += 4;
    if (kForms[i].run(cpu, word)) return 1;
    cpu->pc -= 4;
    return 0;
  }
  return 0;
}
