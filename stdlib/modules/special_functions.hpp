#pragma once
// Numerical functions of the module math that C's library does not have, or not as exact as CPython's.
#include <span>
#include <vector>

namespace talc::stdlib {

// Gamma function, by Lanczos' approximation. Not for poles.
double gamma_function(double x);
double log_gamma_function(double x);

// Square root of the sum of squares, rounded as if it were exact; no overflow on the way.
double euclidean_length(std::span<const double> coordinates);

// A sum of floats without any rounding but that of the result (Shewchuk's partial sums).
class ExactSum {
  public:
    bool add(double x);                       // false: a partial sum is too large
    bool opposite_infinities() const;         // inf - inf was added up
    double total() const;                     // correctly rounded

  private:
    std::vector<double> partials_;            // do not overlap, the smallest first
    double special_ = 0;                      // sum of infinities and NaNs
    double infinities_ = 0;
    bool has_special_ = false;
};

}  // namespace talc::stdlib
