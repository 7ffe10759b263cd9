// The values of Gaussians, size of them for each activation, for layers that mix them by a matrix.
#pragma once

#include <algorithm>

#include "exponential.h"
#include "layout.h"
#include "parallel.h"

template <class T>
class KernelValues {
 public:
  KernelValues(const T* elements, int64_t size, double gamma)
      : size_(size),
        minus_gamma_(static_cast<T>(-gamma)),
        slope_(static_cast<T>(-2 * gamma)),
        padded_(size + kNativeWidth<T>),
        rows_(std::max<int64_t>(1, kChunk / size)) {
    std::copy_n(elements, size, padded_.data());
  }

  // values: (count, size)
  void forward(const T* x, int64_t count, T* values, int threads) const {
    parallel_for(count, threads, [&](int, int64_t begin, int64_t end) {
      for_chunks(begin, end, [&](int64_t first, int64_t rows, T* distances) {
        subtract(x + first, rows, distances);
        T* to = values + first * size_;
        for_vectors(rows * size_, [&](int64_t i, int64_t there) __attribute__((always_inline)) {
          const Vec<T> v = gaussian(load<T>(distances + i));
          if (there == kWidth<T>) return store<T>(to + i, v);
          store<T>(distances, v);  // the first ones are no longer needed, but for a chunk of one vector, and are v then
          std::copy_n(distances, there, to + i);
        });
      });
    });
  }

  // From the values; dx is the sum of upstream times the slopes.
  void backward(const T* x, int64_t count, const T* values, const T* upstream, T* dx, int threads) const {
    parallel_for(count, threads, [&](int, int64_t begin, int64_t end) {
      for_chunks(begin, end, [&](int64_t first, int64_t rows, T* distances) {
        subtract(x + first, rows, distances);
        const T *v = values + first * size_, *u = upstream + first * size_;
        for_vectors(rows * size_, [&](int64_t i, int64_t there) __attribute__((always_inline)) {
          // Far away, where the values are 0, the product must not be that of 0 and infinity.
          constexpr T kFar = sizeof(T) == 4 ? T(1e18) : T(1e150);
          const Vec<T> t = greater(splat<T>(-kFar), lesser(splat<T>(kFar), load<T>(distances + i)));
          store<T>(distances + i, t * (some(v + i, there) * some(u + i, there)));
        });
        for (int64_t row = 0; row < rows; ++row) dx[first + row] = slope_ * sum(distances + row * size_);
      });
    });
  }

 private:
  static constexpr int64_t kChunk = 1024;

  // Calls body(first, rows, buffer for their distances) for a few rows at a time.
  template <class Body>
  void for_chunks(int64_t begin, int64_t end, const Body& body) const {
    Array<T> buffer(rows_ * size_ + kWidth<T>);
    for (int64_t first = begin; first < end; first += rows_) body(first, std::min(rows_, end - first), buffer.data());
  }

  // Calls body(i, how many are there) for vectors from i on.
  template <class Body>
  KAF_INLINE static void for_vectors(int64_t count, const Body& body) {
    int64_t i = 0;
    for (; i + kWidth<T> <= count; i += kWidth<T>) body(i, int64_t{kWidth<T>});
    if (i < count) body(i, count - i);
  }

  // What is written beyond a row is overwritten by the next one.
  void subtract(const T* x, int64_t rows, T* distances) const {
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t k = 0; k < size_; k += kNativeWidth<T>) {
        store_native<T>(distances + row * size_ + k, x[row] - load_native<T>(padded_.data() + k));
      }
    }
  }

  KAF_INLINE Vec<T> gaussian(Vec<T> t) const {
    constexpr T kLowest = sizeof(T) == 4 ? T(-87) : T(-708);
    const Vec<T> wanted = t * t * minus_gamma_, near = greater(splat<T>(kLowest), wanted);
    return zero_where(differing(near, wanted), exp(near));
  }

  KAF_INLINE static Vec<T> some(const T* from, int64_t there) {
    if (there == kWidth<T>) return load<T>(from);
    T lanes[kWidth<T>] = {};
    std::copy_n(from, there, lanes);
    return load<T>(lanes);
  }

  // Four sums at once, since each addition waits for the one before.
  T sum(const T* terms) const {
    T sums[4] = {};
    int64_t k = 0;
    for (; k + 4 <= size_; k += 4) {
      for (int i = 0; i < 4; ++i) sums[i] += terms[k + i];
    }
    for (; k < size_; ++k) sums[0] += terms[k];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
  }

  const int64_t size_;
  const T minus_gamma_, slope_;
  Array<T> padded_;
  const int64_t rows_;
};
