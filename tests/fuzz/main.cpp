// A mutation fuzzer: makes programs out of the test scripts and runs them in-process, in worker processes that the
// parent watches. The program number N of a run is a function of the seed and N, so a finding is two numbers; the
// first ones are the scripts as they are.
//   talc_fuzz --seeds FOLDER [--skip WORD,...] [--count N] [--seconds S] [--seed N] [--jobs N] [--out FOLDER]
//   talc_fuzz --seeds FOLDER --seed N --show INDEX     prints that program;  --only INDEX  runs it
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <ctime>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>
#include <sstream>
#include <thread>
#include <vector>

#include "tests/fuzz/mutate.hpp"
#include "tests/fuzz/target.hpp"

#if defined(__SANITIZE_ADDRESS__)
extern "C" int __lsan_do_recoverable_leak_check();
#endif

namespace talc::fuzz {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kProgramBytes = 1000;
constexpr uint64_t kLeakCheckEvery = 50000;  // programs; a check takes seconds
constexpr int kLeakStatus = 77;
constexpr double kHangSeconds = 15;      // of the worker's own time: a busy machine makes no hangs
constexpr double kStuckSeconds = 300;    // on the clock, for one that waits

struct Options {
    std::filesystem::path seeds = "tests/scripts";
    std::string skip;  // scripts with one of these words (comma-separated) in their path are no seeds
    std::filesystem::path out = "fuzz-findings";
    uint64_t count = 100000;  // 0: only the scripts as they are
    uint64_t seed = 1;
    double seconds = 7200;
    unsigned jobs = std::max(1u, std::thread::hardware_concurrency());
    int64_t only = -1;
    int64_t show = -1;
};

// What a worker tells the parent; in memory that both see.
struct Progress {
    std::atomic<uint64_t> index{0};  // of the program that runs now
    std::atomic<uint64_t> done{0};
    std::array<std::atomic<uint64_t>, kOutcomes> outcomes{};
};

bool leaks_found() {
#if defined(__SANITIZE_ADDRESS__)
    return __lsan_do_recoverable_leak_check() != 0;
#else
    return false;
#endif
}

// Processor time that a process has used.
double cpu_seconds(pid_t pid) {
    clockid_t clock;
    timespec time{};
    if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

void send_stderr_to(const char* path) {
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (file < 0 || dup2(file, STDERR_FILENO) < 0) _exit(2);
    close(file);
}

struct Worker {
    pid_t pid = -1;
    Progress* progress = nullptr;
    uint64_t next = 0;  // where it begins when it is started again
    uint64_t last_done = 0;
    Clock::time_point last_change{};
    double last_cpu = 0;
    std::filesystem::path log;
};

class Fuzzer {
  public:
    explicit Fuzzer(Options options) : options_(std::move(options)) {}

    bool skipped(const std::string& path) const {
        std::istringstream words(options_.skip);
        for (std::string word; std::getline(words, word, ',');) {
            if (path.find(word) != std::string::npos) return true;
        }
        return false;
    }

    bool load() {
        std::vector<std::filesystem::path> files;
        for (const auto& entry : std::filesystem::recursive_directory_iterator(options_.seeds)) {
            if (entry.path().extension() == ".tc" && !skipped(entry.path().string())) files.push_back(entry.path());
        }
        std::sort(files.begin(), files.end());  // a finding's numbers mean the same on every file system
        for (const auto& path : files) {
            std::ifstream in(path, std::ios::binary);
            std::stringstream text;
            text << in.rdbuf();
            corpus_.add(path.string(), text.str());
        }
        if (options_.count == 0) options_.count = corpus_.size();
        return !corpus_.empty();
    }

    std::string program(uint64_t index) const {
        if (index < corpus_.size()) return corpus_.whole(index);
        Random random(options_.seed, index);
        return corpus_.make(random, kProgramBytes);
    }

    Outcome run(uint64_t index) const {
        return run_program(program(index), index < corpus_.size() ? Effort::Much : Effort::Little);
    }

    int run_all() {
        std::filesystem::create_directories(options_.out);
        began_ = Clock::now();
        std::vector<Worker> workers(options_.jobs);
        for (size_t i = 0; i < workers.size(); i++) {
            void* memory = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
            if (memory == MAP_FAILED) return 2;
            workers[i].progress = new (memory) Progress;
            workers[i].next = i;
            workers[i].log = options_.out / ("worker-" + std::to_string(i) + ".log");
            start(workers[i]);
        }
        auto last_report = began_;
        while (std::any_of(workers.begin(), workers.end(), [](const Worker& worker) { return worker.pid > 0; })) {
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
            for (Worker& worker : workers) watch(worker);
            if (seconds_since(last_report) > 30) {
                last_report = Clock::now();
                report(workers, "so far");
            }
        }
        report(workers, "in all");
        std::printf("%llu crashes, %llu hangs, %llu leaks%s\n", count(crashes_), count(hangs_), count(leaks_),
                    findings() ? (", kept in " + options_.out.string()).c_str() : "");
        return findings() ? 1 : 0;
    }

  private:
    static unsigned long long count(uint64_t n) { return n; }
    static double seconds_since(Clock::time_point then) {
        return std::chrono::duration<double>(Clock::now() - then).count();
    }
    uint64_t findings() const { return crashes_ + hangs_ + leaks_; }

    void start(Worker& worker) {
        if (worker.next >= options_.count || seconds_since(began_) > options_.seconds || findings() >= 50) {
            worker.pid = -1;
            return;
        }
        std::fflush(stdout);
        worker.last_change = Clock::now();
        worker.last_done = worker.progress->done;
        worker.last_cpu = 0;
        worker.pid = fork();
        if (worker.pid == 0) {
            send_stderr_to(worker.log.c_str());
            work(*worker.progress, worker.next, options_.count, options_.jobs, options_.seconds - seconds_since(began_));
        }
    }

    // Runs every step-th program from `first` on, and ends the process.
    [[noreturn]] void work(Progress& progress, uint64_t first, uint64_t end, uint64_t step, double seconds) const {
        auto began = Clock::now();
        uint64_t since_check = 0;
        for (uint64_t index = first; index < end; index += step) {
            progress.index = index;
            Outcome outcome = run(index);
            progress.outcomes[static_cast<size_t>(outcome)]++;
            progress.done++;
            if (++since_check == kLeakCheckEvery) {
                since_check = 0;
                if (leaks_found()) _exit(kLeakStatus);
            }
            if ((index & 15) == 0 && seconds_since(began) > seconds) break;
        }
        _exit(leaks_found() ? kLeakStatus : 0);
    }

    void watch(Worker& worker) {
        if (worker.pid <= 0) return;
        int status = 0;
        if (waitpid(worker.pid, &status, WNOHANG) == worker.pid) {
            uint64_t index = worker.progress->index;
            if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
                worker.pid = -1;
                return;
            }
            if (WIFEXITED(status) && WEXITSTATUS(status) == kLeakStatus) {
                uint64_t done = std::min<uint64_t>((index - worker.next) / options_.jobs + 1, kLeakCheckEvery);
                keep(worker, find_leak(index - (done - 1) * options_.jobs, index), "leak", leaks_);
            } else {
                keep(worker, index, "crash", crashes_);
            }
            worker.next = index + options_.jobs;
            start(worker);
        } else if (worker.progress->done != worker.last_done) {
            worker.last_done = worker.progress->done;
            worker.last_change = Clock::now();
            worker.last_cpu = cpu_seconds(worker.pid);
        } else if (cpu_seconds(worker.pid) - worker.last_cpu > kHangSeconds || seconds_since(worker.last_change) > kStuckSeconds) {
            kill(worker.pid, SIGKILL);
            waitpid(worker.pid, &status, 0);
            keep(worker, worker.progress->index, "hang", hangs_);
            worker.next = worker.progress->index + options_.jobs;
            start(worker);
        }
    }

    // The program that leaks, of those from first to last: by halves, each tried in a process of its own.
    uint64_t find_leak(uint64_t first, uint64_t last) {
        while (first < last) {
            uint64_t middle = first + (last - first) / options_.jobs / 2 * options_.jobs;
            if (leaks_in(first, middle)) {
                last = middle;
            } else if (middle + options_.jobs <= last) {
                first = middle + options_.jobs;
            } else {
                break;
            }
        }
        return first;
    }

    bool leaks_in(uint64_t first, uint64_t last) {
        std::fflush(stdout);
        pid_t pid = fork();
        if (pid == 0) {
            send_stderr_to("/dev/null");
            Progress progress;
            work(progress, first, last + 1, options_.jobs, 1e9);
        }
        int status = 0;
        waitpid(pid, &status, 0);
        return WIFEXITED(status) && WEXITSTATUS(status) == kLeakStatus;
    }

    void keep(const Worker& worker, uint64_t index, const char* what, uint64_t& counter) {
        counter++;
        auto path = options_.out / (std::string(what) + "-" + std::to_string(options_.seed) + "-" +
                                    std::to_string(index) + ".tc");
        std::ofstream(path, std::ios::binary) << program(index);
        std::printf("%s: program %llu, kept as %s\n", what, count(index), path.c_str());
        std::ifstream log(worker.log);
        std::string line;
        for (int i = 0; i < 24 && std::getline(log, line); i++) std::printf("    %s\n", line.c_str());
        std::error_code ignored;
        std::filesystem::copy_file(worker.log, path.string() + ".log",
                                   std::filesystem::copy_options::overwrite_existing, ignored);
    }

    void report(const std::vector<Worker>& workers, const char* when) const {
        uint64_t done = 0;
        std::array<uint64_t, kOutcomes> outcomes{};
        for (const Worker& worker : workers) {
            done += worker.progress->done;
            for (size_t i = 0; i < kOutcomes; i++) outcomes[i] += worker.progress->outcomes[i];
        }
        double seconds = seconds_since(began_);
        std::printf("%s %llu executions in %.0f s (%.0f/s): %llu refused by the parser, %llu ran to the end, "
                    "%llu raised, %llu stopped by a limit\n",
                    when, count(done), seconds, static_cast<double>(done) / seconds, count(outcomes[0]),
                    count(outcomes[1]), count(outcomes[2]), count(outcomes[3]));
        std::fflush(stdout);
    }

    Options options_;
    Corpus corpus_;
    Clock::time_point began_{};
    uint64_t crashes_ = 0, hangs_ = 0, leaks_ = 0;
};

bool parse(int argc, char** argv, Options& options) {
    for (int i = 1; i + 1 < argc; i += 2) {
        std::string_view name = argv[i];
        const char* value = argv[i + 1];
        if (name == "--seeds") options.seeds = value;
        else if (name == "--out") options.out = value;
        else if (name == "--count") options.count = std::strtoull(value, nullptr, 10);
        else if (name == "--skip") options.skip = value;
        else if (name == "--seed") options.seed = std::strtoull(value, nullptr, 10);
        else if (name == "--seconds") options.seconds = std::strtod(value, nullptr);
        else if (name == "--jobs") options.jobs = static_cast<unsigned>(std::max(1l, std::strtol(value, nullptr, 10)));
        else if (name == "--only") options.only = std::strtoll(value, nullptr, 10);
        else if (name == "--show") options.show = std::strtoll(value, nullptr, 10);
        else return false;
    }
    return argc % 2 == 1;
}

}  // namespace
}  // namespace talc::fuzz

int main(int argc, char** argv) {
    using namespace talc::fuzz;
    Options options;
    if (!parse(argc, argv, options)) {
        std::fprintf(stderr, "usage: talc_fuzz --seeds FOLDER [--count N] [--seconds S] [--seed N] [--jobs N] "
                             "[--out FOLDER] [--show INDEX | --only INDEX]\n");
        return 2;
    }
    Fuzzer fuzzer(options);
    if (!fuzzer.load()) {
        std::fprintf(stderr, "%s: no .tc files\n", options.seeds.c_str());
        return 2;
    }
    if (options.show >= 0) {
        std::fputs(fuzzer.program(static_cast<uint64_t>(options.show)).c_str(), stdout);
        return 0;
    }
    if (options.only >= 0) {
        Outcome outcome = fuzzer.run(static_cast<uint64_t>(options.only));
        static constexpr const char* kNames[] = {"refused", "finished", "raised", "stopped"};
        std::puts(kNames[static_cast<size_t>(outcome)]);
        return 0;
    }
    int status = fuzzer.run_all();
    std::fflush(stdout);
    _exit(status);  // the workers have looked for leaks
}
