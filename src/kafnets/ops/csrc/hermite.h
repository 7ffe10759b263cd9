// A sum of orthonormal Hermite functions, psi_0 = pi^(-1/4) exp(-s^2 / 2) and
//
//   psi_{k+1} = sqrt(2 / (k + 1)) s psi_k - sqrt(k / (k + 1)) psi_{k-1}
//   psi_k'    = sqrt(k / 2) psi_{k-1} - sqrt((k + 1) / 2) psi_{k+1}
#pragma once

#include <cmath>
#include <vector>

#include "by_neuron.h"
#include "exponential.h"
#include "plan.h"

template <class T>
struct HermiteSum : NothingMore<T> {
  explicit HermiteSum(const Settings& s) : size(static_cast<int>(s.size)) {
    for (int k = 0; k <= size; ++k) {
      step.push_back(static_cast<T>(std::sqrt(2.0 / (k + 1))));
      back.push_back(static_cast<T>(-std::sqrt(double(k) / (k + 1))));
      half.push_back(static_cast<T>(std::sqrt(k / 2.0)));
    }
  }

  T weight(int64_t) const { return 1; }
  int terms() const { return size; }

  template <class Neurons>
  KAF_INLINE Vec<T> value(const T* table, Vec<T> s) const {
    Vec<T> result = {};
    for_functions(s, size, [&](int k, Vec<T> psi) __attribute__((always_inline)) {
      result = mul_add(Neurons::at(table, k), psi, result);
    });
    return result;
  }

  // The sum of a_k psi_k' by psi_k: a_{k+1} sqrt((k + 1) / 2) - a_{k-1} sqrt(k / 2).
  template <class Neurons>
  KAF_INLINE Vec<T> gradients(const T* table, Vec<T> s, Vec<T> upstream, T* sums) const {
    Vec<T> slope = {};
    for_functions(s, size + 1, [&](int k, Vec<T> psi) __attribute__((always_inline)) {
      if (k + 1 < size) slope = mul_add(Neurons::at(table, k + 1) * half[k + 1], psi, slope);
      if (k > 0) slope = mul_add(Neurons::at(table, k - 1) * -half[k], psi, slope);
      if (k < size) add_to<T>(sums + k * kNativeWidth<T>, upstream * psi);
    });
    return slope * upstream;
  }

  template <class Use>
  KAF_INLINE void for_functions(Vec<T> s, int count, const Use& use) const {
    // Beyond this the exponential would leave the range of T: there is nothing left by then.
    const T limit = static_cast<T>(std::sqrt(2 * Range<T>::kLargestExponent));
    const Vec<T> x = greater(splat<T>(-limit), lesser(splat<T>(limit), s)), square = x * x;
    const Vec<T> lost = fma(x, x, -square) * T(-0.5);
    const Vec<T> bell = exp_corrected(square * T(-0.5), lost) * T(0.75112554446494248286);  // pi^(-1/4)
    Vec<T> before = {}, psi = zero_where(differing(x, s), bell);
    for (int k = 0; k < count; ++k) {
      use(k, psi);
      const Vec<T> next = mul_add(x * step[k], psi, before * back[k]);
      before = psi;
      psi = next;
    }
  }

  const int size;
  std::vector<T> step, back, half;
};

template <class T>
using Hermite = ByNeuron<T, HermiteSum>;
