// Rules that are wrong at a few points only. Oracle: each was made from a true rule by dropping a condition, moving a
// constant or promising too much, and comes with a point that a reader can check by hand.
#include <gtest/gtest.h>

#include "jit/rulecheck/rulecheck.h"

namespace trident::rulecheck {
namespace {

using expr::rewrite::parse_rules;
using Kind = RuleVerdict::Kind;

RuleVerdict verdict_without_hints(const std::string& text) {
  const auto set = parse_rules("r: " + text, "test.rules");
  if (!set.ok()) return {.kind = Kind::unchecked, .fault = set.error().message};
  return check_rule(set->rules[0], set->tags[0], {.hints = false});
}

struct NearMiss {
  const char* text;
  const char* wrong_at;
};

constexpr NearMiss kNearMisses[] = {
    {"(div ?a ?a) => 1 ;; ieee=domain real=ok", "a=0"},
    {"(recip (recip ?a)) => ?a ;; ieee=round real=ok", "a=0"},
    {"(log (pow ?a ?b)) => (mul ?b (log ?a)) if nonneg(?a) ;; ieee=round real=guard", "a=0 b=0"},
    {"(pow ?a ?b) => (exp (mul ?b (log ?a))) if nonneg(?a) ;; ieee=round real=guard", "a=0 b=0"},
    {"(div (mul ?a ?b) ?b) => ?a ;; ieee=domain real=ok", "b=0"},
    {"(mul ?a (rsqrt ?a)) => (sqrt ?a) if nonneg(?a) ;; ieee=domain real=guard", "a=0"},
    {"(sqrt (div ?a ?b)) => (div (sqrt ?a) (sqrt ?b)) if nonneg(?a) ;; ieee=round real=guard",
     "a<0 has no root; a=0 b<0"},
    {"(recip (div ?a ?b)) => (div ?b ?a) if nonzero(?a) ;; ieee=round real=guard", "b=0"},
    {"(sub (sqrt ?a) (sqrt ?b)) => (div (sub ?a ?b) (add (sqrt ?a) (sqrt ?b))) if nonneg(?a), nonneg(?b) ;; ieee=round "
     "real=guard",
     "a=b=0"},
    {"(abs ?a) => ?a if nonneg(?a) ;; ieee=exact real=guard", "a=-0"},
    {"(max ?a (min ?a ?b)) => ?a ;; ieee=zero real=ok", "b=NaN"},
    {"(max ?a ?b) => ?a if le(?b, ?a) ;; ieee=zero real=guard", "b=NaN"},
    {"(mul 0.5 (add ?a (abs ?a))) => (max ?a 0) ;; ieee=nan real=ok", "twice the greatest float"},
    {"(add (mul (sin ?a) (sin ?a)) (mul (cos ?a) (cos ?a))) => 1 ;; ieee=nan real=ok", "a=0.9999999999999999"},
    {"(floor (add ?a ?n)) => (add (floor ?a) ?n) ;; ieee=round real=ok", "a=n=0.5"},
    {"(floor (add ?a ?n)) => (add (floor ?a) ?n) if integer(?n), finite(?n) ;; ieee=exact real=guard",
     "a=0.9999999999999999 n=1"},
    {"(copysign ?a ?b) => (mul (abs ?a) (sign ?b)) ;; ieee=round real=ok", "b=0"},
    {"(select (lt ?a ?b) ?a ?b) => (min ?a ?b) ;; ieee=zero real=ok", "a=NaN"},
    {"(i32 (floor ?a)) => (i32 ?a) if f64(?a) ;; ieee=exact real=guard", "a=-0.5"},
    {"(f64 (i32 ?a)) => (trunc ?a) if f64(?a) ;; ieee=round real=guard", "a=2^31"},
    {"(i32 (i64 ?a)) => (i32 ?a) if f64(?a) ;; ieee=exact real=guard", "a=2^33+5"},
    {"(i32 (f32 ?a)) => ?a if i32(?a) ;; ieee=exact real=guard", "a=2^24+1"},
    {"(round ?a) => (trunc (add ?a (copysign 0.5 ?a))) ;; ieee=exact real=ok", "a=0.49999999999999994"},
    {"(round ?a) => (rint ?a) ;; ieee=round real=ok", "a=0.5"},
    {"(floor (add ?a 0.5)) => (rint ?a) ;; ieee=round real=ok", "a=0.5"},
    {"(floor (add ?a 0.5)) => (round ?a) if nonneg(?a) ;; ieee=zero real=guard", "a=0.49999999999999994"},
    {"(rint ?a) => (sub (add ?a 6755399441055744) 6755399441055744) ;; ieee=zero real=ok", "a=2^53+2"},
    {"(min ?a 1e6) => ?a ;; ieee=round real=ok", "a=1e6+1"},
    {"(min ?a 1e30) => ?a ;; ieee=round real=ok", "a=1e31"},
    {"(min (abs ?a) 1e300) => (abs ?a) ;; ieee=round real=ok", "a=1.7e308"},
    {"(max ?a 1e-300) => ?a if nonneg(?a) ;; ieee=round real=guard", "a=0"},
    {"(max ?a 1e-300) => ?a if pos(?a) ;; ieee=round real=guard", "a=5e-324"},
    {"(floor (mul (abs ?a) 1e-9)) => 0 ;; ieee=round real=ok", "a=1e9"},
    {"(floor (add (floor ?a) 0.9999999999999999)) => (ceil ?a) ;; ieee=round real=ok", "a=0.5"},
    {"(lt ?a (mul 3000 3000)) => (lt ?a (mul 4000 4000)) ;; ieee=round real=ok", "a=9e6"},
    {"(lt ?a (mul 70000 70000)) => (lt ?a 705032704) ;; ieee=round real=ok", "a=1e9"},
    {"(min ?a (mul 70000 70000)) => (min ?a 705032704) ;; ieee=round real=ok", "a=1e9"},
    {"(select (lt (abs ?a) 1e12) (sin ?a) 0) => (sin ?a) ;; ieee=round real=ok", "a=1e12"},
    {"(sign (sub (mul ?a 3) 7.3)) => (select (lt (mul ?a 3) 7.3) -1 1) ;; ieee=round real=ok", "a=73/30"},
    {"(div (sub (mul 3 ?a) 1) (sub (mul 3 ?a) 1)) => 1 ;; ieee=domain real=ok", "a=1/3"},
    {"(div (sub (mul 7 ?a) ?b) (sub (mul 7 ?a) ?b)) => 1 ;; ieee=domain real=ok", "7a=b"},
    {"(select (eq (mul 3 ?a) (mul 7 ?b)) 1 0) => 0 ;; ieee=round real=ok", "3a=7b"},
    {"(select (lt ?a ?b) 1 0) => (select (le ?a ?b) 1 0) ;; ieee=round real=ok", "a=b"},
    {"(select (eq ?a (neg ?b)) 1 2) => 2 ;; ieee=round real=ok", "a=-b"},
    {"(add (add ?a ?b) ?c) => (add ?a (add ?b ?c)) ;; ieee=nan real=ok", "a=5e-324 b=-1 c=1"},
    {"(div ?a ?b) => (mul ?a (recip ?b)) ;; ieee=nan real=ok", "a=b=49"},
    {"(div (mul ?a ?a) ?a) => ?a if nonzero(?a) ;; ieee=nan real=guard", "a=5e-324"},
    {"(sqrt (mul ?a ?a)) => (abs ?a) ;; ieee=nan real=ok", "a=1e200"},
    {"(fma ?a ?b ?c) => (add (mul ?a ?b) ?c) ;; ieee=nan real=ok", "products that round"},
    {"(mul ?a 0) => 0 ;; ieee=zero real=ok", "a=infinity"},
    {"(mul (mul ?a 2) 0.5) => ?a ;; ieee=nan real=ok", "a=1.7e308"},
    {"(acos (cos ?a)) => (abs ?a) if within1(?a) ;; ieee=exact real=guard", "a=1e-10"},
    {"(asin (sin ?a)) => ?a ;; ieee=round real=ok", "a=2"},
    {"(atan2 ?a ?b) => (atan (div ?a ?b)) if nonneg(?b) ;; ieee=round real=guard", "b=0"},
    {"(atan2 ?a ?b) => (atan (div ?a ?b)) if nonzero(?b) ;; ieee=round real=guard", "a=0 b=-1"},
    {"(log (sub 1 ?a)) => (log1p (neg ?a)) if le(?a, ?a) ;; ieee=exact real=guard", "a=1e-20"},
    {"(cosh (acosh ?a)) => ?a ;; ieee=round real=ok", "a<1"},
    {"(mul (pow ?a ?b) (pow ?a ?c)) => (pow ?a (add ?b ?c)) if nonneg(?a) ;; ieee=round real=guard", "a=0 b=-1 c=1"},
    {"(pow (mul ?a ?b) ?c) => (mul (pow ?a ?c) (pow ?b ?c)) if nonneg(?a) ;; ieee=round real=guard", "a=2 b=-1 c=2"},
    {"(pow ?a 0.5) => (sqrt ?a) ;; ieee=exact real=ok", "a=-infinity"},
    {"(pow ?a 0.3333333333333333) => (cbrt ?a) ;; ieee=round real=ok", "a=-1"},
    {"(sqrt (sub (add (mul ?a ?a) (mul ?b ?b)) (mul 2 (mul ?a ?b)))) => (abs (sub ?a ?b)) ;; ieee=round real=ok",
     "a=0.1 b=0.1+1ulp"},
    {"(fmod ?a ?b) => (sub ?a (mul ?b (floor (div ?a ?b)))) if pos(?b) ;; ieee=round real=guard", "a=-1 b=2"},
    {"(fmod ?a 1) => (sub ?a (floor ?a)) ;; ieee=round real=ok", "a=-0.5"},
    {"(sum (div ?a ?c)) => (div (sum ?a) ?c) if uniform(?c) ;; ieee=round real=guard", "c=0, of no elements"},
    {"(lt (mul ?a ?c) (mul ?b ?c)) => (lt ?a ?b) if nonneg(?c) ;; ieee=round real=guard", "c=0 a<b"},
    {"(le (recip ?a) (recip ?b)) => (le ?b ?a) if nonneg(?a), pos(?b) ;; ieee=round real=guard", "a=0"},
    {"(tanh ?a) => (sign ?a) if ge1(?a) ;; ieee=round real=guard", "a=1"},
    {"(f64 (mul ?a ?b)) => (mul (f64 ?a) (f64 ?b)) if f32(?a), f32(?b) ;; ieee=zero real=guard", "a=b=0.1"},
    {"(f32 (add (mul (f64 ?a) (f64 ?b)) (f64 ?c))) => (fma ?a ?b ?c) if f32(?a), f32(?b), f32(?c) ;; ieee=exact "
     "real=guard",
     "a sum that rounds"},
    {"(round (f64 ?a)) => (f64 (rint ?a)) if f32(?a) ;; ieee=exact real=guard", "a=0.5"},
    {"(lt (f32 ?a) (f32 ?b)) => (lt ?a ?b) if f64(?a), f64(?b) ;; ieee=exact real=guard", "a=1 b=1+1ulp"},
    {"(lt (f32 ?a) (f32 ?b)) => (lt ?a ?b) if i32(?a), i32(?b) ;; ieee=exact real=guard", "a=2^24 b=2^24+1"},
    {"(mul 2 ?a) => (add ?a (min ?a 1e12)) ;; ieee=round real=ok", "a=1e13"},
    {"(abs ?a) => (max ?a (sub 1e-40 ?a)) ;; ieee=round real=ok", "a=0"},
    {"(sum ?a) => (mul (mean ?a) (max 1 (sum 1))) ;; ieee=round real=ok", "of no elements"},
    {"(mean ?a) => (div (sum ?a) (min (sum 1) 3)) ;; ieee=round real=ok", "of 4 elements"},
    {"(min (sum 1) 3) => (sum 1) ;; ieee=round real=ok", "of 4 elements"},
    {"(maxof ?a) => (select (gt (sum 1) 64) 0 (maxof ?a)) ;; ieee=exact real=ok", "of 65 elements"},
    {"(select (lt (sum 1) 3.5) (sum ?a) 0) => (sum ?a) ;; ieee=round real=ok", "of 4 elements"},
    {"(sum ?a) => (select (eq (sum 1) 12345) 0 (sum ?a)) ;; ieee=round real=ok", "of 12345 elements"},
    {"(sum ?a) => (select (lt (mul 3 (sum 1)) 1e6) (sum ?a) 0) ;; ieee=round real=ok", "of 333334 elements"},
    {"(f32 (exp (f64 ?a))) => (exp ?a) if f32(?a) ;; ieee=exact real=guard", "exp of f32 is not correctly rounded"},
    {"(max (exp ?a) (exp ?b)) => (exp (max ?a ?b)) ;; ieee=exact real=ok", "exp need not be monotone by an ulp"},
    {"(cos ?a) => (sin (add ?a 1.5707963267948966)) ;; ieee=nan real=ok", "functions of other operands"},
    {"(diff (min ?a 1e6) ?x) => (diff ?a ?x) ;; ieee=round real=ok", "a=3x x=1e6"},
    {"(diff (max ?a -1e5) ?x) => (diff ?a ?x) ;; ieee=round real=ok", "a=x x=-1e6"},
    {"(diff (min ?a 1e12) ?x) => (diff ?a ?x) ;; ieee=round real=ok", "a=1e13*x x=1"},
    {"(diff (sin ?a) ?x) => (mul (select (gt (abs ?x) 3) 0 (cos ?a)) (diff ?a ?x)) if sym(?x) ;; ieee=round real=guard",
     "x=4"},
    {"(diff (mul ?n ?a) ?x) => (select (lt ?n 11) (mul ?n (diff ?a ?x)) 0) if const(?n) ;; ieee=round real=guard",
     "n=12"},
    {"(select (eq (floor (mul ?a ?a)) 12345) 1 0) => 0 ;; ieee=round real=ok", "a=111.11"},
    {"(select (and (eq ?a 3) (and (eq ?b 5) (eq ?c 7))) 1 0) => 0 ;; ieee=round real=ok", "a=3 b=5 c=7"},
    {"(cos ?a) => (select (gt (abs ?a) 1e300) 5 (cos ?a)) ;; ieee=round real=ok", "a=2e300"},
    {"(select (lt (exp ?a) 1e-9) (add ?a 1) ?a) => ?a ;; ieee=round real=ok", "a=-21"},
    {"(select ?c (gather ?t (add ?i 1000)) (gather ?t ?i)) => (select ?c (gather ?t -1) (gather ?t ?i)) ;; ieee=exact "
     "real=ok",
     "c i=0, a table of 1001"},
    {"(select (lt ?a ?b) (select (lt ?b ?c) (select (lt ?c ?d) (select (lt ?d ?e) (select (lt ?e ?f) (select (lt ?f "
     "?g) "
     "(select (lt ?g ?h) 1 0) 0) 0) 0) 0) 0) 0) => 0 ;; ieee=round real=ok",
     "eight that ascend"},
    {"(select (gt ?a ?b) (select (gt ?b ?c) (select (gt ?c ?d) (select (gt ?d ?e) (select (gt ?e ?f) (select (gt ?f "
     "?g) "
     "(select (gt ?g ?h) 1 0) 0) 0) 0) 0) 0) 0) => 0 if negative(?a) ;; ieee=round real=guard",
     "eight that descend below zero"},
    {"(select (lt ?d ?e) (select (lt ?h ?a) (select (lt ?b ?c) (select (lt ?f ?g) (select (lt ?e ?f) (select (lt ?a "
     "?b) "
     "(select (lt ?g ?h) 1 0) 0) 0) 0) 0) 0) 0) => 0 if within1(?d) ;; ieee=round real=guard",
     "d < e < f < g < h < a < b < c"},
    {"(select (and (lt ?a ?b) (lt ?b ?c)) (select (and (le ?d ?c) (and (le ?c ?d) (lt ?d ?e))) (select (lt ?e ?f) "
     "(select "
     "(lt ?f ?g) (select (lt ?g ?h) 1 0) 0) 0) 0) 0) => 0 ;; ieee=round real=ok",
     "a < b < c = d < e < f < g < h"},
    // Terms that are equal nowhere among the floats.
    {"(select (eq (sqrt ?a) 1.7) 0 ?b) => ?b ;; ieee=round real=ok", "a=2.89"},
    {"(select (eq (mul ?a ?a) 2) 0 ?b) => ?b ;; ieee=round real=ok", "a=sqrt(2)"},
    {"(select (eq (sin ?a) 0.5) 0 ?b) => ?b ;; ieee=round real=ok", "a=pi/6"},
    {"(select (ne (exp ?a) 3) ?b 0) => ?b ;; ieee=round real=ok", "a=log(3)"},
    {"(select (eq (exp ?a) (sqrt ?b)) 0 ?c) => ?c ;; ieee=round real=ok", "a=log(b)/2"},
    {"(select (eq (sin ?a) (cos ?b)) 0 ?c) => ?c ;; ieee=round real=ok", "a=pi/2-b"},
    {"(sign (sub (exp ?a) 2)) => (select (lt (exp ?a) 2) -1 1) ;; ieee=round real=ok", "a=log(2)"},
    {"(select (lt (exp ?a) 3) 0 ?b) => (select (le ?a (log 3)) 0 ?b) ;; ieee=round real=ok", "a=log(3)"},
    {"(lt (exp ?a) ?b) => (le ?a (log ?b)) if pos(?b) ;; ieee=round real=guard", "a=log(b)"},
    {"(div (sub (exp ?a) 5) (sub (exp ?a) 5)) => 1 ;; ieee=domain real=ok", "a=log(5)"},
    {"(neg (floor (neg (exp ?a)))) => (add (floor (exp ?a)) 1) ;; ieee=round real=ok", "a=log(2)"},
    {"(select (eq (mul (sub ?a 1.7) (sub ?a 1.7)) 0) 0 ?b) => ?b ;; ieee=round real=ok", "a=1.7"},
    {"(select (eq (sqrt (abs (sub (exp ?a) 3))) 0) 0 ?b) => ?b ;; ieee=round real=ok", "a=log(3)"},
    {"(select (and (eq (exp ?a) 3) (eq (mul ?b ?b) 2)) 0 ?c) => ?c ;; ieee=round real=ok", "a=log(3) b=sqrt(2)"},
    {"(select (eq (add (sub (mul ?a ?a) (mul 3.4 ?a)) 2.89) 0) 0 ?b) => ?b ;; ieee=round real=ok", "a=1.7"},
    {"(select (ge (sin ?a) 1) 0 ?b) => ?b ;; ieee=round real=ok", "a=pi/2"},
    {"(max 0 (sub 1e-4 (add (abs (sub ?a 1.3)) (add (abs (sub ?b (exp 0.7))) (abs ?c))))) => 0 ;; ieee=round real=ok",
     "a=1.3 b=exp(0.7) c=0"},
    // Points where a step's operand only touches an integer, or a half.
    {"(trunc (sin ?a)) => 0 ;; ieee=round real=ok", "a=pi/2"},
    {"(floor (sin ?a)) => (select (lt (sin ?a) 0) -1 0) ;; ieee=round real=ok", "a=pi/2"},
    {"(trunc (sin (mul 2 ?a))) => 0 ;; ieee=round real=ok", "a=pi/4"},
    {"(floor (sin ?a)) => (min 0 (sign (sin ?a))) ;; ieee=round real=ok", "a=pi/2"},
    {"(ceil (sin (add ?a 1))) => (max 0 (sign (sin (add ?a 1)))) ;; ieee=round real=ok", "a=-pi/2-1"},
    {"(round (mul 0.5 (sin ?a))) => 0 ;; ieee=round real=ok", "a=pi/2"},
    {"(rint (add 1 (mul 0.5 (sin ?a)))) => 1 ;; ieee=round real=ok", "a=pi/2: 1.5"},
    {"(fmod (sin ?a) 1) => (sin ?a) ;; ieee=round real=ok", "a=pi/2"},
    {"(select (eq (fmod (exp ?a) 2) 0) 0 ?b) => ?b ;; ieee=round real=ok", "a=log(2)"},
    {"(select (eq (add (sin ?a) (cos ?b)) 2) 0 ?c) => ?c if ge1(?b) ;; ieee=round real=guard", "a=pi/2 b=2*pi"},
    // Points where several variables have one value each.
    {"(select (eq ?a 1.25) (select (eq ?b 3.75) (select (eq ?c 19.3) 0 ?e) ?e) ?e) => ?e ;; ieee=round real=ok",
     "a=1.25 b=3.75 c=19.3"},
    {"(select (and (eq ?a 1.25) (and (eq ?b 3.75) (eq ?c 19.3))) 0 ?e) => ?e ;; ieee=round real=ok",
     "a=1.25 b=3.75 c=19.3"},
    {"(select (eq ?a 1.25) (select (eq ?b 3.75) (select (eq ?c 19.3) (select (eq ?d 0) (select (eq ?f -7.7) 0 ?e) ?e) "
     "?e) ?e) ?e) => ?e ;; ieee=round real=ok",
     "a=1.25 b=3.75 c=19.3 d=0 f=-7.7"},
    {"(select (eq ?a 1.25) (select (gt ?b 3.75) (select (lt ?c 19.3) (select (eq (exp ?d) 3) 0 ?e) ?e) ?e) ?e) => ?e "
     ";; "
     "ieee=round real=ok",
     "a=1.25 b=4 c=19 d=log(3)"},
    // Points where a periodic term recurs, far from zero.
    {"(select (gt ?a 50) (select (gt (cos ?a) 0.99999) 0 ?c) ?c) => ?c ;; ieee=round real=ok", "a=18*pi"},
    {"(select (gt ?a 50) (select (eq (cos ?a) 0.7) 0 ?c) ?c) => ?c ;; ieee=round real=ok", "a=16*pi+acos(0.7)"},
    // Near zero in all variables at once.
    {"(max 0 (sub 1e-4 (add (abs ?a) (add (abs ?b) (abs ?c))))) => 0 ;; ieee=round real=ok", "a=b=c=0"},
    {"(select (lt (add (mul ?a ?a) (add (mul ?b ?b) (mul ?c ?c))) 1e-9) 1 0) => 0 ;; ieee=round real=ok", "a=b=c=1e-5"},
    {"(diff (neg ?a) ?x) => (neg (diff ?a ?x)) ;; ieee=exact real=ok", "no derivative has bits"},
    {"(diff (add ?a ?b) ?x) => (add (diff ?b ?x) (diff ?a ?x)) ;; ieee=zero real=ok", "no derivative has bits"},
};

TEST(NearMisses, AreFound) {
  for (const NearMiss& miss : kNearMisses) {
    const RuleVerdict v = verdict_without_hints(miss.text);
    EXPECT_EQ(v.kind, Kind::wrong) << miss.text << "\n  is wrong at " << miss.wrong_at << "; " << v.fault;
  }
}

// The true rules next to them.
TEST(NearMisses, OfTrueRulesAreNotTakenForTheRules) {
  for (const char* text : {
           "(pow ?a 0) => 1 ;; ieee=exact real=ok",
           "(pow ?a ?b) => (exp (mul ?b (log ?a))) if pos(?a) ;; ieee=round real=guard",
           "(mul (sign ?a) (abs ?a)) => ?a ;; ieee=exact real=ok",
           "(copysign ?a ?b) => (mul (abs ?a) (sign ?b)) if nonzero(?b) ;; ieee=round real=guard",
           "(f64 (i32 ?a)) => (trunc ?a) if f64(?a), within1(?a), notnan(?a) ;; ieee=zero real=guard",
           "(trunc ?a) => (floor ?a) if nonneg(?a) ;; ieee=exact real=guard",
           "(floor (mul ?a 0.1)) => (floor (div ?a 10)) ;; ieee=round real=ok",
           "(sign (sub (mul ?a 3) 7.3)) => (sign (sub ?a (div 7.3 3))) ;; ieee=round real=ok",
           "(min (max ?a 1e-300) 1e300) => (max (min ?a 1e300) 1e-300) ;; ieee=nan real=ok",
           "(select (lt ?a ?b) 1 0) => (select (le ?b ?a) 0 1) ;; ieee=nan real=ok",
           "(mul 2 (max (mul ?a 0.3) 1e-9)) => (max (mul ?a 0.6) 2e-9) ;; ieee=round real=ok",
           "(sqrt (sub (add (mul ?a ?a) (mul ?b ?b)) (mul 2 (mul ?a ?b)))) => (abs (sub ?a ?b)) ;; ieee=domain real=ok",
           "(fmod ?a 1) => (sub ?a (trunc ?a)) ;; ieee=nan real=ok",
           "(log (exp (exp ?a))) => (exp ?a) ;; ieee=round real=ok",
           "(div (sinh ?a) (cosh ?a)) => (tanh ?a) ;; ieee=round real=ok",
           "(lt (exp ?a) (exp ?b)) => (lt ?a ?b) ;; ieee=round real=ok",
           "(rint (neg ?a)) => (neg (rint ?a)) ;; ieee=exact real=ok",
           "(lt (exp ?a) 3) => (lt ?a (log 3)) ;; ieee=round real=ok",
           "(lt (exp ?a) ?b) => (lt ?a (log ?b)) if pos(?b) ;; ieee=round real=guard",
           "(select (eq (mul ?a ?a) 2) 0 ?b) => (select (ne (mul ?a ?a) 2) ?b 0) ;; ieee=round real=ok",
           "(select (eq (mul ?a ?a) 2) (mul ?a ?a) 2) => 2 ;; ieee=round real=ok",
           "(sign (sub (exp ?a) 2)) => (select (lt (exp ?a) 2) -1 (select (gt (exp ?a) 2) 1 0)) ;; ieee=round real=ok",
           "(neg (floor (neg (exp ?a)))) => (ceil (exp ?a)) ;; ieee=round real=ok",
           "(max (sin ?a) (cos ?a)) => (select (lt (sin ?a) (cos ?a)) (cos ?a) (sin ?a)) ;; ieee=round real=ok",
           "(div (sub (exp ?a) 5) (sub (exp ?a) 5)) => 1 ;; ieee=domain real=partial",
           "(div (sin ?a) (cos ?a)) => (tan ?a) ;; ieee=round real=partial",
           "(select (gt (sin ?a) 1) 0 ?b) => ?b ;; ieee=round real=ok",
           "(select (lt (add (sub (mul ?a ?a) (mul 3.4 ?a)) 2.89) 0) 0 ?b) => ?b ;; ieee=domain real=ok",
           "(select (gt ?a 50) (select (gt (cos ?a) 1) 0 ?c) ?c) => ?c ;; ieee=round real=ok",
           "(select (eq (add (sin ?a) (cos ?b)) 2) 0 ?c) => ?c if within1(?b), nonzero(?b) ;; ieee=domain real=guard",
           "(trunc (mul 0.999 (sin ?a))) => 0 ;; ieee=round real=ok",
           "(floor (sin ?a)) => (select (lt (sin ?a) 0) -1 (select (ge (sin ?a) 1) 1 0)) ;; ieee=round real=ok",
           "(rint (mul 0.5 (sin ?a))) => 0 ;; ieee=round real=ok",
           "(fmod (mul 0.9 (sin ?a)) 1) => (mul 0.9 (sin ?a)) ;; ieee=round real=ok",
           "(abs (sub (exp ?a) 3)) => (mul (sign (sub (exp ?a) 3)) (sub (exp ?a) 3)) ;; ieee=round real=ok",
       }) {
    const RuleVerdict v = verdict_without_hints(text);
    std::string at;
    for (const Binding& b : v.point) at += " " + b.name + "=" + b.value;
    EXPECT_EQ(v.kind, Kind::right) << text << "\n  " << v.fault << at << ": " << v.left << " and " << v.right;
  }
}

}  // namespace
}  // namespace trident::rulecheck
