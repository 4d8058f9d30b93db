#include "runtime/store/sha256.h"

#include <openssl/evp.h>

#include <memory>

#include "runtime/base/check.h"

namespace trident::store {

Digest sha256(std::initializer_list<std::span<const std::byte>> pieces) {
  // The algorithm is looked up once and the context reused: both cost more than hashing a small record.
  static EVP_MD* const algorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  thread_local const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  CHECK(algorithm != nullptr);
  CHECK(EVP_DigestInit_ex2(context.get(), algorithm, nullptr) == 1);
  for (const auto piece : pieces) {
    const std::uint64_t size = piece.size();
    CHECK(EVP_DigestUpdate(context.get(), &size, sizeof(size)) == 1);
    CHECK(EVP_DigestUpdate(context.get(), piece.data(), piece.size()) == 1);
  }
  Digest digest{};
  unsigned size = 0;
  CHECK(EVP_DigestFinal_ex(context.get(), digest.data(), &size) == 1);
  CHECK(size == digest.size());
  return digest;
}

}  // namespace trident::store
