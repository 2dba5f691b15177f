#include "inductor/cuda/executable.hpp"

#include <algorithm>
#include <cstring>

#include "inductor/cuda/blas.hpp"
#include "inductor/cuda/matmul.hpp"
#include "inductor/cuda/room.hpp"
#include "tensor/error.hpp"

#include <fmt/ranges.h>

namespace talc::inductor::cuda {

using tensor::Context;
using tensor::DeviceType;
using tensor::fail;
using tensor::Tensor;
using tensor::Tensors;

namespace {

constexpr size_t kMostRecordings = 8;  // of one stretch, with addresses that products cannot change

}  // namespace

CudaExecutable::CudaExecutable(Lowered lowered, Room& room, bool replay)
    : PlanExecutable(std::move(lowered), room.device), room_(room), replay_(replay) {
    const Plan& plan = lowered_.plan;
    states_.resize(plan.steps.size());
    std::vector<Programs::Wanted> wanted;
    for (const Step& step : plan.steps) {
        if (step.kind != Step::Kernel) continue;
        std::vector<bool> by_value;
        for (BufferId buffer : step.buffers) by_value.push_back(plan.buffers[buffer].host);
        for (size_t b = 0; b < by_value.size(); ++b) {
            bool whole = by_value[b] && (step.kernel.buffers[b].stored || !plan.buffers[step.buffers[b]].shape.empty());
            if (whole) fail("a kernel for the GPU was given a tensor on the CPU");
        }
        wanted.push_back({&step.kernel, std::move(by_value)});
    }
    std::vector<const KernelCode*> codes = room_.programs.load(wanted);
    size_t next = 0;
    for (size_t s = 0; s < plan.steps.size(); ++s) {
        if (plan.steps[s].kind != Step::Kernel) continue;
        states_[s].code = codes[next++];
        if (plan.steps[s].may_raise) checked_steps_.push_back(s);
    }
    if (!checked_steps_.empty()) errors_ = room_.gpu->error_words(checked_steps_.size());
}

bool CudaExecutable::takes_any_size() const {
    for (graph::Value input : lowered_.graph->inputs()) {
        for (Dim size : input->shape()) {
            if (size.is_constant() && size.constant() > 1) return false;
        }
    }
    return true;
}

void CudaExecutable::fit_step(size_t s) {
    const Step& step = lowered_.plan.steps[s];
    StepState& state = states_[s];
    if (step.kind == Step::Kernel) {
        std::vector<int64_t> params = params_of(step.kernel);
        const Launch& launch = state.code->launch;
        state.grid = grid_of(launch, inside(launch.points, params), inside(launch.length, params));
        state.words.assign(word_count(*state.code), 0);
        std::copy(params.begin(), params.end(), state.words.begin() + static_cast<int64_t>(step.buffers.size()));
        auto found = std::find(checked_steps_.begin(), checked_steps_.end(), s);
        if (found != checked_steps_.end()) {
            state.words[step.buffers.size() + params.size()] =
                reinterpret_cast<uint64_t>(errors_ + (found - checked_steps_.begin()));
        }
        if (launch.folds > 0) {
            std::array<uint64_t, 2> scratch = room_.gpu->scratch();
            std::copy(scratch.begin(), scratch.end(), state.words.end() - 2);
        }
    } else if (step.kind == Step::Matmul) {
        const StepLayouts& layouts = layouts_of_[s];
        const Layout &a = layouts.operands[0], &b = layouts.operands[1], &c = layouts.result;
        MatmulShape shape = matmul_shape({a.sizes, a.strides}, {b.sizes, b.strides}, {c.sizes, c.strides});
        auto calls = has_product(step.node->dtype()) ? matmul_calls(shape, step.node->dtype()) : std::nullopt;
        state.multiplies = calls.has_value();
        state.swapped = shape.swapped;
        state.calls = calls ? std::move(*calls) : std::vector<MatmulCall>{};
    }
}

void CudaExecutable::run(Context& context, Tensors arguments, std::span<Tensor> results) {
    const Plan& plan = lowered_.plan;
    begin(context, arguments, results);
    launches_ = 0;
    stretch_ = 0;
    pending_.clear();
    ++runs_;
    for (size_t i = 0; i < checked_steps_.size(); ++i) errors_[i] = {};
    size_t s = 0;
    try {
        for (; s < plan.steps.size(); ++s) {
            if (s == plan.first_write) check_errors();
            run_step(context, s, arguments, results);
        }
        if (plan.first_write >= plan.steps.size()) check_errors();
        flush();
    } catch (const GpuError& error) {
        const std::vector<std::string>& ops = plan.steps[std::min(s, plan.steps.size() - 1)].ops;
        fail(error.kind(), "{}: {}", fmt::join(ops, ", "), error.what());
    }
    end(arguments, results);
}

void CudaExecutable::run_step(Context& context, size_t s, Tensors arguments, std::span<Tensor> results) {
    switch (lowered_.plan.steps[s].kind) {
        case Step::Kernel: return run_kernel(s);
        case Step::Matmul:
            if (states_[s].multiplies) return run_matmul(s);
            flush();
            run_plain_matmul(context, s, arguments, results);
            break;
        case Step::Operator:
            flush();
            run_operator(context, s, arguments, results);
            break;
        case Step::Copy:
            flush();
            run_copy(context, s, arguments, results);
            break;
    }
    ++launches_;
}

void CudaExecutable::run_kernel(size_t s) {
    const Step& step = lowered_.plan.steps[s];
    StepState& state = states_[s];
    if (state.grid.blocks == 0) return;
    for (size_t i = 0; i < step.buffers.size(); ++i) {
        const char* base = bases_[step.buffers[i]];
        if (state.code->by_value[i]) {
            state.words[i] = 0;
            std::memcpy(&state.words[i], base, size_of(step.kernel.buffers[i].dtype));
        } else {
            state.words[i] = reinterpret_cast<uint64_t>(base);
        }
    }
    if (replay_) return pending_.add(*state.code, state.grid, state.words);
    room_.gpu->launch(*state.code, state.grid, state.words.data());
    ++launches_;
}

void CudaExecutable::run_matmul(size_t s) {
    const Step& step = lowered_.plan.steps[s];
    const StepState& state = states_[s];
    int64_t bytes = static_cast<int64_t>(size_of(step.node->dtype()));
    auto address = [&](size_t operand) {
        return reinterpret_cast<uint64_t>(bases_[step.operands[operand].buffer] + layouts_of_[s].operands[operand].offset * bytes);
    };
    uint64_t left = address(state.swapped ? 1 : 0), right = address(state.swapped ? 0 : 1);
    for (MatmulCall call : state.calls) {
        call.a += right;
        call.b += left;
        call.c += reinterpret_cast<uint64_t>(bases_[step.results[0]]);
        if (replay_) {
            pending_.add(call);
        } else {
            room_.gpu->multiply(call);
            ++launches_;
        }
    }
}

void CudaExecutable::check_errors() {
    if (checked_steps_.empty()) return;
    flush();
    room_.gpu->synchronize();
    for (size_t i = 0; i < checked_steps_.size(); ++i) {
        if (errors_[i].code == 0) continue;
        const Step& step = lowered_.plan.steps[checked_steps_[i]];
        raise(step.kernel.sites[static_cast<size_t>(errors_[i].code - 1)], errors_[i].value, errors_[i].size);
    }
}

// Starts what is pending: as it is in the first run, which may have libraries to load; then recorded, and replayed with the
// addresses and numbers at hand.
void CudaExecutable::flush() {
    if (pending_.calls.empty()) return;
    size_t stretch = stretch_++;
    Gpu& gpu = *room_.gpu;
    if (runs_ == 1 || pending_.calls.size() == 1) {
        gpu.play(pending_);
        launches_ += static_cast<uint32_t>(pending_.calls.size());
        pending_.clear();
        return;
    }
    ++launches_;
    if (recordings_.size() <= stretch) recordings_.resize(stretch + 1);
    std::vector<Recording>& known = recordings_[stretch];
    auto found = std::find_if(known.begin(), known.end(), [&](const Recording& r) { return r.calls.same_shape(pending_); });
    if (found == known.end()) {
        auto oldest = [](const Recording& a, const Recording& b) { return a.used < b.used; };
        if (known.size() == kMostRecordings) known.erase(std::min_element(known.begin(), known.end(), oldest));
        std::unique_ptr<GpuGraph> graph = gpu.record(pending_);
        known.push_back({pending_, std::move(graph), 0});
        found = known.end() - 1;
    } else {
        for (size_t i = 0; i < pending_.calls.size(); ++i) {
            const CallList::Call& call = pending_.calls[i];
            if (!call.kernel) continue;
            const uint64_t* fresh = pending_.words.data() + call.first;
            uint64_t* own = found->calls.words.data() + call.first;
            size_t count = word_count(*call.kernel);
            if (std::equal(fresh, fresh + count, own)) continue;
            found->graph->update(i, fresh);
            std::copy(fresh, fresh + count, own);
        }
    }
    found->used = runs_;
    found->graph->launch();
    pending_.clear();
}

namespace {

class CudaBackend final : public Backend {
  public:
    std::string_view name() const override { return "cuda"; }
    std::unique_ptr<Executable> compile(const FragmentSpec& fragment) override {
        tensor::Device device = device_of(fragment);
        for (const FragmentSpec::Write& write : fragment.writes) {
            if (!(fragment.graph->inputs()[write.input]->type().device == device)) {
                fail("a fragment for {} writes to a tensor on another device", to_string(device));
            }
        }
        for (graph::Value output : fragment.graph->outputs()) {
            if (tensor::info(output->op).kind == tensor::Kind::Leaf && !(output->type().device == device)) {
                fail("a fragment for {} gives back a tensor on another device", to_string(device));
            }
        }
        Lowered lowered = lower(fragment, {.random_in_loops = true, .device = device});
        return std::make_unique<CudaExecutable>(std::move(lowered), room_of(device), fragment.replay);
    }

  private:
    static tensor::Device device_of(const FragmentSpec& fragment) {
        std::optional<tensor::Device> found;
        for (graph::Value node : fragment.graph->live()) {
            tensor::Device device = node->type().device;
            if (device.type != DeviceType::Cuda) continue;
            if (found && !(*found == device)) fail("a fragment on {} and {}", to_string(*found), to_string(device));
            found = device;
        }
        if (!found) fail("the GPU's compiler was given tensors on the CPU alone");
        return *found;
    }
};

}  // namespace

}  // namespace talc::inductor::cuda

namespace talc::inductor {

namespace {

class NativeBackend final : public Backend {
  public:
    std::string_view name() const override { return "native"; }
    std::unique_ptr<Executable> compile(const FragmentSpec& fragment) override {
        for (graph::Value node : fragment.graph->live()) {
            if (node->type().device.type == tensor::DeviceType::Cuda) return cuda_backend().compile(fragment);
        }
        return cpu_backend().compile(fragment);
    }
};

}  // namespace

Backend& native_backend() {
    static NativeBackend backend;
    return backend;
}

Backend& cuda_backend() {
    static cuda::CudaBackend backend;
    return backend;
}

}  // namespace talc::inductor
