//! The messages between this process and a supervisor. All but open files is in the memory that both
//! share, so that a message is one byte.

#![expect(
    unsafe_code,
    reason = "these calls are in no safe interface of the standard library"
)]

use std::fs::File;
use std::io;
use std::mem;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::ptr;

use libc::{c_int, c_uint};

/// The command has ended, and the supervisor waits for another one.
pub(super) const STAYS: u8 = b's';
/// The command has ended, and so does the supervisor.
pub(super) const ENDS: u8 = b'e';

/// The files of a command: its two outputs, and its register.
const FILES: usize = 3;
const FILES_LENGTH: c_uint = size_of::<[c_int; FILES]>() as c_uint;

#[cfg(any(target_os = "linux", target_os = "android"))]
const FLAGS: c_int = libc::MSG_NOSIGNAL;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const FLAGS: c_int = 0;

/// A message with room for files.
struct Message {
    byte: u8,
    /// Aligned as the kernel's headers, and longer than needed.
    control: [u64; 8],
}

impl Message {
    /// Its form for the kernel, which points into it.
    fn header(&mut self, part: &mut libc::iovec) -> libc::msghdr {
        part.iov_base = (&raw mut self.byte).cast();
        part.iov_len = 1;
        // SAFETY: an all-zero msghdr is a valid one.
        let mut header: libc::msghdr = unsafe { mem::zeroed() };
        header.msg_iov = part;
        header.msg_iovlen = 1;
        header.msg_control = (&raw mut self.control).cast();
        // SAFETY: it only computes.
        header.msg_controllen = unsafe { libc::CMSG_SPACE(FILES_LENGTH) } as _;
        header
    }
}

const fn nothing() -> libc::iovec {
    libc::iovec {
        iov_base: ptr::null_mut(),
        iov_len: 0,
    }
}

/// Gives a supervisor the files of its next command.
pub(super) fn send_files(socket: &UnixStream, files: [&File; FILES]) -> io::Result<()> {
    let (mut part, mut message) = (
        nothing(),
        Message {
            byte: 0,
            control: [0; 8],
        },
    );
    let header = message.header(&mut part);
    let numbers = files.map(AsRawFd::as_raw_fd);
    // SAFETY: the header points to live values, and its control buffer has room for one entry with
    // these numbers.
    let sent = unsafe {
        let entry = libc::CMSG_FIRSTHDR(&raw const header);
        (*entry).cmsg_level = libc::SOL_SOCKET;
        (*entry).cmsg_type = libc::SCM_RIGHTS;
        (*entry).cmsg_len = libc::CMSG_LEN(FILES_LENGTH) as _;
        libc::CMSG_DATA(entry)
            .cast::<[c_int; FILES]>()
            .write_unaligned(numbers);
        libc::sendmsg(socket.as_raw_fd(), &raw const header, FLAGS)
    };
    match sent {
        1 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The state of a supervisor's socket.
pub(super) enum Received {
    /// The files of the next command.
    Files([c_int; FILES]),
    Nothing,
    /// There will be no other command.
    End,
}

/// Takes the files of the next command, without waiting. It allocates nothing and takes no lock.
pub(super) fn receive_files(socket: c_int) -> Received {
    let (mut part, mut message) = (
        nothing(),
        Message {
            byte: 0,
            control: [0; 8],
        },
    );
    let mut header = message.header(&mut part);
    // SAFETY: the header points to live values, and the entry is looked at only if it holds the
    // numbers of open files.
    unsafe {
        match libc::recvmsg(socket, &raw mut header, libc::MSG_DONTWAIT) {
            1 => {}
            -1 if io::Error::last_os_error().kind() == io::ErrorKind::WouldBlock => {
                return Received::Nothing;
            }
            _ => return Received::End,
        }
        let entry = libc::CMSG_FIRSTHDR(&raw const header);
        if entry.is_null()
            || (*entry).cmsg_type != libc::SCM_RIGHTS
            // Not all were received, because this process has too many.
            || header.msg_flags & libc::MSG_CTRUNC != 0
        {
            return Received::End;
        }
        let files = libc::CMSG_DATA(entry)
            .cast::<[c_int; FILES]>()
            .read_unaligned();
        for file in files {
            // The command gets copies.
            libc::fcntl(file, libc::F_SETFD, libc::FD_CLOEXEC);
        }
        Received::Files(files)
    }
}

/// Tells that a command has ended. It allocates nothing and takes no lock.
pub(super) fn send_end(socket: c_int, message: u8) {
    // SAFETY: the pointer is to one live byte. A failure is the end of the receiver.
    unsafe {
        libc::send(socket, (&raw const message).cast(), 1, FLAGS);
    }
}
