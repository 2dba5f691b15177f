#include "jit/compile_queue.hpp"

#include "jit/fragment.hpp"

namespace talc::jit {

CompileQueue::~CompileQueue() {
    {
        std::lock_guard lock(mutex_);
        jobs_.clear();
        end_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
}

void CompileQueue::add(std::shared_ptr<Fragment> fragment, inductor::Backend* backend) {
    {
        std::lock_guard lock(mutex_);
        jobs_.push_back({std::move(fragment), backend});
        if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
    }
    changed_.notify_all();
}

void CompileQueue::wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return jobs_.empty() && !busy_; });
}

void CompileQueue::clear() {
    std::unique_lock lock(mutex_);
    jobs_.clear();
    changed_.wait(lock, [&] { return !busy_; });
}

void CompileQueue::work() {
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [&] { return end_ || !jobs_.empty(); });
        if (end_) return;
        Job job = std::move(jobs_.front());
        jobs_.pop_front();
        busy_ = true;
        lock.unlock();
        compile_fragment(*job.fragment, *job.backend);
        job.fragment->ready.store(true, std::memory_order_release);
        job.fragment = nullptr;
        lock.lock();
        busy_ = false;
        changed_.notify_all();
    }
}

}  // namespace talc::jit
