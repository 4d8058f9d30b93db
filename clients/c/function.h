// A function as the client sees it: the handle, the checked text with all that it calls, its region for the
// interpreter, and its submission, whose slot has the machine code.
//
//   library's threads ── slot ──> `code`, then adopt(): `native`
//   callers           ── one load of `native`: code with the layout of its own frame, or null for the interpreter
//
// The handle's entry never changes: it is trident_call() for functions of values, whoever computes. Code and layout
// belong to one image, so calls read both through one pointer. What it points to lives as long as the handle, as the
// images do: a call that loaded it just before a swap still runs mapped code.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "clients/c/function_call.h"
#include "clients/c/handle.h"
#include "clients/c/kernel.h"
#include "jit/expr/expr.h"
#include "jit/function/lower.h"
#include "jit/function/submission.h"

namespace trident::client {

class FunctionHandle final : public Handle {
 public:
  /// Errors: those of lowering.
  static Result<std::unique_ptr<FunctionHandle>> make(Context& owner, function::Program program);

  static FunctionHandle* of(trident_kernel* handle) { return static_cast<FunctionHandle*>(handle); }
  static const FunctionHandle* of(const trident_kernel* handle) { return static_cast<const FunctionHandle*>(handle); }

  [[nodiscard]] const function::Function& function() const { return function_; }
  [[nodiscard]] const std::string& text() const { return program_.text; }
  /// Says whether all parameters are values.
  [[nodiscard]] bool is_kernel() const;
  /// The arguments of trident_call(): parameters as arrays of words; nothing where it does nothing, and no scalars.
  [[nodiscard]] const std::vector<expr::Variable>& columns(bool scalar) const;
  /// Makes the kernel that computes many elements at once, where the function is one of values without loops
  /// (jit/function/to_expr.h), or returns null.
  [[nodiscard]] std::unique_ptr<Kernel> make_elements() const;
  void set_elements(trident_kernel* kernel) { elements_ = kernel; }
  /// trident_call() is this kernel's, if there is one.
  [[nodiscard]] trident_kernel* elements() const { return elements_; }
  /// Returns what runs calls now.
  [[nodiscard]] Runner runner() const;

  // The hooks of a submitted thing:
  [[nodiscard]] Submission& record() override { return submission_; }
  [[nodiscard]] Listener& listener() override { return listener_; }
  void complete(ImageClaim& claim) const override;
  [[nodiscard]] std::uint64_t feature() const override;
  void append_request(wire::Frame& out, std::uint64_t job, bool inline_images) const override;
  void compile(const Engine& engine, std::uint32_t tier, const std::atomic<bool>& cancel,
               EngineAnswer& answer) override;
  [[nodiscard]] bool listens() const override { return true; }
  void tell(std::unique_lock<std::mutex>& lock) override;

 private:
  FunctionHandle(Context& owner, function::Program program, function::Lowered lowered);
  /// Makes calls run what the slot has. Needs the context's mutex.
  void adopt() noexcept;

  struct Native {
    const void* image = nullptr;  ///< which
    function::Layout layout;
    RegionEntry* entry = nullptr;
    std::uint32_t tier = 0;
  };

  const function::Program program_;
  const function::Function& function_;
  const function::Lowered lowered_;
  const std::vector<expr::Variable> columns_, no_scalars_;
  trident_kernel* elements_ = nullptr;  ///< set before anybody has the handle; closed with it
  std::atomic<const Native*> native_ = nullptr;

  // ---- guarded by the context's mutex ----
  alignas(64) Listener listener_;
  std::vector<std::unique_ptr<const Native>> natives_;
  RegionEntry* code_ = nullptr;  ///< the slot's
  Submission submission_;
};

}  // namespace trident::client
