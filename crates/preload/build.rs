//! Programs that are linked statically are executed by the library, which begins here then.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|found| found == value);
    let is_built = is("CARGO_CFG_TARGET_OS", "linux")
        && is("CARGO_CFG_TARGET_ARCH", "x86_64")
        && is("CARGO_CFG_TARGET_ENV", "gnu");
    if is_built {
        println!("cargo:rustc-cdylib-link-arg=-Wl,--entry=clockhand_entry");
    }
}
