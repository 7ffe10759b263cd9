// The one-dimensional expansion: at one vector of activations, then for both memory layouts.
#pragma once

#include "layout.h"
#include "parallel.h"
#include "terms.h"

// beta: alpha times the weights. Horner's rule from both ends of each segment towards its centre, both at once so
// that the processor has two things to do. There are as many elements from the centre upwards as below it, or
// one more.
template <class T, class Neurons>
KAF_INLINE Vec<T> value(const Plan<T>& plan, const T* beta, Vec<T> s) {
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
template <class T, class Neurons, bool kInput, bool kAlpha>
KAF_INLINE Vec<T> gradients(const Plan<T>& plan, const T* beta, Vec<T> s, Vec<T> upstream, T* sums) {
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

// Input and output as (batch, neurons, positions), contiguous.
template <class T>
class Kaf1d {
 public:
  Kaf1d(const Dictionary& dictionary, int64_t batch, int64_t neurons, int64_t positions, int threads)
      : plan_(dictionary), batch_(batch), neurons_(neurons), positions_(positions), threads_(threads) {}

  void forward(const T* x, const T* alpha, T* y) const {
    if (lanes_over_neurons()) {
      const Array<T> beta = weigh(alpha);
      parallel_for(batch_, threads_, [&](int, int64_t begin, int64_t end) {
        for_blocks<T>(begin, end, neurons_, [&](int64_t block, auto rows) __attribute__((always_inline)) {
          const T* own = beta.data() + block * kNativeWidth<T> * plan_.size;
          rows.put(y, value<T, OwnNeurons<T>>(plan_, own, rows.get(x)));
        });
      });
      return;
    }
    parallel_for(neurons_, threads_, [&](int, int64_t begin, int64_t end) {
      Array<T> beta(plan_.size);
      for (int64_t n = begin; n < end; ++n) {
        for (int k = 0; k < plan_.size; ++k) beta[k] = alpha[n * plan_.size + k] * plan_.weights[k];
        for (Runs<T> runs = runs_of_channel(); !runs.done(); runs.next()) {
          const Vec<T> s = runs.get(x + n * positions_);
          runs.put(y + n * positions_, value<T, OneNeuron<T>>(plan_, beta.data(), s));
        }
      }
    });
  }

  // dx and dalpha may be null where they are not wanted.
  void backward(const T* x, const T* alpha, const T* upstream, T* dx, T* dalpha) const {
    if (dx && dalpha) {
      backward_of<true, true>(x, alpha, upstream, dx, dalpha);
    } else if (dx) {
      backward_of<true, false>(x, alpha, upstream, dx, dalpha);
    } else if (dalpha) {
      backward_of<false, true>(x, alpha, upstream, dx, dalpha);
    }
  }

 private:
  bool lanes_over_neurons() const { return positions_ == 1 && 2 * neurons_ >= kNativeWidth<T>; }

  Runs<T> runs_of_channel() const { return Runs<T>(batch_, positions_, neurons_ * positions_); }

  Array<T> weigh(const T* alpha) const {
    return pack(alpha, neurons_, plan_.size, [&](int64_t k) { return plan_.weights[k]; });
  }

  template <bool kInput, bool kAlpha>
  void backward_of(const T* x, const T* alpha, const T* upstream, T* dx, T* dalpha) const {
    if (lanes_over_neurons()) {
      backward_over_neurons<kInput, kAlpha>(x, alpha, upstream, dx, dalpha);
    } else {
      backward_over_positions<kInput, kAlpha>(x, alpha, upstream, dx, dalpha);
    }
  }

  template <bool kInput, bool kAlpha>
  void backward_over_neurons(const T* x, const T* alpha, const T* upstream, T* dx, T* dalpha) const {
    const Array<T> beta = weigh(alpha);
    const auto add_rows = [&](int64_t begin, int64_t end, T* sums) {
      for_blocks<T>(begin, end, neurons_, [&](int64_t block, auto rows) __attribute__((always_inline)) {
        const int64_t own = block * kNativeWidth<T> * plan_.size;
        const Vec<T> d = gradients<T, OwnNeurons<T>, kInput, kAlpha>(plan_, beta.data() + own, rows.get(x),
                                                                     rows.get(upstream), sums + own);
        if (kInput) rows.put(dx, d);
      });
    };
    const auto weight = [&](int64_t k) { return plan_.weights[k]; };
    sum_over_rows<T>(batch_, neurons_, plan_.size, threads_, add_rows, weight, kAlpha ? dalpha : nullptr);
  }

  template <bool kInput, bool kAlpha>
  void backward_over_positions(const T* x, const T* alpha, const T* upstream, T* dx, T* dalpha) const {
    parallel_for(neurons_, threads_, [&](int, int64_t begin, int64_t end) {
      Array<T> beta(plan_.size), sums(plan_.size * kNativeWidth<T>);
      std::vector<double> totals(plan_.size);
      for (int64_t n = begin; n < end; ++n) {
        for (int k = 0; k < plan_.size; ++k) {
          beta[k] = alpha[n * plan_.size + k] * plan_.weights[k];
          totals[k] = 0;
        }
        int vectors = 0;
        for (Runs<T> runs = runs_of_channel(); !runs.done(); runs.next()) {
          const Vec<T> s = runs.get(x + n * positions_), u = runs.get(upstream + n * positions_);
          const Vec<T> d = gradients<T, OneNeuron<T>, kInput, kAlpha>(plan_, beta.data(), s, u, sums.data());
          if (kInput) runs.put(dx + n * positions_, d);
          if (kAlpha && ++vectors % kSumLength == 0) add_lanes_and_clear(totals.data(), sums.data(), plan_.size);
        }
        if (!kAlpha) continue;
        add_lanes_and_clear(totals.data(), sums.data(), plan_.size);
        for (int k = 0; k < plan_.size; ++k) {
          dalpha[n * plan_.size + k] = static_cast<T>(totals[k] * plan_.weights[k]);
        }
      }
    });
  }

  const Plan<T> plan_;
  const int64_t batch_, neurons_, positions_;
  const int threads_;
};
