// Views and rearrangements, joining and splitting, choosing by index.
#include "stdlib/tensor_support.hpp"

namespace talc::stdlib {

namespace {

Tensor emit_sizes(Vm& vm, Op op, const Tensor& x, const Dims& sizes) {
    tensor::Attrs attrs;
    attrs.sizes = sizes;
    return Eager(vm).emit(op, {x}, attrs);
}

// One size may be -1: what is left over.
Dims with_inferred(const Tensor& x, Dims sizes) {
    int64_t known = 1;
    int hole = -1;
    for (size_t i = 0; i < sizes.size(); ++i) {
        if (sizes[i] == -1) {
            if (hole >= 0) tensor::fail("only one dimension can be inferred");
            hole = static_cast<int>(i);
        } else if (sizes[i] < 0) {
            tensor::fail("invalid shape dimension {}", sizes[i]);
        } else {
            known *= sizes[i];
        }
    }
    bool fits = hole < 0 ? known == x.numel() : known > 0 && x.numel() % known == 0;
    if (hole >= 0 && known == 0) {
        if (x.numel() == 0) {
            tensor::fail("cannot reshape tensor of 0 elements into shape {} because the unspecified dimension size -1 can be any "
                         "value and is ambiguous",
                         tensor::bracketed(sizes));
        }
        fits = false;
    }
    if (!fits) tensor::fail("shape '{}' is invalid for input of size {}", tensor::bracketed(sizes), x.numel());
    if (hole >= 0) sizes[static_cast<size_t>(hole)] = x.numel() / known;
    return sizes;
}

Tensor permuted(Vm& vm, const Tensor& x, const Dims& dims) { return Eager(vm).permute(x, dims); }

Tensor swapped(Vm& vm, const Tensor& x, int64_t a, int64_t b) {
    Dims dims;
    for (int64_t d = 0; d < x.rank(); ++d) dims.push_back(d == a ? b : d == b ? a : d);
    return permuted(vm, x, dims);
}

}  // namespace

Ref tensor_view(Vm& vm, const Args& args) {
    Tensor x = tensor_of(args[0]);
    return wrap(vm, emit_sizes(vm, Op::View, x, with_inferred(x, rest_ints(vm, args, "view", "size", 1))));
}

Ref tensor_reshape(Vm& vm, const Args& args) {
    Tensor x = tensor_arg(vm, args, 0, "reshape");
    return wrap(vm, emit_sizes(vm, Op::Reshape, x, with_inferred(x, rest_ints(vm, args, "reshape", "shape", 1))));
}

Ref function_reshape(Vm& vm, const Args& args) {
    Tensor x = tensor_arg(vm, args, 0, "reshape");
    return wrap(vm, emit_sizes(vm, Op::Reshape, x, with_inferred(x, ints_arg(vm, args[1], "reshape", "shape", 2))));
}

Ref tensor_view_as(Vm& vm, const Args& args) {
    Tensor x = tensor_of(args[0]);
    return wrap(vm, emit_sizes(vm, Op::View, x, with_inferred(x, tensor_arg(vm, args, 1, "view_as", "other").sizes())));
}

Ref tensor_reshape_as(Vm& vm, const Args& args) {
    Tensor x = tensor_of(args[0]);
    return wrap(vm, emit_sizes(vm, Op::Reshape, x, with_inferred(x, tensor_arg(vm, args, 1, "reshape_as", "other").sizes())));
}

Ref tensor_flatten(Vm& vm, const Args& args) {
    Tensor x = tensor_arg(vm, args, 0, "flatten");
    int64_t first = dim_arg(vm, args[1], x.rank(), "flatten"), last = dim_arg(vm, args[2], x.rank(), "flatten", 3);
    if (first > last) raise(vm, Exc::RuntimeError, "flatten() has invalid args: start_dim cannot come after end_dim");
    if (x.rank() > 0 && first == last) return args[0];
    Dims sizes;
    int64_t joined = 1;
    for (int64_t d = 0; d < x.rank(); ++d) {
        if (d < first || d > last) {
            sizes.push_back(x.size(d));
            continue;
        }
        joined *= x.size(d);
        if (d == last) sizes.push_back(joined);
    }
    if (x.rank() == 0) sizes.push_back(1);
    return wrap(vm, emit_sizes(vm, Op::Reshape, x, sizes));
}

Ref tensor_unflatten(Vm& vm, const Args& args) {
    Tensor x = tensor_arg(vm, args, 0, "unflatten");
    int64_t dim = dim_arg(vm, args[1], x.rank(), "unflatten");
    Dims inner = ints_arg(vm, args[2], "unflatten", "sizes", 3);
    int64_t known = 1, holes = 0;
    for (int64_t size : inner) {
        if (size == -1) {
            ++holes;
        } else {
            known *= size;
        }
    }
    bool fits = holes == 0 ? known == x.size(dim) : holes == 1 && known > 0 && x.size(dim) % known == 0;
    if (!fits) {
        raise(vm, Exc::RuntimeError, "unflatten: Provided sizes {} don't multiply up to the size of dim {} ({}) in the input tensor",
              tensor::bracketed(inner), dim, x.size(dim));
    }
    Dims sizes;
    for (int64_t d = 0; d < x.rank(); ++d) {
        if (d != dim) {
            sizes.push_back(x.size(d));
            continue;
        }
        for (int64_t size : inner) sizes.push_back(size == -1 ? x.size(dim) / known : size);
    }
    return wrap(vm, emit_sizes(vm, Op::View, x, sizes));
}

Ref tensor_squeeze(Vm& vm, const Args& args) {
    Tensor x = tensor_arg(vm, args, 0, "squeeze");
    Dims wanted;
    if (given(args[1])) {
        wanted = dims_arg(vm, args[1], x.rank(), "squeeze");
    } else {
        for (int64_t d = 0; d < x.rank(); ++d) wanted.push_back(d);
    }
    Dims dims;
    for (int64_t d : wanted) {
        if (x.rank() > 0 && x.size(d) == 1) dims.push_back(d);
    }
    Dims sizes;
    for (int64_t d = 0; d < x.rank(); ++d) {
        bool gone = false;
        for (int64_t dim : dims) gone = gone || dim == d;
        if (!gone) sizes.push_back(x.size(d));
    }
    if (dims.empty()) return wrap(vm, emit_sizes(vm, Op::View, x, sizes));
    return wrap(vm, Eager(vm).squeeze(x, dims));
}

Ref tensor_unsqueeze(Vm& vm, const Args& args) {
    Tensor x = tensor_arg(vm, args, 0, "unsqueeze");
    tensor::Attrs attrs;
    attrs.dim = dim_arg(vm, args[1], x.rank() + 1, "unsqueeze");
    return wrap(vm, Eager(vm).emit(Op::Unsqueeze, {x}, attrs));
}

// ---- Order of dimensions ----

namespace {

Ref permute_by(Vm& vm, const Tensor& x, const Dims& given_dims) {
    if (static_cast<int64_t>(given_dims.size()) != x.rank()) {
        raise(vm, Exc::RuntimeError,
              "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired ordering of "
              "dimensions i.e. input.dim() = {} is not equal to len(dims) = {}",
              x.rank(), given_dims.size());
    }
    Dims dims;
    for (int64_t dim : given_dims) {
        int64_t wrapped = tensor::wrap_dim(dim, x.rank());
        for (int64_t seen : dims) {
            if (seen == wrapped) raise(vm, Exc::RuntimeError, "permute(): duplicate dims are not allowed.");
        }
        dims.push_back(wrapped);
    }
    return wrap(vm, permuted(vm, x, dims));
}

}  // namespace

Ref tensor_permute(Vm& vm, const Args& args) {
    return permute_by(vm, tensor_of(args[0]), rest_ints(vm, args, "permute", "dims", 1));
}

Ref function_permute(Vm& vm, const Args& args) {
    return permute_by(vm, tensor_arg(vm, args, 0, "permute"), ints_arg(vm, args[1], "permute", "dims", 2));
}

Ref tensor_transpose(Vm& vm, const Args& args) {
    Tensor x = tensor_arg(vm, args, 0, "transpose");
    int64_t a = dim_arg(vm, args[1], x.rank(), "transpose"), b = dim_arg(vm, args[2], x.rank(), "transpose", 3);
    return wrap(vm, swapped(vm, x, a, b));
}

Ref tensor_t(Vm& vm, const Args& args) {
    Tensor x = tensor_arg(vm, args, 0, "t");
    if (x.rank() > 2) {
        raise(vm, Exc::RuntimeError, "t() expects a tensor with <= 2 dimensions, but self is {}D", x.rank());
    }
    return wrap(vm, x.rank() < 2 ? permuted(vm, x, x.rank() == 0 ? Dims{} : Dims{0}) : swapped(vm, x, 0, 1));
}

Ref tensor_T(Vm& vm, const Args& args) {
    Tensor x = tensor_of(args[0]);
    Dims dims;
    for (int64_t d = x.rank(); d-- > 0;) dims.push_back(d);
    return wrap(vm, permuted(vm, x, dims));
}

Ref tensor_mT(Vm& vm, const Args& args) {
    Tensor x = tensor_of(args[0]);
    if (x.rank() < 2) {
        raise(vm, Exc::RuntimeError, "tensor.mT is only supported on matrices or batches of matrices. Got {}-D tensor.", x.rank());
    }
    return wrap(vm, swapped(vm, x, x.rank() - 2, x.rank() - 1));
}

Ref tensor_movedim(Vm& vm, const Args& args) {
    Tensor x = tensor_arg(vm, args, 0, "movedim");
    Dims from = ints_arg(vm, args[1], "movedim", "source", 2), to = ints_arg(vm, args[2], "movedim", "destination", 3);
    if (from.size() != to.size()) {
        raise(vm, Exc::RuntimeError,
              "movedim: Invalid source or destination dims: source ({} dims) should contain the same number of dims as destination "
              "({} dims)",
              tensor::bracketed(from), tensor::bracketed(to));
    }
    Dims dims;
    for (int64_t d = 0; d < x.rank(); ++d) dims.push_back(-1);
    std::vector<bool> taken(static_cast<size_t>(x.rank()));
    for (size_t i = 0; i < from.size(); ++i) {
        auto source = static_cast<size_t>(tensor::wrap_dim(from[i], x.rank()));
        auto place = static_cast<size_t>(tensor::wrap_dim(to[i], x.rank()));
        if (taken[source] || dims[place] != -1) raise(vm, Exc::RuntimeError, "movedim: repeated dim in `source` or `destination`");
        taken[source] = true;
        dims[place] = static_cast<int64_t>(source);
    }
    size_t next = 0;
    for (size_t d = 0; d < dims.size(); ++d) {
        if (dims[d] != -1) continue;
        while (taken[next]) ++next;
        dims[d] = static_cast<int64_t>(next++);
    }
    return wrap(vm, permuted(vm, x, dims));
}

// ---- Broadcasting ----

namespace {

Tensor expanded(Vm& vm, const Tensor& x, Dims sizes, std::string_view function) {
    int64_t fresh = static_cast<int64_t>(sizes.size()) - x.rank();
    if (fresh < 0) {
        raise(vm, Exc::RuntimeError,
              "{}: the number of sizes provided ({}) must be greater or equal to the number of dimensions in the tensor ({})",
              function, sizes.size(), x.rank());
    }
    for (size_t d = 0; d < sizes.size(); ++d) {
        if (sizes[d] != -1) continue;
        if (static_cast<int64_t>(d) < fresh) {
            raise(vm, Exc::RuntimeError,
                  "The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension {}", d);
        }
        sizes[d] = x.size(static_cast<int64_t>(d) - fresh);
    }
    // It takes no memory, but work as if it did, which no limit could stop half way.
    double bytes = static_cast<double>(tensor::size_of(x.dtype()));
    for (int64_t size : sizes) bytes *= static_cast<double>(size);
    if (bytes > static_cast<double>(vm.heap.limit())) {
        raise(vm, Exc::MemoryError, "{}: a tensor of {:.0f} bytes, if it were stored, would pass the memory limit", function, bytes);
    }
    return emit_sizes(vm, Op::Expand, x, sizes);
}

}  // namespace

Ref tensor_expand(Vm& vm, const Args& args) {
    return wrap(vm, expanded(vm, tensor_of(args[0]), rest_ints(vm, args, "expand", "size", 1), "expand"));
}

Ref tensor_expand_as(Vm& vm, const Args& args) {
    return wrap(vm, expanded(vm, tensor_of(args[0]), tensor_arg(vm, args, 1, "expand_as", "other").sizes(), "expand"));
}

Ref tensor_broadcast_to(Vm& vm, const Args& args) {
    Tensor x = tensor_arg(vm, args, 0, "broadcast_to");
    return wrap(vm, expanded(vm, x, ints_arg(vm, args[1], "broadcast_to", "size", 2), "expand"));
}

// ---- Parts ----

Ref tensor_select(Vm& vm, const Args& args) {
    Tensor x = tensor_arg(vm, args, 0, "select");
    if (x.rank() == 0) raise(vm, Exc::IndexError, "select() cannot be applied to a 0-dim tensor.");
    int64_t dim = dim_arg(vm, args[1], x.rank(), "select"), index = int_arg(vm, args[2], "select", "index", 3);
    if (index < -x.size(dim) || index >= x.size(dim)) {
        raise(vm, Exc::IndexError, "select(): index {} out of range for tensor of size {} at dimension {}", index,
              tensor::bracketed(x.sizes()), dim);
    }
    return wrap(vm, Eager(vm).select(x, dim, index < 0 ? index + x.size(dim) : index));
}

Ref tensor_narrow(Vm& vm, const Args& args) {
    Tensor x = tensor_arg(vm, args, 0, "narrow");
    if (x.rank() == 0) raise(vm, Exc::RuntimeError, "narrow() cannot be applied to a 0-dim tensor.");
    int64_t dim = dim_arg(vm, args[1], x.rank(), "narrow");
    int64_t start = int_arg(vm, args[2], "narrow", "start", 3), count = int_arg(vm, args[3], "narrow", "length", 4);
    if (count < 0) raise(vm, Exc::RuntimeError, "narrow(): length must be non-negative.");
    if (start < -x.size(dim) || start > x.size(dim)) {
        raise(vm, Exc::IndexError, "start out of range (expected to be in range of [{}, {}], but got {})", -x.size(dim),
              x.size(dim), start);
    }
    if (start < 0) start += x.size(dim);
    if (start + count > x.size(dim)) {
        raise(vm, Exc::RuntimeError, "start ({}) + length ({}) exceeds dimension size ({}).", start, count, x.size(dim));
    }
    return wrap(vm, Eager(vm).slice(x, dim, start, start + count));
}

namespace {

Ref split_at(Vm& vm, const Tensor& x, int64_t dim, const Dims& parts) {
    Eager e(vm);
    std::vector<Tensor> pieces;
    int64_t start = 0;
    for (int64_t part : parts) {
        pieces.push_back(e.slice(x, dim, start, start + part));
        start += part;
    }
    return wrap_all(vm, pieces);
}

Dims equal_parts(int64_t size, int64_t part) {
    Dims parts;
    for (int64_t start = 0; start < size; start += part) parts.push_back(std::min(part, size - start));
    if (parts.empty()) parts.push_back(0);
    return parts;
}

}  // namespace

Ref tensor_split(Vm& vm, const Args& args) {
    Tensor x = tensor_arg(vm, args, 0, "split", "tensor");
    int64_t dim = dim_arg(vm, args[2], x.rank(), "split", 3);
    if (x.rank() == 0) raise(vm, Exc::RuntimeError, "split expects at least a 1-dimensional tensor");
    if (is_integer(args[1])) {
        int64_t part = int_value(args[1]);
        if (part < 0 || (part == 0 && x.size(dim) != 0)) {
            raise(vm, Exc::RuntimeError, "split expects split_size be non-negative, but got split_size={}", part);
        }
        return split_at(vm, x, dim, part == 0 ? Dims{0} : equal_parts(x.size(dim), part));
    }
    Dims parts = ints_arg(vm, args[1], "split", "split_size", 2);
    int64_t total = 0;
    for (int64_t part : parts) {
        if (part < 0) {
            raise(vm, Exc::RuntimeError, "split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={}",
                  tensor::bracketed(parts));
        }
        total += part;
    }
    if (total != x.size(dim)) {
        raise(vm, Exc::RuntimeError,
              "split_with_sizes expects split_sizes to sum exactly to {} (input tensor's size at dimension {}), but got "
              "split_sizes={}",
              x.size(dim), dim, tensor::bracketed(parts));
    }
    return split_at(vm, x, dim, parts);
}

Ref tensor_chunk(Vm& vm, const Args& args) {
    Tensor x = tensor_arg(vm, args, 0, "chunk");
    int64_t chunks = int_arg(vm, args[1], "chunk", "chunks", 2);
    if (x.rank() == 0) raise(vm, Exc::RuntimeError, "chunk expects at least a 1-dimensional tensor");
    if (chunks <= 0) raise(vm, Exc::RuntimeError, "chunk expects `chunks` to be greater than 0, got: {}", chunks);
    int64_t dim = dim_arg(vm, args[2], x.rank(), "chunk", 3);
    int64_t part = (x.size(dim) + chunks - 1) / chunks;
    if (part == 0) {
        Dims empty;
        for (int64_t i = 0; i < chunks; ++i) empty.push_back(0);
        return split_at(vm, x, dim, empty);
    }
    return split_at(vm, x, dim, equal_parts(x.size(dim), part));
}

Ref tensor_unbind(Vm& vm, const Args& args) {
    Tensor x = tensor_arg(vm, args, 0, "unbind");
    int64_t dim = dim_arg(vm, args[1], x.rank(), "unbind");
    if (x.rank() == 0) raise(vm, Exc::IndexError, "Dimension specified as 0 but tensor has no dimensions");
    Eager e(vm);
    std::vector<Tensor> rows;
    for (int64_t i = 0; i < x.size(dim); ++i) rows.push_back(e.select(x, dim, i));
    return wrap_all(vm, rows);
}

// ---- Joining ----

Ref tensor_cat(Vm& vm, const Args& args) {
    std::vector<Tensor> tensors = tensors_arg(vm, args[0], "cat");
    if (tensors.empty()) raise(vm, Exc::ValueError, "torch.cat(): expected a non-empty list of Tensors");
    for (size_t i = 0; i < tensors.size(); ++i) {
        if (tensors[i].rank() == 0) raise(vm, Exc::RuntimeError, "zero-dimensional tensor (at position {}) cannot be concatenated", i);
    }
    tensor::Attrs attrs;
    attrs.dim = dim_arg(vm, args[1], tensors[0].rank(), "cat");
    return wrap(vm, Eager(vm).emit(Op::Cat, tensors, attrs));
}

Ref tensor_stack(Vm& vm, const Args& args) {
    std::vector<Tensor> tensors = tensors_arg(vm, args[0], "stack");
    if (tensors.empty()) raise(vm, Exc::RuntimeError, "stack expects a non-empty TensorList");
    tensor::Attrs attrs;
    attrs.dim = dim_arg(vm, args[1], tensors[0].rank() + 1, "stack");
    return wrap(vm, Eager(vm).emit(Op::Stack, tensors, attrs));
}

// ---- By index ----

namespace {

tensor::Attrs on_dim(Vm& vm, const Tensor& x, Value dim, std::string_view function) {
    tensor::Attrs attrs;
    attrs.dim = dim_arg(vm, dim, x.rank(), function);
    return attrs;
}

}  // namespace

Ref tensor_index_select(Vm& vm, const Args& args) {
    Tensor x = tensor_arg(vm, args, 0, "index_select");
    return wrap(vm, Eager(vm).emit(Op::IndexSelect, {x, tensor_arg(vm, args, 2, "index_select", "index")},
                                   on_dim(vm, x, args[1], "index_select")));
}

Ref tensor_gather(Vm& vm, const Args& args) {
    Tensor x = tensor_arg(vm, args, 0, "gather");
    return wrap(vm, Eager(vm).emit(Op::Gather, {x, tensor_arg(vm, args, 2, "gather", "index")}, on_dim(vm, x, args[1], "gather")));
}

Ref tensor_take_along_dim(Vm& vm, const Args& args) {
    Eager e(vm);
    Tensor x = tensor_arg(vm, args, 0, "take_along_dim"), index = tensor_arg(vm, args, 1, "take_along_dim", "indices");
    if (!given(args[2])) {
        Tensor flat = e.reshape(x, {x.numel()});
        return wrap(vm, e.emit(Op::Gather, {flat, e.reshape(index, {index.numel()})}));
    }
    if (index.rank() != x.rank()) {
        raise(vm, Exc::RuntimeError,
              "torch.take_along_dim(): input and indices should have the same number of dimensions, but got {} dimensions for "
              "input, and {} dimensions for indices",
              x.rank(), index.rank());
    }
    tensor::Attrs attrs = on_dim(vm, x, args[2], "take_along_dim");
    Dims from = x.sizes(), to = index.sizes();
    for (int64_t d = 0; d < x.rank(); ++d) {
        auto at = static_cast<size_t>(d);
        if (d == attrs.dim) continue;
        if (from[at] == 1) from[at] = to[at];
        if (to[at] == 1) to[at] = from[at];
    }
    return wrap(vm, e.emit(Op::Gather, {e.expand(x, from), e.expand(index, to)}, attrs));
}

Ref tensor_index_add(Vm& vm, const Args& args) {
    Eager e(vm);
    Tensor x = tensor_arg(vm, args, 0, "index_add");
    Tensor index = tensor_arg(vm, args, 2, "index_add", "index"), source = tensor_arg(vm, args, 3, "index_add", "source");
    if (!(args[4].is_int() && args[4].i == 1)) source = e.emit(Op::Mul, {source, operand_arg(vm, args, 4, "index_add", "alpha")});
    return wrap(vm, e.emit(Op::IndexAdd, {x, index, source}, on_dim(vm, x, args[1], "index_add")));
}

Ref tensor_index_add_(Vm& vm, const Args& args) {
    Eager e(vm);
    Tensor x = tensor_of(args[0]);
    Tensor index = tensor_arg(vm, args, 2, "index_add_", "index"), source = tensor_arg(vm, args, 3, "index_add_", "source");
    if (!(args[4].is_int() && args[4].i == 1)) source = e.emit(Op::Mul, {source, operand_arg(vm, args, 4, "index_add_", "alpha")});
    Tensor operands[] = {x, index, source};
    autograd::apply_into(vm.tensors, Op::IndexAdd, operands, on_dim(vm, x, args[1], "index_add_"), x);
    return args[0];
}

Ref tensor_scatter_add(Vm& vm, const Args& args) {
    Tensor x = tensor_arg(vm, args, 0, "scatter_add");
    return wrap(vm, Eager(vm).emit(Op::ScatterAdd, {x, tensor_arg(vm, args, 2, "scatter_add", "index"), tensor_arg(vm, args, 3, "scatter_add", "src")},
                                   on_dim(vm, x, args[1], "scatter_add")));
}

Ref tensor_scatter_add_(Vm& vm, const Args& args) {
    Tensor x = tensor_of(args[0]);
    Tensor operands[] = {x, tensor_arg(vm, args, 2, "scatter_add_", "index"), tensor_arg(vm, args, 3, "scatter_add_", "src")};
    autograd::apply_into(vm.tensors, Op::ScatterAdd, operands, on_dim(vm, x, args[1], "scatter_add_"), x);
    return args[0];
}

// ---- Copies ----

Ref tensor_clone(Vm& vm, const Args& args) { return wrap(vm, Eager(vm).emit(Op::Clone, {tensor_arg(vm, args, 0, "clone")})); }

Ref tensor_contiguous(Vm& vm, const Args& args) {
    Tensor x = tensor_of(args[0]);
    return x.is_contiguous() ? Ref(args[0]) : wrap(vm, Eager(vm).emit(Op::Contiguous, {x}));
}

}  // namespace talc::stdlib
