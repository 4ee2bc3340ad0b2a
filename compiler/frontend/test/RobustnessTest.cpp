// Hostile input: no crash, no endless run, always a diagnostic.
#include "compiler/frontend/test/TestSupport.h"
#include <random>
#include <thread>

namespace tessera::frontend::test {
namespace {

void refused(const std::string &source) {
  Outcome out = compile(source);
  EXPECT_FALSE(out.ok());
  EXPECT_FALSE(out.diags.empty());
  EXPECT_FALSE(out.text().empty());
}

TEST(Robustness, TenMegabytes) { refused(std::string(10 << 20, 'x')); }

TEST(Robustness, DeepNesting) {
  std::string expression = "y = ";
  for (const char *open : {"(", "[", "-", "not ", "f(", "{\"a\": ", "a if b else ", "a ** ", "x[", "~"}) {
    std::string s = kernelWith("pass") + "    y = ";
    for (int i = 0; i < 10000; ++i)
      s += open;
    refused(s + "1\n");
  }
  std::string blocks = "def f():\n", elifs = "def f(a):\n    if a:\n        pass\n";
  for (int i = 1; i < 10000; ++i)
    blocks += std::string(static_cast<size_t>(i), ' ') + "if a:\n";
  for (int i = 1; i < 10000; ++i)
    elifs += "    elif a:\n        pass\n";
  refused(blocks);
  refused(elifs);
  std::string chain = kernelWith("y = f"), attributes = kernelWith("y = f");
  chain.pop_back();
  attributes.pop_back();
  for (int i = 0; i < 10000; ++i) {
    chain += " + f";
    attributes += ".T";
  }
  refused(chain + "\n");
  refused(attributes + "\n");
}

TEST(Robustness, BinaryInput) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::string s;
    for (int i = 0; i < 500; ++i)
      s += static_cast<char>(random() & 255);
    refused(s);
  }
  refused(std::string(1000, '\0'));
}

TEST(Robustness, EveryPrefixAndEveryByteFlip) {
  std::string source = "import tessera as ts\n@ts.kernel\ndef k(A: ts.Tensor[\"M\", \"N\", ts.bf16 "
                       "@accum(f32)], s: ts.i32 = 3) -> ts.Tensor[\"M\", \"N\", ts.bf16]:\n"
                       "    acc = ts.tile.zeros((8,), ts.f32)\n    for i in range(0, s, 2):\n        acc += "
                       "ts.tile.row_sum(A[0:8, i:i+4])\n"
                       "    A[tile_m:tile_m+8, 0] = ts.tile.cast(acc, ts.bf16)\n    return A\n";
  for (size_t i = 0; i < source.size(); ++i)
    (void)compile(source.substr(0, i));
  for (size_t i = 0; i < source.size(); ++i)
    for (char c : {'(', ']', ':', '\n', ' ', '"', '0', '\xff'}) {
      std::string s = source;
      s[i] = c;
      (void)compile(s);
    }
}

TEST(Robustness, ExponentialInliningIsBounded) {
  std::string s = "import tessera as ts\ndef h0(a):\n    return a\n";
  for (int i = 1; i < 30; ++i)
    s += "def h" + std::to_string(i) + "(a):\n    return h" + std::to_string(i - 1) + "(h" +
         std::to_string(i - 1) + "(a))\n";
  refused(s + "@ts.kernel\ndef k(x: ts.Tensor[\"n\", ts.f32]):\n    x[0] = h29(x[0])\n");
  std::string doubling = "a = N\n";
  for (int i = 0; i < 200; ++i)
    doubling += "a = a * a + a\n";
  (void)compile(kernelWith(doubling + "A[a, 0] = 0.0"));
}

TEST(Robustness, OneModuleFromManyThreads) {
  std::vector<Diagnostic> diags;
  auto module = Module::parse(
      kernelWith("for i in ts.tile.parallel(0, M, 8):\n    A[i:i+8, :] = B[i:i+8, :] * 2"), "k.py", diags);
  std::vector<std::thread> threads;
  std::vector<std::string> texts(4);
  for (size_t t = 0; t < texts.size(); ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        Kernel k;
        std::vector<Diagnostic> d;
        if (module->instantiate(withDims({{"N", 16}}), k, d) == CompileStatus::Ok) texts[t] = dump(k);
      }
    });
  for (std::thread &t : threads)
    t.join();
  for (const std::string &text : texts)
    EXPECT_EQ(text, texts[0]);
  EXPECT_FALSE(texts[0].empty());
}

} // namespace
} // namespace tessera::frontend::test
