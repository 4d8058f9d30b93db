// Verbs of the command, their options and the checks of values, under the names that all verbs use.
#pragma once

#include "runtime/command_line/command.h"

namespace trident::cli {

using Verb = command_line::Command;
using command_line::Check;
using command_line::existing_file;
using command_line::Fault;
using command_line::one_of;
using command_line::Option;
using command_line::range;

}  // namespace trident::cli
