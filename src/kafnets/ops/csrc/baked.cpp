// Functions that no longer change, by table: for each neuron a polynomial per cell, all cells being equally wide, with
// the coefficients of a cell side by side. The first and the last cell reach to infinity. See ops/baked.py, which has the
// same formula in torch's operators.
#include <algorithm>
#include <cmath>

#include "entry.h"
#include "lanes.h"
#include "parallel.h"

namespace {

constexpr int kChunk = 64;             // activations whose cells are found before the first is looked up: measured
constexpr int64_t kRowsAtOnce = 1024;  // of as many neighboring neurons: so few tables are in use at once
constexpr int64_t kRowsAhead = 8;      // asked for early, since rows are far apart in memory

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

// One activation.
template <class T>
T look_up(const Grid& grid, const T* table, T s) {
  if (std::isnan(s)) return s;
  s = std::min<T>(std::max<T>(s, -Grid::kFarthest), Grid::kFarthest);
  const T n = std::min<T>(std::max<T>(std::nearbyint((s - grid.center) * grid.per_cell), grid.first), grid.last);
  const T t = ((s - n * grid.high) - (n * grid.low + grid.center)) * grid.scale;
  const T* cell = table + static_cast<int64_t>(n - grid.first) * grid.powers;
  T result = cell[grid.powers - 1];
  for (int k = grid.powers - 2; k >= 0; --k) result = result * t + cell[k];
  return result;
}

// Where the tables of neighboring activations begin, in floats.
struct Begins {
  alignas(64) int32_t of[kChunk] = {};
};

// In whole vectors.
template <int kPowers>
KAF_INLINE void look_up_vectors(const Grid& grid, const float* tables, const Begins& begins, const float* x, float* y,
                                int vectors) {
  constexpr float kMagic = 12582912.0f;  // 1.5 * 2^23: adding it rounds, and leaves whole numbers in the last bits
  const Lanes first = lanes_of(grid.first), last = lanes_of(grid.last), center = lanes_of(grid.center);
  const IntLanes bits_of_first = (IntLanes)(first + kMagic);
  alignas(64) int32_t places[kChunk];
  alignas(64) float fractions[kChunk];
  for (int i = 0; i < vectors; ++i) {
    // The second operand is kept where one is NaN; so n is a number and the fraction is not.
    const Lanes s = greater_of(lanes_of(-Grid::kFarthest),
                               lesser_of(lanes_of(Grid::kFarthest), load_as<Lanes>(x + i * kLanes)));
    const Lanes place = (s - center) * grid.per_cell;
    const Lanes shifted = lesser_of(greater_of(place, first), last) + kMagic, n = shifted - kMagic;
    store_as(fractions + i * kLanes,
             (multiply_add(n, lanes_of(-grid.high), s) - multiply_add(n, lanes_of(grid.low), center)) * grid.scale);
    const IntLanes cell = (IntLanes)shifted - bits_of_first;
    store_as(places + i * kLanes, cell * kPowers + load_as<IntLanes>(begins.of + i * kLanes));
  }
  for (int i = 0; i < vectors; ++i) {
    const int32_t* at = places + i * kLanes;
    const Lanes t = load_as<Lanes>(fractions + i * kLanes);
    Lanes result = {};
    for (int quad = kPowers - 4; quad >= 0; quad -= 4) {
      Lanes c[4];
      for (int j = 0; j < 4; ++j) c[j] = load_quads(tables + at[j] + quad, tables + at[kLanes - 4 + j] + quad);
      transpose(c);
      for (int j = 3; j >= 0; --j) result = quad + j == kPowers - 1 ? c[j] : multiply_add(result, t, c[j]);
    }
    store_as(y + i * kLanes, result);
  }
}

// `count` neighbors, at most kChunk.
template <int kPowers>
void look_up_chunk(const Grid& grid, const float* tables, const Begins& begins, const float* x, float* y, int count) {
  if (count % kLanes == 0) {
    look_up_vectors<kPowers>(grid, tables, begins, x, y, count / kLanes);
    return;
  }
  float buffer[kChunk] = {};
  std::copy_n(x, count, buffer);
  look_up_vectors<kPowers>(grid, tables, begins, buffer, buffer, (count + kLanes - 1) / kLanes);
  std::copy_n(buffer, count, y);
}

// Rows in which each neuron has one activation.
template <int kPowers>
void look_up_rows(const Grid& grid, const float* tables, const float* x, float* y, int64_t batch, int64_t neurons,
                  int threads) {
  const int64_t size = int64_t{grid.cells} * kPowers;
  const int64_t blocks = (neurons + kChunk - 1) / kChunk, tiles = (batch + kRowsAtOnce - 1) / kRowsAtOnce;
  const int parts = static_cast<int>(std::min<int64_t>(threads, blocks * tiles));
  parallel_for(blocks * tiles, parts, [&](int, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t from = i % blocks * kChunk, row = i / blocks * kRowsAtOnce;
      const int count = static_cast<int>(std::min<int64_t>(kChunk, neurons - from));
      Begins begins;
      for (int n = 0; n < count; ++n) begins.of[n] = static_cast<int32_t>(n * size);
      for (int64_t r = row; r < std::min(row + kRowsAtOnce, batch); ++r) {
        const int64_t at = r * neurons + from;
        if (r + kRowsAhead < batch) {
          for (int64_t next = at + kRowsAhead * neurons, n = 0; n < count; n += 16) {
            __builtin_prefetch(x + next + n);
            __builtin_prefetch(y + next + n, 1);
          }
        }
        look_up_chunk<kPowers>(grid, tables + from * size, begins, x + at, y + at, count);
      }
    }
  });
}

// Activations of one neuron.
template <int kPowers>
void look_up_neighbors(const Grid& grid, const float* table, const float* x, float* y, int64_t count) {
  const Begins none;
  for (int64_t i = 0; i < count; i += kChunk) {
    look_up_chunk<kPowers>(grid, table, none, x + i, y + i, static_cast<int>(std::min<int64_t>(kChunk, count - i)));
  }
}

template <int kPowers>
void look_up_neighbors(const Grid& grid, const double* table, const double* x, double* y, int64_t count) {
  for (int64_t i = 0; i < count; ++i) y[i] = look_up(grid, table, x[i]);
}

template <int kPowers, class T>
void look_up_all(const Grid& grid, const T* tables, const T* x, T* y, int64_t batch, int64_t neurons,
                 int64_t positions, int threads) {
  if (neurons == 1) {
    positions *= batch;  // all of one neuron's values are neighbors
    batch = 1;
  }
  if constexpr (sizeof(T) == 4) {
    if (neurons > 1 && positions == 1) {
      look_up_rows<kPowers>(grid, tables, x, y, batch, neurons, threads);
      return;
    }
  }
  const int64_t total = batch * neurons * positions, size = int64_t{grid.cells} * kPowers;
  parallel_for(total, static_cast<int>(std::min<int64_t>(threads, total)), [&](int, int64_t begin, int64_t end) {
    for (int64_t at = begin, next; at < end; at = next) {
      const int64_t run = at / positions;
      next = std::min((run + 1) * positions, end);
      look_up_neighbors<kPowers>(grid, tables + run % neurons * size, x + at, y + at, next - at);
    }
  });
}

template <class T>
void forward(uintptr_t x_at, uintptr_t table_at, uintptr_t y_at, int64_t batch, int64_t neurons, int64_t positions,
             int64_t size, double first, double second, double third, double fourth, double fifth, int threads) {
  const Grid grid({size, first, second, third, fourth, fifth});
  const T *x = pointer<const T>(x_at), *tables = pointer<const T>(table_at);
  const auto look_up_with = grid.powers == 4 ? look_up_all<4, T> : look_up_all<8, T>;
  look_up_with(grid, tables, x, pointer<T>(y_at), batch, neurons, positions, threads);
}

}  // namespace

extern const Entry::Forward baked_float32 = &forward<float>, baked_float64 = &forward<double>;
