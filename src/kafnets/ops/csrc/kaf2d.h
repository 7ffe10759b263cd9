// The two-dimensional expansion. The Gaussian separates: two lists of kernel values, one an axis, and a
// bilinear form in the coefficients.
#pragma once

#include <type_traits>
#include <utility>

#include "layout.h"
#include "parallel.h"
#include "terms.h"

// Kernel values (element, lane) at s and, if wanted, their derivatives without the factor 2 a / spacing.
template <class T, bool kSlopes>
KAF_INLINE void kernel_values(const Plan<T>& plan, Vec<T> s, T* values, T* slopes) {
  for_segments(plan, s, [&](const Segment<T>& segment, const Terms<T>& t, bool vanished) __attribute__((always_inline)) {
    const int center = segment.begin + segment.below, end = center + segment.above + 1;
    const auto put = [&](int k, Vec<T> term) __attribute__((always_inline)) {
      const Vec<T> kernel = term * plan.weights[k];
      store<T>(values + k * kWidth<T>, kernel);
      if (kSlopes) store<T>(slopes + k * kWidth<T>, kernel * (plan.places[k] - t.z));
    };
    if (vanished) {
      for (int k = segment.begin; k < end; ++k) {
        store<T>(values + k * kWidth<T>, Vec<T>{});
        if (kSlopes) store<T>(slopes + k * kWidth<T>, Vec<T>{});
      }
      return;
    }
    Vec<T> term = t.envelope;
    put(center, term);
    for (int k = center + 1; k < end; ++k) put(k, term = term * t.up);
    term = t.envelope;
    for (int k = center - 1; k >= segment.begin; --k) put(k, term = term * t.down);
  });
}

template <class T>
struct Pair {
  Vec<T> first, second;
};

// Values that alternate in memory, taken apart and put together.
template <class T, int... I>
KAF_INLINE void take_apart(const T* from, Native<T>& first, Native<T>& second, std::integer_sequence<int, I...>) {
  Native<T> low, high;
  std::memcpy(&low, from, sizeof low);
  std::memcpy(&high, from + kNativeWidth<T>, sizeof high);
  first = __builtin_shufflevector(low, high, (2 * I)...);
  second = __builtin_shufflevector(low, high, (2 * I + 1)...);
}

template <class T, int... I>
KAF_INLINE void put_together(T* to, Native<T> first, Native<T> second, std::integer_sequence<int, I...>) {
  constexpr int kLanes = kNativeWidth<T>;
  const Native<T> low = __builtin_shufflevector(first, second, (I / 2 + (I % 2) * kLanes)...);
  const Native<T> high = __builtin_shufflevector(first, second, ((kLanes + I) / 2 + (I % 2) * kLanes)...);
  std::memcpy(to, &low, sizeof low);
  std::memcpy(to + kLanes, &high, sizeof high);
}

template <class T>
using LaneNumbers = std::make_integer_sequence<int, kNativeWidth<T>>;

template <class T>
KAF_INLINE Pair<T> get_pairs(const Rows& rows, const T* x) {
  Pair<T> result = {};
  for (int i = 0; i < kParts; ++i) {
    const T* from = x + 2 * (rows.at + i * rows.step);
    T lanes[2 * kNativeWidth<T>] = {};
    if (!rows.whole) {
      if (i < rows.rows) std::memcpy(lanes, from, sizeof(T) * 2 * rows.count);
      from = lanes;
    } else {
      __builtin_prefetch(from + 2 * rows.ahead);
      __builtin_prefetch(from + 2 * rows.ahead + kNativeWidth<T>);
    }
    take_apart<T>(from, result.first.part[i], result.second.part[i], LaneNumbers<T>());
  }
  return result;
}

template <class T>
KAF_INLINE void put_pairs(const Rows& rows, T* y, Pair<T> pair) {
  for (int i = 0; i < kParts; ++i) {
    T* to = y + 2 * (rows.at + i * rows.step);
    T lanes[2 * kNativeWidth<T>];
    put_together<T>(rows.whole ? to : lanes, pair.first.part[i], pair.second.part[i], LaneNumbers<T>());
    if (!rows.whole && i < rows.rows) std::memcpy(to, lanes, sizeof(T) * 2 * rows.count);
  }
}

// Input as (batch, 2 * pairs, positions), output as (batch, pairs, positions), contiguous.
template <class T>
class Kaf2d {
 public:
  Kaf2d(const Settings& settings, int64_t batch, int64_t pairs, int64_t positions, int threads)
      : plan_(plan_for<Plan<T>>(settings)),
        terms_(settings.size * settings.size),
        batch_(batch),
        pairs_(pairs),
        positions_(positions),
        threads_(threads) {}

  void forward(const T* x, const T* alpha, T* y) const {
    if (lanes_over_pairs()) {
      const Array<T> packed = by_block(alpha);
      parallel_for(batch_, threads_, [&](int, int64_t begin, int64_t end) {
        Scratch scratch(plan_.size);
        for_blocks<T>(begin, end, pairs_, [&](int64_t block, const Rows& rows) __attribute__((always_inline)) {
          const T* own = packed.data() + block * kNativeWidth<T> * terms_;
          rows.put_ahead(y, value<OwnNeurons<T>>(own, get_pairs(rows, x), scratch));
        });
      });
      return;
    }
    parallel_for(pairs_, threads_, [&](int, int64_t begin, int64_t end) {
      Scratch scratch(plan_.size);
      for (int64_t p = begin; p < end; ++p) {
        Runs<T> from = runs(2 * pairs_), to = runs(pairs_);
        for (; !from.done(); from.next(), to.next()) {
          const Pair<T> s = pair_at(from, x, p);
          to.put(y + p * positions_, value<OneNeuron<T>>(alpha + p * terms_, s, scratch));
        }
      }
    });
  }

  // dx and dalpha may be null where they are not wanted.
  void backward(const T* x, const T* alpha, const T* upstream, T* dx, T* dalpha) const {
    if (lanes_over_pairs()) {
      backward_over_pairs(x, alpha, upstream, dx, dalpha);
    } else {
      backward_over_positions(x, alpha, upstream, dx, dalpha);
    }
  }

 private:
  struct Scratch {
    explicit Scratch(int size)
        : memory(4 * size * kWidth<T>),
          values1(memory.data()),
          values2(values1 + size * kWidth<T>),
          slopes1(values2 + size * kWidth<T>),
          slopes2(slopes1 + size * kWidth<T>) {}
    Array<T> memory;
    T *values1, *values2, *slopes1, *slopes2;
  };

  // Rows of coefficients that share what is loaded of the other axis: as many as there are registers for.
  static constexpr int kRowsOfValues = 5;
#if defined(__AVX512F__)
  static constexpr int kRowsOfGradients = 2;
#else
  static constexpr int kRowsOfGradients = 1;
#endif

  bool lanes_over_pairs() const { return positions_ == 1 && 2 * pairs_ >= kNativeWidth<T>; }

  Runs<T> runs(int64_t channels) const { return Runs<T>(0, batch_ * positions_, positions_, channels * positions_); }

  Pair<T> pair_at(const Runs<T>& from, const T* x, int64_t p) const {
    return {from.get(x + 2 * p * positions_), from.get(x + (2 * p + 1) * positions_)};
  }

  Array<T> by_block(const T* alpha) const {
    return pack(alpha, pairs_, terms_, terms_, [](int64_t) { return T(1); }, [](const T*, int64_t) { return T(0); });
  }

  template <class Neurons>
  Vec<T> value(const T* alpha, Pair<T> s, Scratch& scratch) const {
    kernel_values<T, false>(plan_, s.first, scratch.values1, nullptr);
    kernel_values<T, false>(plan_, s.second, scratch.values2, nullptr);
    const int64_t size = plan_.size;
    const T *values1 = scratch.values1, *values2 = scratch.values2;
    Vec<T> result = {};
    const auto add_rows = [&](int64_t i, auto count) __attribute__((always_inline)) {
      Vec<T> rows[count.value] = {};
      for (int64_t j = 0; j < size; ++j) {
        const Vec<T> value2 = load<T>(values2 + j * kWidth<T>);
        for (int r = 0; r < count.value; ++r) {
          rows[r] = mul_add(Neurons::at(alpha, (i + r) * size + j), value2, rows[r]);
        }
      }
      for (int r = 0; r < count.value; ++r) {
        result = mul_add(load<T>(values1 + (i + r) * kWidth<T>), rows[r], result);
      }
    };
    int64_t i = 0;
    for (; i + kRowsOfValues <= size; i += kRowsOfValues) add_rows(i, std::integral_constant<int, kRowsOfValues>{});
    for (; i < size; ++i) add_rows(i, std::integral_constant<int, 1>{});
    return result;
  }

  template <class Neurons>
  Pair<T> gradients(const T* alpha, Pair<T> s, Vec<T> upstream, T* sums, Scratch& scratch) const {
    kernel_values<T, true>(plan_, s.first, scratch.values1, scratch.slopes1);
    kernel_values<T, true>(plan_, s.second, scratch.values2, scratch.slopes2);
    // Copies that no store can change, as far as the compiler knows.
    const int64_t size = plan_.size;
    const T *values1 = scratch.values1, *values2 = scratch.values2, *slopes1 = scratch.slopes1,
            *slopes2 = scratch.slopes2;
    Pair<T> result = {};
    const auto add_rows = [&](int64_t i, auto count) __attribute__((always_inline)) {
      Vec<T> weighted[count.value], rows[count.value] = {}, row_slopes[count.value] = {};
      for (int r = 0; r < count.value; ++r) weighted[r] = upstream * load<T>(values1 + (i + r) * kWidth<T>);
      for (int64_t j = 0; j < size; ++j) {
        const Vec<T> value2 = load<T>(values2 + j * kWidth<T>), slope2 = load<T>(slopes2 + j * kWidth<T>);
        for (int r = 0; r < count.value; ++r) {
          const int64_t term = (i + r) * size + j;
          const Vec<T> coefficient = Neurons::at(alpha, term);
          rows[r] = mul_add(coefficient, value2, rows[r]);
          row_slopes[r] = mul_add(coefficient, slope2, row_slopes[r]);
          add_products_to<T>(sums + term * kNativeWidth<T>, weighted[r], value2);
        }
      }
      for (int r = 0; r < count.value; ++r) {
        result.first = mul_add(load<T>(slopes1 + (i + r) * kWidth<T>), rows[r], result.first);
        result.second = mul_add(load<T>(values1 + (i + r) * kWidth<T>), row_slopes[r], result.second);
      }
    };
    int64_t i = 0;
    for (; i + kRowsOfGradients <= size; i += kRowsOfGradients) {
      add_rows(i, std::integral_constant<int, kRowsOfGradients>{});
    }
    for (; i < size; ++i) add_rows(i, std::integral_constant<int, 1>{});
    const Vec<T> factor = upstream * plan_.slope;
    return {result.first * factor, result.second * factor};
  }

  void backward_over_pairs(const T* x, const T* alpha, const T* upstream, T* dx, T* dalpha) const {
    const Array<T> packed = by_block(alpha);
    const auto add_rows = [&](int64_t begin, int64_t end, T* sums) {
      Scratch scratch(plan_.size);
      for_blocks<T>(begin, end, pairs_, [&](int64_t block, const Rows& rows) __attribute__((always_inline)) {
        const int64_t own = block * kNativeWidth<T> * terms_;
        const Pair<T> d = gradients<OwnNeurons<T>>(packed.data() + own, get_pairs(rows, x),
                                                                   rows.get_ahead(upstream), sums + own, scratch);
        if (dx) put_pairs(rows, dx, d);
      });
    };
    const auto finish = [&](int64_t p, const auto& at) {
      for (int64_t k = 0; dalpha && k < terms_; ++k) dalpha[p * terms_ + k] = static_cast<T>(at(k));
    };
    sum_over_rows<T>(batch_, pairs_, terms_, threads_, add_rows, finish);
  }

  void backward_over_positions(const T* x, const T* alpha, const T* upstream, T* dx, T* dalpha) const {
    parallel_for(pairs_, threads_, [&](int, int64_t begin, int64_t end) {
      Scratch scratch(plan_.size);
      Array<T> sums(terms_ * kNativeWidth<T>);
      std::vector<double> totals(terms_);
      for (int64_t p = begin; p < end; ++p) {
        std::fill(totals.begin(), totals.end(), 0.0);
        int vectors = 0;
        Runs<T> from = runs(2 * pairs_), to = runs(pairs_);
        for (; !from.done(); from.next(), to.next()) {
          const Pair<T> d = gradients<OneNeuron<T>>(
              alpha + p * terms_, pair_at(from, x, p), to.get(upstream + p * positions_), sums.data(), scratch);
          if (dx) {
            from.put(dx + 2 * p * positions_, d.first);
            from.put(dx + (2 * p + 1) * positions_, d.second);
          }
          if (++vectors % kSumLength == 0) add_lanes_and_clear(totals.data(), sums.data(), terms_);
        }
        add_lanes_and_clear(totals.data(), sums.data(), terms_);
        for (int64_t k = 0; dalpha && k < terms_; ++k) dalpha[p * terms_ + k] = static_cast<T>(totals[k]);
      }
    });
  }

  const Plan<T>& plan_;
  const int64_t terms_, batch_, pairs_, positions_;
  const int threads_;
};
