// Fixed functions that a sum of kernels can be added to, with their slopes.
#pragma once

#include "exponential.h"
#include "outside.h"

template <class T>
KAF_INLINE Vec<T> divide(Vec<T> a, Vec<T> b) {
  return by_parts([](Native<T> p, Native<T> q) { return p / q; }, a, b);
}

// x, but no further from 0 than this: where a factor that vanishes is at its limit, so must be what it multiplies.
template <class T>
KAF_INLINE Vec<T> clamped(Vec<T> x, T furthest) {
  return greater(splat<T>(-furthest), lesser(splat<T>(furthest), x));
}

// 1 / v, wrong by a rounding or two.
template <class T>
KAF_INLINE Vec<T> inverse(Vec<T> v) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4) {
    const Vec<T> near = by_parts([](Native<T> p) { return (Native<T>)_mm512_rcp14_ps((__m512)p); }, v);
    return mul_add(near, fma(-v, near, splat<T>(1)), near);
  }
#endif
  return divide(splat<T>(1), v);
}

// exp(kSign x) by as few operations as float32 needs: a relative error of 1e-7, plus 2e-8 |x|.
template <int kSign, class T>
KAF_INLINE Vec<T> quick_exp(Vec<T> x) {
  if constexpr (sizeof(T) != 4) return exp(kSign > 0 ? x : -x);
  const Vec<T> factor = splat<T>(static_cast<T>(kSign * kLog2E));
  const Whole<T> whole = round_product(x, factor);
  const Vec<T> f = fma(x, factor, -whole.n);
  constexpr int kCount = sizeof(ExpConstants<T>::kPowers) / sizeof(double);
  Vec<T> result = splat<T>(static_cast<T>(ExpConstants<T>::kPowers[kCount - 1]));
  for (int k = kCount - 2; k >= 0; --k) result = mul_add(result, f, splat<T>(static_cast<T>(ExpConstants<T>::kPowers[k])));
  return whole.times_power(mul_add(result, f, splat<T>(1)));
}

// exp(x) - 1 without losing the digits of a small x, which must not be far above 0.
template <class T>
KAF_INLINE Vec<T> exp_minus_one(Vec<T> x) {
  const ForExp<T> e = for_exp(x);
  const EvenAndOdd<T> p = power_minus_one(e.f);
  const Vec<T> scale = e.n.times_power(splat<T>(1));
  return mul_add(scale, p.even + p.odd, scale - T(1));
}

template <class T>
struct BasePair {
  Vec<T> value, slope;
};

// Beyond this from 0, a factor that vanishes is at its limit.
template <class T>
constexpr T kFar = sizeof(T) == 4 ? T(87) : T(700);

// The logistic function at x and, to all digits, one minus that.
template <class T>
struct Logistic {
  Vec<T> at, other;
};

// Of an x that is not beyond kFar.
template <class T>
KAF_INLINE Logistic<T> logistic(Vec<T> x) {
  const Vec<T> e = quick_exp<-1>(x), at = inverse(T(1) + e);
  return {at, e * at};
}

// exp(x^2) erfc(x) (1 + 2 x) for x >= 0 is a polynomial in (x - 2.5) / (x + 2.5), lowest power first: Chebyshev's
// interpolation, to a relative error of 3e-9 and 3e-15.
template <class T>
struct ErfcConstants;

template <>
struct ErfcConstants<float> {
  static constexpr double kPowers[] = {
      1.2648381843303929, -0.12235680075157004, -0.099024536324842136, 0.15763099436080202,
      -0.10296710057746725, 0.032752052574212008, 0.00093209177432344121, -0.0043504923556932102,
      0.00049162552837812075, 0.00057573464664732797, -8.9062761720888712e-05, -6.1907537953201017e-05,
      8.3816318695207345e-06};
};

template <>
struct ErfcConstants<double> {
  static constexpr double kPowers[] = {
      1.2648381843668601, -0.1223567630823818, -0.0990245395733097, 0.15762991902125223, -0.10296705604788726,
      0.032760893320447015, 0.00093189293197803796, -0.0043820789735965014, 0.00049186512221944504,
      0.00063212866789520423, -8.8477062488067468e-05, -0.00011354055038362243, 6.2629542624831776e-06,
      2.2749170964713512e-05, 2.6075545511257423e-06, -4.3074637299666364e-06, -1.5726060539065129e-06,
      6.3488115673908526e-07, 5.1196474193686749e-07, -5.1279988270638676e-08, -1.0742337511554282e-07,
      -1.6387924697397575e-10, 1.1366256468182368e-08};
};

// exp(x^2) erfc(x) for x >= 0.
template <class T>
KAF_INLINE Vec<T> scaled_erfc(Vec<T> x) {
  constexpr int kCount = sizeof(ErfcConstants<T>::kPowers) / sizeof(double);
  const Vec<T> t = divide(x - T(2.5), x + T(2.5));
  Vec<T> result = splat<T>(static_cast<T>(ErfcConstants<T>::kPowers[kCount - 1]));
  for (int k = kCount - 2; k >= 0; --k) {
    result = mul_add(result, t, splat<T>(static_cast<T>(ErfcConstants<T>::kPowers[k])));
  }
  return divide(result, mul_add(x, splat<T>(2), splat<T>(1)));
}

// log(1 + x) for x from 0 to 1, by the series of 2 atanh(x / (2 + x)).
template <class T>
KAF_INLINE Vec<T> log_one_plus(Vec<T> x) {
  constexpr int kHighest = sizeof(T) == 4 ? 15 : 33;
  const Vec<T> z = divide(x, x + T(2)), z2 = z * z;
  Vec<T> result = splat<T>(T(1) / kHighest);
  for (int k = kHighest - 2; k >= 1; k -= 2) result = mul_add(result, z2, splat<T>(T(1) / k));
  return T(2) * z * result;
}

// NaN goes through each of them; at infinity are their limits. What a caller does not use is not computed.
template <Base kBase, class T>
KAF_INLINE BasePair<T> base_and_slope(Vec<T> s) {
  const Vec<T> one = splat<T>(1), zero = {};
  switch (kBase) {
    case Base::kIdentity:
      return {s, one};
    case Base::kReLU:
      return {greater(zero, s), by_sign(s, one, zero)};
    case Base::kLeakyReLU:
      return {by_sign(s, s, s * T(0.01)), by_sign(s, one, splat<T>(T(0.01)))};
    case Base::kSigmoid: {
      const Logistic<T> l = logistic(clamped(s, kFar<T>));
      return {l.at, l.at * l.other};
    }
    case Base::kTanh: {
      // tanh(x) = -m / (m + 2) with m = exp(-2 |x|) - 1, by the sign.
      const Vec<T> m = exp_minus_one(greater(splat<T>(T(-40)), T(-2) * absolute(s)));
      const Vec<T> size = divide(-m, m + T(2));
      return {by_sign(s, size, -size), one - size * size};
    }
    case Base::kSiLU: {
      const Vec<T> not_far_below = greater(splat<T>(-kFar<T>), s), near = lesser(splat<T>(kFar<T>), not_far_below);
      const Logistic<T> l = logistic(near);
      return {not_far_below * l.at, l.at * mul_add(near, l.other, one)};
    }
    case Base::kELU:
    case Base::kSELU: {
      const T scale = kBase == Base::kELU ? T(1) : T(kSELUScale);
      const T alpha = kBase == Base::kELU ? T(1) : T(kSELUAlpha);
      const Vec<T> below = exp_minus_one(greater(splat<T>(T(-87)), lesser(zero, s)));
      return {by_sign(s, s, below * alpha) * scale, by_sign(s, one, (below + T(1)) * alpha) * scale};
    }
    case Base::kMish: {
      // x tanh(log(1 + e^x)) = x n / (n + 2) with n = e^x (e^x + 2).
      const T low = sizeof(T) == 4 ? T(-87) : T(-700), high = sizeof(T) == 4 ? T(20) : T(40);
      const Vec<T> near = greater(splat<T>(low), lesser(splat<T>(high), s)), e = quick_exp<1>(near);
      const Vec<T> n = e * (e + T(2)), below = inverse(n + T(2));
      // Each where it loses no digits: far to the right it has to be 1.
      const Vec<T> gate = by_sign(s, mul_add(below, splat<T>(-2), one), n * below);
      return {by_sign(s, s, near) * gate, mul_add(near * T(4) * e, (e + T(1)) * below * below, gate)};
    }
    case Base::kSoftplus: {
      const Vec<T> near = clamped(s, kFar<T>), small = quick_exp<-1>(absolute(near));
      return {greater(zero, s) + log_one_plus(small), logistic(near).at};
    }
    case Base::kGELU: {
      const T low = sizeof(T) == 4 ? T(-87) : T(-700);
      const Vec<T> near = clamped(s, sizeof(T) == 4 ? T(14) : T(40));
      const Vec<T> bell = exp(greater(splat<T>(low), near * near * T(-0.5)));
      const Vec<T> far = bell * T(0.5) * scaled_erfc(absolute(near) * T(0.70710678118654752));  // the normal tail
      const Vec<T> below = by_sign(s, one - far, far);
      return {by_sign(s, s, near) * below, mul_add(near * T(0.39894228040143268), bell, below)};
    }
    case Base::kNone:
      break;
  }
  return {zero, zero};
}
