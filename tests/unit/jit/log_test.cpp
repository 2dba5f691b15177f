// What --log says of compiled code: a channel is heard when it is asked for, and no other.
#include <string>

#include "talc/talc.hpp"
#include "tests/unit/catch.hpp"

namespace {

constexpr const char* kProgram = R"(
@jit
def f(x):
    y = (x * 2).relu()
    if y.sum() > 0:
        return softmax(y, dim=-1)
    return y
f(ones(4, 4))
f(ones(4, 4))
f(ones(3, 4))
)";

std::string logged(const std::string& channels) {
    std::string text;
    talc::Options options;
    options.logs = channels;
    options.err = [&](std::string_view part) { text += part; };
    talc::Engine engine(options);
    CHECK(engine.run_string(kProgram, "program.tc").outcome == talc::Outcome::Ok);
    return text;
}

}  // namespace

TEST_CASE("log: each channel of the jit has its words") {
    struct Channel {
        const char *name, *words;
    };
    for (Channel channel : {Channel{"trace", "recording from program.tc"}, {"trace_code", "GuardTensor"},
                            {"graph_breaks", "tensor-branch"}, {"recompiles", "size mismatch at index 0: expected 4, actual 3"},
                            {"guards", "GuardTensor failed"}, {"graph", "relu("}, {"passes", "simplify"},
                            {"fusion", " with "}, {"output_code", "fold sum"}}) {
        std::string text = logged(channel.name);
        INFO(channel.name << ":\n" << text);
        CHECK(text.find(channel.words) != std::string::npos);
        CHECK(text.find(std::string("[") + channel.name + "]") != std::string::npos);
        for (const char* other : {"trace", "graph_breaks", "recompiles", "graph", "fusion", "output_code"}) {
            if (other == std::string_view(channel.name)) continue;
            CHECK(text.find(std::string("[") + other + "]") == std::string::npos);
        }
    }
    CHECK(logged("").empty());
}
