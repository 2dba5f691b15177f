// Engines in threads: they share nothing that a script can see. `./dev sanitize thread` runs this under the thread sanitizer.
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "talc/talc.hpp"
#include "tests/unit/catch.hpp"

using talc::Engine;

namespace {

constexpr int kThreads = 4;
constexpr int kEngines = 4;

// Something of everything: classes, errors, generators, formatting, modules in C++ and in Talc, output, host functions.
constexpr const char* kWork = R"talc(
import math, random, json, re, itertools, functools, collections, string, io, os, sys, time, copy, heapq
class Base:
    def __init__(self, n): self.n = n
    def __repr__(self): return f"{type(self).__name__}({self.n})"
class Derived(Base):
    @property
    def double(self): return 2 * self.n
def numbers(n):
    for i in range(n):
        yield i
@functools.lru_cache(maxsize=None)
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
random.seed(seed)
words = collections.Counter(re.findall(r"\w+", "the cat and the dog and the bird " * 5))
try:
    [].pop()
except IndexError as e:
    caught = str(e)
cycle = []
cycle.append(cycle)
out = io.StringIO()
print(Derived(seed), f"{math.pi:.3f}", sorted(words.items()), file=out)
total = sum(host(i) for i in numbers(50)) + fib(30) + len(json.dumps({"a": [1.5, None, seed]})) + words["the"]
total += len(list(itertools.permutations(range(4)))) + Derived(seed).double + len(out.getvalue())
for i in range(300):
    node = {"self": None, "i": i}
    node["self"] = node
print("done", seed)
)talc";

}  // namespace

TEST_CASE("threads: four engines in each of four threads") {
    std::atomic<int> right{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; t++) {
        threads.emplace_back([&right, t] {
            std::vector<std::string> printed(kEngines);
            std::vector<std::unique_ptr<Engine>> engines;
            for (int e = 0; e < kEngines; e++) {
                talc::Options options;
                options.out = [&printed, e](std::string_view text) { printed[e] += text; };
                engines.push_back(std::make_unique<Engine>(std::move(options)));
                engines.back()->bind("host", [t](int x) { return x + t; });
            }
            std::vector<int64_t> first(kEngines);
            for (int round = 0; round < 3; round++) {
                for (int e = 0; e < kEngines; e++) {
                    int seed = 10 * t + e;
                    engines[e]->set("seed", seed);
                    if (!engines[e]->run_string(kWork).ok()) return;
                    int64_t total = engines[e]->get("total").as<int64_t>();
                    if (round == 0) first[e] = total;
                    bool same = total == first[e] && engines[e]->get("caught").as<std::string>() == "pop from empty list";
                    engines[e]->flush();
                    if (same && printed[e].ends_with("done " + std::to_string(seed) + "\n")) right++;
                }
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(right == kThreads * kEngines * 3);
}

TEST_CASE("threads: engines come and go in all threads at once") {
    std::atomic<int> right{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; t++) {
        threads.emplace_back([&right, t] {
            for (int i = 0; i < 20; i++) {
                Engine engine;
                engine.set("n", t * 100 + i);
                if (engine.eval("sum(range(n))").as<int>() == (t * 100 + i) * (t * 100 + i - 1) / 2) right++;
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(right == kThreads * 20);
}

TEST_CASE("threads: one thread interrupts what others run") {
    std::vector<std::unique_ptr<Engine>> engines;
    for (int t = 0; t < kThreads; t++) engines.push_back(std::make_unique<Engine>());
    std::atomic<int> started{0}, interrupted{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; t++) {
        threads.emplace_back([&, t] {
            engines[t]->bind("begin", [&started] { started++; });
            auto result = engines[t]->run_string("begin()\nwhile True:\n    x = [i for i in range(10)]\n");
            if (result.outcome == talc::Outcome::Interrupted && engines[t]->eval("1 + 1").as<int>() == 2) interrupted++;
        });
    }
    while (started < kThreads) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    for (auto& engine : engines) engine->interrupt();
    for (std::thread& thread : threads) thread.join();
    CHECK(interrupted == kThreads);
}

TEST_CASE("threads: an engine may move from thread to thread") {
    Engine engine;
    REQUIRE(engine.run_string("steps = []\ndef f(n): return n if n == 0 else 1 + f(n - 1)\n").ok());
    for (int i = 0; i < kThreads; i++) {
        std::thread([&] {
            engine.run_string("steps.append(len(steps))");
            CHECK(engine.call("f", 500).as<int>() == 500);
            CHECK_THROWS_AS(engine.call("f", 100000), talc::Error);
        }).join();
    }
    CHECK(engine.eval("steps").as<std::vector<int>>() == std::vector<int>{0, 1, 2, 3});
}
