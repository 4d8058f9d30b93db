// Pretraining of the search's guide on backward walks (`trident train guide --pretrain`), and how it is reported.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "clients/cli/train_guide.h"
#include "jit/learn/pretraining.h"

namespace trident::cli {

/// Pretrains the network on TrainGuideOptions::pretrain walks from composed expressions, in a folder of its own.
Result<learn::Pretrained> pretrain(learn::Network& network, const TrainGuideOptions& options,
                                   const learn::ScrambleOptions& scrambles,
                                   const std::function<bool(const learn::GuideSample&)>& leaves_out);

/// Empty without pretraining.
std::string pretraining_text(const learn::Pretrained& pretrained);
nlohmann::ordered_json pretraining_json(const learn::Pretrained& pretrained);

}  // namespace trident::cli
