/*---ridgepoint
operator = "per_token_group_quant_fp8"
note = "Where to begin: one CTA of group_size threads per group."
[[launch]]
kernel = "per_token_group_quant_fp8"
grid = ["token_count * groups"]
block = ["group_size"]
shared = "4 * group_size"
args = ["x", "quantized", "scales", "f32:fp8_max", "f32:scale_min"]
---*/
#include <cuda_bf16.h>
#include <cuda_fp8.h>

extern "C" __global__ void per_token_group_quant_fp8(const __nv_bfloat16* x, __nv_fp8_storage_t* quantized, float* scales,
                                                     float fp8_max, float scale_min) {
    extern __shared__ float partial[];
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    float value = __bfloat162float(x[i]);

    partial[threadIdx.x] = fabsf(value);
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] = fmaxf(partial[threadIdx.x], partial[threadIdx.x + half]);
        __syncthreads();
    }

    // Divisions, not products with a reciprocal: the codes depend on it.
    float scale = fmaxf(partial[0] / fp8_max, scale_min);
    float scaled = fminf(fmaxf(value / scale, -fp8_max), fp8_max);
    quantized[i] = __nv_cvt_float_to_fp8(scaled, __NV_SATFINITE, __NV_E4M3);
    if (threadIdx.x == 0) scales[blockIdx.x] = scale;
}
