// Export to ONNX (IR version 8, opset 17) without protobuf: what leads to one output of a tape, as a graph whose first
// dimension is free ("batch").
//
// A list of ids becomes an int64 input NAME [batch, length], padded with the number of rows: the table has one row of
// zeros behind its last. An attention mask becomes an int32 input [batch, queries, keys]. Ops of training alone
// (losses, gather_action) and pooling with lengths have no counterpart here: Unsupported.
#pragma once

#include <string>

#include "runtime/autodiff/tape.h"
#include "runtime/base/result.h"

namespace trident::nn {

/// The bytes of a ModelProto. The tape must be one of Mode::infer (batch_norm is exported with its running moments).
Result<std::string> onnx_model(const autodiff::Tape<float>& tape, const autodiff::Value<float>& output);

}  // namespace trident::nn
