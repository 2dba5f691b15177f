// time: clocks, waiting, calendar times.
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <ctime>
#include <mutex>

#include "stdlib/modules.hpp"
#include "stdlib/modules/time_parse.hpp"
#include "stdlib/support.hpp"

namespace talc::stdlib {

namespace {

// The C library's time zone is the process's: engines in several threads take turns.
void set_zone() {
    static std::mutex mutex;
    std::lock_guard lock(mutex);
    ::tzset();
}

constexpr int64_t kNanoseconds = 1'000'000'000;

int64_t read_clock(clockid_t clock) {
    timespec now{};
    ::clock_gettime(clock, &now);
    return int64_t{now.tv_sec} * kNanoseconds + now.tv_nsec;
}

Ref seconds_of(int64_t nanoseconds) {
    // Whole seconds and the rest apart: one division of a large number would lose digits.
    return real(static_cast<double>(nanoseconds / kNanoseconds) + static_cast<double>(nanoseconds % kNanoseconds) * 1e-9);
}

// ---- Calendar times ----

const RecordClass kStructTime = {
    "struct_time",
    "time",
    {"tm_year", "tm_mon", "tm_mday", "tm_hour", "tm_min", "tm_sec", "tm_wday", "tm_yday", "tm_isdst"}};

Ref make_time(Vm& vm, const std::tm& t) {
    Ref made = make_record(vm, kStructTime,
                           {Value::integer(int64_t{t.tm_year} + 1900), Value::integer(t.tm_mon + 1), Value::integer(t.tm_mday),
                            Value::integer(t.tm_hour), Value::integer(t.tm_min), Value::integer(t.tm_sec),
                            Value::integer((t.tm_wday + 6) % 7), Value::integer(t.tm_yday + 1), Value::integer(t.tm_isdst)});
    set_attr_plain(vm, made, intern(vm, "tm_zone").get(), make_str(vm, t.tm_zone ? t.tm_zone : "UTC"));
    set_attr_plain(vm, made, intern(vm, "tm_gmtoff").get(), Value::integer(t.tm_gmtoff));
    return made;
}

std::time_t seconds_argument(Vm& vm, Value v) {
    if (v.is_none()) return std::time(nullptr);
    if (!v.is_float()) return to_index(vm, v);
    double seconds = std::floor(to_double(vm, v));
    if (std::isnan(seconds)) raise(vm, Exc::ValueError, "Invalid value NaN (not a number)");
    if (std::fabs(seconds) >= 9.2e18) raise(vm, Exc::OverflowError, "timestamp out of range for platform time_t");
    return static_cast<std::time_t>(seconds);
}

std::tm calendar(Vm& vm, std::time_t seconds, bool utc) {
    std::tm result{};
    std::tm* made = utc ? ::gmtime_r(&seconds, &result) : ::localtime_r(&seconds, &result);
    if (!made) raise(vm, Exc::OverflowError, "timestamp out of range for platform time_t");
    return result;
}

// A struct_time or any tuple of nine ints.
std::tm time_argument(Vm& vm, Value v, const char* function) {
    if (!v.is_kind(Kind::Tuple)) raise(vm, Exc::TypeError, "Tuple or struct_time argument required");
    auto* tuple = cast<Tuple>(v);
    constexpr size_t kFields = 9;
    if (tuple->size != kFields) raise(vm, Exc::TypeError, "{}(): illegal time tuple argument", function);
    int64_t fields[kFields];
    for (size_t i = 0; i < kFields; i++) fields[i] = to_index(vm, tuple->items[i]);
    std::tm t{};
    if (fields[0] < INT32_MIN + 1900 || fields[0] > INT32_MAX) raise(vm, Exc::OverflowError, "year out of range");
    t.tm_year = static_cast<int>(fields[0] - 1900);
    t.tm_mon = static_cast<int>(fields[1] - 1);
    t.tm_mday = static_cast<int>(fields[2]);
    t.tm_hour = static_cast<int>(fields[3]);
    t.tm_min = static_cast<int>(fields[4]);
    t.tm_sec = static_cast<int>(fields[5]);
    t.tm_wday = static_cast<int>((fields[6] + 1) % 7);
    t.tm_yday = static_cast<int>(fields[7] - 1);
    t.tm_isdst = static_cast<int>(fields[8]);
    return t;
}

// Zero stands for the first month, day of the month and day of the year; the rest must be in range.
void check_fields(Vm& vm, std::tm& t) {
    auto check = [&](int& field, int least, int most, const char* name, bool zero) {
        if (zero && field == least - 1) field = least;
        if (field < least || field > most) raise(vm, Exc::ValueError, "{} out of range", name);
    };
    check(t.tm_mon, 0, 11, "month", true);
    check(t.tm_mday, 1, 31, "day of month", true);
    check(t.tm_hour, 0, 23, "hour", false);
    check(t.tm_min, 0, 59, "minute", false);
    check(t.tm_sec, 0, 61, "seconds", false);
    if (t.tm_wday < 0) raise(vm, Exc::ValueError, "day of week out of range");
    check(t.tm_yday, 0, 365, "day of year", true);
    t.tm_isdst = std::clamp(t.tm_isdst, -1, 1);
}

std::tm shown_time(Vm& vm, Value given, const char* function) {
    if (given.is_undef()) return calendar(vm, std::time(nullptr), false);
    std::tm t = time_argument(vm, given, function);
    check_fields(vm, t);
    if (given.o->cls->user) {  // a struct_time knows its zone
        Ref offset = find_attr(vm, given, intern(vm, "tm_gmtoff").get());
        Ref zone = find_attr(vm, given, intern(vm, "tm_zone").get());
        if (offset && is_integer(offset)) t.tm_gmtoff = static_cast<long>(int_value(offset));
        if (is_str(zone)) t.tm_zone = cast<Str>(zone.get())->data;  // kept alive by the tuple
    }
    return t;
}

Ref as_text(Vm& vm, const std::tm& t) {
    constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    return make_str(vm, fmt::format("{} {}{:3} {:02}:{:02}:{:02} {}", kDays[t.tm_wday], kMonths[t.tm_mon], t.tm_mday,
                                    t.tm_hour, t.tm_min, t.tm_sec, int64_t{t.tm_year} + 1900));
}

}  // namespace

Ref time_time(Vm&, const Args&) { return seconds_of(read_clock(CLOCK_REALTIME)); }
Ref time_time_ns(Vm&, const Args&) { return integer(read_clock(CLOCK_REALTIME)); }
Ref time_perf_counter(Vm&, const Args&) { return seconds_of(read_clock(CLOCK_MONOTONIC)); }
Ref time_perf_counter_ns(Vm&, const Args&) { return integer(read_clock(CLOCK_MONOTONIC)); }
Ref time_process_time(Vm&, const Args&) { return seconds_of(read_clock(CLOCK_PROCESS_CPUTIME_ID)); }
Ref time_process_time_ns(Vm&, const Args&) { return integer(read_clock(CLOCK_PROCESS_CPUTIME_ID)); }
Ref time_thread_time(Vm&, const Args&) { return seconds_of(read_clock(CLOCK_THREAD_CPUTIME_ID)); }
Ref time_thread_time_ns(Vm&, const Args&) { return integer(read_clock(CLOCK_THREAD_CPUTIME_ID)); }

Ref time_sleep(Vm& vm, const Args& args) {
    double seconds = args[0].is_float() ? args[0].f : static_cast<double>(to_index(vm, args[0]));
    if (std::isnan(seconds)) raise(vm, Exc::ValueError, "Invalid value NaN (not a number)");
    if (seconds < 0) raise(vm, Exc::ValueError, "sleep length must be non-negative");
    if (seconds > 9.2e9) raise(vm, Exc::OverflowError, "timestamp too large to convert to C _PyTime_t");
    int64_t end = read_clock(CLOCK_MONOTONIC) + static_cast<int64_t>(seconds * kNanoseconds);
    // In short steps: an interrupt from another thread sets a flag, it does not wake this one.
    constexpr int64_t kStep = 10'000'000;
    vm.check_time();
    for (int64_t left; (left = end - read_clock(CLOCK_MONOTONIC)) > 0; vm.check_time()) {
        timespec step{0, static_cast<long>(std::min(left, kStep))};
        ::nanosleep(&step, nullptr);
    }
    return none();
}

Ref time_localtime(Vm& vm, const Args& args) { return make_time(vm, calendar(vm, seconds_argument(vm, args[0]), false)); }
Ref time_gmtime(Vm& vm, const Args& args) { return make_time(vm, calendar(vm, seconds_argument(vm, args[0]), true)); }
Ref time_ctime(Vm& vm, const Args& args) { return as_text(vm, calendar(vm, seconds_argument(vm, args[0]), false)); }
Ref time_asctime(Vm& vm, const Args& args) { return as_text(vm, shown_time(vm, args[0], "asctime")); }

Ref time_mktime(Vm& vm, const Args& args) {
    std::tm t = time_argument(vm, args[0], "mktime");
    t.tm_wday = -1;  // stays so on failure, when -1 is no time
    std::time_t seconds = std::mktime(&t);
    if (seconds == -1 && t.tm_wday == -1) raise(vm, Exc::OverflowError, "mktime argument out of range");
    return real(static_cast<double>(seconds));
}

Ref time_strftime(Vm& vm, const Args& args) {
    if (!is_str(args[0])) {
        raise(vm, Exc::TypeError, "strftime() argument 1 must be str, not {}", class_name(vm, args[0]));
    }
    std::tm t = shown_time(vm, args[1], "strftime");
    // A result may be empty: the space at the end tells that from a buffer that is too small.
    std::string format = cast<Str>(args[0])->string() + " ";
    std::string out(format.size() * 2 + 64, '\0');
    size_t size = 0;
    constexpr size_t kMost = 1 << 20;
    while ((size = std::strftime(out.data(), out.size(), format.c_str(), &t)) == 0) {
        if (out.size() > kMost + format.size() * 256) raise(vm, Exc::MemoryError, std::string());
        out.resize(out.size() * 2);
    }
    return make_str(vm, std::string_view(out).substr(0, size - 1));
}

Ref time_strptime(Vm& vm, const Args& args) {
    for (size_t i = 0; i < 2; i++) {
        if (!is_str(args[i])) raise(vm, Exc::TypeError, "strptime() argument {} must be str, not <class '{}'>", i, class_name(vm, args[i]));
    }
    std::tm t{};
    std::string wrong = parse_time(cast<Str>(args[0])->view(), cast<Str>(args[1])->view(), t);
    if (!wrong.empty()) raise(vm, Exc::ValueError, "{}", wrong);
    return make_time(vm, t);
}

void fill_time(Vm& vm, Module* module) {
    set_zone();
    set_value(vm, module, "struct_time", record_class(vm, kStructTime));
    set_value(vm, module, "timezone", Value::integer(::timezone));
    set_value(vm, module, "altzone", Value::integer(::timezone - (::daylight ? 3600 : 0)));
    set_value(vm, module, "daylight", Value::integer(::daylight));
    set_value(vm, module, "tzname", make_tuple(vm, {make_str(vm, ::tzname[0]), make_str(vm, ::tzname[1])}));
}

}  // namespace talc::stdlib
