#pragma once
// The tape's node for an operator of the table.
#include "autograd/tape.hpp"
#include "tensor/observer.hpp"

namespace talc::autograd {

class OpNode final : public GradNode {
  public:
    // Records that `op` gives results of `result_metas`; `inputs` may be empty handles where no value is at hand, which
    // is allowed for operators that need none.
    OpNode(Context& context, tensor::Op op, tensor::Attrs attrs, std::vector<TensorMeta> operand_metas,
           std::vector<Edge> operand_edges, std::vector<TensorMeta> result_metas);

    // Whether a wanted gradient needs the value of an operand.
    bool needs_operand(size_t i) const;
    // Keeps what the wanted gradients need. Operands before an in-place operator runs, results after it.
    void save_operands(Tensors inputs);
    void save_results(Tensors results);

    std::vector<Tensor> backward(Context& context, std::span<const Tensor> gradients, bool keep) override;
    std::string name() const override;
    tensor::Op op() const { return op_; }
    void remember(std::shared_ptr<const tensor::Remembered> what) { remembered_ = std::move(what); }

  private:
    uint32_t needed() const;
    Tensor saved_result(size_t i);

    tensor::Op op_;
    tensor::Attrs attrs_;
    std::vector<TensorMeta> operands_;
    std::vector<SavedTensor> saved_operands_;
    std::vector<SavedTensor> saved_results_;
    std::shared_ptr<const tensor::Remembered> remembered_;
};

}  // namespace talc::autograd
