/*---ridgepoint
operator = "per_token_group_quant_fp8"
note = "16 lanes per group of 128, 16-byte loads, UNROLL of them in flight per thread."
[tune]
BLOCK = [256, 128, 512]
UNROLL = [4, 2, 8]
[[launch]]
kernel = "per_token_group_quant_fp8"
grid = ["ceil_div(token_count * groups, BLOCK / 16 * UNROLL)"]
block = ["BLOCK"]
when = "group_size == 128"
args = ["x", "quantized", "scales", "i64:token_count * groups", "f32:fp8_max", "f32:scale_min"]
---*/
// Groups follow each other in memory without gaps, so rows do not matter.

// Eight bf16 values: one 16-byte load.
struct __align__(16) Vec8 {
    unsigned pair[4];
};

__device__ float get(const Vec8& v, int i) {
    return __uint_as_float(i % 2 ? v.pair[i / 2] & 0xffff0000 : v.pair[i / 2] << 16);
}

// The codes of two values of at most 448, the first in the low byte; to nearest, ties to even.
__device__ unsigned e4m3x2(float first, float second) {
#if __CUDA_ARCH__ >= 890
    unsigned short codes;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(codes) : "f"(second), "f"(first));
    return codes;
#else
    float values[2] = {first, second};
    unsigned codes = 0;
#pragma unroll
    for (int i = 0; i < 2; i++) {
        unsigned bits = __float_as_uint(values[i]);
        unsigned magnitude = bits & 0x7fffffff;
        // Under 2^-6 codes are multiples of 2^-9: adding 2^14 leaves them, rounded, in the low bits.
        unsigned tiny = __float_as_uint(__uint_as_float(magnitude) + 16384.0f) & 0xff;
        unsigned rest = (magnitude + 0x7ffff + (magnitude >> 20 & 1) - (120u << 23)) >> 20;
        unsigned code = magnitude < 0x3c800000 ? tiny : rest;
        codes |= (code | (bits >> 24 & 0x80)) << (8 * i);
    }
    return codes;
#endif
}

extern "C" __global__ void __launch_bounds__(BLOCK)
per_token_group_quant_fp8(const Vec8* __restrict__ x, uint2* __restrict__ quantized, float* __restrict__ scales,
                          long long group_count, float fp8_max, float scale_min) {
    long long first = (long long)blockIdx.x * (BLOCK * UNROLL) + threadIdx.x;
    Vec8 held[UNROLL];
#pragma unroll
    for (int u = 0; u < UNROLL; u++) {
        long long i = first + u * BLOCK;
        held[u] = {};
        if (i < group_count * 16) held[u] = x[i];
    }

#pragma unroll
    for (int u = 0; u < UNROLL; u++) {
        long long i = first + u * BLOCK;
        float amax = 0.0f;
#pragma unroll
        for (int j = 0; j < 8; j++) amax = fmaxf(amax, fabsf(get(held[u], j)));
        for (int step = 8; step > 0; step /= 2) amax = fmaxf(amax, __shfl_xor_sync(0xffffffff, amax, step));

        // A correctly rounded quotient: a product with the reciprocal, then one step of correction (Markstein).
        float scale = fmaxf(amax / fp8_max, scale_min);
        float reciprocal = __frcp_rn(scale);
        float quotient[8];
#pragma unroll
        for (int j = 0; j < 8; j++) {
            float guess = get(held[u], j) * reciprocal;
            float exact = fmaf(fmaf(-guess, scale, get(held[u], j)), reciprocal, guess);
            quotient[j] = fminf(fmaxf(exact, -fp8_max), fp8_max);
        }
        if (i < group_count * 16) {
            quantized[i] = make_uint2(e4m3x2(quotient[0], quotient[1]) | e4m3x2(quotient[2], quotient[3]) << 16,
                                      e4m3x2(quotient[4], quotient[5]) | e4m3x2(quotient[6], quotient[7]) << 16);
            if (threadIdx.x % 16 == 0) scales[i / 16] = scale;
        }
    }
}
