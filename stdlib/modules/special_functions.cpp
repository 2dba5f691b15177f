#include "stdlib/modules/special_functions.hpp"

#include <cmath>
#include <numbers>

namespace talc::stdlib {

// ---- Gamma ----------------------------------------------------------------------------------------

namespace {

// Lanczos' sum with 13 terms for 53-bit floats, as a rational function (coefficients: Boost.Math, lanczos13m53).
constexpr double kG = 6.024680040776729583740234375;
constexpr double kGMinusHalf = 5.524680040776729583740234375;
constexpr double kNumerator[] = {
    23531376880.410759688572007674451636754734846804940, 42919803642.649098768957899047001988850926355848959,
    35711959237.355668049440185451547166705960488635843, 17921034426.037209699919755754458931112671403265390,
    6039542586.3520280050642916443072979210699388420708, 1439720407.3117216736632230727949123939715485786372,
    248874557.86205415651146038641322942321632125127801, 31426415.585400194380614231628318205362874684987640,
    2876370.6289353724412254090516208496135991145378768, 186056.26539522349504029498971604569928220784236328,
    8071.6720023658162106380029022722506138218516325024, 210.82427775157934587250973392071336271166969580291,
    2.5066282746310002701649081771338373386264310793408,
};
constexpr double kDenominator[] = {0,       39916800, 120543840, 150917976, 105258076, 45995730, 13339535,
                                   2637558, 357423,   32670,     1925,      66,        1};

double lanczos_sum(double x) {
    double top = 0, bottom = 0;
    if (x < 5.0) {
        for (size_t i = std::size(kNumerator); i-- > 0;) {
            top = top * x + kNumerator[i];
            bottom = bottom * x + kDenominator[i];
        }
    } else {  // in 1/x, so that large x does not overflow
        for (size_t i = 0; i < std::size(kNumerator); i++) {
            top = top / x + kNumerator[i];
            bottom = bottom / x + kDenominator[i];
        }
    }
    return top / bottom;
}

// sin(pi x), exact where pi x itself would be rounded.
double sin_pi(double x) {
    double y = std::fmod(std::fabs(x), 2.0);
    double r = 0;
    switch (static_cast<int>(std::round(2.0 * y))) {
        case 0: r = std::sin(std::numbers::pi * y); break;
        case 1: r = std::cos(std::numbers::pi * (y - 0.5)); break;
        case 2: r = std::sin(std::numbers::pi * (1.0 - y)); break;
        case 3: r = -std::cos(std::numbers::pi * (y - 1.5)); break;
        default: r = std::sin(std::numbers::pi * (y - 2.0)); break;
    }
    return std::copysign(1.0, x) * r;
}

}  // namespace

double gamma_function(double x) {
    if (!std::isfinite(x)) return x;
    if (x == std::floor(x) && x <= 23) {  // factorials up to 22! are exact floats
        double product = 1;
        for (double factor = 2; factor < x; factor++) product *= factor;
        return product;
    }
    double size = std::fabs(x);
    if (size < 1e-20) return 1.0 / x;
    if (size > 200.0) return x < 0 ? 0.0 / sin_pi(x) : HUGE_VAL;
    double y = size + kGMinusHalf;
    // What the sum y lost in rounding, as a relative correction.
    double lost = size > kGMinusHalf ? (y - size) - kGMinusHalf : (y - kGMinusHalf) - size;
    lost = lost * kG / y;
    // The power overflows for large x where the result does not: taken in two halves.
    bool halves = size >= 140.0;
    double power = std::pow(y, halves ? size / 2.0 - 0.25 : size - 0.5);
    double r = 0;
    if (x < 0) {
        r = -std::numbers::pi / sin_pi(size) / size * std::exp(y) / lanczos_sum(size);
        r -= lost * r;
        r /= power;
        if (halves) r /= power;
    } else {
        r = lanczos_sum(size) / std::exp(y);
        r += lost * r;
        r *= power;
        if (halves) r *= power;
    }
    return r;
}

double log_gamma_function(double x) {
    if (!std::isfinite(x)) return std::fabs(x);
    if (x == std::floor(x) && x <= 2.0) return 0.0;
    double size = std::fabs(x);
    if (size < 1e-20) return -std::log(size);
    double r = std::log(lanczos_sum(size)) - kG;
    r += (size - 0.5) * (std::log(size + kG - 0.5) - 1);
    if (x < 0) {  // reflection
        constexpr double kLogPi = 1.144729885849400174143427351353058711647;
        r = kLogPi - std::log(std::fabs(sin_pi(size))) - std::log(size) - r;
    }
    return r;
}

// ---- Lengths --------------------------------------------------------------------------------------

namespace {

// A sum that keeps what each addition rounds away.
struct DoubleSum {
    double high = 0, low = 0;
    void add(double x) {
        double sum = high + x;
        double part = sum - high;
        low += (high - (sum - part)) + (x - part);
        high = sum;
    }
};

}  // namespace

double euclidean_length(std::span<const double> coordinates) {
    double largest = 0;
    bool nan = false;
    for (double x : coordinates) {
        if (std::isinf(x)) return INFINITY;
        nan = nan || std::isnan(x);
        largest = std::max(largest, std::fabs(x));
    }
    if (nan) return NAN;
    if (largest == 0 || coordinates.size() == 1) return largest;
    int exponent = 0;
    std::frexp(largest, &exponent);
    DoubleSum sum;
    for (double x : coordinates) {
        double scaled = std::ldexp(x, -exponent);
        double square = scaled * scaled;
        sum.add(square);
        sum.low += std::fma(scaled, scaled, -square);
    }
    double total = sum.high + sum.low;
    double rest = (sum.high - total) + sum.low;
    double root = std::sqrt(total);
    root += (std::fma(-root, root, total) + rest) / (2 * root);
    return std::ldexp(root, exponent);
}

// ---- Sums -----------------------------------------------------------------------------------------

bool ExactSum::add(double x) {
    double given = x;
    size_t kept = 0;
    for (double y : partials_) {
        if (std::fabs(x) < std::fabs(y)) std::swap(x, y);
        double high = x + y;
        double low = y - (high - x);
        if (low != 0) partials_[kept++] = low;
        x = high;
    }
    partials_.resize(kept);
    if (x == 0) return true;
    if (!std::isfinite(x)) {
        if (std::isfinite(given)) return false;
        if (std::isinf(given)) infinities_ += given;
        special_ += given;
        has_special_ = true;
        partials_.clear();
        return true;
    }
    partials_.push_back(x);
    return true;
}

bool ExactSum::opposite_infinities() const { return has_special_ && std::isnan(infinities_); }

double ExactSum::total() const {
    if (has_special_) return special_;
    size_t left = partials_.size();
    if (left == 0) return 0;
    double high = partials_[--left];
    double low = 0;
    while (left > 0) {
        double x = high;
        double y = partials_[--left];
        high = x + y;
        low = y - (high - x);
        if (low != 0) break;
    }
    // Half way between two floats: what is left decides, not the even neighbour.
    if (left > 0 && ((low < 0 && partials_[left - 1] < 0) || (low > 0 && partials_[left - 1] > 0))) {
        double twice = low * 2;
        double moved = high + twice;
        if (twice == moved - high) high = moved;
    }
    return high;
}

}  // namespace talc::stdlib
