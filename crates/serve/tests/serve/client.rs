//! A small NBD client, and a server on files of its own.

use std::io::{Read, Write};
use std::num::NonZeroU32;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use clockhand_serve::{Ended, Options, Place, Recorded, ServeError, Server};

pub const OPTION_MAGIC: &[u8] = b"IHAVEOPT";
pub const GO: u32 = 7;
pub const READ: u16 = 0;
pub const WRITE: u16 = 1;
pub const DISCONNECT: u16 = 2;
pub const FLUSH: u16 = 3;
pub const TRIM: u16 = 4;
pub const WRITE_ZEROES: u16 = 6;
pub const FUA: u16 = 1;

/// A folder for a disk, an NVM file and a socket.
pub struct Folder {
    pub folder: tempfile::TempDir,
}

impl Folder {
    pub fn new() -> Self {
        Folder { folder: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn options(&self, buffer: &str, size: u64) -> Options {
        let is_hybrid = buffer.starts_with("clock-dnv") || buffer.starts_with("cbm");
        Options {
            disk: self.path("disk.img"),
            size: Some(size),
            nvm: is_hybrid.then(|| self.path("nvm.img")),
            buffer: buffer.to_owned(),
            place: Place::Socket(self.path("disk.sock")),
            export: "disk".to_owned(),
            read_only: false,
            connections: NonZeroU32::new(8).unwrap(),
            allowed_users: Vec::new(),
            tls: None,
            direct: false,
            keep: false,
            adopt: false,
            salvage: false,
        }
    }

    pub fn socket(&self) -> PathBuf {
        self.path("disk.sock")
    }
}

/// A server, what it said, and what entered its buffer.
pub struct Running {
    pub server: Server,
    pub notes: Arc<Mutex<Vec<String>>>,
    pub recorded: Arc<Mutex<Vec<Recorded>>>,
}

impl Running {
    pub fn start(options: &Options) -> Result<Running, ServeError> {
        let notes = Arc::new(Mutex::new(Vec::new()));
        let recorded = Arc::new(Mutex::new(Vec::new()));
        let (told, events) = (Arc::clone(&notes), Arc::clone(&recorded));
        let recorder = Box::new(move |event| events.lock().unwrap().push(event));
        let teller = move |note: &str| told.lock().unwrap().push(note.to_owned());
        let server = Server::start(options, Some(recorder), Arc::new(teller))?;
        Ok(Running { server, notes, recorded })
    }

    pub fn finish(self) -> Ended {
        self.server.finish()
    }
}

pub struct Client {
    pub stream: UnixStream,
    cookie: u64,
}

impl Client {
    /// A client that has said nothing yet.
    pub fn raw(socket: &Path) -> Client {
        Client { stream: UnixStream::connect(socket).unwrap(), cookie: 0 }
    }

    /// A client behind the greeting.
    pub fn greeted(socket: &Path) -> Client {
        let mut stream = UnixStream::connect(socket).unwrap();
        let mut greeting = [0; 18];
        stream.read_exact(&mut greeting).unwrap();
        assert_eq!(&greeting, b"NBDMAGICIHAVEOPT\0\x03");
        stream.write_all(&3_u32.to_be_bytes()).unwrap();
        Client { stream, cookie: 0 }
    }

    /// A client that may send requests.
    pub fn connect(socket: &Path) -> Client {
        let mut client = Client::greeted(socket);
        let replies = client.option(GO, &[0, 0, 0, 0, 0, 0]);
        assert_eq!(replies.last().unwrap().0, 1, "{replies:?}");
        client
    }

    pub fn send_option(&mut self, option: u32, data: &[u8]) {
        let mut bytes = OPTION_MAGIC.to_vec();
        bytes.extend_from_slice(&option.to_be_bytes());
        bytes.extend_from_slice(&(data.len() as u32).to_be_bytes());
        bytes.extend_from_slice(data);
        self.stream.write_all(&bytes).unwrap();
    }

    /// The replies to an option, to the last one: kind and data.
    pub fn option(&mut self, option: u32, data: &[u8]) -> Vec<(u32, Vec<u8>)> {
        self.send_option(option, data);
        let mut replies = Vec::new();
        loop {
            let mut header = [0; 20];
            self.stream.read_exact(&mut header).unwrap();
            assert_eq!(&header[..8], &0x0003_e889_0455_65a9_u64.to_be_bytes());
            assert_eq!(&header[8..12], &option.to_be_bytes());
            let kind = u32::from_be_bytes(header[12..16].try_into().unwrap());
            let bytes = u32::from_be_bytes(header[16..].try_into().unwrap());
            let mut data = vec![0; bytes as usize];
            self.stream.read_exact(&mut data).unwrap();
            replies.push((kind, data));
            if kind == 1 || kind >= 1 << 31 {
                return replies;
            }
        }
    }

    pub fn send(&mut self, command: u16, flags: u16, at: u64, bytes: u32, payload: &[u8]) {
        self.cookie += 1;
        let mut request = 0x2560_9513_u32.to_be_bytes().to_vec();
        request.extend_from_slice(&flags.to_be_bytes());
        request.extend_from_slice(&command.to_be_bytes());
        request.extend_from_slice(&self.cookie.to_be_bytes());
        request.extend_from_slice(&at.to_be_bytes());
        request.extend_from_slice(&bytes.to_be_bytes());
        request.extend_from_slice(payload);
        self.stream.write_all(&request).unwrap();
    }

    /// The error of the next simple reply, and what it belongs to.
    pub fn receive(&mut self) -> (u32, u64) {
        let mut reply = [0; 16];
        self.stream.read_exact(&mut reply).unwrap();
        assert_eq!(&reply[..4], &0x6744_6698_u32.to_be_bytes());
        let errno = u32::from_be_bytes(reply[4..8].try_into().unwrap());
        (errno, u64::from_be_bytes(reply[8..].try_into().unwrap()))
    }

    /// A request without data in its answer; its error.
    pub fn request(&mut self, command: u16, flags: u16, at: u64, bytes: u32) -> u32 {
        self.send(command, flags, at, bytes, b"");
        let (errno, cookie) = self.receive();
        assert_eq!(cookie, self.cookie);
        errno
    }

    pub fn write(&mut self, at: u64, payload: &[u8], flags: u16) -> u32 {
        self.send(WRITE, flags, at, payload.len() as u32, payload);
        self.receive().0
    }

    pub fn read(&mut self, at: u64, bytes: u32) -> Result<Vec<u8>, u32> {
        match self.request(READ, 0, at, bytes) {
            0 => {
                let mut data = vec![0; bytes as usize];
                self.stream.read_exact(&mut data).unwrap();
                Ok(data)
            }
            errno => Err(errno),
        }
    }

    pub fn flush(&mut self) -> u32 {
        self.request(FLUSH, 0, 0, 0)
    }

    /// Returns whether the server has closed the connection.
    pub fn is_closed(&mut self) -> bool {
        self.stream.read(&mut [0]).is_ok_and(|bytes| bytes == 0)
    }
}
