#include <talc/talc.hpp>

#include "bench/embed/measure.hpp"

namespace bench {

Figures measure_talc() {
    talc::Engine engine;
    engine.bind("host", [](double x) { return x + 0.5; });
    talc::Result loaded = engine.run_string(
        "def f(x):\n    return x + 1\n"
        "def loop(n):\n    s = 0.0\n    for i in range(n):\n        s += host(i)\n    return s\n"
        "def size(text):\n    return len(text)\n");
    check(loaded.ok(), loaded.report.c_str());
    talc::Value f = engine.function("f"), loop = engine.function("loop"), size = engine.function("size");
    Figures figures{"Talc", 0, 0, 0};
    figures.into_script = nanoseconds([&] {
        double x = 0;
        for (int i = 0; i < kCalls; i++) x = f(x).as<double>();
        check(x == kCalls, "Talc, host to script");
    });
    figures.into_host = nanoseconds([&] { check(loop(kCalls).as<double>() == kSum, "Talc, script to host"); });
    figures.text = nanoseconds([&] {
        int64_t sum = 0;
        for (int i = 0; i < kCalls; i++) sum += size("a short text").as<int64_t>();
        check(sum == 12 * int64_t{kCalls}, "Talc, string");
    });
    return figures;
}

}  // namespace bench
