/*---ridgepoint
operator = "silu_and_mul"
note = "One thread per output element."
[[launch]]
kernel = "silu_and_mul"
grid = ["max(ceil_div(token_count * d, 256), 1)"]
block = ["256"]
args = ["x", "out", "i64:token_count", "i64:d"]
---*/
// A row of x holds d gates, then d values: out = bf16(bf16(silu(gate)) * value).
// The SiLU is rounded to bf16 before the product.

__device__ float from_bf16(unsigned short bits) { return __uint_as_float((unsigned)bits << 16); }

// To nearest, ties to even; NaN stays NaN.
__device__ unsigned short to_bf16(float value) {
    unsigned bits = __float_as_uint(value);
    if ((bits & 0x7fffffff) > 0x7f800000) return 0x7fff;
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

extern "C" __global__ void silu_and_mul(const unsigned short* x, unsigned short* out, long long token_count, long long d) {
    long long i = blockIdx.x * 256LL + threadIdx.x;
    if (i >= token_count * d) return;
    long long row = i / d;
    long long column = i % d;

    float gate = from_bf16(x[row * 2 * d + column]);
    float value = from_bf16(x[row * 2 * d + d + column]);
    float silu = gate / (1.0f + expf(-gate));
    out[i] = to_bf16(from_bf16(to_bf16(silu)) * value);
}
