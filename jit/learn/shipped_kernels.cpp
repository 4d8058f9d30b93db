#include "jit/learn/shipped_kernels.h"

#include "jit/learn/packed_kernels.h"
#include "jit/learn/shipped_kernel_files.h"

namespace trident::learn {

Result<TimedKernels> shipped_kernels() {
  return unpack(kShippedKernelFiles[0].bytes(), kShippedKernels);
}

}  // namespace trident::learn
