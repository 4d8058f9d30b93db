// Figures of a run, for --stats and --json.
#pragma once

#include <string>

#include "clients/emu/emulator.h"

namespace trident::emu {

std::string report_text(const RunReport& report);
std::string report_json(const RunReport& report);

}  // namespace trident::emu
