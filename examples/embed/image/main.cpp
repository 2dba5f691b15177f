// A host with an image: a script changes the pixels, and the host reads them back. A script that goes wrong, or on for
// ever, is the script's problem: the host shows its report and goes on with the image that it has.
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
def negative(pixels, width, height):
    return [255 - p for p in pixels]

def frame(pixels, width, height):
    for x in range(width):
        pixels[x] = pixels[(height - 1) * width + x] = 255
    for y in range(height):
        pixels[y * width] = pixels[y * width + width - 1] = 255
    return pixels

def endless(pixels, width, height):
    while True: pass

def wrong(pixels, width, height):
    return pixels[width * height]
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
    for (const char* filter : {"negative", "frame", "endless", "wrong"}) {
        try {
            talc::Value result = engine.call(filter, image.pixels, image.width, image.height);
            image.pixels = result.as<std::vector<uint8_t>>();
            show(filter, image);
        } catch (const talc::Error& error) {
            const talc::Place& place = error.traceback().back();
            std::printf("%s, line %u: %s\n", filter, place.line, error.what());
        }
    }
}
