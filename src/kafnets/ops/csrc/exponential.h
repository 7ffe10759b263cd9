// Exponentials to within half a unit in the last place, with the remainder that the rounding left.
#pragma once

#include "vector.h"

template <class T>
struct ExpConstants;

template <>
struct ExpConstants<float> {
  static constexpr float kMagic = 12582912.0f;  // 1.5 * 2^23: adding it rounds to a whole number
  static constexpr int kMantissaBits = 23;
  static constexpr int32_t kOne = 0x3f800000;
  static constexpr float kLn2High = 0.693359375f;  // few bits, so that n * kLn2High is exact
  static constexpr float kLn2Low = -2.12194440e-4f;
  static constexpr int kTerms = 8;  // the highest power in the series of exp
};

template <>
struct ExpConstants<double> {
  static constexpr double kMagic = 6755399441055744.0;  // 1.5 * 2^52
  static constexpr int kMantissaBits = 52;
  static constexpr int64_t kOne = 0x3ff0000000000000;
  static constexpr double kLn2High = 0.693147180369123816490;
  static constexpr double kLn2Low = 1.90821492927058770002e-10;
  static constexpr int kTerms = 14;
};

// 1 / k! for the series, folded at compile time.
template <class T>
constexpr T inverse_factorial(int k) {
  double result = 1.0;
  for (int i = 2; i <= k; ++i) result /= i;
  return static_cast<T>(result);
}

// sum_{k = kFirst, kFirst + 2, ...}^{kLast} x^((k - kFirst) / 2) / k!
template <class T, int kFirst, int kLast>
KAF_INLINE Vec<T> every_other_term(Vec<T> x) {
  Vec<T> result = splat<T>(inverse_factorial<T>(kLast));
  for (int k = kLast - 2; k >= kFirst; k -= 2) result = mul_add(result, x, splat<T>(inverse_factorial<T>(k)));
  return result;
}

// exp(x) = 2^n exp(f) with |f| <= ln(2) / 2.
template <class T>
struct Reduced {
  Vec<T> f;
  Vec<T> shifted;  // n in the last bits of a large number

  template <int kBias = 0>
  KAF_INLINE Vec<T> scale() const {  // 2^(n + kBias)
    using C = ExpConstants<T>;
    constexpr auto kOffset = C::kOne + (decltype(C::kOne)(kBias) << C::kMantissaBits);
    return for_parts<T>([&](int i) {
      return (Native<T>)(((NativeInt<T>)shifted.part[i] << C::kMantissaBits) + kOffset);
    });
  }

  KAF_INLINE Vec<T> inverse_scale() const {  // 2^-n
    using C = ExpConstants<T>;
    return for_parts<T>([&](int i) {
      return (Native<T>)(C::kOne - ((NativeInt<T>)shifted.part[i] << C::kMantissaBits));
    });
  }
};

template <class T>
KAF_INLINE Reduced<T> reduce(Vec<T> x) {
  using C = ExpConstants<T>;
  const Vec<T> shifted = mul_add(x, splat<T>(T(1.4426950408889634)), splat<T>(C::kMagic));
  const Vec<T> n = shifted - C::kMagic;
  return {fma(n, splat<T>(-C::kLn2Low), fma(n, splat<T>(-C::kLn2High), x)), shifted};
}

// 1 + f + tail, with exactly what rounding the two sums lost.
template <class T>
KAF_INLINE Vec<T> one_plus(Vec<T> f, Vec<T> tail, Vec<T>& rest) {
  const Vec<T> one_f = T(1) + f, sum = one_f + tail;
  rest = (f - (one_f - T(1))) + (tail - (sum - one_f));
  return sum;
}

// exp(x) and exp(-x), each with the relative error of its rounding: exp(x) = up * (1 + up_rest).
template <class T>
struct ExpPair {
  Vec<T> up, up_rest, down, down_rest;
};

template <class T>
KAF_INLINE ExpPair<T> exp_pair(Vec<T> x) {
  constexpr int kTerms = ExpConstants<T>::kTerms;
  const Reduced<T> reduced = reduce(x);
  // Even and odd powers apart: exp(f) and exp(-f) share them.
  const Vec<T> f = reduced.f, f2 = f * f;
  const Vec<T> even = f2 * every_other_term<T, 2, kTerms>(f2);
  const Vec<T> odd = f * f2 * every_other_term<T, 3, kTerms - 1>(f2);
  Vec<T> up_rest, down_rest;
  const Vec<T> up = one_plus(f, even + odd, up_rest), down = one_plus(-f, even - odd, down_rest);
  return {up * reduced.scale(), up_rest * down, down * reduced.inverse_scale(), down_rest * up};
}

// 2^kBias exp(x + correction), for a correction far below x's last place.
template <int kBias, class T>
KAF_INLINE Vec<T> exp_corrected(Vec<T> x, Vec<T> correction) {
  constexpr int kTerms = ExpConstants<T>::kTerms;
  const Reduced<T> reduced = reduce(x);
  const Vec<T> f = reduced.f + correction, f2 = f * f;
  const Vec<T> even = every_other_term<T, 0, kTerms - 2>(f2), odd = every_other_term<T, 1, kTerms - 1>(f2);
  return mul_add(odd, f, even) * reduced.template scale<kBias>();
}
