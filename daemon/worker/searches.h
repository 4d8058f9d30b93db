// Searches of an optimise worker. One whose first look has found a better kernel may be left then: it is kept until the
// front has it go on, behind others' first looks, or says that nobody wants it. The front bounds how many there are
// (pool.h). Where nothing was found, callers wait for the end, so the search goes on at once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "daemon/ingest/ingest.h"
#include "daemon/worker/protocol.h"
#include "daemon/worker/request_socket.h"
#include "jit/pipeline/pipeline.h"

namespace trident::worker {

/// Costs, rules and weights that the front has sent for searches. Copies share them, so that a kept search goes on by
/// those that it has begun with.
struct Basis {
  bool two_threads = false;  ///< there are processors that may be idle
  std::shared_ptr<const expr::rewrite::OpCosts> costs;
  std::shared_ptr<const pipeline::SearchRules> rules;
  std::shared_ptr<const pipeline::SearchWeights> weights;

  /// The front has read the text from files, and tried it. `file`: with weights.
  void take(Tail what, std::string_view text, const std::optional<os::Fd>& file);
  [[nodiscard]] pipeline::Search search(std::uint64_t seed) const;

 private:
  void take_weights(std::string_view text, const std::optional<os::Fd>& file);
};

class Searches {
 public:
  explicit Searches(RequestSocket& front) : front_(front) {}

  /// Searches, and answers the front. Returns false when it has gone.
  bool begin(const RequestHeader& request, const expr::Expr& expr, pipeline::Options options, const Basis& basis);
  /// Goes on with the kept search of this ticket. Returns false when there is none, too: the front errs.
  bool go_on(std::uint64_t ticket);
  void forget(std::uint64_t ticket) { kept_.erase(ticket); }

 private:
  struct Kept {
    Basis basis;
    std::unique_ptr<pipeline::TwoLooks> looks;
  };

  bool answer(std::uint64_t ticket, pipeline::TwoLooks& looks);

  RequestSocket& front_;
  std::unordered_map<std::uint64_t, Kept> kept_;
};

}  // namespace trident::worker
