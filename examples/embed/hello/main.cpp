// The smallest host: a C++ function for the script, a script function for C++.
#include <iostream>
#include <talc/talc.hpp>

int main() {
    talc::Engine engine;
    engine.bind("area", [](double width, double height) { return width * height; });
    talc::Result result = engine.run_string("def describe(w, h): return f'{w} x {h} is {area(w, h):.1f}'");
    if (!result.ok()) std::cerr << result.report;
    std::cout << engine.call("describe", 3, 2.5).as<std::string>() << "\n";
}
