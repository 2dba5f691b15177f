#include "base/thread_pool.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace talc {

namespace {

class ThreadPool {
  public:
    ~ThreadPool() {
        {
            std::lock_guard lock(mutex_);
            ending_ = true;
        }
        wake_.notify_all();
        for (std::thread& thread : threads_) thread.join();
    }

    // False: somebody else is using the threads.
    bool run(int64_t count, int64_t grain, const std::function<void(int64_t, int64_t)>& body) {
        if (inside_) return false;
        std::unique_lock use(use_, std::try_to_lock);
        if (!use.owns_lock()) return false;
        start();
        int64_t workers = static_cast<int64_t>(threads_.size()) + 1;
        // A few pieces a thread, so that a slow one does not keep the others waiting.
        int64_t piece = std::max(grain, (count + workers * 4 - 1) / (workers * 4));
        {
            std::lock_guard lock(mutex_);
            body_ = &body;
            count_ = count;
            piece_ = piece;
            next_.store(0, std::memory_order_relaxed);
            failure_ = nullptr;
            busy_ = threads_.size();
            ++round_;
        }
        wake_.notify_all();
        work();
        std::unique_lock lock(mutex_);
        done_.wait(lock, [&] { return busy_ == 0; });
        body_ = nullptr;
        if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
        return true;
    }

  private:
    void start() {
        if (started_) return;
        started_ = true;
        unsigned cores = std::max(1u, std::thread::hardware_concurrency());
        for (unsigned i = 1; i < cores; ++i) threads_.emplace_back([this] { serve(); });
    }

    void serve() {
        inside_ = true;
        uint64_t seen = 0;
        std::unique_lock lock(mutex_);
        for (;;) {
            wake_.wait(lock, [&] { return ending_ || round_ != seen; });
            if (ending_) return;
            seen = round_;
            lock.unlock();
            work();
            lock.lock();
            if (--busy_ == 0) done_.notify_one();
        }
    }

    void work() {
        bool outer = std::exchange(inside_, true);
        try {
            for (;;) {
                int64_t begin = next_.fetch_add(piece_, std::memory_order_relaxed);
                if (begin >= count_) break;
                (*body_)(begin, std::min(count_, begin + piece_));
            }
        } catch (...) {
            next_.store(count_, std::memory_order_relaxed);
            std::lock_guard lock(mutex_);
            if (!failure_) failure_ = std::current_exception();
        }
        inside_ = outer;
    }

    static thread_local bool inside_;  // this thread is running a piece

    std::mutex use_;    // held by the one caller that has the threads
    std::mutex mutex_;  // guards what follows
    std::condition_variable wake_, done_;
    std::vector<std::thread> threads_;
    const std::function<void(int64_t, int64_t)>* body_ = nullptr;
    int64_t count_ = 0, piece_ = 1;
    std::atomic<int64_t> next_{0};
    size_t busy_ = 0;
    uint64_t round_ = 0;
    std::exception_ptr failure_;
    bool started_ = false, ending_ = false;
};

thread_local bool ThreadPool::inside_ = false;

ThreadPool& shared_pool() {
    static ThreadPool pool;
    return pool;
}

}  // namespace

void parallel_for(int64_t count, int64_t grain, const std::function<void(int64_t, int64_t)>& body) {
    if (count <= 0) return;
    if (count <= grain || !shared_pool().run(count, std::max<int64_t>(grain, 1), body)) {
        body(0, count);
    }
}

}  // namespace talc
