#include "daemon/jobs/past_failures.h"

#include <algorithm>

namespace trident::jobs {
namespace {

/// Returns true when the same job would fail the same way again.
bool is_lasting(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInternal:
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kSyntaxError:
    case ErrorCode::kTypeError:
    case ErrorCode::kUnsupported:
    case ErrorCode::kLimitExceeded:
    case ErrorCode::kNotEquivalent: return true;
    case ErrorCode::kOutOfMemory:
    case ErrorCode::kOsError:
    case ErrorCode::kNotFound:
    case ErrorCode::kTimeout:
    case ErrorCode::kCancelled:
    case ErrorCode::kDisconnected:
    case ErrorCode::kRejectedMessage:
    case ErrorCode::kRejectedImage:
    case ErrorCode::kRejectedRecord:
    case ErrorCode::kExecDenied:
    case ErrorCode::kBusy: return false;
  }
  return false;
}

}  // namespace

std::uint32_t PastFailures::strike(std::uint32_t uid, const Id& id, worker::Lane lane, std::uint64_t now_ns) {
  return ++note(uid, id, now_ns).of(lane).strikes;
}

void PastFailures::remember(std::uint32_t uid, const Id& id, worker::Lane lane, const Error& error,
                            std::uint64_t now_ns, std::optional<PastFailure::LoopReason> refusal) {
  if (is_lasting(error.code)) note(uid, id, now_ns).of(lane).error = PastFailure{error, refusal};
}

void PastFailures::forget(std::uint32_t uid, const Id& id) {
  const auto at = users_.find(uid);
  if (at == users_.end()) return;
  const auto failure = at->second.by_id.find(id);
  if (failure == at->second.by_id.end()) return;
  at->second.latest.erase(failure->second);
  at->second.by_id.erase(failure);
  if (at->second.latest.empty()) users_.erase(at);
}

bool PastFailures::quarantined(std::uint32_t uid, const Id& id, worker::Lane lane, std::uint64_t now_ns) {
  Failure* const failure = find(uid, id, now_ns);
  return failure != nullptr && failure->of(lane).strikes >= kStrikesMax;
}

const PastFailure* PastFailures::known(std::uint32_t uid, const Id& id, worker::Lane lane, std::uint64_t now_ns) {
  Failure* const failure = find(uid, id, now_ns);
  return failure != nullptr && failure->of(lane).error ? &*failure->of(lane).error : nullptr;
}

std::size_t PastFailures::size_of(std::uint32_t uid) const {
  const auto at = users_.find(uid);
  return at == users_.end() ? 0 : at->second.latest.size();
}

PastFailures::Failure* PastFailures::find(std::uint32_t uid, const Id& id, std::uint64_t now_ns) {
  const auto at = users_.find(uid);
  if (at == users_.end()) return nullptr;
  const auto failure = at->second.by_id.find(id);
  if (failure == at->second.by_id.end()) return nullptr;
  if (now_ns < failure->second->forgotten_at_ns) return &*failure->second;
  forget(uid, id);
  return nullptr;
}

PastFailures::Failure& PastFailures::note(std::uint32_t uid, const Id& id, std::uint64_t now_ns) {
  User& one = user(uid);
  one.failed_at_ns = now_ns;
  const auto known = one.by_id.find(id);
  if (known != one.by_id.end()) {
    one.latest.splice(one.latest.begin(), one.latest, known->second);
  } else {
    one.latest.push_front({.id = id});
    one.by_id.emplace(id, one.latest.begin());
  }
  if (one.latest.size() > kFailuresPerUserMax) {
    one.by_id.erase(one.latest.back().id);
    one.latest.pop_back();
  }
  one.latest.front().forgotten_at_ns = now_ns + kFailuresRememberedNs;
  return one.latest.front();
}

/// Makes room for a new user: forgets the user whose last failure is oldest.
PastFailures::User& PastFailures::user(std::uint32_t uid) {
  if (users_.size() >= kFailingUsersMax && !users_.contains(uid))
    users_.erase(std::min_element(users_.begin(), users_.end(), [](const auto& a, const auto& b) {
      return a.second.failed_at_ns < b.second.failed_at_ns;
    }));
  return users_[uid];
}

}  // namespace trident::jobs
