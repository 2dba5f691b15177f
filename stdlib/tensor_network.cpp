// Attention, normalisation by batches and groups, and sums of products by formula.
#include <cmath>
#include <map>

#include "stdlib/tensor_support.hpp"

namespace talc::stdlib {

// ---- Attention ----

namespace {

Tensor range_of(Vm& vm, int64_t count, tensor::Device device) {
    tensor::Attrs attrs;
    attrs.sizes = {count};
    attrs.value = Scalar(0);
    attrs.delta = Scalar(1);
    attrs.dtype = DType::Int64;
    attrs.device = device;
    return autograd::apply(vm.tensors, Op::Arange, {}, attrs);
}

// Heads of keys and values are shared by groups of queries' heads.
Tensor with_heads(Vm& vm, const Tensor& x, int64_t heads) {
    Eager e(vm);
    int64_t own = x.size(x.rank() - 3);
    if (own == heads) return x;
    if (own == 0 || heads % own != 0) {
        raise(vm, Exc::RuntimeError, "Number of heads in key and value must divide the number of heads in query: {} and {}", own, heads);
    }
    tensor::Attrs attrs;
    attrs.dim = x.rank() - 2;
    Tensor split = e.emit(Op::Unsqueeze, {x}, attrs);
    Dims wide = split.sizes(), flat = x.sizes();
    wide[static_cast<size_t>(x.rank()) - 2] = heads / own;
    flat[static_cast<size_t>(x.rank()) - 3] = heads;
    return e.reshape(e.emit(Op::Contiguous, {e.expand(split, wide)}), flat);
}

}  // namespace

Ref tensor_attention(Vm& vm, const Args& args) {
    constexpr std::string_view kName = "scaled_dot_product_attention";
    Eager e(vm);
    Tensor q = tensor_arg(vm, args, 0, kName, "query"), k = tensor_arg(vm, args, 1, kName, "key"), v = tensor_arg(vm, args, 2, kName, "value");
    Tensor mask = optional_tensor_arg(vm, args, 3, kName, "attn_mask");
    double dropout = to_double(vm, args[4]);
    bool causal = truth(vm, args[5]);
    for (const Tensor& x : {q, k, v}) {
        if (x.rank() < 2) raise(vm, Exc::RuntimeError, "{}: query, key and value need at least 2 dimensions", kName);
    }
    if (q.size(q.rank() - 1) != k.size(k.rank() - 1)) {
        raise(vm, Exc::RuntimeError, "{}: query {} and key {} have different last sizes", kName, tensor::bracketed(q.sizes()),
              tensor::bracketed(k.sizes()));
    }
    if (causal && mask) raise(vm, Exc::RuntimeError, "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True");
    if (truth(vm, args[7]) && q.rank() > 2) {
        k = with_heads(vm, k, q.size(q.rank() - 3));
        v = with_heads(vm, v, q.size(q.rank() - 3));
    }
    double scale = given(args[6]) ? to_double(vm, args[6]) : 1 / std::sqrt(static_cast<double>(q.size(q.rank() - 1)));
    Tensor scores = e.mul(e.matmul(q, e.transposed(k)), Scalar(scale));
    int64_t rows = scores.size(scores.rank() - 2), columns = scores.size(scores.rank() - 1);
    if (causal) mask = e.le(range_of(vm, columns, q.device()), e.reshape(range_of(vm, rows, q.device()), {rows, 1}));
    Tensor lost;  // rows in which nothing is left: they give 0
    if (mask && mask.dtype() == DType::Bool) {
        scores = e.where(mask, scores, e.number(-HUGE_VAL));
    } else if (mask) {
        scores = e.add(scores, mask);
    }
    if (mask && !causal) {
        Tensor largest = e.detach(e.reduce(Op::Amax, scores, {scores.rank() - 1}, true));
        lost = e.eq(largest, Scalar(-HUGE_VAL));
        scores = e.where(lost, e.number(0.0), scores);
    }
    Tensor weights = e.softmax(scores, -1);
    if (lost) weights = e.zero_where(lost, weights);
    if (dropout > 0) {
        Tensor keep = e.ge(uniform(vm, weights.sizes(), DType::Float32, weights.device()), Scalar(dropout));
        weights = e.mul(e.mul(weights, e.cast(keep, weights.dtype())), Scalar(1 / (1 - dropout)));
    }
    return wrap(vm, e.matmul(weights, v));
}

// ---- Norms ----

namespace {

// A value for each channel, to be broadcast over x (channels in dim 1).
Tensor by_channel(Eager& e, const Tensor& value, const Tensor& x) {
    Dims shape;
    for (int64_t d = 0; d < x.rank(); ++d) shape.push_back(d == 1 ? x.size(1) : 1);
    return e.reshape(value, shape);
}

void check_channels(Vm& vm, const Tensor& value, const Tensor& x, const char* name) {
    if (value && value.numel() != x.size(1)) {
        raise(vm, Exc::RuntimeError, "{} should contain {} elements not {}", name, x.size(1), value.numel());
    }
}

}  // namespace

Ref tensor_batch_norm(Vm& vm, const Args& args) {
    Eager e(vm);
    Tensor x = tensor_arg(vm, args, 0, "batch_norm");
    if (x.rank() < 2) raise(vm, Exc::RuntimeError, "batch_norm: the input needs at least 2 dimensions, but has {}", x.rank());
    Tensor mean = optional_tensor_arg(vm, args, 1, "batch_norm", "running_mean"), variance = optional_tensor_arg(vm, args, 2, "batch_norm", "running_var");
    Tensor weight = optional_tensor_arg(vm, args, 3, "batch_norm", "weight"), bias = optional_tensor_arg(vm, args, 4, "batch_norm", "bias");
    bool training = truth(vm, args[5]);
    double momentum = to_double(vm, args[6]), eps = to_double(vm, args[7]);
    check_channels(vm, mean, x, "running_mean");
    check_channels(vm, variance, x, "running_var");
    check_channels(vm, weight, x, "weight");
    check_channels(vm, bias, x, "bias");
    if (!training && (!mean || !variance)) {
        raise(vm, Exc::RuntimeError, "Expected running_mean and running_var to be defined when training=False");
    }
    Tensor centred, spread;
    if (training) {
        Dims dims;
        int64_t count = 1;
        for (int64_t d = 0; d < x.rank(); ++d) {
            if (d == 1) continue;
            dims.push_back(d);
            count *= x.size(d);
        }
        if (count <= 1) {
            raise(vm, Exc::ValueError, "Expected more than 1 value per channel when training, got input size torch.Size({})",
                  tensor::bracketed(x.sizes()));
        }
        Tensor average = e.reduce(Op::Mean, x, dims, true);
        centred = e.sub(x, average);
        spread = e.reduce(Op::Mean, e.square(centred), dims, true);
        autograd::GradMode mode(vm.tensors, false);
        auto follow = [&](const Tensor& running, const Tensor& now, double scale) {
            Tensor target = running;
            Tensor shrunk[] = {target, e.number(Scalar(1 - momentum))};
            autograd::apply_into(vm.tensors, Op::Mul, shrunk, {}, target);
            Tensor grown[] = {target, e.mul(e.reshape(now, {x.size(1)}), Scalar(momentum * scale))};
            autograd::apply_into(vm.tensors, Op::Add, grown, {}, target);
        };
        if (mean) follow(mean, average, 1);
        if (variance) follow(variance, spread, static_cast<double>(count) / static_cast<double>(count - 1));
    } else {
        centred = e.sub(x, by_channel(e, mean, x));
        spread = by_channel(e, variance, x);
    }
    Tensor y = e.mul(centred, e.emit(Op::Rsqrt, {e.add(spread, Scalar(eps))}));
    if (weight) y = e.mul(y, by_channel(e, weight, x));
    return wrap(vm, bias ? e.add(y, by_channel(e, bias, x)) : y);
}

Ref tensor_group_norm(Vm& vm, const Args& args) {
    Eager e(vm);
    Tensor x = tensor_arg(vm, args, 0, "group_norm");
    int64_t groups = int_arg(vm, args[1], "group_norm", "num_groups", 2);
    Tensor weight = optional_tensor_arg(vm, args, 2, "group_norm", "weight"), bias = optional_tensor_arg(vm, args, 3, "group_norm", "bias");
    if (x.rank() < 2 || groups <= 0 || x.size(1) % groups != 0) {
        raise(vm, Exc::RuntimeError, "Expected number of channels in input to be divisible by num_groups, but got input of shape {} and num_groups={}",
              tensor::bracketed(x.sizes()), groups);
    }
    check_channels(vm, weight, x, "weight");
    check_channels(vm, bias, x, "bias");
    int64_t inner = groups * x.size(0) == 0 ? 0 : x.numel() / (x.size(0) * groups);
    Tensor rows = e.reshape(x, {x.size(0), groups, inner});
    Tensor y = e.reshape(e.layer_norm(rows, 1, {}, {}, to_double(vm, args[4])), x.sizes());
    if (weight) y = e.mul(y, by_channel(e, weight, x));
    return wrap(vm, bias ? e.add(y, by_channel(e, bias, x)) : y);
}

// ---- Sums of products by formula ----

namespace {

using Labels = std::string;

// An operand of einsum: a letter for each dim. The dims of ... have letters of their own, from 'A' - 1 downwards.
struct Term {
    Tensor tensor;
    Labels labels;
};

class Einsum {
  public:
    Einsum(Vm& vm, std::string_view equation, std::vector<Tensor> operands) : vm_(vm), e_(vm) {
        parse(equation, std::move(operands));
    }

    Tensor run() {
        Term total = reduced(terms_[0], 0);
        for (size_t i = 1; i < terms_.size(); ++i) total = contracted(total, terms_[i], i);
        return arranged(total, output_);
    }

  private:
    [[noreturn]] void complain(const std::string& text) { raise(vm_, Exc::RuntimeError, "einsum(): " + text); }

    static constexpr int kEllipsisDims = 16;
    static char ellipsis_label(int i) { return static_cast<char>(1 + i); }  // no letter

    void parse(std::string_view equation, std::vector<Tensor> operands) {
        std::string text;
        for (char c : equation) {
            if (c != ' ') text += c;
        }
        size_t arrow = text.find("->");
        std::string left = text.substr(0, arrow);
        std::vector<std::string> parts(1);
        for (char c : left) {
            if (c == ',') {
                parts.emplace_back();
            } else {
                parts.back() += c;
            }
        }
        if (parts.size() != operands.size()) {
            complain(fmt::format("{} operands were given for {} terms of the equation", operands.size(), parts.size()));
        }
        int widest = 0;
        for (size_t i = 0; i < parts.size(); ++i) widest = std::max(widest, ellipsis_size(parts[i], operands[i], i));
        for (size_t i = 0; i < parts.size(); ++i) add_term(parts[i], operands[i], i, widest);
        if (arrow != std::string::npos) {
            output_ = expanded(text.substr(arrow + 2), widest);
            for (size_t i = 0; i < output_.size(); ++i) {
                if (!sizes_.count(output_[i])) complain(fmt::format("output subscript {} does not appear in the equation for any input operand", output_[i]));
                if (output_.find(output_[i], i + 1) != Labels::npos) complain(fmt::format("output subscript {} appears more than once in the output", output_[i]));
            }
            return;
        }
        for (int i = 0; i < widest; ++i) output_ += ellipsis_label(i);
        for (auto [label, count] : counts_) {
            if (count == 1 && static_cast<unsigned char>(label) > kEllipsisDims) output_ += label;
        }
    }

    int ellipsis_size(const std::string& part, const Tensor& x, size_t i) {
        size_t dots = part.find("...");
        auto letters = static_cast<int64_t>(part.size()) - (dots == std::string::npos ? 0 : 3);
        if (dots == std::string::npos ? letters != x.rank() : letters > x.rank()) {
            complain(fmt::format("the number of subscripts in the equation ({}) does not match the number of dimensions ({}) for operand {}",
                                 letters, x.rank(), i));
        }
        if (x.rank() - letters > kEllipsisDims) complain("too many dimensions");
        return static_cast<int>(x.rank() - letters);
    }

    // With letters in place of the dots; the last ones, so that shorter ellipses align at the right.
    Labels expanded(const std::string& part, int count, int widest = -1) {
        Labels labels;
        int first = widest < 0 ? 0 : widest - count;
        for (size_t i = 0; i < part.size(); ++i) {
            if (part.compare(i, 3, "...") == 0) {
                for (int k = 0; k < count; ++k) labels += ellipsis_label(first + k);
                i += 2;
            } else if (std::isalpha(static_cast<unsigned char>(part[i]))) {
                labels += part[i];
            } else {
                complain(fmt::format("invalid subscript given: '{}'", part[i]));
            }
        }
        return labels;
    }

    void add_term(const std::string& part, Tensor x, size_t i, int widest) {
        Labels labels = expanded(part, ellipsis_size(part, x, i), widest);
        for (char label : labels) ++counts_[label];
        // A letter twice in one operand: its diagonal.
        for (size_t a = 0; a < labels.size(); ++a) {
            size_t b = labels.find(labels[a], a + 1);
            if (b == Labels::npos) continue;
            if (x.size(static_cast<int64_t>(a)) != x.size(static_cast<int64_t>(b))) {
                complain(fmt::format("subscript {} is repeated for operand {} but the sizes don't match, {} != {}", labels[a], i,
                                     x.size(static_cast<int64_t>(b)), x.size(static_cast<int64_t>(a))));
            }
            Dims order = {static_cast<int64_t>(a), static_cast<int64_t>(b)};
            Labels rest;
            for (size_t d = 0; d < labels.size(); ++d) {
                if (d == a || d == b) continue;
                order.push_back(static_cast<int64_t>(d));
                rest += labels[d];
            }
            Tensor index = range_of(vm_, x.size(static_cast<int64_t>(a)), x.device());
            tensor::Attrs attrs;
            attrs.dims = {0, 1};
            x = e_.emit(Op::IndexTake, {e_.permute(x, order), index, index}, attrs);
            labels = labels[a] + rest;
            a = static_cast<size_t>(-1);
        }
        for (size_t d = 0; d < labels.size(); ++d) {
            int64_t size = x.size(static_cast<int64_t>(d));
            auto [known, fresh] = sizes_.try_emplace(labels[d], size);
            if (!fresh && known->second != size) {
                if (known->second != 1 && size != 1) {
                    complain(fmt::format("operands do not broadcast with remapped shapes: subscript {} has size {} for operand {} which does not "
                                         "broadcast with previously seen size {}",
                                         labels[d], size, i, known->second));
                }
                known->second = std::max(known->second, size);
            }
        }
        terms_.push_back({x, labels});
    }

    bool wanted_later(char label, size_t from) const {
        if (output_.find(label) != Labels::npos) return true;
        for (size_t i = from; i < terms_.size(); ++i) {
            if (terms_[i].labels.find(label) != Labels::npos) return true;
        }
        return false;
    }

    // Without the labels that nobody needs from operand `next` on.
    Term reduced(Term term, size_t at) {
        Dims gone;
        Labels kept;
        for (size_t d = 0; d < term.labels.size(); ++d) {
            if (wanted_later(term.labels[d], at + 1)) {
                kept += term.labels[d];
            } else {
                gone.push_back(static_cast<int64_t>(d));
            }
        }
        if (!gone.empty()) term.tensor = e_.sum(term.tensor, gone);
        return {term.tensor, kept};
    }

    // The dims in the order of `labels`; those that it has not get size 1.
    Tensor arranged(const Term& term, const Labels& labels) {
        Dims order, shape;
        for (char label : labels) {
            size_t at = term.labels.find(label);
            if (at == Labels::npos) {
                shape.push_back(1);
                continue;
            }
            order.push_back(static_cast<int64_t>(at));
            shape.push_back(term.tensor.size(static_cast<int64_t>(at)));
        }
        return e_.reshape(e_.permute(term.tensor, order), shape);
    }

    Tensor full_size(const Term& term, const Labels& labels) {
        Dims shape;
        for (char label : labels) shape.push_back(sizes_.at(label));
        return e_.expand(arranged(term, labels), shape);
    }

    int64_t count_of(const Labels& labels) const {
        int64_t count = 1;
        for (char label : labels) count *= sizes_.at(label);
        return count;
    }

    // One batched product of matrices: (shared and kept, only a, summed) @ (shared and kept, summed, only b).
    Term contracted(const Term& a, const Term& given_b, size_t at) {
        Term b = given_b;
        Labels shared, only_a, only_b, summed;
        for (char label : a.labels) {
            bool both = b.labels.find(label) != Labels::npos;
            (!both ? only_a : wanted_later(label, at + 1) ? shared : summed) += label;
        }
        // What only b has and nobody wants is summed first.
        Dims gone;
        Labels kept;
        for (size_t d = 0; d < b.labels.size(); ++d) {
            bool both = a.labels.find(b.labels[d]) != Labels::npos;
            if (!both && !wanted_later(b.labels[d], at + 1)) {
                gone.push_back(static_cast<int64_t>(d));
                continue;
            }
            kept += b.labels[d];
            if (!both) only_b += b.labels[d];
        }
        if (!gone.empty()) b = {e_.sum(b.tensor, gone), kept};
        int64_t batch = count_of(shared), rows = count_of(only_a), inner = count_of(summed), columns = count_of(only_b);
        Tensor left = e_.reshape(full_size(a, shared + only_a + summed), {batch, rows, inner});
        Tensor right = e_.reshape(full_size(b, shared + summed + only_b), {batch, inner, columns});
        Dims shape;
        Labels labels = shared + only_a + only_b;
        for (char label : labels) shape.push_back(sizes_.at(label));
        return {e_.reshape(e_.matmul(left, right), shape), labels};
    }

    Vm& vm_;
    Eager e_;
    std::vector<Term> terms_;
    Labels output_;
    std::map<char, int64_t> sizes_;
    std::map<char, int> counts_;
};

}  // namespace

// einsum("ij,jk->ik", a, b), or with the operands in a list.
Ref tensor_einsum(Vm& vm, const Args& args) {
    std::string_view equation = to_text(vm, args[0], "equation");
    std::vector<Tensor> operands;
    if (args.nrest == 1 && !is_tensor(args.rest[0])) {
        operands = tensors_arg(vm, args.rest[0], "einsum");
    } else {
        for (size_t i = 0; i < args.nrest; i++) {
            if (!is_tensor(args.rest[i])) wrong_argument(vm, "einsum", "operands", i + 2, "Tensor", args.rest[i]);
            operands.push_back(tensor_of(args.rest[i]));
        }
    }
    if (operands.empty()) raise(vm, Exc::RuntimeError, "einsum(): must provide at least one operand");
    return wrap(vm, Einsum(vm, equation, std::move(operands)).run());
}

Ref tensor_tensordot(Vm& vm, const Args& args) {
    Eager e(vm);
    Tensor a = tensor_arg(vm, args, 0, "tensordot", "a"), b = tensor_arg(vm, args, 1, "tensordot", "b");
    Dims from_a, from_b;
    if (is_integer(args[2])) {
        int64_t count = int_value(args[2]);
        if (count < 0 || count > a.rank() || count > b.rank()) {
            raise(vm, Exc::RuntimeError, "tensordot expects dims < ndim_a or ndim_b");
        }
        for (int64_t i = 0; i < count; ++i) {
            from_a.push_back(a.rank() - count + i);
            from_b.push_back(i);
        }
    } else {
        if (length(vm, args[2]) != 2) raise(vm, Exc::RuntimeError, "tensordot expects dims to be an int or a pair of lists");
        Ref first = get_item(vm, args[2], Value::integer(0)), second = get_item(vm, args[2], Value::integer(1));
        for (int64_t dim : ints_arg(vm, first, "tensordot", "dims", 3)) from_a.push_back(tensor::wrap_dim(dim, a.rank()));
        for (int64_t dim : ints_arg(vm, second, "tensordot", "dims", 3)) from_b.push_back(tensor::wrap_dim(dim, b.rank()));
    }
    if (from_a.size() != from_b.size()) {
        raise(vm, Exc::RuntimeError, "both dimension lists should have same length");
    }
    int64_t inner = 1, rows = 1, columns = 1;
    Dims order_a, order_b, shape;
    auto contains = [](const Dims& dims, int64_t dim) { return std::find(dims.begin(), dims.end(), dim) != dims.end(); };
    for (size_t i = 0; i < from_a.size(); ++i) {
        if (a.size(from_a[i]) != b.size(from_b[i])) {
            raise(vm, Exc::RuntimeError, "contracted dimensions need to match, but first has size {} in dim {} and second has size {} in dim {}",
                  a.size(from_a[i]), from_a[i], b.size(from_b[i]), from_b[i]);
        }
        inner *= a.size(from_a[i]);
    }
    for (int64_t d = 0; d < a.rank(); ++d) {
        if (contains(from_a, d)) continue;
        order_a.push_back(d);
        shape.push_back(a.size(d));
        rows *= a.size(d);
    }
    for (int64_t dim : from_a) order_a.push_back(dim);
    for (int64_t dim : from_b) order_b.push_back(dim);
    for (int64_t d = 0; d < b.rank(); ++d) {
        if (contains(from_b, d)) continue;
        order_b.push_back(d);
        shape.push_back(b.size(d));
        columns *= b.size(d);
    }
    Tensor left = e.reshape(e.permute(a, order_a), {rows, inner}), right = e.reshape(e.permute(b, order_b), {inner, columns});
    return wrap(vm, e.reshape(e.matmul(left, right), shape));
}

}  // namespace talc::stdlib
