// sqrt(x) over [1, 2] in f32 with a workload and its checker: what the tests of answers are about.
#pragma once

#include <memory>
#include <utility>

#include "clients/cli/bench/answers.h"

namespace trident::cli {

struct SquareRoot {
  expr::Expr e;
  std::unique_ptr<Workload> workload;
  std::unique_ptr<AnswerChecker> checker;

  SquareRoot() {
    expr::ParseOptions options;
    options.type = ir::Type::f32;
    options.variables.resize(1);
    options.variables[0].name = "x", options.variables[0].type = ir::Type::f32;
    options.variables[0].lo = 1, options.variables[0].hi = 2;
    e = expr::parse("sqrt(x)", options).value();
    workload = std::make_unique<Workload>(e, e.variables, 512, 3);
    checker = std::move(AnswerChecker::make(e, *workload)).value();
  }
};

}  // namespace trident::cli
