// Cubic polynomials on the pieces of an equispaced grid: left of it, its intervals, right of it. Each lane looks its
// own piece up. Outside the grid the polynomial is a straight line: its higher coefficients do not count.
#pragma once

#include "by_neuron.h"

// Settings: where the grid begins, and its spacing. The coefficients are four a piece, lowest power first.
template <class T>
struct CubicPieces : NothingMore<T> {
  static constexpr int kOrder = 4;

  explicit CubicPieces(const Settings& s)
      : size(static_cast<int>(s.size)),
        intervals(size / kOrder - 2),
        first(static_cast<T>(s.first)),
        per_spacing(static_cast<T>(1 / s.second)) {}

  T weight(int64_t) const { return 1; }
  int terms() const { return size; }

  template <class Neurons>
  KAF_INLINE Vec<T> value(const T* table, Vec<T> s) const {
    const Found found = find<Neurons>(table, s);
    const Vec<T>* c = found.coefficients;
    return mul_add(mul_add(mul_add(c[3], found.inner, c[2]), found.inner, c[1]), found.u, c[0]);
  }

  template <class Neurons>
  KAF_INLINE Vec<T> gradients(const T* table, Vec<T> s, Vec<T> upstream, T* sums) const {
    const Found found = find<Neurons>(table, s);
    const Vec<T>* c = found.coefficients;
    Vec<T> power = upstream;
    for (int j = 0; j < kOrder; ++j) {
      T lanes[kWidth<T>];
      store<T>(lanes, power);
      for (int i = 0; i < kWidth<T>; ++i) {
        sums[(found.term[i] + j) * kNativeWidth<T> + i % kNativeWidth<T>] += lanes[i];
      }
      power = power * (j == 0 ? found.u : found.inner);
    }
    const Vec<T> slope = mul_add(mul_add(c[3] * T(3), found.inner, c[2] * T(2)), found.inner, c[1]);
    return slope * upstream * per_spacing;
  }

  struct Found {
    Vec<T> u;      // the distance from the left end of the interval, in spacings
    Vec<T> inner;  // the same, but 0 outside the grid, where higher powers could overflow and count for nothing
    Vec<T> coefficients[kOrder];
    int term[kWidth<T>];  // where the piece's coefficients begin
  };

  template <class Neurons>
  KAF_INLINE Found find(const T* table, Vec<T> s) const {
    Found found;
    T lanes[kWidth<T>], inner[kWidth<T>], looked_up[kOrder][kWidth<T>];
    store<T>(lanes, (s - first) * per_spacing);
    for (int i = 0; i < kWidth<T>; ++i) {
      const T distance = lanes[i];
      // A NaN is in no interval. It is sent to the first, where it makes the result NaN.
      const int interval = distance < 0 ? -1 : distance >= intervals ? intervals : distance > 0 ? int(distance) : 0;
      lanes[i] = distance - static_cast<T>(interval < 0 ? 0 : interval);
      inner[i] = interval < 0 || interval == intervals ? T(0) : lanes[i];
      found.term[i] = (interval + 1) * kOrder;
      const int lane = Neurons::kStride == 1 ? 0 : i % kNativeWidth<T>;
      for (int j = 0; j < kOrder; ++j) looked_up[j][i] = table[(found.term[i] + j) * Neurons::kStride + lane];
    }
    found.u = load<T>(lanes);
    found.inner = load<T>(inner);
    for (int j = 0; j < kOrder; ++j) found.coefficients[j] = load<T>(looked_up[j]);
    return found;
  }

  const int size, intervals;
  const T first, per_spacing;
};

template <class T>
using Cubics = ByNeuron<T, CubicPieces>;
