//! Opens a listening socket.

use std::io;
use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpSocket};

/// So many connections may wait until they are accepted. The kernel may hold fewer
/// (`net.core.somaxconn`).
const BACKLOG: u32 = 1024;

/// How much of an answer the kernel takes before the client reads it. By itself it would take megabytes for
/// each connection, which nobody counts. It is enough for 5 MB a second around the world.
const SEND_BUFFER: u32 = 256 << 10;

/// Listens on an address, also right after another process has.
pub fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    socket.set_reuseaddr(true)?;
    // Linux gives it to each connection that is accepted.
    socket.set_send_buffer_size(SEND_BUFFER)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}
