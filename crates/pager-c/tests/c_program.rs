//! A C program against the library as it is built, shared and static.

use std::ffi::OsStr;
use std::mem::offset_of;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

#[path = "../src/structures.rs"]
mod structures;

use structures::{CountsForC, Settings};

#[derive(Clone, Copy, Debug)]
enum Linkage {
    Shared,
    Static,
}

/// Where the libraries are. Cargo builds for tests only what Rust could link.
fn libraries() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let test = std::env::current_exe().expect("the test's own path");
        let built = test.ancestors().nth(2).expect("TARGET/PROFILE above deps/TEST");
        let profile = match built.file_name().and_then(OsStr::to_str).expect("a profile's folder") {
            "debug" => "dev",
            other => other,
        };
        let mut build = Command::new(env!("CARGO"));
        build
            .args(["build", "--quiet", "--locked", "--package", "clockhand-pager-c"])
            .args(["--profile", profile, "--target-dir"])
            .arg(built.parent().expect("a profile's folder is in the target folder"))
            .current_dir(env!("CARGO_MANIFEST_DIR"));
        // With fewer features of other crates than the workspace has, the pager is compiled once more here:
        // optimized, that takes one core 40 s instead of 6 s. The profile is of tests only; others stay as they are.
        if profile == "quick" {
            build.args(["--config", "profile.quick.package.clockhand-pager.opt-level=0"]);
        }
        let build = build.status().expect("cargo starts");
        assert!(build.success(), "the library cannot be built");
        built.to_path_buf()
    })
}

/// The C program, compiled in `folder`; `None` where there is no C compiler.
fn compiled(folder: &Path, linkage: Linkage) -> Option<PathBuf> {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (program, libraries) = (folder.join("region"), libraries());
    let mut compiler = Command::new("cc");
    compiler.args(["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-pthread", "-I"]);
    compiler.arg(package.join("include")).arg(package.join("tests/region.c"));
    compiler.arg("-o").arg(&program);
    match linkage {
        Linkage::Shared => {
            compiler.arg("-L").arg(libraries).arg("-lclockhand_pager");
            compiler.arg(format!("-Wl,-rpath,{}", libraries.display()));
        }
        Linkage::Static => {
            compiler.arg(libraries.join("libclockhand_pager.a"));
            compiler.args(["-lgcc_s", "-lm", "-ldl"]);
        }
    }
    let output = match compiler.output() {
        Ok(output) => output,
        Err(error) => {
            eprintln!("SKIPPED: there is no C compiler `cc`: {error}");
            return None;
        }
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(program)
}

/// What the program prints.
fn run<A: AsRef<OsStr>>(program: &Path, arguments: impl IntoIterator<Item = A>) -> String {
    let output = Command::new(program).args(arguments).output().expect("it was compiled");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {errors}", output.status);
    String::from_utf8(output.stdout).expect("it prints text")
}

#[test]
fn the_header_and_the_library_have_the_same_structures() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let Some(program) = compiled(folder.path(), Linkage::Shared) else { return };
    let mut layout = vec!["layout".to_owned()];
    macro_rules! add {
        ($structure:ident as $name:literal: $($member:ident),* $(,)?) => {
            $(layout.push(format!(
                concat!($name, ".", stringify!($member), "={}"),
                offset_of!($structure, $member)
            ));)*
            layout.push(format!(concat!($name, "={}"), size_of::<$structure>()));
        };
    }
    add!(Settings as "clockhand_settings":
        struct_bytes, policy, swap_path, swap_limit_bytes, pages, frames, reserve, patience_ms);
    add!(CountsForC as "clockhand_counts":
        references, read_references, write_references, misses, read_misses, write_misses, minor_faults,
        write_protect_faults, clean_evictions, dirty_evictions, write_backs, pages_read, pages_zero_filled,
        pages_rescued, pages_written, pages_not_written, pages_copied_for_forks, discarded_pages,
        write_operations, write_errors, bytes_read, bytes_written, resident_pages, peak_resident_pages,
        footprint_pages, pages_read_ahead, pages_read_in_vain, zero_pages_not_written,
        read_operations, sensed_references);
    run(&program, layout);
}

#[test]
fn a_c_program_finds_what_it_wrote_and_what_was_counted() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let swap = folder.path().join("swap");
    let swap = swap.to_str().expect("temporary names are UTF-8");
    for linkage in [Linkage::Shared, Linkage::Static] {
        let Some(program) = compiled(folder.path(), linkage) else { return };
        let in_ram = run(&program, ["run", "craw:c=8", "32", "0"]);
        let in_file = run(&program, ["run", "cfclock", "40", "8", swap]);
        for printed in [in_ram, in_file] {
            match printed.strip_prefix("SKIPPED: ") {
                Some(_) => eprint!("{printed}"),
                None => assert!(printed.contains("discarded_pages 100\n"), "{printed}"),
            }
            println!("{linkage:?}\n{printed}");
        }
        assert!(!Path::new(swap).exists(), "the library removes the swap file that it created");
    }
}
