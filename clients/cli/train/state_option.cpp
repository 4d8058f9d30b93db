#include "clients/cli/train/state_option.h"

namespace trident::cli {

void add_state_option(Verb verb, std::string& state) {
  verb.add_option("--state", state,
                  "The daemon's folder of what is learnt (tridentd --state); the system's: /var/lib/tridentd. Default: "
                  "the user's (FILES, below)");
}

}  // namespace trident::cli
