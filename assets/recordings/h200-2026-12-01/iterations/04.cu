/*---ridgepoint
operator = "rms_norm"
note = "Where to begin: one CTA per row, one element at a time, a tree sum in shared memory."
[tune]
BLOCK = [256, 128, 512, 1024]
[[launch]]
kernel = "rms_norm"
grid = ["token_count"]
block = ["BLOCK"]
args = ["x", "weight", "out", "i32:hidden_size", "f32:eps"]
---*/
#include <cuda_bf16.h>

extern "C" __global__ void rms_norm(const __nv_bfloat16* x, const __nv_bfloat16* weight, __nv_bfloat16* out,
                                    int hidden_size, float eps) {
    size_t start = (size_t)blockIdx.x * hidden_size;

    float squares = 0.0f;
    for (int i = threadIdx.x; i < hidden_size; i += BLOCK) {
        float value = __bfloat162float(x[start + i]);
        squares += value * value;
    }

    __shared__ float partial[BLOCK];
    partial[threadIdx.x] = squares;
    __syncthreads();
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }

    float scale = rsqrtf(partial[0] / hidden_size + eps);
    for (int i = threadIdx.x; i < hidden_size; i += BLOCK) {
        float value = __bfloat162float(x[start + i]) * scale * __bfloat162float(weight[i]);
        out[start + i] = __float2bfloat16(value);
    }
}
