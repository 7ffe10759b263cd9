// Powers of two and exponentials, with the remainder that the rounding left.
#pragma once

#include <type_traits>

#include "vector.h"

// 2^f = 1 + f kPowers[0] + f^2 kPowers[1] + ... for |f| <= 1/2: Chebyshev's interpolation of (2^f - 1) / f, to a
// relative error of 5e-9 and 8e-18.
template <class T>
struct ExpConstants;

template <>
struct ExpConstants<float> {
  static constexpr float kMagic = 12582912.0f;  // 1.5 * 2^23: adding it rounds to a whole number
  static constexpr int kMantissaBits = 23;
  static constexpr int32_t kOne = 0x3f800000;
  static constexpr double kPowers[] = {0.69314718802622878,   0.24022650760568127,   0.055503571142190778,
                                       0.0096180825572778515, 0.0013390863364671234, 0.0001545316294512069};
};

template <>
struct ExpConstants<double> {
  static constexpr double kMagic = 6755399441055744.0;  // 1.5 * 2^52
  static constexpr int kMantissaBits = 52;
  static constexpr int64_t kOne = 0x3ff0000000000000;
  static constexpr double kPowers[] = {
      0.69314718055994531,    0.24022650695910098,   0.055504108664821594,  0.0096181291076068885,
      0.0013333558146416935,  0.0001540353044173605, 1.5252733829836118e-5, 1.321544258792169e-6,
      1.0178062445845774e-7,  7.0725859492692237e-9, 4.4549605981865184e-10};
};

constexpr long double kLog2E = 1.4426950408889634073599246810018922L, kLn2 = 0.6931471805599453094172321214581766L;

// A whole number, as a power of two needs it.
template <class T>
struct Whole {
  Vec<T> n;
#if !defined(__AVX512F__)
  Vec<T> shifted;  // n in the last bits of a large number
#endif

  // v 2^(n + kBias)
  template <int kBias = 0>
  KAF_INLINE Vec<T> times_power(Vec<T> v) const {
#if defined(__AVX512F__)
    return by_parts(
        [](Native<T> p, Native<T> by) { return native_scaled(p, kBias == 0 ? by : by + T(kBias)); }, v, n);
#else
    using C = ExpConstants<T>;
    constexpr auto kOffset = C::kOne + (decltype(C::kOne)(kBias) << C::kMantissaBits);
    return by_parts(
        [](Native<T> p, Native<T> by) {
          return p * (Native<T>)(((NativeInt<T>)by << C::kMantissaBits) + kOffset);
        },
        v, shifted);
#endif
  }

  // v 2^-n
  KAF_INLINE Vec<T> times_inverse_power(Vec<T> v) const {
#if defined(__AVX512F__)
    return by_parts([](Native<T> p, Native<T> by) { return native_scaled(p, -by); }, v, n);
#else
    using C = ExpConstants<T>;
    return by_parts(
        [](Native<T> p, Native<T> by) {
          return p * (Native<T>)(C::kOne - ((NativeInt<T>)by << C::kMantissaBits));
        },
        v, shifted);
#endif
  }
};

// The whole number next to x * factor.
template <class T>
KAF_INLINE Whole<T> round_product(Vec<T> x, Vec<T> factor) {
#if defined(__AVX512F__)
  const Vec<T> product = x * factor;
  return {by_parts([](Native<T> p) { return native_rounded(p); }, product)};
#else
  const Vec<T> shifted = mul_add(x, factor, splat<T>(ExpConstants<T>::kMagic));
  return {shifted - ExpConstants<T>::kMagic, shifted};
#endif
}

// 2^f - 1 = even + odd, and 2^-f - 1 = even - odd.
template <class T>
struct EvenAndOdd {
  Vec<T> even, odd;
};

template <class T>
KAF_INLINE EvenAndOdd<T> power_minus_one(Vec<T> f) {
  using C = ExpConstants<T>;
  constexpr int kLast = sizeof(C::kPowers) / sizeof(double) - 1;
  constexpr int kOdd = kLast - kLast % 2, kEven = kLast - 1 + kLast % 2;  // the last ones of odd and even powers
  const Vec<T> f2 = f * f;
  Vec<T> even = splat<T>(static_cast<T>(C::kPowers[kEven])), odd = splat<T>(static_cast<T>(C::kPowers[kOdd]));
  for (int k = kEven - 2; k >= 1; k -= 2) even = mul_add(even, f2, splat<T>(static_cast<T>(C::kPowers[k])));
  for (int k = kOdd - 2; k >= 0; k -= 2) odd = mul_add(odd, f2, splat<T>(static_cast<T>(C::kPowers[k])));
  return {even * f2, odd * f};
}

// 2^x and 2^-x, each with the relative error of its rounding: 2^x = up * (1 + up_rest).
template <class T>
struct PowerPair {
  Vec<T> up, up_rest, down, down_rest;
};

template <class T>
KAF_INLINE PowerPair<T> power_pair(Vec<T> x) {
  const Whole<T> whole = round_product(x, splat<T>(1));
  const EvenAndOdd<T> p = power_minus_one(x - whole.n);
  const Vec<T> more = p.even + p.odd, less = p.even - p.odd, up = T(1) + more, down = T(1) + less;
  return {whole.times_power(up), (more - (up - T(1))) * down, whole.times_inverse_power(down),
          (less - (down - T(1))) * up};
}

// A whole number of at most a few hundred that is added to exponents, which takes less time than a product. Numbers
// must be normal before and after. Where it is NaN the result may be anything.
template <class T>
struct Exponent {
  Vec<T> n, shifted;  // the second in the last bits of a large number

  template <int kBias = 0>
  KAF_INLINE Vec<T> raise(Vec<T> v) const {
    using C = ExpConstants<T>;
    constexpr std::make_unsigned_t<decltype(C::kOne + 0)> kOffset = decltype(C::kOne)(kBias) << C::kMantissaBits;
    return by_parts(
        [](Native<T> p, Native<T> by) {
          return (Native<T>)((NativeBits<T>)p + (((NativeBits<T>)by << C::kMantissaBits) + kOffset));
        },
        v, shifted);
  }

  KAF_INLINE Vec<T> lower(Vec<T> v) const {
    using C = ExpConstants<T>;
    return by_parts(
        [](Native<T> p, Native<T> by) { return (Native<T>)((NativeBits<T>)p - ((NativeBits<T>)by << C::kMantissaBits)); },
        v, shifted);
  }
};

// From a sum with kMagic: the whole number next to what was added.
template <class T>
KAF_INLINE Exponent<T> exponent_from(Vec<T> shifted) {
  return {shifted - ExpConstants<T>::kMagic, shifted};
}

// 2^x and 2^-x for x >= 0, the first with the relative error of its rounding.
template <class T>
struct LargerPower {
  Vec<T> larger, rest, smaller;
};

template <class T>
KAF_INLINE LargerPower<T> larger_power(Vec<T> x) {
  const Exponent<T> whole = exponent_from(x + ExpConstants<T>::kMagic);
  const EvenAndOdd<T> p = power_minus_one(x - whole.n);
  const Vec<T> more = p.even + p.odd, up = T(1) + more, down = (T(1) + p.even) - p.odd;
  return {whole.raise(up), (more - (up - T(1))) * down, whole.lower(down)};
}

// 2^f for f not much larger than 1/2.
template <class T>
KAF_INLINE Vec<T> small_power(Vec<T> f) {
  using C = ExpConstants<T>;
  constexpr int kLast = sizeof(C::kPowers) / sizeof(double) - 1;
  Vec<T> result = splat<T>(static_cast<T>(C::kPowers[kLast]));
  for (int k = kLast - 1; k >= 0; --k) result = mul_add(result, f, splat<T>(static_cast<T>(C::kPowers[k])));
  return mul_add(result, f, splat<T>(1));
}

// 2^(kBias + n + f), where n is whole and f is not much larger than 1/2.
template <int kBias, class T>
KAF_INLINE Vec<T> power_of_two(const Whole<T>& n, Vec<T> f) {
  const EvenAndOdd<T> p = power_minus_one(f);
  return n.template times_power<kBias>(T(1) + (p.even + p.odd));
}

// exp(x) = 2^(n + f).
template <class T>
struct ForExp {
  Whole<T> n;
  Vec<T> f;
};

template <class T>
KAF_INLINE ForExp<T> for_exp(Vec<T> x) {
  const Vec<T> factor = splat<T>(static_cast<T>(kLog2E)), rest = splat<T>(static_cast<T>(kLog2E - T(kLog2E)));
  const Whole<T> whole = round_product(x, factor);
  return {whole, mul_add(x, rest, fma(x, factor, -whole.n))};
}

template <class T>
KAF_INLINE Vec<T> exp(Vec<T> x) {
  const ForExp<T> e = for_exp(x);
  return power_of_two<0>(e.n, e.f);
}

// exp(x + correction), for a correction far below x's last place.
template <class T>
KAF_INLINE Vec<T> exp_corrected(Vec<T> x, Vec<T> correction) {
  const ForExp<T> e = for_exp(x);
  return power_of_two<0>(e.n, mul_add(correction, splat<T>(static_cast<T>(kLog2E)), e.f));
}
