#include "stdlib/modules/time_parse.hpp"

#include <array>
#include <cstdint>
#include <fmt/format.h>

#include "base/text/buffer.hpp"
#include "base/text/repr.hpp"

namespace talc::stdlib {

namespace {

constexpr std::array<std::string_view, 7> kDays = {"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"};
constexpr std::array<std::string_view, 12> kMonths = {"january", "february", "march",     "april",   "may",      "june",
                                                      "july",    "august",   "september", "october", "november", "december"};

struct Mismatch {};
struct Complaint {
    std::string text;
};

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

std::string quoted(std::string_view text) {
    text::Buffer out;
    text::append_str_repr(out, text);
    return out.str();
}

class TimeReader {
  public:
    TimeReader(std::string_view text, std::string_view format) : text_(text), format_(format) {}

    std::tm read() {
        follow(format_);
        if (at_ < text_.size()) throw Complaint{fmt::format("unconverted data remains: {}", text_.substr(at_))};
        return finish();
    }

  private:
    void follow(std::string_view format) {
        for (size_t i = 0; i < format.size(); i++) {
            if (is_space(format[i])) {
                while (i + 1 < format.size() && is_space(format[i + 1])) i++;
                if (at_ >= text_.size() || !is_space(text_[at_])) throw Mismatch();
                while (at_ < text_.size() && is_space(text_[at_])) at_++;
            } else if (format[i] == '%') {
                if (++i >= format.size()) throw Complaint{fmt::format("stray % in format {}", quoted(format_))};
                directive(format[i]);
            } else {
                if (at_ >= text_.size() || lower(text_[at_]) != lower(format[i])) throw Mismatch();
                at_++;
            }
        }
    }

    void directive(char c) {
        switch (c) {
            case 'Y': year_ = exactly(4); break;
            case 'y': year_ = exactly(2), year_ += year_ < 69 ? 2000 : 1900; break;
            case 'm': month_ = number(2, 1, 12); break;
            case 'd': day_ = day_number(); break;
            case 'H': hour_ = number(2, 0, 23); break;
            case 'I': hour_ = number(2, 1, 12), twelve_ = true; break;
            case 'M': minute_ = number(2, 0, 59); break;
            case 'S': second_ = number(2, 0, 61); break;
            case 'j': year_day_ = number(3, 1, 366); break;
            case 'w': number(1, 0, 6); break;
            case 'U':
            case 'W': number(2, 0, 53); break;
            case 'f':
                if (at_ >= text_.size() || !is_digit(text_[at_])) throw Mismatch();
                for (int i = 0; i < 6 && at_ < text_.size() && is_digit(text_[at_]); i++) at_++;
                break;
            case 'A': word(kDays, false); break;
            case 'a': word(kDays, true); break;
            case 'B': month_ = word(kMonths, false) + 1; break;
            case 'b':
            case 'h': month_ = word(kMonths, true) + 1; break;
            case 'p': after_noon_ = word(std::array<std::string_view, 2>{"am", "pm"}, false); break;
            case 'Z': zone_ = word(std::array<std::string_view, 2>{"utc", "gmt"}, false) >= 0; break;
            case 'z': offset(); break;
            case 'c': follow("%a %b %d %H:%M:%S %Y"); break;
            case 'x':
            case 'D': follow("%m/%d/%y"); break;
            case 'X':
            case 'T': follow("%H:%M:%S"); break;
            case 'R': follow("%H:%M"); break;
            case '%':
                if (at_ >= text_.size() || text_[at_++] != '%') throw Mismatch();
                break;
            default: throw Complaint{fmt::format("'{}' is a bad directive in format {}", c, quoted(format_))};
        }
    }

    int exactly(int digits) {
        int value = 0;
        for (int i = 0; i < digits; i++) {
            if (at_ >= text_.size() || !is_digit(text_[at_])) throw Mismatch();
            value = value * 10 + (text_[at_++] - '0');
        }
        return value;
    }
    // As many digits as stay within the limits.
    int number(int digits, int least, int most) {
        for (int count = digits; count > 0; count--) {
            int value = 0, i = 0;
            while (i < count && at_ + static_cast<size_t>(i) < text_.size() && is_digit(text_[at_ + static_cast<size_t>(i)])) {
                value = value * 10 + (text_[at_ + static_cast<size_t>(i++)] - '0');
            }
            if (i == count && value >= least && value <= most) {
                at_ += static_cast<size_t>(count);
                return value;
            }
        }
        throw Mismatch();
    }
    int day_number() {  // a space may stand for its first digit
        if (at_ + 1 < text_.size() && text_[at_] == ' ') at_++;
        return number(2, 1, 31);
    }
    template <size_t n>
    int word(const std::array<std::string_view, n>& words, bool brief) {
        for (size_t i = 0; i < n; i++) {
            std::string_view want = brief ? words[i].substr(0, 3) : words[i];
            if (text_.size() - at_ < want.size()) continue;
            bool same = true;
            for (size_t k = 0; k < want.size(); k++) same = same && lower(text_[at_ + k]) == want[k];
            if (!same) continue;
            at_ += want.size();
            return static_cast<int>(i);
        }
        throw Mismatch();
    }
    void offset() {
        if (at_ < text_.size() && (text_[at_] == 'Z' || text_[at_] == 'z')) {
            at_++;
            return;
        }
        if (at_ >= text_.size() || (text_[at_] != '+' && text_[at_] != '-')) throw Mismatch();
        bool behind = text_[at_++] == '-';
        int hours = exactly(2);
        if (at_ < text_.size() && text_[at_] == ':') at_++;
        int seconds = hours * 3600 + exactly(2) * 60;
        gmtoff_ = behind ? -seconds : seconds;
    }

    static bool is_leap(int year) { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0); }
    static int days_in(int month, int year) {
        constexpr std::array<int, 12> days = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
        return month == 2 && is_leap(year) ? 29 : days[static_cast<size_t>(month - 1)];
    }

    std::tm finish() const {
        std::tm t{};
        int hour = hour_;
        if (twelve_) hour = after_noon_ == 1 ? (hour_ == 12 ? 12 : hour_ + 12) : hour_ == 12 ? 0 : hour_;
        int month = month_, day = day_;
        // Without a year the 29th of February is one of a leap year.
        bool leap_needed = year_ < 0 && month == 2 && day == 29;
        int year = leap_needed ? 1904 : year_ < 0 ? 1900 : year_;
        if (year_day_ > 0 && year_ >= 0 && month_ == 1 && day_ == 1) {
            day = year_day_;
            for (month = 1; month < 12 && day > days_in(month, year); month++) day -= days_in(month, year);
        }
        if (day > days_in(month, year)) throw Complaint{"day is out of range for month"};
        std::tm whole{};
        whole.tm_year = year - 1900;
        whole.tm_mon = month - 1;
        whole.tm_mday = day;
        ::timegm(&whole);  // finds the days of the week and of the year
        t.tm_year = (leap_needed ? 1900 : year) - 1900;
        t.tm_mon = month - 1;
        t.tm_mday = day;
        t.tm_hour = hour;
        t.tm_min = minute_;
        t.tm_sec = second_;
        t.tm_wday = whole.tm_wday;
        t.tm_yday = whole.tm_yday;
        t.tm_isdst = zone_ ? 0 : -1;
        t.tm_gmtoff = gmtoff_;
        return t;
    }

    std::string_view text_, format_;
    size_t at_ = 0;
    int year_ = -1, month_ = 1, day_ = 1, hour_ = 0, minute_ = 0, second_ = 0, year_day_ = -1, after_noon_ = 0;
    bool twelve_ = false, zone_ = false;
    long gmtoff_ = 0;
};

}  // namespace

std::string parse_time(std::string_view text, std::string_view format, std::tm& out) {
    try {
        out = TimeReader(text, format).read();
    } catch (Mismatch&) {
        return fmt::format("time data {} does not match format {}", quoted(text), quoted(format));
    } catch (Complaint& complaint) {
        return std::move(complaint.text);
    }
    return {};
}

}  // namespace talc::stdlib
