#include "tensor/print.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "tensor/factory.hpp"

namespace talc::tensor {

namespace {

// PyTorch's print options.
constexpr int kPrecision = 4;
constexpr int64_t kThreshold = 1000;  // more elements are summarized
constexpr int64_t kEdge = 3;          // shown at each end of a summarized dimension
constexpr size_t kLineWidth = 80;

std::string padded(std::string text, size_t width) {
    return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

// Python writes nan without a sign.
std::string fixed(double value, int digits) {
    return std::isnan(value) ? "nan" : fmt::format("{:.{}f}", value, digits);
}
std::string scientific(double value) { return std::isnan(value) ? "nan" : fmt::format("{:.{}e}", value, kPrecision); }

// One width and notation for all elements that are shown.
class Format {
  public:
    Format(const Tensor& tensor, bool summarized) : floating_(is_float(tensor.dtype())) {
        double least = HUGE_VAL, most = 0;
        std::vector<double> counted;
        visit_shown(tensor, summarized, 0, 0, [&](Scalar value) {
            if (!floating_) {
                width_ = std::max(width_, text(value).size());
            } else if (std::isfinite(value.f) && value.f != 0) {
                counted.push_back(value.f);
                least = std::min(least, std::fabs(value.f));
                most = std::max(most, std::fabs(value.f));
                whole_ = whole_ && value.f == std::ceil(value.f);
            }
        });
        if (counted.empty()) return;
        scientific_ = most / least > 1000.0 || most > 1.0e8 || least < 1.0e-4;
        for (double value : counted) width_ = std::max(width_, text(Scalar(value)).size());
    }

    size_t width() const { return width_; }
    std::string operator()(Scalar value) const { return padded(text(value), width_); }

  private:
    std::string text(Scalar value) const {
        if (!floating_) return value.category == Category::Bool ? (value.i ? "True" : "False") : std::to_string(value.i);
        if (scientific_) return scientific(value.f);
        if (whole_) return fixed(value.f, 0) + (std::isfinite(value.f) ? "." : "");
        return fixed(value.f, kPrecision);
    }

    template <class F>
    static void visit_shown(const Tensor& tensor, bool summarized, int64_t dim, int64_t offset, F&& visit) {
        if (dim == tensor.rank()) {
            Dims none;
            visit(element_at(tensor.alias({}, {}, tensor.offset() + offset), none));
            return;
        }
        for (int64_t i = 0; i < tensor.size(dim); ++i) {
            if (summarized && tensor.size(dim) > 2 * kEdge && i == kEdge) i = tensor.size(dim) - kEdge;
            visit_shown(tensor, summarized, dim + 1, offset + i * tensor.stride(dim), visit);
        }
    }

    bool floating_;
    bool whole_ = true;
    bool scientific_ = false;
    size_t width_ = 1;
};

struct Printer {
    const Tensor& tensor;
    const Format& format;
    bool summarized;

    Scalar at(int64_t offset) const {
        return element_at(tensor.alias({}, {}, tensor.offset() + offset), std::span<const int64_t>{});
    }
    bool cuts(int64_t dim) const { return summarized && tensor.size(dim) > 2 * kEdge; }

    std::string vector(int64_t dim, int64_t offset, size_t indent) const {
        std::vector<std::string> items;
        for (int64_t i = 0; i < tensor.size(dim); ++i) {
            if (cuts(dim) && i == kEdge) {
                items.push_back(" ...");
                i = tensor.size(dim) - kEdge;
            }
            items.push_back(format(at(offset + i * tensor.stride(dim))));
        }
        size_t room = kLineWidth > indent ? kLineWidth - indent : 0;
        size_t per_line = std::max<size_t>(1, room / (format.width() + 2));
        std::string text = "[";
        for (size_t i = 0; i < items.size(); ++i) {
            if (i) text += i % per_line == 0 ? ",\n" + std::string(indent + 1, ' ') : ", ";
            text += items[i];
        }
        return text + "]";
    }

    std::string body(int64_t dim, int64_t offset, size_t indent) const {
        int64_t rest = tensor.rank() - dim;
        if (rest == 0) return format(at(offset));
        if (rest == 1) return vector(dim, offset, indent);
        std::string between = "," + std::string(static_cast<size_t>(rest - 1), '\n') + std::string(indent + 1, ' ');
        std::string text = "[";
        for (int64_t i = 0; i < tensor.size(dim); ++i) {
            if (i) text += between;
            if (cuts(dim) && i == kEdge) {
                text += "..." + between;
                i = tensor.size(dim) - kEdge;
            }
            text += body(dim + 1, offset + i * tensor.stride(dim), indent + 1);
        }
        return text + "]";
    }
};

}  // namespace

std::string repr(const Context& context, const Tensor& tensor, std::string_view grad_fn) {
    return repr(context, tensor, tensor.device(), tensor.requires_grad(), grad_fn);
}

std::string repr(const Context& context, const Tensor& tensor, Device device, bool requires_grad,
                 std::string_view grad_fn) {
    constexpr std::string_view kPrefix = "tensor(";
    std::vector<std::string> suffixes;
    if (device.type != context.default_device.type) suffixes.push_back(fmt::format("device='{}'", to_string(device)));
    std::string text(kPrefix);
    DType dtype = tensor.dtype();
    bool usual = dtype == context.default_float;
    if (tensor.numel() == 0) {
        if (tensor.rank() != 1) suffixes.push_back("size=" + parenthesized(tensor.sizes()));
        text += "[]";
    } else {
        usual = usual || dtype == DType::Int64 || dtype == DType::Bool;
        bool summarized = tensor.numel() > kThreshold;
        Format format(tensor, summarized);
        text += Printer{tensor, format, summarized}.body(0, 0, kPrefix.size());
    }
    if (!usual) suffixes.push_back(fmt::format("dtype={}", name_of(dtype)));
    if (!grad_fn.empty()) {
        suffixes.push_back(fmt::format("grad_fn=<{}>", grad_fn));
    } else if (requires_grad) {
        suffixes.push_back("requires_grad=True");
    }
    // As PyTorch counts: one more than the last line is long.
    size_t newline = text.rfind('\n');
    size_t line = newline == std::string::npos ? text.size() + 2 : text.size() - newline + 1;
    for (const std::string& suffix : suffixes) {
        if (line + suffix.size() + 2 > kLineWidth) {
            text += ",\n" + std::string(kPrefix.size(), ' ') + suffix;
            line = kPrefix.size() + suffix.size();
        } else {
            text += ", " + suffix;
            line += suffix.size() + 2;
        }
    }
    return text + ")";
}

}  // namespace talc::tensor
