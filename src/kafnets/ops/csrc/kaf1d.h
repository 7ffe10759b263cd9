// The one-dimensional expansion at a vector of activations.
#pragma once

#include "added_base.h"
#include "by_neuron.h"
#include "kaf_table.h"
#include "terms.h"

// Settings: where the dictionary begins, its spacing, and gamma; the tails; the base, plus 100 times its form. The
// coefficients are alpha, and w if the form has it. Derived: the slopes at the left and the right edge, for linear tails.
//
// Without kTails they are zero, and nothing asks for them in the innermost loops.
template <class T, bool kTails>
struct GaussianSum {
  explicit GaussianSum(const Settings& s)
      : tails(Outside(s).tails),
        base{Outside(s).base, Outside(s).form},
        elements(static_cast<int>(s.size) - Outside(s).weighted()),
        plan(plan_for<Plan<T>>({elements, s.first, s.second, s.third, 0, 0})),
        size(static_cast<int>(s.size)),
        left(static_cast<T>(s.first)),
        right(static_cast<T>(s.first + (elements - 1) * s.second)) {}

  T weight(int64_t k) const { return k < elements ? plan.weights[k] : T(1); }
  int terms() const { return size + (kTails && tails == Tails::kLinear ? 2 : 0); }

  T derived(const T* alpha, int64_t k) const {
    const std::vector<double>& slopes = k == size ? plan.left_slopes : plan.right_slopes;
    double result = 0;
    for (int i = 0; i < elements; ++i) result += alpha[i] * slopes[i];
    return static_cast<T>(result);
  }

  template <class Sum>
  double from_derived(const Sum& at, int64_t k) const {
    if (!kTails || tails != Tails::kLinear || k >= elements) return 0;
    return at(0) * plan.left_slopes[k] + at(1) * plan.right_slopes[k];
  }

  // beta: alpha times the weights. Horner's rule from both ends of each segment toward its center, both at once so
  // that the processor has two things to do. There are as many elements from the center upwards as below it, or
  // one more.
  template <class Neurons>
  KAF_INLINE Vec<T> value(const T* beta, Vec<T> s) const {
    const Vec<T> at = inside(s);
    Vec<T> result = {};
    for_segments(plan, at, [&](const Segment<T>& segment, const Terms<T>& t) __attribute__((always_inline)) {
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
    if constexpr (kTails) return add_tails<Neurons>(beta, s, at, result);
    return result;
  }

  // Linear tails.
  template <class Neurons>
  KAF_INLINE Vec<T> add_tails(const T* beta, Vec<T> s, Vec<T> at, Vec<T> result) const {
    if (tails != Tails::kLinear || !any(differing(s, at))) return result;  // they rarely do
    const Vec<T> beyond = s - at, slope = by_sign(beyond, Neurons::at(beta, size + 1), Neurons::at(beta, size));
    return mul_add(beyond, slope, result);
  }

  // The derivative at s times upstream. Upstream times the terms is added to `sums`, by element and lane, still
  // without the weights.
  template <class Neurons>
  KAF_INLINE Vec<T> gradients(const T* beta, Vec<T> s, Vec<T> upstream, T* sums) const {
    const Vec<T> at = inside(s);
    Vec<T> above_result = {}, below_result = {};
    for_segments(plan, at, [&](const Segment<T>& segment, const Terms<T>& t) __attribute__((always_inline)) {
      if (t.vanished) return;
      const auto add = [&](int k, Vec<T> term, Vec<T>& result) __attribute__((always_inline)) {
        result = mul_add(Neurons::at(beta, k) * term, plan.places[k] - t.z, result);
        add_to<T>(sums + k * kNativeWidth<T>, term);
      };
      const int center = segment.begin + segment.below;
      Vec<T> above = upstream * t.envelope, below = above;
      add(center, above, above_result);
      for (int m = 1; m <= segment.above; ++m) {
        add(center + m, above = above * t.up, above_result);
        add(center - m, below = below * t.down, below_result);
      }
      if (segment.above < segment.below) add(segment.begin, below * t.down, below_result);
    });
    const Vec<T> result = (above_result + below_result) * plan.slope;
    if constexpr (kTails) return add_gradients_of_tails(s, at, upstream, sums, result);
    return result;
  }

  KAF_INLINE Vec<T> add_gradients_of_tails(Vec<T> s, Vec<T> at, Vec<T> upstream, T* sums, Vec<T> result) const {
    if (tails == Tails::kConstant) result = zero_where(differing(at, s), result);
    if (tails == Tails::kLinear && any(differing(s, at))) {
      const Vec<T> beyond = s - at, moment = beyond * upstream;
      add_to<T>(sums + size * kNativeWidth<T>, by_sign(beyond, Vec<T>{}, moment));
      add_to<T>(sums + (size + 1) * kNativeWidth<T>, by_sign(beyond, moment, Vec<T>{}));
    }
    return result;
  }

  bool finishes() const { return base.base != Base::kNone; }

  template <class Neurons>
  void finish_values(const T* beta, const T* s, const T* values, const Strip& to, T* y) const {
    base.add_values(weight_of<Neurons>(beta), s, values, to, y);
  }

  template <class Neurons>
  void finish_gradients(const T* beta, const T* s, const T* upstream, const T* gradients, const Strip& to, T* dx,
                        T* sums) const {
    base.add_gradients(weight_of<Neurons>(beta), s, upstream, gradients, to, dx, sums + elements * kNativeWidth<T>);
  }

  template <class Neurons>
  Vec<T> weight_of(const T* beta) const {
    return base.form == BaseForm::kFixed ? splat<T>(1) : Neurons::at(beta, elements);
  }

  // Where the kernels are evaluated. NaN stays.
  KAF_INLINE Vec<T> inside(Vec<T> s) const {
    return kTails && tails != Tails::kZero ? clamp(s, left, right) : s;
  }

  const Tails tails;
  const AddedBase<T> base;
  const int elements;
  const Plan<T>& plan;
  const int size;
  const T left, right;
};

template <class T>
using GaussianSumWithoutTails = GaussianSum<T, false>;
// The formula with tails, compiled on its own, by kaf_tails.cpp: templates that can be seen are compiled wherever they are
// used, to be inlined, even if they are extern.
template <class T>
struct KafWithTails {
  static void forward(const Settings& settings, int64_t batch, int64_t neurons, int64_t positions, int threads,
                      const T* x, const T* alpha, T* y);
  static void backward(const Settings& settings, int64_t batch, int64_t neurons, int64_t positions, int threads,
                       const T* x, const T* alpha, const T* upstream, T* dx, T* dalpha);
};

// By table or by the formula, whichever is faster.
template <class T>
class Kaf1d {
 public:
  Kaf1d(const Settings& settings, int64_t batch, int64_t neurons, int64_t positions, int threads)
      : settings_(settings), batch_(batch), neurons_(neurons), positions_(positions), threads_(threads) {}

  void forward(const T* x, const T* alpha, T* y) const {
    if constexpr (sizeof(T) == 4) {
      if (table_pays(settings_, batch_, neurons_, positions_)) {
        table_forward(settings_, batch_, neurons_, positions_, threads_, x, alpha, y);
        return;
      }
    }
    if (has_tails()) {
      KafWithTails<T>::forward(settings_, batch_, neurons_, positions_, threads_, x, alpha, y);
    } else {
      without_tails().forward(x, alpha, y);
    }
  }

  void backward(const T* x, const T* alpha, const T* upstream, T* dx, T* dalpha) const {
    if constexpr (sizeof(T) == 4) {
      if (table_pays(settings_, batch_, neurons_, positions_)) {
        table_backward(settings_, batch_, neurons_, positions_, threads_, x, alpha, upstream, dx, dalpha);
        return;
      }
    }
    if (has_tails()) {
      KafWithTails<T>::backward(settings_, batch_, neurons_, positions_, threads_, x, alpha, upstream, dx, dalpha);
    } else {
      without_tails().backward(x, alpha, upstream, dx, dalpha);
    }
  }

 private:
  bool has_tails() const { return Outside(settings_).tails != Tails::kZero; }

  ByNeuron<T, GaussianSumWithoutTails> without_tails() const {
    return {settings_, batch_, neurons_, positions_, threads_};
  }

  const Settings settings_;
  const int64_t batch_, neurons_, positions_;
  const int threads_;
};
