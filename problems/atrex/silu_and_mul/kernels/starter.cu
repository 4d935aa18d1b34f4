/*---ridgepoint
operator = "silu_and_mul"
note = "Where to begin: one thread per output element."
[tune]
BLOCK = [256, 128, 512, 1024]
[[launch]]
kernel = "silu_and_mul"
grid = ["ceil_div(token_count * d, BLOCK)"]
block = ["BLOCK"]
args = ["x", "out", "i64:token_count * d", "i32:d"]
---*/
#include <cuda_bf16.h>

extern "C" __global__ void silu_and_mul(const __nv_bfloat16* x, __nv_bfloat16* out, long long elements, int d) {
    long long i = (long long)blockIdx.x * BLOCK + threadIdx.x;
    if (i >= elements) return;

    // A row of x is d gates, then d values.
    const __nv_bfloat16* row = x + i / d * 2 * d;
    int column = i % d;
    float gate = __bfloat162float(row[column]);
    float value = __bfloat162float(row[d + column]);

    __nv_bfloat16 silu = __float2bfloat16(gate / (1.0f + expf(-gate)));
    out[i] = __float2bfloat16(__bfloat162float(silu) * value);
}
