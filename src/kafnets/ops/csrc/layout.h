// Walking through memory by vectors, for the two places the channel axis can have.
#pragma once

#include <algorithm>
#include <new>
#include <vector>

#include "parallel.h"
#include "vector.h"

// Memory that begins where a cache line does: a vector across two lines takes twice as long to load.
template <class T>
struct LineAllocator {
  using value_type = T;
  static constexpr std::align_val_t kLine{64};

  LineAllocator() = default;
  template <class U>
  LineAllocator(const LineAllocator<U>&) {}

  T* allocate(size_t count) { return static_cast<T*>(::operator new(count * sizeof(T), kLine)); }
  void deallocate(T* memory, size_t) { ::operator delete(memory, kLine); }

  bool operator==(const LineAllocator&) const { return true; }
  bool operator!=(const LineAllocator&) const { return false; }
};

template <class T>
using Array = std::vector<T, LineAllocator<T>>;

// How many vectors of terms are added up in T before they go into doubles: bounds the rounding of long sums.
constexpr int kSumLength = 128;

// A few rows of a block of neighboring neurons, when channels are innermost. The parts of a vector are rows, so
// that they share their coefficients. The last ones may be missing; they count as 0 and are not stored.
struct Rows {
  int64_t at;     // where the first row's values begin
  int64_t step;   // from row to row
  int64_t ahead;  // from here to what is needed a few rows later, which the processor does not foresee
  int rows, count;
  bool whole;  // whether nothing is missing

  template <class T>
  KAF_INLINE Vec<T> get(const T* x) const {
    if (!whole) return get_some(x);
    return for_parts<T>([&](int i) { return load_native<T>(x + at + i * step); });
  }

  template <class T>
  KAF_INLINE void put(T* y, Vec<T> v) const {
    if (!whole) return put_some(y, v);
    for (int i = 0; i < kParts; ++i) store_native<T>(y + at + i * step, v.part[i]);
  }

  // The same, and ask for what is needed later.
  template <class T>
  KAF_INLINE Vec<T> get_ahead(const T* x) const {
    for (int i = 0; i < kParts; ++i) __builtin_prefetch(x + at + i * step + ahead);
    return get(x);
  }

  template <class T>
  KAF_INLINE void put_ahead(T* y, Vec<T> v) const {
    for (int i = 0; i < kParts; ++i) __builtin_prefetch(y + at + i * step + ahead, 1);
    put(y, v);
  }

 private:
  template <class T>
  __attribute__((noinline)) Vec<T> get_some(const T* x) const {
    return for_parts<T>([&](int i) { return i < rows ? load_some<T>(x + at + i * step, count) : Native<T>{}; });
  }

  template <class T>
  __attribute__((noinline)) void put_some(T* y, Vec<T> v) const {
    for (int i = 0; i < rows; ++i) store_some<T>(y + at + i * step, v.part[i], count);
  }
};

// Vectors of neighbors, `step` apart from each other, in each of which the first `lanes` are there.
struct Strip {
  int64_t at;  // where the first one begins
  int64_t step, vectors;
  int lanes;

  template <class T>
  KAF_INLINE Rows rows(int64_t vector) const {
    const int there = static_cast<int>(std::min<int64_t>(kParts, vectors - vector));
    return Rows{at + vector * step, step, 0, there, lanes, there == kParts && lanes == kNativeWidth<T>};
  }

  // Some vectors from `first` on, as far as they are there.
  template <class T, int kCount>
  KAF_INLINE void put(T* y, int64_t first, const Native<T> (&v)[kCount]) const {
    T* to = y + at + first * step;
    if (first + kCount > vectors || lanes < kNativeWidth<T>) return put_some<T>(to, vectors - first, v, kCount);
    for (int i = 0; i < kCount; ++i) store_native<T>(to + i * step, v[i]);
  }

 private:
  template <class T>
  __attribute__((noinline)) void put_some(T* to, int64_t there, const Native<T>* v, int count) const {
    for (int i = 0; i < count && i < there; ++i) store_some<T>(to + i * step, v[i], lanes);
  }
};

constexpr int64_t kTile = 32;  // rows that take turns on a block of neurons, so that its coefficients are still at hand

// What is computed of one block of neurons and a tile's rows, for a second step. In memory these rows may be a power of
// two apart, which the nearest cache does not hold together.
template <class T>
struct TileBuffer {
  alignas(64) T values[kTile * kNativeWidth<T>];

  KAF_INLINE void put(int64_t row, Vec<T> v) { store<T>(values + row * kNativeWidth<T>, v); }

  // A strip of x. What will be needed `next` from there is asked for meanwhile.
  KAF_INLINE void take(const T* x, const Strip& strip, int64_t next) {
    ask(x, strip, next);
    for (int64_t row = 0; row < strip.vectors; row += kParts) put(row, strip.rows<T>(row).get(x));
  }

  // Into the second cache: rows that are a power of two apart would drive each other out of the nearest.
  template <bool kToWrite = false>
  static KAF_INLINE void ask(const T* x, const Strip& strip, int64_t next) {
    for (int64_t row = 0; row < strip.vectors; ++row) {
      __builtin_prefetch(x + strip.at + next + row * strip.step, kToWrite, 2);
    }
  }
};

// Calls body(block, strip, from there to the next strip) for all tiles of rows and all blocks of up to kNativeWidth neurons.
template <class T, class Body>
KAF_INLINE void for_strips(int64_t begin, int64_t end, int64_t neurons, const Body& body) {
  for (int64_t tile = begin; tile < end; tile += kTile) {
    const int64_t rows = std::min(kTile, end - tile);
    for (int64_t first = 0; first < neurons; first += kNativeWidth<T>) {
      const int64_t count = std::min<int64_t>(kNativeWidth<T>, neurons - first);
      const int64_t next = first + count < neurons ? kNativeWidth<T> : kTile * neurons - first;
      body(first / kNativeWidth<T>, Strip{tile * neurons + first, neurons, rows, static_cast<int>(count)}, next);
    }
  }
}

// Calls body(block, rows) for all rows and all blocks of up to kNativeWidth neurons.
template <class T, class Body>
KAF_INLINE void for_blocks(int64_t begin, int64_t end, int64_t neurons, const Body& body) {
  constexpr int64_t kAhead = 4;
  for_strips<T>(begin, end, neurons, [&](int64_t block, const Strip& strip, int64_t) __attribute__((always_inline)) {
    const int64_t next_block = kNativeWidth<T> - strip.vectors * neurons;
    for (int64_t row = 0; row < strip.vectors; row += kParts) {
      Rows rows = strip.rows<T>(row);
      rows.ahead = kAhead * neurons + (row + kAhead < strip.vectors ? 0 : next_block);
      body(block, rows);
    }
  });
}

// Channels before the positions: for one channel, `batch` runs of `positions` values, `step` apart. A vector
// may reach over the end of a run into the next, so that short runs do not leave lanes empty.
template <class T>
class Runs {
 public:
  // Activations begin ... end - 1 of the channel.
  Runs(int64_t begin, int64_t end, int64_t positions, int64_t step)
      : left_(end - begin), positions_(positions), step_(step), run_(begin / positions * step), at_(begin % positions) {
    measure();
  }

  bool done() const { return left_ == 0; }

  void next() {
    left_ -= count_;
    at_ += count_;
    while (at_ >= positions_) {
      at_ -= positions_;
      run_ += step_;
    }
    measure();
  }

  KAF_INLINE Vec<T> get(const T* channel) const {
    const T* here = channel + run_ + at_;
    for (int i = 0; i < kParts; ++i) __builtin_prefetch(here + step_ + i * kNativeWidth<T>);  // of the next run
    return together() ? load<T>(here) : get_pieces(channel);
  }

  KAF_INLINE void put(T* channel, Vec<T> v) const {
    T* here = channel + run_ + at_;
    for (int i = 0; i < kParts; ++i) __builtin_prefetch(here + step_ + i * kNativeWidth<T>, 1);
    if (together()) {
      store<T>(here, v);
    } else {
      put_pieces(channel, v);
    }
  }

 private:
  // Whether a whole vector lies in one piece. What follows the last activation may be another thread's.
  bool together() const { return count_ == kWidth<T> && at_ + kWidth<T> <= positions_; }

  __attribute__((noinline)) Vec<T> get_pieces(const T* channel) const {
    T lanes[kWidth<T>] = {};
    for_pieces([&](int lane, int64_t offset, int length) {
      for (int i = 0; i < length; ++i) lanes[lane + i] = channel[offset + i];
    });
    return load<T>(lanes);
  }

  __attribute__((noinline)) void put_pieces(T* channel, Vec<T> v) const {
    T lanes[kWidth<T>];
    store<T>(lanes, v);
    for_pieces([&](int lane, int64_t offset, int length) {
      for (int i = 0; i < length; ++i) channel[offset + i] = lanes[lane + i];
    });
  }

  void measure() { count_ = static_cast<int>(std::min<int64_t>(kWidth<T>, left_)); }

  template <class Body>
  void for_pieces(const Body& body) const {
    int64_t at = at_, run = run_;
    for (int lane = 0; lane < count_;) {
      const int length = static_cast<int>(std::min<int64_t>(positions_ - at, count_ - lane));
      body(lane, run + at, length);
      lane += length;
      at = 0;
      run += step_;
    }
  }

  int64_t left_, positions_, step_, run_, at_;
  int count_ = 0;
};

// (neuron, coefficient) to (block, term, lane), times a factor for each coefficient: what a vector of neighboring
// neurons needs lies together. Terms behind the coefficients are derived from them. Lanes without a neuron hold 0.
template <class T, class Factor, class Derived>
Array<T> pack(const T* values, int64_t neurons, int64_t size, int64_t terms, const Factor& factor,
              const Derived& derived) {
  const int64_t blocks = (neurons + kNativeWidth<T> - 1) / kNativeWidth<T>;
  Array<T> result(blocks * terms * kNativeWidth<T>);
  for (int64_t block = 0; block < blocks; ++block) {
    const T* from = values + block * kNativeWidth<T> * size;
    T* to = result.data() + block * kNativeWidth<T> * terms;
    const int64_t count = std::min<int64_t>(kNativeWidth<T>, neurons - block * kNativeWidth<T>);
    for (int64_t k = 0; k < size; ++k) {
      const T weight = factor(k);
      for (int64_t lane = 0; lane < count; ++lane) to[k * kNativeWidth<T> + lane] = from[lane * size + k] * weight;
    }
    for (int64_t k = size; k < terms; ++k) {
      for (int64_t lane = 0; lane < count; ++lane) to[k * kNativeWidth<T> + lane] = derived(from + lane * size, k);
    }
  }
  return result;
}

// Calls finish(neuron, at) for all neurons, at(k) being the k-th of its packed sums.
template <class T, class Sum, class Finish>
void unpack(const Array<Sum>& sums, int64_t neurons, int64_t terms, const Finish& finish) {
  for (int64_t n = 0; n < neurons; ++n) {
    const Sum* from = sums.data() + n / kNativeWidth<T> * kNativeWidth<T> * terms + n % kNativeWidth<T>;
    finish(n, [&](int64_t k) { return from[k * kNativeWidth<T>]; });
  }
}

// Calls body(begin, end, sums) for short ranges of rows, on several threads. What it adds to the sums, packed as
// above, is added up over all ranges, in doubles if there are several, and handed out by `unpack`.
template <class T, class Body, class Finish>
void sum_over_rows(int64_t rows, int64_t neurons, int64_t terms, int threads, const Body& body, const Finish& finish) {
  const int64_t size = (neurons + kNativeWidth<T> - 1) / kNativeWidth<T> * kNativeWidth<T> * terms;
  const bool once = threads == 1 && rows <= kSumLength;
  Array<T> only(once ? size : 0);
  Array<double> totals(once ? 0 : size * threads);
  parallel_for(rows, threads, [&](int thread, int64_t begin, int64_t end) {
    if (once) {
      body(begin, end, only.data());
      return;
    }
    Array<T> sums(size);
    double* total = totals.data() + thread * size;
    for (int64_t from = begin; from < end; from += kSumLength) {
      body(from, std::min(end, from + kSumLength), sums.data());
      for (int64_t i = 0; i < size; ++i) {
        total[i] += sums[i];
        sums[i] = 0;
      }
    }
  });
  if (once) {
    unpack<T>(only, neurons, terms, finish);
    return;
  }
  for (int64_t i = size; i < size * threads; ++i) totals[i % size] += totals[i];
  unpack<T>(totals, neurons, terms, finish);
}

// Adds up the lanes as well.
template <class T>
void add_lanes_and_clear(double* totals, T* sums, int64_t terms) {
  for (int64_t k = 0; k < terms; ++k) {
    for (int lane = 0; lane < kNativeWidth<T>; ++lane) {
      totals[k] += sums[k * kNativeWidth<T> + lane];
      sums[k * kNativeWidth<T> + lane] = 0;
    }
  }
}

// Coefficients of the neurons in a vector's lanes: by term either a vector, each lane having its own neuron,
// or a number, all lanes having the same.
template <class T>
struct OwnNeurons {
  static constexpr int kStride = kNativeWidth<T>;
  static KAF_INLINE Native<T> native(const T* coefficients, int64_t term) {
    return load_native<T>(coefficients + term * kStride);
  }
  static KAF_INLINE Vec<T> at(const T* coefficients, int64_t term) { return for_all_parts<T>(native(coefficients, term)); }
};

template <class T>
struct OneNeuron {
  static constexpr int kStride = 1;
  static KAF_INLINE Native<T> native(const T* coefficients, int64_t term) { return coefficients[term] - Native<T>{}; }
  static KAF_INLINE Vec<T> at(const T* coefficients, int64_t term) { return splat<T>(coefficients[term]); }
};

// Adds a vector of terms to their sums, which are kept by lane.
template <class T>
KAF_INLINE void add_to(T* sums, Vec<T> terms) {
  store_native<T>(sums, load_native<T>(sums) + sum_of_parts(terms));
}

template <class T>
KAF_INLINE void add_products_to(T* sums, Vec<T> a, Vec<T> b) {
  Native<T> result = a.part[0] * b.part[0];
  for (int i = 1; i < kParts; ++i) result = native_mul_add(a.part[i], b.part[i], result);
  store_native<T>(sums, load_native<T>(sums) + result);
}
