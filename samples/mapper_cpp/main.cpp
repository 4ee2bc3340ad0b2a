// A mapper that decides where tensors are placed, how collectives run and which implementation products use;
// then a two-layer perceptron compiled without the mapper and with it.
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <tessera/mapper.hpp>
#include <vector>

class MyMapper : public tessera::Mapper {
public:
  Choice place(const Region &region, const Mesh &mesh) override {
    return region.axis == "tp" && mesh.offers("local_switch") ? "local_switch" : "";
  }
  Choice chooseCollective(const CollectiveCall &call) override {
    const char *wanted = call.ranks <= 72 ? "sharp_ring" : "tree";
    return call.offers(wanted) ? wanted : "";
  }
  Choice chooseVariant(const VariantCall &call) override {
    // If the product is large enough, the library's threads pay off.
    const bool large = call.dim("M") * call.dim("N") * call.dim("K") > 1 << 20;
    return large && call.offers("blas") ? "blas" : "tile";
  }
};

std::vector<float> mlp(const std::string &source, const char *file, bool show) {
  const int64_t M = 64, D = 128, F = 256;
  auto ramp = [](int64_t count) {
    std::vector<float> v(static_cast<size_t>(count));
    for (size_t i = 0; i < v.size(); ++i)
      v[i] = static_cast<float>(i % 13) * 0.01f - 0.05f;
    return v;
  };
  tessera::Context context;
  // The sizes are known, so the mapper can compare them.
  tessera::Module module =
      context.load(source, {.fileName = file, .kernel = "mlp", .dims = {{"M", M}, {"D", D}, {"F", F}}});
  tessera::Kernel kernel = module.kernel("mlp");
  if (show) std::printf("%s", kernel.metadata().c_str());
  auto x = context.upload<float>(ramp(M * D)), W1 = context.upload<float>(ramp(D * F)),
       b1 = context.upload<float>(ramp(F)), W2 = context.upload<float>(ramp(F * D)),
       b2 = context.upload<float>(ramp(D)), y = context.upload<float>(ramp(M * D));
  tessera::launch(kernel, x, W1, b1, W2, b2, y, tessera::Dim(M), tessera::Dim(D), tessera::Dim(F));
  std::vector<float> out(static_cast<size_t>(M * D));
  y.download(out);
  return out;
}

int main(int argc, char **argv) try {
  std::ifstream file(argc == 2 ? argv[1] : "");
  if (!file) {
    std::fprintf(stderr, "usage: %s mlp/mlp.py\n", argv[0]);
    return 1;
  }
  const std::string source(std::istreambuf_iterator<char>(file), {});
  const std::vector<float> plain = mlp(source, argv[1], false);
  tessera::setMapper(std::make_unique<MyMapper>(), "my_mapper");
  const std::vector<float> mapped = mlp(source, argv[1], true);
  for (size_t i = 0; i < plain.size(); ++i)
    if (!(std::fabs(plain[i] - mapped[i]) <= 1e-4f)) {
      std::fprintf(stderr, "element %zu is %g with the mapper, %g without\n", i, mapped[i], plain[i]);
      return 1;
    }
  std::printf("%zu elements agree\n", plain.size());
  return 0;
} catch (const tessera::Error &e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
