// Blocks that one process leaves for another to learn from: a build without the daemon has met them, and the daemon
// learns.
//
//   FOLDER/left        a buffer (block_buffer.h), and as bounded; whoever learns takes all of it (apprentice.h)
//   FOLDER/left.lock   held while it is read and replaced
#pragma once

#include <string>
#include <vector>

#include "jit/tir/neural/block_buffer.h"

namespace trident::tir::neural {

/// Adds to what is left there; a record that no buffer takes is passed over. Makes the folder where absent. OsError.
Result<void> leave_blocks(const std::string& folder, const std::vector<BlockRecord>& records);
/// All that is left there, which is gone afterwards. RejectedRecord, where it cannot be read and is gone too; OsError.
Result<std::vector<BlockRecord>> take_left_blocks(const std::string& folder);

}  // namespace trident::tir::neural
