// Orders made by hand, worked on by workers that say what a script says: jobs know nothing of what an order means. The
// workers are this program again, as in daemon/worker/pool_test.cpp. Oracle: the life of a job as jobs.h draws it.
#include "daemon/jobs/jobs.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <unordered_map>

#include "daemon/worker/compile.h"
#include "daemon/worker/request_socket.h"
#include "runtime/os/child.h"
#include "schemas/function_image.h"
#include "schemas/loop_image.h"

namespace trident::jobs {
namespace {

using pipeline::Outcome;
using worker::Kind;
using worker::Lane;

/// One response, to a request of this lane. A message is a row of them.
struct Line {
  Lane lane = Lane::optimise;
  Kind kind = Kind::outcome;
  std::uint8_t code = 0, baseline_checked = 0;
};

/// Bytes that only look like code.
codegen::MachineCode some_code() {
  codegen::MachineCode code;
  code.bytes.assign(64, std::byte{0xC3});
  constexpr unsigned char kLandingPad[] = {0xF3, 0x0F, 0x1E, 0xFA};
  std::memcpy(code.bytes.data(), kLandingPad, sizeof(kLandingPad));
  code.code_size = 16;
  code.pool_offset = 64;
  return code;
}

/// Makes an image of such bytes.
std::string image_of(trident_tier tier, std::uint8_t mark = 0) {
  const auto bytes = image::build(some_code(), {.outputs = 1}, codegen::Isa::avx2, tier, {mark}).bytes;
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Makes such an image of a loop of two instructions, without windows.
std::string loop_image() {
  const trident_loop_range range{0, 8, 0};
  trident_loop_description d{};
  d.bytes = sizeof d + sizeof range;
  d.guest = TRIDENT_GUEST_AARCH64;
  d.ranges = 1;
  d.instructions = 2;
  std::vector<std::byte> description(d.bytes);
  std::memcpy(description.data(), &d, sizeof d);
  std::memcpy(description.data() + sizeof d, &range, sizeof range);
  const auto bytes = image::build_loop(some_code(), description, codegen::Isa::avx2, TRIDENT_TIER_BASELINE, {}).bytes;
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Makes an image of a function without parameters.
std::string function_image() {
  trident_function_description d{};
  d.bytes = sizeof d;
  d.frame_bytes = 40;
  d.failure_home = 24, d.place_home = 28, d.result_home = 32;
  const auto description = std::as_bytes(std::span(&d, 1));
  const auto bytes =
      image::build_function(some_code(), description, codegen::Isa::avx2, TRIDENT_TIER_BASELINE, {}).bytes;
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string tail_of(const Line& line) {
  if (line.kind == Kind::function_image) return line.code == 1 ? loop_image() : function_image();
  if (line.kind == Kind::loop_image) return loop_image();
  if (line.kind == Kind::loop_refused) return "it calls";
  if (line.kind == Kind::baseline_image) return image_of(TRIDENT_TIER_BASELINE);
  const bool better = line.kind == Kind::outcome && line.code == static_cast<std::uint8_t>(Outcome::published);
  return better || line.kind == Kind::interim ? image_of(TRIDENT_TIER_OPTIMISED, better ? 0 : line.code) : "";
}

/// Never returns: says its lines until the front has gone.
[[noreturn]] void recite() {
  worker::RequestSocket front{os::Fd(os::kInheritedFd)};
  std::unordered_map<std::uint64_t, std::vector<Line>> kept;  // what is left of scripts
  while (true) {
    const auto request = front.next();
    worker::RequestHeader header;
    if (request.size() < sizeof(header)) ::_exit(0);
    std::memcpy(&header, request.data(), sizeof(header));
    std::vector<Line> script((request.size() - sizeof(header)) / sizeof(Line));
    std::memcpy(script.data(), request.data() + sizeof(header), script.size() * sizeof(Line));
    if (header.tail == worker::Tail::go_on) script = std::move(kept[header.ticket]);
    for (std::size_t i = 0; i < script.size(); ++i) {
      const Line& line = script[i];
      if (line.lane != header.lane || (line.kind == Kind::kept && header.may_keep == 0)) continue;
      worker::ResponseHeader response{.ticket = header.ticket, .kind = line.kind, .code = line.code};
      response.baseline_checked = line.baseline_checked;
      response.offset = 4;
      response.baseline_ns = 100;
      response.winner_ns = line.kind == Kind::interim ? 50 - line.code : 25;
      front.send(response, tail_of(line));
      if (line.kind == Kind::progress) ::usleep(50'000);  // time to interrupt the search
      if (line.kind != Kind::kept) continue;
      kept[header.ticket].assign(script.begin() + static_cast<std::ptrdiff_t>(i) + 1, script.end());
      break;
    }
  }
}

__attribute__((constructor)) void be_a_worker_where_asked(int argc, char** argv, char**) {
  if (argc >= 3 && std::string_view(argv[1]) == worker::kWorkerArgument) recite();
}

Line baseline() {
  return {Lane::baseline, Kind::baseline_image};
}
Line progress(Stage stage, bool checked) {
  return {Lane::optimise, Kind::progress, static_cast<std::uint8_t>(stage), checked};
}
Line outcome(Outcome code, bool checked = true) {
  return {Lane::optimise, Kind::outcome, static_cast<std::uint8_t>(code), checked};
}
/// `mark` tells their images apart.
Line interim(std::uint8_t mark = 0) {
  return {Lane::optimise, Kind::interim, mark, 1};
}

/// The search is left here, and goes on later.
Line kept() {
  return {Lane::optimise, Kind::kept, 0, 1};
}
/// No worker survives this answer.
Line lie() {
  return {Lane::optimise, Kind::progress, kStageCount, 0};
}

Order order_of(const std::vector<Line>& script) {
  Order order;
  const auto bytes = std::as_bytes(std::span(script));
  order.message.assign(bytes.begin(), bytes.end());
  order.identify = [message = order.message](const pipeline::Search&) {
    Order::Identity identity{{}, message};
    const auto hash = std::hash<std::string_view>()({reinterpret_cast<const char*>(message.data()), message.size()});
    std::memcpy(identity.key.data(), &hash, sizeof(hash));
    return identity;
  };
  order.describe = [] { return "a script"; };
  return order;
}

struct Told {
  std::vector<std::string>& log;
  void operator()(const Accepted& e) const { log.push_back(e.cached ? "accepted, cached" : "accepted"); }
  void operator()(const ImageReady& e) const {
    const bool better = e.image->header().tier == TRIDENT_TIER_OPTIMISED;
    log.push_back(better ? "image at " + std::to_string(static_cast<int>(e.optimised_ns)) : "baseline");
  }
  void operator()(const Progressed& e) const { log.push_back(std::string(name_of(e.stage))); }
  void operator()(const Revoked& e) const {
    log.emplace_back(e.tier == TRIDENT_TIER_BASELINE ? "revoked" : "revoked, the better one");
  }
  void operator()(const Finished& e) const { log.push_back("finished: " + std::string(name_of(e.outcome))); }
  void operator()(const ProgramReady&) const { log.emplace_back("finished: a program"); }
  void operator()(const LoopRefused& e) const {
    log.push_back("finished: refused for " + std::to_string(e.reason) + " at +" + std::to_string(e.offset) + ", " +
                  e.text);
  }
  void operator()(const Failed& e) const { log.push_back("failed: " + e.error.message); }
};

class Scripts : public ::testing::Test {
 protected:
  using Log = std::vector<std::string>;

  /// The number of the job.
  std::uint64_t submit(Order order) {
    jobs_.submit({1, ++last_}, 1000, std::make_shared<const Order>(std::move(order)));
    return last_;
  }
  template <class Condition>
  void until(Condition condition) {
    for (int ms = 0; ms < 20'000 && !condition(); ++ms, ::usleep(1000)) uv_run(loop_.raw(), UV_RUN_NOWAIT);
  }
  /// Returns the events of a job until it has ended.
  Log follow(std::uint64_t job) {
    const Log& log = logs_.at(job);
    until([&] { return log.back().starts_with("finished") || log.back().starts_with("failed"); });
    return log;
  }
  Log tell(Order order) { return follow(submit(std::move(order))); }

  net::Loop loop_;
  cache::Cache cache_{{.path = "", .hot_entries_max = 100, .hot_bytes_max = 1u << 20}};
  std::uint64_t last_ = 0;
  std::unordered_map<std::uint64_t, Log> logs_;
  Jobs jobs_{loop_,
             {.baseline_timeout_ms = 20'000, .optimise_grace_ms = 20'000},
             {.baseline_queue_per_user = 10,
              .optimise_queue_per_user = 10,
              .flights = 100,
              .flight_bytes_per_user = 1u << 20,
              .flight_bytes = 4u << 20,
              .optimise_budget_ms = 1000,
              .program_queue_per_user = 1},
             cache_,
             [this](const Subscriber& to, const Event& event) {
               Log& log = logs_[to.job];
               const std::size_t before = log.size();
               std::visit(Told{log}, event);
               for (std::size_t i = before; i < log.size(); ++i) all_.push_back(std::to_string(to.job) + " " + log[i]);
             }};
  Log all_;  ///< the events of all jobs
};

TEST_F(Scripts, BaselinesGoOutAtOnceWhereTheOrderAllowsIt) {
  Order order = order_of({baseline(), progress(Stage::lower, false), outcome(Outcome::published)});
  order.publish_unchecked = true;
  EXPECT_EQ(tell(order), (Log{"accepted", "baseline", "lower", "image at 25", "finished: published"}));
  EXPECT_EQ(tell(order), (Log{"accepted, cached", "image at 25", "finished: published"}));
}

TEST_F(Scripts, OtherBaselinesWaitUntilTheyWereFoundRight) {
  EXPECT_EQ(tell(order_of(
                {baseline(), progress(Stage::lower, false), progress(Stage::emit, true), outcome(Outcome::published)})),
            (Log{"accepted", "lower", "baseline", "emit", "image at 25", "finished: published"}));
  EXPECT_EQ(tell(order_of({baseline(), outcome(Outcome::no_gain)})),
            (Log{"accepted", "baseline", "finished: no gain"}));
  EXPECT_EQ(tell(order_of({baseline(), outcome(Outcome::budget_spent)})),
            (Log{"accepted", "baseline", "finished: budget spent"}));
}

TEST_F(Scripts, WhatWasNeverPublishedIsNotRevoked) {
  EXPECT_EQ(tell(order_of({baseline(), outcome(Outcome::not_equivalent, false)})),
            (Log{"accepted", "finished: not equivalent"}));
  EXPECT_EQ(jobs_.stats().revoked, 0u);
  Order order = order_of({baseline(), outcome(Outcome::not_equivalent)});
  order.publish_unchecked = true;
  EXPECT_EQ(tell(order), (Log{"accepted", "baseline", "revoked", "finished: not equivalent"}));
  EXPECT_EQ(jobs_.stats().revoked, 1u);
}

TEST_F(Scripts, AnInterimImageGoesOutBeforeTheOutcome) {
  const Order better = order_of({baseline(), interim(), interim(), outcome(Outcome::published)});
  EXPECT_EQ(tell(better), (Log{"accepted", "baseline", "image at 50", "image at 25", "finished: published"}));
  EXPECT_EQ(tell(better), (Log{"accepted, cached", "image at 25", "finished: published"}));
  // With nothing better it stays, for those who come later too.
  const Order best = order_of({baseline(), interim(), outcome(Outcome::no_gain)});
  EXPECT_EQ(tell(best), (Log{"accepted", "baseline", "image at 50", "finished: no gain"}));
  EXPECT_EQ(tell(best), (Log{"accepted, cached", "image at 50", "finished: no gain"}));
}

TEST_F(Scripts, ARevocationNamesTheImageThatRuns) {
  EXPECT_EQ(tell(order_of({baseline(), interim(), outcome(Outcome::not_equivalent)})),
            (Log{"accepted", "baseline", "image at 50", "revoked, the better one", "finished: not equivalent"}));
}

TEST_F(Scripts, OnlyWhatDependsOnWeightsIsKeptToBeSearchedAgain) {
  jobs_.set_weights(nullptr, "");
  Order order = order_of({baseline(), outcome(Outcome::no_gain)});
  tell(order);
  EXPECT_EQ(jobs_.stats().open_kernels, 0u);
  order.by_weights = true;
  tell(order);
  EXPECT_EQ(jobs_.stats().open_kernels, 1u);
}

/// An order that begins anew with another script when ranges were observed; without any, as it is.
Order order_with(const std::vector<Line>& script, const std::vector<Line>& observed) {
  Order order = order_of(script);
  order.by_weights = true;
  order.assume = [observed](const Order& self, std::span<const kir::Assumed> seen) {
    return std::make_shared<const Order>(seen.empty() ? self : order_of(observed));
  };
  return order;
}

TEST_F(Scripts, AJobBeginsAnewWithObservedRanges) {
  jobs_.set_weights(nullptr, "");
  const std::vector<Line> general = {baseline(), outcome(Outcome::no_gain)};
  const std::vector<Line> speculative = {baseline(), interim(), outcome(Outcome::published)};
  const Hint seen{{{0, 1}}};
  const std::uint64_t ended = submit(order_with(general, speculative));
  follow(ended);
  jobs_.observe({1, ended}, 1000, {{}});  // nothing new
  EXPECT_EQ(jobs_.stats().observed, 0u);
  jobs_.observe({1, ended}, 1000, seen);
  EXPECT_EQ(jobs_.stats().observed, 1u);
  logs_[ended].clear();
  logs_[ended].push_back("observed");
  EXPECT_EQ(follow(ended), (Log{"observed", "baseline", "image at 50", "image at 25", "finished: published"}));
  // In the works; the second time the answer is known.
  const std::uint64_t begun = submit(order_with({baseline(), outcome(Outcome::budget_spent)}, speculative));
  jobs_.observe({1, begun}, 1000, seen);
  EXPECT_EQ(follow(begun), (Log{"accepted", "accepted, cached", "image at 25", "finished: published"}));
  EXPECT_EQ(jobs_.stats().submitted, 2u);
  EXPECT_EQ(jobs_.stats().cancelled, 0u);
}

// One worker searches, slowly; what waits behind is taken as it was called, not as it came.
TEST_F(Scripts, WhatIsCalledMostIsSearchedFirst) {
  const auto script = [](std::uint8_t number) {
    return order_of({baseline(), interim(number), progress(Stage::judge, true), outcome(Outcome::no_gain)});
  };
  std::vector<std::uint64_t> order, numbers;
  for (std::uint8_t i = 1; i <= 5; ++i) numbers.push_back(submit(script(i)));
  jobs_.note_called({1, numbers[2]}, 500);
  jobs_.note_called({1, numbers[4]}, 5000);
  jobs_.note_called({1, 99}, 5000);  // nobody's
  const auto ended = [&](std::uint64_t job) { return logs_[job].back().starts_with("finished"); };
  until([&] {
    for (const std::uint64_t job : numbers)
      if (ended(job) && std::find(order.begin(), order.end(), job) == order.end()) order.push_back(job);
    return order.size() == numbers.size();
  });
  ASSERT_EQ(order.size(), numbers.size());
  std::erase(order, numbers[0]);  // it may have been the first to come, when nobody waited
  EXPECT_EQ(order, (std::vector<std::uint64_t>{numbers[4], numbers[2], numbers[1], numbers[3]}));
}

TEST_F(Scripts, HintsAboutUnknownJobsAndOtherOrdersAreDropped) {
  const Hint seen{{{0, 1}}};
  jobs_.observe({1, 99}, 1000, seen);
  const std::uint64_t job = submit(order_of({baseline(), outcome(Outcome::no_gain)}));
  jobs_.observe({1, job}, 1000, seen);
  EXPECT_EQ(follow(job).back(), "finished: no gain");
  EXPECT_EQ(jobs_.stats().observed, 0u);
}

TEST_F(Scripts, ASearchThatIsUnderWayEndsBeforeItsJobBeginsAnew) {
  const std::vector<Line> speculative = {baseline(), interim(), outcome(Outcome::published)};
  const std::uint64_t job =
      submit(order_with({baseline(), progress(Stage::equiv, true), outcome(Outcome::no_gain)}, speculative));
  until([&] { return !logs_[job].empty() && logs_[job].back() == "equiv"; });
  jobs_.observe({1, job}, 1000, {{{0, 1}}});
  EXPECT_EQ(jobs_.stats().observed, 0u);
  until([&] { return logs_[job].back() == "finished: published"; });
  EXPECT_EQ(logs_[job], (Log{"accepted", "baseline", "equiv", "finished: no gain", "accepted", "baseline",
                             "image at 50", "image at 25", "finished: published"}));
  EXPECT_EQ(jobs_.stats().observed, 1u);
}

/// An order that takes any hint, and is known by what it assumes.
Order assuming(const std::vector<Line>& script, const std::vector<Line>& general, std::uint8_t ranges) {
  Order order = order_of(ranges == 0 ? general : script);
  order.by_weights = true;
  order.assumed = ranges;
  order.identify = [identify = order.identify, ranges](const pipeline::Search& search) {
    Order::Identity identity = identify(search);
    identity.key[1] = ranges;
    return identity;
  };
  order.assume = [script, general](const Order&, std::span<const kir::Assumed> seen) {
    return std::make_shared<const Order>(assuming(script, general, static_cast<std::uint8_t>(seen.size())));
  };
  return order;
}

TEST_F(Scripts, HintsWithMissesWidenOrEndTheSpeculation) {
  const std::vector<Line> script = {baseline(), outcome(Outcome::published)};
  const std::uint64_t job = submit(assuming(script, {baseline(), outcome(Outcome::no_gain)}, 0));
  follow(job);
  for (const Hint& hint : {Hint{{{0, 1}}, 0}, Hint{{{0, 2}, {0, 2}}, 7}, Hint{{}, 9}}) {
    logs_[job] = {"told"};
    jobs_.observe({1, job}, 1000, hint);
    follow(job);
  }
  EXPECT_EQ(logs_[job].back(), "finished: no gain");
  const Stats stats = jobs_.stats();
  EXPECT_EQ(stats.observed, 1u);
  EXPECT_EQ(stats.widened, 1u);
  EXPECT_EQ(stats.dropped, 1u);
  EXPECT_EQ(stats.misses, 16u);
}

/// A search with a first kernel, and a better one at its end. `mark` tells orders apart.
Order searched_in_two_parts(std::uint8_t mark) {
  return order_of({baseline(), progress(Stage::lower, true), interim(mark), kept(), progress(Stage::judge, true),
                   outcome(Outcome::published)});
}

TEST_F(Scripts, AllFirstKernelsComeBeforeAnySearchGoesOn) {
  for (std::uint8_t i = 1; i <= 4; ++i) submit(searched_in_two_parts(i));
  jobs_.note_called({1, 3}, 1000);
  for (std::uint64_t job = 1; job <= 4; ++job) follow(job);
  Log images;
  for (const std::string& event : all_)
    if (event.find("image at") != std::string::npos) images.push_back(event);
  EXPECT_EQ(images, (Log{"1 image at 49", "3 image at 47", "2 image at 48", "4 image at 46",  //
                         "3 image at 25", "1 image at 25", "2 image at 25", "4 image at 25"}));
  EXPECT_EQ(jobs_.stats().optimise_waiting, 0u);
  EXPECT_EQ(jobs_.stats().flights, 0u);
}

TEST_F(Scripts, ASearchAloneGoesOnAtOnce) {
  EXPECT_EQ(tell(searched_in_two_parts(1)),
            (Log{"accepted", "baseline", "lower", "image at 49", "judge", "image at 25", "finished: published"}));
}

TEST_F(Scripts, AKeptSearchIsDoneAnewWhenItsWorkerDies) {
  const std::uint64_t first = submit(searched_in_two_parts(1));
  const std::uint64_t deadly = submit(order_of({baseline(), progress(Stage::lower, true), lie()}));
  const Log log = follow(first);
  EXPECT_EQ(log.back(), "finished: published");
  EXPECT_EQ(std::count(log.begin(), log.end(), "image at 49"), 1) << "the same image was sent twice";
  EXPECT_GE(jobs_.stats().retried, 1u);
  EXPECT_NE(follow(deadly).back(), "finished: published");
  EXPECT_EQ(jobs_.stats().flights, 0u);
}

TEST_F(Scripts, AKeptSearchThatNobodyWantsAnyMoreIsCached) {
  const Order left = searched_in_two_parts(1);
  const std::uint64_t job = submit(left);
  const std::uint64_t other = submit(searched_in_two_parts(2));
  until([&] { return logs_.at(job).back() == "image at 49"; });
  jobs_.cancel({1, job});
  follow(other);
  until([&] { return jobs_.idle(); });
  EXPECT_EQ(tell(left), (Log{"accepted, cached", "image at 25", "finished: published"}));
}

TEST_F(Scripts, ThreeDifferentInterimImagesGoOut) {
  const Order order =
      order_of({baseline(), interim(1), interim(1), interim(2), interim(3), interim(4), outcome(Outcome::no_gain)});
  EXPECT_EQ(tell(order),
            (Log{"accepted", "baseline", "image at 49", "image at 48", "image at 47", "finished: no gain"}));
}

Line loop(Kind kind, std::uint8_t code = 0, bool tried = true) {
  return {Lane::baseline, kind, code, tried};
}

Order loop_order_of(const std::vector<Line>& script) {
  Order order = order_of(script);
  order.loop = true;
  return order;
}

TEST_F(Scripts, ALoopEndsWithItsFirstImage) {
  const Order order = loop_order_of({loop(Kind::loop_image)});
  EXPECT_EQ(tell(order), (Log{"accepted", "baseline", "finished: published"}));
  EXPECT_EQ(tell(order), (Log{"accepted, cached", "baseline", "finished: published"}));
  const LoopStats loops = jobs_.stats().loops;
  EXPECT_EQ(loops.submitted, 2u);
  EXPECT_EQ(loops.compiled, 1u);
  EXPECT_EQ(loops.cached, 1u);
  EXPECT_EQ(jobs_.stats().submitted, 0u);
  EXPECT_EQ(jobs_.stats().flights, 0u);
}

TEST_F(Scripts, ARefusedLoopIsRefusedAgainWithoutAWorker) {
  const Order order = loop_order_of({loop(Kind::loop_refused, 4, false)});
  EXPECT_EQ(tell(order), (Log{"accepted", "finished: refused for 4 at +4, it calls"}));
  EXPECT_EQ(tell(order), Log{"finished: refused for 4 at +4, it calls"});
  EXPECT_EQ(jobs_.stats().loops.refused[4], 2u);
  EXPECT_EQ(jobs_.stats().loops.known_failures, 1u);
}

// Nothing of a loop goes out that was not tried, and no kernel's image for a loop or the other way round.
TEST_F(Scripts, AnImageOfALoopThatWasNotTriedIsNoAnswer) {
  EXPECT_EQ(tell(loop_order_of({loop(Kind::loop_image, 0, false)})).back().substr(0, 7), "failed:");
  EXPECT_EQ(tell(loop_order_of({baseline()})).back().substr(0, 7), "failed:");
  EXPECT_EQ(tell(order_of({loop(Kind::loop_image)})).back().substr(0, 7), "failed:");
  EXPECT_EQ(jobs_.stats().loops.compiled, 0u);
}

Order function_order_of(const std::vector<Line>& script) {
  Order order = order_of(script);
  order.function = true;
  return order;
}

TEST_F(Scripts, AFunctionEndsWithItsFirstImage) {
  const Order order = function_order_of({loop(Kind::function_image)});
  EXPECT_EQ(tell(order), (Log{"accepted", "baseline", "finished: published"}));
  EXPECT_EQ(tell(order), (Log{"accepted, cached", "baseline", "finished: published"}));
  const TriedStats functions = jobs_.stats().functions;
  EXPECT_EQ(functions.submitted, 2u);
  EXPECT_EQ(functions.compiled, 1u);
  EXPECT_EQ(functions.cached, 1u);
  EXPECT_EQ(jobs_.stats().submitted + jobs_.stats().loops.submitted, 0u);
}

TEST_F(Scripts, AFunctionThatFailsItsTrialsFailsAgainWithoutAWorker) {
  const Line wrong{Lane::baseline, Kind::failed, static_cast<std::uint8_t>(ErrorCode::kNotEquivalent)};
  const Order order = function_order_of({wrong});
  EXPECT_EQ(tell(order).back().substr(0, 7), "failed:");
  EXPECT_EQ(tell(order).back().substr(0, 7), "failed:");
  EXPECT_EQ(jobs_.stats().functions.not_equivalent, 1u);
  EXPECT_EQ(jobs_.stats().functions.known_failures, 1u);
}

TEST_F(Scripts, OnlyATriedImageOfAFunctionAnswersAFunction) {
  EXPECT_EQ(tell(function_order_of({loop(Kind::function_image, 0, false)})).back().substr(0, 7), "failed:");
  EXPECT_EQ(tell(function_order_of({loop(Kind::function_image, 1)})).back().substr(0, 7), "failed:")
      << "a loop's image";
  EXPECT_EQ(tell(function_order_of({loop(Kind::loop_image)})).back().substr(0, 7), "failed:");
  EXPECT_EQ(tell(function_order_of({baseline()})).back().substr(0, 7), "failed:");
  EXPECT_EQ(tell(loop_order_of({loop(Kind::function_image)})).back().substr(0, 7), "failed:");
  EXPECT_EQ(tell(order_of({loop(Kind::function_image)})).back().substr(0, 7), "failed:");
  EXPECT_EQ(jobs_.stats().functions.compiled + jobs_.stats().loops.compiled, 0u);
}

TEST_F(Scripts, ProgramsHaveALaneOfTheirOwnAndShareNothing) {
  const Line refusal{Lane::programs, Kind::failed, static_cast<std::uint8_t>(ErrorCode::kTypeError)};
  const auto message = std::as_bytes(std::span(&refusal, 1));
  std::vector<std::uint64_t> programs;
  for (int i = 0; i < 3; ++i) programs.push_back(submit(*program_order(1000, message)));
  EXPECT_EQ(jobs_.stats().programs.running, 1u);
  EXPECT_EQ(jobs_.stats().programs.waiting, 1u);
  EXPECT_EQ(jobs_.stats().flights, 0u);
  EXPECT_TRUE(jobs_.idle());
  EXPECT_EQ(follow(programs[2]), Log{"failed: too many programs of this user are waiting"});
  jobs_.cancel({1, programs[1]});
  EXPECT_EQ(follow(programs[0]), (Log{"accepted", "failed: "}));
  EXPECT_EQ(logs_[programs[1]], Log{"accepted"});
  const ProgramStats stats = jobs_.stats().programs;
  EXPECT_EQ(stats.submitted, 3u);
  EXPECT_EQ(stats.busy, 1u);
  EXPECT_EQ(stats.cancelled, 1u);
  EXPECT_EQ(stats.failed, 1u);
  EXPECT_EQ(stats.running + stats.waiting, 0u);
  EXPECT_EQ(jobs_.stats().failed, 0u);
}

}  // namespace
}  // namespace trident::jobs
