#pragma once
// Tim Peters's adaptive, stable merge sort, with the merge order of CPython 3.11 (powersort): the comparisons that a
// script sees, and the result when they contradict each other, are CPython's. `less` may throw: the items are then
// some permutation of what they were.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <type_traits>

#include "vm/heap.hpp"

namespace talc::vm {

template <class T, class Less>
class TimSort {
    static_assert(std::is_trivially_copyable_v<T>);

  public:
    TimSort(Heap& heap, Less less) : heap_(heap), less_(std::move(less)) {}
    TimSort(const TimSort&) = delete;
    ~TimSort() {
        if (room_) heap_.deallocate(room_, capacity_ * sizeof(T));
    }

    void sort(T* items, size_t count) {
        if (count < 2) return;
        first_ = items;
        total_ = count;
        size_t least = least_run(count);
        T* low = items;
        size_t left = count;
        while (left) {
            bool down = false;
            size_t length = count_run(low, low + left, &down);
            if (down) std::reverse(low, low + length);
            if (length < least) {
                size_t forced = left < least ? left : least;
                insert_sorted(low, low + forced, low + length);
                length = forced;
            }
            merge_before(length);
            runs_[run_count_++] = {low, length, 0};
            low += length;
            left -= length;
        }
        while (run_count_ > 1) {
            size_t at = run_count_ - 2;
            if (at > 0 && runs_[at - 1].length < runs_[at + 1].length) at--;
            merge_at(at);
        }
    }

  private:
    struct Run {
        T* base;
        size_t length;
        int power;
    };
    static constexpr size_t kMaxRuns = 85;
    static constexpr size_t kGallop = 7;

    // A length for runs that makes their number a power of two or a little less.
    static size_t least_run(size_t n) {
        size_t odd = 0;
        while (n >= 64) {
            odd |= n & 1;
            n >>= 1;
        }
        return n + odd;
    }

    size_t count_run(T* low, T* high, bool* down) {
        *down = false;
        T* at = low + 1;
        if (at == high) return 1;
        *down = less_(*at, at[-1]);
        for (++at; at < high; ++at) {
            if (less_(*at, at[-1]) != *down) break;
        }
        return static_cast<size_t>(at - low);
    }

    // Inserts [start, high) one by one into the sorted [low, start).
    void insert_sorted(T* low, T* high, T* start) {
        if (start == low) start++;
        for (; start < high; ++start) {
            T pivot = *start;
            T* left = low;
            T* right = start;
            while (left < right) {
                T* middle = left + ((right - left) >> 1);
                if (less_(pivot, *middle)) {
                    right = middle;
                } else {
                    left = middle + 1;
                }
            }
            move(left + 1, left, static_cast<size_t>(start - left));
            *left = pivot;
        }
    }

    // How deep the border between two neighbouring runs lies in a perfectly balanced merge tree.
    static int power(size_t start, size_t length, size_t next_length, size_t total) {
        size_t a = 2 * start + length;
        size_t b = a + length + next_length;
        int result = 0;
        for (;;) {
            ++result;
            if (a >= total) {
                a -= total;
                b -= total;
            } else if (b >= total) {
                return result;
            }
            a <<= 1;
            b <<= 1;
        }
    }

    void merge_before(size_t next_length) {
        if (run_count_ == 0) return;
        const Run& last = runs_[run_count_ - 1];
        int depth = power(static_cast<size_t>(last.base - first_), last.length, next_length, total_);
        while (run_count_ > 1 && runs_[run_count_ - 2].power > depth) merge_at(run_count_ - 2);
        runs_[run_count_ - 1].power = depth;
    }

    void merge_at(size_t at) {
        T* a = runs_[at].base;
        size_t na = runs_[at].length;
        T* b = runs_[at + 1].base;
        size_t nb = runs_[at + 1].length;
        runs_[at].length = na + nb;
        if (at + 3 == run_count_) runs_[at + 1] = runs_[at + 2];
        run_count_--;
        size_t skip = gallop_right(*b, a, na, 0);
        a += skip;
        na -= skip;
        if (na == 0) return;
        nb = gallop_left(a[na - 1], b, nb, nb - 1);
        if (nb == 0) return;
        if (na <= nb) {
            merge_low(a, na, b, nb);
        } else {
            merge_high(a, na, b, nb);
        }
    }

    // Where key belongs in the sorted a, left of equal items; looks near hint first.
    size_t gallop_left(const T& key, T* a, size_t n, size_t hint) {
        size_t last = 0;
        size_t offset = 1;
        T* at = a + hint;
        if (less_(*at, key)) {
            size_t most = n - hint;
            while (offset < most && less_(at[offset], key)) {
                last = offset;
                offset = (offset << 1) + 1;
            }
            if (offset > most) offset = most;
            last += hint + 1;
            offset += hint;
        } else {
            size_t most = hint + 1;
            while (offset < most && !less_(*(at - offset), key)) {
                last = offset;
                offset = (offset << 1) + 1;
            }
            if (offset > most) offset = most;
            size_t low = hint + 1 - offset;
            offset = hint - last;
            last = low;
        }
        while (last < offset) {
            size_t middle = last + ((offset - last) >> 1);
            if (less_(a[middle], key)) {
                last = middle + 1;
            } else {
                offset = middle;
            }
        }
        return offset;
    }

    // The same, right of equal items.
    size_t gallop_right(const T& key, T* a, size_t n, size_t hint) {
        size_t last = 0;
        size_t offset = 1;
        T* at = a + hint;
        if (less_(key, *at)) {
            size_t most = hint + 1;
            while (offset < most && less_(key, *(at - offset))) {
                last = offset;
                offset = (offset << 1) + 1;
            }
            if (offset > most) offset = most;
            size_t low = hint + 1 - offset;
            offset = hint - last;
            last = low;
        } else {
            size_t most = n - hint;
            while (offset < most && !less_(key, at[offset])) {
                last = offset;
                offset = (offset << 1) + 1;
            }
            if (offset > most) offset = most;
            last += hint + 1;
            offset += hint;
        }
        while (last < offset) {
            size_t middle = last + ((offset - last) >> 1);
            if (less_(key, a[middle])) {
                offset = middle;
            } else {
                last = middle + 1;
            }
        }
        return offset;
    }

    static void move(T* to, const T* from, size_t count) {
        std::memmove(static_cast<void*>(to), from, count * sizeof(T));
    }

    T* room(size_t count) {
        if (count > capacity_) {
            if (room_) heap_.deallocate(room_, capacity_ * sizeof(T));
            room_ = nullptr;
            capacity_ = 0;
            room_ = static_cast<T*>(heap_.allocate(count * sizeof(T)));
            capacity_ = count;
        }
        return room_;
    }

    // Puts what is left of the copied side back where the gap is, however the merge ends.
    struct LowRest {
        T*& to;
        T*& from;
        size_t& count;
        ~LowRest() { move(to, from, count); }
    };
    struct HighRest {
        T*& to;    // last free place
        T*& from;  // last item
        size_t& count;
        ~HighRest() {
            if (count) move(to - (count - 1), from - (count - 1), count);
        }
    };

    // Merges neighbours a and b, a the shorter: a is copied out and the merge goes upwards.
    void merge_low(T* a, size_t na, T* b, size_t nb) {
        T* out = a;
        T* left = room(na);
        move(left, a, na);
        LowRest rest{out, left, na};
        *out++ = *b++;
        if (--nb == 0) return;
        if (na == 1) return finish_low(out, b, nb);
        size_t gallop = gallop_;
        for (;;) {
            size_t a_wins = 0;
            size_t b_wins = 0;
            for (;;) {
                if (less_(*b, *left)) {
                    *out++ = *b++;
                    b_wins++;
                    a_wins = 0;
                    if (--nb == 0) return;
                    if (b_wins >= gallop) break;
                } else {
                    *out++ = *left++;
                    a_wins++;
                    b_wins = 0;
                    if (--na == 1) return finish_low(out, b, nb);
                    if (a_wins >= gallop) break;
                }
            }
            ++gallop;
            do {
                gallop -= gallop > 1;
                gallop_ = gallop;
                size_t k = gallop_right(*b, left, na, 0);
                a_wins = k;
                if (k) {
                    move(out, left, k);
                    out += k;
                    left += k;
                    na -= k;
                    if (na == 1) return finish_low(out, b, nb);
                    if (na == 0) return;  // only if comparisons contradict each other
                }
                *out++ = *b++;
                if (--nb == 0) return;
                k = gallop_left(*left, b, nb, 0);
                b_wins = k;
                if (k) {
                    move(out, b, k);
                    out += k;
                    b += k;
                    nb -= k;
                    if (nb == 0) return;
                }
                *out++ = *left++;
                if (--na == 1) return finish_low(out, b, nb);
            } while (a_wins >= kGallop || b_wins >= kGallop);
            ++gallop;
            gallop_ = gallop;
        }
    }
    // One item of a is left, and it belongs behind all of b.
    void finish_low(T*& out, T* b, size_t nb) {
        move(out, b, nb);
        out += nb;
    }

    // The same with b the shorter: b is copied out and the merge goes downwards.
    void merge_high(T* a, size_t na, T* b, size_t nb) {
        T* out = b + nb - 1;
        T* copy = room(nb);
        move(copy, b, nb);
        T* right = copy + nb - 1;
        T* left = a + na - 1;
        HighRest rest{out, right, nb};
        *out-- = *left--;
        if (--na == 0) return;
        if (nb == 1) return finish_high(out, left, na);
        size_t gallop = gallop_;
        for (;;) {
            size_t a_wins = 0;
            size_t b_wins = 0;
            for (;;) {
                if (less_(*right, *left)) {
                    *out-- = *left--;
                    a_wins++;
                    b_wins = 0;
                    if (--na == 0) return;
                    if (a_wins >= gallop) break;
                } else {
                    *out-- = *right--;
                    b_wins++;
                    a_wins = 0;
                    if (--nb == 1) return finish_high(out, left, na);
                    if (b_wins >= gallop) break;
                }
            }
            ++gallop;
            do {
                gallop -= gallop > 1;
                gallop_ = gallop;
                size_t k = na - gallop_right(*right, a, na, na - 1);
                a_wins = k;
                if (k) {
                    out -= k;
                    left -= k;
                    move(out + 1, left + 1, k);
                    na -= k;
                    if (na == 0) return;
                }
                *out-- = *right--;
                if (--nb == 1) return finish_high(out, left, na);
                k = nb - gallop_left(*left, copy, nb, nb - 1);
                b_wins = k;
                if (k) {
                    out -= k;
                    right -= k;
                    move(out + 1, right + 1, k);
                    nb -= k;
                    if (nb == 1) return finish_high(out, left, na);
                    if (nb == 0) return;  // only if comparisons contradict each other
                }
                *out-- = *left--;
                if (--na == 0) return;
            } while (a_wins >= kGallop || b_wins >= kGallop);
            ++gallop;
            gallop_ = gallop;
        }
    }
    // One item of b is left, and it belongs before all of a.
    void finish_high(T*& out, T* left, size_t na) {
        out -= na;
        left -= na;
        move(out + 1, left + 1, na);
    }

    Heap& heap_;
    Less less_;
    T* first_ = nullptr;
    size_t total_ = 0;
    Run runs_[kMaxRuns] = {};
    size_t run_count_ = 0;
    size_t gallop_ = kGallop;
    T* room_ = nullptr;
    size_t capacity_ = 0;
};

}  // namespace talc::vm
