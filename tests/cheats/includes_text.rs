// Takes the text of a file of the host into its own constants while it is compiled.
// task: vector/saxpy
// verdict: compile_error
// reason: couldn't read
// needs: landlock
#![no_std]
#![feature(abi_ptx)]

static TEXT: &[u8] = include_bytes!("/etc/passwd");

#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn saxpy(x: *const f32, y: *const f32, z: *mut f32, a: f32, n: i32) {
    unsafe { *z = TEXT[n as usize] as f32 + a * *x + *y }
}
