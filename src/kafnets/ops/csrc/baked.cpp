// Functions that no longer change, by table: for each neuron a polynomial per cell, all cells being equally wide. The
// first and the last cell reach to infinity. See ops/baked.py, which has the same formula in torch's operators.
#include <algorithm>
#include <cmath>

#include "entry.h"
#include "lanes.h"
#include "layout.h"
#include "parallel.h"

namespace {

constexpr int64_t kRowsAtOnce = 128, kBlock = 64;  // of neighboring neurons: measured
constexpr int64_t kFewest = 16;                    // activations that are worth vectors
constexpr int kInRegisters = 32;                   // cells whose coefficients of one power are two vectors of AVX-512

struct Grid {
  Grid(const Settings& s)
      : powers(static_cast<int>(s.third)),
        cells(static_cast<int>(s.size / powers)),
        first(static_cast<float>(s.first)),
        last(static_cast<float>(s.first + cells - 1)),
        center(static_cast<float>(s.fourth)),
        per_cell(static_cast<float>(1 / s.second)),
        scale(static_cast<float>(2 / s.second)) {
    const double unit = std::ldexp(1.0, std::ilogb(s.second) - 11);  // n * high is exact for n up to 4096
    high = static_cast<float>(std::nearbyint(s.second / unit) * unit);
    low = static_cast<float>(s.second - high);
  }

  const int powers, cells;
  const float first, last, center, per_cell, scale;
  float high, low;
  static constexpr float kFarthest = 1e30f;  // an infinite one would meet slopes of 0
};

// One activation, in double precision or where there are few.
template <class T>
T look_up(const Grid& grid, const T* table, T s) {
  if (std::isnan(s)) return s;
  s = std::min<T>(std::max<T>(s, -Grid::kFarthest), Grid::kFarthest);
  const T n = std::min<T>(std::max<T>(std::nearbyint((s - grid.center) * grid.per_cell), grid.first), grid.last);
  const T t = ((s - n * grid.high) - (n * grid.low + grid.center)) * grid.scale;
  const T* column = table + static_cast<int64_t>(n - grid.first);
  T result = column[(grid.powers - 1) * grid.cells];
  for (int k = grid.powers - 2; k >= 0; --k) result = result * t + column[k * grid.cells];
  return result;
}

#if defined(__AVX512F__)
// Those of one power are two registers, from which a shuffle looks them up.
template <int kPowers>
void evaluate_in_registers(const Grid& grid, const float* table, const float* x, float* y, int64_t count) {
  __m512 low[kPowers], high[kPowers];
  const unsigned there = static_cast<unsigned>((uint64_t{1} << grid.cells) - 1);
  for (int k = 0; k < kPowers; ++k) {
    low[k] = _mm512_maskz_loadu_ps(static_cast<__mmask16>(there), table + k * grid.cells);
    high[k] = _mm512_maskz_loadu_ps(static_cast<__mmask16>(there >> 16), table + k * grid.cells + 16);
  }
  const __m512 farthest = _mm512_set1_ps(Grid::kFarthest), nearest = _mm512_set1_ps(-Grid::kFarthest);
  const __m512 center = _mm512_set1_ps(grid.center), per_cell = _mm512_set1_ps(grid.per_cell);
  const __m512 first = _mm512_set1_ps(grid.first), last = _mm512_set1_ps(grid.last);
  const __m512 width_high = _mm512_set1_ps(grid.high), width_low = _mm512_set1_ps(grid.low);
  const __m512 scale = _mm512_set1_ps(grid.scale);
  for (int64_t i = 0; i < count; i += 16) {
    const __mmask16 mask = static_cast<__mmask16>(count - i >= 16 ? 0xffff : (1u << (count - i)) - 1);
    // The second operand is kept where the first is NaN; so n is a number and t is not.
    const __m512 s = _mm512_max_ps(nearest, _mm512_min_ps(farthest, _mm512_maskz_loadu_ps(mask, x + i)));
    const __m512 place = _mm512_mul_ps(_mm512_sub_ps(s, center), per_cell);
    const __m512 n = _mm512_min_ps(_mm512_max_ps(_mm512_roundscale_ps(place, 8), first), last);
    const __m512 t = _mm512_mul_ps(
        _mm512_sub_ps(_mm512_fnmadd_ps(n, width_high, s), _mm512_fmadd_ps(n, width_low, center)), scale);
    const __m512i cell = _mm512_cvtps_epi32(_mm512_sub_ps(n, first));
    __m512 result = _mm512_permutex2var_ps(low[kPowers - 1], cell, high[kPowers - 1]);
    for (int k = kPowers - 2; k >= 0; --k) {
      result = _mm512_fmadd_ps(result, t, _mm512_permutex2var_ps(low[k], cell, high[k]));
    }
    _mm512_mask_storeu_ps(y + i, mask, result);
  }
}

// 16 rows of 16.
KAF_INLINE void transpose_sixteen(__m512 (&v)[16]) {
  __m512 w[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; i += 2) {
    w[i] = _mm512_unpacklo_ps(v[i], v[i + 1]);
    w[i + 1] = _mm512_unpackhi_ps(v[i], v[i + 1]);
  }
  const auto pairs = [](__m512 a, __m512 b, bool upper) {
    const __m512d c = _mm512_castps_pd(a), d = _mm512_castps_pd(b);
    return _mm512_castpd_ps(upper ? _mm512_unpackhi_pd(c, d) : _mm512_unpacklo_pd(c, d));
  };
#pragma GCC unroll 16
  for (int k = 0; k < 16; ++k) v[k] = pairs(w[k / 4 * 4 + k % 4 / 2], w[k / 4 * 4 + 2 + k % 4 / 2], k % 2);
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    const __m512 a = _mm512_shuffle_f32x4(v[j], v[4 + j], 0x88), b = _mm512_shuffle_f32x4(v[j], v[4 + j], 0xdd);
    const __m512 c = _mm512_shuffle_f32x4(v[8 + j], v[12 + j], 0x88), d = _mm512_shuffle_f32x4(v[8 + j], v[12 + j], 0xdd);
    w[j] = _mm512_shuffle_f32x4(a, c, 0x88);
    w[4 + j] = _mm512_shuffle_f32x4(b, d, 0x88);
    w[8 + j] = _mm512_shuffle_f32x4(a, c, 0xdd);
    w[12 + j] = _mm512_shuffle_f32x4(b, d, 0xdd);
  }
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) v[i] = w[i];
}
#endif

// From rows `from_step` apart to rows `to_step` apart: to[j][i] = from[i][j].
template <class T>
void transpose_block(const T* from, int64_t from_step, int64_t rows, int64_t columns, T* to, int64_t to_step) {
  int64_t whole_rows = 0, whole_columns = 0;
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4) {
    whole_rows = rows / 16 * 16;
    whole_columns = columns / 16 * 16;
    for (int64_t i = 0; i < whole_rows; i += 16) {
      for (int64_t j = 0; j < whole_columns; j += 16) {
        __m512 v[16];
#pragma GCC unroll 16
        for (int k = 0; k < 16; ++k) v[k] = _mm512_loadu_ps(from + (i + k) * from_step + j);
        transpose_sixteen(v);
#pragma GCC unroll 16
        for (int k = 0; k < 16; ++k) _mm512_storeu_ps(to + (j + k) * to_step + i, v[k]);
      }
    }
  }
#endif
  for (int64_t j = 0; j < columns; ++j) {
    for (int64_t i = j < whole_columns ? whole_rows : 0; i < rows; ++i) to[j * to_step + i] = from[i * from_step + j];
  }
}

// By cell: the coefficients of one lie together. For as many cells as there are.
template <int kPowers>
void evaluate_by_rows(const Grid& grid, const float* table, const float* by_power, const float* x, float* y,
                      int64_t count) {
  constexpr float kMagic = 12582912.0f;  // 1.5 * 2^23: adding it rounds
  const Lanes first = lanes_of(grid.first), last = lanes_of(grid.last), center = lanes_of(grid.center);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const Lanes s = greater_of(lanes_of(-Grid::kFarthest), lesser_of(lanes_of(Grid::kFarthest), load_as<Lanes>(x + i)));
    const Lanes place = (s - center) * grid.per_cell;  // kept in the range where adding rounds
    const Lanes n = (lesser_of(greater_of(place, first), last) + kMagic) - kMagic;
    const Lanes t = (multiply_add(n, lanes_of(-grid.high), s) - multiply_add(n, lanes_of(grid.low), center)) * grid.scale;
    const IntLanes row = __builtin_convertvector(n - first, IntLanes) * kPowers;
    Lanes result = {};
    for (int half = kPowers - 4; half >= 0; half -= 4) {
      Lanes c[4];
      for (int j = 0; j < 4; ++j) c[j] = load_quads(table + row[j] + half, table + row[kLanes - 4 + j] + half);
      transpose(c);
      for (int j = 3; j >= 0; --j) result = half + j == kPowers - 1 ? c[j] : multiply_add(result, t, c[j]);
    }
    store_as(y + i, result);
  }
  for (; i < count; ++i) y[i] = look_up(grid, by_power, x[i]);
}

// A neuron's function, ready for many activations.
template <class T>
class Function {
 public:
  explicit Function(const Grid& grid) : grid_(grid) {}

  void use(const T* table, int64_t activations) {
    table_ = table;
    few_ = sizeof(T) != 4 || activations < kFewest;
#if defined(__AVX512F__)
    if (grid_.cells <= kInRegisters) return;
#endif
    if (few_) return;
    by_cell_.resize(grid_.cells * grid_.powers);
    transpose_block(table, grid_.cells, grid_.powers, grid_.cells, by_cell_.data(), grid_.powers);
  }

  void evaluate(const T* x, T* y, int64_t count) const {
    if constexpr (sizeof(T) == 4) {
      if (!few_) {
        if (grid_.powers == 4) return evaluate_many<4>(x, y, count);
        return evaluate_many<8>(x, y, count);
      }
    }
    for (int64_t i = 0; i < count; ++i) y[i] = look_up(grid_, table_, x[i]);
  }

 private:
  template <int kPowers>
  void evaluate_many(const float* x, float* y, int64_t count) const {
#if defined(__AVX512F__)
    if (grid_.cells <= kInRegisters) return evaluate_in_registers<kPowers>(grid_, table_, x, y, count);
#endif
    evaluate_by_rows<kPowers>(grid_, by_cell_.data(), table_, x, y, count);
  }

  const Grid& grid_;
  const T* table_ = nullptr;
  bool few_ = true;
  Array<T> by_cell_;
};

template <class T>
void forward(uintptr_t x_at, uintptr_t table_at, uintptr_t y_at, int64_t batch, int64_t neurons, int64_t positions,
             int64_t size, double first, double second, double third, double fourth, double fifth, int threads) {
  const Grid grid({size, first, second, third, fourth, fifth});
  const T *x = pointer<const T>(x_at), *tables = pointer<const T>(table_at);
  T* y = pointer<T>(y_at);
  if (neurons == 1) {
    positions *= batch;  // all of one neuron's values are neighbors
    batch = 1;
  }
  if (neurons > 1 && positions == 1 && batch >= kFewest && sizeof(T) == 4) {
    std::vector<Function<T>> functions(neurons, Function<T>(grid));
    parallel_for(neurons, threads, [&](int, int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n) functions[n].use(tables + n * size, batch);
    });
    // A few rows at a time, so that few pages of memory are in use at once.
    const int64_t tiles = (batch + kRowsAtOnce - 1) / kRowsAtOnce;
    parallel_for(tiles, static_cast<int>(std::min<int64_t>(threads, tiles)), [&](int, int64_t begin, int64_t end) {
      Array<T> buffer(kBlock * kRowsAtOnce);
      for (int64_t tile = begin; tile < end; ++tile) {
        const int64_t row = tile * kRowsAtOnce, rows = std::min(kRowsAtOnce, batch - row);
        for (int64_t from = 0; from < neurons; from += kBlock) {
          const int64_t count = std::min(kBlock, neurons - from), at = row * neurons + from;
          transpose_block(x + at, neurons, rows, count, buffer.data(), kRowsAtOnce);
          for (int64_t n = 0; n < count; ++n) {
            T* own = buffer.data() + n * kRowsAtOnce;
            // What comes next is asked for while there is something else to do.
            for (int64_t i = n; i < rows; i += kBlock) {
              __builtin_prefetch(x + at + i * neurons + kBlock);
              __builtin_prefetch(y + at + i * neurons, 1);
            }
            functions[from + n].evaluate(own, own, rows);
          }
          transpose_block(buffer.data(), kRowsAtOnce, count, rows, y + at, neurons);
        }
      }
    });
    return;
  }
  const int64_t parts = neurons > 1 ? neurons : std::min<int64_t>(threads, positions);  // of one neuron, its positions
  parallel_for(parts, static_cast<int>(std::min<int64_t>(threads, parts)), [&](int, int64_t begin, int64_t end) {
    Function<T> function(grid);
    for (int64_t part = begin; part < end; ++part) {
      const int64_t neuron = neurons > 1 ? part : 0, from = neurons > 1 ? 0 : positions * part / parts;
      const int64_t to = neurons > 1 ? positions : positions * (part + 1) / parts;
      function.use(tables + neuron * size, batch * (to - from));
      for (int64_t b = 0; b < batch; ++b) {
        const int64_t at = (b * neurons + neuron) * positions + from;
        function.evaluate(x + at, y + at, to - from);
      }
    }
  });
}

}  // namespace

extern const Entry::Forward baked_float32 = &forward<float>, baked_float64 = &forward<double>;
