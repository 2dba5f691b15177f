#pragma once
// Compiling does not stall: what got hot by itself is compiled by a thread of its own, and runs operator by operator
// until it is ready. The thread sees nothing of the engine but the fragment's graph, which no longer changes.
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include "jit/trace.hpp"

namespace talc::jit {

class CompileQueue {
  public:
    CompileQueue() = default;
    ~CompileQueue();
    CompileQueue(const CompileQueue&) = delete;

    void add(std::shared_ptr<Fragment> fragment, inductor::Backend* backend);
    // Until everything that was added is ready (or has failed).
    void wait();
    // Forgets what has not been begun, and waits for the rest.
    void clear();

  private:
    void work();

    struct Job {
        std::shared_ptr<Fragment> fragment;
        inductor::Backend* backend;
    };
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Job> jobs_;
    bool busy_ = false;
    bool end_ = false;
    std::thread thread_;  // started with the first job
};

}  // namespace talc::jit
