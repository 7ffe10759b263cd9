// A sum of Gaussians by table: each neuron's function as polynomials, made from its coefficients once and then looked up.
// The gradient of the coefficients is the transpose: each activation adds its powers to its cell's sums, and the cells'
// sums are taken back to the coefficients once. So the time for an activation does not depend on the dictionary.
#pragma once

#include "added_base.h"
#include "lanes.h"
#include "table_plan.h"

// The coefficients of one polynomial.
struct Row {
  static constexpr int kParts = kPowers / kLanes;
  Lanes part[kParts] = {};

  KAF_INLINE static Row load(const float* from) {
    Row row;
    for (int i = 0; i < kParts; ++i) row.part[i] = load_as<Lanes>(from + i * kLanes);
    return row;
  }

  KAF_INLINE void store(float* to) const {
    for (int i = 0; i < kParts; ++i) store_as(to + i * kLanes, part[i]);
  }

  KAF_INLINE void add(const Row& row, Lanes factor) {
    for (int i = 0; i < kParts; ++i) part[i] = multiply_add(row.part[i], factor, part[i]);
  }

  KAF_INLINE void add_products(const Row& a, const Row& b) {
    for (int i = 0; i < kParts; ++i) part[i] = multiply_add(a.part[i], b.part[i], part[i]);
  }
};

// The sums over each of four.
KAF_INLINE Quad sums_of(const Row (&rows)[4]) {
  Lanes v[4];
  for (int i = 0; i < 4; ++i) {
    v[i] = rows[i].part[0];
    for (int part = 1; part < Row::kParts; ++part) v[i] += rows[i].part[part];
  }
  transpose(v);
  const Lanes all = (v[0] + v[1]) + (v[2] + v[3]);
#if defined(__AVX2__)
  return __builtin_shufflevector(all, all, 0, 1, 2, 3) + __builtin_shufflevector(all, all, 4, 5, 6, 7);
#else
  return all;
#endif
}

// The functions of neighboring neurons.
class Tables {
 public:
  struct Edge {
    float value, slope;
  };

  Tables(const TablePlan& plan, int64_t most)
      : plan_(plan),
        rows_(most * plan.rows * kPowers),
        near_(kLooksUpInRegisters && plan.first_near >= 0 ? most * TablePlan::kNear * kPowers : 0),
        edges_(2 * most),
        weights_(most) {}

  const float* of(int64_t n) const { return rows_.data() + n * plan_.rows * kPowers; }
  // The rows around the dictionary, coefficient by coefficient; null where nobody asks for them.
  const float* near(int64_t n) const { return near_.empty() ? nullptr : near_.data() + n * TablePlan::kNear * kPowers; }
  const Edge& edge(int64_t n, bool right) const { return edges_[2 * n + right]; }
  float weight(int64_t n) const { return weights_[n]; }

  // From the neurons' coefficients; of functions or of their derivatives.
  void make(const TablePlan::Polynomials& polynomials, bool derivatives, const float* coefficients, int64_t count) {
    for (int64_t n = 0; n < count; ++n) {
      const float* own = coefficients + n * plan_.size;
      weights_[n] = plan_.outside.weighted() ? own[plan_.elements] : 0;
      if (plan_.outside.tails != Tails::kZero) find_edges(n, own, derivatives);
    }
    for (int64_t n = 0; n < count; n += 4) {
      const float* four[4];
      float* to[4];
      for (int i = 0; i < 4; ++i) {
        four[i] = coefficients + std::min(n + i, count - 1) * plan_.size;
        to[i] = rows_.data() + std::min(n + i, count - 1) * plan_.rows * kPowers;
      }
      sum_kernels(polynomials.kernel.data(), four, to);
    }
    if (plan_.outside.base != Base::kNone) {
      for (int64_t n = 0; n < count; ++n) add_base(polynomials, n);
    }
    for (int64_t n = 0; !near_.empty() && n < count; ++n) take_near(n);
  }

 private:
  void take_near(int64_t n) {
    static_assert(kPowers == 8);
    const int count = std::min(TablePlan::kNear, plan_.rows);
    const float* from = of(n) + plan_.first_near * kPowers;
    float* to = near_.data() + n * TablePlan::kNear * kPowers;
    for (int row = 0; row < count; row += 4) {
      for (int half = 0; half < kPowers; half += kLanes) {
        Lanes v[4];
        for (int i = 0; i < 4; ++i) v[i] = load_as<Lanes>(from + std::min(row + i, count - 1) * kPowers + half);
        transpose(v);
        for (int i = 0; i < 4; ++i) {
          float* low = to + (half + i) * TablePlan::kNear + row;
          store_quads(low, low + 4 * TablePlan::kNear, v[i]);
        }
      }
    }
  }

  void find_edges(int64_t n, const float* alpha, bool derivatives) {
    const TablePlan& p = plan_;
    const bool linear = p.outside.tails == Tails::kLinear;
    for (int side = 0; side < 2; ++side) {
      double value = 0, slope = 0;
      for (int k = 0; k < p.elements; ++k) {
        value += alpha[k] * p.edge_values[side][k];
        if (linear) slope += alpha[k] * p.edge_slopes[side][k];
      }
      edges_[2 * n + side] = {static_cast<float>(value), static_cast<float>(slope)};
      for (int cell = side ? p.end_inside : 0; cell < (side ? p.cells : p.first_inside); ++cell) {
        Row row;
        row.part[0][0] = static_cast<float>(derivatives ? slope : value + slope * p.beyond(cell, side));
        if (!derivatives) row.part[0][1] = static_cast<float>(slope * 0.5 * p.width);
        put(cell, row, rows_.data() + n * p.rows * kPowers);
      }
    }
  }

  // To the one row of a cell, or to both.
  KAF_INLINE void put(int cell, const Row& row, float* rows) const {
    row.store(rows + plan_.row_of(cell) * kPowers);
    if (cell == plan_.kink_row) row.store(rows + (cell + 1) * kPowers);
  }

  // Of four neurons, two cells at a time: so the processor finds enough to do at once.
  void sum_kernels(const float* kernel, const float* const (&alpha)[4], float* const (&to)[4]) const {
    const TablePlan& p = plan_;
    for (int cell = p.first_inside; cell < p.end_inside; cell += 2) {
      const int last = std::min(cell + 1, p.end_inside - 1), end = p.end[last];
      Row first[4], second[4];
      for (int k = p.begin[cell]; k < end; ++k) {
        const float* at = kernel + (cell - p.first_element - k * p.per_spacing + p.reach + p.padding) * kPowers;
        const Row here = Row::load(at), next = Row::load(at + kPowers);
        for (int i = 0; i < 4; ++i) {
          const Lanes factor = lanes_of(alpha[i][k]);
          first[i].add(here, factor);
          second[i].add(next, factor);
        }
      }
      for (int i = 0; i < 4; ++i) {
        put(cell, first[i], to[i]);
        if (last > cell) put(last, second[i], to[i]);
      }
    }
    if (p.outside.tails != Tails::kZero) return;
    for (int i = 0; i < 4; ++i) {
      put(0, Row{}, to[i]);
      put(p.cells - 1, Row{}, to[i]);
    }
  }

  void add_base(const TablePlan::Polynomials& polynomials, int64_t n) {
    const Lanes weight = lanes_of(weights_[n]);
    for (int row = 0; row < plan_.rows; ++row) {
      float* at = rows_.data() + (n * plan_.rows + row) * kPowers;
      Row sum = Row::load(at);
      if (!polynomials.fixed.empty()) sum.add(Row::load(polynomials.fixed.data() + row * kPowers), lanes_of(1));
      if (!polynomials.by_weight.empty()) sum.add(Row::load(polynomials.by_weight.data() + row * kPowers), weight);
      sum.store(at);
    }
  }

  const TablePlan& plan_;
  Array<float> rows_, near_;
  std::vector<Edge> edges_;
  std::vector<float> weights_;
};

// The way back: from the sums of a neuron's rows, and what those outside add to its weight, to the gradients of its
// coefficients.
inline void gradients_from_sums(const TablePlan& p, const float* sums, double by_weight, float* dcoefficients) {
  Array<float> folded(p.rows > p.cells ? p.cells * kPowers : 0);
  const float* by_cell = sums;
  if (p.outside.weighted()) {
    Row products[4];
    for (int row = 0; row < p.rows; ++row) {
      products[0].add_products(Row::load(sums + row * kPowers), Row::load(p.values.by_weight.data() + row * kPowers));
    }
    dcoefficients[p.elements] = static_cast<float>(by_weight + sums_of(products)[0]);
  }
  if (p.rows > p.cells) {
    for (int i = 0; i < p.rows * kPowers; ++i) folded[p.cell_of(i / kPowers) * kPowers + i % kPowers] += sums[i];
    by_cell = folded.data();
  }
  // Activations that were NaN are in one of these cells, and make all gradients NaN.
  const float nothing = by_cell[1] * 0 + by_cell[p.first_inside * kPowers + 1] * 0;
  double values[2] = {}, slopes[2] = {};  // of what lies outside, at the dictionary's ends
  if (p.outside.tails != Tails::kZero) {
    for (int side = 0; side < 2; ++side) {
      for (int cell = side ? p.end_inside : 0; cell < (side ? p.cells : p.first_inside); ++cell) {
        const float* own = by_cell + cell * kPowers;
        values[side] += own[0];
        slopes[side] += own[0] * p.beyond(cell, side) + own[1] * 0.5 * p.width;
      }
    }
  }
  for (int k = 0; k < p.elements; k += 4) {
    const int start = p.first_element + k * p.per_spacing - p.reach, stop = start + 2 * p.reach + 3 * p.per_spacing;
    const int begin = std::max(start, p.first_inside), end = std::min(stop, p.end_inside);
    Row total[4], other[4];  // even and odd cells: so the processor finds enough to do at once
    const auto add = [&](int cell, Row(&rows)[4]) __attribute__((always_inline)) {
      const Row own = Row::load(by_cell + cell * kPowers);
      const float* at = p.values.kernel.data() + (cell - start + p.padding) * kPowers;
      for (int i = 0; i < 4; ++i) rows[i].add_products(own, Row::load(at - i * p.per_spacing * kPowers));
    };
    for (int cell = begin; cell + 1 < end; cell += 2) {
      add(cell, total);
      add(cell + 1, other);
    }
    if ((end - begin) % 2 > 0) add(end - 1, total);
    for (int i = 0; i < 4; ++i) total[i].add(other[i], lanes_of(1));
    const Quad result = sums_of(total) + nothing;
    for (int i = 0; i < std::min(4, p.elements - k); ++i) {
      double sum = result[i];
      for (int side = 0; side < 2 && p.outside.tails != Tails::kZero; ++side) {
        sum += values[side] * p.edge_values[side][k + i];
        if (p.outside.tails == Tails::kLinear) sum += slopes[side] * p.edge_slopes[side][k + i];
      }
      dcoefficients[k + i] = static_cast<float>(sum);
    }
  }
}
