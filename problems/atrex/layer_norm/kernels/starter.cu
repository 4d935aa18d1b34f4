/*---ridgepoint
operator = "layer_norm"
note = "Where to begin: one CTA per row, mean and variance one after the other."
[tune]
BLOCK = [256, 128, 512, 1024]
[[launch]]
kernel = "layer_norm"
grid = ["token_count"]
block = ["BLOCK"]
args = ["x", "weight", "bias", "out", "i32:hidden_size", "f32:eps"]
---*/
#include <cuda_bf16.h>

__device__ float cta_sum(float value) {
    __shared__ float partial[BLOCK];
    partial[threadIdx.x] = value;
    __syncthreads();
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    float total = partial[0];
    __syncthreads();  // before the next call writes partial again
    return total;
}

extern "C" __global__ void layer_norm(const __nv_bfloat16* x, const __nv_bfloat16* weight, const __nv_bfloat16* bias,
                                      __nv_bfloat16* out, int hidden_size, float eps) {
    size_t start = (size_t)blockIdx.x * hidden_size;

    float sum = 0.0f;
    for (int i = threadIdx.x; i < hidden_size; i += BLOCK) sum += __bfloat162float(x[start + i]);
    float mean = cta_sum(sum) / hidden_size;

    float squares = 0.0f;
    for (int i = threadIdx.x; i < hidden_size; i += BLOCK) {
        float centred = __bfloat162float(x[start + i]) - mean;
        squares += centred * centred;
    }
    float scale = rsqrtf(cta_sum(squares) / hidden_size + eps);

    for (int i = threadIdx.x; i < hidden_size; i += BLOCK) {
        float normal = (__bfloat162float(x[start + i]) - mean) * scale;
        out[start + i] = __float2bfloat16(normal * __bfloat162float(weight[i]) + __bfloat162float(bias[i]));
    }
}
