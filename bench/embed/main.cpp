#include "bench/embed/measure.hpp"

int main() {
    using namespace bench;
    const Figures rows[] = {measure_talc(), measure_lua(), measure_python()};
    std::printf("%-22s%16s%16s%16s\n", "ns a call", "host to script", "script to host", "with a string");
    for (const Figures& row : rows) {
        std::printf("%-22s%16.1f%16.1f%16.1f\n", row.language, row.into_script, row.into_host, row.text);
    }
}
