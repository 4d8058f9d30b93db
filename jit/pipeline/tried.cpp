#include "jit/pipeline/tried.h"

#include <algorithm>
#include <cstdio>

namespace trident::pipeline {
namespace {

constexpr const char* kUnchecked = "not checked in time";

std::string words_of(const Candidate& c) {
  if (c.sifted_out) return "not checked: others were faster at a first look";
  return c.checked ? equiv::print(c.verdict) : kUnchecked;
}

}  // namespace

bool replaced(std::span<const Tried> tried, const Tried& one) {
  for (auto form = one.form.in_place_of; form; form = tried[*form].form.in_place_of)
    if (tried[*form].holds()) return true;
  return false;
}

std::string print(const codegen::Variant& v) {
  std::string text = std::to_string(v.vectors) + (v.vectors == 1 ? " vector" : " vectors");
  if (v.vector_bits != 0) text += " of " + std::to_string(v.vector_bits) + " bits";
  text += v.schedule ? ", scheduled" : ", source order";
  if (v.lockstep) text += ", in step";
  if (v.underflow_apart) text += ", underflow apart";
  return v.non_temporal ? text + ", streaming stores" : text;
}

std::string name_of(std::span<const Tried> tried, const Candidate& candidate) {
  return tried[candidate.form].form.name + ", " + print(candidate.variant);
}

std::string print_meanings(std::span<const Tried> tried) {
  std::string text;
  for (const Tried& t : tried)
    text += t.form.name + ": " + (t.prepared ? equiv::print(t.prepared->meaning) : kUnchecked) + "\n";
  return text;
}

std::string print_code(std::span<const Tried> tried, std::span<const Candidate> candidates, codegen::Isa isa) {
  std::string text;
  for (const Candidate& c : candidates) {
    auto lines = codegen::disassemble(c.code, isa);
    text += "; " + name_of(tried, c) + "\n" + (lines.ok() ? *lines : lines.error().message) + "\n";
  }
  return text;
}

std::string print_verdicts(std::span<const Tried> tried, std::span<const Candidate> candidates) {
  std::string text;
  for (const Candidate& c : candidates) text += name_of(tried, c) + ": " + words_of(c) + "\n";
  return text;
}

std::string print_ratios(std::span<const Tried> tried, std::span<const Candidate> candidates) {
  std::string text;
  char line[64];
  for (const Candidate& c : candidates) {
    if (c.ratio == 0) continue;
    std::snprintf(line, sizeof line, "%8.3f  ", c.ratio);
    text += line + name_of(tried, c) + "\n";
  }
  return text;
}

std::size_t count_unchecked(std::span<const Tried> tried, std::span<const Candidate> candidates) {
  const auto forms = std::count_if(tried.begin(), tried.end(), [](const Tried& t) { return !t.prepared; });
  const auto codes = std::count_if(candidates.begin(), candidates.end(),
                                   [](const Candidate& c) { return !c.checked && !c.sifted_out; });
  return static_cast<std::size_t>(forms + codes);
}

std::vector<CandidateReport> reports(std::span<const Tried> tried, std::span<const Candidate> candidates,
                                     bool rewritten_asked) {
  std::vector<CandidateReport> list;
  for (const Tried& t : tried)
    if (rewritten_asked && !t.prepared) list.push_back({t.form.name, {}, kUnchecked, false, 0});
  const auto has_code = [&](std::size_t form) {
    return std::any_of(candidates.begin(), candidates.end(), [&](const Candidate& c) { return c.form == form; });
  };
  for (std::size_t f = 1; f < tried.size(); ++f)
    if (const Tried& t = tried[f]; t.prepared && !t.holds() && !replaced(tried, t) && !has_code(f))
      list.push_back({t.form.name, {}, equiv::print(t.prepared->meaning), false, 0});
  for (const Candidate& c : candidates)
    list.push_back({tried[c.form].form.name, c.variant, words_of(c), c.holds(), c.ratio});
  return list;
}

}  // namespace trident::pipeline
