// Functions by name: those that come with the program, or a folder's.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "jit/function/function.h"

namespace trident::function {

/// Names the functions that `function` calls itself, some of them more than once.
std::vector<std::string> callees_of(const Function& function);

/// Owns functions whose calls are resolved: each calls only functions of the library, and none calls itself.
class Library {
 public:
  /// Returns the library that comes with the program.
  static const Library& shipped();
  /// Makes a library of texts, "AREA/NAME.fn" each. They may call each other, and functions of `base`, whose names they
  /// must not repeat. Errors: those of parse() and check(); a file's name must be its function's.
  struct Text {
    std::string file;
    std::string_view text;
  };
  static Result<Library> make(const std::vector<Text>& texts, const Library* base = nullptr);

  [[nodiscard]] const Function* find(std::string_view name) const;
  /// Returns all functions by area and name, those of the base left out.
  [[nodiscard]] std::vector<const Function*> list() const;

 private:
  std::map<std::string, Function, std::less<>> functions_;
  const Library* base_ = nullptr;
};

}  // namespace trident::function
