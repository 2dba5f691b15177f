// Orders of elements: sort, topk, unique; and sampling by weights. The order is found on the CPU and is data from then on;
// values are gathered by it, so that gradients flow.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "stdlib/modules.hpp"
#include "stdlib/tensor_support.hpp"
#include "tensor/factory.hpp"
#include "tensor/observer.hpp"
#include "tensor/philox.hpp"
#include "tensor/transfer.hpp"

namespace talc::stdlib {

namespace {

// As PyTorch orders: nan is larger than everything.
template <class T>
bool less(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
        if (std::isnan(a) || std::isnan(b)) return !std::isnan(a) && std::isnan(b);
    }
    return a < b;
}

Tensor made_of(Vm& vm, std::span<const int64_t> values, const Dims& sizes, tensor::Device device) {
    Tensor made = tensor::to_device(vm.tensors, tensor::from_values(vm.tensors, values, sizes), device);
    if (vm.tensors.observer) vm.tensors.observer->made(made);
    return made;
}

template <class T>
void order_rows(Vm& vm, const std::vector<T>& values, int64_t outer, int64_t size, int64_t inner, bool descending, int64_t taken,
                std::vector<int64_t>& indices) {
    std::vector<int64_t> order(static_cast<size_t>(size));
    for (int64_t o = 0; o < outer; ++o) {
        for (int64_t i = 0; i < inner; ++i) {
            auto at = [&](int64_t k) { return values[static_cast<size_t>((o * size + k) * inner + i)]; };
            std::iota(order.begin(), order.end(), int64_t{0});
            std::stable_sort(order.begin(), order.end(),
                             [&](int64_t a, int64_t b) { return descending ? less(at(b), at(a)) : less(at(a), at(b)); });
            for (int64_t k = 0; k < taken; ++k) indices[static_cast<size_t>((o * taken + k) * inner + i)] = order[static_cast<size_t>(k)];
            vm.tick(static_cast<uint64_t>(size) + 1);
        }
    }
}

// Where the first `taken` elements of each row along `dim` are, in order.
Tensor order_of(Vm& vm, const Tensor& given_x, int64_t dim, bool descending, int64_t taken) {
    Tensor x = readable(vm, given_x);
    Dims sizes = x.sizes();
    int64_t outer = 1, inner = 1, size = x.rank() ? x.size(dim) : 1;
    for (int64_t d = 0; d < x.rank(); ++d) (d < dim ? outer : inner) *= d == dim ? 1 : x.size(d);
    if (x.rank()) sizes[static_cast<size_t>(dim)] = taken;
    std::vector<int64_t> indices(static_cast<size_t>(outer * taken * inner));
    if (tensor::is_float(x.dtype())) {
        order_rows(vm, tensor::to_doubles(x), outer, size, inner, descending, taken, indices);
    } else {
        order_rows(vm, tensor::to_ints(x), outer, size, inner, descending, taken, indices);
    }
    return made_of(vm, indices, sizes, given_x.device());
}

Tensor gathered(Vm& vm, const Tensor& x, int64_t dim, const Tensor& index) {
    if (x.rank() == 0) return Eager(vm).emit(Op::Clone, {x});
    tensor::Attrs attrs;
    attrs.dim = dim;
    return Eager(vm).emit(Op::Gather, {x, index}, attrs);
}

constexpr RecordClass kSortResult = {"sort", "torch.return_types", {"values", "indices"}, true};
constexpr RecordClass kTopkResult = {"topk", "torch.return_types", {"values", "indices"}, true};

}  // namespace

Ref tensor_sort(Vm& vm, const Args& args) {
    Tensor x = tensor_arg(vm, args, 0, "sort");
    int64_t dim = dim_arg(vm, args[1], x.rank(), "sort");
    Tensor index = order_of(vm, x, dim, truth(vm, args[2]), x.rank() ? x.size(dim) : 1);
    Ref values = wrap(vm, gathered(vm, x, dim, index)), indices = wrap(vm, index);
    return make_record(vm, kSortResult, {values, indices});
}

Ref tensor_argsort(Vm& vm, const Args& args) {
    Tensor x = tensor_arg(vm, args, 0, "argsort");
    int64_t dim = dim_arg(vm, args[1], x.rank(), "argsort");
    return wrap(vm, order_of(vm, x, dim, truth(vm, args[2]), x.rank() ? x.size(dim) : 1));
}

Ref tensor_topk(Vm& vm, const Args& args) {
    Tensor x = tensor_arg(vm, args, 0, "topk");
    int64_t k = int_arg(vm, args[1], "topk", "k", 2), dim = dim_arg(vm, args[2], x.rank(), "topk", 3);
    if (k < 0 || k > (x.rank() ? x.size(dim) : 1)) raise(vm, Exc::RuntimeError, "selected index k out of range");
    Tensor index = order_of(vm, x, dim, truth(vm, args[3]), k);
    Ref values = wrap(vm, gathered(vm, x, dim, index)), indices = wrap(vm, index);
    return make_record(vm, kTopkResult, {values, indices});
}

namespace {

template <class T>
Ref distinct(Vm& vm, const Tensor& x, const std::vector<T>& values, bool inverse, bool counts) {
    std::vector<int64_t> order(values.size());
    std::iota(order.begin(), order.end(), int64_t{0});
    auto at = [&](int64_t i) { return values[static_cast<size_t>(i)]; };
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return less(at(a), at(b)); });
    vm.tick(values.size() + 1);
    std::vector<int64_t> firsts, places(values.size()), sizes;
    for (size_t i = 0; i < order.size(); ++i) {
        if (i == 0 || !(at(order[i]) == at(order[i - 1]))) {
            firsts.push_back(order[i]);
            sizes.push_back(0);
        }
        places[static_cast<size_t>(order[i])] = static_cast<int64_t>(firsts.size()) - 1;
        ++sizes.back();
    }
    Eager e(vm);
    auto count = static_cast<int64_t>(firsts.size());
    Tensor flat = e.reshape(e.detach(x), {x.numel()});
    std::vector<Tensor> results = {gathered(vm, flat, 0, made_of(vm, firsts, {count}, x.device()))};
    if (inverse) results.push_back(made_of(vm, places, x.sizes(), x.device()));
    if (counts) results.push_back(made_of(vm, sizes, {count}, x.device()));
    return results.size() == 1 ? wrap(vm, results[0]) : wrap_all(vm, results);
}

}  // namespace

Ref tensor_unique(Vm& vm, const Args& args) {
    Tensor x = tensor_arg(vm, args, 0, "unique"), values = readable(vm, x);
    if (given(args[4])) raise(vm, Exc::NotImplementedError, "unique: dim");
    bool inverse = truth(vm, args[2]), counts = truth(vm, args[3]);
    if (tensor::is_float(x.dtype())) return distinct(vm, x, tensor::to_doubles(values), inverse, counts);
    return distinct(vm, x, tensor::to_ints(values), inverse, counts);
}

// Numbers of rows by their weights.
Ref tensor_multinomial(Vm& vm, const Args& args) {
    Tensor given_x = tensor_arg(vm, args, 0, "multinomial"), x = readable(vm, given_x);
    int64_t samples = int_arg(vm, args[1], "multinomial", "num_samples", 2);
    bool replace = truth(vm, args[2]);
    if (x.rank() < 1 || x.rank() > 2) raise(vm, Exc::RuntimeError, "prob_dist must be 1 or 2 dim");
    if (!tensor::is_float(x.dtype())) raise(vm, Exc::RuntimeError, "multinomial only supports floating-point dtypes for input, got: {}", tensor::info(x.dtype()).word);
    if (samples <= 0) raise(vm, Exc::RuntimeError, "cannot sample n_sample <= 0 samples");
    int64_t rows = x.rank() == 2 ? x.size(0) : 1, columns = x.size(x.rank() - 1);
    if (!replace && samples > columns) {
        raise(vm, Exc::RuntimeError, "cannot sample n_sample > prob_dist.size(-1) samples without replacement");
    }
    std::vector<double> weights = tensor::to_doubles(x);
    std::vector<int64_t> chosen;
    tensor::Generator& stream = vm.tensors.generator;
    uint64_t position = stream.position++, number = 0;
    for (int64_t r = 0; r < rows; ++r) {
        double* row = weights.data() + r * columns;
        double total = 0;
        for (int64_t c = 0; c < columns; ++c) {
            if (!(row[c] >= 0) || std::isinf(row[c])) {
                raise(vm, Exc::RuntimeError, "probability tensor contains either `inf`, `nan` or element < 0");
            }
            total += row[c];
        }
        if (!(total > 0)) raise(vm, Exc::RuntimeError, "invalid multinomial distribution (sum of probabilities <= 0)");
        for (int64_t k = 0; k < samples; ++k) {
            std::array<uint32_t, 4> words = tensor::philox::block(stream.seed, position, number++);
            double target = (static_cast<double>(words[0]) * 0x1p32 + words[1]) * 0x1p-64 * total, sum = 0;
            int64_t pick = -1;
            for (int64_t c = 0; c < columns && (pick < 0 || sum <= target); ++c) {
                if (row[c] == 0) continue;
                pick = c;
                sum += row[c];
            }
            if (pick < 0) raise(vm, Exc::RuntimeError, "invalid multinomial distribution (with replacement=False, not enough non-negative category to sample)");
            chosen.push_back(pick);
            if (!replace) {
                total -= row[pick];
                row[pick] = 0;
            }
            vm.tick(static_cast<uint64_t>(columns) / 8 + 1);
        }
    }
    return wrap(vm, made_of(vm, chosen, x.rank() == 2 ? Dims{rows, samples} : Dims{samples}, given_x.device()));
}

}  // namespace talc::stdlib
