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
    std::string_view shown{};  ///< what errors call the file, if that is another name
  };
  static Result<Library> make(const std::vector<Text>& texts, const Library* base = nullptr);

  [[nodiscard]] const Function* find(std::string_view name) const;
  /// Returns all names, those of the base too.
  [[nodiscard]] std::vector<std::string> names() const;
  /// Returns all functions by area and name, those of the base left out.
  [[nodiscard]] std::vector<const Function*> list() const;

 private:
  std::map<std::string, Function, std::less<>> functions_;
  const Library* base_ = nullptr;
};

/// Adds to an error of check() about a function that is absent: a name that is like it, or else how to give it, a text
/// in which NAME stands for its name. Leaves other errors as they are.
Error with_cure(Error error, const Library& known, const std::string& cure);

}  // namespace trident::function
