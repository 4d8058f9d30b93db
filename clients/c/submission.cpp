#include "clients/c/submission.h"

#include <algorithm>
#include <new>
#include <utility>

namespace trident::client {

void Submission::set_note(std::string_view sentence) noexcept try {
  if (sentence.empty()) {
    note = nullptr;
    return;
  }
  std::string line(sentence.substr(0, kNoteBytesMax));
  std::replace_if(
      line.begin(), line.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  const auto known = std::find(notes.begin(), notes.end(), line);
  if (known != notes.end())
    note = known->c_str();
  else if (notes.size() < kNotesMax)
    note = notes.emplace_back(std::move(line)).c_str();
} catch (const std::bad_alloc&) {
}

}  // namespace trident::client
