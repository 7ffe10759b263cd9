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
// What it adds to these results in a second step, if it finishes(), while they are in the nearest cache, is for
//
//   finish_values<Neurons>(coefficients, s, values, to, y)
//   finish_gradients<Neurons>(coefficients, s, upstream, gradients, to, dx or null, sums)
//
// which goes from buffers, whole vectors one after the other, to a strip.
template <class T>
struct NothingMore {
  T derived(const T*, int64_t) const { return 0; }
  template <class Sum>
  double from_derived(const Sum&, int64_t) const {
    return 0;
  }
  static constexpr bool finishes() { return false; }
  template <class Neurons>
  void finish_values(const T*, const T*, const T*, const Strip&, T*) const {}
  template <class Neurons>
  void finish_gradients(const T*, const T*, const T*, const T*, const Strip&, T*, T*) const {}
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
        const bool finishes = formula.finishes();
        TileBuffer<T> s, values;
        for_blocks<T>(
            begin, end, neurons_,
            [&](int64_t block, const Rows& rows, int64_t row) __attribute__((always_inline)) {
              const Vec<T> at = rows.get_ahead(from);
              const Vec<T> value = formula.template value<OwnNeurons<T>>(coefficients + block * step, at);
              if (!finishes) return rows.put_ahead(to, value);
              rows.ask_ahead(to);
              s.put(row, at);
              values.put(row, value);
            },
            [&](int64_t block, const Strip& strip) {
              if (!finishes) return;
              formula.template finish_values<OwnNeurons<T>>(coefficients + block * step, s.values, values.values, strip, to);
            });
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
        for (Runs<T> runs = runs_of_part(part); !runs.done(); runs.next()) {
          const Vec<T> s = runs.get(from);
          Vec<T> value = formula_.template value<OneNeuron<T>>(beta.data(), s);
          if (formula_.finishes()) finish_value(beta.data(), s, value);
          runs.put(to, value);
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

  // The gradients of a neuron's coefficients from its sums, of which at(k) is the k-th.
  template <class At>
  void unweigh(const At& at, T* dalpha) const {
    const auto derived = [&](int64_t k) { return at(formula_.size + k); };
    for (int64_t k = 0; k < formula_.size; ++k) {
      dalpha[k] = static_cast<T>(at(k) * formula_.weight(k) + formula_.from_derived(derived, k));
    }
  }

  void backward_over_neurons(const T* x, const T* alpha, const T* upstream, T* dx, T* dalpha) const {
    const Array<T> beta = weigh(alpha);
    const auto add_rows = [&](int64_t begin, int64_t end, T* sums) {
      const auto own = [&](int64_t block) { return block * kNativeWidth<T> * formula_.terms(); };
      TileBuffer<T> s, u, gradients;
      for_blocks<T>(
          begin, end, neurons_,
          [&](int64_t block, const Rows& rows, int64_t row) __attribute__((always_inline)) {
            const Vec<T> at = rows.get_ahead(x), up = rows.get_ahead(upstream);
            const Vec<T> d = formula_.template gradients<OwnNeurons<T>>(beta.data() + own(block), at, up, sums + own(block));
            if (!formula_.finishes()) {
              if (dx) rows.put_ahead(dx, d);
              return;
            }
            if (dx) rows.ask_ahead(dx);
            s.put(row, at);
            u.put(row, up);
            gradients.put(row, d);
          },
          [&](int64_t block, const Strip& strip) {
            if (!formula_.finishes()) return;
            formula_.template finish_gradients<OwnNeurons<T>>(beta.data() + own(block), s.values, u.values,
                                                              gradients.values, strip, dx, sums + own(block));
          });
    };
    const auto finish = [&](int64_t n, const auto& at) {
      if (dalpha) unweigh(at, dalpha + n * formula_.size);
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
        int vectors = 0;
        for (Runs<T> runs = runs_of_part(part); !runs.done(); runs.next()) {
          const Vec<T> s = runs.get(from), u = runs.get(up);
          Vec<T> d = formula_.template gradients<OneNeuron<T>>(beta.data(), s, u, sums.data());
          if (formula_.finishes()) finish_gradient(beta.data(), s, u, d, sums.data());
          if (to) runs.put(to, d);
          if (++vectors % kSumLength == 0) add_lanes_and_clear(total, sums.data(), terms);
        }
        add_lanes_and_clear(total, sums.data(), terms);
      }
    });
    for (int64_t n = 0; dalpha && n < neurons_; ++n) {
      double* total = totals.data() + n * splits() * terms;
      for (int64_t i = terms; i < splits() * terms; ++i) total[i % terms] += total[i];
      unweigh([&](int64_t k) { return total[k]; }, dalpha + n * formula_.size);
    }
  }

  // The second step for one vector of one neuron: few activations come this way, so that it may take its time.
  void finish_value(const T* beta, Vec<T> s, Vec<T>& value) const {
    formula_.template finish_values<OneNeuron<T>>(beta, parts(s), parts(value), kVector, parts(value));
  }

  void finish_gradient(const T* beta, Vec<T> s, Vec<T> upstream, Vec<T>& d, T* sums) const {
    formula_.template finish_gradients<OneNeuron<T>>(beta, parts(s), parts(upstream), parts(d), kVector, parts(d), sums);
  }

  static constexpr Strip kVector{0, kNativeWidth<T>, kParts, kNativeWidth<T>};
  static T* parts(Vec<T>& v) { return reinterpret_cast<T*>(v.part); }

  const Formula<T> formula_;
  const int64_t batch_, neurons_, positions_;
  const int threads_;
};
