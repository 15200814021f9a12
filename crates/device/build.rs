//! Rebuilds the crate when a profile is added or removed: the compiler by itself watches only the
//! files that it embedded last time.

fn main() {
    println!("cargo::rerun-if-changed=profiles");
    println!("cargo::rerun-if-changed=ssd-profiles");
    println!("cargo::rerun-if-changed=tier-profiles");
}
