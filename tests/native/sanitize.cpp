// The kernels on many shapes, in memory of exactly the right size, to be run under AddressSanitizer and UBSan.
// Values are compared with the plain formula, so that what is run is also known to be right.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>

#include "bandwidths.h"
#include "bells.h"
#include "cubics.h"
#include "entry.h"
#include "hermite.h"
#include "hinges.h"
#include "kaf1d.h"
#include "kaf2d.h"
#include "kaf_slopes.h"
#include "kernel_values.h"
#include "powers.h"

namespace {

std::mt19937 generator(0);

template <class T>
struct Buffer {  // on the heap and no larger than asked for: a step outside is seen
  explicit Buffer(int64_t size) : size(size), data(new T[size]) {}

  void randomize(double scale) {
    std::normal_distribution<double> normal(0.0, scale);
    for (int64_t i = 0; i < size; ++i) data[i] = static_cast<T>(normal(generator));
  }

  void poison() {
    for (int64_t i = 0; i < size; ++i) data[i] = static_cast<T>(NAN);
  }

  int64_t size;
  std::unique_ptr<T[]> data;
};

void expect(double actual, double right, double scale, double tolerance, const char* what) {
  if (std::abs(actual - right) <= tolerance * (1 + scale)) return;
  std::printf("%s: %.9g where %.9g is right\n", what, actual, right);
  std::exit(1);
}

template <class T, int kDimensions>
void check(int64_t batch, int64_t neurons, int64_t positions, int64_t size, double gamma, int threads) {
  const int64_t terms = kDimensions == 1 ? size : size * size;
  const int64_t outputs = batch * neurons * positions;
  const Settings dictionary{size, -3.0, 6.0 / (size - 1), gamma, 0, 0};
  Buffer<T> x(outputs * kDimensions), alpha(neurons * terms), y(outputs), u(outputs);
  Buffer<T> dx(x.size), dalpha(alpha.size);
  x.randomize(2.0);
  alpha.randomize(1.0);
  u.randomize(1.0);
  y.poison();
  dx.poison();
  dalpha.poison();
  std::conditional_t<kDimensions == 1, Kaf1d<T>, Kaf2d<T>> kernel(dictionary, batch, neurons, positions, threads);
  kernel.forward(x.data.get(), alpha.data.get(), y.data.get());
  kernel.backward(x.data.get(), alpha.data.get(), u.data.get(), dx.data.get(), dalpha.data.get());
  kernel.backward(x.data.get(), alpha.data.get(), u.data.get(), dx.data.get(), nullptr);
  kernel.backward(x.data.get(), alpha.data.get(), u.data.get(), nullptr, dalpha.data.get());

  const double tolerance = sizeof(T) == 4 ? 3e-5 : 1e-11;
  std::vector<double> sums(alpha.size), scales(alpha.size);
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t n = 0; n < neurons; ++n) {
      for (int64_t l = 0; l < positions; ++l) {
        const int64_t out = (b * neurons + n) * positions + l;
        int64_t in[2] = {out, out};
        for (int d = 0; kDimensions == 2 && d < 2; ++d) in[d] = (b * 2 * neurons + 2 * n + d) * positions + l;
        double value = 0, slope[2] = {0, 0}, scale = 0, steepest = 0;
        for (int64_t k = 0; k < terms; ++k) {
          const int64_t index[2] = {kDimensions == 1 ? k : k / size, k % size};
          double exponent = 0, difference[2];
          for (int d = 0; d < kDimensions; ++d) {
            difference[d] = x.data[in[d]] - (dictionary.first + index[d] * dictionary.second);
            exponent -= gamma * difference[d] * difference[d];
          }
          const double term = std::exp(exponent), weighted = alpha.data[n * terms + k] * term;
          value += weighted;
          scale += std::abs(weighted);
          for (int d = 0; d < kDimensions; ++d) {
            slope[d] -= 2 * gamma * difference[d] * weighted;
            steepest += std::abs(2 * gamma * difference[d] * weighted);
          }
          sums[n * terms + k] += u.data[out] * term;
          scales[n * terms + k] += std::abs(u.data[out] * term);
        }
        const double amplified = tolerance * (1 + std::sqrt(gamma));
        expect(y.data[out], value, scale, amplified, "output");
        for (int d = 0; d < kDimensions; ++d) {
          const double upstream = u.data[out];
          const double bound = std::abs(upstream) * (steepest + std::sqrt(gamma) * scale);
          expect(dx.data[in[d]], upstream * slope[d], bound, amplified, "input gradient");
        }
      }
    }
  }
  for (int64_t i = 0; i < alpha.size; ++i) {
    expect(dalpha.data[i], sums[i], scales[i], tolerance * (1 + std::sqrt(gamma)), "coefficient gradient");
  }
}

// A formula with a table of coefficients a neuron, against value(table, s). Its gradients are compared elsewhere; here
// they have to be written, all of them.
template <class T, template <class> class Kernel, class Value>
void check_table(const Settings& settings, int64_t batch, int64_t neurons, int64_t positions, int threads,
                 const Value& value, bool last_is_positive = false) {
  const int64_t outputs = batch * neurons * positions, size = settings.size;
  Buffer<T> x(outputs), table(neurons * size), y(outputs), u(outputs), dx(outputs), dtable(table.size);
  x.randomize(2.0);
  table.randomize(1.0);
  for (int64_t i = size - 1; last_is_positive && i < table.size; i += size) table.data[i] = std::abs(table.data[i]);
  u.randomize(1.0);
  y.poison();
  dx.poison();
  dtable.poison();
  if (outputs > 3) x.data[3] = static_cast<T>(1e30);
  if (outputs > 4) x.data[4] = static_cast<T>(-1e30);
  const Kernel<T> kernel(settings, batch, neurons, positions, threads);
  kernel.forward(x.data.get(), table.data.get(), y.data.get());
  kernel.backward(x.data.get(), table.data.get(), u.data.get(), dx.data.get(), nullptr);
  kernel.backward(x.data.get(), table.data.get(), u.data.get(), dx.data.get(), dtable.data.get());
  for (int64_t i = 0; i < outputs; ++i) {
    if (std::abs(x.data[i]) > 1e20) continue;
    const int64_t n = i / positions % neurons;
    const std::vector<double> own(&table.data[n * size], &table.data[n * size] + size);
    const double right = value(own.data(), double(x.data[i]));
    expect(y.data[i], right, 10 + std::abs(right), sizeof(T) == 4 ? 3e-5 : 1e-12, "value by table");
    if (std::isnan(dx.data[i])) expect(1, 0, 0, 0, "input gradient by table");
  }
  for (int64_t i = 0; i < dtable.size; ++i) {
    if (std::isnan(dtable.data[i]) && outputs <= 3) expect(1, 0, 0, 0, "gradient of the table");
  }
}

template <class T>
void check_tables(int64_t batch, int64_t neurons, int64_t positions, int threads) {
  check_table<T, Hinges>({6, 1, 1, 0, 0, 0}, batch, neurons, positions, threads, [](const double* t, double s) {
    return std::max(0.0, s) + t[0] * std::max(0.0, s - t[3]) + t[1] * std::max(0.0, t[4] - s) +
           t[2] * std::max(0.0, t[5] - s);
  });
  check_table<T, Bells>({4, 0.8, 0, 0, 0, 0}, batch, neurons, positions, threads, [](const double* t, double s) {
    return t[0] * std::exp(-0.8 * (s - t[2]) * (s - t[2])) + t[1] * std::exp(-0.8 * (s - t[3]) * (s - t[3]));
  });
  check_table<T, Powers>({3, 0, 0, 0, 0, 0}, batch, neurons, positions, threads,
                           [](const double* t, double s) { return t[0] + t[1] * s + t[2] * s * s; });
  check_table<T, Hermite>({2, 0, 0, 0, 0, 0}, batch, neurons, positions, threads, [](const double* t, double s) {
    const double first = std::exp(-s * s / 2) / std::pow(M_PI, 0.25);
    return t[0] * first + t[1] * std::sqrt(2.0) * s * first;
  });
  check_table<T, KafByBandwidth>(
      {4, -1, 1, 0, 0, 0}, batch, neurons, positions, threads, [](const double* t, double s) {
        const double gamma = t[3], left = s + 1, right = s - 1;
        return t[0] * std::exp(-gamma * left * left) + t[1] * std::exp(-gamma * s * s) +
               t[2] * std::exp(-gamma * right * right);
      },
      true);
  // Three elements, linear tails, and s + w (silu(s) - s).
  check_table<T, Kaf1d>(
      {4, -1, 1, 0.5, 2, 206}, batch, neurons, positions, threads, [](const double* t, double s) {
        const double at = std::min(1.0, std::max(-1.0, s));
        double value = s + t[3] * (s / (1 + std::exp(-s)) - s);
        for (int k = 0; k < 3; ++k) {
          const double distance = at - (k - 1), term = t[k] * std::exp(-0.5 * distance * distance);
          value += term - distance * term * (s - at);
        }
        return value;
      });
  // The second derivative, which linear tails have not.
  check_table<T, KafSlopes>(
      {3, -1, 1, 0.5, 2, 2}, batch, neurons, positions, threads, [](const double* t, double s) {
        double value = 0;
        for (int k = 0; std::abs(s) <= 1 && k < 3; ++k) {
          const double distance = s - (k - 1);
          value += t[k] * (distance * distance - 1) * std::exp(-0.5 * distance * distance);
        }
        return value;
      });
  check_table<T, KafSlopesByBandwidth>(
      {3, -1, 2, 0, 0, 1}, batch, neurons, positions, threads, [](const double* t, double s) {
        const double gamma = t[2], left = s + 1, right = s - 1;
        return -2 * gamma * (t[0] * left * std::exp(-gamma * left * left) +
                             t[1] * right * std::exp(-gamma * right * right));
      },
      true);
  check_table<T, Cubics>({16, -1, 1, 0, 0, 0}, batch, neurons, positions, threads, [](const double* t, double s) {
    const int piece = s < -1 ? 0 : s < 0 ? 1 : s < 1 ? 2 : 3;
    const double left[] = {-1, -1, 0, 1}, u = s - left[piece], *c = t + 4 * piece;
    const double inner = piece == 0 || piece == 3 ? 0 : u;  // a straight line outside
    return c[0] + u * (c[1] + inner * (c[2] + inner * c[3]));
  });
}

template <class T>
void check_kernel_values(int64_t count, int64_t size, int threads) {
  Buffer<T> x(count), elements(size), values(count * size), u(count * size), dx(count);
  x.randomize(2.0);
  elements.randomize(2.0);
  u.randomize(1.0);
  values.poison();
  dx.poison();
  const double gamma = 0.7, tolerance = sizeof(T) == 4 ? 3e-6 : 1e-13;
  const KernelValues<T> kernel(elements.data.get(), size, gamma);
  kernel.forward(x.data.get(), count, values.data.get(), threads);
  kernel.backward(x.data.get(), count, values.data.get(), u.data.get(), dx.data.get(), threads);
  for (int64_t i = 0; i < count; ++i) {
    double slope = 0;
    for (int64_t k = 0; k < size; ++k) {
      const double t = static_cast<double>(x.data[i]) - elements.data[k], right = std::exp(-gamma * t * t);
      expect(values.data[i * size + k], right, 1, tolerance, "kernel value");
      slope -= 2 * gamma * t * right * u.data[i * size + k];
    }
    expect(dx.data[i], slope, size, tolerance, "slope of kernel values");
  }
}

// Five cells, a unit wide, the middle one around 0.25.
template <class T>
void check_baked(int64_t batch, int64_t neurons, int64_t positions, int powers, int threads) {
  const int64_t outputs = batch * neurons * positions, size = 5 * powers;
  Buffer<T> x(outputs), tables(neurons * size), y(outputs);
  x.randomize(2.0);
  tables.randomize(1.0);
  y.poison();
  if (outputs > 2) x.data[2] = static_cast<T>(NAN);
  const Entry::Forward forward = sizeof(T) == 4 ? baked_float32 : baked_float64;
  const auto address = [](const Buffer<T>& of) { return reinterpret_cast<uintptr_t>(of.data.get()); };
  forward(address(x), address(tables), address(y), batch, neurons, positions, size, -2, 1, powers, 0.25, 0, threads);
  for (int64_t i = 0; i < outputs; ++i) {
    if (std::isnan(x.data[i])) {
      if (!std::isnan(y.data[i])) expect(y.data[i], NAN, 0, 0, "baked NaN");
      continue;
    }
    const double place = x.data[i] - 0.25, n = std::min(2.0, std::max(-2.0, std::nearbyint(place)));
    const double t = 2 * (place - n);
    const T* cell = &tables.data[i / positions % neurons * size + (static_cast<int>(n) + 2) * powers];
    double right = 0, scale = 0;
    for (int k = powers - 1; k >= 0; --k) {
      right = right * t + cell[k];
      scale = scale * std::abs(t) + std::abs(cell[k]);
    }
    expect(y.data[i], right, scale, sizeof(T) == 4 ? 3e-6 : 1e-14, "baked value");
  }
}

template <class T>
void check_all() {
  for (int64_t size : {1, 7, 8, 20, 1500}) {
    for (int64_t count : {1, 5, 300}) check_kernel_values<T>(count, size, 3);
  }
  const int64_t shapes[][3] = {{1, 1, 1}, {1, 3, 1}, {33, 1, 1},  {5, 31, 1}, {2, 33, 1}, {67, 65, 1}, {130, 20, 1},
                               {3, 2, 5}, {4, 2, 16}, {3, 5, 33}, {2, 3, 77}, {40, 1, 3}, {7, 2, 1},   {9, 1, 64},
                               {1, 1, 1000}, {601, 19, 1}, {3, 2, 299}, {601, 1, 1}, {200, 3, 5}};  // the last ones by table
  for (const auto& s : shapes) {
    for (int threads : {1, 3}) {
      check<T, 1>(s[0], s[1], s[2], 20, 1.67, threads);
      check<T, 2>(s[0], s[1], s[2], 7, 0.8, threads);
      check_tables<T>(s[0], s[1], s[2], threads);
      for (int powers : {4, 8}) check_baked<T>(s[0], s[1], s[2], powers, threads);
    }
  }
  check<T, 1>(2, 3, 1, 50000, 1e6, 1);  // more elements than an int can count in products
  for (int64_t size : {2, 3, 20, 21, 28, 80, 200, 500}) {
    check<T, 1>(5, 17, 1, size, (size - 1) * (size - 1) / 216.0, 1);
    check<T, 1>(2, 3, 11, size, (size - 1) * (size - 1) / 216.0, 1);
    if (size <= 28) check<T, 2>(3, 5, 2, size, (size - 1) * (size - 1) / 150.0, 1);
  }
  for (double gamma : {1e-8, 1e-3, 0.1, 10.0, 100.0, 1e4, 1e8}) {
    check<T, 1>(5, 17, 1, 20, gamma, 1);
    check<T, 2>(3, 9, 1, 9, gamma, 1);
  }
}

}  // namespace

int main() {
  check_all<float>();
  check_all<double>();
  std::puts("right, and nothing touched that was not ours");
}
