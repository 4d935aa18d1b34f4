/*---ridgepoint
operator = "per_token_group_quant_fp8"
note = "One warp per group."
[[launch]]
kernel = "per_token_group_quant_fp8"
grid = ["max(ceil_div(token_count * groups, 8), 1)"]
block = ["256"]
args = ["x", "quantized", "scales", "i64:token_count * groups", "i32:group_size"]
---*/
// Per group of `group_size` neighbours: scale = max(amax / 448, 1e-10); quantized = e4m3fn(clamp(x / scale, -448, 448)).
// Both divisions are true, correctly rounded divisions: a product with the reciprocal gives other codes.
// Groups follow each other in x and in scales alike, so that a group's index is all that is needed.

constexpr float LARGEST = 448.0f;

__device__ float from_bf16(unsigned short bits) { return __uint_as_float((unsigned)bits << 16); }

// To nearest e4m3fn code (1 sign, 4 exponent, 3 mantissa bits, bias 7), ties to even, for |value| <= 448; NaN is 0x7f.
__device__ unsigned char to_e4m3(float value) {
    unsigned bits = __float_as_uint(value);
    unsigned sign = bits >> 24 & 0x80;
    unsigned magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000) return sign | 0x7f;
    // Under 2^-6 the codes are the multiples of 2^-9.
    if (magnitude < 0x3c800000) return sign | (unsigned)rintf(__uint_as_float(magnitude) * 512.0f);
    unsigned rounded = magnitude + 0x7ffff + (magnitude >> 20 & 1);
    return sign | ((rounded >> 20) - ((127 - 7) << 3));
}

extern "C" __global__ void per_token_group_quant_fp8(const unsigned short* x, unsigned char* quantized, float* scales,
                                                     long long groups, int group_size) {
    long long group = blockIdx.x * 8LL + threadIdx.x / 32;
    int lane = threadIdx.x % 32;
    if (group >= groups) return;
    x += group * group_size;
    quantized += group * group_size;

    float amax = 0.0f;
    for (int i = lane; i < group_size; i += 32) amax = fmaxf(amax, fabsf(from_bf16(x[i])));
    for (int step = 16; step > 0; step /= 2) amax = fmaxf(amax, __shfl_xor_sync(0xffffffff, amax, step));

    float scale = fmaxf(amax / LARGEST, 1e-10f);
    for (int i = lane; i < group_size; i += 32) {
        float value = from_bf16(x[i]) / scale;
        quantized[i] = to_e4m3(fminf(fmaxf(value, -LARGEST), LARGEST));
    }
    if (lane == 0) scales[group] = scale;
}
