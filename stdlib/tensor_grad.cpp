// Gradients: what a tensor knows of them, backward passes, modes.
#include "autograd/backward.hpp"
#include "stdlib/modules.hpp"
#include "stdlib/tensor_support.hpp"

namespace talc::stdlib {

Ref tensor_requires_grad(Vm&, const Args& args) { return boolean(autograd::requires_grad(tensor_of(args[0]))); }
Ref tensor_set_requires_grad(Vm& vm, const Args& args) {
    autograd::set_requires_grad(tensor_of(args[0]), truth(vm, args[1]));
    return none();
}
Ref tensor_requires_grad_(Vm& vm, const Args& args) {
    if (truth(vm, args[1]) && !tensor::is_float(tensor_of(args[0]).dtype())) {
        raise(vm, Exc::RuntimeError, "only Tensors of floating point dtype can require gradients");
    }
    autograd::set_requires_grad(tensor_of(args[0]), truth(vm, args[1]));
    return args[0];
}
Ref tensor_is_leaf(Vm&, const Args& args) { return boolean(autograd::is_leaf(tensor_of(args[0]))); }

Ref tensor_grad(Vm& vm, const Args& args) { return wrap(vm, autograd::grad_of(tensor_of(args[0]))); }
Ref tensor_set_grad(Vm& vm, const Args& args) {
    if (!args[1].is_none() && !is_tensor(args[1])) {
        raise(vm, Exc::TypeError, "assigned grad expected to be a Tensor or None but got grad of type {}", class_name(vm, args[1]));
    }
    Tensor grad = args[1].is_none() ? Tensor() : tensor_of(args[1]);
    if (grad && grad.is(tensor_of(args[0]))) raise(vm, Exc::RuntimeError, "can't assign Variable as its own grad");
    autograd::set_grad(vm.tensors, tensor_of(args[0]), grad);
    return none();
}

// The node that made a tensor, by its name.
namespace {

struct NodeState final : ForeignState {
    explicit NodeState(std::string n) : name(std::move(n)) {}
    std::string name;
};
constexpr NativeClass kNodeClass = {.name = "GradNode", .module = "autograd", .final = true};

}  // namespace

Ref tensor_grad_fn(Vm& vm, const Args& args) {
    auto node = autograd::grad_fn(tensor_of(args[0]));
    if (!node) return none();
    return make_foreign(vm, native_class(vm, kNodeClass), std::make_unique<NodeState>(node->name()));
}
Ref node_repr(Vm& vm, const Args& args) {
    return make_str(vm, fmt::format("<{} object at {}>", foreign_cast<NodeState>(args[0])->name, static_cast<void*>(args[0].o)));
}
Ref node_name(Vm& vm, const Args& args) { return make_str(vm, foreign_cast<NodeState>(args[0])->name); }

Ref tensor_detach(Vm& vm, const Args& args) { return wrap(vm, Eager(vm).detach(tensor_arg(vm, args, 0, "detach"))); }

Ref tensor_deepcopy(Vm& vm, const Args& args) {
    Tensor x = tensor_of(args[0]);
    if (!autograd::is_leaf(x)) {
        raise(vm, Exc::RuntimeError,
              "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.");
    }
    Eager e(vm);
    Tensor copy = e.emit(Op::Clone, {e.detach(x)});
    if (autograd::requires_grad(x)) autograd::set_requires_grad(copy, true);
    return wrap_as(vm, copy, args[0].o->cls);
}

// x.data = y: x takes over y's memory, shape and dtype; whoever holds x sees it.
Ref tensor_set_data(Vm& vm, const Args& args) {
    if (!is_tensor(args[1])) raise(vm, Exc::TypeError, "Variable data has to be a tensor, but got {}", class_name(vm, args[1]));
    tensor::TensorImpl* own = tensor_of(args[0]).impl();
    tensor::TensorImpl* other = tensor_of(args[1]).impl();
    own->storage = other->storage;
    own->sizes = other->sizes;
    own->strides = other->strides;
    own->offset = other->offset;
    own->numel = other->numel;
    own->dtype = other->dtype;
    own->contiguous = other->contiguous;
    own->layout.store(nullptr, std::memory_order_relaxed);
    return none();
}

Ref tensor_backward(Vm& vm, const Args& args) {
    Tensor root = tensor_of(args[0]);
    Tensor seed = optional_tensor_arg(vm, args, 1, "backward", "gradient");
    autograd::BackwardOptions options;
    options.create_graph = flag_arg(vm, args[3]);
    options.retain_graph = given(args[2]) ? truth(vm, args[2]) : options.create_graph;
    autograd::backward(vm.tensors, std::span(&root, 1), std::span(&seed, 1), options);
    return none();
}

// Gradients of roots with respect to inputs; what grad, vjp and their kin are made of.
Ref gradients_of(Vm& vm, const Args& args) {
    std::vector<Tensor> roots = tensors_arg(vm, args[0], "gradients"), inputs = tensors_arg(vm, args[1], "gradients");
    std::vector<Tensor> seeds(roots.size());
    if (given(args[2])) {
        size_t at = 0;
        walk(vm, args[2], [&](Value seed) {
            if (at < seeds.size() && is_tensor(seed)) seeds[at] = tensor_of(seed);
            ++at;
            return true;
        });
    }
    autograd::BackwardOptions options;
    options.create_graph = flag_arg(vm, args[4]);
    options.retain_graph = given(args[3]) ? truth(vm, args[3]) : options.create_graph;
    options.allow_unused = flag_arg(vm, args[5]);
    return wrap_all(vm, autograd::gradients(vm.tensors, roots, seeds, inputs, options));
}

Ref tensor_retain_grad(Vm&, const Args& args) {
    autograd::retain_grad(tensor_of(args[0]));
    return none();
}

// ---- Hooks ----

namespace {

// Script functions that tensors hold. A tensor may outlive its engine (a host holds it): its hooks end with the engine.
struct HookTable {
    std::vector<std::weak_ptr<Ref>> held;
    ~HookTable() {
        for (const auto& weak : held) {
            if (auto hook = weak.lock()) *hook = Ref();
        }
    }
    static HookTable& of(Vm& vm) {
        static const char kKey = 0;
        auto& slot = vm.extension[&kKey];
        if (!slot) slot = std::make_shared<HookTable>();
        return *static_cast<HookTable*>(slot.get());
    }
};

struct HandleState final : ForeignState {
    explicit HandleState(std::shared_ptr<Ref> h) : hook(std::move(h)) {}
    std::shared_ptr<Ref> hook;
};
constexpr NativeClass kHandleClass = {.name = "RemovableHandle", .module = "autograd", .final = true};

}  // namespace

Ref tensor_register_hook(Vm& vm, const Args& args) {
    auto held = std::make_shared<Ref>(args[1]);
    Vm* engine = &vm;
    autograd::register_hook(tensor_of(args[0]), [engine, held](const Tensor& gradient) {
        if (!*held) return Tensor();
        Ref result = call(*engine, Ref(*held), wrap(*engine, gradient));
        if (result.is_none()) return Tensor();
        if (!is_tensor(result)) raise(*engine, Exc::TypeError, "hooks must return None or a Tensor");
        return tensor_of(result);
    });
    HookTable& table = HookTable::of(vm);
    std::erase_if(table.held, [](const auto& weak) { return weak.expired(); });
    table.held.push_back(held);
    return make_foreign(vm, native_class(vm, kHandleClass), std::make_unique<HandleState>(std::move(held)));
}

Ref handle_remove(Vm&, const Args& args) {
    *foreign_cast<HandleState>(args[0])->hook = Ref();
    return none();
}

// ---- Steps whose gradient is a script function ----

namespace {

class ScriptNode final : public autograd::GradNode {
  public:
    ScriptNode(Vm& vm, Value function, std::string label) : vm_(vm), function_(std::make_shared<Ref>(function)), label_(std::move(label)) {
        HookTable::of(vm).held.push_back(function_);
    }

    std::string name() const override { return label_; }

    std::vector<Tensor> backward(tensor::Context&, std::span<const Tensor> gradients, bool keep) override {
        if (!*function_) tensor::fail("Trying to backward through the graph a second time: {} keeps nothing", label_);
        Ptr<List> args = make_list(vm_, gradients.size());
        for (size_t i = 0; i < gradients.size(); ++i) {
            const autograd::TensorMeta& like = results[i];
            Tensor gradient = gradients[i] ? gradients[i] : filled(vm_, like.shape, Scalar(0), like.dtype, like.device);
            list_append(vm_, args.get(), wrap(vm_, gradient));
        }
        Ref function = keep ? *function_ : std::exchange(*function_, Ref());
        Ref given_back = call(vm_, function, args->items, args->size);
        std::vector<Tensor> below;
        walk(vm_, given_back, [&](Value item) {
            below.push_back(is_tensor(item) ? tensor_of(item) : Tensor());
            return true;
        });
        if (below.size() != edges.size()) {
            tensor::fail("{}: {} gradients were given for {} inputs", label_, below.size(), edges.size());
        }
        return below;
    }

  private:
    Vm& vm_;
    std::shared_ptr<Ref> function_;  // emptied when it has run, and when the engine ends
    std::string label_;
};

}  // namespace

// The outputs, as results of a step that gets its inputs' gradients from a function of theirs.
Ref script_step(Vm& vm, const Args& args) {
    std::vector<Tensor> inputs = tensors_arg(vm, args[1], "step"), outputs = tensors_arg(vm, args[2], "step");
    auto node = tensor::make_counted<ScriptNode>(vm, args[0], std::string(to_text(vm, args[3], "name")));
    for (const Tensor& input : inputs) node->edges.push_back(autograd::edge_of(input));
    Eager e(vm);
    for (Tensor& output : outputs) output = e.detach(output);
    autograd::attach(vm.tensors, tensor::Ref<autograd::GradNode>(node.get()), outputs);
    return wrap_all(vm, outputs);
}

// Where the random stream stands; with an argument it goes there.
Ref random_stream(Vm& vm, const Args& args) {
    tensor::Generator& stream = vm.tensors.generator;
    Ref now = make_tuple(vm, {Value::integer(static_cast<int64_t>(stream.seed)), Value::integer(static_cast<int64_t>(stream.position))});
    if (given(args[0])) {
        stream.seed = static_cast<uint64_t>(to_index(vm, Ref(get_item(vm, args[0], Value::integer(0)))));
        stream.position = static_cast<uint64_t>(to_index(vm, Ref(get_item(vm, args[0], Value::integer(1)))));
    }
    return now;
}

// The module has functions alone.
void fill_autograd(Vm&, Module*) {}

// ---- Modes ----

namespace {

// with no_grad(): nested and used again as often as one likes.
struct ModeState final : ForeignState {
    explicit ModeState(bool on) : enabled(on) {}
    bool enabled;
    std::vector<bool> saved;
};
constexpr NativeClass kModeClass = {.name = "GradMode", .module = "autograd", .final = true};

Ref make_mode(Vm& vm, bool enabled) {
    return make_foreign(vm, native_class(vm, kModeClass), std::make_unique<ModeState>(enabled));
}

}  // namespace

Ref mode_no_grad(Vm& vm, const Args& args) {
    Ref mode = make_mode(vm, false);
    return given(args[0]) ? call(vm, mode, args[0]) : mode;  // @no_grad without parentheses
}
Ref mode_enable_grad(Vm& vm, const Args& args) {
    Ref mode = make_mode(vm, true);
    return given(args[0]) ? call(vm, mode, args[0]) : mode;
}
// Takes effect at once; as a context manager it ends there.
Ref mode_set_grad_enabled(Vm& vm, const Args& args) {
    bool enabled = truth(vm, args[0]);
    Ref mode = make_mode(vm, enabled);
    foreign_cast<ModeState>(mode)->saved.push_back(vm.tensors.grad_enabled);
    vm.tensors.grad_enabled = enabled;
    return mode;
}
Ref mode_is_grad_enabled(Vm& vm, const Args&) { return boolean(vm.tensors.grad_enabled); }

Ref mode_enter(Vm& vm, const Args& args) {
    auto* mode = foreign_cast<ModeState>(args[0]);
    // set_grad_enabled has switched already.
    if (mode->saved.empty() || vm.tensors.grad_enabled != mode->enabled) mode->saved.push_back(vm.tensors.grad_enabled);
    vm.tensors.grad_enabled = mode->enabled;
    return none();
}
Ref mode_exit(Vm& vm, const Args& args) {
    auto* mode = foreign_cast<ModeState>(args[0]);
    if (mode->saved.empty()) return none();
    vm.tensors.grad_enabled = mode->saved.back();
    mode->saved.pop_back();
    return none();
}
// As a decorator: the function runs in the mode.
Ref mode_call(Vm& vm, const Args& args) {
    Ref module = vm.import_module("autograd", "");
    return call(vm, get_attr(vm, module, intern(vm, "in_mode").get()), args[0], args[1]);
}

}  // namespace talc::stdlib
