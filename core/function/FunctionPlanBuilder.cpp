// Checks the steps of a function against the kernels of its module.
#include "core/function/FunctionPlan.h"
#include "numerics/Casts.h"
#include <algorithm>
#include <charconv>
#include <limits>
#include <unordered_map>

namespace tessera {

using ParamKind = MetadataParam::Kind;

namespace {

bool parseDouble(const std::string &text, double &out) {
  using Limits = std::numeric_limits<double>;
  for (auto [word, value] :
       {std::pair{".inf", Limits::infinity()}, {"-.inf", -Limits::infinity()}, {".nan", Limits::quiet_NaN()}})
    if (text == word) return out = value, true;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

} // namespace

class FunctionPlan::Builder {
public:
  Builder(const KernelMetadata &function, const std::function<StepKernel(const PlanStep &)> &find,
          FunctionPlan &plan)
      : function_(function), find_(find), plan_(plan) {}

  bool run(std::string &why) {
    declare();
    for (const PlanBuffer &b : function_.plan->buffers) {
      Buffer buffer{b.name, b.dtype, {}};
      for (const std::string &dim : b.dims) {
        uint32_t expression;
        if (!addExpression(dim, expression, why)) return why = "buffer " + b.name + ": " + why, false;
        buffer.dims.push_back(expression);
      }
      plan_.buffers_.push_back(std::move(buffer));
    }
    for (const PlanCheck &c : function_.plan->checks) {
      Check check{0, c.says};
      if (!addExpression(c.value, check.expression, why)) return false;
      plan_.checks_.push_back(std::move(check));
    }
    plan_.lifetimes_ = lifetimes(*function_.plan);
    for (const PlanStep &step : function_.plan->steps)
      if (!addStep(step, why)) {
        why = "step " + std::to_string(plan_.steps_.size()) + (step.isLibraryCall ? " (call " : " (kernel ") +
              step.kernel + "): " + why;
        return false;
      }
    for (const auto &[name, t] : tensors_)
      if (t.param && t.param->kind == ParamKind::Result && t.firstWrite < 0)
        return why = "no step writes the result " + name, false;
    addKey();
    plan_.cache_.reserve(kCached);
    return true;
  }

private:
  /// A tensor parameter or a buffer of the function, and how the previous steps used it.
  struct Tensor {
    const MetadataParam *param = nullptr; // null: a buffer
    uint32_t index = 0;
    DType dtype = DType::F32;
    bool written = false; // has a value
    int64_t firstWrite = -1, lastUse = -1;
  };

  void declare() {
    for (uint32_t i = 0; i < function_.params.size(); ++i) {
      const MetadataParam &p = function_.params[i];
      bool isInteger = p.kind == ParamKind::Dim || (p.kind == ParamKind::Scalar && isInt(p.dtype));
      integers_.push_back(isInteger ? p.name : "");
      keyed_.push_back(p.kind == ParamKind::Dim);
      plan_.names_.push_back(p.name);
      if (p.kind == ParamKind::Tensor || p.kind == ParamKind::Result) {
        tensors_[p.name] = {&p, i, p.dtype, p.reads};
        plan_.tensors_.push_back({i, p.writes});
      } else if (p.kind == ParamKind::Scalar)
        scalars_[p.name] = i;
    }
    const auto &buffers = function_.plan->buffers;
    for (uint32_t i = 0; i < buffers.size(); ++i)
      tensors_[buffers[i].name] = {nullptr, i, buffers[i].dtype};
  }

  bool addExpression(const std::string &text, uint32_t &out, std::string &why) {
    IndexExpr expr;
    if (!IndexExpr::parse(text, integers_, expr, why)) return why = "'" + text + "': " + why, false;
    expr.forEach([&](IndexExpr::Code code, int64_t slot) {
      if (code == IndexExpr::Code::Slot) keyed_[static_cast<size_t>(slot)] = true;
    });
    out = static_cast<uint32_t>(plan_.expressions_.size());
    plan_.expressions_.push_back(std::move(expr));
    plan_.expressionTexts_.push_back(text);
    return true;
  }

  bool addStep(const PlanStep &step, std::string &why) {
    Step out{find_(step), {}};
    if (!out.kernel.metadata) return why = "the module has no such kernel", false;
    if (!out.kernel.device) return why = step.kernel + " is a function, and a step launches a kernel", false;
    const std::vector<MetadataParam> &params = out.kernel.metadata->params;
    if (step.args.size() != params.size()) {
      why = "the kernel takes " + std::to_string(params.size()) + " arguments, found " +
            std::to_string(step.args.size());
      return false;
    }
    for (size_t i = 0; i < params.size(); ++i) {
      Argument a{};
      bool isTensor = out.kernel.plan->isTensor(i);
      bool ok = isTensor                           ? tensor(step.args[i], params[i], a, why)
                : params[i].kind == ParamKind::Dim ? dim(step.args[i], a, why)
                                                   : scalar(step.args[i], params[i], a, why);
      if (!ok) {
        why = "argument " + std::to_string(i) + " (" + params[i].name + "): " + why;
        return false;
      }
      const VariantChooser *chooser = out.kernel.chooser;
      if (!isTensor && a.source == Argument::Source::Parameter &&
          (out.kernel.plan->gridReads(i) || (chooser && chooser->reads(i))))
        keyed_[a.index] = true;
      out.arguments.push_back(a);
    }
    for (size_t i = 0; i < params.size(); ++i)
      if (out.kernel.plan->isTensor(i)) noteUse(tensors_[step.args[i]], params[i].writes);
    size_t most = params.size();
    if (const VariantChooser *chooser = out.kernel.chooser) {
      most += kMaxVariantParameters;
      for (const auto &[slot, bytes] : chooser->alignments())
        if (const Argument &a = out.arguments[slot]; a.source == Argument::Source::Parameter)
          plan_.alignments_.emplace_back(a.index, bytes);
    }
    plan_.largestStep_ = std::max(plan_.largestStep_, most);
    plan_.steps_.push_back(std::move(out));
    return true;
  }

  bool tensor(const std::string &arg, const MetadataParam &p, Argument &out, std::string &why) {
    auto it = tensors_.find(arg);
    if (it == tensors_.end()) return why = "expected a tensor, found '" + arg + "'", false;
    const Tensor &t = it->second;
    if (t.dtype != p.dtype) {
      why = std::string("expected ") + name(p.dtype) + ", found " + arg + " of " + name(t.dtype);
      return false;
    }
    if (p.reads && !t.written) return why = arg + " is read before a step has written it", false;
    if (p.writes && t.param && !t.param->writes)
      return why = "the step writes " + arg + ", which the function only reads", false;
    out.source = t.param ? Argument::Source::Parameter : Argument::Source::Buffer;
    out.index = t.index;
    return true;
  }

  bool dim(const std::string &arg, Argument &out, std::string &why) {
    out.source = Argument::Source::Expression;
    return addExpression(arg, out.index, why);
  }

  bool scalar(const std::string &arg, const MetadataParam &p, Argument &out, std::string &why) {
    if (auto it = scalars_.find(arg); it != scalars_.end()) {
      DType has = function_.params[it->second].dtype;
      if (has != p.dtype) {
        why = std::string("expected ") + name(p.dtype) + ", found " + arg + " of " + name(has);
        return false;
      }
      out.source = Argument::Source::Parameter;
      out.index = it->second;
      return true;
    }
    if (isInt(p.dtype)) return dim(arg, out, why);
    out.source = Argument::Source::Constant;
    double value = 0;
    if (p.dtype == DType::Bool && (arg == "true" || arg == "false"))
      out.constant = arg == "true";
    else if (p.dtype != DType::Bool && parseDouble(arg, value))
      out.constant = fromDouble(value, p.dtype);
    else
      return why = std::string("expected a scalar of ") + name(p.dtype) + ", found '" + arg + "'", false;
    return true;
  }

  void noteUse(Tensor &t, bool writes) {
    auto step = static_cast<int64_t>(plan_.steps_.size());
    t.lastUse = step;
    if (!writes) return;
    t.written = true;
    if (t.firstWrite < 0) t.firstWrite = step;
  }

  void addKey() {
    for (uint32_t i = 0; i < keyed_.size(); ++i)
      if (keyed_[i]) plan_.key_.push_back(i);
  }

  const KernelMetadata &function_;
  const std::function<StepKernel(const PlanStep &)> &find_;
  FunctionPlan &plan_;
  std::vector<std::string> integers_; // by parameter: what expressions may name, else ""
  std::vector<bool> keyed_;           // by parameter
  std::unordered_map<std::string, Tensor> tensors_;
  std::unordered_map<std::string, uint32_t> scalars_;
};

bool FunctionPlan::make(const KernelMetadata &function,
                        const std::function<StepKernel(const PlanStep &)> &find,
                        std::unique_ptr<FunctionPlan> &out, std::string &why) {
  auto plan = std::make_unique<FunctionPlan>();
  if (!Builder(function, find, *plan).run(why)) return false;
  out = std::move(plan);
  return true;
}

} // namespace tessera
