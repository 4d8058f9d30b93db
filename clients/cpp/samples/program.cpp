// A program of Triton VM made cheaper to prove: by the daemon, or by the engine in this process without a daemon.
#include <cstdio>
#include <cstring>

#include "trident.hpp"

int main() {
  try {
    const trident::context ctx;
    trident::program_options how;
    how.public_input = {5, 7};
    const trident::program p = ctx.build(
        "read_io 2\npush 0 add\ndup 1 dup 1 add\ndup 2 dup 2 add\nmul\nswap 2 pop 2\n"
        "write_io 1\nhalt\n",
        how);
    std::printf("%u words before, %u after, built by %s:\n%s", p.words_before, p.words_after,
                p.by_daemon ? "the daemon" : "the engine", p.tasm.c_str());
    return p.better ? 0 : 1;
  } catch (const trident::error& e) {
    std::printf("%s\n", e.what());  // neither daemon nor engine
    return e.status() == TRIDENT_E_DAEMON || e.status() == TRIDENT_E_UNSUPPORTED ? 0 : 1;
  }
}
