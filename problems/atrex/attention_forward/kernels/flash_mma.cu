/*---ridgepoint
operator = "attention_forward"
note = "Flash attention on tensor cores by mma.sync: 128 queries per CTA, keys and values double-buffered by cp.async, softmax in registers."
[[launch]]
kernel = "flash_80"
grid = ["ceil_div(total_tokens, 128) + num_seqs", "num_heads"]
block = ["128"]
shared = "(128 + 4 * 64) * (80 + 8) * 2"
when = "(head_dim <= 80) * (head_dim % 8 == 0)"
args = ["q", "k", "v", "cu_seqlens_q", "cu_seqlens_k", "out", "i32:num_seqs", "i32:num_heads", "i32:head_dim"]
[[launch]]
kernel = "flash_128"
grid = ["ceil_div(total_tokens, 128) + num_seqs", "num_heads"]
block = ["128"]
shared = "(128 + 4 * 64) * (128 + 8) * 2"
when = "(head_dim > 80) * (head_dim <= 128) * (head_dim % 8 == 0)"
args = ["q", "k", "v", "cu_seqlens_q", "cu_seqlens_k", "out", "i32:num_seqs", "i32:num_heads", "i32:head_dim"]
---*/
// head_dim: multiples of 8, up to 128.
#include <cuda_bf16.h>

constexpr int QUERIES = 128;  // per CTA: 4 warps with 32 each
constexpr int KEYS = 64;      // per step

// d += a b for a 16 x 16 (row-major), b 16 x 8 (column-major), spread over the warp as mma.sync wants them.
__device__ void mma(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Four 8 x 8 matrices; lane i gives the address of row i % 8 of matrix i / 8.
__device__ void ldmatrix(unsigned (&r)[4], const __nv_bfloat16* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"((unsigned)__cvta_generic_to_shared(row)));
}

// The same, each matrix transposed.
__device__ void ldmatrix_transposed(unsigned (&r)[4], const __nv_bfloat16* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"((unsigned)__cvta_generic_to_shared(row)));
}

// 16 bytes from global to shared memory in the background; zeros where `inside` is false.
__device__ void copy_async(__nv_bfloat16* to, const __nv_bfloat16* from, bool inside) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :: "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from), "r"(inside ? 16 : 0) : "memory");
}

__device__ void commit_copies() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}

// Waits until at most `PENDING` of the latest groups are unfinished.
template <int PENDING>
__device__ void wait_copies() {
    asm volatile("cp.async.wait_group %0;" :: "n"(PENDING) : "memory");
}

__device__ float exp2_fast(float x) {
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
}

__device__ unsigned pack(float low, float high) {
    __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
    return *(unsigned*)&pair;
}

// The maximum and the sum over the four lanes that share a row of an mma result.
__device__ float row_max(float x) {
    x = fmaxf(x, __shfl_xor_sync(0xffffffff, x, 1));
    return fmaxf(x, __shfl_xor_sync(0xffffffff, x, 2));
}

__device__ float row_sum(float x) {
    x += __shfl_xor_sync(0xffffffff, x, 1);
    return x + __shfl_xor_sync(0xffffffff, x, 2);
}

// ROWS tokens of one head, D columns; zeros beyond `tokens` and `dim`. Rows are an odd number of 16-byte chunks apart,
// so that ldmatrix meets no bank conflict.
template <int ROWS, int D>
__device__ void load_tile(__nv_bfloat16* tile, const __nv_bfloat16* tensor, size_t token_pitch, int tokens, int dim) {
#pragma unroll
    for (int i = threadIdx.x; i < ROWS * D / 8; i += 128) {
        int token = i / (D / 8);
        int d = i % (D / 8) * 8;
        bool inside = token < tokens && d < dim;
        copy_async(tile + token * (D + 8) + d, inside ? tensor + token * token_pitch + d : tensor, inside);
    }
}

template <int D>
__device__ void flash(const __nv_bfloat16* __restrict__ q, const __nv_bfloat16* __restrict__ k,
                      const __nv_bfloat16* __restrict__ v, const int* __restrict__ cu_seqlens_q,
                      const int* __restrict__ cu_seqlens_k, __nv_bfloat16* __restrict__ out, int num_seqs, int num_heads,
                      int head_dim) {
    constexpr int PITCH = D + 8;
    constexpr float MINUS_INFINITY = -1e30f;
    extern __shared__ __align__(16) __nv_bfloat16 shared[];
    __nv_bfloat16* query_tile = shared;
    __nv_bfloat16* key_tiles = query_tile + QUERIES * PITCH;
    __nv_bfloat16* value_tiles = key_tiles + 2 * KEYS * PITCH;

    // CTAs are dealt to the sequences in order.
    int sequence = 0;
    int tile = blockIdx.x;
    while (sequence < num_seqs) {
        int tiles = (cu_seqlens_q[sequence + 1] - cu_seqlens_q[sequence] + QUERIES - 1) / QUERIES;
        if (tile < tiles) break;
        tile -= tiles;
        sequence++;
    }
    if (sequence == num_seqs) return;
    size_t token_pitch = (size_t)num_heads * head_dim;
    int first_query = cu_seqlens_q[sequence] + tile * QUERIES;
    int queries = cu_seqlens_q[sequence + 1] - first_query;
    int keys = cu_seqlens_k[sequence + 1] - cu_seqlens_k[sequence];
    int steps = (keys + KEYS - 1) / KEYS;
    q += first_query * token_pitch + blockIdx.y * head_dim;
    k += cu_seqlens_k[sequence] * token_pitch + blockIdx.y * head_dim;
    v += cu_seqlens_k[sequence] * token_pitch + blockIdx.y * head_dim;
    out += first_query * token_pitch + blockIdx.y * head_dim;

    auto load_keys = [&](int step) {
        if (step < steps)
            load_tile<KEYS, D>(key_tiles + step % 2 * KEYS * PITCH, k + step * KEYS * token_pitch, token_pitch,
                               keys - step * KEYS, head_dim);
        commit_copies();
    };
    auto load_values = [&](int step) {
        if (step < steps)
            load_tile<KEYS, D>(value_tiles + step % 2 * KEYS * PITCH, v + step * KEYS * token_pitch, token_pitch,
                               keys - step * KEYS, head_dim);
        commit_copies();
    };
    load_tile<QUERIES, D>(query_tile, q, token_pitch, queries, head_dim);
    load_keys(0);
    load_values(0);

    int lane = threadIdx.x % 32;
    int warp_row = threadIdx.x / 32 * 32;
    // Of its 32 queries a lane sees four: [m][half] is query m * 16 + half * 8 + lane / 4 of the warp.
    float largest[2][2], total[2][2] = {}, sum[2][D / 8][4] = {};
    for (int i = 0; i < 4; i++) largest[i / 2][i % 2] = MINUS_INFINITY;
    float scale = rsqrtf((float)head_dim) * 1.44269504f;  // log2(e): the softmax is done with powers of two

    for (int step = 0; step < steps; step++) {
        wait_copies<1>();  // the keys are there, the values may be on their way
        __syncthreads();
        load_keys(step + 1);

        float score[2][KEYS / 8][4] = {};
        const __nv_bfloat16* keys_here = key_tiles + step % 2 * KEYS * PITCH;
#pragma unroll
        for (int d = 0; d < D; d += 16) {
            unsigned a[2][4];
#pragma unroll
            for (int m = 0; m < 2; m++)
                ldmatrix(a[m], query_tile + (warp_row + m * 16 + lane % 16) * PITCH + d + lane / 16 * 8);
#pragma unroll
            for (int n = 0; n < KEYS / 16; n++) {
                unsigned b[4];
                ldmatrix(b, keys_here + (n * 16 + lane / 16 * 8 + lane % 8) * PITCH + d + lane / 8 % 2 * 8);
#pragma unroll
                for (int m = 0; m < 2; m++) {
                    mma(score[m][2 * n], a[m], b[0], b[1]);
                    mma(score[m][2 * n + 1], a[m], b[2], b[3]);
                }
            }
        }

        int left = keys - step * KEYS;
        if (left < KEYS) {
#pragma unroll
            for (int n = 0; n < KEYS / 8; n++)
#pragma unroll
                for (int i = 0; i < 4; i++)
                    if (n * 8 + lane % 4 * 2 + i % 2 >= left) score[0][n][i] = score[1][n][i] = MINUS_INFINITY;
        }

#pragma unroll
        for (int m = 0; m < 2; m++)
#pragma unroll
            for (int half = 0; half < 2; half++) {
                float top = largest[m][half];
#pragma unroll
                for (int n = 0; n < KEYS / 8; n++)
                    top = fmaxf(top, fmaxf(score[m][n][half * 2], score[m][n][half * 2 + 1]));
                top = row_max(top);
                // What was summed so far was relative to the old largest score.
                float shrink = exp2_fast((largest[m][half] - top) * scale);
                largest[m][half] = top;
                total[m][half] *= shrink;
#pragma unroll
                for (int n = 0; n < D / 8; n++) {
                    sum[m][n][half * 2] *= shrink;
                    sum[m][n][half * 2 + 1] *= shrink;
                }
                float offset = top * scale;
#pragma unroll
                for (int n = 0; n < KEYS / 8; n++)
#pragma unroll
                    for (int i = half * 2; i < half * 2 + 2; i++) {
                        score[m][n][i] = exp2_fast(score[m][n][i] * scale - offset);
                        total[m][half] += score[m][n][i];
                    }
            }

        wait_copies<1>();  // the values are there, the next keys may be on their way
        __syncthreads();
        load_values(step + 1);

        const __nv_bfloat16* values_here = value_tiles + step % 2 * KEYS * PITCH;
#pragma unroll
        for (int n = 0; n < KEYS / 16; n++) {
            // Scores of 16 keys, as they lie after the first product, are the left operand of the second.
            unsigned a[2][4];
#pragma unroll
            for (int m = 0; m < 2; m++)
#pragma unroll
                for (int i = 0; i < 4; i++)
                    a[m][i] = pack(score[m][2 * n + i / 2][i % 2 * 2], score[m][2 * n + i / 2][i % 2 * 2 + 1]);
#pragma unroll
            for (int d = 0; d < D; d += 16) {
                unsigned b[4];
                ldmatrix_transposed(b, values_here + (n * 16 + lane % 16) * PITCH + d + lane / 16 * 8);
#pragma unroll
                for (int m = 0; m < 2; m++) {
                    mma(sum[m][d / 8], a[m], b[0], b[1]);
                    mma(sum[m][d / 8 + 1], a[m], b[2], b[3]);
                }
            }
        }
    }
    wait_copies<0>();

#pragma unroll
    for (int m = 0; m < 2; m++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            int query = warp_row + m * 16 + half * 8 + lane / 4;
            float all = row_sum(total[m][half]);
            float factor = all > 0.0f ? 1.0f / all : 0.0f;
            if (query >= queries) continue;
#pragma unroll
            for (int n = 0; n < D / 8; n++) {
                int d = n * 8 + lane % 4 * 2;
                if (d < head_dim)
                    *(unsigned*)(out + query * token_pitch + d) =
                        pack(sum[m][n][half * 2] * factor, sum[m][n][half * 2 + 1] * factor);
            }
        }
}

extern "C" __global__ void __launch_bounds__(128, 2)
flash_80(const __nv_bfloat16* q, const __nv_bfloat16* k, const __nv_bfloat16* v, const int* cu_seqlens_q,
         const int* cu_seqlens_k, __nv_bfloat16* out, int num_seqs, int num_heads, int head_dim) {
    flash<80>(q, k, v, cu_seqlens_q, cu_seqlens_k, out, num_seqs, num_heads, head_dim);
}

extern "C" __global__ void __launch_bounds__(128, 2)
flash_128(const __nv_bfloat16* q, const __nv_bfloat16* k, const __nv_bfloat16* v, const int* cu_seqlens_q,
          const int* cu_seqlens_k, __nv_bfloat16* out, int num_seqs, int num_heads, int head_dim) {
    flash<128>(q, k, v, cu_seqlens_q, cu_seqlens_k, out, num_seqs, num_heads, head_dim);
}
