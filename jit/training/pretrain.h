// Pretraining of the search's guide on backward walks (`trident train guide --pretrain`).
#pragma once

#include <functional>

#include "jit/learn/pretraining.h"
#include "jit/training/train_guide.h"

namespace trident::training {

/// Pretrains the network on TrainGuideOptions::pretrain walks from composed expressions, in a folder of its own.
Result<learn::Pretrained> pretrain(learn::Network& network, const TrainGuideOptions& options,
                                   const learn::ScrambleOptions& scrambles,
                                   const std::function<bool(const learn::GuideSample&)>& leaves_out);

}  // namespace trident::training
