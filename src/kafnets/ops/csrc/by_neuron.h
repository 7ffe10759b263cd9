// Formulas with coefficients for each neuron, run over both memory layouts.
#pragma once

#include "layout.h"
#include "parallel.h"
#include "settings.h"

// Input and output as (batch, neurons, positions), contiguous.
//
// A formula has a size, the number of coefficients per neuron; weight(k), by which coefficient k is multiplied before
// it is used, and its gradient after; and, for vectors of activations,
//
//   value<Neurons>(coefficients, s)
//   gradients<Neurons>(coefficients, s, upstream, sums), which returns the gradient of s and adds upstream times the
//   derivative by coefficient k to sums, k * kNativeWidth on.
//
// Where one of the two gradients is not wanted it is computed all the same: that is rare, and kernels without it would
// take as long to compile again.
//
// It may work with more numbers per neuron than that, terms() of them: those behind the coefficients are found from
// them by derived(coefficients, k), and what their gradients come to for coefficient k is given by
// from_derived(sums of the derived numbers, k).
//
// One that kTiles takes the activations of a tile at a time instead, whole vectors one after the other in buffers that have
// kTile of them, and goes from there to a strip:
//
//   tile_values<Neurons>(coefficients, s, strip, y)
//   tile_gradients<Neurons>(coefficients, s, upstream, strip, dx or null, sums)
template <class T>
struct NothingMore {
  static constexpr bool kTiles = false;
  T derived(const T*, int64_t) const { return 0; }
  template <class Sum>
  double from_derived(const Sum&, int64_t) const {
    return 0;
  }
};

template <class T, template <class> class Formula>
class ByNeuron {
 public:
  ByNeuron(const Settings& settings, int64_t batch, int64_t neurons, int64_t positions, int threads)
      : formula_(settings), batch_(batch), neurons_(neurons), positions_(positions), threads_(threads) {}

  void forward(const T* x, const T* alpha, T* y) const {
    if (lanes_over_neurons()) {
      const Array<T> beta = weigh(alpha);
      parallel_for(batch_, threads_, [&](int, int64_t begin, int64_t end) {
        // Copies that no store can change, as far as the compiler knows.
        const Formula<T> formula = formula_;
        const T *from = x, *coefficients = beta.data();
        T* to = y;
        const int64_t step = kNativeWidth<T> * formula.terms();
        if constexpr (Formula<T>::kTiles) {
          TileBuffer<T> s;
          for_strips<T>(begin, end, neurons_, [&](int64_t block, const Strip& strip, int64_t next) {
            s.take(from, strip, next);
            s.template ask<true>(to, strip, next);
            formula.template tile_values<OwnNeurons<T>>(coefficients + block * step, s.values, strip, to);
          });
        } else {
          for_blocks<T>(
              begin, end, neurons_,
              [&](int64_t block, const Rows& rows) __attribute__((always_inline)) {
                const Vec<T> at = rows.get_ahead(from);
                rows.put_ahead(to, formula.template value<OwnNeurons<T>>(coefficients + block * step, at));
              });
        }
      });
      return;
    }
    parallel_for(neurons_ * splits(), threads_, [&](int, int64_t begin, int64_t end) {
      Array<T> beta(formula_.terms());
      for (int64_t part = begin; part < end; ++part) {
        const int64_t n = part / splits();
        const T* from = x + n * positions_;
        T* to = y + n * positions_;
        weigh_one(alpha + n * formula_.size, beta.data());
        Runs<T> runs = runs_of_part(part);
        if constexpr (Formula<T>::kTiles) {
          TileBuffer<T> s, values;
          while (!runs.done()) {
            Runs<T> ahead = runs;
            const Strip strip = fill(ahead, [&](int64_t i, const Runs<T>& own) { s.put(i, own.get(from)); });
            formula_.template tile_values<OneNeuron<T>>(beta.data(), s.values, strip, values.values);
            put_all(runs, values, to, strip.vectors);
            runs = ahead;
          }
        } else {
          for (; !runs.done(); runs.next()) {
            runs.put(to, formula_.template value<OneNeuron<T>>(beta.data(), runs.get(from)));
          }
        }
      }
    });
  }

  // dx and dalpha may be null where they are not wanted.
  void backward(const T* x, const T* alpha, const T* upstream, T* dx, T* dalpha) const {
    if (lanes_over_neurons()) {
      backward_over_neurons(x, alpha, upstream, dx, dalpha);
    } else {
      backward_over_positions(x, alpha, upstream, dx, dalpha);
    }
  }

 private:
  bool lanes_over_neurons() const { return positions_ == 1 && 2 * neurons_ >= kNativeWidth<T>; }

  // Parts that the activations of a neuron are cut into, for as many threads to have work as there are.
  int64_t splits() const { return (threads_ + neurons_ - 1) / neurons_; }

  Runs<T> runs_of_part(int64_t part) const {
    const int64_t split = part % splits(), all = batch_ * positions_;
    return Runs<T>(all * split / splits(), all * (split + 1) / splits(), positions_, neurons_ * positions_);
  }

  Array<T> weigh(const T* alpha) const {
    return pack(alpha, neurons_, formula_.size, formula_.terms(), [&](int64_t k) { return formula_.weight(k); },
                [&](const T* own, int64_t k) { return formula_.derived(own, k); });
  }

  void weigh_one(const T* alpha, T* beta) const {
    for (int k = 0; k < formula_.size; ++k) beta[k] = alpha[k] * formula_.weight(k);
    for (int k = formula_.size; k < formula_.terms(); ++k) beta[k] = formula_.derived(alpha, k);
  }

  // The weights as a list of their own, which no store can change, as far as the compiler knows.
  Array<T> weights() const {
    Array<T> result(formula_.size);
    for (int k = 0; k < formula_.size; ++k) result[k] = formula_.weight(k);
    return result;
  }

  // The gradients of a neuron's coefficients from its sums, of which at(k) is the k-th.
  template <class At>
  void unweigh(const At& at, const T* weights, T* __restrict dalpha) const {
    const int64_t size = formula_.size;
    if (formula_.terms() == size) {
      for (int64_t k = 0; k < size; ++k) dalpha[k] = static_cast<T>(at(k) * weights[k]);
      return;
    }
    const auto derived = [&](int64_t k) { return at(size + k); };
    for (int64_t k = 0; k < size; ++k) {
      dalpha[k] = static_cast<T>(at(k) * weights[k] + formula_.from_derived(derived, k));
    }
  }

  void backward_over_neurons(const T* x, const T* alpha, const T* upstream, T* dx, T* dalpha) const {
    const Array<T> beta = weigh(alpha);
    const auto add_rows = [&](int64_t begin, int64_t end, T* sums) {
      const auto own = [&](int64_t block) { return block * kNativeWidth<T> * formula_.terms(); };
      if constexpr (Formula<T>::kTiles) {
        TileBuffer<T> s, u;
        for_strips<T>(begin, end, neurons_, [&](int64_t block, const Strip& strip, int64_t next) {
          s.take(x, strip, next);
          u.take(upstream, strip, next);
          if (dx) s.template ask<true>(dx, strip, next);
          formula_.template tile_gradients<OwnNeurons<T>>(beta.data() + own(block), s.values, u.values, strip, dx,
                                                          sums + own(block));
        });
      } else {
        for_blocks<T>(
            begin, end, neurons_,
            [&](int64_t block, const Rows& rows) __attribute__((always_inline)) {
              const Vec<T> at = rows.get_ahead(x), up = rows.get_ahead(upstream);
              const Vec<T> d =
                  formula_.template gradients<OwnNeurons<T>>(beta.data() + own(block), at, up, sums + own(block));
              if (dx) rows.put_ahead(dx, d);
            });
      }
    };
    const Array<T> by = weights();
    const auto finish = [&](int64_t n, const auto& at) {
      if (dalpha) unweigh(at, by.data(), dalpha + n * formula_.size);
    };
    sum_over_rows<T>(batch_, neurons_, formula_.terms(), threads_, add_rows, finish);
  }

  void backward_over_positions(const T* x, const T* alpha, const T* upstream, T* dx, T* dalpha) const {
    const int64_t terms = formula_.terms();
    std::vector<double> totals(neurons_ * splits() * terms);
    parallel_for(neurons_ * splits(), threads_, [&](int, int64_t begin, int64_t end) {
      Array<T> beta(terms), sums(terms * kNativeWidth<T>);
      for (int64_t part = begin; part < end; ++part) {
        const int64_t n = part / splits();
        double* total = totals.data() + part * terms;
        const T *from = x + n * positions_, *up = upstream + n * positions_;
        T* to = dx ? dx + n * positions_ : nullptr;
        weigh_one(alpha + n * formula_.size, beta.data());
        Runs<T> runs = runs_of_part(part);
        if constexpr (Formula<T>::kTiles) {
          static_assert(kSumLength * kParts % kTile == 0);
          TileBuffer<T> s, u, gradients;
          for (int tiles = 1; !runs.done(); ++tiles) {
            Runs<T> ahead = runs;
            const Strip strip = fill(ahead, [&](int64_t i, const Runs<T>& own) {
              s.put(i, own.get(from));
              u.put(i, own.get(up));
            });
            formula_.template tile_gradients<OneNeuron<T>>(beta.data(), s.values, u.values, strip,
                                                           to ? gradients.values : nullptr, sums.data());
            if (to) put_all(runs, gradients, to, strip.vectors);
            runs = ahead;
            if (tiles % (kSumLength * kParts / kTile) == 0) add_lanes_and_clear(total, sums.data(), terms);
          }
        } else {
          for (int vectors = 1; !runs.done(); runs.next(), ++vectors) {
            const Vec<T> s = runs.get(from), u = runs.get(up);
            const Vec<T> d = formula_.template gradients<OneNeuron<T>>(beta.data(), s, u, sums.data());
            if (to) runs.put(to, d);
            if (vectors % kSumLength == 0) add_lanes_and_clear(total, sums.data(), terms);
          }
        }
        add_lanes_and_clear(total, sums.data(), terms);
      }
    });
    const Array<T> by = weights();
    for (int64_t n = 0; dalpha && n < neurons_; ++n) {
      double* total = totals.data() + n * splits() * terms;
      for (int64_t i = terms; i < splits() * terms; ++i) total[i % terms] += total[i];
      unweigh([&](int64_t k) { return total[k]; }, by.data(), dalpha + n * formula_.size);
    }
  }

  // Calls get(number of a vector in the tile, runs that are there) for the next vectors of one neuron.
  template <class Get>
  static Strip fill(Runs<T>& runs, const Get& get) {
    int64_t vectors = 0;
    for (; vectors < kTile && !runs.done(); vectors += kParts, runs.next()) get(vectors, runs);
    return {0, kNativeWidth<T>, vectors, kNativeWidth<T>};
  }

  static void put_all(Runs<T> runs, const TileBuffer<T>& from, T* to, int64_t vectors) {
    for (int64_t i = 0; i < vectors; i += kParts, runs.next()) runs.put(to, load<T>(from.values + i * kNativeWidth<T>));
  }

  const Formula<T> formula_;
  const int64_t batch_, neurons_, positions_;
  const int threads_;
};
