// Kernels for the device's self-test: launch features, and kernels that do wrong on purpose.
//
// ridgepoint-options: --gpu-architecture=compute_90 -fmad=false

typedef unsigned long long u64;
typedef unsigned int u32;
typedef unsigned char u8;

// out[cta] = rank in the cluster | CTAs of the cluster << 16
extern "C" __global__ void st_cluster(u32 *out)
{
    u32 rank, size;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
    if (threadIdx.x == 0) out[blockIdx.x] = rank | size << 16;
}

// Every CTA waits for every other: only a grid that is resident as a whole comes through.
extern "C" __global__ void st_grid(u32 *counter, u32 *out)
{
    if (threadIdx.x == 0) {
        atomicAdd(counter, 1);
        while (*(volatile u32 *)counter < gridDim.x) {}
        out[blockIdx.x] = *(volatile u32 *)counter;
    }
}

// Reverses a range through dynamic shared memory of the given number of words.
extern "C" __global__ void st_shared(const u32 *in, u32 *out, u32 words)
{
    extern __shared__ u32 tile[];
    for (u32 i = threadIdx.x; i < words; i += blockDim.x) tile[i] = in[i];
    __syncthreads();
    for (u32 i = threadIdx.x; i < words; i += blockDim.x) out[i] = tile[words - 1 - i];
}

struct __align__(64) TensorMap { u64 opaque[16]; };

// Loads the tile of ROWS x COLS f32 at (x, y) through the tensor map into out.
#define ROWS 8
#define COLS 32
extern "C" __global__ void st_tensor_map(const __grid_constant__ TensorMap map, float *out, int x, int y)
{
    __shared__ __align__(128) float tile[ROWS * COLS];
    __shared__ __align__(8) u64 barrier;
    u32 tile_at = (u32)__cvta_generic_to_shared(tile), barrier_at = (u32)__cvta_generic_to_shared(&barrier);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(barrier_at));
        asm volatile("fence.proxy.async;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(barrier_at), "r"((u32)sizeof(tile)));
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                     :: "r"(tile_at), "l"(&map), "r"(x), "r"(y), "r"(barrier_at) : "memory");
    }
    __syncthreads();
    u32 done = 0;
    while (!done) {
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done) : "r"(barrier_at) : "memory");
    }
    for (u32 i = threadIdx.x; i < ROWS * COLS; i += blockDim.x) out[i] = tile[i];
}

// Changes one byte at `at` bytes from the start, which may be outside.
extern "C" __global__ void st_poke(u8 *data, long long at) { data[at] ^= 0xff; }

extern "C" __global__ void st_copy(const uint4 *in, uint4 *out, u64 count)
{
    u64 step = (u64)gridDim.x * blockDim.x;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) out[i] = in[i];
}

// Arguments of every size, summed.
extern "C" __global__ void st_arguments(double *out, int a, float b, long long c, double d, u32 e)
{
    *out = (double)a + (double)b + (double)c + d + (double)e;
}

extern "C" __global__ void st_hang(volatile u32 *flag) { while (*flag == 0) {} }
extern "C" __global__ void st_illegal(u32 *data) { data[1ull << 42] = 1; }
extern "C" __global__ void st_misaligned(u8 *data) { *(volatile u32 *)(data + 1) = 1; }
extern "C" __global__ void st_trap() { asm volatile("trap;"); }
