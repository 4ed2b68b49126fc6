//! Looks up 64-bit keys in a hash table (task hash/find) in Rust, the sectors of several queries
//! in flight a thread: see find_flight.cu.
#![no_std]
#![feature(abi_ptx)]
#![allow(clippy::missing_safety_doc)]

#[macro_use]
mod hash;

use gpu::*;
use hash::*;

/// What one sector says: the slot, or NONE when the key is not in the table; and whether that is
/// all, or the next sector has to be asked.
#[derive(Clone, Copy)]
struct Answer {
    slot: u32,
    done: bool,
}

#[inline(always)]
fn slot_in(bucket: u32, hit: u32) -> u32 {
    if hit != 0 { bucket + hit.trailing_zeros() } else { NONE }
}

/// How a sector is read, and where a search starts.
trait Search {
    fn start(query: u64, slots: u32) -> u32;
    fn look(sector: &Sector, bucket: u32, from: u32, query: u64) -> Answer;
}

/// Slots before `from` do not count, and whatever comes first decides.
impl Search for Linear {
    #[inline(always)]
    fn start(query: u64, slots: u32) -> u32 {
        Linear::first_slot(first_hash(query), slots)
    }

    #[inline(always)]
    fn look(sector: &Sector, bucket: u32, from: u32, query: u64) -> Answer {
        let empty = sector.equal(EMPTY) >> from << from;
        let hit = sector.equal(query) >> from << from;
        let first = (hit | empty) & (hit | empty).wrapping_neg();
        Answer { slot: slot_in(bucket, hit & first), done: first != 0 }
    }
}

impl Search for Bucket {
    #[inline(always)]
    fn start(query: u64, slots: u32) -> u32 {
        bucket_of(first_hash(query), slots)
    }

    #[inline(always)]
    fn look(sector: &Sector, bucket: u32, _from: u32, query: u64) -> Answer {
        let hit = sector.equal(query);
        Answer { slot: slot_in(bucket, hit), done: hit | sector.equal(EMPTY) != 0 }
    }
}

/// The queries of a thread, the last one again behind the end.
#[inline(always)]
unsafe fn queries_of(queries: *const u64, n: i32) -> [u64; EACH] {
    each!(4, k => unsafe {
        load_streaming_u64(queries.add(index_of(k).min(n as u32 - 1) as usize))
    })
}

#[inline(always)]
unsafe fn answer(at: *mut u32, k: usize, n: i32, slot: u32) {
    let i = index_of(k);
    if i < n as u32 {
        unsafe { store_streaming_u32(at.add(i as usize), slot) }
    }
}

#[inline(always)]
unsafe fn sector_of(table: *const u64, bucket: u32) -> Sector {
    unsafe { Sector::load(table.add(bucket as usize)) }
}

#[inline(always)]
unsafe fn find<S: Search>(
    table: *const u64, queries: *const u64, at: *mut u32, n: i32, slots: u32,
) {
    unsafe {
        let mine = queries_of(queries, n);
        let sectors = mine.map(|query| sector_of(table, S::start(query, slots) / UNIT * UNIT));
        each!(4, k => {
            let start = S::start(mine[k], slots);
            let mut bucket = start / UNIT * UNIT;
            let mut seen = S::look(&sectors[k], bucket, start % UNIT, mine[k]);
            while !seen.done {
                bucket = next_bucket(bucket, slots);
                seen = S::look(&sector_of(table, bucket), bucket, 0, mine[k]);
            }
            answer(at, k, n, seen.slot);
        });
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn find_linear(
    table: *const u64, queries: *const u64, at: *mut u32, n: i32, slots: u32,
) {
    unsafe { find::<Linear>(table, queries, at, n, slots) }
}

#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn find_bucket(
    table: *const u64, queries: *const u64, at: *mut u32, n: i32, slots: u32,
) {
    unsafe { find::<Bucket>(table, queries, at, n, slots) }
}

/// The second bucket only where the first does not have it: half of the keys that are there.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn find_cuckoo(
    table: *const u64, queries: *const u64, at: *mut u32, n: i32, slots: u32,
) {
    unsafe {
        let mine = queries_of(queries, n);
        let mut sectors = mine.map(|query| sector_of(table, bucket_of(first_hash(query), slots)));
        let mut slot = [NONE; EACH];
        each!(4, k => {
            let bucket = bucket_of(first_hash(mine[k]), slots);
            slot[k] = slot_in(bucket, sectors[k].equal(mine[k]));
            if slot[k] == NONE {
                sectors[k] = sector_of(table, bucket_of(second_hash(mine[k]), slots));
            }
        });
        each!(4, k => {
            let bucket = bucket_of(second_hash(mine[k]), slots);
            if slot[k] == NONE {
                slot[k] = slot_in(bucket, sectors[k].equal(mine[k]));
            }
            answer(at, k, n, slot[k]);
        });
    }
}
