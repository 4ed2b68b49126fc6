// A Rust kernel without the core library (so that any rustc can build it):
//   RUSTC_BOOTSTRAP=1 rustc --target nvptx64-nvidia-cuda -C target-cpu=sm_80 -O -g --emit=asm \
//     tests/ptx/pick.rs -o tests/ptx/pick.ptx
#![feature(no_core, lang_items, intrinsics, abi_ptx, asm_experimental_arch, rustc_attrs)]
#![no_core]
#![crate_type = "lib"]
#![allow(internal_features)]

#[lang = "pointee_sized"]
trait PointeeSized {}
#[lang = "meta_sized"]
trait MetaSized: PointeeSized {}
#[lang = "sized"]
trait Sized: MetaSized {}
#[lang = "copy"]
trait Copy {}
impl Copy for i32 {}
impl Copy for bool {}
#[inline]
fn pick(a: i32) -> i32 {
    match a {
        0 => 17,
        1 => 4,
        2 => 99,
        3 => 123456,
        4 => 1000,
        _ => a,
    }
}

#[no_mangle]
pub unsafe extern "ptx-kernel" fn pick_all(x: *const i32, y: *mut i32, z: *mut i32) {
    let v = pick(*x);
    match v {
        4 => *y = 3,
        _ => *z = v,
    }
}
