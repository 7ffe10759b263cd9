// Fixed functions that a sum of kernels can be added to, with their slopes.
#pragma once

#include "exponential.h"

// The numbers that Python gives them: see ops/kaf.py.
enum class Base { kNone, kIdentity, kReLU, kLeakyReLU, kSigmoid, kTanh, kSiLU, kELU, kSELU, kMish };

template <class T>
KAF_INLINE Vec<T> divide(Vec<T> a, Vec<T> b) {
  return for_parts<T>([&](int i) { return a.part[i] / b.part[i]; });
}

template <class T>
KAF_INLINE Vec<T> absolute(Vec<T> v) {
  return by_sign(v, v, -v);
}

// exp(x) - 1 without losing the digits of a small x, which must not be far above 0.
template <class T>
KAF_INLINE Vec<T> exp_minus_one(Vec<T> x) {
  constexpr int kTerms = ExpConstants<T>::kTerms;
  const Reduced<T> reduced = reduce(x);
  const Vec<T> f = reduced.f, f2 = f * f, scale = reduced.scale();
  const Vec<T> even = f2 * every_other_term<T, 2, kTerms>(f2);
  const Vec<T> odd = mul_add(f * f2, every_other_term<T, 3, kTerms - 1>(f2), f);
  return mul_add(scale, even + odd, scale - T(1));
}

template <class T>
struct BasePair {
  Vec<T> value, slope;
};

// Of |x|: the logistic function there, and at -|x|, which is one minus that to all digits.
template <class T>
struct Logistic {
  Vec<T> above, below;
};

template <class T>
KAF_INLINE Logistic<T> logistic(Vec<T> x) {
  const Vec<T> lowest = splat<T>(sizeof(T) == 4 ? T(-87) : T(-700));
  const Vec<T> small = exp_corrected<0>(greater(lowest, -absolute(x)), Vec<T>{});
  const Vec<T> above = divide(splat<T>(1), T(1) + small);
  return {above, small * above};
}

// NaN goes through each of them.
template <class T>
__attribute__((noinline)) BasePair<T> base_at(Base base, Vec<T> s) {
  const Vec<T> one = splat<T>(1), zero = {};
  switch (base) {
    case Base::kIdentity:
      return {s, one};
    case Base::kReLU:
      return {greater(zero, s), by_sign(s, one, zero)};
    case Base::kLeakyReLU:
      return {by_sign(s, s, s * T(0.01)), by_sign(s, one, splat<T>(T(0.01)))};
    case Base::kSigmoid: {
      const Logistic<T> l = logistic(s);
      return {by_sign(s, l.above, l.below), l.above * l.below};
    }
    case Base::kTanh: {
      // tanh(x) = -m / (m + 2) with m = exp(-2 |x|) - 1, by the sign.
      const Vec<T> m = exp_minus_one(greater(splat<T>(T(-40)), T(-2) * absolute(s)));
      const Vec<T> size = divide(-m, m + T(2));
      return {by_sign(s, size, -size), one - size * size};
    }
    case Base::kSiLU: {
      const Logistic<T> l = logistic(s);
      const Vec<T> at = by_sign(s, l.above, l.below), other = by_sign(s, l.below, l.above);
      return {s * at, at * mul_add(s, other, one)};
    }
    case Base::kELU:
    case Base::kSELU: {
      const T scale = base == Base::kELU ? T(1) : T(1.0507009873554804934193349852946);
      const T alpha = base == Base::kELU ? T(1) : T(1.6732632423543772848170429916717);
      const Vec<T> below = exp_minus_one(greater(splat<T>(T(-87)), lesser(zero, s)));
      return {by_sign(s, s, below * alpha) * scale, by_sign(s, one, (below + T(1)) * alpha) * scale};
    }
    case Base::kMish: {
      // x tanh(log(1 + e^x)) = x n / (n + 2) with n = e^x (e^x + 2).
      const T low = sizeof(T) == 4 ? T(-87) : T(-700), high = sizeof(T) == 4 ? T(20) : T(40);
      const Vec<T> e = exp_corrected<0>(greater(splat<T>(low), lesser(splat<T>(high), s)), Vec<T>{});
      const Vec<T> n = e * (e + T(2)), inverse = divide(one, n + T(2)), gate = n * inverse;
      return {s * gate, mul_add(s * T(4) * e, (e + T(1)) * inverse * inverse, gate)};
    }
    case Base::kNone:
      break;
  }
  return {zero, zero};
}
