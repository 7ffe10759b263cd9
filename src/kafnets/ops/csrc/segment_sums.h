// The sum of one segment's terms, and its gradients, at a tile's activations.
#pragma once

#include <algorithm>
#include <type_traits>

#include "terms.h"

// How many vectors are computed at once: as many as there are registers for.
#if defined(__AVX512F__)
constexpr int kRowsOfValues = 4, kRowsOfGradients = 2;
#else
constexpr int kRowsOfValues = 2, kRowsOfGradients = 1;
#endif
static_assert(kTile % kRowsOfValues == 0);
static_assert(kParts % kRowsOfGradients == 0);  // upstream is 0 in rows that are not there, up to a multiple of kParts

// What a segment of which nothing is left leaves as it was: values so far, or 0.
template <int kRows, class T>
KAF_INLINE void pass_on(const T* so_far, int64_t row, const Strip& strip, T* y) {
  if (so_far == y) return;
  Native<T> result[kRows];
  for (int i = 0; i < kRows; ++i) {
    result[i] = so_far ? load_native<T>(so_far + (row + i) * kNativeWidth<T>) : Native<T>{};
  }
  strip.put(y, row, result);
}

// To the values so far, unless that is null, and to a strip. Horner's rule from both ends of a segment toward its center,
// for several vectors at once, so that the processor has more than one thing to do. There are as many elements from the
// center upwards as below it, or one more.
template <class Neurons, class T>
__attribute__((noinline)) void add_segment(const T* beta, const Segment<T>& segment, const TileTerms<T>& terms,
                                           const T* so_far, const Strip strip, T* y) {
  constexpr int kRows = kRowsOfValues, kLanes = kNativeWidth<T>;
  const int below = segment.below, above = segment.above;
  for (int64_t row = 0; row < strip.vectors; row += kRows) {
    if (terms.vanished(row, std::min<int64_t>(kRows, strip.vectors - row))) {
      pass_on<kRows>(so_far, row, strip, y);
      continue;
    }
    int top = below + above;
    const Native<T> first = above == below ? Neurons::native(beta, top--) : Native<T>{};
    Native<T> up[kRows], down[kRows], from_above[kRows], from_below[kRows];
    for (int i = 0; i < kRows; ++i) {
      up[i] = load_native<T>(terms.up + (row + i) * kLanes);
      down[i] = load_native<T>(terms.down + (row + i) * kLanes);
      from_above[i] = first;
      from_below[i] = Native<T>{};
    }
    for (int k = 0; k < below; ++k) {
      const Native<T> high = Neurons::native(beta, top - k), low = Neurons::native(beta, k);
      for (int i = 0; i < kRows; ++i) {
        from_above[i] = native_mul_add(from_above[i], up[i], high);
        from_below[i] = native_mul_add(from_below[i], down[i], low);
      }
    }
    Native<T> result[kRows];
    for (int i = 0; i < kRows; ++i) {
      const int64_t at = (row + i) * kLanes;
      result[i] = native_mul_add(from_below[i], down[i], from_above[i]) * load_native<T>(terms.envelope + at);
      if (so_far) result[i] += load_native<T>(so_far + at);
    }
    strip.put(y, row, result);
  }
}

// The same for the gradients of activations. What upstream adds to those of the coefficients goes to `sums`, by element
// and lane, which begin at the center, as beta does. Terms are taken from there outwards. With places m and z, an element
// adds beta t (m - z) to the derivative. Of kGroup neighbors that is (the last m - z) P -+ Q, with P the sum of their
// beta t, and Q that of the sums before the last: fewer multiplications, of which there are most here.
template <class Neurons, class T>
__attribute__((noinline)) void add_segment_gradients(const T* beta, const Segment<T>& segment, const TileTerms<T>& terms,
                                                     const T* upstream, T slope, const T* so_far, const Strip strip, T* dx,
                                                     T* sums) {
  constexpr int kRows = kRowsOfGradients, kGroup = 3, kLanes = kNativeWidth<T>;
  const int below = segment.below, above = segment.above;
  struct Side {
    const T* beta;
    T* sums;
    Native<T> place, term[kRows], ratio[kRows], result[kRows];
  };
  for (int64_t row = 0; row < strip.vectors; row += kRows) {
    if (terms.vanished(row, std::min<int64_t>(kRows, strip.vectors - row))) {
      pass_on<kRows>(so_far, row, strip, dx);
      continue;
    }
    Side high = {beta, sums, T(1) - Native<T>{}, {}, {}, {}}, low = {beta, sums, T(-1) - Native<T>{}, {}, {}, {}};
    Native<T> z[kRows], all = load_native<T>(sums);
    const Native<T> at_center = Neurons::native(beta, 0);
    for (int i = 0; i < kRows; ++i) {
      const int64_t at = (row + i) * kLanes;
      high.ratio[i] = load_native<T>(terms.up + at);
      low.ratio[i] = load_native<T>(terms.down + at);
      z[i] = load_native<T>(terms.z + at);
      high.term[i] = low.term[i] = load_native<T>(terms.envelope + at) * load_native<T>(upstream + at);
      low.result[i] = -(at_center * low.term[i]) * z[i];
      all += low.term[i];
    }
    store_native<T>(sums, all);
    // `count` elements further out: one, or kGroup.
    const auto go = [&](Side& side, int by, auto count) __attribute__((always_inline)) {
      Native<T> p[kRows], q[kRows];
      for (int k = 0; k < count.value; ++k) {
        side.beta += by * Neurons::kStride;
        side.sums += by * kLanes;
        const Native<T> own = Neurons::native(side.beta, 0);
        Native<T> sum = {};
        for (int i = 0; i < kRows; ++i) {
          side.term[i] = side.term[i] * side.ratio[i];
          sum = i == 0 ? side.term[i] : sum + side.term[i];
          p[i] = k == 0 ? own * side.term[i] : native_mul_add(own, side.term[i], p[i]);
          if (k + 1 < count.value) q[i] = k == 0 ? p[i] : q[i] + p[i];
        }
        store_native<T>(side.sums, load_native<T>(side.sums) + sum);
      }
      const Native<T> last = side.place + T(by * (count.value - 1));
      for (int i = 0; i < kRows; ++i) {
        side.result[i] = native_mul_add(p[i], last - z[i], side.result[i]);
        if (count.value > 1) side.result[i] = by > 0 ? side.result[i] - q[i] : side.result[i] + q[i];
      }
      side.place = last + T(by);
    };
    constexpr std::integral_constant<int, 1> kOne;
    constexpr std::integral_constant<int, kGroup> kSome;
    int m = 1;
    for (; m + kGroup - 1 <= above; m += kGroup) {
      go(high, 1, kSome);
      go(low, -1, kSome);
    }
    for (; m <= above; ++m) {
      go(high, 1, kOne);
      go(low, -1, kOne);
    }
    if (above < below) go(low, -1, kOne);
    Native<T> result[kRows];
    for (int i = 0; i < kRows; ++i) {
      result[i] = (high.result[i] + low.result[i]) * slope;
      if (so_far) result[i] += load_native<T>(so_far + (row + i) * kLanes);
    }
    strip.put(dx, row, result);
  }
}
