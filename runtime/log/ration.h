// Rations log lines that strangers can cause: a number of one kind per interval. The next line counts those left out.
#pragma once

#include <cstdint>
#include <string>

namespace trident::log {

class Ration {
 public:
  explicit Ration(std::uint32_t lines_max = 10, std::uint64_t interval_ns = 60'000'000'000)
      : lines_max_(lines_max), interval_ns_(interval_ns) {}

  /// Returns true when a line may be written now.
  [[nodiscard]] bool take() { return take_at(now_ns()); }
  /// Text for the end of an allowed line: "" or " (and 7 like it that were left out)".
  std::string left_out();
  /// take() at a time. Exposed for tests.
  [[nodiscard]] bool take_at(std::uint64_t now_ns);

 private:
  static std::uint64_t now_ns();

  std::uint32_t lines_max_, lines_ = 0;
  std::uint64_t interval_ns_, began_ns_ = 0, left_out_ = 0;
};

}  // namespace trident::log
