// The worker's side: a process that reads requests, compiles, and hands back sealed images.
#pragma once

namespace trident::worker {

/// The argument that turns the daemon's program into a worker: argv[1]; argv[2] is "baseline", "optimise" or
/// "programs", which has its folder for learning in argv[3], perhaps empty.
inline constexpr const char* kWorkerArgument = "--worker";

/// Serves requests on os::kInheritedFd until the front closes it. The exit status of the process.
int run_worker(const char* lane, const char* folder);

}  // namespace trident::worker
