//! Datagrams over UDP.

use core::time::Duration;
use std::io;

use gosched_primitives::Direction;

use super::addr::{each_addr, resolve};
use super::socket::Socket;
use super::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};

/// A UDP socket, as `std::net::UdpSocket`. Dropping it closes it.
///
/// ```
/// use gosched::net::UdpSocket;
/// use std::io;
///
/// gosched::run(|| -> io::Result<()> {
///     let (a, b) = (UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?);
///     let address = b.local_addr()?;
///     let receiving = gosched::go(move || -> io::Result<_> {
///         let mut bytes = [0; 16];
///         let (n, from) = b.recv_from(&mut bytes)?;
///         Ok((bytes[..n].to_vec(), from))
///     });
///     a.send_to(b"hello", address)?;
///     assert_eq!(receiving.join().unwrap()?, (b"hello".to_vec(), a.local_addr()?));
///     Ok(())
/// })?;
/// # Ok::<(), io::Error>(())
/// ```
pub struct UdpSocket(pub(super) Socket<std::net::UdpSocket>);

impl UdpSocket {
    /// Binds to `addr`; port 0 stands for any free port. A moving call, since a name may have to be
    /// resolved.
    ///
    /// ```
    /// # use gosched::net::UdpSocket;
    /// let socket = UdpSocket::bind("127.0.0.1:0")?;
    /// assert_ne!(socket.local_addr()?.port(), 0);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn bind<A: ToSocketAddrs>(addr: A) -> io::Result<UdpSocket> {
        each_addr(addr, |addr| Socket::new(std::net::UdpSocket::bind(addr)?)).map(UdpSocket)
    }

    /// Receives a datagram; returns its length and its sender. What does not fit into `buf` is
    /// lost. A moving call.
    ///
    /// ```
    /// # use gosched::net::UdpSocket;
    /// let (a, b) = (UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?);
    /// a.send_to(b"x", b.local_addr()?)?;
    /// assert_eq!(b.recv_from(&mut [0; 8])?, (1, a.local_addr()?));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn recv_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.0.run(Direction::Read, |socket| socket.recv_from(buf))
    }

    /// As [`recv_from`](UdpSocket::recv_from), but the datagram stays there for the next call. A
    /// moving call.
    ///
    /// ```
    /// # use gosched::net::UdpSocket;
    /// let (a, b) = (UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?);
    /// a.send_to(b"x", b.local_addr()?)?;
    /// assert_eq!(b.peek_from(&mut [0; 8])?, (1, a.local_addr()?));
    /// assert_eq!(b.recv_from(&mut [0; 8])?, (1, a.local_addr()?));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn peek_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.0.run(Direction::Read, |socket| socket.peek_from(buf))
    }

    /// Sends a datagram to `addr`, or the first of its addresses. A moving call.
    ///
    /// ```
    /// # use gosched::net::UdpSocket;
    /// let (a, b) = (UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?);
    /// assert_eq!(a.send_to(b"abc", b.local_addr()?)?, 3);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn send_to<A: ToSocketAddrs>(&self, buf: &[u8], addr: A) -> io::Result<usize> {
        let Some(addr) = resolve(addr)?.next() else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "no addresses to send data to"));
        };
        self.0.run(Direction::Write, |socket| socket.send_to(buf, addr))
    }

    /// The address it is connected to. Never moves.
    ///
    /// ```
    /// # use gosched::net::UdpSocket;
    /// let (a, b) = (UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?);
    /// a.connect(b.local_addr()?)?;
    /// b.connect(a.local_addr()?)?;
    /// assert_eq!(a.peer_addr()?, b.local_addr()?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.0.std().peer_addr()
    }

    /// The address it is bound to. Never moves.
    ///
    /// ```
    /// # use gosched::net::UdpSocket;
    /// let socket = UdpSocket::bind("127.0.0.1:0")?;
    /// assert!(socket.local_addr()?.ip().is_loopback());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.std().local_addr()
    }

    /// Another handle to the same socket. Time-outs and other settings are shared. Never moves.
    ///
    /// ```
    /// # use gosched::net::UdpSocket;
    /// let socket = UdpSocket::bind("127.0.0.1:0")?;
    /// assert_eq!(socket.try_clone()?.local_addr()?, socket.local_addr()?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn try_clone(&self) -> io::Result<UdpSocket> {
        self.0.try_clone().map(UdpSocket)
    }

    /// Sets how long a receive may wait; `None` is no limit. When the time is up, it fails with
    /// [`WouldBlock`](io::ErrorKind::WouldBlock), as in std on this platform. Never moves.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) for a time of zero.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use gosched::net::UdpSocket;
    /// let socket = UdpSocket::bind("127.0.0.1:0")?;
    /// socket.set_read_timeout(Some(Duration::from_secs(1)))?;
    /// assert_eq!(socket.read_timeout()?, Some(Duration::from_secs(1)));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.0.set_timeout(Direction::Read, timeout)
    }

    /// As [`set_read_timeout`](UdpSocket::set_read_timeout), for sending. Never moves.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use gosched::net::UdpSocket;
    /// let socket = UdpSocket::bind("127.0.0.1:0")?;
    /// socket.set_write_timeout(Some(Duration::from_secs(1)))?;
    /// assert_eq!(socket.write_timeout()?, Some(Duration::from_secs(1)));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.0.set_timeout(Direction::Write, timeout)
    }

    /// What [`set_read_timeout`](UdpSocket::set_read_timeout) has set. Never moves.
    ///
    /// ```
    /// # use gosched::net::UdpSocket;
    /// let socket = UdpSocket::bind("127.0.0.1:0")?;
    /// assert_eq!(socket.read_timeout()?, None);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn read_timeout(&self) -> io::Result<Option<Duration>> {
        Ok(self.0.timeout(Direction::Read))
    }

    /// What [`set_write_timeout`](UdpSocket::set_write_timeout) has set. Never moves.
    ///
    /// ```
    /// # use gosched::net::UdpSocket;
    /// let socket = UdpSocket::bind("127.0.0.1:0")?;
    /// assert_eq!(socket.write_timeout()?, None);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn write_timeout(&self) -> io::Result<Option<Duration>> {
        Ok(self.0.timeout(Direction::Write))
    }

    /// Sets whether it may send to broadcast addresses (`SO_BROADCAST`). Never moves.
    ///
    /// ```
    /// # use gosched::net::UdpSocket;
    /// let socket = UdpSocket::bind("127.0.0.1:0")?;
    /// socket.set_broadcast(true)?;
    /// assert_eq!(socket.broadcast()?, true);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_broadcast(&self, broadcast: bool) -> io::Result<()> {
        self.0.std().set_broadcast(broadcast)
    }

    /// What [`set_broadcast`](UdpSocket::set_broadcast) has set. Never moves.
    ///
    /// ```
    /// # use gosched::net::UdpSocket;
    /// let socket = UdpSocket::bind("127.0.0.1:0")?;
    /// let _ = socket.broadcast()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn broadcast(&self) -> io::Result<bool> {
        self.0.std().broadcast()
    }

    /// Sets whether this machine receives what it sends to a group (`IP_MULTICAST_LOOP`). Never
    /// moves.
    ///
    /// ```
    /// # use gosched::net::UdpSocket;
    /// let socket = UdpSocket::bind("127.0.0.1:0")?;
    /// socket.set_multicast_loop_v4(true)?;
    /// assert_eq!(socket.multicast_loop_v4()?, true);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_multicast_loop_v4(&self, multicast_loop_v4: bool) -> io::Result<()> {
        self.0.std().set_multicast_loop_v4(multicast_loop_v4)
    }

    /// What [`set_multicast_loop_v4`](UdpSocket::set_multicast_loop_v4) has set. Never moves.
    ///
    /// ```
    /// # use gosched::net::UdpSocket;
    /// let socket = UdpSocket::bind("127.0.0.1:0")?;
    /// let _ = socket.multicast_loop_v4()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn multicast_loop_v4(&self) -> io::Result<bool> {
        self.0.std().multicast_loop_v4()
    }

    /// Sets how many routers a packet to a group may pass (`IP_MULTICAST_TTL`). Never moves.
    ///
    /// ```
    /// # use gosched::net::UdpSocket;
    /// let socket = UdpSocket::bind("127.0.0.1:0")?;
    /// socket.set_multicast_ttl_v4(2)?;
    /// assert_eq!(socket.multicast_ttl_v4()?, 2);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_multicast_ttl_v4(&self, multicast_ttl_v4: u32) -> io::Result<()> {
        self.0.std().set_multicast_ttl_v4(multicast_ttl_v4)
    }

    /// What [`set_multicast_ttl_v4`](UdpSocket::set_multicast_ttl_v4) has set. Never moves.
    ///
    /// ```
    /// # use gosched::net::UdpSocket;
    /// let socket = UdpSocket::bind("127.0.0.1:0")?;
    /// let _ = socket.multicast_ttl_v4()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn multicast_ttl_v4(&self) -> io::Result<u32> {
        self.0.std().multicast_ttl_v4()
    }

    /// Sets whether this machine receives what it sends to an IPv6 group (`IPV6_MULTICAST_LOOP`).
    /// Never moves.
    ///
    /// ```
    /// # use gosched::net::UdpSocket;
    /// # let Ok(socket) = UdpSocket::bind("[::1]:0") else { return Ok(()) }; // no IPv6 here
    /// socket.set_multicast_loop_v6(true)?;
    /// assert_eq!(socket.multicast_loop_v6()?, true);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_multicast_loop_v6(&self, multicast_loop_v6: bool) -> io::Result<()> {
        self.0.std().set_multicast_loop_v6(multicast_loop_v6)
    }

    /// What [`set_multicast_loop_v6`](UdpSocket::set_multicast_loop_v6) has set. Never moves.
    ///
    /// ```
    /// # use gosched::net::UdpSocket;
    /// # let Ok(socket) = UdpSocket::bind("[::1]:0") else { return Ok(()) }; // no IPv6 here
    /// let _ = socket.multicast_loop_v6()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn multicast_loop_v6(&self) -> io::Result<bool> {
        self.0.std().multicast_loop_v6()
    }

    /// Sets how many routers a packet may pass (`IP_TTL`). Never moves.
    ///
    /// ```
    /// # use gosched::net::UdpSocket;
    /// let socket = UdpSocket::bind("127.0.0.1:0")?;
    /// socket.set_ttl(42)?;
    /// assert_eq!(socket.ttl()?, 42);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        self.0.std().set_ttl(ttl)
    }

    /// What [`set_ttl`](UdpSocket::set_ttl) has set. Never moves.
    ///
    /// ```
    /// # use gosched::net::UdpSocket;
    /// let socket = UdpSocket::bind("127.0.0.1:0")?;
    /// let _ = socket.ttl()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn ttl(&self) -> io::Result<u32> {
        self.0.std().ttl()
    }

    /// Joins a group (`IP_ADD_MEMBERSHIP`). Never moves.
    ///
    /// ```
    /// # use gosched::net::{Ipv4Addr, UdpSocket};
    /// let socket = UdpSocket::bind("0.0.0.0:0")?;
    /// let group = Ipv4Addr::new(224, 0, 0, 123);
    /// // Fails on a machine without a route for groups.
    /// if socket.join_multicast_v4(&group, &Ipv4Addr::UNSPECIFIED).is_ok() {
    ///     socket.leave_multicast_v4(&group, &Ipv4Addr::UNSPECIFIED)?;
    /// }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn join_multicast_v4(&self, multiaddr: &Ipv4Addr, interface: &Ipv4Addr) -> io::Result<()> {
        self.0.std().join_multicast_v4(multiaddr, interface)
    }

    /// Joins an IPv6 group (`IPV6_ADD_MEMBERSHIP`). Never moves.
    ///
    /// ```
    /// # use gosched::net::{Ipv6Addr, UdpSocket};
    /// # let Ok(socket) = UdpSocket::bind("[::]:0") else { return Ok(()) }; // no IPv6 here
    /// let group = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0x123);
    /// // Fails on a machine without a route for groups.
    /// if socket.join_multicast_v6(&group, 0).is_ok() {
    ///     socket.leave_multicast_v6(&group, 0)?;
    /// }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn join_multicast_v6(&self, multiaddr: &Ipv6Addr, interface: u32) -> io::Result<()> {
        self.0.std().join_multicast_v6(multiaddr, interface)
    }

    /// Leaves a group (`IP_DROP_MEMBERSHIP`). Never moves.
    ///
    /// ```
    /// # use gosched::net::{Ipv4Addr, UdpSocket};
    /// let socket = UdpSocket::bind("0.0.0.0:0")?;
    /// let group = Ipv4Addr::new(224, 0, 0, 123);
    /// // Fails on a machine without a route for groups.
    /// if socket.join_multicast_v4(&group, &Ipv4Addr::UNSPECIFIED).is_ok() {
    ///     socket.leave_multicast_v4(&group, &Ipv4Addr::UNSPECIFIED)?;
    /// }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn leave_multicast_v4(&self, multiaddr: &Ipv4Addr, interface: &Ipv4Addr) -> io::Result<()> {
        self.0.std().leave_multicast_v4(multiaddr, interface)
    }

    /// Leaves an IPv6 group (`IPV6_DROP_MEMBERSHIP`). Never moves.
    ///
    /// ```
    /// # use gosched::net::{Ipv6Addr, UdpSocket};
    /// # let Ok(socket) = UdpSocket::bind("[::]:0") else { return Ok(()) }; // no IPv6 here
    /// let group = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0x123);
    /// // Fails on a machine without a route for groups.
    /// if socket.join_multicast_v6(&group, 0).is_ok() {
    ///     socket.leave_multicast_v6(&group, 0)?;
    /// }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn leave_multicast_v6(&self, multiaddr: &Ipv6Addr, interface: u32) -> io::Result<()> {
        self.0.std().leave_multicast_v6(multiaddr, interface)
    }

    /// Connects to `addr`, or to the first of its addresses that works: from now on it sends to and
    /// receives from that address only. A moving call, since a name may have to be resolved.
    ///
    /// ```
    /// # use gosched::net::UdpSocket;
    /// let (a, b) = (UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?);
    /// a.connect(b.local_addr()?)?;
    /// b.connect(a.local_addr()?)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn connect<A: ToSocketAddrs>(&self, addr: A) -> io::Result<()> {
        each_addr(addr, |addr| self.0.std().connect(addr))
    }

    /// Sends a datagram to the address it is connected to. A moving call.
    ///
    /// ```
    /// # use gosched::net::UdpSocket;
    /// let (a, b) = (UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?);
    /// a.connect(b.local_addr()?)?;
    /// b.connect(a.local_addr()?)?;
    /// assert_eq!(a.send(b"abc")?, 3);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn send(&self, buf: &[u8]) -> io::Result<usize> {
        self.0.run(Direction::Write, |socket| socket.send(buf))
    }

    /// Receives a datagram from the address it is connected to; returns its length. What does not
    /// fit into `buf` is lost. A moving call.
    ///
    /// ```
    /// # use gosched::net::UdpSocket;
    /// let (a, b) = (UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?);
    /// a.connect(b.local_addr()?)?;
    /// b.connect(a.local_addr()?)?;
    /// a.send(b"abc")?;
    /// assert_eq!(b.recv(&mut [0; 8])?, 3);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn recv(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.0.run(Direction::Read, |socket| socket.recv(buf))
    }

    /// As [`recv`](UdpSocket::recv), but the datagram stays there for the next call. A moving call.
    ///
    /// ```
    /// # use gosched::net::UdpSocket;
    /// let (a, b) = (UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?);
    /// a.connect(b.local_addr()?)?;
    /// b.connect(a.local_addr()?)?;
    /// a.send(b"abc")?;
    /// assert_eq!(b.peek(&mut [0; 8])?, 3);
    /// assert_eq!(b.recv(&mut [0; 8])?, 3);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.0.run(Direction::Read, |socket| socket.peek(buf))
    }

    /// Takes the socket's pending error, if there is one (`SO_ERROR`). Never moves.
    ///
    /// ```
    /// # use gosched::net::UdpSocket;
    /// let socket = UdpSocket::bind("127.0.0.1:0")?;
    /// assert!(socket.take_error()?.is_none());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.0.std().take_error()
    }

    /// Sets the mode. In non-blocking mode a call that would wait fails with
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) instead. Never moves.
    ///
    /// ```
    /// # use gosched::net::UdpSocket;
    /// let socket = UdpSocket::bind("127.0.0.1:0")?;
    /// socket.set_nonblocking(true)?;
    /// assert_eq!(socket.recv(&mut [0; 8]).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        self.0.set_nonblocking(nonblocking);
        Ok(())
    }
}
