/*---ridgepoint
operator = "fused_add_rms_norm"
note = "Where to begin: one CTA per row, one element at a time, a tree sum in shared memory."
[tune]
BLOCK = [256, 128, 512, 1024]
[[launch]]
kernel = "fused_add_rms_norm"
grid = ["token_count"]
block = ["BLOCK"]
args = ["x", "residual", "weight", "out", "residual_out", "i32:hidden_size", "f32:eps"]
---*/
#include <cuda_bf16.h>

extern "C" __global__ void fused_add_rms_norm(const __nv_bfloat16* x, const __nv_bfloat16* residual,
                                              const __nv_bfloat16* weight, __nv_bfloat16* out,
                                              __nv_bfloat16* residual_out, int hidden_size, float eps) {
    size_t start = (size_t)blockIdx.x * hidden_size;

    float squares = 0.0f;
    for (int i = threadIdx.x; i < hidden_size; i += BLOCK) {
        float sum = __bfloat162float(x[start + i]) + __bfloat162float(residual[start + i]);
        __nv_bfloat16 rounded = __float2bfloat16(sum);
        residual_out[start + i] = rounded;
        float value = __bfloat162float(rounded);
        squares += value * value;
    }

    __shared__ float partial[BLOCK];
    partial[threadIdx.x] = squares;
    __syncthreads();
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }

    // Each thread reads back only what it wrote itself.
    float scale = rsqrtf(partial[0] / hidden_size + eps);
    for (int i = threadIdx.x; i < hidden_size; i += BLOCK) {
        float value = __bfloat162float(residual_out[start + i]) * scale * __bfloat162float(weight[i]);
        out[start + i] = __float2bfloat16(value);
    }
}
