// a_1 exp(-gamma (s - d_1)^2) + ..., for elements d that each neuron has of its own, at any distance from each other.
#pragma once

#include <cmath>

#include "by_neuron.h"
#include "exponential.h"
#include "plan.h"

// Settings: gamma. The coefficients are all a, then all d.
template <class T>
struct BellSum : NothingMore<T> {
  explicit BellSum(const Settings& s)
      : size(static_cast<int>(s.size)),
        count(size / 2),
        gamma(static_cast<T>(s.first)),
        limit(static_cast<T>(std::sqrt(Range<T>::kLargestExponent / s.first))) {}

  T weight(int64_t) const { return 1; }
  int terms() const { return size; }

  template <class Neurons>
  KAF_INLINE Vec<T> value(const T* table, Vec<T> s) const {
    Vec<T> result = {};
    for (int i = 0; i < count; ++i) {
      Vec<T> distance;
      const Vec<T> bell = bell_at(s - Neurons::at(table, count + i), distance);
      result = mul_add(Neurons::at(table, i), bell, result);
    }
    return result;
  }

  template <class Neurons>
  KAF_INLINE Vec<T> gradients(const T* table, Vec<T> s, Vec<T> upstream, T* sums) const {
    Vec<T> result = {};
    for (int i = 0; i < count; ++i) {
      Vec<T> distance;
      const Vec<T> bell = bell_at(s - Neurons::at(table, count + i), distance);
      const Vec<T> change = (upstream * bell) * (Neurons::at(table, i) * distance) * (T(-2) * gamma);
      result = result + change;
      add_to<T>(sums + i * kNativeWidth<T>, upstream * bell);
      add_to<T>(sums + (count + i) * kNativeWidth<T>, -change);
    }
    return result;
  }

  // The bell at a difference, and that difference, cut off where the exponential would leave the range of T: there is
  // nothing left by then.
  KAF_INLINE Vec<T> bell_at(Vec<T> difference, Vec<T>& distance) const {
    distance = greater(splat<T>(-limit), lesser(splat<T>(limit), difference));
    const Vec<T> square = distance * distance, lost = fma(distance, distance, -square);
    const Vec<T> exponent = square * -gamma, rounded = fma(square, splat<T>(-gamma), -exponent);
    return zero_where(differing(distance, difference), exp_corrected(exponent, mul_add(lost, splat<T>(-gamma), rounded)));
  }

  const int size, count;
  const T gamma, limit;
};

template <class T>
using Bells = ByNeuron<T, BellSum>;
