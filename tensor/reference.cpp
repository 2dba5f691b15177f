// The plain definition of every operator, element by element over logical indices. Slow on purpose.
#include "tensor/reference.hpp"

#include <array>
#include <cmath>

#include "tensor/convert.hpp"
#include "tensor/error.hpp"
#include "tensor/kernels.hpp"
#include "tensor/philox.hpp"

namespace talc::tensor {

namespace reference {

void for_each_index(const Dims& shape, const std::function<void(const Dims&)>& f) {
    if (element_count(shape) == 0) return;
    Dims at(shape.size(), 0);
    while (true) {
        f(at);
        size_t d = shape.size();
        while (d > 0 && ++at[d - 1] == shape[d - 1]) at[--d] = 0;
        if (d == 0) return;
    }
}

Dims operand_index(const Dims& index, const Tensor& operand) {
    size_t fresh = index.size() - operand.sizes().size();
    Dims own;
    for (size_t d = 0; d < operand.sizes().size(); ++d) own.push_back(operand.sizes()[d] == 1 ? 0 : index[fresh + d]);
    return own;
}

void set_element(const Tensor& tensor, const Dims& index, Scalar value) {
    int64_t offset = 0;
    for (size_t d = 0; d < index.size(); ++d) offset += index[d] * tensor.strides()[d];
    void* to = tensor.data_as<char>() + offset * static_cast<int64_t>(size_of(tensor.dtype()));
    if (value.category == Category::Float) {
        convert_row(DType::Float64, &value.f, 0, tensor.dtype(), to, 1, 1);
    } else {
        convert_row(DType::Int64, &value.i, 0, tensor.dtype(), to, 1, 1);
    }
}

Scalar rounded_to(Scalar value, DType dtype) {
    Context context;
    return item(scalar_tensor(context, value, dtype));
}

namespace {

struct Call {
    Context& context;
    Op op;
    Tensors inputs;
    const Attrs& attrs;
    const Inferred& inferred;
    std::span<Tensor> results;

    Tensor fresh(size_t i = 0) const { return empty(context, inferred.shape, inferred.dtypes[i]); }
};

int64_t row_major(const Dims& index, const Dims& shape) {
    int64_t number = 0;
    for (size_t d = 0; d < shape.size(); ++d) number = number * shape[d] + index[d];
    return number;
}

Dims unflatten(int64_t number, const Dims& shape) {
    Dims index(shape.size());
    for (size_t d = shape.size(); d-- > 0;) {
        index[d] = number % shape[d];
        number /= shape[d];
    }
    return index;
}

void create(const Call& call) {
    if (call.op == Op::Number || call.op == Op::Size) {
        call.results[0] = number(call.context, call.op == Op::Size ? Scalar(call.attrs.start) : call.attrs.value);
        return;
    }
    Tensor out = call.fresh();
    const Attrs& a = call.attrs;
    for_each_index(out.sizes(), [&](const Dims& index) {
        Scalar value = a.value;
        if (call.op == Op::Arange) {
            int64_t i = row_major(index, out.sizes());
            value = is_float(out.dtype()) ? Scalar(a.value.to_double() + static_cast<double>(i) * a.delta.to_double())
                                          : Scalar(a.value.to_int() + i * a.delta.to_int());
        }
        set_element(out, index, value);
    });
    call.results[0] = out;
}

void random(const Call& call) {
    Tensor out = call.fresh();
    uint64_t seed = static_cast<uint64_t>(item(call.inputs[0]).to_int());
    uint64_t position = static_cast<uint64_t>(item(call.inputs[1]).to_int());
    for_each_index(out.sizes(), [&](const Dims& index) {
        uint32_t bits = philox::word(seed, position, static_cast<uint64_t>(row_major(index, out.sizes())));
        float value = call.op == Op::Randn ? philox::normal(bits) : philox::uniform(bits);
        set_element(out, index, static_cast<double>(value));
    });
    call.results[0] = out;
}

void pointwise(const Call& call) {
    std::vector<OperandType> types;
    for (const Tensor& input : call.inputs) types.push_back(input.operand_type());
    TypeQuery query = type_query(call.context, call.op, types, call.attrs);
    Tensor out = call.fresh();
    for_each_index(out.sizes(), [&](const Dims& index) {
        std::array<Scalar, 3> values;
        for (size_t k = 0; k < call.inputs.size(); ++k) {
            const Tensor& input = call.inputs[k];
            Scalar value = element_at(input, operand_index(index, input));
            values[k] = rounded_to(value, operand_dtype(query, k, out.dtype()));
        }
        if (call.op == Op::Pow && call.inputs[1].is_weak() && is_integral(out.dtype()) && values[1].i < 0) {
            fail("Integers to negative integer powers are not allowed.");
        }
        set_element(out, index, element_of(call.op, std::span(values).first(call.inputs.size()), call.attrs));
    });
    call.results[0] = out;
}

// Folds in double or int64. `values` in row-major order of the folded dims.
Scalar fold(Op op, std::span<const Scalar> values, bool floating) {
    double sum = 0, product = 1;
    uint64_t whole_sum = 0, whole_product = 1;
    bool any = false, all = true;
    for (Scalar v : values) {
        sum += v.to_double();
        product *= v.to_double();
        whole_sum += static_cast<uint64_t>(v.i);
        whole_product *= static_cast<uint64_t>(v.i);
        any = any || v.to_double() != 0;
        all = all && v.to_double() != 0;
    }
    switch (op) {
        case Op::Sum: return floating ? Scalar(sum) : Scalar(static_cast<int64_t>(whole_sum));
        case Op::Mean: return sum / static_cast<double>(values.size());
        case Op::Prod: return floating ? Scalar(product) : Scalar(static_cast<int64_t>(whole_product));
        case Op::Any: return any;
        case Op::All: return all;
        default: fail("{}: no reference", name_of(op));
    }
}

size_t extreme(std::span<const Scalar> values, bool max) {
    size_t best = 0;
    for (size_t i = 1; i < values.size(); ++i) {
        double a = values[i].to_double(), b = values[best].to_double();
        bool whole = values[i].category != Category::Float;
        bool beats = whole ? (max ? values[i].i > values[best].i : values[i].i < values[best].i)
                           : !std::isnan(b) && (std::isnan(a) || (max ? a > b : a < b));
        if (beats) best = i;
    }
    return best;
}

void reduce(const Call& call) {
    const Tensor& x = call.inputs[0];
    auto gone = [&](size_t d) {
        const Dims& dims = call.attrs.dims;
        return dims.empty() || std::find(dims.begin(), dims.end(), static_cast<int64_t>(d)) != dims.end();
    };
    Dims folded;
    for (size_t d = 0; d < x.sizes().size(); ++d) {
        if (gone(d)) folded.push_back(x.sizes()[d]);
    }
    bool extremes = call.op == Op::Argmax || call.op == Op::Argmin || call.op == Op::MaxDim || call.op == Op::MinDim ||
                    call.op == Op::Amax || call.op == Op::Amin;
    bool max = call.op == Op::Argmax || call.op == Op::MaxDim || call.op == Op::Amax;
    for (size_t i = 0; i < call.results.size(); ++i) call.results[i] = call.fresh(i);
    const Tensor& out = call.results[0];
    for_each_index(out.sizes(), [&](const Dims& index) {
        std::vector<Scalar> values;
        for_each_index(folded, [&](const Dims& inner) {
            Dims at;
            size_t kept = 0, in = 0;
            for (size_t d = 0; d < x.sizes().size(); ++d) {
                if (gone(d)) {
                    at.push_back(inner[in++]);
                    kept += call.attrs.keepdim;
                } else {
                    at.push_back(index[kept++]);
                }
            }
            Scalar value = element_at(x, at);
            values.push_back(extremes || is_test(call.op) ? value : rounded_to(value, out.dtype()));
        });
        if (!extremes) {
            set_element(out, index, fold(call.op, values, is_float(out.dtype())));
            return;
        }
        size_t best = extreme(values, max);
        Scalar number(static_cast<int64_t>(best));
        bool index_only = call.op == Op::Argmax || call.op == Op::Argmin;
        set_element(out, index, index_only ? number : values[best]);
        if (call.results.size() > 1) set_element(call.results[1], index, number);
    });
}

// Each output coordinate names one input coordinate.
void view(const Call& call) {
    const Tensor& x = call.inputs[0];
    Tensor out = call.fresh();
    const Attrs& a = call.attrs;
    size_t dim = static_cast<size_t>(a.dim);
    for_each_index(out.sizes(), [&](const Dims& index) {
        Dims from = index;
        switch (call.op) {
            case Op::View:
            case Op::Reshape:
            case Op::Squeeze: from = unflatten(row_major(index, out.sizes()), x.sizes()); break;
            case Op::Detach: break;
            case Op::Permute:
                for (size_t d = 0; d < index.size(); ++d) from[static_cast<size_t>(a.dims[d])] = index[d];
                break;
            case Op::Expand: from = operand_index(index, x); break;
            case Op::Unsqueeze: from.erase(dim); break;
            case Op::Slice: from[dim] = a.start + index[dim] * a.step; break;
            case Op::Select: from.insert(dim, a.start); break;
            default: fail("{}: no reference", name_of(call.op));
        }
        set_element(out, index, element_at(x, from));
    });
    call.results[0] = out;
}

void matmul(const Call& call) {
    const Tensor &a = call.inputs[0], &b = call.inputs[1];
    Tensor out = call.fresh();
    for_each_index(out.sizes(), [&](const Dims& index) {
        size_t batch = index.size() - (a.rank() > 1) - (b.rank() > 1);
        int64_t row = a.rank() > 1 ? index[batch] : 0;
        int64_t column = b.rank() > 1 ? index.back() : 0;
        auto matrix_index = [&](const Tensor& x, int64_t i, int64_t j, bool left) {
            if (x.rank() == 1) return Dims{left ? j : i};
            Dims at;
            size_t own = x.sizes().size() - 2;
            for (size_t d = 0; d < own; ++d) at.push_back(x.sizes()[d] == 1 ? 0 : index[batch - own + d]);
            at.push_back(i);
            at.push_back(j);
            return at;
        };
        double sum = 0;
        uint64_t whole = 0;
        for (int64_t k = 0; k < a.sizes().back(); ++k) {
            Scalar x = element_at(a, matrix_index(a, row, k, true)), y = element_at(b, matrix_index(b, k, column, false));
            sum += x.to_double() * y.to_double();
            whole += static_cast<uint64_t>(x.i) * static_cast<uint64_t>(y.i);
        }
        set_element(out, index, is_float(out.dtype()) ? Scalar(sum) : Scalar(static_cast<int64_t>(whole)));
    });
    call.results[0] = out;
}

Tensor copied(const Call& call, const Tensor& x) {
    Tensor out = empty(call.context, x.sizes(), x.dtype());
    for_each_index(x.sizes(), [&](const Dims& index) { set_element(out, index, element_at(x, index)); });
    return out;
}

int64_t checked(Scalar index, int64_t dim, int64_t size, bool wraps) {
    int64_t value = index.to_int();
    if (value >= size || value < (wraps ? -size : 0)) {
        fail(wraps ? ErrorKind::Index : ErrorKind::Runtime, "index {} is out of bounds for dimension {} with size {}",
             value, dim, size);
    }
    return value < 0 ? value + size : value;
}

// Calls f(coordinate in x, coordinate in the indexing result).
template <class F>
void for_each_taken(const Tensor& x, Tensors indices, const Dims& dims, F&& f) {
    Dims tuple;
    for (const Tensor& index : indices) {
        while (tuple.size() < index.sizes().size()) tuple.insert(0, 1);
        for (size_t i = 0; i < index.sizes().size(); ++i) {
            int64_t& have = tuple[tuple.size() - 1 - i];
            have = have == 1 ? index.sizes()[index.sizes().size() - 1 - i] : have;
        }
    }
    bool adjacent = true;
    for (size_t i = 1; i < dims.size(); ++i) adjacent = adjacent && dims[i] == dims[i - 1] + 1;
    size_t place = adjacent ? static_cast<size_t>(dims[0]) : 0;
    Dims kept;
    for (int64_t d = 0; d < x.rank(); ++d) {
        if (std::find(dims.begin(), dims.end(), d) == dims.end()) kept.push_back(x.size(d));
    }
    for_each_index(tuple, [&](const Dims& t) {
        Dims values;
        for (size_t k = 0; k < dims.size(); ++k) {
            values.push_back(checked(element_at(indices[k], operand_index(t, indices[k])), dims[k], x.size(dims[k]), true));
        }
        for_each_index(kept, [&](const Dims& rest) {
            Dims at, result = rest;
            size_t in = 0;
            for (int64_t d = 0; d < x.rank(); ++d) {
                auto found = std::find(dims.begin(), dims.end(), d);
                at.push_back(found != dims.end() ? values[static_cast<size_t>(found - dims.begin())] : rest[in++]);
            }
            for (size_t d = 0; d < t.size(); ++d) result.insert(place + d, t[d]);
            f(at, result);
        });
    });
}

Scalar sum_of(Scalar a, Scalar b) {
    return a.category == Category::Float ? Scalar(a.f + b.to_double())
                                         : Scalar(static_cast<int64_t>(static_cast<uint64_t>(a.i) + static_cast<uint64_t>(b.i)));
}

void put(const Call& call, const Tensor& source, Tensors indices, const Dims& dims, bool accumulate) {
    Tensor out = copied(call, call.inputs[0]);
    for_each_taken(out, indices, dims, [&](const Dims& at, const Dims& result) {
        Scalar value = element_at(source, operand_index(result, source));
        set_element(out, at, accumulate ? sum_of(element_at(out, at), value) : value);
    });
    call.results[0] = out;
}

void index(const Call& call) {
    const Tensor& x = call.inputs[0];
    const Attrs& a = call.attrs;
    size_t dim = static_cast<size_t>(a.dim);
    Tensor& out = call.results[0];
    switch (call.op) {
        case Op::Cat:
        case Op::Stack: {
            out = call.fresh();
            int64_t begin = 0;
            for (const Tensor& input : call.inputs) {
                if (call.op == Op::Cat && input.rank() != out.rank()) continue;
                for_each_index(input.sizes(), [&](const Dims& from) {
                    Dims to = from;
                    if (call.op == Op::Cat) {
                        to[dim] += begin;
                    } else {
                        to.insert(dim, begin);
                    }
                    set_element(out, to, element_at(input, from));
                });
                begin += call.op == Op::Cat ? input.sizes()[dim] : 1;
            }
            return;
        }
        case Op::IndexSelect:
        case Op::IndexTake: {
            out = call.fresh();
            Dims dims = call.op == Op::IndexTake ? a.dims : Dims{a.dim};
            for_each_taken(x, call.inputs.subspan(1), dims, [&](const Dims& at, const Dims& result) {
                // A 0-dim index in index_select still gives a dimension of size 1.
                set_element(out, result.size() == out.sizes().size() ? result : unflatten(row_major(result, out.sizes()), out.sizes()),
                            element_at(x, at));
            });
            return;
        }
        case Op::IndexPut: return put(call, call.inputs[1], call.inputs.subspan(2), a.dims, a.mode);
        case Op::IndexAdd: return put(call, call.inputs[2], call.inputs.subspan(1, 1), {a.dim}, true);
        case Op::Gather:
        case Op::ScatterAdd: {
            const Tensor& indices = call.inputs[1];
            out = call.op == Op::Gather ? call.fresh() : copied(call, x);
            for_each_index(indices.sizes(), [&](const Dims& at) {
                Dims along = at;
                if (!at.empty()) along[dim] = checked(element_at(indices, at), a.dim, x.size(a.dim), false);
                if (call.op == Op::Gather) {
                    set_element(out, at, element_at(x, along));
                } else {
                    set_element(out, along, sum_of(element_at(out, along), element_at(call.inputs[2], at)));
                }
            });
            return;
        }
        case Op::SliceScatter:
        case Op::SelectScatter: {
            out = copied(call, x);
            const Tensor& source = call.inputs[1];
            for_each_index(source.sizes(), [&](const Dims& from) {
                Dims to = from;
                if (call.op == Op::SliceScatter) {
                    to[dim] = a.start + from[dim] * a.step;
                } else {
                    to.insert(dim, a.start);
                }
                set_element(out, to, element_at(source, from));
            });
            return;
        }
        case Op::ToDevice: out = copied(call, x); return;
        default: fail("{}: no reference", name_of(call.op));
    }
}

void write(const Call& call) {
    const Tensor& target = call.inputs[0];
    Tensor source = call.op == Op::Fill ? number(call.context, call.attrs.value) : copied(call, call.inputs[1]);
    for_each_index(target.sizes(), [&](const Dims& at) {
        set_element(target, at, element_at(source, operand_index(at, source)));
    });
    target.storage().bump_version();
    call.results[0] = target;
}

void leaf(const Call& call) { fail("{} cannot be run", name_of(call.op)); }

constexpr std::array<void (*)(const Call&), 9> kReferences = {leaf,  create, pointwise, reduce, view,
                                                              index, matmul, random,    write};

}  // namespace

}  // namespace reference

void run_reference(Context& context, Op op, Tensors inputs, const Attrs& attrs, std::span<Tensor> results) {
    Inferred inferred = infer(context, op, inputs, attrs);
    reference::kReferences[static_cast<size_t>(info(op).kind)]({context, op, inputs, attrs, inferred, results});
}

Tensor run_reference(Context& context, Op op, Tensors inputs, const Attrs& attrs) {
    Tensor result;
    run_reference(context, op, inputs, attrs, std::span(&result, 1));
    return result;
}

}  // namespace talc::tensor
