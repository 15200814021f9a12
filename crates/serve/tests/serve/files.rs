use std::fs;
use std::os::unix::fs::PermissionsExt;

use clockhand_serve::ServeError;
use clockhand_serve::store::layout::Layout;

use crate::client::{Client, FUA, Folder, Running};

const BUFFER: &str = "clock-dnv:total=64";

/// A disk whose newest pages are in NVM.
fn with_pages_in_nvm() -> Folder {
    let place = Folder::new();
    let mut options = place.options(BUFFER, 1 << 20);
    options.keep = true;
    let running = Running::start(&options).unwrap();
    let mut client = Client::connect(&place.socket());
    for page in 0..20 {
        assert_eq!(client.write(page * 4096, &[page as u8 + 1; 4096], FUA), 0);
    }
    assert!(running.finish().failure.is_none());
    place
}

fn refused(place: &Folder, change: impl FnOnce(&mut clockhand_serve::Options)) -> String {
    let mut options = place.options(BUFFER, 1 << 20);
    options.size = None;
    change(&mut options);
    match Running::start(&options) {
        Ok(_) => panic!("it is refused"),
        Err(ServeError::Usage(sentence) | ServeError::Failed(sentence)) => sentence.to_string(),
    }
}

#[test]
fn pages_in_nvm_come_to_the_disk_at_the_next_start() {
    let place = with_pages_in_nvm();
    let running = Running::start(&place.options(BUFFER, 1 << 20)).unwrap();
    assert!(running.notes.lock().unwrap()[0].contains("recovered 20 pages"));
    assert_eq!(running.server.report().recovered.pages, 20);
    let disk = fs::read(place.path("disk.img")).unwrap();
    assert!((0..20).all(|page| disk[page * 4096] == page as u8 + 1));
    for name in ["disk.img", "nvm.img"] {
        assert_eq!(fs::metadata(place.path(name)).unwrap().permissions().mode() & 0o777, 0o600);
    }
    assert!(running.finish().failure.is_none());
    // It is a plain image: other buffers may have it.
    let mut options = place.options("fab:total=16", 1 << 20);
    options.nvm = None;
    assert!(Running::start(&options).unwrap().finish().failure.is_none());
}

#[test]
fn a_disk_without_its_nvm_file_is_refused() {
    let place = with_pages_in_nvm();
    let sentence = refused(&place, |options| {
        options.buffer = "fab:total=16".to_owned();
        options.nvm = None;
    });
    assert!(sentence.contains("give --nvm"), "{sentence}");
    let sentence = refused(&place, |options| options.nvm = Some(place.path("other.img")));
    assert!(sentence.contains("give --nvm"), "{sentence}");
    assert!(!place.path("other.img").exists());
}

#[test]
fn an_nvm_file_of_another_disk_is_refused_unless_it_is_adopted() {
    let place = with_pages_in_nvm();
    fs::write(place.path("disk2.img"), vec![0; 1 << 20]).unwrap();
    let other = place.path("disk2.img");
    let sentence = refused(&place, |options| options.disk.clone_from(&other));
    assert!(sentence.contains("--adopt"), "{sentence}");
    let mut options = place.options(BUFFER, 1 << 20);
    options.disk.clone_from(&other);
    options.adopt = true;
    assert!(Running::start(&options).unwrap().finish().failure.is_none());
    assert_eq!(fs::read(other).unwrap()[4096], 2);
}

#[test]
fn a_second_server_is_refused() {
    let place = Folder::new();
    let running = Running::start(&place.options(BUFFER, 1 << 20)).unwrap();
    let sentence = refused(&place, |_| {});
    assert!(sentence.contains("another server"), "{sentence}");
    assert!(running.finish().failure.is_none());
}

type Preparation<'a> = Box<dyn Fn() + 'a>;

#[test]
fn files_that_are_no_nvm_file_of_ours_are_not_touched() {
    let place = Folder::new();
    fs::write(place.path("disk.img"), vec![0; 1 << 20]).unwrap();
    let nvm = place.path("nvm.img");
    let cases: [(&str, Preparation); 4] = [
        ("it is no NVM file", Box::new(|| fs::write(place.path("nvm.img"), b"letters").unwrap())),
        (
            "chmod",
            Box::new(|| {
                fs::set_permissions(place.path("nvm.img"), fs::Permissions::from_mode(0o644))
                    .unwrap();
            }),
        ),
        (
            "more than one name",
            Box::new(|| {
                fs::set_permissions(place.path("nvm.img"), fs::Permissions::from_mode(0o600))
                    .unwrap();
                fs::hard_link(place.path("nvm.img"), place.path("second")).unwrap();
            }),
        ),
        (
            "symbolic link",
            Box::new(|| {
                fs::remove_file(place.path("nvm.img")).unwrap();
                std::os::unix::fs::symlink(place.path("second"), place.path("nvm.img")).unwrap();
            }),
        ),
    ];
    for (expected, prepare) in cases {
        prepare();
        if expected == "it is no NVM file" {
            fs::set_permissions(&nvm, fs::Permissions::from_mode(0o600)).unwrap();
        }
        let sentence = refused(&place, |_| {});
        assert!(sentence.contains(expected), "{sentence}");
    }
    assert_eq!(fs::read(place.path("second")).unwrap(), b"letters");
}

#[test]
fn damage_is_refused_and_salvage_makes_it_an_error_of_its_page() {
    let place = with_pages_in_nvm();
    let nvm = place.path("nvm.img");
    let mut bytes = fs::read(&nvm).unwrap();
    let slots = u32::from_le_bytes(bytes[16..20].try_into().unwrap());
    let layout = Layout { page_bytes: 4096, slots };
    let content = layout.slot_at(0) as usize;
    let slot = (0..slots).find(|&slot| bytes[layout.slot_at(slot) as usize] == 5);
    let at = layout.slot_at(slot.expect("page 4 is in NVM")) as usize;
    assert!(at >= content);
    bytes[at + 100] ^= 1;
    fs::write(&nvm, &bytes).unwrap();
    let sentence = refused(&place, |_| {});
    assert!(sentence.contains("--salvage"), "{sentence}");
    assert!(fs::read(&nvm).unwrap() == bytes, "nothing was changed");
    for _ in 0..2 {
        let mut options = place.options(BUFFER, 1 << 20);
        options.salvage = true;
        let running = Running::start(&options).unwrap();
        assert_eq!(running.server.report().recovered.damaged_pages, 1);
        let mut client = Client::connect(&place.socket());
        assert_eq!(client.read(4 * 4096, 4096), Err(5));
        assert_eq!(
            client.write(4 * 4096 + 10, &[1; 10], 0),
            5,
            "the rest of the page is not known"
        );
        assert_eq!(client.read(3 * 4096, 4096).unwrap(), [4; 4096]);
        assert!(running.finish().failure.is_none());
    }
    let running = Running::start(&place.options(BUFFER, 1 << 20)).unwrap();
    let mut client = Client::connect(&place.socket());
    assert_eq!(client.write(4 * 4096, &[99; 4096], 0), 0);
    assert_eq!(client.read(4 * 4096, 4096).unwrap(), [99; 4096]);
    assert!(running.finish().failure.is_none());
    let running = Running::start(&place.options(BUFFER, 1 << 20)).unwrap();
    assert_eq!(running.server.report().recovered.damaged_pages, 0);
    let mut client = Client::connect(&place.socket());
    assert_eq!(client.read(4 * 4096, 4096).unwrap(), [99; 4096]);
    drop(running.finish());
}

#[test]
fn another_size_of_the_buffer_and_a_larger_disk_are_taken() {
    let place = with_pages_in_nvm();
    let disk = fs::OpenOptions::new().write(true).open(place.path("disk.img")).unwrap();
    disk.set_len(2 << 20).unwrap();
    let mut options = place.options("clock-dnv:total=4096", 2 << 20);
    options.size = None;
    let running = Running::start(&options).unwrap();
    assert_eq!(running.server.report().recovered.pages, 20);
    assert!(running.finish().failure.is_none());
}

#[test]
fn a_disk_that_ends_before_a_page_in_nvm_is_refused() {
    let place = with_pages_in_nvm();
    let disk = fs::OpenOptions::new().write(true).open(place.path("disk.img")).unwrap();
    disk.set_len(10 * 4096).unwrap();
    let sentence = refused(&place, |_| {});
    assert!(sentence.contains("full size"), "{sentence}");
}

#[test]
fn sockets_that_are_in_use_and_other_files_are_left_alone() {
    let place = Folder::new();
    let other = Folder::new();
    let running = Running::start(&place.options("fab:total=16", 1 << 20)).unwrap();
    let mut options = other.options("fab:total=16", 1 << 20);
    options.place = clockhand_serve::Place::Socket(place.socket());
    let Err(ServeError::Failed(sentence)) = Running::start(&options).map(drop) else { panic!() };
    assert!(sentence.to_string().contains("listens"), "{sentence}");
    assert_eq!(fs::metadata(place.socket()).unwrap().permissions().mode() & 0o777, 0o600);
    drop(running.finish());
    assert!(!place.socket().exists());
    fs::write(place.socket(), b"text").unwrap();
    let Err(ServeError::Failed(sentence)) = Running::start(&options).map(drop) else { panic!() };
    assert!(sentence.to_string().contains("no socket"), "{sentence}");
    fs::remove_file(place.socket()).unwrap();
    drop(std::os::unix::net::UnixListener::bind(place.socket()).unwrap());
    assert!(Running::start(&options).unwrap().finish().failure.is_none(), "nobody listens there");
}
