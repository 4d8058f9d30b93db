#include "runtime/json/json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

namespace trident {

/// Values of the library and ours, made of each other.
struct Json::Library {
  using Value = nlohmann::ordered_json;
  /// Deeper nesting would exhaust the stack in recursive functions such as those below.
  static constexpr unsigned kDepthMax = 256;

  static Value theirs(const Json& ours) {
    switch (ours.kind_) {
      case Kind::null:
      case Kind::discarded: return nullptr;
      case Kind::boolean: return ours.natural_ != 0;
      case Kind::integer: return ours.integer_;
      case Kind::natural: return ours.natural_;
      case Kind::real: return ours.real_;
      case Kind::text: return ours.text_;
      case Kind::array: return their_array(ours);
      case Kind::object: return their_object(ours);
    }
    return nullptr;
  }
  static Value their_array(const Json& ours) {
    Value out = Value::array();
    for (const Json& item : ours.items_) out.push_back(theirs(item));
    return out;
  }
  static Value their_object(const Json& ours) {
    Value out = Value::object();
    for (std::size_t i = 0; i < ours.items_.size(); ++i) out[ours.names_[i]] = theirs(ours.items_[i]);
    return out;
  }

  static bool too_deep(const Value& value, unsigned depth) {
    if (!value.is_structured()) return false;
    return depth == 0 ||
           std::any_of(value.begin(), value.end(), [&](const Value& v) { return too_deep(v, depth - 1); });
  }
  static Json ours(const Value& value) {
    if (value.is_boolean()) return value.get<bool>();
    if (value.is_number_unsigned()) return value.get<std::uint64_t>();
    if (value.is_number_integer()) return value.get<std::int64_t>();
    if (value.is_number_float()) return value.get<double>();
    if (value.is_string()) return value.get_ref<const std::string&>();
    if (!value.is_structured()) return {};
    Json out = value.is_array() ? array() : object();
    for (const auto& [name, item] : value.items()) {
      if (value.is_object()) out.names_.push_back(name);
      out.items_.push_back(ours(item));
    }
    return out;
  }
};

Json::Json(std::initializer_list<Json> items) : kind_(Kind::array) {
  const auto is_member = [](const Json& item) {
    return item.is_array() && item.size() == 2 && item.items_[0].is_string();
  };
  if (!std::all_of(items.begin(), items.end(), is_member)) {
    items_ = items;
    return;
  }
  kind_ = Kind::object;
  for (const Json& item : items) (*this)[item.items_[0].text_] = item.items_[1];
}

Json Json::array() {
  Json out;
  out.kind_ = Kind::array;
  return out;
}

Json Json::object() {
  Json out;
  out.kind_ = Kind::object;
  return out;
}

Json Json::parse(std::string_view text) {
  const auto value = Library::Value::parse(text, nullptr, false);
  if (!value.is_discarded() && !Library::too_deep(value, Library::kDepthMax)) return Library::ours(value);
  Json out;
  out.kind_ = Kind::discarded;
  return out;
}

bool Json::repeats_a_name(std::string_view text) {
  using Event = Library::Value::parse_event_t;
  std::vector<std::set<std::string>> open;
  bool repeats = false;
  const auto watch = [&](int, Event event, Library::Value& parsed) {
    if (event == Event::object_start) open.emplace_back();
    if (event == Event::object_end && !open.empty()) open.pop_back();
    if (event == Event::key && !open.empty()) repeats |= !open.back().insert(parsed.get<std::string>()).second;
    return true;
  };
  const bool is_well_formed = !Library::Value::parse(text, watch, false).is_discarded();
  return is_well_formed && repeats;
}

std::vector<std::pair<std::string, Json>> Json::items() const {
  std::vector<std::pair<std::string, Json>> out;
  for (std::size_t i = 0; i < names_.size(); ++i) out.emplace_back(names_[i], items_[i]);
  return out;
}

const Json* Json::find(std::string_view name) const {
  const auto found = std::find(names_.begin(), names_.end(), name);
  return found == names_.end() ? nullptr : &items_[static_cast<std::size_t>(found - names_.begin())];
}

const Json& Json::at(std::string_view name) const {
  if (const Json* found = find(name)) return *found;
  throw Fault("there is no member '" + std::string(name) + "'");
}

const Json& Json::at(std::size_t index) const {
  if (kind_ == Kind::array && index < items_.size()) return items_[index];
  throw Fault("there is no element " + std::to_string(index));
}

const std::string& Json::text() const {
  if (kind_ != Kind::text) throw_not_a("text");
  return text_;
}

void Json::throw_not_a(const char* type) const {
  throw Fault("expected a " + std::string(type) + ", found " + dump().substr(0, 40));
}

std::string Json::value(std::string_view name, const char* absent) const {
  return value(name, std::string(absent));
}

Json& Json::operator[](std::string_view name) {
  if (kind_ == Kind::null) kind_ = Kind::object;
  if (kind_ != Kind::object) throw_not_a("object");
  if (const Json* found = find(name)) return const_cast<Json&>(*found);
  names_.emplace_back(name);
  return items_.emplace_back();
}

void Json::push_back(Json item) {
  if (kind_ == Kind::null) kind_ = Kind::array;
  if (kind_ != Kind::array) throw_not_a("array");
  items_.push_back(std::move(item));
}

void Json::update(const Json& object) {
  for (std::size_t i = 0; i < object.names_.size(); ++i) (*this)[object.names_[i]] = object.items_[i];
}

std::string Json::dump(int indent) const {
  return Library::theirs(*this).dump(indent, ' ', false, Library::Value::error_handler_t::replace);
}

}  // namespace trident
