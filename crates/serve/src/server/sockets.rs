//! Where clients connect, and who may.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use clockhand_quantity::{Text, option};
use rustix::fs::{Mode, fchmod};
use rustix::net::sockopt::{set_tcp_nodelay, socket_domain, socket_peercred};
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, listen, socket_with,
};

use crate::ServeError;

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A Unix socket.
    Socket(PathBuf),
    /// A TCP address.
    Address(String),
    /// A socket that was inherited, by its number.
    Inherited(i32),
}

/// A socket that accepts clients.
pub(crate) struct Listener {
    pub(crate) fd: OwnedFd,
    /// The socket's path, to be removed at the end.
    path: Option<PathBuf>,
    address: Option<SocketAddr>,
    /// The users who may connect beside this one and root, if the kernel says who connects.
    users: Vec<u32>,
    is_unix: bool,
}

impl Listener {
    pub(crate) fn new(place: &Place, users: &[u32], has_tls: bool) -> Result<Self, ServeError> {
        match place {
            Place::Socket(path) => Self::unix(path, users),
            Place::Address(address) => Self::tcp(address, has_tls),
            Place::Inherited(number) => Self::inherited(*number, users),
        }
    }

    fn unix(path: &Path, users: &[u32]) -> Result<Self, ServeError> {
        let failed = |what: &str, error: &dyn std::fmt::Display| {
            ServeError::Failed(format!("{}: {what}: {error}", path.display()).into())
        };
        make_way(path)?;
        let open = || -> io::Result<OwnedFd> {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
            // The name gets the socket's mode, less the umask: so no other user can connect, from the first moment.
            fchmod(&socket, Mode::from_raw_mode(0o600))?;
            bind(&socket, &SocketAddrUnix::new(path)?)?;
            if !users.is_empty() {
                rustix::fs::chmod(path, Mode::from_raw_mode(0o666))?;
            }
            listen(&socket, 64)?;
            Ok(socket)
        };
        let fd = open().map_err(|error| failed("the socket cannot be made", &error))?;
        let path = Some(path.to_owned());
        Ok(Listener { fd, path, address: None, users: users.to_vec(), is_unix: true })
    }

    fn tcp(text: &str, has_tls: bool) -> Result<Self, ServeError> {
        let address: SocketAddr = text.parse().map_err(|_| {
            ServeError::usage(
                option("listen") + format!(" {text} is no address and port"),
                "give one, such as 127.0.0.1:10809 or [::1]:10809",
            )
        })?;
        if !has_tls && !is_loopback(address.ip()) {
            return Err(ServeError::usage(
                option("listen") + format!(" {text} can be reached from other machines"),
                Text::from("add ")
                    + option("tls-certificate")
                    + " and "
                    + option("tls-key")
                    + ", or listen on 127.0.0.1",
            ));
        }
        let open = || -> io::Result<(OwnedFd, SocketAddr)> {
            let listener = TcpListener::bind(address)?;
            listener.set_nonblocking(true)?;
            let address = listener.local_addr()?;
            Ok((listener.into(), address))
        };
        let (fd, address) = open().map_err(|error| {
            ServeError::Failed((option("listen") + format!(" {text}: {error}")).into())
        })?;
        Ok(Listener { fd, path: None, address: Some(address), users: Vec::new(), is_unix: false })
    }

    fn inherited(number: i32, users: &[u32]) -> Result<Self, ServeError> {
        // SAFETY: the parent process says that the number is a socket for this one, and nothing else here uses it.
        let fd = unsafe { OwnedFd::from_raw_fd(number) };
        let domain = socket_domain(&fd).map_err(|error| {
            ServeError::Failed(format!("LISTEN_FDS: number {number} is no socket: {error}").into())
        })?;
        rustix::io::ioctl_fionbio(&fd, true)
            .map_err(|error| ServeError::Failed(format!("LISTEN_FDS: {error}").into()))?;
        let is_unix = domain == AddressFamily::UNIX;
        Ok(Listener { fd, path: None, address: None, users: users.to_vec(), is_unix })
    }

    /// How clients name it.
    pub(crate) fn uri(&self, export: &str, has_tls: bool) -> String {
        let export = percent_encoded(export);
        let s = if has_tls { "s" } else { "" };
        match (&self.path, self.address) {
            (Some(path), _) => {
                let path = percent_encoded(&path.display().to_string());
                format!("nbd{s}+unix:///{export}?socket={path}")
            }
            (None, Some(address)) => format!("nbd{s}://{address}/{export}"),
            (None, None) => format!("an inherited socket (number {})", self.fd.as_raw_fd()),
        }
    }

    /// A client, if one is waiting and may connect.
    pub(crate) fn accept(&self) -> io::Result<Option<UnixStream>> {
        let fd = accept_with(&self.fd, SocketFlags::CLOEXEC)?;
        if self.is_unix {
            let user = socket_peercred(&fd)?.uid.as_raw();
            let own = rustix::process::geteuid().as_raw();
            if user != own && user != 0 && !self.users.contains(&user) {
                return Ok(None);
            }
        } else {
            set_tcp_nodelay(&fd, true)?;
        }
        // Reads, writes, timeouts and shutdown are the same for every stream socket.
        Ok(Some(UnixStream::from(fd)))
    }

    pub(crate) fn is_tcp(&self) -> bool {
        self.address.is_some()
    }

    /// Its name goes.
    pub(crate) fn remove(&self) {
        if let Some(path) = &self.path {
            let _ = std::fs::remove_file(path);
        }
        let _ = rustix::net::shutdown(self.fd.as_fd(), rustix::net::Shutdown::Both);
    }
}

fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

/// Removes a socket without a listener; a live one, or another file, is refused.
fn make_way(path: &Path) -> Result<(), ServeError> {
    let Ok(metadata) = std::fs::symlink_metadata(path) else { return Ok(()) };
    let refused = |problem: &str, remedy: Text| {
        Err(ServeError::failed(format!("{}: {problem}", path.display()), remedy))
    };
    if !metadata.file_type().is_socket() {
        return refused(
            "it exists and is no socket",
            Text::from("give another ") + option("socket"),
        );
    }
    match UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            std::fs::remove_file(path).or_else(|error| refused(&error.to_string(), Text::default()))
        }
        _ => refused(
            "another program listens on it",
            Text::from("end it, or give another ") + option("socket"),
        ),
    }
}

fn percent_encoded(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    text.bytes()
        .map(|byte| match is_plain(byte) {
            true => (byte as char).to_string(),
            false => format!("%{byte:02X}"),
        })
        .collect()
}
