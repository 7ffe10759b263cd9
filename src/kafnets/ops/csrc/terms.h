// What the terms of one segment have in common at a vector of activations.
#pragma once

#include "exponential.h"
#include "layout.h"
#include "plan.h"

template <class T>
struct Terms {
  Vec<T> z;         // distance from the center, in spacings
  Vec<T> up, down;  // exp(2 a z) and its inverse: the ratio of neighboring terms
  Vec<T> envelope;  // 2^kBias exp(-a z^2), made to fit the rounded ratio
};

// x, counted from the segment's center. The difference first: near the center it is exact, however far from 0 the two
// are.
template <class T>
KAF_INLINE Vec<T> exponent_of(const PlanConstants<T>& plan, const Segment<T>& segment, Vec<T> s) {
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
  const Vec<T> wanted = exponent_of<T>(plan, plan.segments[plan.segments.size() / 2], s);
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

// What segments of any length have: x within the segment's reach, and 2^kBias exp(-a z^2).
template <class T>
struct Start {
  Vec<T> x;
  Mask<T> outside;
  Vec<T> envelope;
};

template <class T>
KAF_INLINE Start<T> start_of(const PlanConstants<T>& plan, const Segment<T>& segment, Vec<T> s) {
  const Vec<T> wanted = exponent_of(plan, segment, s), x = clamp(wanted, -plan.limit, plan.limit);
  const Mask<T> outside = differing(x, wanted);
  // The exponent reaches 160, where one rounding would cost 110 of the result's: keep what is lost.
  const Vec<T> quarter = splat<T>(plan.quarter), square = x * x;
  const Exponent<T> whole = exponent_from(mul_add(square, quarter, splat<T>(ExpConstants<T>::kMagic)));
  const Vec<T> rough = mul_add(square, splat<T>(plan.quarter_rest), fma(square, quarter, -whole.n));
  const Vec<T> fraction = small_power(mul_add(fma(x, x, -square), quarter, rough));
  return {x, outside, zero_where(outside, whole.template raise<Range<T>::kBias>(fraction))};
}

// Whether nothing of a segment is left in any lane.
template <class T>
KAF_INLINE bool is_beyond(const PlanConstants<T>& plan, const Segment<T>& segment, Vec<T> s) {
  const Vec<T> x = exponent_of(plan, segment, s);
  return all(differing(clamp(x, -plan.limit, plan.limit), x));
}

// The m-th power of a rounded ratio is wrong by m roundings. The terms that matter are those with m near z, or nearest:
// with that many roundings made up for in the envelope, the others are wrong by the difference.
template <class T>
KAF_INLINE Vec<T> corrected(Vec<T> envelope, const Segment<T>& segment, Vec<T> z, Vec<T> rounding) {
  const Vec<T> nearest = lesser(splat<T>(T(segment.below)), absolute(z));
  return mul_add(envelope * nearest, rounding, envelope);
}

template <class T>
KAF_INLINE Terms<T> terms_of(const PlanConstants<T>& plan, const Segment<T>& segment, Vec<T> s) {
  const Start<T> start = start_of(plan, segment, s);
  const LargerPower<T> ratio = larger_power(absolute(start.x));
  const Vec<T> z = start.x * plan.to_z;
  return {z, by_sign_bit(start.x, ratio.larger, ratio.smaller), by_sign_bit(start.x, ratio.smaller, ratio.larger),
          corrected(start.envelope, segment, z, ratio.rest)};
}

template <class T>
KAF_INLINE Terms<T> terms_of(const PlanConstants<T>& plan, const Segment<T>& segment, const Shared<T>& shared, Vec<T> s) {
  const Start<T> start = start_of(plan, segment, s);
  const PowerPair<T> ratio = ratio_of(segment, shared, start.x, start.outside);
  const Vec<T> z = start.x * plan.to_z;
  return {z, ratio.up, ratio.down,
          corrected(start.envelope, segment, z, by_sign_bit(start.x, ratio.up_rest, ratio.down_rest))};
}

// Of a segment that has one element.
template <class T>
KAF_INLINE Terms<T> single_term(const PlanConstants<T>& plan, const Segment<T>& segment, Vec<T> s) {
  const Start<T> start = start_of(plan, segment, s);
  // NaN, where x is.
  return {start.x * plan.to_z, Vec<T>{}, Vec<T>{}, mul_add(start.x, Vec<T>{}, start.envelope)};
}

// The terms of one segment at a tile's activations, for a second loop. What that computes with is ready when it begins:
// waiting for the terms of its own vector, it would keep the processor from those of the next.
template <class T>
struct TileTerms {
  static constexpr int kSize = kTile * kNativeWidth<T>;
  alignas(64) T z[kSize], up[kSize], down[kSize], envelope[kSize];

  // Whether nothing is left of these vectors' terms. Only plans with many segments look for that.
  KAF_INLINE bool vanished(int64_t first, int64_t count) const {
    if (!skips_) return false;
    bool result = true;
    for (int64_t i = first; i < first + count; ++i) result = result && vanished_[i];
    return result;
  }

  // From `vectors` vectors of activations, one after the other. Only slopes need z.
  template <bool kSlopes>
  void find(const Plan<T>& plan, const Segment<T>& segment, const T* s, int64_t vectors) {
    skips_ = plan.skips;
    if (segment.below == 0) {
      fill<kSlopes, true>(plan, segment, s, vectors);
    } else {
      fill<kSlopes, false>(plan, segment, s, vectors);
    }
  }

 private:
  // Arguments that no store can change, as far as the compiler knows.
  template <bool kSlopes, bool kSingle>
  __attribute__((noinline)) void fill(const PlanConstants<T> plan, const Segment<T> segment, const T* s, int64_t vectors) {
    const bool skips = skips_;
    for (int64_t at = 0; at < vectors * kNativeWidth<T>; at += kWidth<T>) {
      const Vec<T> here = load<T>(s + at);
      if (skips) {
        const bool nothing = is_beyond(plan, segment, here);
        for (int i = 0; i < kParts; ++i) vanished_[at / kNativeWidth<T> + i] = nothing;
        if (nothing) {
          for (T* each : {z, up, down, envelope}) store<T>(each + at, Vec<T>{});
          continue;
        }
      }
      const Terms<T> terms = kSingle ? single_term(plan, segment, here) : terms_of(plan, segment, here);
      if (kSlopes) store<T>(z + at, terms.z);
      store<T>(up + at, terms.up);
      store<T>(down + at, terms.down);
      store<T>(envelope + at, terms.envelope);
    }
  }

  bool skips_, vanished_[kTile];
};

// Calls use(segment, its terms, whether nothing is left of them in any lane) for all segments.
template <class T, class Use>
KAF_INLINE void for_segments(const Plan<T>& plan, Vec<T> s, const Use& use) {
  Shared<T> shared;
  if (plan.shares) shared = shared_by_segments(plan, s);
  for (const Segment<T>& segment : plan.segments) {
    if (plan.skips) {
      if (is_beyond<T>(plan, segment, s)) {
        use(segment, Terms<T>{}, true);
        continue;
      }
    }
    if (segment.below == 0) {
      use(segment, single_term<T>(plan, segment, s), false);
    } else {
      use(segment, plan.shares ? terms_of<T>(plan, segment, shared, s) : terms_of<T>(plan, segment, s), false);
    }
  }
}
