// A sum of Gaussians on an equispaced dictionary, the bandwidth being one more coefficient of each neuron, the last.
//
// Where it is learned it moves with every step and differs between neurons, so that there are no constants to prepare
// and factor out as in plan.h: each term is an exponential of its own.
#pragma once

#include <vector>

#include "by_neuron.h"
#include "exponential.h"
#include "plan.h"

// Settings: the coefficients a neuron, where the dictionary begins, and its spacing.
template <class T>
struct GaussianSumByBandwidth : NothingMore<T> {
  explicit GaussianSumByBandwidth(const Settings& s) : size(static_cast<int>(s.size)), elements(size - 1) {
    using Wide = typename Range<T>::Wide;
    for (int k = 0; k < elements; ++k) {
      const Wide place = s.first + k * static_cast<Wide>(s.second);
      places.push_back(static_cast<T>(place));
      rests.push_back(static_cast<T>(place - places.back()));
    }
  }

  T weight(int64_t) const { return 1; }
  int terms() const { return size; }

  template <class Neurons>
  KAF_INLINE Vec<T> value(const T* table, Vec<T> s) const {
    Vec<T> result = {};
    const Vec<T> gamma = Neurons::at(table, elements), near = within_range(s);
    for (int k = 0; k < elements; ++k) {
      result = mul_add(Neurons::at(table, k), term(gamma, distance(near, k)), result);
    }
    return result;
  }

  template <class Neurons>
  KAF_INLINE Vec<T> gradients(const T* table, Vec<T> s, Vec<T> upstream, T* sums) const {
    const Vec<T> gamma = Neurons::at(table, elements), near = within_range(s);
    Vec<T> slope = {}, by_gamma = {};
    for (int k = 0; k < elements; ++k) {
      const Vec<T> t = distance(near, k), own = upstream * term(gamma, t), moment = Neurons::at(table, k) * (own * t);
      slope = slope + moment;
      add_to<T>(sums + k * kNativeWidth<T>, own);
      by_gamma = mul_add(moment, t, by_gamma);
    }
    add_to<T>(sums + elements * kNativeWidth<T>, -by_gamma);
    return slope * gamma * T(-2);
  }

  // Far enough for nothing to be left, and near enough for squares to be finite.
  KAF_INLINE static Vec<T> within_range(Vec<T> s) {
    const Vec<T> far = splat<T>(T(1e18));
    return greater(-far, lesser(far, s));
  }

  KAF_INLINE Vec<T> distance(Vec<T> s, int k) const { return (s - places[k]) - rests[k]; }

  KAF_INLINE static Vec<T> term(Vec<T> gamma, Vec<T> t) {
    const Vec<T> lowest = splat<T>(-T(Range<T>::kLargestExponent));
    const Vec<T> square = t * t, exponent = -gamma * square, kept = greater(lowest, exponent);
    const Vec<T> lost = fma(-gamma, square, -exponent) - gamma * fma(t, t, -square);
    return zero_where(differing(kept, exponent), exp_corrected(kept, lost));
  }

  const int size, elements;
  std::vector<T> places, rests;
};

template <class T>
using KafByBandwidth = ByNeuron<T, GaussianSumByBandwidth>;
