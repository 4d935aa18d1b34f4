/*---ridgepoint
operator = "silu_and_mul"
note = "16-byte loads and stores, UNROLL of them in flight per thread."
[tune]
BLOCK = [256, 128, 512]
UNROLL = [2, 1, 4]
[[launch]]
kernel = "silu_and_mul_vec8"
grid = ["ceil_div(token_count * d, 8 * BLOCK * UNROLL)"]
block = ["BLOCK"]
when = "(d % 8 == 0) * (token_count * d < 34359738368)"
args = ["x", "out", "u32:token_count * d / 8", "u32:d / 8"]
[[launch]]
kernel = "silu_and_mul_any"
grid = ["ceil_div(token_count * d, BLOCK)"]
block = ["BLOCK"]
when = "1 - (d % 8 == 0) * (token_count * d < 34359738368)"
args = ["x", "out", "i64:token_count * d", "i64:d"]
---*/
#include <cuda_bf16.h>

// Eight bf16 values: one 16-byte load or store.
struct __align__(16) Vec8 {
    unsigned pair[4];
};

__device__ float low(unsigned pair) { return __uint_as_float(pair << 16); }
__device__ float high(unsigned pair) { return __uint_as_float(pair & 0xffff0000); }

__device__ unsigned pack(float low, float high) {
    __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
    return *(unsigned*)&pair;
}

__device__ float silu(float x) { return __fdividef(x, 1.0f + __expf(-x)); }

// The SiLU is rounded to bf16 before the product.
__device__ unsigned silu_and_mul(unsigned gate, unsigned up) {
    unsigned rounded = pack(silu(low(gate)), silu(high(gate)));
    return pack(low(rounded) * low(up), high(rounded) * high(up));
}

// A row of x is `width` vectors of gates, then as many of values.
extern "C" __global__ void __launch_bounds__(BLOCK)
silu_and_mul_vec8(const Vec8* __restrict__ x, Vec8* __restrict__ out, unsigned vectors, unsigned width) {
    Vec8 gate[UNROLL], up[UNROLL];
#pragma unroll
    for (int u = 0; u < UNROLL; u++) {
        unsigned i = (blockIdx.x * UNROLL + u) * BLOCK + threadIdx.x;
        if (i < vectors) {
            unsigned long long at = (unsigned long long)(i / width) * 2 * width + i % width;
            gate[u] = x[at];
            up[u] = x[at + width];
        }
    }
#pragma unroll
    for (int u = 0; u < UNROLL; u++) {
        unsigned i = (blockIdx.x * UNROLL + u) * BLOCK + threadIdx.x;
        Vec8 result;
#pragma unroll
        for (int j = 0; j < 4; j++) result.pair[j] = silu_and_mul(gate[u].pair[j], up[u].pair[j]);
        if (i < vectors) out[i] = result;
    }
}

// Rows that are no multiple of 16 bytes: element by element.
extern "C" __global__ void __launch_bounds__(BLOCK)
silu_and_mul_any(const __nv_bfloat16* __restrict__ x, __nv_bfloat16* __restrict__ out, long long elements, long long d) {
    long long i = (long long)blockIdx.x * BLOCK + threadIdx.x;
    if (i >= elements) return;
    const __nv_bfloat16* row = x + i / d * 2 * d;
    __nv_bfloat16 rounded = __float2bfloat16(silu(__bfloat162float(row[i % d])));
    out[i] = __float2bfloat16(__bfloat162float(rounded) * __bfloat162float(row[d + i % d]));
}
