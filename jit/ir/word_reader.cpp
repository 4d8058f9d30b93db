#include "jit/ir/word_reader.h"

namespace trident::ir {
namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == ',';
}

}  // namespace

void WordReader::next() {
  while (pos_ < text_.size() && is_blank(text_[pos_])) ++pos_;
  if (pos_ < text_.size() && text_[pos_] == '#')
    while (pos_ < text_.size() && text_[pos_] != '\n') ++pos_;
  start_ = pos_;
  while (pos_ < text_.size() && !is_blank(text_[pos_]) && text_[pos_] != '\n' && text_[pos_] != '#') ++pos_;
  word_ = text_.substr(start_, pos_ - start_);
}

void WordReader::next_line() {
  if (pos_ < text_.size()) ++pos_;
  next();
}

bool WordReader::take(std::string_view expected) {
  if (word_ != expected) return false;
  next();
  return true;
}

Result<void> WordReader::number(std::uint64_t& out, std::string_view prefix) {
  if (!word_.starts_with(prefix)) return fault("expected a number that begins with '" + std::string(prefix) + "'");
  const std::string_view digits = word_.substr(prefix.size());
  const bool hex = digits.starts_with("0x");
  if (!read(hex ? digits.substr(2) : digits, out, hex ? 16 : 10)) return fault("expected a number");
  next();
  return {};
}

}  // namespace trident::ir
