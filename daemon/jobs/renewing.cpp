// Kernels that clients have are searched again, one at a time and behind all else, when what the search goes by
// changes.
#include <utility>

#include "daemon/jobs/flight.h"
#include "runtime/log/log.h"
#include "runtime/os/clock.h"

namespace trident::jobs {
namespace {

/// Behind the id of a flight: no submission shares it, for it has no baseline to give.
constexpr char kRenewalMark = 'r';

bool speculates(const ImageReady& sent) {
  return sent.image && sent.image->header().version == TRIDENT_SPECULATIVE_IMAGE_VERSION;
}

}  // namespace

void Jobs::remember(const Flight& flight, const Subscriber& subscriber, const ImageReady& sent) {
  if (!flight.order->by_weights) return;
  Renewals::Kernel kernel{flight.id, flight.uid, flight.order, ratio_of(sent), flight.weights, speculates(sent)};
  renewals_.remember(subscriber, std::move(kernel));
}

void Jobs::set_weights(const pipeline::SearchWeights* weights, const std::string& told) {
  const bool first = !std::exchange(renews_, true);
  search_.weights = weights;
  pool_.tell_weights(told);
  if (!first) begin_renewals();
}

void Jobs::set_costs(const expr::rewrite::OpCosts* costs, const std::string& told) {
  search_.costs = costs;
  pool_.tell_costs(told);
  begin_renewals();
}

/// Keys are others, and what clients have is searched again.
void Jobs::begin_renewals() {
  renewals_.set_weights(renewals_.weights() + 1);
  serve(worker::Lane::optimise);
}

void Jobs::renew_next() {
  while (renews_ && renewing_ == nullptr && !draining_ && pool_.has_room(worker::Lane::optimise)) {
    const auto number = renewals_.next();
    if (!number) return;
    renew(*number);
  }
}

void Jobs::renew(Renewals::Number number) {
  Renewals::Kernel& kernel = *renewals_.find(number);
  kernel.weights = renewals_.weights();
  auto owned = make_flight(kernel.uid, kernel.order);
  owned->id += kRenewalMark;
  if (failures_.quarantined(kernel.uid, owned->id, worker::Lane::optimise, os::monotonic_ns()) ||
      !has_room(kernel.uid, kernel.order->bytes()))
    return;
  ++stats_.renewals;
  const cache::Entry* known = cache_.find_hot(kernel.uid, owned->key, owned->canonical);
  if (known == nullptr) known = cache_.find_stored(kernel.uid, owned->key, owned->canonical);
  if (known != nullptr && known->image) return offer(kernel, cache::Entry(*known));
  owned->renewal = number;
  owned->step = Step::renewal;
  renewing_ = &admit(std::move(owned));
  run(*renewing_);
}

// Whatever is wrong with the baseline now, it was found right before: subscribers that hold it are told as usual.
void Jobs::on_renewed(Flight& flight, const worker::ResponseHeader& header, std::string_view tail) {
  const auto outcome = static_cast<pipeline::Outcome>(header.code);
  if (outcome == pipeline::Outcome::not_equivalent) {
    tell_of_revocation("differs from its reference", flight);
    if (const Renewals::Kernel* kernel = renewals_.find(*flight.renewal); kernel != nullptr)
      for (const Subscriber& subscriber : std::vector(kernel->subscribers)) sink_(subscriber, Revoked{});
  }
  if (outcome != pipeline::Outcome::published) return end_renewal(flight, nullptr);
  cache::Entry entry;
  entry.outcome = header.code;
  entry.baseline_ns = header.baseline_ns;
  entry.winner_ns = header.winner_ns;
  entry.image = shared(tail);
  entry.canonical = flight.canonical;
  if (flight.weights == renewals_.weights()) cache_.insert(flight.uid, flight.key, entry);
  end_renewal(flight, &entry);
}

void Jobs::end_renewal(Flight& flight, const cache::Entry* entry) {
  Renewals::Kernel* const kernel = renewals_.find(*flight.renewal);
  if (kernel != nullptr && entry != nullptr) offer(*kernel, *entry);
  remove(flight);
}

void Jobs::offer(Renewals::Kernel& kernel, const cache::Entry& entry) {
  const ImageReady better = ready_of(entry);
  const double ratio = ratio_of(better);
  if (!(ratio < kernel.ratio * kRenewalGain)) return;
  kernel.ratio = ratio;
  kernel.speculates = speculates(better);
  ++kernel.renewed;
  ++stats_.republished;
  if (promotions_.take())
    log::info("sent user {} a better kernel for an open one: it takes {:.2f} of the baseline's time{}", kernel.uid,
              ratio, promotions_.left_out());
  // A copy: a subscriber may close while it is told.
  for (const Subscriber& subscriber : std::vector(kernel.subscribers)) sink_(subscriber, better);
}

}  // namespace trident::jobs
