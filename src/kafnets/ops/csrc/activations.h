// Some activations of one neuron, looked up in its table.
#pragma once

#include "table.h"

constexpr int64_t kChunk = 256;  // activations that are computed at a time, and summed up in floats

// Calls use(i, load, store) for vectors from i on: load(x) gives those of x and store(y, v) puts them into y. What is
// missing in the last one counts as 0 and is not stored.
template <class Use>
KAF_INLINE void for_vectors(int64_t begin, int64_t count, const Use& use) {
  int64_t i = begin;
  for (; i + kLanes <= count; i += kLanes) {
    use(i, [&](const float* x) { return load_as<Lanes>(x + i); }, [&](float* y, Lanes v) { store_as(y + i, v); });
  }
  if (i == count) return;
  const auto load = [&](const float* x) {
    float lanes[kLanes] = {};
    std::copy(x + i, x + count, lanes);
    return load_as<Lanes>(lanes);
  };
  const auto store = [&](float* y, Lanes v) {
    float lanes[kLanes];
    store_as(lanes, v);
    std::copy(lanes, lanes + (count - i), y + i);
  };
  use(i, load, store);
}

class Activations {
 public:
  explicit Activations(const TablePlan& plan) : plan_(plan) {}

  // Finds each one's cell, and how far from the cell's center it is. A NaN stays one, in the first cell.
  void locate(const float* x, int64_t count) {
    if (plan_.outside.tails == Tails::kConstant) {
      locate_by_cells<true>(x, count);
    } else {
      locate_by_cells<false>(x, count);
    }
  }

 private:
  // With kEdges no rounding may take an activation across the dictionary's ends, where the slope jumps.
  template <bool kEdges>
  void locate_by_cells(const float* x, int64_t count) {
    x_ = x;
    count_ = count;
    constexpr float kMagic = ExpConstants<float>::kMagic;
    const Lanes from = lanes_of(plan_.from), to = lanes_of(plan_.to), kink = lanes_of(plan_.kink);
    const Lanes lowest = lanes_of(plan_.lowest), highest = lanes_of(plan_.highest);
    const Lanes per_cell = lanes_of(plan_.per_cell), shift = lanes_of(plan_.minus_offset_in_cells);
    const Lanes minus_width = lanes_of(-plan_.width_high), rest_of_width = lanes_of(plan_.width_low);
    const Lanes offset = lanes_of(plan_.offset), scale = lanes_of(plan_.two_per_width);
    const Lanes left = lanes_of(static_cast<float>(plan_.left)), right = lanes_of(static_cast<float>(plan_.right));
    const Lanes first_inside = lowest + float(plan_.first_inside), last_inside = lowest + float(plan_.end_inside - 1);
    IntLanes beyond = {};
    for_vectors(0, count, [&](int64_t i, const auto& load, const auto&) __attribute__((always_inline)) {
      const Lanes given = load(x), s = greater_of(from, lesser_of(to, given));
      beyond |= (given < from) | (given > to);
      const Lanes rounded = (multiply_add(s, per_cell, shift) + kMagic) - kMagic;
      Lanes least = lowest, most = highest;
      if (kEdges) {
        const IntLanes below = s < left, above = s > right;
        least = below ? lowest : (above ? last_inside + 1.0f : first_inside);
        most = below ? first_inside - 1.0f : (above ? highest : last_inside);
      }
      const Lanes n = lesser_of(greater_of(rounded, least), most);
      const Lanes t = (multiply_add(n, minus_width, s) - multiply_add(n, rest_of_width, offset)) * scale;
      const IntLanes row = __builtin_convertvector(n - lowest, IntLanes) - (IntLanes)(s > kink);
      store_as(row_ + i, row * kPowers);
      store_as(t_ + i, t);
    });
    some_beyond_ = plan_.open && any(beyond);
  }

 public:
  void values(const Tables& tables, int64_t n, float* y) const {
    evaluate<kPowers>(tables, n, y, [](auto value, const auto&) { return value; });
    if (some_beyond_) values_beyond(tables, n, y);
  }

  // Of x. The tables are those of the derivatives.
  void gradients(const Tables& tables, int64_t n, const float* upstream, float* dx) const {
    evaluate<kPowers - 1>(tables, n, dx, [&](auto slope, const auto& load) { return slope * load(upstream); });
    if (some_beyond_) gradients_beyond(tables, n, upstream, dx);
  }

  // Adds upstream times the powers of t to the sums of each one's row. For neighbors in the same cell not to wait for each
  // other, even and odd lanes have sums of their own.
  void add_powers(const float* upstream, float* sums, double& by_weight) {
    if (some_beyond_) upstream = sums_beyond(upstream, sums, by_weight);
    const int odd = plan_.rows * kPowers;
    for_vectors(0, count_, [&](int64_t at, const auto& load, const auto&) __attribute__((always_inline)) {
      const Lanes u = load(upstream), t = load_as<Lanes>(t_ + at), t2 = t * t, t4 = t2 * t2, ut = u * t;
      Lanes low[4] = {u, ut, u * t2, ut * t2}, high[4];
      for (int j = 0; j < 4; ++j) high[j] = low[j] * t4;
      transpose(low);
      transpose(high);
      const int32_t* row = row_ + at;
      for (int i = 0; i < 4; ++i) {
        float* to = sums + row[i] + (i % 2) * odd;
#if defined(__AVX2__)
        store_as(to, load_as<Lanes>(to) + __builtin_shufflevector(low[i], high[i], 0, 1, 2, 3, 8, 9, 10, 11));
        to = sums + row[i + 4] + (i % 2) * odd;
        store_as(to, load_as<Lanes>(to) + __builtin_shufflevector(low[i], high[i], 4, 5, 6, 7, 12, 13, 14, 15));
#else
        store_as(to, load_as<Lanes>(to) + low[i]);
        store_as(to + 4, load_as<Lanes>(to + 4) + high[i]);
#endif
      }
    });
  }

 private:
  template <int kCount, class Finish>
  KAF_INLINE void evaluate(const Tables& tables, int64_t n, float* y, const Finish& finish) const {
#if defined(__AVX512F__)
    if (const float* near = tables.near(n)) {
      evaluate_near<kCount>(near, tables.of(n), y, finish);
      return;
    }
#endif
    evaluate_from_memory<kCount>(tables.of(n), y, finish, 0, count_);
  }

  template <int kCount, class Finish>
  KAF_INLINE void evaluate_from_memory(const float* table, float* y, const Finish& finish, int64_t begin,
                                       int64_t end) const {
    for_vectors(begin, end, [&](int64_t at, const auto& load, const auto& store) __attribute__((always_inline)) {
      const int32_t* row = row_ + at;
      const Lanes t = load_as<Lanes>(t_ + at);
      Lanes result = {};
      for (int half = kPowers - 4; half >= 0; half -= 4) {
        Lanes c[4];
        for (int i = 0; i < 4; ++i) c[i] = load_quads(table + row[i] + half, table + row[kLanes - 4 + i] + half);
        transpose(c);
        for (int j = 3; j >= 0; --j) {
          if (half + j < kCount) result = half + j == kCount - 1 ? c[j] : multiply_add(result, t, c[j]);
        }
      }
      store(y, finish(result, load));
    });
  }

#if defined(__AVX512F__)
  // The rows around the dictionary fit into registers, and nearly all activations are there.
  template <int kCount, class Finish>
  KAF_INLINE void evaluate_near(const float* near, const float* table, float* y, const Finish& finish) const {
    constexpr int kWide = 16, kNear = TablePlan::kNear;
    static_assert(kNear == 2 * kWide && kPowers == 8);
    __m512 low[kCount], high[kCount];
    for (int j = 0; j < kCount; ++j) {
      low[j] = _mm512_loadu_ps(near + j * kNear);
      high[j] = _mm512_loadu_ps(near + j * kNear + kWide);
    }
    const __m512i first = _mm512_set1_epi32(plan_.first_near), size = _mm512_set1_epi32(kNear);
    int64_t at = 0;
    for (; at + kWide <= count_; at += kWide) {
      const __m512i row = _mm512_sub_epi32(_mm512_srli_epi32(_mm512_load_si512(row_ + at), 3), first);
      if (_mm512_cmpge_epu32_mask(row, size)) {
        evaluate_from_memory<kCount>(table, y, finish, at, at + kWide);
        continue;
      }
      const __m512 t = _mm512_load_ps(t_ + at);
      __m512 result = _mm512_permutex2var_ps(low[kCount - 1], row, high[kCount - 1]);
      for (int j = kCount - 2; j >= 0; --j) {
        result = _mm512_fmadd_ps(result, t, _mm512_permutex2var_ps(low[j], row, high[j]));
      }
      store_as(y + at, finish((Native<float>)result, [&](const float* x) { return load_as<Native<float>>(x + at); }));
    }
    evaluate_from_memory<kCount>(table, y, finish, at, count_);
  }
#endif

  // Few activations lie beyond the table, so these may take their time. They call use(i, s, on the right, value and slope
  // of the base) for each.
  template <class Use>
  void for_those_beyond(const Use& use) const {
    for (int64_t i = 0; i < count_; ++i) {
      const float s = x_[i];
      if (!(s < plan_.from || s > plan_.to)) continue;
      const BaseAt base = base_at(plan_.outside.base, s);
      use(i, s, s > plan_.to, base.value, base.slope);
    }
  }

  __attribute__((noinline)) void values_beyond(const Tables& tables, int64_t n, float* y) const {
    for_those_beyond([&](int64_t i, float s, bool right, float base, float) {
      const Tables::Edge& edge = tables.edge(n, right);
      y[i] = combined(tables.weight(n), base, s);
      if (plan_.outside.tails != Tails::kZero) y[i] += edge.value;
      if (plan_.outside.tails == Tails::kLinear) {
        y[i] += static_cast<float>(edge.slope * (s - (right ? plan_.right : plan_.left)));
      }
    });
  }

  __attribute__((noinline)) void gradients_beyond(const Tables& tables, int64_t n, const float* upstream,
                                                  float* dx) const {
    for_those_beyond([&](int64_t i, float, bool right, float, float base_slope) {
      const float tail = plan_.outside.tails == Tails::kLinear ? tables.edge(n, right).slope : 0;
      dx[i] = upstream[i] * (tail + combined(tables.weight(n), base_slope, 1));
    });
  }

  // Returns what is left for the others.
  __attribute__((noinline)) const float* sums_beyond(const float* upstream, float* sums, double& by_weight) {
    std::copy(upstream, upstream + count_, rest_);
    for_those_beyond([&](int64_t i, float s, bool right, float base, float) {
      const int cell = right ? plan_.cells - 1 : 0;
      const int row = plan_.row_of(cell) * kPowers;
      const float t = static_cast<float>((s - plan_.center(cell)) * plan_.two_per_width);
      const float first = plan_.outside.tails == Tails::kZero ? 0 : upstream[i];
      const float second = plan_.outside.tails == Tails::kLinear ? upstream[i] * t : 0;
      sums[row] += first;
      sums[row + 1] += second;
      if (plan_.outside.weighted()) {
        // The sums will be counted for the weight as well, as if the base were a straight line from here on.
        const float* counted = plan_.values.by_weight.data() + row;
        by_weight += upstream[i] * (plan_.outside.form == BaseForm::kResidual ? base - s : base);
        by_weight -= double(first) * counted[0] + double(second) * counted[1];
      }
      rest_[i] = 0;
    });
    return rest_;
  }

  // A base's value, or slope, with that of a straight line.
  float combined(float weight, float base, float straight) const {
    switch (plan_.outside.form) {
      case BaseForm::kFixed:
        return base;
      case BaseForm::kWeighted:
        return weight * base;
      case BaseForm::kResidual:
        return (1 - weight) * straight + weight * base;
    }
    return 0;
  }

  const TablePlan& plan_;
  const float* x_ = nullptr;
  int64_t count_ = 0;
  bool some_beyond_ = false;
  alignas(64) float t_[kChunk], rest_[kChunk];
  alignas(64) int32_t row_[kChunk];  // where its row begins
};
