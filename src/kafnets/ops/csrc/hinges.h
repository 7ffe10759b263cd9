// s or max(0, s), plus hinges a_i max(0, s - b_i) that open to the right and a_i max(0, b_i - s) that open to the left.
#pragma once

#include "by_neuron.h"

// Settings: how many hinges, the first ones, open to the right; 1 if the base is max(0, s). The coefficients are all a,
// then all b.
template <class T>
struct HingeSum : NothingMore<T> {
  explicit HingeSum(const Settings& s)
      : size(static_cast<int>(s.size)), count(size / 2), right(static_cast<int>(s.first)), rectified(s.second != 0) {}

  T weight(int64_t) const { return 1; }
  int terms() const { return size; }

  template <class Neurons>
  KAF_INLINE Vec<T> value(const T* table, Vec<T> s) const {
    Vec<T> result = rectified ? greater(Vec<T>{}, s) : s;
    for (int i = 0; i < count; ++i) {
      result = mul_add(Neurons::at(table, i), greater(Vec<T>{}, opening<Neurons>(table, i, s)), result);
    }
    return result;
  }

  template <class Neurons>
  KAF_INLINE Vec<T> gradients(const T* table, Vec<T> s, Vec<T> upstream, T* sums) const {
    // At NaN everything is NaN: the greater of 0 and NaN is that.
    Vec<T> result = rectified ? by_sign(s, upstream, greater(Vec<T>{}, s)) : upstream;
    for (int i = 0; i < count; ++i) {
      const Vec<T> distance = opening<Neurons>(table, i, s), opened = greater(Vec<T>{}, distance);
      const Vec<T> reaching = by_sign(distance, upstream, opened);
      const Vec<T> slope = Neurons::at(table, i), change = i < right ? slope * reaching : -(slope * reaching);
      result = result + change;
      add_to<T>(sums + i * kNativeWidth<T>, upstream * opened);
      add_to<T>(sums + (count + i) * kNativeWidth<T>, -change);
    }
    return result;
  }

  template <class Neurons>
  KAF_INLINE Vec<T> opening(const T* table, int i, Vec<T> s) const {
    const Vec<T> place = Neurons::at(table, count + i);
    return i < right ? s - place : place - s;
  }

  const int size, count, right;
  const bool rectified;
};

template <class T>
using Hinges = ByNeuron<T, HingeSum>;
