// The programs lane: makes programs of Triton VM cheaper, and learns from the blocks that it has met.
#pragma once

namespace trident::worker {

/// Serves requests on os::kInheritedFd until the front closes it. What the network learns is kept in `folder`, nothing
/// if it is empty; it learns at the lowest priority for some rounds after each program. The exit status of the process.
int build_programs(const char* folder);

}  // namespace trident::worker
