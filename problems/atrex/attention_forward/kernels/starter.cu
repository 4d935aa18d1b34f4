/*---ridgepoint
operator = "attention_forward"
note = "Where to begin: one thread per query with its whole output in registers, keys and values passing through shared memory."
[tune]
QUERIES = [64, 128]
KEYS = [16, 32]
[[launch]]
kernel = "attention_72"
grid = ["ceil_div(total_tokens, QUERIES) + num_seqs", "num_heads"]
block = ["QUERIES"]
when = "head_dim <= 72"
args = ["q", "k", "v", "cu_seqlens_q", "cu_seqlens_k", "out", "i32:num_seqs", "i32:num_heads", "i32:head_dim"]
[[launch]]
kernel = "attention_128"
grid = ["ceil_div(total_tokens, QUERIES) + num_seqs", "num_heads"]
block = ["QUERIES"]
when = "head_dim > 72"
args = ["q", "k", "v", "cu_seqlens_q", "cu_seqlens_k", "out", "i32:num_seqs", "i32:num_heads", "i32:head_dim"]
---*/
#include <cuda_bf16.h>

// D is head_dim or more; what is beyond head_dim is zero.
template <int D>
__device__ void attention(const __nv_bfloat16* q, const __nv_bfloat16* k, const __nv_bfloat16* v, const int* cu_seqlens_q,
                          const int* cu_seqlens_k, __nv_bfloat16* out, int num_seqs, int num_heads, int head_dim) {
    __shared__ float keys[KEYS][D];
    __shared__ float values[KEYS][D];
    const float minus_infinity = -__int_as_float(0x7f800000);
    size_t token_pitch = (size_t)num_heads * head_dim;
    size_t head = (size_t)blockIdx.y * head_dim;

    // CTAs are dealt to the sequences in order, each taking QUERIES queries of one sequence.
    int sequence = 0;
    int tile = blockIdx.x;
    while (sequence < num_seqs) {
        int tiles = (cu_seqlens_q[sequence + 1] - cu_seqlens_q[sequence] + QUERIES - 1) / QUERIES;
        if (tile < tiles) break;
        tile -= tiles;
        sequence++;
    }
    if (sequence == num_seqs) return;
    int query = cu_seqlens_q[sequence] + tile * QUERIES + threadIdx.x;
    bool mine = query < cu_seqlens_q[sequence + 1];

    __nv_bfloat162 my_query[D / 2];
    float sum[D];
#pragma unroll
    for (int d = 0; d < D; d += 2) {
        bool inside = mine && d < head_dim;
        const __nv_bfloat16* at = q + query * token_pitch + head + d;
        my_query[d / 2].x = inside ? at[0] : __float2bfloat16(0.0f);
        my_query[d / 2].y = inside && d + 1 < head_dim ? at[1] : __float2bfloat16(0.0f);
        sum[d] = sum[d + 1] = 0.0f;
    }

    float scale = rsqrtf((float)head_dim);
    float largest = minus_infinity;
    float total = 0.0f;
    int end = cu_seqlens_k[sequence + 1];
    for (int first = cu_seqlens_k[sequence]; first < end; first += KEYS) {
        __syncthreads();
        for (int i = threadIdx.x; i < KEYS * D; i += QUERIES) {
            int key = first + i / D;
            int d = i % D;
            bool inside = key < end && d < head_dim;
            size_t at = key * token_pitch + head + d;
            keys[i / D][d] = inside ? __bfloat162float(k[at]) : 0.0f;
            values[i / D][d] = inside ? __bfloat162float(v[at]) : 0.0f;
        }
        __syncthreads();

        for (int j = 0; j < min(KEYS, end - first); j++) {
            float score = 0.0f;
#pragma unroll
            for (int d = 0; d < D; d += 2) {
                score += __low2float(my_query[d / 2]) * keys[j][d] + __high2float(my_query[d / 2]) * keys[j][d + 1];
            }
            score *= scale;
            if (score > largest) {
                // What was summed so far was relative to the old largest score.
                float shrink = expf(largest - score);
                total *= shrink;
#pragma unroll
                for (int d = 0; d < D; d++) sum[d] *= shrink;
                largest = score;
            }
            float p = expf(score - largest);
            total += p;
#pragma unroll
            for (int d = 0; d < D; d++) sum[d] += p * values[j][d];
        }
    }

    if (!mine) return;
#pragma unroll
    for (int d = 0; d < D; d++) {
        float result = total > 0.0f ? sum[d] / total : 0.0f;
        if (d < head_dim) out[query * token_pitch + head + d] = __float2bfloat16(result);
    }
}

extern "C" __global__ void __launch_bounds__(QUERIES)
attention_72(const __nv_bfloat16* q, const __nv_bfloat16* k, const __nv_bfloat16* v, const int* cu_seqlens_q,
             const int* cu_seqlens_k, __nv_bfloat16* out, int num_seqs, int num_heads, int head_dim) {
    attention<72>(q, k, v, cu_seqlens_q, cu_seqlens_k, out, num_seqs, num_heads, head_dim);
}

extern "C" __global__ void __launch_bounds__(QUERIES)
attention_128(const __nv_bfloat16* q, const __nv_bfloat16* k, const __nv_bfloat16* v, const int* cu_seqlens_q,
              const int* cu_seqlens_k, __nv_bfloat16* out, int num_seqs, int num_heads, int head_dim) {
    attention<128>(q, k, v, cu_seqlens_q, cu_seqlens_k, out, num_seqs, num_heads, head_dim);
}
