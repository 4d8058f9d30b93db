#include "daemon/admin/admin.h"

#include "jit/loop/discover.h"
#include "runtime/json/json.h"
#include "runtime/os/self.h"

namespace trident::admin {
namespace {

Json functions_json(const jobs::TriedStats& functions) {
  return {{"submitted", functions.submitted},
          {"shared", functions.shared},
          {"cached", functions.cached},
          {"compiled", functions.compiled},
          {"known_failures", functions.known_failures},
          {"quarantined", functions.quarantined},
          {"failed", functions.failed},
          {"not_equivalent", functions.not_equivalent},
          {"lost", functions.lost},
          {"busy", functions.busy},
          {"cancelled", functions.cancelled}};
}

Json loops_json(const jobs::LoopStats& loops) {
  Json refused = Json::object();
  for (std::size_t reason = 0; reason < loops.refused.size(); ++reason)
    if (loops.refused[reason] != 0)
      refused[std::string(loop::name_of(static_cast<loop::Reason>(reason)))] = loops.refused[reason];
  const std::uint64_t saved_ns = loops.guest_ns > loops.kernel_ns ? loops.guest_ns - loops.kernel_ns : 0;
  return {{"submitted", loops.submitted},
          {"shared", loops.shared},
          {"cached", loops.cached},
          {"compiled", loops.compiled},
          {"refused", refused},
          {"known_failures", loops.known_failures},
          {"quarantined", loops.quarantined},
          {"failed", loops.failed},
          {"not_equivalent", loops.not_equivalent},
          {"lost", loops.lost},
          {"busy", loops.busy},
          {"cancelled", loops.cancelled},
          {"entries", loops.entries},
          {"iterations", loops.iterations},
          {"guest_ns", loops.guest_ns},
          {"kernel_ns", loops.kernel_ns},
          {"saved_ns", saved_ns}};
}

}  // namespace

std::string stats_json(double uptime_s, const session::Stats& sessions, const jobs::Stats& jobs,
                       const worker::PoolStats& workers, std::size_t workers_alive, const cache::Stats& cache,
                       const Learning& learning, const Condition& condition) {
  Json json;
  json["uptime_s"] = uptime_s;
  json["build"] = os::build_id();
  json["sessions"] = {{"connections", sessions.connections},
                      {"users", sessions.users},
                      {"accepted", sessions.accepted},
                      {"refused", sessions.refused},
                      {"malformed", sessions.malformed},
                      {"hello_timeouts", sessions.hello_timeouts},
                      {"frame_timeouts", sessions.frame_timeouts},
                      {"overflows", sessions.overflows},
                      {"image_bytes", sessions.image_bytes},
                      {"over_image_bytes", sessions.over_image_bytes}};
  json["jobs"] = {{"submitted", jobs.submitted},
                  {"shared", jobs.shared},
                  {"busy", jobs.busy},
                  {"cancelled", jobs.cancelled},
                  {"quarantined", jobs.quarantined},
                  {"failed", jobs.failed},
                  {"known_failures", jobs.known_failures},
                  {"baseline_ready", jobs.baseline_ready},
                  {"published", jobs.published},
                  {"no_gain", jobs.no_gain},
                  {"budget_spent", jobs.budget_spent},
                  {"not_equivalent", jobs.not_equivalent},
                  {"lost", jobs.lost},
                  {"retried", jobs.retried},
                  {"checked_alone", jobs.checked_alone},
                  {"revoked", jobs.revoked},
                  {"observed", jobs.observed},
                  {"speculating", jobs.speculating},
                  {"misses", jobs.misses},
                  {"widened", jobs.widened},
                  {"dropped", jobs.dropped},
                  {"renewals", jobs.renewals},
                  {"republished", jobs.republished},
                  {"open_kernels", jobs.open_kernels},
                  {"renewals_waiting", jobs.renewals_waiting},
                  {"flights", jobs.flights},
                  {"baseline_waiting", jobs.baseline_waiting},
                  {"optimise_waiting", jobs.optimise_waiting},
                  {"check_waiting", jobs.check_waiting},
                  {"baseline_us_log2", jobs.baseline_us_log2},
                  {"notes", jobs.notes}};
  const jobs::ProgramStats& programs = jobs.programs;
  json["programs"] = {
      {"submitted", programs.submitted}, {"cheaper", programs.cheaper}, {"no_gain", programs.no_gain},
      {"failed", programs.failed},       {"busy", programs.busy},       {"cancelled", programs.cancelled},
      {"lost", programs.lost},           {"waiting", programs.waiting}, {"running", programs.running}};
  json["loops"] = loops_json(jobs.loops);
  json["functions"] = functions_json(jobs.functions);
  json["workers"] = {{"alive", workers_alive},
                     {"started", workers.started},
                     {"crashed", workers.crashed},
                     {"timed_out", workers.timed_out},
                     {"protocol_errors", workers.protocol_errors},
                     {"confined", condition.confined},
                     {"not_confined", condition.not_confined}};
  const store::Stats& store = cache.store;
  json["cache"] = {{"hot", cache.hot},
                   {"hot_bytes", cache.hot_bytes},
                   {"hot_hits", cache.hot_hits},
                   {"stored_hits", cache.stored_hits},
                   {"misses", cache.misses},
                   {"collisions", cache.collisions},
                   {"refused_images", cache.refused_images},
                   {"not_stored", cache.not_stored},
                   {"mode", store.mode == store::Mode::disk ? "disk" : "memory"},
                   {"reason", store.reason},
                   {"records", store.records},
                   {"bytes", store.bytes},
                   {"evicted", store.evicted},
                   {"rejected", store.rejected},
                   {"set_aside", store.set_aside},
                   {"write_failures", store.write_failures}};
  json["learning"] = {{"weights", learning.weights},
                      {"weights_changed", learning.weights_changed},
                      {"costs", learning.costs},
                      {"costs_changed", learning.costs_changed},
                      {"noted", learning.noted},
                      {"lost", learning.lost},
                      {"journal_fault", learning.journal_fault}};
  json["configuration"] = {{"restart_due", condition.restart_due}, {"reload_error", condition.reload_error}};
  return json.dump(2);
}

}  // namespace trident::admin
