// SHA-256 by libcrypto.
#pragma once

#include <openssl/evp.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "jit/image/image.h"
#include "runtime/base/check.h"

namespace trident::pipeline {

/// A context and the algorithm, to be kept: looking them up costs more than the hash of a small thing.
class Sha256 {
 public:
  Sha256() : algorithm_(EVP_MD_fetch(nullptr, "SHA256", nullptr)), context_(EVP_MD_CTX_new()) {
    CHECK(algorithm_ != nullptr);
    CHECK(context_ != nullptr);
  }
  void start() { CHECK(EVP_DigestInit_ex2(context_.get(), algorithm_.get(), nullptr) == 1); }
  /// With its length before it, so that neighbours cannot trade bytes.
  void add(std::span<const std::byte> bytes) {
    const std::uint64_t size = bytes.size();
    CHECK(EVP_DigestUpdate(context_.get(), &size, sizeof size) == 1);
    CHECK(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
  }
  void add(std::string_view text) { add(std::as_bytes(std::span(text))); }
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

}  // namespace trident::pipeline
