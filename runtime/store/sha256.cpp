#include "runtime/store/sha256.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <memory>

#include "runtime/base/check.h"

namespace trident::store {
namespace {

/// Looks the algorithm up. A program may end while threads of ours hash, so the library must not be taken down at exit.
EVP_MD* fetched() {
  OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr);
  return EVP_MD_fetch(nullptr, "SHA256", nullptr);
}

// The algorithm is looked up once and the context reused: both cost more than hashing a small record.
EVP_MD_CTX* begun() {
  static EVP_MD* const algorithm = fetched();
  thread_local const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  CHECK(algorithm != nullptr);
  CHECK(EVP_DigestInit_ex2(context.get(), algorithm, nullptr) == 1);
  return context.get();
}

Digest finished(EVP_MD_CTX* context) {
  Digest digest{};
  unsigned size = 0;
  CHECK(EVP_DigestFinal_ex(context, digest.data(), &size) == 1);
  CHECK(size == digest.size());
  return digest;
}

}  // namespace

Digest sha256_of(std::span<const std::byte> bytes) {
  EVP_MD_CTX* const context = begun();
  CHECK(EVP_DigestUpdate(context, bytes.data(), bytes.size()) == 1);
  return finished(context);
}

Digest sha256(std::initializer_list<std::span<const std::byte>> pieces) {
  EVP_MD_CTX* const context = begun();
  for (const auto piece : pieces) {
    const std::uint64_t size = piece.size();
    CHECK(EVP_DigestUpdate(context, &size, sizeof(size)) == 1);
    CHECK(EVP_DigestUpdate(context, piece.data(), piece.size()) == 1);
  }
  return finished(context);
}

}  // namespace trident::store
