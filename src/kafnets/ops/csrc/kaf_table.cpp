#include "kaf_table.h"

#include <atomic>

#include "activations.h"
#include "parallel.h"

namespace {

constexpr int64_t kBlock = 16;  // neighboring neurons whose values fill a line of the cache
constexpr int64_t kRowsAhead = 16;  // what is needed so much later is asked for: the processor does not foresee it
constexpr int64_t kLongRun = 64;  // from here on a run is taken by itself, though its last vector is not full

// Measured, in units of the time that the formula takes for an activation and an element: by the formula, an activation
// takes as long as kOfFormula elements more for each segment (see plan.h); by table, what is given here; and making a
// table some for each multiply-add. The formula makes use of longer vectors. Where channels are innermost, neurons have to
// be taken apart first. Looking up in registers saves kSavedNear.
constexpr int64_t kFewestActivations = 32, kSavedNear = 6;
#if defined(__AVX512F__)
constexpr int64_t kOfFormula = 32, kOfTable = 46, kOfTableApart = 84, kOfMaking = 16;
#elif defined(__AVX2__)
constexpr int64_t kOfFormula = 32, kOfTable = 31, kOfTableApart = 51, kOfMaking = 12;
#else
constexpr int64_t kOfFormula = 45, kOfTable = 27, kOfTableApart = 37, kOfMaking = 6;
#endif

std::atomic<int> preferred{0};

// One neuron's values lie a row apart in memory if channels are innermost; a few rows of a block of neurons, taken
// to and from chunks in which each neuron's values are neighbors.
void transpose_in(const float* from, int64_t step, int64_t rows, int64_t count, float* to) {
  const int64_t whole = count / kLanes * kLanes, fours = rows / 4 * 4;
  for (int64_t r = 0; r < fours; r += 4) {
    for (int64_t n = 0; n < whole; n += kLanes) {
      Lanes v[4];
      for (int i = 0; i < 4; ++i) {
        __builtin_prefetch(from + (r + i + kRowsAhead) * step + n, 0, 2);
        v[i] = load_as<Lanes>(from + (r + i) * step + n);
      }
      transpose(v);
      for (int i = 0; i < 4; ++i) store_quads(to + (n + i) * kChunk + r, to + (n + kLanes - 4 + i) * kChunk + r, v[i]);
    }
  }
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t n = r < fours ? whole : 0; n < count; ++n) to[n * kChunk + r] = from[r * step + n];
  }
}

void transpose_out(const float* from, int64_t step, int64_t rows, int64_t count, float* to) {
  const int64_t whole = count / kLanes * kLanes, fours = rows / 4 * 4;
  for (int64_t r = 0; r < fours; r += 4) {
    for (int64_t n = 0; n < whole; n += kLanes) {
      Lanes v[4];
      for (int i = 0; i < 4; ++i) {
        v[i] = load_quads(from + (n + i) * kChunk + r, from + (n + kLanes - 4 + i) * kChunk + r);
      }
      transpose(v);
      for (int i = 0; i < 4; ++i) {
        __builtin_prefetch(to + (r + i + kRowsAhead) * step + n, 1, 2);
        store_as(to + (r + i) * step + n, v[i]);
      }
    }
  }
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t n = r < fours ? whole : 0; n < count; ++n) to[r * step + n] = from[n * kChunk + r];
  }
}

// What one neuron's activations add up to: in floats for a chunk, in doubles for several.
struct Sums {
  explicit Sums(const TablePlan& plan) : size(plan.rows * kPowers), totals(size) {}

  void clear() {
    std::fill(totals.begin(), totals.end(), 0.0);
    by_weight = 0;
  }

  void add(const Sums& other) {
    for (size_t i = 0; i < size; ++i) totals[i] += other.totals[i];
    by_weight += other.by_weight;
  }

  // Of even and odd lanes, which become 0.
  void take(Array<float>& both) {
    for (size_t i = 0; i < size; ++i) totals[i] += both[i] + both[size + i];
    std::fill(both.begin(), both.end(), 0.0f);
  }

  // The same where this is all there is.
  void finish_at_once(const TablePlan& plan, Array<float>& both, float* dcoefficients) const {
    for (size_t i = 0; i < size; ++i) both[i] += both[size + i];
    gradients_from_sums(plan, both.data(), by_weight, dcoefficients);
    std::fill(both.begin(), both.end(), 0.0f);
  }

  void finish(const TablePlan& plan, float* dcoefficients) const {
    const Array<float> rounded(totals.begin(), totals.end());
    gradients_from_sums(plan, rounded.data(), by_weight, dcoefficients);
  }

  size_t size;
  Array<double> totals;
  double by_weight = 0;
};

class KafTable {
 public:
  KafTable(const Settings& settings, int64_t batch, int64_t neurons, int64_t positions, int threads)
      : plan_(plan_for<TablePlan>(settings)),
        neurons_(neurons),
        positions_(neurons == 1 ? batch * positions : positions),  // all of one neuron's values are neighbors
        activations_(batch * positions),
        block_(positions_ == 1 ? kBlock : 1),
        blocks_((neurons + block_ - 1) / block_),
        splits_(std::min<int64_t>((threads + blocks_ - 1) / blocks_, (activations_ + kChunk - 1) / kChunk)),
        threads_(threads) {}

  void forward(const float* x, const float* coefficients, float* y) const {
    parallel_for(blocks_ * splits_, threads_, [&](int, int64_t begin, int64_t end) {
      Tables tables(plan_, block_);
      Activations activations(plan_);
      Array<float> in(block_ * kChunk), out(block_ * kChunk);
      for (int64_t part = begin; part < end; ++part) {
        const int64_t first = part / splits_ * block_, count = std::min(block_, neurons_ - first);
        tables.make(plan_.values, false, coefficients + first * plan_.size, count);
        for_chunks(part, [&](const Chunk& chunk) {
          const float* from = chunk.read(x, in.data());
          float* to = chunk.place(y, out.data());
          for (int64_t n = 0; n < count; ++n) {
            activations.locate(from + n * kChunk, chunk.size);
            activations.values(tables, n, to + n * kChunk);
          }
          chunk.write(to, y);
        });
      }
    });
  }

  template <bool kInput, bool kAlpha>
  void backward(const float* x, const float* coefficients, const float* upstream, float* dx,
                float* dcoefficients) const {
    std::vector<Sums> shared(kAlpha && splits_ > 1 ? blocks_ * splits_ * block_ : 0, Sums(plan_));
    parallel_for(blocks_ * splits_, threads_, [&](int, int64_t begin, int64_t end) {
      Tables tables(plan_, block_);
      Activations activations(plan_);
      std::vector<Sums> own(block_, Sums(plan_));
      Array<float> in(block_ * kChunk), above(block_ * kChunk), out(block_ * kChunk);
      Array<float> sums(kAlpha ? 2 * plan_.rows * kPowers : 0);
      for (int64_t part = begin; part < end; ++part) {
        const int64_t first = part / splits_ * block_, count = std::min(block_, neurons_ - first);
        if (kInput) tables.make(plan_.slopes, true, coefficients + first * plan_.size, count);
        for (Sums& each : own) each.clear();
        for_chunks(part, [&](const Chunk& chunk) {
          const float *from = chunk.read(x, in.data()), *u = chunk.read(upstream, above.data());
          float* to = kInput ? chunk.place(dx, out.data()) : nullptr;
          for (int64_t n = 0; n < count; ++n) {
            activations.locate(from + n * kChunk, chunk.size);
            if (kInput) activations.gradients(tables, n, u + n * kChunk, to + n * kChunk);
            if (!kAlpha) continue;
            activations.add_powers(u + n * kChunk, sums.data(), own[n].by_weight);
            if (!one_chunk()) {
              own[n].take(sums);
            } else {
              own[n].finish_at_once(plan_, sums, dcoefficients + (first + n) * plan_.size);
            }
          }
          if (kInput) chunk.write(to, dx);
        });
        for (int64_t n = 0; kAlpha && !one_chunk() && n < count; ++n) {
          if (splits_ > 1) {
            shared[part * block_ + n] = own[n];
          } else {
            own[n].finish(plan_, dcoefficients + (first + n) * plan_.size);
          }
        }
      }
    });
    if (shared.empty()) return;
    for (int64_t neuron = 0; neuron < neurons_; ++neuron) {
      Sums* parts = &shared[neuron / block_ * splits_ * block_ + neuron % block_];
      for (int64_t split = 1; split < splits_; ++split) parts[0].add(parts[split * block_]);
      parts[0].finish(plan_, dcoefficients + neuron * plan_.size);
    }
  }

 private:
  // Some activations of one neuron, or of neighbors if channels are innermost. Where they do not lie together they are
  // copied to a buffer, kChunk for each neuron.
  struct Chunk {
    int64_t at, size, neurons, positions, step;  // positions: in a run; step: from run to run
    int64_t left_in_run;                         // from `at` on

    bool in_place() const { return neurons == 1 && size <= left_in_run; }
    float* place(float* y, float* buffer) const {
      if (!in_place()) return buffer;
      for (int64_t i = 0; i < size; i += 16) __builtin_prefetch(y + at + step + i, 1);
      return y + at;
    }

    const float* read(const float* x, float* buffer) const {
      if (in_place()) {
        for (int64_t i = 0; i < size; i += 16) __builtin_prefetch(x + at + step + i);  // the next run
        return x + at;
      }
      if (positions == 1) {
        transpose_in(x + at, step, size, neurons, buffer);
      } else {
        for_pieces([&](int64_t i, int64_t offset, int64_t count) { std::copy_n(x + offset, count, buffer + i); });
      }
      return buffer;
    }

    void write(const float* from, float* y) const {
      if (in_place()) return;
      if (positions == 1) {
        transpose_out(from, step, size, neurons, y + at);
      } else {
        for_pieces([&](int64_t i, int64_t offset, int64_t count) { std::copy_n(from + i, count, y + offset); });
      }
    }

    template <class Body>
    void for_pieces(const Body& body) const {
      int64_t offset = at, length = std::min(size, left_in_run);
      for (int64_t i = 0; i < size;) {
        body(i, offset, length);
        i += length;
        offset += length + step - positions;
        length = std::min(size - i, positions);
      }
    }
  };

  // Whether all activations of a neuron are computed at a time.
  bool one_chunk() const { return activations_ <= kChunk && (positions_ < kLongRun || positions_ == activations_); }

  template <class Body>
  void for_chunks(int64_t part, const Body& body) const {
    const int64_t first = part / splits_ * block_, split = part % splits_, step = neurons_ * positions_;
    const int64_t end = activations_ * (split + 1) / splits_;
    for (int64_t i = activations_ * split / splits_; i < end;) {
      const int64_t left_in_run = positions_ - i % positions_;
      const int64_t most = left_in_run >= kLongRun ? std::min(left_in_run, kChunk) : kChunk;
      const Chunk chunk{i / positions_ * step + first * positions_ + i % positions_, std::min(most, end - i),
                        std::min(block_, neurons_ - first), positions_, step, left_in_run};
      body(chunk);
      i += chunk.size;
    }
  }

  const TablePlan& plan_;
  const int64_t neurons_, positions_, activations_, block_, blocks_, splits_;
  const int threads_;
};

}  // namespace

void prefer_tables(int preference) { preferred = preference; }

bool table_pays(const Settings& settings, int64_t batch, int64_t neurons, int64_t positions) {
  const int preference = preferred;
  if (preference < 0 || batch * positions < kFewestActivations) return false;
  const TablePlan& plan = plan_for<TablePlan>(settings);
  if (preference > 0) return plan.usable;
  const bool near = kLooksUpInRegisters && plan.first_near >= 0;
  const int64_t of_table = (neurons > 1 && positions == 1 ? kOfTableApart : kOfTable) - (near ? kSavedNear : 0);
  const int64_t segments = static_cast<int64_t>(
      plan_for<Plan<float>>({plan.elements, settings.first, settings.second, settings.third, 0, 0}).segments.size());
  const int64_t saved = batch * positions * (plan.elements + segments * kOfFormula - of_table);
  return plan.usable && saved >= kOfMaking * (plan.work() + 200);
}

void table_forward(const Settings& settings, int64_t batch, int64_t neurons, int64_t positions, int threads,
                   const float* x, const float* coefficients, float* y) {
  KafTable(settings, batch, neurons, positions, threads).forward(x, coefficients, y);
}

void table_backward(const Settings& settings, int64_t batch, int64_t neurons, int64_t positions, int threads,
                    const float* x, const float* coefficients, const float* upstream, float* dx, float* dcoefficients) {
  const KafTable kernel(settings, batch, neurons, positions, threads);
  if (dx && dcoefficients) {
    kernel.backward<true, true>(x, coefficients, upstream, dx, dcoefficients);
  } else if (dx) {
    kernel.backward<true, false>(x, coefficients, upstream, dx, dcoefficients);
  } else if (dcoefficients) {
    kernel.backward<false, true>(x, coefficients, upstream, dx, dcoefficients);
  }
}
