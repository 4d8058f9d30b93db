// The library's functions in plain C++, as the build writes them (write_peers.cpp).
#pragma once

#include <span>

#include "jit/function/call.h"

namespace trident::bench {

struct Peer {
  const char* name;
  function::Entry entry;
};
std::span<const Peer> peers();         ///< -O2
std::span<const Peer> native_peers();  ///< -O3 -march=native

}  // namespace trident::bench
