#!/bin/sh
# Makes guest.elf, which is kept in the repository: few machines have a compiler for AArch64, and figures compare only
# where the guest's code is the same. gcc 12.2 of Debian 12 (gcc-aarch64-linux-gnu) made the one that is there.
set -e
cd "$(dirname "$0")"
aarch64-linux-gnu-gcc -O2 -mgeneral-regs-only -fno-tree-vectorize -fno-tree-loop-distribute-patterns \
  -fno-unroll-loops -fno-strict-aliasing -ffreestanding -fno-pic -fno-stack-protector \
  -fno-asynchronous-unwind-tables -Wall -Wextra -nostdlib -static \
  -Wl,-Ttext=0x10000,--build-id=none,-z,norelro,-z,max-page-size=4096 -o guest.elf guest.c kernels.c
