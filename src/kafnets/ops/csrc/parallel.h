// Several threads, without getting in the way of torch's own.
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

// Runs part(0) ... part(parts - 1), on that many threads where they can be had and on the calling one otherwise.
void run_parts(int parts, const std::function<void(int)>& part);

// Whether threads come from torch's OpenMP, where that can be found; so it is unless said otherwise.
void use_openmp(bool use);

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
