#include "clients/cli/train/state_option.h"

namespace trident::cli {

void add_state_option(Verb verb, std::string& state) {
  verb.add_option("--state", state, "Daemon's folder of learnt files (tridentd --state); default: the user's");
}

}  // namespace trident::cli
