#include "daemon/worker/searches.h"

#include "runtime/log/log.h"
#include "runtime/os/clock.h"

namespace trident::worker {
namespace {

std::string_view tail_of(const image::ImageBytes& image) {
  return {reinterpret_cast<const char*>(image.bytes.data()), image.bytes.size()};
}

void send_interim(RequestSocket& front, std::uint64_t ticket, const pipeline::Interim& interim) {
  ResponseHeader response;
  response.ticket = ticket;
  response.kind = Kind::interim;
  response.baseline_checked = 1;
  response.baseline_ns = interim.baseline_ns;
  response.winner_ns = interim.winner_ns;
  front.send(response, tail_of(interim.image));
}

/// Sends the front the first progress of each stage, and others from time to time.
class ProgressSender {
 public:
  ProgressSender(RequestSocket& front, std::uint64_t ticket) : front_(&front), ticket_(ticket) {}

  void operator()(const pipeline::Progress& progress) {
    const std::uint64_t now = os::monotonic_ns();
    if (now < next_ns_ && progress.stage == last_stage_) return;
    last_stage_ = progress.stage;
    next_ns_ = now + kProgressEveryNs;
    ResponseHeader response;
    response.ticket = ticket_;
    response.kind = Kind::progress;
    response.code = static_cast<std::uint8_t>(progress.stage);
    response.baseline_checked = progress.baseline_checked ? 1 : 0;
    response.done = progress.done;
    response.total = progress.total;
    response.best_ratio = progress.best_ratio;
    front_->send(response);
  }

 private:
  RequestSocket* front_;
  std::uint64_t ticket_;
  std::uint64_t next_ns_ = 0;
  std::optional<Stage> last_stage_;
};

}  // namespace

void Basis::take(Tail what, std::string_view text, const std::optional<os::Fd>& file) {
  if (what == Tail::weights) {
    take_weights(text, file);
  } else if (what == Tail::costs) {
    costs.reset();
    if (text.empty()) return;
    auto table = cost::parse(text, "the front's costs");
    CHECK(table.ok());
    costs = std::make_shared<const expr::rewrite::OpCosts>(std::move(table).value());
  } else {
    auto parsed = pipeline::SearchRules::parse(text, "the front's rules");
    CHECK(parsed.ok());
    rules = std::make_shared<const pipeline::SearchRules>(std::move(parsed).value());
  }
}

pipeline::Search Basis::search(std::uint64_t seed) const {
  return {.seed = seed, .costs = costs.get(), .rules = rules.get(), .weights = weights.get()};
}

/// The file may have gone since the front has seen it, when others were chosen twice meanwhile. Weights change what
/// is found, never what a kernel means, so those of the program do until the front's next word.
void Basis::take_weights(std::string_view text, const std::optional<os::Fd>& file) {
  weights.reset();
  if (text.empty() || !file) return;
  auto mapped = pipeline::SearchWeights::map(*file, path_of_weights(text), text.substr(0, text.find(' ')));
  if (mapped.ok())
    weights = std::make_shared<const pipeline::SearchWeights>(std::move(mapped).value());
  else
    log::warning("{}: the search uses the shipped weights", mapped.error().message);
}

bool Searches::begin(const RequestHeader& request, const expr::Expr& expr, pipeline::Options options,
                     const Basis& basis) {
  const std::uint64_t ticket = request.ticket;
  options.interim = [this, ticket](const pipeline::Interim& interim) { send_interim(front_, ticket, interim); };
  auto looks = std::make_unique<pipeline::TwoLooks>(expr, std::move(options), ProgressSender(front_, ticket));
  const auto more = looks->first();
  if (!more.ok()) return send_failure(front_, ticket, more.error());
  if (!*more) return answer(ticket, *looks);
  const bool may_wait = request.may_keep != 0 && looks->has_found();
  kept_[ticket] = {basis, std::move(looks)};
  if (!may_wait) return go_on(ticket);
  ResponseHeader response;
  response.ticket = ticket;
  response.kind = Kind::kept;
  response.baseline_checked = 1;
  return front_.send(response);
}

bool Searches::go_on(std::uint64_t ticket) {
  auto node = kept_.extract(ticket);
  if (node.empty()) return false;
  pipeline::TwoLooks& looks = *node.mapped().looks;
  const auto done = looks.second();
  return done.ok() ? answer(ticket, looks) : send_failure(front_, ticket, done.error());
}

bool Searches::answer(std::uint64_t ticket, pipeline::TwoLooks& looks) {
  const pipeline::Optimised optimised = looks.take();
  ResponseHeader response;
  response.ticket = ticket;
  response.kind = Kind::outcome;
  response.code = static_cast<std::uint8_t>(optimised.outcome);
  response.baseline_checked = optimised.baseline_checked ? 1 : 0;
  response.baseline_ns = optimised.baseline_ns;
  response.winner_ns = optimised.winner_ns;
  const bool carries = optimised.outcome == pipeline::Outcome::published;
  return front_.send(response, carries ? tail_of(optimised.winner.image) : optimised.note);
}

}  // namespace trident::worker
