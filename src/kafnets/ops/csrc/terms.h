// What the terms of one segment have in common at a vector of activations.
#pragma once

#include "exponential.h"
#include "plan.h"

template <class T>
struct Terms {
  Vec<T> z;         // distance from the centre, in spacings
  Vec<T> up, down;  // exp(2 a z) and its inverse: the ratio of neighbouring terms
  Vec<T> envelope;  // 2^kBias exp(-a z^2), made to fit the rounded ratio
  bool vanished;    // in all lanes
};

template <class T>
KAF_INLINE Terms<T> terms_of(const Plan<T>& plan, const Segment<T>& segment, Vec<T> s) {
  Terms<T> result;
  // The difference first: near the centre it is exact, however far from 0 the two are.
  const Vec<T> wanted = ((s - segment.centre) - segment.centre_rest) * plan.slope;
  const Vec<T> x = greater(splat<T>(-plan.limit), lesser(splat<T>(plan.limit), wanted));
  const Mask<T> outside = differing(x, wanted);
  result.vanished = plan.skips && all(outside);
  if (result.vanished) return result;
  result.z = x * plan.to_z;
  // a z^2 = x^2 / (4 a) reaches 110, where one rounding would cost 110 of the result's: keep what is lost.
  const Vec<T> quarter = splat<T>(plan.quarter), square = x * x, exponent = square * quarter;
  const Vec<T> rest = fma(square, quarter, -exponent) +
                      mul_add(fma(x, x, -square), quarter, square * plan.quarter_rest);
  const Vec<T> envelope = zero_where(outside, exp_corrected<Range<T>::kBias>(exponent, rest));
  if (segment.below + segment.above == 0) {
    result.up = result.down = Vec<T>{};
    result.envelope = envelope;
    return result;
  }
  // The m-th power of a rounded ratio is wrong by m roundings. The terms that matter are those with m near z, or
  // nearest: with that many roundings made up for in the envelope, the others are wrong by the difference.
  const ExpPair<T> ratio = exp_pair(x);
  result.up = ratio.up;
  result.down = ratio.down;
  const Vec<T> nearest = greater(splat<T>(T(-segment.below)), lesser(splat<T>(T(segment.above)), result.z));
  const Vec<T> rounding = by_sign(x, ratio.up_rest, -ratio.down_rest);
  result.envelope = mul_add(envelope * nearest, rounding, envelope);
  return result;
}
