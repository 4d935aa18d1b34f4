//! The worker's standard output belongs to its messages: whatever else writes there (a kernel's `printf`, a library) is
//! caught and becomes lines of the log.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

/// Written into the caught stream to learn when everything before it has been read.
const MARK: u8 = 0;
/// How long to wait for the mark.
const DRAIN: Duration = Duration::from_millis(200);
/// Bytes of output kept per job; a kernel may print from every thread.
pub(super) const MAX_LOG_BYTES: usize = 64 << 10;

/// The caught standard output.
pub(super) struct Caught {
    marks: Receiver<()>,
}

/// Takes standard output away from everyone else: returns the real one for messages, and hands all that is written to file
/// descriptor 1 from now on to `sink`, in pieces.
pub(super) fn catch(sink: impl FnMut(String) + Send + 'static) -> io::Result<(OwnedFd, Caught)> {
    let real = io::stdout().as_fd().try_clone_to_owned()?;
    let (reader, writer) = io::pipe()?;
    rustix::stdio::dup2_stdout(&writer)?;
    let (mark, marks) = sync_channel(1);
    std::thread::Builder::new()
        .name("output".to_owned())
        .spawn(move || forward(reader, sink, &mark))?;
    Ok((real, Caught { marks }))
}

fn forward(mut reader: impl Read, mut sink: impl FnMut(String), mark: &SyncSender<()>) {
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = reader.read(&mut buffer) {
        for (index, piece) in buffer[..count].split(|byte| *byte == MARK).enumerate() {
            if index > 0 {
                // Nobody waiting is no reason to stop reading.
                let _ = mark.try_send(());
            }
            if !piece.is_empty() {
                sink(String::from_utf8_lossy(piece).into_owned());
            }
        }
    }
}

impl Caught {
    /// Waits until what was written so far has reached the sink.
    pub(super) fn drain(&self) {
        while self.marks.try_recv().is_ok() {}
        let mut out = io::stdout().lock();
        if out.write_all(&[MARK]).and_then(|()| out.flush()).is_ok() {
            let _ = self.marks.recv_timeout(DRAIN);
        }
    }
}
