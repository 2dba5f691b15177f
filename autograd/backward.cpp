#include "autograd/backward.hpp"

#include <algorithm>
#include <optional>
#include <queue>
#include <unordered_map>

#include "tensor/error.hpp"
#include "tensor/factory.hpp"
#include "tensor/observer.hpp"
#include "tensor/strided.hpp"
#include "tensor/views.hpp"

namespace talc::autograd {

using tensor::fail;
using tensor::Op;

namespace {

Meta* meta(const Tensor& tensor) { return static_cast<Meta*>(tensor.autograd_meta()); }

class Pass {
  public:
    Pass(Context& context, const BackwardOptions& options) : context_(context), options_(options) {}

    // Gradients of these are kept for the caller.
    void watch(const Tensor& tensor) { watched_.push_back({edge_of(tensor), Tensor()}); }
    const Tensor& watched(size_t i) const { return watched_[i].gradient; }

    void seed(const Tensor& root, const Tensor& given) {
        Edge edge = edge_of(root);
        if (!edge) fail("element 0 of tensors does not require grad and does not have a grad_fn");
        Tensor gradient = given;
        if (!gradient) {
            if (root.numel() != 1) fail("grad can be implicitly created only for scalar outputs");
            tensor::Attrs attrs;
            attrs.sizes = root.sizes();
            attrs.value = 1.0;
            attrs.dtype = root.dtype();
            attrs.device = root.device();
            gradient = apply(context_, Op::Full, {}, attrs);
        } else if (!(gradient.sizes() == root.sizes())) {
            fail("Mismatch in shape: grad_output[0] has a shape of {} and output[0] has a shape of {}.",
                 bracketed(gradient.sizes()), bracketed(root.sizes()));
        }
        if (gradient.dtype() != root.dtype()) {
            tensor::Attrs attrs;
            attrs.dtype = root.dtype();
            gradient = apply(context_, Op::Cast, std::span(&gradient, 1), attrs);
        }
        deliver(edge, gradient);
    }

    // Nodes run from the last recorded to the first: every user of a result has run when its turn comes.
    void run() {
        while (!queue_.empty()) {
            Ref<GradNode> node = queue_.top();
            queue_.pop();
            auto found = pending_.find(node.get());
            std::vector<Tensor> gradients = std::move(found->second);
            pending_.erase(found);
            for (auto& [result, hook] : node->hooks) {
                if (!gradients[result]) continue;
                Tensor changed = hook(gradients[result]);
                if (changed) gradients[result] = changed;
            }
            for (Watch& watch : watched_) {
                if (watch.edge.node.get() == node.get()) watch.gradient = gradients[watch.edge.result];
            }
            for (auto& [result, wanting] : node->retained) keep(*wanting, gradients[result]);
            if (node->spent()) {
                fail("Trying to backward through the graph a second time (or directly access saved tensors after they have "
                     "already been freed). Saved intermediate values of the graph are freed when you call .backward() or "
                     "autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second time or "
                     "if you need to access saved tensors after calling backward.");
            }
            std::vector<Tensor> below =
                node->backward(context_, gradients, options_.retain_graph || options_.create_graph);
            for (size_t i = 0; i < below.size(); ++i) {
                if (below[i] && node->edges[i]) deliver(node->edges[i], below[i]);
            }
        }
    }

    // Leaves get what has come together for them.
    void finish_leaves(bool accumulate) {
        for (auto& [leaf, gradient] : leaves_) {
            Meta* own = meta(leaf);
            if (own) {
                for (const GradHook& hook : own->leaf_hooks) {
                    Tensor changed = hook(gradient);
                    if (changed) gradient = changed;
                }
            }
            for (Watch& watch : watched_) {
                if (watch.edge.leaf.is(leaf)) watch.gradient = gradient;
            }
            if (accumulate) collect(leaf, gradient);
        }
    }

  private:
    struct Watch {
        Edge edge;
        Tensor gradient;
    };
    struct Later {
        bool operator()(const Ref<GradNode>& a, const Ref<GradNode>& b) const { return a->order < b->order; }
    };

    Tensor sum(const Tensor& a, const Tensor& b) {
        Tensor both[] = {a, b};
        return apply(context_, Op::Add, both);
    }

    void deliver(const Edge& edge, const Tensor& gradient) {
        if (edge.leaf) {
            for (auto& [leaf, total] : leaves_) {
                if (leaf.is(edge.leaf)) {
                    total = sum(total, gradient);
                    return;
                }
            }
            leaves_.emplace_back(edge.leaf, gradient);
            return;
        }
        auto [slot, fresh] = pending_.try_emplace(edge.node.get(), edge.node->results.size());
        if (fresh) queue_.push(edge.node);
        Tensor& total = slot->second[edge.result];
        total = total ? sum(total, gradient) : gradient;
    }

    void keep(Meta& wanting, const Tensor& gradient) {
        if (!gradient) return;
        if (wanting.grad) {
            wanting.grad = sum(wanting.grad, gradient);
        } else {
            wanting.grad = options_.create_graph ? gradient : apply(context_, Op::Clone, std::span(&gradient, 1));
        }
    }

    // In fresh memory, which lies as `like` does where that is dense, in row-major order otherwise.
    Tensor copied(const Tensor& gradient, const Tensor& like) {
        tensor::Dims strides = tensor::pointwise_strides(like.sizes(), std::span(&like, 1));
        if (!(strides == like.strides())) strides = tensor::contiguous_strides(like.sizes());
        Tensor copy = tensor::empty_strided(context_, gradient.sizes(), strides, gradient.dtype(), gradient.device());
        tensor::run_into(context_, Op::Clone, std::span(&gradient, 1), {}, copy);
        if (context_.observer) context_.observer->ran(Op::Clone, std::span(&gradient, 1), {}, std::span(&copy, 1));
        return copy;
    }

    // Into .grad: added in place, so that whoever holds it sees it; or as fresh memory that nothing else shares.
    void collect(const Tensor& tensor, const Tensor& gradient) {
        if (!gradient) return;
        Tensor have = grad_of(tensor);
        if (!have) {
            bool ours = gradient.impl()->ref_count() == 1 && gradient.storage().ref_count() == 1 &&
                        gradient.strides() == tensor.strides();
            if (options_.create_graph) {
                set_grad(context_, tensor, apply(context_, Op::Clone, std::span(&gradient, 1)));
            } else if (ours) {
                set_grad(context_, tensor, gradient);
            } else {
                set_grad(context_, tensor, copied(gradient, tensor));
            }
        } else if (options_.create_graph) {
            set_grad(context_, tensor, sum(have, gradient));
        } else {
            Tensor both[] = {have, gradient};
            apply_into(context_, Op::Add, both, {}, have);
        }
    }

    Context& context_;
    const BackwardOptions& options_;
    std::unordered_map<GradNode*, std::vector<Tensor>> pending_;
    std::priority_queue<Ref<GradNode>, std::vector<Ref<GradNode>>, Later> queue_;
    std::vector<std::pair<Tensor, Tensor>> leaves_;
    std::vector<Watch> watched_;
};

}  // namespace

void backward(Context& context, Tensors roots, Tensors seeds, const BackwardOptions& options) {
    GradMode mode(context, options.create_graph);
    Pass pass(context, options);
    for (const Tensor& root : roots) requires_grad(root);  // views are brought up to date
    for (size_t i = 0; i < roots.size(); ++i) pass.seed(roots[i], i < seeds.size() ? seeds[i] : Tensor());
    pass.run();
    pass.finish_leaves(true);
}

std::vector<Tensor> gradients(Context& context, Tensors roots, Tensors seeds, Tensors inputs,
                              const BackwardOptions& options) {
    GradMode mode(context, options.create_graph);
    Pass pass(context, options);
    for (const Tensor& input : inputs) {
        if (!requires_grad(input)) fail("One of the differentiated Tensors does not require grad");
        pass.watch(input);
    }
    for (const Tensor& root : roots) requires_grad(root);
    for (size_t i = 0; i < roots.size(); ++i) pass.seed(roots[i], i < seeds.size() ? seeds[i] : Tensor());
    pass.run();
    pass.finish_leaves(false);
    std::vector<Tensor> results;
    for (size_t i = 0; i < inputs.size(); ++i) {
        results.push_back(pass.watched(i));
        if (!results.back() && !options.allow_unused) {
            fail("One of the differentiated Tensors appears to not have been used in the graph. Set allow_unused=True if "
                 "this is the desired behavior.");
        }
    }
    return results;
}

}  // namespace talc::autograd
