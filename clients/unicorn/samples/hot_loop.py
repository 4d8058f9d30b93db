"""A guest of Unicorn sums 4,096 numbers 30,000 times: alone, then with its loop natively. Needs python3-unicorn."""
import ctypes
import os
import struct
import time

import unicorn
from unicorn.arm64_const import UC_ARM64_REG_X3, UC_ARM64_REG_X10, UC_ARM64_REG_X12

CODE, ARRAY, COUNT = 0x10000, 0x200000, 4096
GUEST = struct.pack("<8I", 0xAA0A03E0, 0xD2820002, 0xF8408401, 0x8B010063, 0xF1000442, 0x54FFFFA1, 0xF100058C, 0x54FFFF21)


class Stats(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("loops", ctypes.c_uint32)] + [
        (name, ctypes.c_uint64) for name in ("heads submitted installed refused unhooked entries iterations misses "
                                             "not_entered shadows mismatches native_ns sampled_blocks adopted_bytes").split()]


def run(uc):
    for register, value in ((UC_ARM64_REG_X10, ARRAY), (UC_ARM64_REG_X12, 30000), (UC_ARM64_REG_X3, 0)):
        uc.reg_write(register, value)
    begin = time.thread_time()
    uc.emu_start(CODE, CODE + len(GUEST))
    return uc.reg_read(UC_ARM64_REG_X3), 1e3 * (time.thread_time() - begin)


uc = unicorn.Uc(unicorn.UC_ARCH_ARM64, unicorn.UC_MODE_ARM)
uc.mem_map(CODE, 0x1000)
uc.mem_map(ARRAY, 8 * COUNT)
uc.mem_write(CODE, GUEST)
uc.mem_write(ARRAY, struct.pack(f"<{COUNT}Q", *(i * i for i in range(COUNT))))
alone, alone_ms = run(uc)

trident = ctypes.CDLL(os.environ.get("TRIDENT_LIBRARY", "libtrident.so.0"), ctypes.RTLD_GLOBAL)
offload = ctypes.CDLL(os.environ.get("TRIDENT_UNICORN_LIBRARY", "libtrident-unicorn.so.0"))
context, handle = ctypes.c_void_p(), ctypes.c_void_p()
assert trident.trident_open(None, ctypes.byref(context)) == 0
assert offload.trident_unicorn_attach(uc._uch, context, None, ctypes.byref(handle)) == 0
stats = Stats(ctypes.sizeof(Stats))
for _ in range(20):  # code comes while the guest runs
    together, together_ms = run(uc)
    offload.trident_unicorn_get_stats(handle, ctypes.byref(stats))
    if together != alone or stats.iterations >= 30000 * COUNT:
        break
offload.trident_unicorn_detach(handle)  # before the engine goes
trident.trident_close(context)

print(f"alone {alone_ms:.1f} ms, natively {together_ms:.1f} ms; {stats.installed} loops installed, "
      f"{stats.iterations} rounds of them native")
assert alone == together
