#include "clients/c/divided_call.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <new>

#include "clients/c/context.h"
#include "clients/c/kernel.h"
#include "jit/kir/interpreter.h"
#include "jit/kir/reduction.h"
#include "runtime/base/float_environment.h"
#include "runtime/base/limits.h"
#include "runtime/os/clock.h"
#include "runtime/os/cpu.h"

namespace trident::client {
namespace {

/// The shortest calls with reductions that are divided, and the shortest pieces. A piece costs a reduction some 80 ns,
/// and its code does not fetch ahead in arrays that are so short (codegen::kFetchBytes).
constexpr std::uint64_t kReducingCallMin = 64 * kir::kChunk;
constexpr std::uint64_t kPieceMin = 2 * kir::kChunk, kReducingPieceMin = 8 * kir::kChunk;
/// Pieces of a call at least, so that threads end at nearly the same time.
constexpr std::uint64_t kPiecesWanted = 128;
/// Bytes that a piece writes where there are enough of them: code then stores past the caches, as it does in the whole
/// call (codegen::kStreamBytes).
constexpr std::uint64_t kLongPieceBytes = 4u << 20;
/// In calls of so many elements that is certain; they need not be tried by a first piece.
constexpr std::uint64_t kSureElements = std::uint64_t{1} << 20;

bool asks_for_place(const kir::Inst& inst) {
  return inst.op == kir::Op::Count || inst.op == kir::Op::Index || inst.op == kir::Op::Strided;
}

/// Returns whether the answer may have other bits without pieces: under `exact` it has one set of bits, and truths have
/// no rounding.
bool pieces_matter(const Kernel& kernel, const Division& division) {
  return division.scalar_count != 0 && !division.is_search && kernel.policy.kind != expr::PolicyKind::exact;
}

/// Returns whether the values of an output in pieces give that of the call. Its early end may be computed from a
/// reduction: a piece ends by itself.
bool joins(const Division::Output& output, const kir::Inst& value) {
  return value.section != kir::Section::epilogue || output.reduction || output.truth;
}

class DividedCall {
 public:
  DividedCall(const Kernel& kernel, const Division& division, const Pieces& pieces, std::uint64_t n,
              const void* const* in, void* const* out, const std::uint64_t* params)
      : kernel_(kernel),
        division_(division),
        pieces_(pieces),
        n_(n),
        in_(in),
        out_(out),
        params_(params),
        results_(division, pieces.count),
        code_(kernel.enter(n, in, params)) {}

  void run(unsigned threads) {
    std::uint64_t first = 0;
    if ((n_ < kSureElements || division_.is_search) && threads > 1) {
      const std::uint64_t start_ns = os::monotonic_ns();
      run_piece(first++);
      const bool is_short = (os::monotonic_ns() - start_ns) * (pieces_.count - 1) < kWorthNs;
      if (is_short || kernel_.short_calls.doubt(n_)) threads = 1;
      if (is_short && !results_.settled() && !pieces_matter(kernel_, division_)) kernel_.short_calls.add(n_);
    }
    if (results_.settled()) return results_.join(out_);
    if (threads > 1) threads = std::min(threads, os::usable_cpus());
    const auto work = [&](std::uint64_t piece) { run_piece(first + piece); };
    if (!kernel_.context.team.run(threads, pieces_.count - first, work)) run_from(first);
    results_.join(out_);
  }

 private:
  /// Runs the rest here. Reductions keep their pieces.
  void run_from(std::uint64_t piece) {
    if (division_.scalar_count == 0)
      run_part(piece * pieces_.elements, n_ - piece * pieces_.elements, nullptr);
    else
      for (; piece < pieces_.count; ++piece) run_piece(piece);
  }

  void run_piece(std::uint64_t piece) {
    if (results_.settled()) return;
    const std::uint64_t first = piece * pieces_.elements;
    run_part(first, std::min(pieces_.elements, n_ - first), results_.of(piece));
    results_.note(piece);
  }

  void run_part(std::uint64_t first, std::uint64_t count, std::uint64_t* results) const {
    std::array<const void*, limits::kInputsMax> in;
    std::array<void*, limits::kOutputsMax> out;
    for (std::size_t i = 0; i < division_.input_bytes.size(); ++i)
      in[i] = static_cast<const std::byte*>(in_[i]) + first * division_.input_bytes[i];
    for (std::size_t i = 0; i < division_.outputs.size(); ++i) {
      const Division::Output& output = division_.outputs[i];
      out[i] = output.is_scalar ? static_cast<void*>(results++)
                                : static_cast<std::byte*>(out_[i]) + first * output.element_bytes;
    }
    code_(static_cast<const trident_kernel*>(&kernel_), count, in.data(), out.data(), params_);
  }

  const Kernel& kernel_;
  const Division& division_;
  const Pieces pieces_;
  const std::uint64_t n_;
  const void* const* in_;
  void* const* out_;
  const std::uint64_t* params_;
  PieceResults results_;
  const trident_entry_fn code_;  ///< of all pieces, whatever is swapped in meanwhile
};

constexpr std::uint64_t kLineBytes = 64;

/// Elements of 2^`log2` bytes up to the next line; none where no element begins one.
std::optional<std::uint64_t> elements_to_line(const void* array, int log2) {
  const std::uint64_t to_line = -reinterpret_cast<std::uintptr_t>(array) % kLineBytes;
  const std::uint64_t elements = to_line >> log2;
  if (elements << log2 != to_line) return std::nullopt;
  return elements;
}

/// The arguments of a call from a later element on.
struct LaterArguments {
  LaterArguments(const Division& division, std::uint64_t first, const void* const* given_in, void* const* given_out) {
    for (std::size_t i = 0; i < division.input_bytes.size(); ++i)
      in[i] = static_cast<const std::byte*>(given_in[i]) + first * division.input_bytes[i];
    for (std::size_t i = 0; i < division.outputs.size(); ++i)
      out[i] = static_cast<std::byte*>(given_out[i]) + first * division.outputs[i].element_bytes;
  }
  std::array<const void*, limits::kInputsMax> in;
  std::array<void*, limits::kOutputsMax> out;
};

/// Returns how a call by `code` may be split anywhere with the same bits; null where it may not. Code that assumes
/// ranges has one set of bits only under `exact`, and reductions have chunks.
const Division* splits_anywhere(const Kernel& kernel, trident_entry_fn code) {
  if (kernel.policy.kind != expr::PolicyKind::exact && !kernel.submission.slot.is_steady(code)) return nullptr;
  const auto lowered = kernel.lower();
  if (!lowered.ok()) return nullptr;
  const Division& division = lowered.value()->division;
  return division.possible && division.scalar_count == 0 ? &division : nullptr;
}

/// Returns false where the call does not divide, or memory is too short for that; nothing has been done then.
bool divided(const Kernel& kernel, unsigned threads, std::uint64_t n, const void* const* in, void* const* out,
             const std::uint64_t* params) try {
  const auto lowered = kernel.lower();
  if (!lowered.ok() || !lowered.value()->division.possible) return false;
  const Division& division = lowered.value()->division;
  const auto pieces = pieces_of(division, n, threads);
  if (!pieces || (threads < 2 && !pieces_matter(kernel, division))) return false;
  DividedCall(kernel, division, *pieces, n, in, out, params).run(threads);
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

void call_from_line(const Kernel& kernel, unsigned threads, std::uint64_t n, const void* const* in, void* const* out,
                    const std::uint64_t* params) {
  if (n < kDividedMin || kernel.short_calls.include(n)) return trident_call(&kernel, n, in, out, params);
  if (!divided(kernel, permitted(kernel, threads), n, in, out, params)) trident_call(&kernel, n, in, out, params);
}

}  // namespace

unsigned permitted(const Kernel& kernel, unsigned threads) {
  const Settings& settings = kernel.context.settings();
  return std::min({threads == 0 ? settings.threads : threads, settings.threads_max, kTeamMax});
}

void PieceResults::note(std::uint64_t piece) {
  if (division_.scalar_count == 0) return;
  std::uint64_t decided = 0;
  std::size_t scalar = 0;
  for (const Division::Output& output : division_.outputs) {
    if (!output.is_scalar) continue;
    const std::uint64_t bits = results_[piece * division_.scalar_count + scalar];
    if (output.truth) {
      const auto [open, other] = *output.truth;
      const bool is_one = bits == (open | other);  // one of the two is 0; a negative zero is, too
      if (is_one == (other != 0)) decided |= std::uint64_t{1} << scalar;
    }
    ++scalar;
  }
  if (decided != 0) decided_.fetch_or(decided, std::memory_order_relaxed);
}

void PieceResults::join(void* const* out) const {
  const StandardFloats floats;
  std::size_t scalar = 0;
  for (std::size_t i = 0; i < division_.outputs.size(); ++i) {
    const Division::Output& output = division_.outputs[i];
    if (!output.is_scalar) continue;
    std::uint64_t bits = output.reduction ? joined(*output.reduction, output.type, scalar) : results_[scalar];
    if (output.truth) bits = (decided_ >> scalar & 1) != 0 ? output.truth->decided : output.truth->open;
    std::memcpy(out[i], &bits, ir::bytes_of(output.type));  // little endian
    ++scalar;
  }
}

/// The counter's digits are pieces instead of chunks: each is one tree, and the last one's own digits come after.
std::uint64_t PieceResults::joined(kir::Op reduction, ir::Type type, std::size_t scalar) const {
  const auto join = [op = kir::joining_op(reduction), type](std::uint64_t earlier, std::uint64_t later) {
    return kir::eval_lane(op, type, type, later, earlier, 0);
  };
  kir::ChunkRun<std::uint64_t> run;
  for (std::uint64_t piece = 0; piece < pieces_; ++piece)
    run.add(results_[piece * division_.scalar_count + scalar], join);
  return run.result(join);
}

Division division_of(const kir::Kernel& kernel) {
  Division division;
  division.possible = kernel.before.empty() && !kernel.leaves_steps() &&
                      std::none_of(kernel.insts.begin(), kernel.insts.end(), asks_for_place);
  division.is_search = division.possible && !kernel.outputs.empty();
  for (const kir::Input& input : kernel.inputs)
    division.input_bytes.push_back(input.is_table() ? 0 : kir::element_bytes(input));
  for (const kir::Output& output : kernel.outputs) {
    const kir::Inst& inst = kernel.at(output.value);
    Division::Output& divided = division.outputs.emplace_back();
    divided.type = inst.type;
    divided.is_scalar = output.kind == kir::OutputKind::scalar;
    if (!divided.is_scalar)
      division.array_bytes += divided.element_bytes = kir::element_bytes(kernel, output);
    else if (divided.truth = kir::truth_of(kernel, output.value); !divided.truth && kir::is_reduction(inst))
      divided.reduction = inst.op;
    division.scalar_count += divided.is_scalar ? 1 : 0;
    division.possible = division.possible && joins(divided, inst);
    division.is_search = division.is_search && divided.truth.has_value();
  }
  return division;
}

std::optional<Pieces> pieces_of(const Division& division, std::uint64_t n, unsigned threads) {
  const bool reduces = division.scalar_count != 0;
  if (n < (reduces ? kReducingCallMin : kDividedMin)) return std::nullopt;
  std::uint64_t elements = std::max(reduces ? kReducingPieceMin : kPieceMin, std::bit_floor(n / kPiecesWanted));
  if (!reduces && division.array_bytes != 0 && n > (2 * threads * kLongPieceBytes - 1) / division.array_bytes) {
    const std::uint64_t whole = (kLongPieceBytes / division.array_bytes + kir::kChunk - 1) / kir::kChunk * kir::kChunk;
    elements = std::max(elements, whole);
  }
  return Pieces{elements, 1 + (n - 1) / elements};
}

void for_each_piece(const Kernel& kernel, unsigned threads, std::uint64_t pieces,
                    void (*work)(std::uint64_t piece, void* user), void* user) {
  const unsigned available = std::min(permitted(kernel, threads), os::usable_cpus());
  const auto run = [&](std::uint64_t piece) { work(piece, user); };
  if (kernel.context.team.run(available, pieces, run)) return;
  for (std::uint64_t piece = 0; piece < pieces; ++piece) run(piece);
}

std::uint64_t elements_before_lines(const Division& division, const void* const* in, void* const* out) {
  struct Array {
    std::uint64_t to_line, mask, weight;  ///< the elements `to_line` + k (`mask` + 1) begin lines
  };
  std::array<Array, 8> arrays{};  // of more no choice would fit all
  std::size_t count = 0;
  const auto add = [&](const void* array, std::uint32_t bytes, std::uint64_t weight) {
    if (bytes == 0) return;                    // a table, or a scalar
    const int log2 = std::countr_zero(bytes);  // no division: this is of every call
    const auto to_line = elements_to_line(array, log2);
    if (to_line && count < arrays.size()) arrays[count++] = {*to_line, (kLineBytes >> log2) - 1, weight << log2};
  };
  for (std::size_t i = 0; i < division.outputs.size(); ++i) add(out[i], division.outputs[i].element_bytes, 1);
  for (std::size_t i = 0; i < division.input_bytes.size(); ++i) add(in[i], division.input_bytes[i], 2);
  const auto gain = [&](std::uint64_t first) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < count; ++i)
      if ((first & arrays[i].mask) == arrays[i].to_line) sum += arrays[i].weight;
    return sum;
  };
  std::uint64_t best = 0, most = gain(0);
  for (std::size_t i = 0; i < count; ++i)
    if (const std::uint64_t sum = gain(arrays[i].to_line); sum > most) best = arrays[i].to_line, most = sum;
  return best;
}

void call_divided(const Kernel& kernel, unsigned threads, std::uint64_t n, const void* const* in, void* const* out,
                  const std::uint64_t* params) {
  const trident_entry_fn code = kernel.code();
  const Division* const division = splits_anywhere(kernel, code);
  const std::uint64_t first = division != nullptr ? elements_before_lines(*division, in, out) : 0;
  if (first == 0 || first >= n) return call_from_line(kernel, threads, n, in, out, params);
  kernel.count_part(first);
  code(static_cast<const trident_kernel*>(&kernel), first, in, out, params);
  const LaterArguments later(*division, first, in, out);
  call_from_line(kernel, threads, n - first, later.in.data(), later.out.data(), params);
}

}  // namespace trident::client
