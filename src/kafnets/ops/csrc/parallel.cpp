#include "parallel.h"

#include <dlfcn.h>
#include <pthread.h>
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

namespace {

// Parts of a job, handed out to whoever asks.
class Job {
 public:
  Job(int parts, const std::function<void(int)>& part) : parts_(parts), part_(part) {}

  void work() {
    for (int i; (i = next_++) < parts_;) {
      try {
        part_(i);
      } catch (...) {
        std::lock_guard<std::mutex> lock(failing_);
        failure_ = std::current_exception();
      }
    }
  }

  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  const int parts_;
  const std::function<void(int)>& part_;
  std::atomic<int> next_{0};
  std::mutex failing_;
  std::exception_ptr failure_;
};

// Whether this process was forked: it then has none of its parent's threads, and whatever keeps track of
// them, here or in OpenMP, does not know. A child works alone, as torch's own data loaders make theirs do. The
// handler is registered when the module is loaded, so that it also sees a fork before the first job.
std::atomic<bool> forked{false};
[[maybe_unused]] const int registered = pthread_atfork(nullptr, nullptr, [] { forked = true; });

// torch's own OpenMP, if it is one that offers the entry point that GCC's code calls. Its threads wait for work
// in a busy loop for a while after each operation of torch; others could only compete with them.
using Parallel = void (*)(void (*)(void*), void*, unsigned, unsigned);

std::atomic<bool> openmp_wanted{true};

Parallel torch_openmp() {
  static const auto found = reinterpret_cast<Parallel>(dlsym(RTLD_DEFAULT, "GOMP_parallel"));
  return openmp_wanted ? found : nullptr;
}

// Where that is missing: threads that sleep between jobs.
class Pool {
 public:
  // False if the pool is in use.
  bool try_run(int threads, Job& job) {
    std::unique_lock<std::mutex> user(in_use_, std::try_to_lock);
    if (!user.owns_lock()) return false;
    {
      std::lock_guard<std::mutex> lock(state_);
      while (workers_ < threads - 1) start_worker();
      job_ = &job;
      unfinished_ = workers_;
      ++number_;
    }
    wake_.notify_all();
    job.work();
    std::unique_lock<std::mutex> lock(state_);
    finished_.wait(lock, [&] { return unfinished_ == 0; });
    return true;
  }

 private:
  void start_worker() {
    ++workers_;
    // Detached: workers hold nothing that has to be given back, and end with the process.
    std::thread([this, seen = number_]() mutable {
      std::unique_lock<std::mutex> lock(state_);
      while (true) {
        wake_.wait(lock, [&] { return number_ != seen; });
        seen = number_;
        Job& job = *job_;
        lock.unlock();
        job.work();
        lock.lock();
        if (--unfinished_ == 0) finished_.notify_one();
      }
    }).detach();
  }

  std::mutex in_use_, state_;
  std::condition_variable wake_, finished_;
  Job* job_ = nullptr;
  uint64_t number_ = 0;
  int workers_ = 0, unfinished_ = 0;
};

}  // namespace

void use_openmp(bool use) { openmp_wanted = use; }

void run_parts(int parts, const std::function<void(int)>& part) {
  static Pool* const pool = new Pool;  // never destroyed: workers may outlive static objects
  Job job(parts, part);
  if (forked) {
    job.work();
  } else if (const Parallel parallel = torch_openmp()) {
    parallel([](void* data) { static_cast<Job*>(data)->work(); }, &job, static_cast<unsigned>(parts), 0);
  } else if (!pool->try_run(parts, job)) {
    job.work();
  }
  job.rethrow();
}

#if defined(__SSE2__)
FlushTinyNumbers::FlushTinyNumbers() : saved_(_mm_getcsr()) { _mm_setcsr(static_cast<unsigned>(saved_) | 0x8040); }
FlushTinyNumbers::~FlushTinyNumbers() { _mm_setcsr(static_cast<unsigned>(saved_)); }
#elif defined(__aarch64__)
FlushTinyNumbers::FlushTinyNumbers() {
  asm volatile("mrs %0, fpcr" : "=r"(saved_));
  asm volatile("msr fpcr, %0" ::"r"(saved_ | (uint64_t(1) << 24)));
}
FlushTinyNumbers::~FlushTinyNumbers() { asm volatile("msr fpcr, %0" ::"r"(saved_)); }
#else
FlushTinyNumbers::FlushTinyNumbers() : saved_(0) {}
FlushTinyNumbers::~FlushTinyNumbers() {}
#endif
