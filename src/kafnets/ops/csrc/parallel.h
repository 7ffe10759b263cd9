// A pool of threads that sleep between jobs: none spins beside torch's own pool.
#pragma once

#include <cstdint>
#include <functional>

// While it lives, numbers too small for full precision count as 0 on this thread. They arise far from the
// dictionary, where nothing is left to compute, and would make the processor a hundred times slower.
class FlushTinyNumbers {
 public:
  FlushTinyNumbers();
  ~FlushTinyNumbers();
  FlushTinyNumbers(const FlushTinyNumbers&) = delete;
  FlushTinyNumbers& operator=(const FlushTinyNumbers&) = delete;

 private:
  uint64_t saved_;
};

// Runs part(0) ... part(parts - 1), part 0 on the calling thread. If another thread is using the pool, all
// run on the calling thread. Safe in a child process after fork: it starts with a pool of its own.
void run_parts(int parts, const std::function<void(int)>& part);

// Cuts 0 ... count - 1 into `parts` ranges: body(part, begin, end).
template <class Body>
void parallel_for(int64_t count, int parts, const Body& body) {
  const auto range = [&](int part) {
    const FlushTinyNumbers flush;
    body(part, count * part / parts, count * (part + 1) / parts);
  };
  if (parts == 1) {
    range(0);
  } else {
    run_parts(parts, range);
  }
}
