// tridentd: one program, two roles. Started by people or systemd it is the front; started by the front with
// worker::kWorkerArgument it is a worker.
#include <cstdio>
#include <string_view>

#include "daemon/config/config.h"
#include "daemon/front/front.h"
#include "daemon/worker/compile.h"
#include "runtime/base/float_environment.h"

int main(int argc, char** argv) {
  using namespace trident;
  const StandardFloats floats;  // a preloaded library may have set others; threads inherit these
  if ((argc == 3 || argc == 4) && std::string_view(argv[1]) == worker::kWorkerArgument)
    return worker::run_worker(argv[2], argc == 4 ? argv[3] : "");
  const auto loaded = config::load(argc, argv);
  if (!loaded.ok()) {
    std::fprintf(stderr, "tridentd: %s\n", loaded.error().message.c_str());
    return 2;
  }
  if (const auto* answered = std::get_if<config::Answered>(&*loaded)) return answered->exit_status;
  return front::run_front(std::get<config::Settings>(*loaded), argc, argv);
}
