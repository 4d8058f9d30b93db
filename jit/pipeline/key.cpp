#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <span>

#include "jit/pipeline/pipeline.h"
#include "runtime/base/submission_limits.h"
#include "runtime/os/self.h"

namespace trident::pipeline {
namespace {

// Changes whenever the meaning of a key or of what is stored under it changes.
constexpr std::string_view kDomain = "trident kernel key 2";

// A context and the algorithm, looked up once per thread: the look-up costs more than the hash.
class Sha256 {
 public:
  Sha256() : algorithm_(EVP_MD_fetch(nullptr, "SHA256", nullptr)), context_(EVP_MD_CTX_new()) {
    CHECK(algorithm_ != nullptr);
    CHECK(context_ != nullptr);
  }
  void start() { CHECK(EVP_DigestInit_ex2(context_.get(), algorithm_.get(), nullptr) == 1); }
  // With its length before it, so that neighbours cannot trade bytes.
  void add(std::span<const std::byte> bytes) {
    const std::uint64_t size = bytes.size();
    CHECK(EVP_DigestUpdate(context_.get(), &size, sizeof size) == 1);
    CHECK(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
  }
  image::Key finish() {
    image::Key key;
    unsigned size = 0;
    CHECK(EVP_DigestFinal_ex(context_.get(), key.data(), &size) == 1);
    CHECK(size == key.size());
    return key;
  }

 private:
  struct Free {
    void operator()(EVP_MD* p) const { EVP_MD_free(p); }
    void operator()(EVP_MD_CTX* p) const { EVP_MD_CTX_free(p); }
  };
  std::unique_ptr<EVP_MD, Free> algorithm_;
  std::unique_ptr<EVP_MD_CTX, Free> context_;
};

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

/// How far from the processor the arrays of a call lie, roughly: what is fastest in one class need not be in another,
/// while within a class the judge's answer is the same but for its noise. Fixed bounds, not this machine's: a key means
/// the same everywhere.
enum class Regime : std::uint8_t { level1, level2, last_level, streaming };

Regime regime_of(const expr::Expr& expr, std::uint64_t elements) {
  std::uint64_t bytes = 0;
  for (const auto& variable : expr.variables) bytes += variable.is_scalar() ? 0 : ir::bytes_of(variable.type);
  for (const auto& output : expr.outputs) bytes += ir::bytes_of(expr.at(output.node).type);
  const std::uint64_t moved = bytes * std::min<std::uint64_t>(elements, limits::kElementsHintMax);
  if (moved <= std::uint64_t{64} << 10) return Regime::level1;
  if (moved <= std::uint64_t{1} << 20) return Regime::level2;
  return moved <= std::uint64_t{8} << 20 ? Regime::last_level : Regime::streaming;
}

}  // namespace

const expr::rewrite::OpCosts* measured_costs(const Options& options) {
  const bool counts = options.costs != nullptr && options.costs->table().isa == codegen::name_of(options.isa);
  return counts ? options.costs : nullptr;
}

image::Key key_of(const expr::Expr& expr, const Options& options) {
  return key_of(expr, expr::canonical_bytes(expr), options);
}

image::Key key_of(const expr::Expr& expr, std::span<const std::byte> canonical, const Options& options) {
  thread_local Sha256 sha;
  sha.start();
  sha.add(bytes_of(kDomain));
  sha.add(bytes_of(os::build_id()));
  sha.add(canonical);
  struct {
    std::uint8_t isa, policy;
    Regime regime;
    std::uint8_t zero[5] = {};
    double k;
  } target{static_cast<std::uint8_t>(options.isa),
           static_cast<std::uint8_t>(options.policy.kind),
           regime_of(expr, options.elements),
           {},
           options.policy.kind == expr::PolicyKind::bounded ? options.policy.k : 0};
  sha.add(std::as_bytes(std::span(&target, 1)));
  for (const std::string& name : options.disabled) sha.add(bytes_of(name));
  // What is shipped is covered by the build id.
  if (const auto* costs = measured_costs(options); costs != nullptr) {
    sha.add(bytes_of("costs"));
    sha.add(std::as_bytes(std::span(costs->table().figures)));
  }
  return sha.finish();
}

}  // namespace trident::pipeline
