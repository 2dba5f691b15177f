// A host with an image: the script gets a tensor over the host's own pixels, changes them in place, and nothing is copied.
// A script that goes wrong, or on for ever, is the script's problem: the host shows what happened and goes on.
#include <cstdint>
#include <cstdio>
#include <string>
#include <talc/talc.hpp>
#include <vector>

namespace {

struct Image {
    int width, height;
    std::vector<uint8_t> pixels;  // grey, row after row
};

Image gradient(int width, int height) {
    Image image{width, height, {}};
    for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x++) image.pixels.push_back(static_cast<uint8_t>(255 * x / (width - 1)));
    }
    return image;
}

void show(const char* title, const Image& image) {
    std::printf("%s\n", title);
    for (int y = 0; y < image.height; y++) {
        for (int x = 0; x < image.width; x++) std::putchar(" .:-=+*#%@"[image.pixels[y * image.width + x] * 9 / 255]);
        std::putchar('\n');
    }
}

constexpr const char* kFilters = R"(
def negative(image):
    image.copy_(255 - image)

def frame(image):
    image[0] = image[-1] = 255
    image[:, 0] = image[:, -1] = 255

def endless(image):
    while True: pass

def wrong(image):
    image[image.shape[0]] = 0

def columns(image):
    return image.float().mean(dim=0)
)";

}  // namespace

int main() {
    talc::Options options;
    options.limits.seconds = 0.1;
    options.may_import = [](std::string_view module) { return module == "math"; };
    options.may_open = [](const std::string&, bool) { return false; };
    talc::Engine engine(options);
    talc::Result loaded = engine.run_string(kFilters, "filters.tc");
    if (!loaded.ok()) {
        std::fputs(loaded.report.c_str(), stderr);
        return 1;
    }
    Image image = gradient(24, 5);
    show("before", image);
    // The pixels outlive the tensor, so nobody else needs to own them.
    talc::TensorView pixels = talc::tensor_over(image.pixels.data(), {image.height, image.width});
    for (const char* filter : {"negative", "frame", "endless", "wrong"}) {
        try {
            engine.call(filter, pixels);
            show(filter, image);
        } catch (const talc::Error& error) {
            std::printf("%s, line %u: %s\n", filter, error.traceback().back().line, error.what());
        }
    }
    // And the other way: a view of a tensor that the script made.
    talc::TensorView means = engine.call("columns", pixels).as<talc::TensorView>();
    std::printf("means of %lld columns:", static_cast<long long>(means.count()));
    for (int64_t i = 0; i < means.count(); i += 6) std::printf(" %.1f", static_cast<double>(means.data_as<float>()[i]));
    std::printf("\n");
}
