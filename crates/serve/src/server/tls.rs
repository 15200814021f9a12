//! TLS: a thread for each connection decrypts what comes and encrypts what goes, and the rest of the server sees a
//! plain socket.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection};

use crate::ServeError;

const BUFFER_BYTES: usize = 64 << 10;

/// The files of TLS.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// The server's certificate, with those above it.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
    /// The authority whose certificates clients must have.
    pub clients: Option<PathBuf>,
}

/// What is needed to accept TLS.
#[derive(Clone)]
pub(super) struct Tls(Arc<ServerConfig>);

fn bad(path: &Path, error: &dyn std::fmt::Display) -> ServeError {
    ServeError::failed(format!("{}: {error}", path.display()), "give a PEM file")
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, ServeError> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    match read {
        Ok(list) if list.is_empty() => Err(bad(path, &"it has no certificate")),
        read => read.map_err(|error| bad(path, &error)),
    }
}

impl Tls {
    pub(super) fn new(files: &TlsFiles) -> Result<Self, ServeError> {
        let chain = certificates(&files.certificate)?;
        let key =
            PrivateKeyDer::from_pem_file(&files.key).map_err(|error| bad(&files.key, &error))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let failed = |error: rustls::Error| ServeError::Failed(format!("TLS: {error}").into());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(failed)?;
        let builder = match &files.clients {
            None => builder.with_no_client_auth(),
            Some(path) => {
                let mut roots = RootCertStore::empty();
                for certificate in certificates(path)? {
                    roots.add(certificate).map_err(|error| bad(path, &error))?;
                }
                let verifier =
                    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
                        .build()
                        .map_err(|error| bad(path, &error))?;
                builder.with_client_cert_verifier(verifier)
            }
        };
        let config =
            builder.with_single_cert(chain, key).map_err(|error| bad(&files.key, &error))?;
        Ok(Tls(Arc::new(config)))
    }

    /// Shakes hands before `deadline`; the plain socket.
    pub(super) fn accept(&self, socket: UnixStream, deadline: Instant) -> io::Result<UnixStream> {
        let mut connection =
            ServerConnection::new(Arc::clone(&self.0)).map_err(io::Error::other)?;
        let mut socket = socket;
        while connection.is_handshaking() {
            let rest = deadline.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            socket.set_read_timeout(Some(rest))?;
            let (read, written) = connection.complete_io(&mut socket)?;
            if read + written == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        let (outer, inner) = UnixStream::pair()?;
        std::thread::Builder::new().name("serve-tls".to_owned()).spawn(move || {
            let _ = pump(connection, &socket, &inner);
            let _ = socket.shutdown(Shutdown::Both);
            let _ = inner.shutdown(Shutdown::Both);
        })?;
        Ok(outer)
    }
}

fn would_block(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

/// Passes bytes on in both directions until one side ends.
fn pump(
    mut tls: ServerConnection,
    mut socket: &UnixStream,
    mut inner: &UnixStream,
) -> io::Result<()> {
    socket.set_nonblocking(true)?;
    inner.set_nonblocking(true)?;
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut decrypted: Vec<u8> = Vec::new();
    loop {
        let reads = decrypted.is_empty();
        let mut outside = if reads { PollFlags::IN } else { PollFlags::empty() };
        let mut inside = if reads { PollFlags::empty() } else { PollFlags::OUT };
        match tls.wants_write() {
            true => outside |= PollFlags::OUT,
            false => inside |= PollFlags::IN,
        }
        let mut polled = [PollFd::new(socket, outside), PollFd::new(inner, inside)];
        poll(&mut polled, None::<&Timespec>)?;
        if tls.wants_write() {
            match tls.write_tls(&mut socket) {
                Err(error) if !would_block(&error) => return Err(error),
                _ => {}
            }
        } else {
            match inner.read(&mut buffer) {
                Ok(0) => {
                    tls.send_close_notify();
                    socket.set_nonblocking(false)?;
                    while tls.wants_write() {
                        tls.write_tls(&mut socket)?;
                    }
                    return Ok(());
                }
                Ok(bytes) => tls.writer().write_all(&buffer[..bytes])?,
                Err(error) if would_block(&error) => {}
                Err(error) => return Err(error),
            }
        }
        if decrypted.is_empty() {
            match tls.read_tls(&mut socket) {
                Ok(0) => return Ok(()),
                Ok(_) => {
                    let state = tls.process_new_packets().map_err(io::Error::other)?;
                    decrypted.resize(state.plaintext_bytes_to_read(), 0);
                    tls.reader().read_exact(&mut decrypted)?;
                }
                Err(error) if would_block(&error) => {}
                Err(error) => return Err(error),
            }
        }
        if !decrypted.is_empty() {
            match inner.write(&decrypted) {
                Ok(written) => drop(decrypted.drain(..written)),
                Err(error) if would_block(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }
}
