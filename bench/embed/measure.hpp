#pragma once
// What each language measures, in the same words: nanoseconds a call, the best of some rounds.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace bench {

constexpr int kCalls = 2'000'000;
constexpr int kRounds = 7;

struct Figures {
    const char* language;
    double into_script;   // the host calls f(x) = x + 1 of the script with a double and reads the result
    double into_host;     // a script's loop adds up host(i); the loop is part of the time
    double text;          // the host calls a script function with a string and reads its length
};

template <class F>
double nanoseconds(F&& all_calls) {
    double best = 1e300;
    for (int round = 0; round < kRounds; round++) {
        auto start = std::chrono::steady_clock::now();
        all_calls();
        std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
        best = std::min(best, took.count() / kCalls);
    }
    return best;
}

// A wrong answer is never a fast one.
inline void check(bool right, const char* what) {
    if (right) return;
    std::fprintf(stderr, "wrong result: %s\n", what);
    std::exit(1);
}

constexpr double kSum = static_cast<double>(kCalls) * (kCalls - 1) / 2 + 0.5 * kCalls;  // of host(i) = i + 0.5

Figures measure_talc();
Figures measure_lua();
Figures measure_python();

}  // namespace bench
