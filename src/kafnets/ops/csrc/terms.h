// What the terms of one segment have in common at a vector of activations.
#pragma once

#include "exponential.h"
#include "plan.h"

template <class T>
struct Terms {
  Vec<T> z;         // distance from the center, in spacings
  Vec<T> up, down;  // exp(2 a z) and its inverse: the ratio of neighboring terms
  Vec<T> envelope;  // 2^kBias exp(-a z^2), made to fit the rounded ratio
  bool vanished;    // in all lanes
};

// x, counted from the segment's center. The difference first: near the center it is exact, however far from 0 the two
// are.
template <class T>
KAF_INLINE Vec<T> exponent_of(const Plan<T>& plan, const Segment<T>& segment, Vec<T> s) {
  return mul_add(s - segment.center, splat<T>(plan.to_power), splat<T>(segment.offset));
}

template <class T>
KAF_INLINE Vec<T> clamp(Vec<T> v, T low, T high) {
  return greater(splat<T>(low), lesser(splat<T>(high), v));
}

// The ratio of neighboring terms as the middle segment sees it; the others' follow by one multiplication.
template <class T>
struct Shared {
  Vec<T> x;
  PowerPair<T> ratio;
};

template <class T>
KAF_INLINE Shared<T> shared_by_segments(const Plan<T>& plan, Vec<T> s) {
  const Vec<T> wanted = exponent_of(plan, plan.segments[plan.segments.size() / 2], s);
  const Vec<T> x = clamp(wanted, -plan.limit_of_all, plan.limit_of_all);
  return {x, power_pair(x)};
}

// power_pair(x). Outside the segment's reach the ratio does not matter, as long as its powers are finite.
template <class T>
KAF_INLINE PowerPair<T> ratio_of(const Segment<T>& segment, const Shared<T>& shared, Vec<T> x, Mask<T> outside) {
  const Vec<T> up_factor = splat<T>(segment.up), down_factor = splat<T>(segment.down);
  // Far from the middle its exponent has lost digits that x still has.
  const Vec<T> lost = (x - (shared.x - segment.shift)) * T(kLn2);
  PowerPair<T> result;
  result.up = zero_where(outside, shared.ratio.up * up_factor);
  result.down = zero_where(outside, shared.ratio.down * down_factor);
  result.up_rest = mul_add(fma(shared.ratio.up, up_factor, -result.up), result.down,
                           (shared.ratio.up_rest + segment.up_rest) + lost);
  result.down_rest = mul_add(fma(shared.ratio.down, down_factor, -result.down), result.up,
                             (shared.ratio.down_rest + segment.down_rest) - lost);
  return result;
}

// With `shared`, or without where it is null.
template <class T>
KAF_INLINE Terms<T> terms_of(const Plan<T>& plan, const Segment<T>& segment, const Shared<T>* shared, Vec<T> s) {
  Terms<T> result;
  const Vec<T> wanted = exponent_of(plan, segment, s), x = clamp(wanted, -plan.limit, plan.limit);
  const Mask<T> outside = differing(x, wanted);
  result.vanished = plan.skips && all(outside);
  if (result.vanished) return result;
  result.z = x * plan.to_z;
  // The exponent reaches 160, where one rounding would cost 110 of the result's: keep what is lost.
  const Vec<T> quarter = splat<T>(plan.quarter), square = x * x;
  const Whole<T> whole = round_product(square, quarter);
  const Vec<T> rest = mul_add(square, splat<T>(plan.quarter_rest), fma(x, x, -square) * quarter);
  const Vec<T> f = fma(square, quarter, -whole.n) + rest;
  const Vec<T> envelope = zero_where(outside, power_of_two<Range<T>::kBias>(whole, f));
  if (segment.below + segment.above == 0) {
    result.up = result.down = Vec<T>{};
    result.envelope = envelope;
    return result;
  }
  // The m-th power of a rounded ratio is wrong by m roundings. The terms that matter are those with m near z, or
  // nearest: with that many roundings made up for in the envelope, the others are wrong by the difference.
  const PowerPair<T> ratio = shared ? ratio_of(segment, *shared, x, outside) : power_pair(x);
  result.up = ratio.up;
  result.down = ratio.down;
  const Vec<T> nearest = clamp(result.z, T(-segment.below), T(segment.above));
  const Vec<T> rounding = by_sign(x, ratio.up_rest, -ratio.down_rest);
  result.envelope = mul_add(envelope * nearest, rounding, envelope);
  return result;
}

// Calls use(segment, its terms) for all segments.
template <class T, class Use>
KAF_INLINE void for_segments(const Plan<T>& plan, Vec<T> s, const Use& use) {
  Shared<T> shared;
  if (plan.shares) shared = shared_by_segments(plan, s);
  for (const Segment<T>& segment : plan.segments) use(segment, terms_of(plan, segment, plan.shares ? &shared : nullptr, s));
}
