// The one-dimensional expansion at the activations of a tile.
#pragma once

#include "added_base.h"
#include "by_neuron.h"
#include "kaf_table.h"
#include "segment_sums.h"

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

  static constexpr bool kTiles = true;

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

  // beta: alpha times the weights. From the activations of a tile, in a buffer, to a strip.
  template <class Neurons>
  void tile_values(const T* beta, const T* s, const Strip& strip, T* y) const {
    TileTerms<T> terms;
    TileBuffer<T> inner, values;
    const T* at = inside(s, strip.vectors, inner);
    const bool more = finishes() || has_linear_tails();
    const Strip whole = in_buffer(strip);
    bool first = true;
    for (const Segment<T>& segment : plan.segments) {
      terms.template find<false>(plan, segment, at, strip.vectors);
      const bool last = &segment == &plan.segments.back();
      const T* so_far = first ? nullptr : values.values;
      const T* own = beta + segment.begin * Neurons::kStride;
      const Strip& target = last && !more ? strip : whole;
      add_segment<Neurons>(own, segment, terms, so_far, target, last && !more ? y : values.values);
      first = false;
    }
    if (has_linear_tails()) add_tails<Neurons>(beta, s, at, values.values, strip, finishes() ? nullptr : y);
    if (finishes()) base.add_values(weight_of<Neurons>(beta), s, values.values, strip, y);
  }

  // The gradients of a tile's activations, to a strip if dx is not null. What their upstream gradients add to those of the
  // coefficients goes to `sums`, by element and lane, still without the weights.
  template <class Neurons>
  void tile_gradients(const T* beta, const T* s, const T* upstream, const Strip& strip, T* dx, T* sums) const {
    TileTerms<T> terms;
    TileBuffer<T> inner, gradients;
    const T* at = inside(s, strip.vectors, inner);
    const bool more = finishes() || (kTails && tails != Tails::kZero) || !dx;
    const Strip whole = in_buffer(strip);
    bool first = true;
    for (const Segment<T>& segment : plan.segments) {
      terms.template find<true>(plan, segment, at, strip.vectors);
      const bool last = &segment == &plan.segments.back();
      const T* so_far = first ? nullptr : gradients.values;
      const int center = segment.begin + segment.below;
      const T* own = beta + center * Neurons::kStride;
      T* to = sums + center * kNativeWidth<T>;
      const Strip& target = last && !more ? strip : whole;
      T* out = last && !more ? dx : gradients.values;
      add_segment_gradients<Neurons>(own, segment, terms, upstream, plan.slope, so_far, target, out, to);
      first = false;
    }
    if constexpr (kTails) {
      add_gradients_of_tails(s, at, upstream, gradients.values, strip, finishes() ? nullptr : dx, sums);
    }
    if (finishes()) {
      T* by_weight = sums + elements * kNativeWidth<T>;
      base.add_gradients(weight_of<Neurons>(beta), s, upstream, gradients.values, strip, dx, by_weight);
    }
  }

  template <class Neurons>
  Vec<T> weight_of(const T* beta) const {
    return base.form == BaseForm::kFixed ? splat<T>(1) : Neurons::at(beta, elements);
  }

  bool finishes() const { return base.base != Base::kNone; }
  bool has_linear_tails() const { return kTails && tails == Tails::kLinear; }

  static Strip in_buffer(const Strip& strip) { return {0, kNativeWidth<T>, strip.vectors, kNativeWidth<T>}; }

  // Where the kernels are evaluated. NaN stays.
  const T* inside(const T* s, int64_t vectors, TileBuffer<T>& buffer) const {
    if (!kTails || tails == Tails::kZero) return s;
    for (int64_t i = 0; i < vectors; i += kParts) buffer.put(i, clamp(load<T>(s + i * kNativeWidth<T>), left, right));
    return buffer.values;
  }

  // To the values in a buffer, or from there to a strip of y if that is not null.
  template <class Neurons>
  void add_tails(const T* beta, const T* s, const T* at, T* values, const Strip& strip, T* y) const {
    const Strip whole = in_buffer(strip);
    const Vec<T> left_slope = Neurons::at(beta, size), right_slope = Neurons::at(beta, size + 1);
    for (int64_t i = 0; i < strip.vectors; i += kParts) {
      const Vec<T> here = load<T>(s + i * kNativeWidth<T>), edge = load<T>(at + i * kNativeWidth<T>);
      Vec<T> result = load<T>(values + i * kNativeWidth<T>);
      if (any(differing(here, edge))) {  // they rarely do
        const Vec<T> beyond = here - edge;
        result = mul_add(beyond, by_sign(beyond, right_slope, left_slope), result);
      }
      if (y) {
        strip.rows<T>(i).put(y, result);
      } else {
        whole.rows<T>(i).put(values, result);
      }
    }
  }

  void add_gradients_of_tails(const T* s, const T* at, const T* upstream, T* gradients, const Strip& strip, T* dx,
                              T* sums) const {
    const Strip whole = in_buffer(strip);
    Vec<T> by_left = {}, by_right = {};
    for (int64_t i = 0; i < strip.vectors; i += kParts) {
      const Vec<T> here = load<T>(s + i * kNativeWidth<T>), edge = load<T>(at + i * kNativeWidth<T>);
      Vec<T> result = load<T>(gradients + i * kNativeWidth<T>);
      if (tails == Tails::kConstant) result = zero_where(differing(edge, here), result);
      if (tails == Tails::kLinear && any(differing(here, edge))) {
        const Vec<T> beyond = here - edge, moment = beyond * load<T>(upstream + i * kNativeWidth<T>);
        by_left = by_left + by_sign(beyond, Vec<T>{}, moment);
        by_right = by_right + by_sign(beyond, moment, Vec<T>{});
      }
      if (dx) {
        strip.rows<T>(i).put(dx, result);
      } else {
        whole.rows<T>(i).put(gradients, result);
      }
    }
    if (tails == Tails::kLinear) {
      add_to<T>(sums + size * kNativeWidth<T>, by_left);
      add_to<T>(sums + (size + 1) * kNativeWidth<T>, by_right);
    }
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
