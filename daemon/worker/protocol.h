// The protocol between the front and its workers over a socketpair: net::Channel frames, each a fixed header and a
// tail. Both ends are the same program, so the layout has no versions. The front still treats a worker as code that
// untrusted input may have broken: sizes and enums are checked, a worker that errs is killed.
//
//   front -> worker   first the search's additions to the built-in tables, if any: costs that were measured on this
//                     machine, rules of its owner, weights that were trained here (costs and weights at any time, on
//                     every change); then, for each request, RequestHeader and the client's Submit message as it
//                     came: the worker runs ingest again. A search may end for now after its first look; the worker
//                     keeps it until Tail::go_on or Tail::forget. The programs lane also gets Tail::cancel when nobody
//                     waits for a running request any more: it then ends with the best result so far, and is answered
//   worker -> front   first Kind::ready; then ResponseHeader and a tail: image, text or message (program). The text of
//                     `failed` is the error, that of an outcome without an image is Optimised::note. No descriptor
//                     travels, so none can be missing
#pragma once

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "jit/image/image.h"

namespace trident::worker {

enum class Lane : std::uint8_t {
  baseline,  ///< workers that do nothing else, so that a long search never delays a first kernel
  optimise,
  programs  ///< programs of Triton VM, one at a time
};

/// The kind of tail behind a RequestHeader. Costs, rules and weights are texts that hold for all later requests and
/// get no response.
enum class Tail : std::uint8_t {
  submit,   ///< a request: the client's message
  costs,    ///< optimise lane: a table of jit/cost; nothing: those that are built in
  rules,    ///< optimise lane: text for pipeline::SearchRules::parse()
  weights,  ///< optimise lane: told_weights(), the file attached
  go_on,    ///< optimise lane: a request, nothing: go on with the kept search of this ticket
  forget,   ///< optimise lane: nothing: the kept search of this ticket is not wanted any more
  cancel    ///< programs lane: nothing; the request of this ticket need not be worked on
};

/// The text of Tail::weights: which file has which bytes. The file itself is attached, open: a worker is confined and
/// can open none. For the weights that come with the program: nothing.
inline std::string told_weights(std::string_view digest, std::string_view path) {
  return std::string(digest) + " " + std::string(path);
}
/// The path in it; empty for the weights that come with the program.
inline std::string path_of_weights(std::string_view told) {
  const std::size_t blank = told.find(' ');
  return blank == std::string_view::npos ? std::string() : std::string(told.substr(blank + 1));
}

/// Progress is for people: more lines a second than this allows are noise.
inline constexpr std::uint64_t kProgressEveryNs = 50'000'000;

/// Tells a worker to close standard error: a reader waits for the end of that pipe (runtime/os/inherited.h).
inline constexpr int kReleaseStandardError = SIGUSR1;

struct RequestHeader {
  std::uint64_t ticket = 0;
  Lane lane = Lane::baseline;
  std::uint8_t isa = 0;         ///< enum trident_isa
  std::uint8_t check_only = 0;  ///< optimise lane: pipeline::Budget::check_only
  Tail tail = Tail::submit;
  std::uint8_t effort = 1;    ///< optimise lane: pipeline::Budget::effort
  std::uint8_t assumed = 0;   ///< a kernel's: ranges (kir::Assumed) in front of the message, one a variable, or none
  std::uint8_t may_keep = 0;  ///< optimise lane: the search may be left after its first look (Kind::kept)
  std::uint8_t reserved[1] = {};
  std::uint64_t seed = 0;
  std::uint64_t budget_ns = 0;  ///< CPU time of an optimise job, time of a program's; 0: pipeline's default
  image::Key key{};             ///< pipeline::expr_key() of the job, which the front has made
};
static_assert(sizeof(RequestHeader) == 32 + sizeof(image::Key));

enum class Kind : std::uint8_t {
  baseline_image,  ///< ends a baseline request of a kernel; the tail is the image
  progress,        ///< more follows
  interim,         ///< optimise lane: more follows; the tail is an image, checked, that is better than the baseline
  kept,            ///< ends an optimise request for now: all images of its first look were sent; more may be found
  outcome,         ///< ends an optimise request; the tail is the image when published, else it says why not
  loop_image,      ///< ends a baseline request; the tail is a loop's image, tried
  loop_refused,    ///< ends a baseline request; the tail says why no code is made of the loop
  function_image,  ///< ends a baseline request; the tail is a function's image, tried
  program,         ///< ends a programs request; the tail is the message for the client
  failed,          ///< ends any request; the tail says why
  ready            ///< answers no request: the worker can take one
};

struct ResponseHeader {
  std::uint64_t ticket = 0;
  Kind kind = Kind::failed;
  std::uint8_t code = 0;  ///< outcome: pipeline::Outcome; progress: Stage; failed: ErrorCode; refused: loop::Reason
  std::uint8_t baseline_checked = 0;  ///< progress, interim, kept, outcome: the baseline was found right
  std::uint8_t reserved[5] = {};
  std::uint32_t done = 0, total = 0;
  double best_ratio = 0;
  double baseline_ns = 0, winner_ns = 0;
  std::uint64_t cpu_ns = 0;  ///< baseline lane: processor time of the request
  std::int64_t offset = 0;   ///< loop_refused: from the head to the instruction that is the reason
};
static_assert(sizeof(ResponseHeader) == 64);

}  // namespace trident::worker
