// JSON, built and read. The library behind it (nlohmann) is not seen here: its header takes seconds to compile, and
// its templates seconds more in every source that uses them.
//
//   Json row = {{"name", name}, {"ratio", 0.5}};    a list of pairs that begin with a text is an object, in that order
//   row["steps"] = Json::array();
//   row["steps"].push_back(3);
//   std::puts(row.dump(1).c_str());
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace trident {

class Json {
 public:
  /// Says which member or type a value lacks.
  struct Fault : std::runtime_error {
    using std::runtime_error::runtime_error;
  };

  Json() = default;  ///< null
  Json(std::nullptr_t) {}
  Json(const char* text) : Json(std::string(text)) {}
  Json(std::string_view text) : Json(std::string(text)) {}
  Json(std::string text) : kind_(Kind::text), text_(std::move(text)) {}
  template <class Number>
  requires std::is_arithmetic_v<Number> Json(Number number) {
    if constexpr (std::same_as<Number, bool>)
      kind_ = Kind::boolean, natural_ = number;
    else if constexpr (std::floating_point<Number>)
      kind_ = Kind::real, real_ = static_cast<double>(number);
    else if constexpr (std::is_signed_v<Number>)
      kind_ = Kind::integer, integer_ = number;
    else
      kind_ = Kind::natural, natural_ = number;
  }
  /// A vector, a deque or an array.
  template <class List>
  requires(!std::convertible_to<List, std::string_view> &&
           requires(const List& list) {
             list.begin();
             typename List::value_type;
           }) Json(const List& items)
      : kind_(Kind::array) {
    for (const auto& item : items) items_.emplace_back(item);
  }
  template <class First, class Second>
  Json(const std::pair<First, Second>& pair) : kind_(Kind::array), items_{Json(pair.first), Json(pair.second)} {}
  Json(std::initializer_list<Json> items);

  static Json array();
  static Json object();
  /// Parses a text. is_discarded() is true of the result when the text is not JSON or is nested too deeply.
  static Json parse(std::string_view text);
  /// Returns true when an object of a well-formed text has two members of one name; parse() keeps the last.
  static bool repeats_a_name(std::string_view text);

  [[nodiscard]] bool is_discarded() const { return kind_ == Kind::discarded; }
  [[nodiscard]] bool is_object() const { return kind_ == Kind::object; }
  [[nodiscard]] bool is_array() const { return kind_ == Kind::array; }
  [[nodiscard]] bool is_null() const { return kind_ == Kind::null; }
  /// An integer from 0 on.
  [[nodiscard]] bool is_natural() const { return kind_ == Kind::natural; }
  [[nodiscard]] bool is_string() const { return kind_ == Kind::text; }
  [[nodiscard]] bool is_text(std::string_view text) const { return is_string() && text_ == text; }

  /// Elements of an array, members of an object.
  [[nodiscard]] std::size_t size() const { return items_.size(); }
  [[nodiscard]] std::vector<Json>::const_iterator begin() const { return items_.begin(); }
  [[nodiscard]] std::vector<Json>::const_iterator end() const { return items_.end(); }
  /// Members of an object, with their names.
  [[nodiscard]] std::vector<std::pair<std::string, Json>> items() const;
  [[nodiscard]] bool contains(std::string_view name) const { return find(name) != nullptr; }
  /// Throw Fault where there is no such member or element.
  [[nodiscard]] const Json& at(std::string_view name) const;
  [[nodiscard]] const Json& at(std::size_t index) const;

  /// The value as a text or number. Throws Fault where it is none.
  template <class T>
  [[nodiscard]] T get() const {
    if constexpr (std::same_as<T, std::string>)
      return text();
    else
      return number<T>();
  }
  /// A member of an object; `absent` where there is none, or of another type.
  [[nodiscard]] std::string value(std::string_view name, const char* absent) const;
  template <class T>
  [[nodiscard]] T value(std::string_view name, T absent) const {
    const Json* found = find(name);
    if (found == nullptr) return absent;
    if constexpr (std::same_as<T, Json>)
      return *found;
    else if constexpr (std::same_as<T, std::string>)
      return found->kind_ == Kind::text ? found->text_ : absent;
    else {
      static_assert(std::is_arithmetic_v<T>, "a list is read as Json");
      return found->is_number() || found->kind_ == Kind::boolean ? found->get<T>() : absent;
    }
  }

  /// Returns the member of that name; makes it, null, where there is none. Null becomes an object. Throws Fault for
  /// other values.
  Json& operator[](std::string_view name);
  /// Appends to an array; null becomes one. Throws Fault for other values.
  void push_back(Json item);
  /// Takes the members of another object, in place of its own of the same name.
  void update(const Json& object);

  /// One line, or lines with `indent` blanks for each level. Bytes that are no UTF-8 are replaced.
  [[nodiscard]] std::string dump(int indent = -1) const;

 private:
  enum class Kind : std::uint8_t { null, boolean, integer, natural, real, text, array, object, discarded };
  struct Library;  ///< to and from nlohmann's type

  [[nodiscard]] const Json* find(std::string_view name) const;
  [[nodiscard]] bool is_number() const {
    return kind_ == Kind::integer || kind_ == Kind::natural || kind_ == Kind::real;
  }
  [[nodiscard]] const std::string& text() const;
  [[noreturn]] void throw_not_a(const char* type) const;
  template <class T>
  [[nodiscard]] T number() const {
    if (kind_ == Kind::integer) return static_cast<T>(integer_);
    if (kind_ == Kind::real) return static_cast<T>(real_);
    if (kind_ == Kind::natural || kind_ == Kind::boolean) return static_cast<T>(natural_);
    throw_not_a("number");
  }

  Kind kind_ = Kind::null;
  union {
    std::int64_t integer_;
    std::uint64_t natural_ = 0;  ///< of a boolean too
    double real_;
  };
  std::string text_;
  std::vector<std::string> names_;  ///< of an object's items
  std::vector<Json> items_;
};

}  // namespace trident
