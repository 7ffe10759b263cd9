// Derivatives of sums of Gaussians by the activation, of any order from 1 on.
//
// With t = s - d, the n-th derivative of exp(-gamma t^2) is q_n(t) exp(-gamma t^2), where q_0 = 1, q_1 = -2 gamma t and
//
//   q_{n+1} = -2 gamma (t q_n + n q_{n-1}).
#pragma once

#include "bandwidths.h"
#include "kaf1d.h"

// q_n and those before it, 0 before q_0. The recurrence is linear, so that its two factors, -2 gamma t and -2 gamma, may
// be scaled: by 1 / sqrt(gamma) and 1 / gamma they give q_n / sqrt(gamma)^n, which no gamma makes large.
template <class T>
struct Polynomials {
  Vec<T> last, before, two_before, three_before;

  KAF_INLINE Polynomials(int n, Vec<T> by_place, Vec<T> by_order)
      : last(by_place), before(splat<T>(1)), two_before{}, three_before{} {
    for (int i = 1; i < n; ++i) {
      const Vec<T> next = mul_add(by_place, last, by_order * T(i) * before);
      three_before = two_before;
      two_before = before;
      before = last;
      last = next;
    }
  }
};

// Settings: where the dictionary begins, its spacing, and gamma; the tails; the order. The coefficients are alpha.
template <class T>
struct GaussianSlopes : NothingMore<T> {
  explicit GaussianSlopes(const Settings& s)
      : size(static_cast<int>(s.size)),
        order(static_cast<int>(s.fifth)),
        tails(static_cast<Tails>(static_cast<int>(s.fourth))),
        plan(plan_for<Plan<T>>({s.size, s.first, s.second, s.third, 0, 0})),
        left(static_cast<T>(s.first)),
        right(static_cast<T>(s.first + (s.size - 1) * s.second)),
        root(static_cast<T>(std::sqrt(s.third))),
        scale(static_cast<T>(std::pow(std::sqrt(s.third), order))),
        by_distance(static_cast<T>(-2 * std::sqrt(s.third))),
        elements({s.size + 1, s.first, s.second, 0, 0, 0}) {}

  T weight(int64_t k) const { return plan.weights[k] * scale; }
  int terms() const { return size; }

  template <class Neurons>
  KAF_INLINE Vec<T> value(const T* beta, Vec<T> s) const {
    const Vec<T> at = inside(s);
    Vec<T> result = {};
    for_terms(at, splat<T>(1), order, [&](int k, Vec<T> term, const Polynomials<T>& q) __attribute__((always_inline)) {
      result = mul_add(Neurons::at(beta, k) * term, q.last, result);
    });
    return vanishes() ? zero_where(differing(at, s), result) : result;
  }

  template <class Neurons>
  KAF_INLINE Vec<T> gradients(const T* beta, Vec<T> s, Vec<T> upstream, T* sums) const {
    const Vec<T> at = inside(s), u = vanishes() ? zero_where(differing(at, s), upstream) : upstream;
    Vec<T> result = {};
    for_terms(at, u, order + 1, [&](int k, Vec<T> term, const Polynomials<T>& q) __attribute__((always_inline)) {
      result = mul_add(Neurons::at(beta, k) * term, q.last, result);
      add_to<T>(sums + k * kNativeWidth<T>, term * q.before);
    });
    return (tails == Tails::kZero ? result : zero_where(differing(at, s), result)) * root;
  }

 private:
  // Calls use(k, start times the k-th Gaussian without its weight, the polynomials there up to the n-th).
  template <class Use>
  KAF_INLINE void for_terms(Vec<T> at, Vec<T> start, int n, const Use& use) const {
    for_segments(plan, at, [&](const Segment<T>& segment, const Terms<T>& t, bool vanished) __attribute__((always_inline)) {
      if (vanished) return;
      // From the element itself, to all digits, and finite where nothing is left.
      const Vec<T> near = by_sign(t.envelope, at, splat<T>(segment.center));
      const auto give = [&](int k, Vec<T> term) __attribute__((always_inline)) {
        use(k, term, Polynomials<T>(n, elements.distance(near, k) * by_distance, splat<T>(-2)));
      };
      const int center = segment.begin + segment.below;
      Vec<T> above = start * t.envelope, below = above;
      give(center, above);
      for (int m = 1; m <= segment.above; ++m) {  // both at once, so that the processor has two things to do
        give(center + m, above = above * t.up);
        give(center - m, below = below * t.down);
      }
      if (segment.above < segment.below) give(segment.begin, below * t.down);
    });
  }

  // Linear tails have the edge's slope, and nothing beyond; constant ones not even that.
  KAF_INLINE Vec<T> inside(Vec<T> s) const { return tails == Tails::kZero ? s : clamp(s, left, right); }
  KAF_INLINE bool vanishes() const {
    return tails == Tails::kConstant || (tails == Tails::kLinear && order > 1);
  }

 public:
  const int size, order;

 private:
  const Tails tails;
  const Plan<T>& plan;
  const T left, right, root, scale, by_distance;
  const GaussianSumByBandwidth<T> elements;
};

// Settings: where the dictionary begins, its spacing, and last the order. The last coefficient is the bandwidth.
template <class T>
struct GaussianSlopesByBandwidth : GaussianSumByBandwidth<T> {
  using Base = GaussianSumByBandwidth<T>;
  using Base::elements, Base::distance, Base::term, Base::within_range;

  explicit GaussianSlopesByBandwidth(const Settings& s) : Base(s), order(static_cast<int>(s.fifth)) {}

  template <class Neurons>
  KAF_INLINE Vec<T> value(const T* table, Vec<T> s) const {
    Vec<T> result = {};
    const Vec<T> gamma = Neurons::at(table, elements), near = within_range(s);
    for (int k = 0; k < elements; ++k) {
      const Vec<T> away = distance(near, k), own = term(gamma, away), t = where_any_is_left(own, away);
      result = mul_add(Neurons::at(table, k) * own, at(order, gamma, t).last, result);
    }
    return result;
  }

  // The derivative of the n-th one by gamma is minus the n-th derivative of t^2 times the Gaussian.
  template <class Neurons>
  KAF_INLINE Vec<T> gradients(const T* table, Vec<T> s, Vec<T> upstream, T* sums) const {
    const Vec<T> gamma = Neurons::at(table, elements), near = within_range(s);
    Vec<T> result = {}, by_gamma = {};
    for (int k = 0; k < elements; ++k) {
      const Vec<T> away = distance(near, k), left = term(gamma, away), t = where_any_is_left(left, away);
      const Vec<T> own = upstream * left, weighted = Neurons::at(table, k) * own;
      const Polynomials<T> q = at(order + 1, gamma, t);
      result = mul_add(weighted, q.last, result);
      add_to<T>(sums + k * kNativeWidth<T>, own * q.before);
      const Vec<T> lower = mul_add(t * T(2 * order), q.two_before, q.three_before * T(order * (order - 1)));
      by_gamma = mul_add(weighted, mul_add(t * t, q.before, lower), by_gamma);
    }
    add_to<T>(sums + elements * kNativeWidth<T>, -by_gamma);
    return result;
  }

 private:
  KAF_INLINE static Polynomials<T> at(int n, Vec<T> gamma, Vec<T> t) {
    const Vec<T> by_order = gamma * T(-2);
    return Polynomials<T>(n, by_order * t, by_order);
  }

  // So that no power overflows where it would be multiplied by 0.
  KAF_INLINE static Vec<T> where_any_is_left(Vec<T> term, Vec<T> t) { return by_sign(term, t, Vec<T>{}); }

  const int order;
};

template <class T>
using KafSlopes = ByNeuron<T, GaussianSlopes>;
template <class T>
using KafSlopesByBandwidth = ByNeuron<T, GaussianSlopesByBandwidth>;
