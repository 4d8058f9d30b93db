// tridentd: one program, two roles. Started by people or systemd it is the front; started by the front with
// worker::kWorkerArgument it is a worker.
#include <cstdio>
#include <string_view>

#include "daemon/config/config.h"
#include "daemon/front/front.h"
#include "daemon/worker/compile.h"
#include "runtime/base/float_environment.h"
#include "runtime/os/inherited.h"

int main(int argc, char** argv) {
  using namespace trident;
  os::occupy_standard_streams();
  const StandardFloats floats;  // a preloaded library may have set others; threads inherit these
  if ((argc == 3 || argc == 4) && std::string_view(argv[1]) == worker::kWorkerArgument)
    return worker::run_worker(argv[2], argc == 4 ? argv[3] : "");
  os::close_inherited_files();
  const auto loaded = config::load(argc, argv);
  if (!loaded.ok()) {
    std::fprintf(stderr, "tridentd: %s\n", loaded.error().message.c_str());
    front::turn_clients_away();
    return front::kExitConfiguration;
  }
  if (const auto* answered = std::get_if<config::Answered>(&*loaded)) return answered->exit_status;
  if (const auto* checked = std::get_if<config::CheckOnly>(&*loaded)) return front::check_settings(checked->settings);
  return front::run_front(std::get<config::Settings>(*loaded), argc, argv);
}
