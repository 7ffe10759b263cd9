// Formulas with coefficients for each neuron, run over both memory layouts.
#pragma once

#include "layout.h"
#include "parallel.h"
#include "settings.h"

// Input and output as (batch, neurons, positions), contiguous.
//
// A formula has a size, the number of coefficients a neuron; weight(k), by which coefficient k is multiplied before
// it is used, and its gradient after; and, for vectors of activations,
//
//   value<Neurons>(coefficients, s)
//   gradients<Neurons, kInput, kAlpha>(coefficients, s, upstream, sums), which returns the gradient of s if kInput
//   and adds upstream times the derivative by coefficient k to sums, k * kNativeWidth on, if kAlpha.
template <class T, template <class> class Formula>
class ByNeuron {
 public:
  ByNeuron(const Settings& settings, int64_t batch, int64_t neurons, int64_t positions, int threads)
      : formula_(settings), batch_(batch), neurons_(neurons), positions_(positions), threads_(threads) {}

  void forward(const T* x, const T* alpha, T* y) const {
    if (lanes_over_neurons()) {
      const Array<T> beta = weigh(alpha);
      parallel_for(batch_, threads_, [&](int, int64_t begin, int64_t end) {
        for_blocks<T>(begin, end, neurons_, [&](int64_t block, auto rows) __attribute__((always_inline)) {
          const T* own = beta.data() + block * kNativeWidth<T> * formula_.size;
          rows.put(y, formula_.template value<OwnNeurons<T>>(own, rows.get(x)));
        });
      });
      return;
    }
    parallel_for(neurons_, threads_, [&](int, int64_t begin, int64_t end) {
      Array<T> beta(formula_.size);
      for (int64_t n = begin; n < end; ++n) {
        for (int k = 0; k < formula_.size; ++k) beta[k] = alpha[n * formula_.size + k] * formula_.weight(k);
        for (Runs<T> runs = runs_of_channel(); !runs.done(); runs.next()) {
          const Vec<T> s = runs.get(x + n * positions_);
          runs.put(y + n * positions_, formula_.template value<OneNeuron<T>>(beta.data(), s));
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
    return pack(alpha, neurons_, formula_.size, [&](int64_t k) { return formula_.weight(k); });
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
        const int64_t own = block * kNativeWidth<T> * formula_.size;
        const Vec<T> d = formula_.template gradients<OwnNeurons<T>, kInput, kAlpha>(
            beta.data() + own, rows.get(x), rows.get(upstream), sums + own);
        if (kInput) rows.put(dx, d);
      });
    };
    const auto weight = [&](int64_t k) { return formula_.weight(k); };
    sum_over_rows<T>(batch_, neurons_, formula_.size, threads_, add_rows, weight, kAlpha ? dalpha : nullptr);
  }

  template <bool kInput, bool kAlpha>
  void backward_over_positions(const T* x, const T* alpha, const T* upstream, T* dx, T* dalpha) const {
    parallel_for(neurons_, threads_, [&](int, int64_t begin, int64_t end) {
      Array<T> beta(formula_.size), sums(formula_.size * kNativeWidth<T>);
      std::vector<double> totals(formula_.size);
      for (int64_t n = begin; n < end; ++n) {
        for (int k = 0; k < formula_.size; ++k) {
          beta[k] = alpha[n * formula_.size + k] * formula_.weight(k);
          totals[k] = 0;
        }
        int vectors = 0;
        for (Runs<T> runs = runs_of_channel(); !runs.done(); runs.next()) {
          const Vec<T> s = runs.get(x + n * positions_), u = runs.get(upstream + n * positions_);
          const Vec<T> d = formula_.template gradients<OneNeuron<T>, kInput, kAlpha>(beta.data(), s, u, sums.data());
          if (kInput) runs.put(dx + n * positions_, d);
          if (kAlpha && ++vectors % kSumLength == 0) add_lanes_and_clear(totals.data(), sums.data(), formula_.size);
        }
        if (!kAlpha) continue;
        add_lanes_and_clear(totals.data(), sums.data(), formula_.size);
        for (int k = 0; k < formula_.size; ++k) {
          dalpha[n * formula_.size + k] = static_cast<T>(totals[k] * formula_.weight(k));
        }
      }
    });
  }

  const Formula<T> formula_;
  const int64_t batch_, neurons_, positions_;
  const int threads_;
};
