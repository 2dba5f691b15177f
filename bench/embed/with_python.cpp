#include <pybind11/embed.h>

#include "bench/embed/measure.hpp"

namespace py = pybind11;

PYBIND11_EMBEDDED_MODULE(host_module, module) {
    module.def("host", [](double x) { return x + 0.5; });
}

namespace bench {

Figures measure_python() {
    py::scoped_interpreter interpreter;
    py::exec("from host_module import host\n"
             "def f(x):\n    return x + 1\n"
             "def loop(n):\n    s = 0.0\n    for i in range(n):\n        s += host(i)\n    return s\n"
             "def size(text):\n    return len(text)\n");
    py::object main = py::module_::import("__main__");
    py::object f = main.attr("f"), loop = main.attr("loop"), size = main.attr("size");
    Figures figures{"CPython (pybind11)", 0, 0, 0};
    figures.into_script = nanoseconds([&] {
        double x = 0;
        for (int i = 0; i < kCalls; i++) x = f(x).cast<double>();
        check(x == kCalls, "Python, host to script");
    });
    figures.into_host = nanoseconds([&] { check(loop(kCalls).cast<double>() == kSum, "Python, script to host"); });
    figures.text = nanoseconds([&] {
        int64_t sum = 0;
        for (int i = 0; i < kCalls; i++) sum += size("a short text").cast<int64_t>();
        check(sum == 12 * int64_t{kCalls}, "Python, string");
    });
    return figures;
}

}  // namespace bench
