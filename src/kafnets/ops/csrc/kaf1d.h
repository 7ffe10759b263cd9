// The one-dimensional expansion at a vector of activations.
#pragma once

#include "by_neuron.h"
#include "terms.h"

// Settings: where the dictionary begins, its spacing, and gamma.
template <class T>
struct GaussianSum {
  explicit GaussianSum(const Settings& settings) : plan(plan_for<T>(settings)), size(plan.size) {}

  T weight(int64_t k) const { return plan.weights[k]; }

  // beta: alpha times the weights. Horner's rule from both ends of each segment towards its centre, both at once so
  // that the processor has two things to do. There are as many elements from the centre upwards as below it, or
  // one more.
  template <class Neurons>
  KAF_INLINE Vec<T> value(const T* beta, Vec<T> s) const {
    Vec<T> result = {};
    for_segments<1>(plan, s, [&](const Segment<T>& segment, const Terms<T>& t) __attribute__((always_inline)) {
      if (t.vanished) return;
      const T* from = beta + segment.begin * Neurons::kStride;
      int top = segment.below + segment.above;
      Vec<T> above = {}, below = {};
      if (segment.above == segment.below) above = Neurons::at(from, top--);
      for (int k = 0; k < segment.below; ++k) {
        above = mul_add(above, t.up, Neurons::at(from, top - k));
        below = mul_add(below, t.down, Neurons::at(from, k));
      }
      result = mul_add(mul_add(below, t.down, above), t.envelope, result);
    });
    return result;
  }

  // The derivative at s times upstream. Upstream times the terms is added to `sums`, by element and lane, still
  // without the weights.
  template <class Neurons, bool kInput, bool kAlpha>
  KAF_INLINE Vec<T> gradients(const T* beta, Vec<T> s, Vec<T> upstream, T* sums) const {
    Vec<T> above_result = {}, below_result = {};
    for_segments<4>(plan, s, [&](const Segment<T>& segment, const Terms<T>& t) __attribute__((always_inline)) {
      if (t.vanished) return;
      auto add = [&](int k, Vec<T> term, Vec<T>& result) {
        if (kInput) result = mul_add(Neurons::at(beta, k) * term, plan.places[k] - t.z, result);
        if (kAlpha) add_to<T>(sums + k * kNativeWidth<T>, term);
      };
      const int centre = segment.begin + segment.below;
      Vec<T> above = upstream * t.envelope, below = above;
      add(centre, above, above_result);
      for (int m = 1; m <= segment.above; ++m) {
        add(centre + m, above = above * t.up, above_result);
        add(centre - m, below = below * t.down, below_result);
      }
      if (segment.above < segment.below) add(segment.begin, below * t.down, below_result);
    });
    return (above_result + below_result) * plan.slope;
  }

  const Plan<T>& plan;
  const int size;
};

template <class T>
using Kaf1d = ByNeuron<T, GaussianSum>;
