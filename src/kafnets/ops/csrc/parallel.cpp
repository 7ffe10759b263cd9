#include "parallel.h"

#include <pthread.h>
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

namespace {

class Pool {
 public:
  // False if the pool is in use.
  bool try_run(int parts, const std::function<void(int)>& part) {
    std::unique_lock<std::mutex> user(in_use_, std::try_to_lock);
    if (!user.owns_lock()) return false;
    {
      std::lock_guard<std::mutex> lock(state_);
      while (workers_ < parts - 1) start_worker();
      part_ = &part;
      parts_ = parts;
      unfinished_ = parts - 1;
      failure_ = nullptr;
      ++job_;
    }
    wake_.notify_all();
    attempt(part, 0);
    std::unique_lock<std::mutex> lock(state_);
    finished_.wait(lock, [&] { return unfinished_ == 0; });
    if (failure_) std::rethrow_exception(failure_);
    return true;
  }

 private:
  void start_worker() {
    const int index = ++workers_;
    // Detached: workers hold nothing that has to be given back, and end with the process.
    std::thread([this, index, seen = job_]() mutable {
      std::unique_lock<std::mutex> lock(state_);
      while (true) {
        wake_.wait(lock, [&] { return job_ != seen; });
        seen = job_;
        if (index >= parts_) continue;
        const std::function<void(int)>& part = *part_;
        lock.unlock();
        attempt(part, index);
        lock.lock();
        if (--unfinished_ == 0) finished_.notify_one();
      }
    }).detach();
  }

  void attempt(const std::function<void(int)>& part, int index) {
    try {
      part(index);
    } catch (...) {
      std::lock_guard<std::mutex> lock(state_);
      failure_ = std::current_exception();
    }
  }

  std::mutex in_use_, state_;
  std::condition_variable wake_, finished_;
  const std::function<void(int)>* part_ = nullptr;
  std::exception_ptr failure_;
  uint64_t job_ = 0;
  int workers_ = 0, parts_ = 0, unfinished_ = 0;
};

Pool* pool() {
  // Never destroyed, since workers may outlive static objects. A forked child has none of the parent's
  // threads, and the parent's locks in whatever state they were in: it gets a new pool.
  static Pool* current = nullptr;
  static std::once_flag once;
  std::call_once(once, [] {
    current = new Pool;
    pthread_atfork(nullptr, nullptr, [] { current = new Pool; });
  });
  return current;
}

}  // namespace

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

void run_parts(int parts, const std::function<void(int)>& part) {
  if (pool()->try_run(parts, part)) return;
  for (int i = 0; i < parts; ++i) part(i);
}
