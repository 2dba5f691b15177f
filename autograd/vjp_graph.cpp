#include "autograd/vjp_rules.inl"

namespace talc::autograd {
template std::vector<graph::Value> run_vjp<GraphEmit>(GraphEmit&, const VjpCall<GraphEmit>&);
}
