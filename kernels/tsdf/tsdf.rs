//! What the TSDF kernels in Rust share: the walk along a ray, and the table of blocks with find and
//! insert. The same algorithm and levers as tsdf.cuh, which explains them.
#![allow(dead_code)] // each file of kernels uses a part

use gpu::*;

/// A table entry. An empty one has all bits set: key -1, block -1.
#[repr(C, align(16))]
#[derive(Clone, Copy)]
pub struct Entry {
    pub key: i64,
    pub block: i32,
    pub pad: i32,
}

pub const EMPTY: i64 = -1;
pub const PENDING: i32 = -1; // claimed, its block not yet published
pub const DROPPED: i32 = -2; // the pool was full

// ---- the walk ----

#[derive(Clone, Copy)]
pub struct Vec3 {
    pub x: f32,
    pub y: f32,
    pub z: f32,
}

/// Metres, and 1 / metres.
#[derive(Clone, Copy)]
pub struct Grid {
    pub voxel: f32,
    pub inv_voxel: f32,
    pub trunc: f32,
}

#[derive(Clone, Copy)]
pub struct Ray {
    point: Vec3,
    direction: Vec3, // of length 1, from the camera to the point
    length: f32,     // the point's distance from the camera
}

/// A sample's voxel, and the signed distance of that voxel's centre along the ray in metres.
#[derive(Clone, Copy)]
pub struct Sample {
    pub x: i32,
    pub y: i32,
    pub z: i32,
    pub sdf: f32,
}

#[inline(always)]
fn norm(x: f32, y: f32, z: f32) -> f32 {
    sqrt(fma(z, z, fma(y, y, x * x)))
}

#[inline(always)]
pub unsafe fn ray_to(points: *const f32, i: u32, cam: Vec3) -> Ray {
    let at = unsafe { points.add(3 * i as usize) };
    let point = unsafe { Vec3 { x: *at, y: *at.add(1), z: *at.add(2) } };
    let (dx, dy, dz) = (point.x - cam.x, point.y - cam.y, point.z - cam.z);
    let length = norm(dx, dy, dz);
    let scale = 1.0 / length;
    Ray { point, direction: Vec3 { x: dx * scale, y: dy * scale, z: dz * scale }, length }
}

#[inline(always)]
fn centre(voxel: i32, grid: Grid, cam: f32) -> f32 {
    fma(voxel as f32 + 0.5, grid.voxel, -cam)
}

#[inline(always)]
pub fn sample_at(ray: &Ray, s: i32, cam: Vec3, grid: Grid) -> Sample {
    let t = s as f32 * grid.voxel;
    let x = floor_i32(fma(ray.direction.x, t, ray.point.x) * grid.inv_voxel);
    let y = floor_i32(fma(ray.direction.y, t, ray.point.y) * grid.inv_voxel);
    let z = floor_i32(fma(ray.direction.z, t, ray.point.z) * grid.inv_voxel);
    let (dx, dy, dz) = (centre(x, grid, cam.x), centre(y, grid, cam.y), centre(z, grid, cam.z));
    Sample { x, y, z, sdf: ray.length - norm(dx, dy, dz) }
}

/// Calls `visit` with the samples of a ray that count, of `AT_ONCE` samples together: LLVM unrolls
/// no loop for a GPU, where NVRTC does.
#[inline(always)]
pub fn each_sample<const AT_ONCE: i32>(
    ray: &Ray, cam: Vec3, grid: Grid, steps: i32, mut visit: impl FnMut(&Sample),
) {
    let mut take = |s: i32| {
        let sample = sample_at(ray, s, cam, grid);
        if sample.sdf < -grid.trunc {
            return;
        }
        visit(&sample);
    };
    let mut s = -steps;
    if AT_ONCE == 2 {
        while s < steps {
            take(s);
            take(s + 1);
            s += 2;
        }
    }
    while s <= steps {
        take(s);
        s += 1;
    }
}

/// The samples that one thread takes, first and end: all of its ray, or a part of them when the grid
/// has several rows.
#[inline(always)]
pub fn span_of(steps: i32) -> (i32, i32) {
    let (samples, rows) = (2 * steps + 1, grid_size_y());
    unsafe { core::hint::assert_unchecked(rows > 0) }; // or the division would check
    let each = ((samples as u32 + rows - 1) / rows) as i32;
    let first = block_y() as i32 * each - steps;
    (first, (first + each).min(steps + 1))
}

impl Sample {
    #[inline(always)]
    pub fn block(&self) -> (i32, i32, i32) {
        (self.x >> 3, self.y >> 3, self.z >> 3)
    }

    /// Index of the voxel within its block: x runs fastest.
    #[inline(always)]
    pub fn voxel_in_block(&self) -> i32 {
        (self.x & 7) | (self.y & 7) << 3 | (self.z & 7) << 6
    }
}

// ---- the table ----

#[inline(always)]
pub fn block_key((x, y, z): (i32, i32, i32)) -> i64 {
    const BIAS: i64 = 1 << 20;
    (x as i64 + BIAS) << 42 | (y as i64 + BIAS) << 21 | (z as i64 + BIAS)
}

#[inline(always)]
fn block_hash((x, y, z): (i32, i32, i32)) -> u32 {
    (x as u32).wrapping_mul(73856093)
        ^ (y as u32).wrapping_mul(19349663)
        ^ (z as u32).wrapping_mul(83492791)
}

/// The volume's bookkeeping, as an insert needs it.
#[derive(Clone, Copy)]
pub struct Pool {
    pub table: *mut Entry,
    pub mask: u32, // table size - 1
    pub coord: *mut i32,
    pub block_count: *mut i32,
    pub drop_count: *mut u64,
    pub capacity: i32,
}

/// A whole entry in one 16-byte load, possibly from a stale L1 line: what it shows as set is final.
/// The block is the lower half of the second word.
#[inline(always)]
unsafe fn load_entry(at: *const Entry) -> (i64, u64) {
    let (key, rest) = unsafe { load_u64x2(at as *const u64) };
    (key as i64, rest)
}

#[inline(always)]
unsafe fn wait_for_block(at: *const i32) -> i32 {
    loop {
        let block = unsafe { load_relaxed_i32(at) };
        if block != PENDING {
            return block;
        }
    }
}

/// The winner of an empty entry gives it a block: published after coord, as the published algorithm
/// has it, or `early`, for only later kernels read coord.
#[inline(always)]
unsafe fn publish<const EARLY: bool>(
    pool: &Pool,
    entry: *mut Entry,
    (x, y, z): (i32, i32, i32),
) -> i32 {
    unsafe {
        let place = atomic_add_i32(pool.block_count, 1);
        let block = if place < pool.capacity { place } else { DROPPED };
        if EARLY {
            store_relaxed_i32(&raw mut (*entry).block, block);
        }
        if block != DROPPED {
            let at = pool.coord.add(3 * block as usize);
            *at = x;
            *at.add(1) = y;
            *at.add(2) = z;
        } else {
            add_u64(pool.drop_count, 1);
        }
        if !EARLY {
            store_release_i32(&raw mut (*entry).block, block);
        }
        block
    }
}

/// The block of these block coordinates, whose key is `key`, inserted when it is new; DROPPED when it
/// got none.
#[inline(always)]
pub unsafe fn find_or_insert<const EARLY: bool>(
    pool: &Pool,
    key: i64,
    at: (i32, i32, i32),
) -> i32 {
    unsafe { insert_from::<EARLY>(pool, first_slot(pool, at), key, at) }
}

/// Where the probe chain of block coordinates starts.
#[inline(always)]
pub fn first_slot(pool: &Pool, at: (i32, i32, i32)) -> u32 {
    block_hash(at) & pool.mask
}

/// Walks along a probe chain to a key or to an entry that looks empty: whether it is the key, and
/// where that is.
#[inline(always)]
pub unsafe fn walk_to(pool: &Pool, key: i64, mut slot: u32) -> (bool, u32) {
    unsafe {
        let mut seen = (*pool.table.add(slot as usize)).key;
        let (mut found, mut left) = (seen == key, pool.mask);
        while !found & (seen != EMPTY) & (left > 0) {
            slot = (slot + 1) & pool.mask;
            seen = (*pool.table.add(slot as usize)).key;
            found = seen == key;
            left -= 1;
        }
        (found, slot)
    }
}

/// find_or_insert from a slot on. As in tsdf.cuh the inner loop has one exit, where lanes meet again.
#[inline(always)]
pub unsafe fn insert_from<const EARLY: bool>(
    pool: &Pool,
    mut slot: u32,
    key: i64,
    at: (i32, i32, i32),
) -> i32 {
    let mut left = pool.mask.wrapping_add(1); // entries not yet looked at
    unsafe {
        while left > 0 {
            let (mut seen, mut rest) = load_entry(pool.table.add(slot as usize));
            left -= 1;
            while (seen != key) & (seen != EMPTY) & (left > 0) {
                slot = (slot + 1) & pool.mask;
                (seen, rest) = load_entry(pool.table.add(slot as usize));
                left -= 1;
            }
            let entry = pool.table.add(slot as usize);
            let word = &raw mut (*entry).key as *mut u64;
            if seen == key {
                let block = rest as i32;
                return if block != PENDING { block } else { wait_for_block(&raw const (*entry).block) };
            }
            if seen != EMPTY {
                break;
            }
            let old = compare_and_swap_u64(word, EMPTY as u64, key as u64) as i64;
            if old == EMPTY {
                return publish::<EARLY>(pool, entry, at);
            }
            if old == key {
                return wait_for_block(&raw const (*entry).block);
            }
            slot = (slot + 1) & pool.mask;
        }
    }
    DROPPED
}

/// The same for a table that nobody writes.
#[inline(always)]
pub unsafe fn find(table: *const Entry, mask: u32, key: i64, at: (i32, i32, i32)) -> i32 {
    let mut slot = block_hash(at) & mask;
    let mut left = mask; // entries not yet seen, but for this one
    let load = |slot: u32| unsafe { load_constant_u64x2(table.add(slot as usize) as *const u64) };
    let (mut seen, mut block) = load(slot);
    while (seen != key as u64) & (seen != EMPTY as u64) & (left > 0) {
        slot = (slot + 1) & mask;
        (seen, block) = load(slot);
        left -= 1;
    }
    if seen == key as u64 { block as i32 } else { DROPPED }
}

// ---- the voxels ----

#[derive(Clone, Copy)]
pub struct Voxels {
    pub tsdf: *mut f32,
    pub weight: *mut f32,
    pub r: *mut f32,
    pub g: *mut f32,
    pub b: *mut f32,
}

/// What a point adds to each voxel that its ray meets.
#[derive(Clone, Copy)]
pub struct Observation {
    pub weight: f32,
    pub r: f32,
    pub g: f32,
    pub b: f32,
}

#[inline(always)]
pub unsafe fn observation_of(weight: *const f32, color: *const u8, i: u32) -> Observation {
    unsafe {
        let (w, at) = (*weight.add(i as usize), color.add(3 * i as usize));
        Observation {
            weight: w,
            r: *at as f32 * w,
            g: *at.add(1) as f32 * w,
            b: *at.add(2) as f32 * w,
        }
    }
}

#[inline(always)]
pub fn voxel_index(block: i32, sample: &Sample) -> usize {
    (block as i64 * 512) as usize + sample.voxel_in_block() as usize
}

#[inline(always)]
pub fn clamped(sdf: f32, inv_trunc: f32) -> f32 {
    min(max(sdf * inv_trunc, -1.0), 1.0)
}

impl Voxels {
    /// weight_cap > 0: a voxel whose weight is seen at the cap or above takes no more.
    #[inline(always)]
    pub unsafe fn is_full(&self, at: usize, weight_cap: f32) -> bool {
        weight_cap > 0.0 && unsafe { load_relaxed_f32(self.weight.add(at)) } >= weight_cap
    }

    #[inline(always)]
    pub unsafe fn add(&self, at: usize, tsdf: f32, seen: &Observation) {
        unsafe {
            add_f32(self.tsdf.add(at), tsdf);
            add_f32(self.weight.add(at), seen.weight);
            add_f32(self.r.add(at), seen.r);
            add_f32(self.g.add(at), seen.g);
            add_f32(self.b.add(at), seen.b);
        }
    }

    #[inline(always)]
    pub unsafe fn add_sample(
        &self,
        block: i32,
        sample: &Sample,
        seen: &Observation,
        inv_trunc: f32,
        weight_cap: f32,
    ) {
        let at = voxel_index(block, sample);
        unsafe {
            if !self.is_full(at, weight_cap) {
                self.add(at, clamped(sample.sdf, inv_trunc) * seen.weight, seen);
            }
        }
    }
}
