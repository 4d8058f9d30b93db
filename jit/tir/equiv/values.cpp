#include "jit/tir/equiv/values.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/check.h"

namespace trident::tir::equiv {
namespace {

constexpr std::size_t kTermsMax = 48, kProductsMax = 400;
constexpr double kDegreeMax = 0x1p36;  // far below p, so that three points leave next to no error
constexpr std::uint64_t kAnyElement = field::kModulus - 1;
constexpr std::uint64_t kExpandedPowersMax = 8;

std::size_t mixed(std::size_t h, std::uint64_t x) {
  h = (h ^ x) * 0x9e37'79b9'7f4a'7c15;
  return h ^ h >> 29;
}

/// True for atoms that the block found, not computed: they depend on nothing.
bool is_found(AtomKind kind) {
  return kind <= AtomKind::sponge_word;
}

}  // namespace

std::size_t Values::KeyHash::operator()(const std::vector<Factor>& list) const {
  std::size_t h = list.size();
  for (const Factor& f : list) h = mixed(mixed(h, f.atom), static_cast<std::uint64_t>(f.exponent));
  return h;
}
std::size_t Values::KeyHash::operator()(const std::vector<Value>& list) const {
  std::size_t h = list.size();
  for (const Value v : list) h = mixed(h, v);
  return h;
}
std::size_t Values::KeyHash::operator()(const std::array<std::uint32_t, 3>& name) const {
  return mixed(mixed(name[0], name[1]), name[2]);
}

Values::Values(std::uint64_t seed) : random_(seed) {
  monomials_.push_back({{}, ones(), 0});
  by_factors_.emplace(std::vector<Factor>(), 0);
}

Values::Fingerprint Values::ones() {
  Fingerprint f;
  f.at.fill(field::kOne);
  return f;
}

/// Draws an element; the few integers not below p, one in 2^32, are reduced.
Element Values::random() {
  return Element(random_.next());
}

// --- Atoms and monomials ---

std::uint32_t Values::make_atom(AtomKind kind, std::uint32_t first, std::uint64_t max, const Fingerprint& f,
                                double degree) {
  const auto index = static_cast<std::uint32_t>(atoms_.size());
  atoms_.push_back({kind, first, 0, max <= 1, f, degree});
  const Term term{monomial(std::vector<Factor>{Factor{index, 1}}), field::kOne};
  const Value value = intern({&term, 1});
  atoms_[index].value = value;
  bound(value, max);
  return index;
}

Value Values::atom(AtomKind kind, std::uint32_t first, std::uint32_t second, std::uint64_t max) {
  const auto [at, is_new] = by_name_.try_emplace({static_cast<std::uint32_t>(kind), first, second}, 0);
  if (is_new) {
    Fingerprint f;
    for (Element& e : f.at) e = random();
    at->second = make_atom(kind, first, max, f, 1);
  }
  return atom_value(at->second);
}

Value Values::atom_value(std::uint32_t atom) {
  const auto known = replaced_.find(atom);
  return known == replaced_.end() ? atoms_[atom].value : known->second;
}

std::uint32_t Values::tuple(std::span<const Value> list) {
  const auto [at, is_new] = tuples_.try_emplace({list.begin(), list.end()}, static_cast<std::uint32_t>(tuples_.size()));
  if (is_new) tuple_lists_.push_back(&at->first);  // nodes of the map stay where they are
  return at->second;
}

std::uint32_t Values::monomial(std::vector<Factor> factors) {
  const auto [at, is_new] = by_factors_.try_emplace(std::move(factors), static_cast<std::uint32_t>(monomials_.size()));
  if (is_new) {
    Monomial m{at->first, ones(), 0};
    for (const Factor& f : m.factors) {
      const Atom& atom = atoms_[f.atom];
      const std::uint64_t size = static_cast<std::uint64_t>(f.exponent < 0 ? -f.exponent : f.exponent);
      for (std::size_t i = 0; i < kPoints; ++i) {
        const Element base = f.exponent < 0 ? field::inverse(atom.fingerprint.at[i]) : atom.fingerprint.at[i];
        m.fingerprint.at[i] *= size == 1 ? base : field::power(base, size);
      }
      m.degree += static_cast<double>(size) * atom.degree;
    }
    monomials_.push_back(std::move(m));
  }
  return at->second;
}

std::uint32_t Values::product(std::uint32_t a, std::uint32_t b) {
  if (a == 0) return b;
  if (b == 0) return a;
  const std::uint64_t key = std::uint64_t{std::min(a, b)} << 32 | std::max(a, b);
  if (const auto known = products_.find(key); known != products_.end()) return known->second;
  std::vector<Factor> factors;
  const auto &x = monomials_[a].factors, &y = monomials_[b].factors;
  for (std::size_t i = 0, j = 0; i < x.size() || j < y.size();) {
    const bool left = j == y.size() || (i < x.size() && x[i].atom <= y[j].atom);
    const bool right = i == x.size() || (j < y.size() && y[j].atom <= x[i].atom);
    Factor f{left ? x[i].atom : y[j].atom, (left ? x[i].exponent : 0) + (right ? y[j].exponent : 0)};
    i += left ? 1 : 0, j += right ? 1 : 0;
    if (atoms_[f.atom].bit) f.exponent = 1;  // x^2 = x
    if (f.exponent != 0) factors.push_back(f);
  }
  return products_[key] = monomial(std::move(factors));
}

// --- Values ---

Value Values::intern(std::span<const Term> list) {
  Fingerprint f{};
  double degree = 0;
  for (const Term& term : list) {
    const Monomial& m = monomials_[term.monomial];
    for (std::size_t i = 0; i < kPoints; ++i) f.at[i] += term.coefficient * m.fingerprint.at[i];
    degree += m.degree;  // degrees of numerator and denominator together
  }
  const auto [at, is_new] = by_fingerprint_.try_emplace(f, static_cast<Value>(values_.size()));
  if (is_new) {
    degree_max_ = std::max(degree_max_, degree);
    values_.push_back({static_cast<std::uint32_t>(terms_.size()), static_cast<std::uint32_t>(list.size()), f, degree,
                       kAnyElement, false, false});
    terms_.insert(terms_.end(), list.begin(), list.end());
  } else {
    const auto known = terms(at->second);
    if (!std::equal(known.begin(), known.end(), list.begin(), list.end())) by_fingerprint_only_ = true;
  }
  return at->second;
}

Value Values::large(const Fingerprint& f, double degree) {
  if (const auto known = by_fingerprint_.find(f); known != by_fingerprint_.end()) {
    by_fingerprint_only_ = true;
    return known->second;
  }
  return atoms_[make_atom(AtomKind::large, 0, kAnyElement, f, degree)].value;
}

Value Values::constant(Element element) {
  const Term term{0, element};
  return intern({&term, element.is_zero() ? 0u : 1u});
}

Value Values::sum(Value a, Value b, Element factor) {
  scratch_.clear();
  const auto x = terms(a), y = terms(b);
  for (std::size_t i = 0, j = 0; i < x.size() || j < y.size();) {
    const bool left = j == y.size() || (i < x.size() && x[i].monomial <= y[j].monomial);
    const bool right = i == x.size() || (j < y.size() && y[j].monomial <= x[i].monomial);
    Element c;
    if (left) c += x[i].coefficient;
    if (right) c += factor * y[j].coefficient;
    if (!c.is_zero()) scratch_.push_back({left ? x[i].monomial : y[j].monomial, c});
    i += left ? 1 : 0, j += right ? 1 : 0;
  }
  if (scratch_.size() <= kTermsMax) return intern(scratch_);
  Fingerprint f = values_[a].fingerprint;
  for (std::size_t i = 0; i < kPoints; ++i) f.at[i] += factor * values_[b].fingerprint.at[i];
  return large(f, values_[a].degree + values_[b].degree);
}

Value Values::scale(Value a, Element factor) {
  if (factor == field::kOne) return a;
  if (factor.is_zero()) return constant(factor);
  scratch_.assign(terms(a).begin(), terms(a).end());
  for (Term& term : scratch_) term.coefficient *= factor;
  return intern(scratch_);
}

Value Values::multiply(Value a, Value b) {
  if (const auto c = constant_of(a)) return scale(b, *c);
  if (const auto c = constant_of(b)) return scale(a, *c);
  const double degree = values_[a].degree * static_cast<double>(values_[b].count) +
                        values_[b].degree * static_cast<double>(values_[a].count);
  if (std::size_t{values_[a].count} * values_[b].count <= kProductsMax && degree < kDegreeMax) {
    scratch_.clear();
    for (std::size_t i = 0; i < values_[a].count; ++i)
      for (std::size_t j = 0; j < values_[b].count; ++j) {
        const Term x = terms(a)[i], y = terms(b)[j];
        if (!exclusive_.empty() && excluded(x.monomial, y.monomial)) continue;
        scratch_.push_back({product(x.monomial, y.monomial), x.coefficient * y.coefficient});
      }
    std::sort(scratch_.begin(), scratch_.end(), [](const Term& x, const Term& y) { return x.monomial < y.monomial; });
    std::size_t count = 0;
    for (std::size_t i = 0; i < scratch_.size();) {
      Term term = scratch_[i];
      for (++i; i < scratch_.size() && scratch_[i].monomial == term.monomial; ++i)
        term.coefficient += scratch_[i].coefficient;
      if (!term.coefficient.is_zero()) scratch_[count++] = term;
    }
    scratch_.resize(count);
    if (count <= kTermsMax) return intern(scratch_);
  }
  Fingerprint f = values_[a].fingerprint;
  for (std::size_t i = 0; i < kPoints; ++i) f.at[i] *= values_[b].fingerprint.at[i];
  return large(f, values_[a].degree + values_[b].degree);
}

Value Values::invert(Value a) {
  CHECK(values_[a].count > 0);
  if (values_[a].count > 1) {
    // Inverts the value as one atom, so that products with it stay small. The fingerprint uses the value's own.
    const Value whole = normed(a);
    const auto [at, is_new] = by_name_.try_emplace({static_cast<std::uint32_t>(AtomKind::inverted), whole, 0}, 0);
    if (is_new) {
      const auto index = static_cast<std::uint32_t>(atoms_.size());
      atoms_.push_back({AtomKind::inverted, whole, whole, false, values_[whole].fingerprint, values_[whole].degree});
      at->second = index;
    }
    const Term term{monomial(std::vector<Factor>{Factor{at->second, -1}}), field::inverse(last_coefficient(a))};
    return intern({&term, 1});
  }
  Term term = terms(a)[0];
  std::vector<Factor> factors;
  for (const Factor& f : monomials_[term.monomial].factors)
    if (!atoms_[f.atom].bit) factors.push_back({f.atom, -f.exponent});  // a bit that is not 0 is 1
  term = {monomial(std::move(factors)), field::inverse(term.coefficient)};
  return intern({&term, 1});
}

std::optional<Value> Values::raise(Value a, std::uint64_t exponent) {
  if (exponent == 0) return constant(field::kOne);
  if (const auto c = constant_of(a)) return constant(field::power(*c, exponent));
  const double degree = values_[a].degree * static_cast<double>(exponent);
  if (degree > kDegreeMax) return {};
  if (values_[a].count == 1) {
    Term term = terms(a)[0];
    std::vector<Factor> factors = monomials_[term.monomial].factors;
    for (Factor& f : factors)
      if (!atoms_[f.atom].bit) f.exponent *= static_cast<std::int64_t>(exponent);
    term = {monomial(std::move(factors)), field::power(term.coefficient, exponent)};
    return intern({&term, 1});
  }
  if (exponent <= kExpandedPowersMax) {
    Value out = a;
    for (std::uint64_t i = 1; i < exponent; ++i) out = multiply(out, a);
    return out;
  }
  Fingerprint f = values_[a].fingerprint;
  for (Element& e : f.at) e = field::power(e, exponent);
  return large(f, degree);
}

Value Values::normed(Value a) {
  return values_[a].count == 0 ? a : scale(a, field::inverse(last_coefficient(a)));
}

// --- Facts about a value ---

std::optional<Element> Values::constant_of(Value a) const {
  if (values_[a].count == 0) return field::kZero;
  if (values_[a].count == 1 && terms(a)[0].monomial == 0) return terms(a)[0].coefficient;
  return {};
}

bool Values::is(Value a, std::uint64_t integer) const {
  return constant_of(a) == Element(integer);
}

std::optional<unsigned __int128> Values::monomial_max(std::uint32_t monomial) const {
  unsigned __int128 max = 1;
  for (const Factor& f : monomials_[monomial].factors) {
    if (f.exponent < 0 || f.exponent > 8) return {};
    for (std::int64_t i = 0; i < f.exponent; ++i) {
      max *= values_[atoms_[f.atom].value].max;
      if (max > kAnyElement) return {};
    }
  }
  return max;
}

std::optional<Values::Interval> Values::interval(Value a) const {
  Interval sum{0, 0};
  for (const Term& term : terms(a)) {
    const auto max = monomial_max(term.monomial);
    if (!max) return {};
    const bool negative = term.coefficient.value() > field::kModulus / 2;
    const unsigned __int128 size = *max * (negative ? -term.coefficient : term.coefficient).value();
    if (size >= field::kModulus) return {};
    const __int128 reach = negative ? -static_cast<__int128>(size) : static_cast<__int128>(size);
    if (negative || term.monomial == 0) sum.low += reach;
    if (!negative || term.monomial == 0) sum.high += reach;
  }
  return sum;
}

std::uint64_t Values::max_of(Value a) const {
  if (const auto c = constant_of(a)) return c->value();
  const std::uint64_t known = values_[a].max;
  const auto range = interval(a);
  if (!range || range->low < 0 || range->high >= static_cast<__int128>(field::kModulus)) return known;
  return std::min(known, static_cast<std::uint64_t>(range->high));
}

bool Values::never_zero(Value a) const {
  if (const auto c = constant_of(a)) return !c->is_zero();
  if (values_[a].not_zero) return true;
  if (values_[a].count == 1) {
    const auto& factors = monomials_[terms(a)[0].monomial].factors;
    return std::all_of(factors.begin(), factors.end(),
                       [&](const Factor& f) { return f.exponent < 0 || values_[atoms_[f.atom].value].not_zero; });
  }
  const auto range = interval(a);
  return range && ((range->low > 0 && range->high < static_cast<__int128>(field::kModulus)) ||
                   (range->high < 0 && range->low > -static_cast<__int128>(field::kModulus)));
}

void Values::bound(Value a, std::uint64_t max) {
  values_[a].max = std::min(values_[a].max, max);
}

std::optional<Values::Choice> Values::choice(Value a) const {
  const auto list = terms(a);
  if (list.empty() || list.size() > 2 || (list.size() == 2 && list[0].monomial != 0)) return {};
  const auto& factors = monomials_[list.back().monomial].factors;
  if (factors.size() != 1 || factors[0].exponent != 1 || !atoms_[factors[0].atom].bit) return {};
  return Choice{atoms_[factors[0].atom].value, list.back().coefficient,
                list.size() == 2 ? list[0].coefficient : Element()};
}

std::optional<std::vector<Values::Power>> Values::single_term(Value a) const {
  if (values_[a].count != 1) return {};
  std::vector<Power> out;
  for (const Factor& f : monomials_[terms(a)[0].monomial].factors) out.push_back({atoms_[f.atom].value, f.exponent});
  return out;
}

std::optional<std::vector<Values::Part>> Values::parts(Value a) const {
  std::vector<Part> out;
  for (const Term& term : terms(a)) {
    const auto& factors = monomials_[term.monomial].factors;
    if (factors.size() != 1 || factors[0].exponent != 1) return {};
    out.push_back({term.coefficient, atoms_[factors[0].atom].value});
  }
  return out;
}

std::span<const Value> Values::operands(Value a) const {
  if (values_[a].count != 1 || terms(a)[0].coefficient != field::kOne) return {};
  const auto& factors = monomials_[terms(a)[0].monomial].factors;
  if (factors.size() != 1 || factors[0].exponent != 1) return {};
  const Atom& atom = atoms_[factors[0].atom];
  if (atom.kind != AtomKind::both_bits) return {};
  return *tuple_lists_[atom.first];
}

std::optional<Value> Values::asked_for_zero(Value a) const {
  if (values_[a].count != 1) return {};
  const auto& factors = monomials_[terms(a)[0].monomial].factors;
  if (factors.size() != 1 || factors[0].exponent != 1) return {};
  const Atom& atom = atoms_[factors[0].atom];
  return atom.kind == AtomKind::is_zero ? std::optional<Value>(atom.first) : std::nullopt;
}

std::optional<std::uint32_t> Values::bit_atom(Value a) const {
  if (values_[a].count != 1 || terms(a)[0].coefficient != field::kOne) return {};
  const auto& factors = monomials_[terms(a)[0].monomial].factors;
  if (factors.size() != 1 || factors[0].exponent != 1 || !atoms_[factors[0].atom].bit) return {};
  return factors[0].atom;
}

void Values::exclude(Value a, Value b) {
  const auto x = bit_atom(a), y = bit_atom(b);
  if (!x || !y || *x == *y) return;
  exclusive_.emplace(*x, *y);
  exclusive_.emplace(*y, *x);
}

bool Values::excluded(std::uint32_t monomial_a, std::uint32_t monomial_b) const {
  for (const Factor& f : monomials_[monomial_a].factors)
    for (const Factor& g : monomials_[monomial_b].factors)
      if (atoms_[f.atom].bit && exclusive_.contains({f.atom, g.atom})) return true;
  return false;
}

std::optional<Values::Shift> Values::shift_of(Value a) const {
  const auto found = shifts_.find(a);
  return found == shifts_.end() ? std::nullopt : std::optional<Shift>(found->second);
}

std::optional<Values::Exchange> Values::exchange_of(Value a) const {
  const auto found = exchanges_.find(a);
  return found == exchanges_.end() ? std::nullopt : std::optional<Exchange>(found->second);
}

// --- Where values are zero ---

std::vector<Value> Values::asked() const {
  std::vector<Value> out;
  for (const Atom& atom : atoms_)
    if (atom.kind == AtomKind::is_zero) out.push_back(atom.first);
  return out;
}

std::vector<Values::Root> Values::roots(Value a, const Found& found) const {
  // For each atom: the coefficient it is multiplied with, and the rest of the value without it.
  struct Line {
    std::uint32_t atom;
    Element slope, rest;
    bool is_one = true;
  };
  std::vector<Line> lines;
  const auto word_of = [&](std::uint32_t atom) -> std::optional<Element> {
    const AtomKind kind = atoms_[atom].kind;
    if (kind != AtomKind::cell && kind != AtomKind::public_word && kind != AtomKind::secret_word) return {};
    return found(kind, atoms_[atom].first);
  };
  for (const Term& term : terms(a))
    for (const Factor& f : monomials_[term.monomial].factors) {
      if (!word_of(f.atom)) return {};
      if (std::ranges::none_of(lines, [&](const Line& line) { return line.atom == f.atom; }))
        lines.push_back({f.atom, {}, {}});
    }
  std::vector<Root> out;
  for (Line& line : lines) {
    for (const Term& term : terms(a)) {
      Element word = term.coefficient;
      bool has_it = false;
      for (const Factor& f : monomials_[term.monomial].factors) {
        if (f.atom == line.atom) {
          has_it = true;
          line.is_one &= f.exponent == 1;
          continue;
        }
        const Element base = f.exponent < 0 ? field::inverse(*word_of(f.atom)) : *word_of(f.atom);
        word *= field::power(base, static_cast<std::uint64_t>(f.exponent < 0 ? -f.exponent : f.exponent));
      }
      (has_it ? line.slope : line.rest) += word;
    }
    if (line.is_one && !line.slope.is_zero())
      out.push_back({atoms_[line.atom].kind, atoms_[line.atom].first, -line.rest * field::inverse(line.slope)});
  }
  return out;
}

// --- Assumptions ---

void Values::assume_not_zero(Value a) {
  values_[a].not_zero = true;
}

bool Values::lone(Value a, std::uint32_t atom) const {
  std::size_t seen = 0;
  bool linear = true;
  for (const Term& term : terms(a)) {
    const auto& factors = monomials_[term.monomial].factors;
    for (const Factor& f : factors)
      if (f.atom == atom) ++seen, linear &= factors.size() == 1 && f.exponent == 1;
  }
  return seen == 1 && linear;
}

void Values::assume_zero(Value a) {
  // An atom depends on older ones only, so the youngest atom is part of no other one; nor is an atom that depends on
  // nothing.
  std::vector<std::uint32_t> atoms;
  for (const Term& term : terms(a))
    for (const Factor& f : monomials_[term.monomial].factors) atoms.push_back(f.atom);
  std::sort(atoms.rbegin(), atoms.rend());
  atoms.erase(std::unique(atoms.begin(), atoms.end()), atoms.end());
  for (const std::uint32_t atom : atoms) {
    const AtomKind kind = atoms_[atom].kind;
    if (kind != AtomKind::large && kind != AtomKind::inverted && lone(a, atom)) {
      Element coefficient;
      for (const Term& term : terms(a))
        if (const auto& factors = monomials_[term.monomial].factors; factors.size() == 1 && factors[0].atom == atom)
          coefficient = term.coefficient;
      const Value value = atoms_[atom].value;
      replaced_[atom] = subtract(value, scale(a, field::inverse(coefficient)));
      return;
    }
    if (!is_found(kind)) return;
  }
}

double Values::error_bound() const {
  if (!by_fingerprint_only_) return 0;
  // Numerator and denominator of a difference have at most twice the degree of each value; a point where a
  // denominator is 0 tells nothing.
  const auto count = static_cast<double>(values_.size());
  return count * count / 2 * std::pow(4 * degree_max_ / static_cast<double>(field::kModulus), double{kPoints});
}

}  // namespace trident::tir::equiv
