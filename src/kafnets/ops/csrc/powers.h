// A polynomial, lowest power first.
#pragma once

#include "by_neuron.h"

template <class T>
struct PowerSum : NothingMore<T> {
  explicit PowerSum(const Settings& s) : size(static_cast<int>(s.size)) {}

  T weight(int64_t) const { return 1; }
  int terms() const { return size; }

  template <class Neurons>
  KAF_INLINE Vec<T> value(const T* table, Vec<T> s) const {
    Vec<T> result = Neurons::at(table, size - 1);
    for (int k = size - 2; k >= 0; --k) result = mul_add(result, s, Neurons::at(table, k));
    return result;
  }

  template <class Neurons>
  KAF_INLINE Vec<T> gradients(const T* table, Vec<T> s, Vec<T> upstream, T* sums) const {
    Vec<T> slope = {}, power = upstream;
    add_to<T>(sums, power);
    for (int k = 1; k < size; ++k) {
      slope = mul_add(Neurons::at(table, k) * T(k), power, slope);
      power = power * s;
      add_to<T>(sums + k * kNativeWidth<T>, power);
    }
    return slope;
  }

  const int size;
};

template <class T>
using Powers = ByNeuron<T, PowerSum>;
