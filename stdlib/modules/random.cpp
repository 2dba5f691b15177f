// random: CPython's generator, so that a seed gives the numbers that it gives there.
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numbers>
#include <span>

#include "base/text/number_text.hpp"
#include "stdlib/modules.hpp"
#include "stdlib/modules/sha512.hpp"
#include "stdlib/support.hpp"
#include "vm/arith.hpp"
#include "vm/containers.hpp"

namespace talc::stdlib {

namespace {

__extension__ typedef unsigned __int128 Wide;

// The Mersenne Twister, seeded as CPython seeds it: a seed gives the numbers that it gives there.
struct Generator final : ForeignState {
    static constexpr size_t kWords = 624, kShift = 397;
    std::array<uint32_t, kWords> state{};
    size_t at = kWords;              // of the next word; at the end a new round is due
    double spare = 0;                // gauss makes two at a time
    bool has_spare = false;

    void seed(std::span<const uint32_t> key) {
        state[0] = 19650218;
        for (uint32_t i = 1; i < kWords; ++i) state[i] = 1812433253u * mixed(i - 1) + i;
        size_t i = 1, j = 0;
        auto wrap = [&] {
            if (++i < kWords) return;
            state[0] = state[kWords - 1];
            i = 1;
        };
        for (size_t k = std::max(kWords, key.size()); k > 0; --k) {
            state[i] = (state[i] ^ (mixed(i - 1) * 1664525u)) + key[j] + static_cast<uint32_t>(j);
            if (++j == key.size()) j = 0;
            wrap();
        }
        for (size_t k = kWords - 1; k > 0; --k) {
            state[i] = (state[i] ^ (mixed(i - 1) * 1566083941u)) - static_cast<uint32_t>(i);
            wrap();
        }
        state[0] = 0x80000000u;
        at = kWords;
        has_spare = false;
    }
    void seed(uint64_t value) {
        std::array<uint32_t, 2> key = {static_cast<uint32_t>(value), static_cast<uint32_t>(value >> 32)};
        seed(std::span(key).first(key[1] ? 2 : 1));
    }
    uint32_t word() {
        if (at == kWords) turn();
        uint32_t y = state[at++];
        y ^= y >> 11;
        y ^= y << 7 & 0x9d2c5680u;
        y ^= y << 15 & 0xefc60000u;
        return y ^ y >> 18;
    }
    uint64_t bits(unsigned count) {  // 1 to 64
        uint64_t low = word();
        if (count <= 32) return low >> (32 - count);
        return (uint64_t{word()} >> (64 - count) << 32) | low;
    }
    double real() {                  // a multiple of 2^-53
        uint64_t high = word() >> 5;
        uint64_t low = word() >> 6;
        return static_cast<double>(high << 26 | low) * 0x1p-53;
    }
    uint64_t below(uint64_t n) {     // n > 0; all equally likely
        auto width = static_cast<unsigned>(std::bit_width(n));
        for (;;) {
            uint64_t x = bits(width);
            if (x < n) return x;
        }
    }
    double normal() {                // Box and Muller
        if (has_spare) {
            has_spare = false;
            return spare;
        }
        double angle = real() * (2 * std::numbers::pi);
        double radius = std::sqrt(-2.0 * std::log(1.0 - real()));
        spare = std::sin(angle) * radius;
        has_spare = true;
        return std::cos(angle) * radius;
    }

  private:
    uint32_t mixed(size_t i) const { return state[i] ^ state[i] >> 30; }
    void turn() {
        for (size_t i = 0; i < kWords; ++i) {
            uint32_t y = (state[i] & 0x80000000u) | (state[(i + 1) % kWords] & 0x7fffffffu);
            state[i] = state[(i + kShift) % kWords] ^ y >> 1 ^ (y & 1 ? 0x9908b0dfu : 0u);
        }
        at = 0;
    }
};

const NativeClass kGenerator = {.name = "Generator", .module = "random"};

Generator& self(const Args& args) { return *foreign_cast<Generator>(args[0]); }

uint64_t system_entropy() {
    uint64_t bits = 0;
    if (::getrandom(&bits, sizeof bits, 0) != sizeof bits) {
        timespec now{};
        ::clock_gettime(CLOCK_REALTIME, &now);
        bits = static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
    }
    return bits;
}

// The words of the number that CPython makes of text: its bytes and their hash, the most significant first.
std::vector<uint32_t> text_key(std::string_view text) {
    std::string bytes(text);
    for (uint8_t byte : sha512(text)) bytes += static_cast<char>(byte);
    size_t leading = std::min(bytes.find_first_not_of('\0'), bytes.size());
    std::vector<uint32_t> key((bytes.size() - leading + 3) / 4);
    for (size_t i = 0; i < bytes.size() - leading; i++) {
        key[i / 4] |= uint32_t{static_cast<unsigned char>(bytes[bytes.size() - 1 - i])} << (8 * (i % 4));
    }
    if (key.empty()) key.push_back(0);
    return key;
}

void seed_with(Vm& vm, Generator& generator, Value v) {
    if (v.is_none()) return generator.seed(system_entropy());
    if (is_integer(v)) return generator.seed(text::magnitude_of(int_value(v)));
    if (is_number(v)) return generator.seed(static_cast<uint64_t>(hash(vm, v)));
    if (is_str(v)) return generator.seed(text_key(cast<Str>(v)->view()));
    if (v.is_kind(Kind::Bytes)) return generator.seed(text_key(cast<Bytes>(v)->view()));
    raise(vm, Exc::TypeError, "The only supported seed types are: None,\nint, float, str, bytes, and bytearray.");
}

// start + below(width), where width may be up to 2^64 - 1.
int64_t offset(int64_t start, uint64_t by) { return static_cast<int64_t>(static_cast<uint64_t>(start) + by); }

int64_t range_argument(Vm& vm, Value v, int position) {
    if (is_integer(v)) return int_value(v);
    if (is_number(v)) {
        double x = to_double(vm, v);
        if (x != std::floor(x) || std::fabs(x) >= 9.2e18) {
            raise(vm, Exc::ValueError, "non-integer {} for randrange()", position == 1 ? "arg 1" : position == 2 ? "stop" : "step");
        }
        return static_cast<int64_t>(x);
    }
    return to_index(vm, v);
}

}  // namespace

Ref generators_new(Vm& vm, const Args& args) {
    Class* cls = class_to_make(vm, args[0], native_class(vm, kGenerator));
    return make_foreign(vm, cls, std::make_unique<Generator>());
}

Ref generators_init(Vm& vm, const Args& args) {
    seed_with(vm, self(args), args[1]);
    return none();
}

Ref generators_seed(Vm& vm, const Args& args) { return generators_init(vm, args); }

// As CPython has it: the version, the words with the place among them, what gauss has left.
Ref generators_getstate(Vm& vm, const Args& args) {
    Generator& g = self(args);
    std::vector<Value> words;
    for (uint32_t word : g.state) words.push_back(Value::integer(word));
    words.push_back(Value::integer(static_cast<int64_t>(g.at)));
    Ref inner = make_tuple(vm, words.data(), words.size());
    Ref spare = g.has_spare ? real(g.spare) : none();
    return make_tuple(vm, {Value::integer(3), inner, spare});
}

Ref generators_setstate(Vm& vm, const Args& args) {
    auto* state = args[1].is_kind(Kind::Tuple) ? cast<Tuple>(args[1]) : nullptr;
    auto* words = state && state->size == 3 && state->items[1].is_kind(Kind::Tuple) ? cast<Tuple>(state->items[1]) : nullptr;
    bool valid = words && words->size == Generator::kWords + 1 && (state->items[2].is_none() || state->items[2].is_float());
    for (size_t i = 0; valid && i < words->size; ++i) {
        uint64_t most = i < Generator::kWords ? UINT32_MAX : Generator::kWords;
        valid = is_integer(words->items[i]) && static_cast<uint64_t>(int_value(words->items[i])) <= most;
    }
    if (!valid) raise(vm, Exc::TypeError, "state vector must be what getstate() gives");
    Generator& g = self(args);
    for (size_t i = 0; i < Generator::kWords; ++i) g.state[i] = static_cast<uint32_t>(int_value(words->items[i]));
    g.at = static_cast<size_t>(int_value(words->items[Generator::kWords]));
    g.has_spare = state->items[2].is_float();
    if (g.has_spare) g.spare = state->items[2].f;
    return none();
}

Ref generators_random(Vm&, const Args& args) { return real(self(args).real()); }

Ref generators_getrandbits(Vm& vm, const Args& args) {
    int64_t count = to_index(vm, args[1]);
    if (count < 0) raise(vm, Exc::ValueError, "number of bits must be non-negative");
    if (count == 0) return integer(0);
    if (count > 63) raise_int_overflow(vm);
    return integer(static_cast<int64_t>(self(args).bits(static_cast<unsigned>(count))));
}

Ref generators_randbytes(Vm& vm, const Args& args) {
    int64_t count = to_index(vm, args[1]);
    if (count < 0) raise(vm, Exc::ValueError, "number of bits must be non-negative");
    Ptr<Bytes> zeros = make_bytes(vm, std::string_view("\0", 1));
    Ptr<Bytes> bytes = bytes_repeat(vm, zeros.get(), count);  // nobody else has it yet
    Ticker ticker(vm);
    // The bytes of one int with that many bits, the low ones first.
    for (int64_t i = 0; i < count; i += 4) {
        ticker.step();
        auto part = static_cast<unsigned>(std::min<int64_t>(4, count - i));
        uint64_t word = self(args).bits(8 * part);
        for (unsigned k = 0; k < part; ++k) bytes->data[i + k] = static_cast<char>(word >> (8 * k));
    }
    return bytes;
}

Ref generators_randbelow(Vm& vm, const Args& args) {
    int64_t n = to_index(vm, args[1]);
    if (n <= 0) raise(vm, Exc::ValueError, "number of values must be positive");
    return integer(static_cast<int64_t>(self(args).below(static_cast<uint64_t>(n))));
}

Ref generators_randrange(Vm& vm, const Args& args) {
    Generator& g = self(args);
    int64_t start = range_argument(vm, args[1], 1);
    if (args[2].is_none()) {
        if (!(args[3].is_int() && args[3].i == 1)) raise(vm, Exc::TypeError, "Missing a non-None stop argument");
        if (start <= 0) raise(vm, Exc::ValueError, "empty range for randrange()");
        return integer(static_cast<int64_t>(g.below(static_cast<uint64_t>(start))));
    }
    int64_t stop = range_argument(vm, args[2], 2);
    int64_t step = range_argument(vm, args[3], 3);
    uint64_t up = static_cast<uint64_t>(stop) - static_cast<uint64_t>(start);
    uint64_t down = 0 - up;
    if (step == 1) {
        if (stop <= start) {
            raise(vm, Exc::ValueError, "empty range for randrange() ({}, {}, {})", start, stop, -static_cast<int64_t>(down));
        }
        return integer(offset(start, g.below(up)));
    }
    if (step == 0) raise(vm, Exc::ValueError, "zero step for randrange()");
    if (step > 0 ? stop <= start : stop >= start) raise(vm, Exc::ValueError, "empty range for randrange()");
    uint64_t size = step > 0 ? static_cast<uint64_t>(step) : 0 - static_cast<uint64_t>(step);
    uint64_t count = ((step > 0 ? up : down) - 1) / size + 1;
    return integer(offset(start, g.below(count) * static_cast<uint64_t>(step)));
}

Ref generators_randint(Vm& vm, const Args& args) {
    int64_t a = range_argument(vm, args[1], 1);
    int64_t b = range_argument(vm, args[2], 2);
    if (b < a) {
        Wide apart = static_cast<Wide>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b)) - 1;
        raise(vm, Exc::ValueError, "empty range for randrange() ({}, {}, {}{})", a, b + 1, apart == 0 ? "" : "-",
              static_cast<uint64_t>(apart));
    }
    uint64_t last = static_cast<uint64_t>(b) - static_cast<uint64_t>(a);
    uint64_t by = last == UINT64_MAX ? self(args).bits(64) : self(args).below(last + 1);
    return integer(offset(a, by));
}

Ref generators_choice(Vm& vm, const Args& args) {
    int64_t count = length(vm, args[1]);
    if (count == 0) raise(vm, Exc::IndexError, "Cannot choose from an empty sequence");
    auto at = static_cast<int64_t>(self(args).below(static_cast<uint64_t>(count)));
    if (is_plain(args[1], Kind::List)) return cast<List>(args[1])->items[at];
    return get_item(vm, args[1], Value::integer(at));
}

Ref generators_shuffle(Vm& vm, const Args& args) {
    Generator& g = self(args);
    Ticker ticker(vm);
    if (is_plain(args[1], Kind::List)) {
        auto* list = cast<List>(args[1]);
        for (size_t i = list->size; i-- > 1;) {
            ticker.step();
            std::swap(list->items[i], list->items[g.below(i + 1)]);
        }
        return none();
    }
    for (int64_t i = length(vm, args[1]) - 1; i > 0; i--) {
        ticker.step();
        auto j = static_cast<int64_t>(g.below(static_cast<uint64_t>(i) + 1));
        Ref a = get_item(vm, args[1], Value::integer(i));
        Ref b = get_item(vm, args[1], Value::integer(j));
        set_item(vm, args[1], Value::integer(i), b);
        set_item(vm, args[1], Value::integer(j), a);
    }
    return none();
}

Ref generators_uniform(Vm& vm, const Args& args) {
    if (!is_number(args[1]) || !is_number(args[2])) {  // other types compute it their own way, or say why not
        Ref width = binary(vm, BinaryOp::Sub, args[2], args[1]);
        Ref part = binary(vm, BinaryOp::Mul, width, Value::real(self(args).real()));
        return binary(vm, BinaryOp::Add, args[1], part);
    }
    double a = to_double(vm, args[1]), b = to_double(vm, args[2]);
    return real(a + (b - a) * self(args).real());
}

Ref generators_gauss(Vm& vm, const Args& args) {
    double mu = to_double(vm, args[1]), sigma = to_double(vm, args[2]);
    return real(mu + self(args).normal() * sigma);
}

Ref generators_expovariate(Vm& vm, const Args& args) {
    double lambda = to_double(vm, args[1]);
    if (lambda == 0) raise(vm, Exc::ZeroDivisionError, "float division by zero");
    return real(-std::log(1.0 - self(args).real()) / lambda);
}

void fill_random(Vm& vm, Module* module) { set_value(vm, module, "_Generator", native_class(vm, kGenerator)); }

}  // namespace talc::stdlib
