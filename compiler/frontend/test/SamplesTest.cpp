// The samples' typed programs, as text.
#include "compiler/frontend/test/TestSupport.h"
#include <fstream>
#include <sstream>

namespace tessera::frontend::test {
namespace {

std::string sample(const std::string &name, FrontendOptions options = {}) {
  std::ifstream file(std::string(TESSERA_SAMPLES_DIR) + "/" + name + "/" + name + ".py");
  std::stringstream text;
  text << file.rdbuf();
  return compile(text.str(), options).text();
}

TEST(Samples, Saxpy) {
  EXPECT_EQ(sample("saxpy"), R"(kernel saxpy
  param x : tensor[n] f32 reads
  param y : tensor[n] f32 reads writes returned
  param alpha : f32
  dims n
  lanes dim n
  store_elem y[lane_id] = add(mul(alpha, load_elem x[lane_id]), load_elem y[lane_id])
)");
}

TEST(Samples, Gemm) {
  EXPECT_EQ(sample("gemm"), R"(kernel gemm
  param A : tensor[M, K] bf16 reads
  param B : tensor[K, N] bf16 reads
  param C : tensor[M, N] f32 reads writes returned
  dims M K N
  shared %smem_a.0 : buffer<64x32xbf16> swizzle xor align 16
  shared %smem_b.1 : buffer<32x64xbf16> swizzle xor align 16
  shared_bytes 8192
  grid %tile_m.2 from 0 to dim M step 64
  grid %tile_n.4 from 0 to dim N step 64
  %total.6 : <64x64xf32> = broadcast(0.0:f32)<64x64xf32>
  for %tile_k.3 from 0 to dim K step 32 reduction carries %total.6
    cp_async %smem_a.0 = load A[%tile_m.2 +64, %tile_k.3 +32]<64x32xbf16>
    cp_async %smem_b.1 = load B[%tile_k.3 +32, %tile_n.4 +64]<32x64xbf16>
    barrier
    %total.6 : <64x64xf32> = mma(read %smem_a.0, read %smem_b.1, %total.6)<64x64xf32>
    barrier
  %acc.5 : <64x64xf32> = %total.6
  store C[%tile_m.2 +64, %tile_n.4 +64] = add(load C[%tile_m.2 +64, %tile_n.4 +64]<64x64xf32>, %acc.5)
)");
}

TEST(Samples, GemmLoops) {
  EXPECT_EQ(sample("gemm_loops"), R"(kernel gemm_loops
  param A : tensor[M, K] f32 reads
  param B : tensor[K, N] f32 reads
  param C : tensor[M, N] f32 writes returned
  dims M K N
  tunables BLOCK_M=96 BLOCK_N=256 BLOCK_K=256
  grid %m.0 from 0 to dim M step 96
  grid %n.1 from 0 to dim N step 256
  %acc.2 : <96x256xf32> = broadcast(0.0:f32)<96x256xf32>
  for %k.3 from 0 to dim K step 256 carries %acc.2
    %acc.2 : <96x256xf32> = mma(load A[%m.0 +96, %k.3 +256]<96x256xf32>, load B[%k.3 +256, %n.1 +256]<256x256xf32>, %acc.2)<96x256xf32>
  store C[%m.0 +96, %n.1 +256] = %acc.2
)");
}

TEST(Samples, Softmax) {
  EXPECT_EQ(sample("softmax"), R"(kernel softmax
  param X : tensor[R, C] f32 reads
  param Y : tensor[R, C] f32 writes returned
  dims R C
  tunables ROWS=8 COLS=256
  grid %r.0 from 0 to dim R step 8
  %m.1 : <8xf32> = broadcast(-inf:f32)<8xf32>
  %l.2 : <8xf32> = broadcast(0.0:f32)<8xf32>
  for %c.3 from 0 to dim C step 256 carries %m.1, %l.2
    %x.4 : <8x256xf32> = load X[%r.0 +8, %c.3 +256]<8x256xf32>
    %m_new.5 : <8xf32> = maximum(%m.1, max axis 1(%x.4))
    %shift.6 : <8xf32> = select(eq(%m_new.5, broadcast(-inf:f32)<8xf32>), broadcast(0.0:f32)<8xf32>, %m_new.5)
    %l.2 : <8xf32> = add(mul(%l.2, exp(sub(%m.1, %shift.6))), sum axis 1(exp(sub(%x.4, broadcast(expand_dims axis 1(%shift.6))<8x256xf32>))))
    %m.1 : <8xf32> = %m_new.5
  for %c.7 from 0 to dim C step 256
    store Y[%r.0 +8, %c.7 +256] = div(exp(sub(load X[%r.0 +8, %c.7 +256]<8x256xf32>, broadcast(expand_dims axis 1(%m.1))<8x256xf32>)), broadcast(expand_dims axis 1(%l.2))<8x256xf32>)
)");
}

TEST(Samples, FlashAttention) {
  EXPECT_EQ(sample("flash_attention", withDims({{"D", 64}})), R"(kernel flash_attention
  param Q : tensor[B*H, Sq, D] bf16 reads
  param K : tensor[B*H, Sk, D] bf16 reads
  param V : tensor[B*H, Sk, D] bf16 reads
  param O : tensor[B*H, Sq, D] bf16 writes returned
  param is_causal : bool = 1
  dims B*H Sq D Sk
  specialized D=64
  tunables BLOCK_M=64 BLOCK_N=64 num_warps=4 num_stages=2
  shared %smem_q.0 : buffer<64x64xbf16> swizzle none align 16
  shared %smem_k.1 : buffer<64x64xbf16> swizzle none align 16
  shared %smem_v.2 : buffer<64x64xbf16> swizzle none align 16
  shared_bytes 24576
  grid %batch0.7 from 0 to dim B*H step 1 batch
  grid %q.3 from 0 to dim Sq step 64
  %acc.4 : <64x64xf32> = broadcast(0.0:f32)<64x64xf32>
  %m_i.5 : <64xf32> = broadcast(-inf:f32)<64xf32>
  %l_i.6 : <64xf32> = broadcast(0.0:f32)<64xf32>
  cp_async %smem_q.0 = load Q[%batch0.7, %q.3 +64, 0 +64]<64x64xbf16>
  %last.8 : i64 = select(is_causal, minimum(dim Sk, sub(add(add(%q.3, 64), dim Sk), dim Sq)), dim Sk)
  for %kv.9 from 0 to %last.8 step 64 stages 2 carries %acc.4, %m_i.5, %l_i.6
    barrier
    cp_async %smem_k.1 = load K[%batch0.7, %kv.9 +64, 0 +64]<64x64xbf16>
    cp_async %smem_v.2 = load V[%batch0.7, %kv.9 +64, 0 +64]<64x64xbf16>
    barrier
    %scores.10 : <64x64xf32> = mul(mma trans_b(read %smem_q.0, read %smem_k.1)<64x64xf32>, broadcast(0.125:f32)<64x64xf32>)
    if is_causal carries %scores.10
      %scores.10 : <64x64xf32> = causal_mask(%scores.10, sub(add(%q.3, dim Sk), dim Sq), %kv.9)
    %m_new.11 : <64xf32> = maximum(%m_i.5, max axis 1(%scores.10))
    %shift.12 : <64xf32> = select(eq(%m_new.11, broadcast(-inf:f32)<64xf32>), broadcast(0.0:f32)<64xf32>, %m_new.11)
    %alpha.13 : <64xf32> = exp(sub(%m_i.5, %shift.12))
    %p.14 : <64x64xf32> = exp(sub(%scores.10, broadcast(expand_dims axis 1(%shift.12))<64x64xf32>))
    %l_i.6 : <64xf32> = add(mul(%alpha.13, %l_i.6), sum axis 1(%p.14))
    %acc.4 : <64x64xf32> = add(mul(broadcast(expand_dims axis 1(%alpha.13))<64x64xf32>, %acc.4), mma(cast bf16(%p.14), read %smem_v.2)<64x64xf32>)
    %m_i.5 : <64xf32> = %m_new.11
  %out.15 : <64x64xf32> = select(broadcast(gt(expand_dims axis 1(%l_i.6), broadcast(0.0:f32)<64x1xf32>))<64x64xbool>, div(%acc.4, broadcast(expand_dims axis 1(%l_i.6))<64x64xf32>), broadcast(0.0:f32)<64x64xf32>)
  store O[%batch0.7, %q.3 +64, 0 +64] = cast bf16(%out.15)
)");
}

TEST(Samples, AttentionNeedsItsHeadDim) {
  EXPECT_NE(sample("flash_attention").find("[E_DIM_NOT_STATIC] the value of dim 'D'"), std::string::npos);
}

} // namespace
} // namespace tessera::frontend::test
