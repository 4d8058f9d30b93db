// The one place that knows where it is installed: `cmake --install --prefix` compiles this file anew for the static
// library. A program that is linked to that one may lie anywhere.
#include "clients/c/engine_library.h"

namespace trident::client {

const char* const kEngineFolder = TRIDENT_ENGINE_FOLDER;

}  // namespace trident::client
