#include "daemon/jobs/renewals.h"

#include <algorithm>

namespace trident::jobs {

void Renewals::remember(const Subscriber& subscriber, Kernel kernel) {
  forget(subscriber);
  auto known = by_id_.find(kernel.id);
  if (known == by_id_.end()) {
    if (bytes_ + kernel.order->bytes() > bytes_max_) return;
    bytes_ += kernel.order->bytes();
    known = by_id_.emplace(kernel.id, next_number_++).first;
    kernel.subscribers.clear();
    kernels_.emplace(known->second, std::move(kernel));
  }
  Kernel& one = kernels_.at(known->second);
  one.subscribers.push_back(subscriber);
  by_subscriber_[subscriber] = known->second;
  if (one.weights != weights_) enqueue(known->second, one);
}

void Renewals::forget(const Subscriber& subscriber) {
  const auto at = by_subscriber_.find(subscriber);
  if (at == by_subscriber_.end()) return;
  const auto kernel = kernels_.find(at->second);
  by_subscriber_.erase(at);
  std::erase(kernel->second.subscribers, subscriber);
  if (!kernel->second.subscribers.empty()) return;
  bytes_ -= kernel->second.order->bytes();
  by_id_.erase(kernel->second.id);
  kernels_.erase(kernel);
}

const Renewals::Kernel* Renewals::of(const Subscriber& subscriber) const {
  const auto at = by_subscriber_.find(subscriber);
  return at == by_subscriber_.end() ? nullptr : &kernels_.at(at->second);
}

void Renewals::set_weights(std::uint64_t generation) {
  weights_ = generation;
  std::vector<Number> numbers;  // in the order in which their jobs ended
  for (const auto& [number, kernel] : kernels_) numbers.push_back(number);
  std::sort(numbers.begin(), numbers.end());
  for (const Number number : numbers) enqueue(number, kernels_.at(number));
}

std::size_t Renewals::speculating() const {
  return static_cast<std::size_t>(
      std::count_if(kernels_.begin(), kernels_.end(), [](const auto& kernel) { return kernel.second.speculates; }));
}

void Renewals::enqueue(Number number, Kernel& kernel) {
  if (kernel.queued || kernel.renewed >= kRenewalsMax) return;
  kernel.queued = true;
  queue_.push_back(number);
}

std::optional<Renewals::Number> Renewals::next() {
  while (!queue_.empty()) {
    const Number number = queue_.front();
    queue_.pop_front();
    Kernel* const kernel = find(number);
    if (kernel == nullptr) continue;
    kernel->queued = false;
    if (kernel->weights != weights_) return number;
  }
  return std::nullopt;
}

Renewals::Kernel* Renewals::find(Number number) {
  const auto at = kernels_.find(number);
  return at == kernels_.end() ? nullptr : &at->second;
}

}  // namespace trident::jobs
