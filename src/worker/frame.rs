//! Frames on a pipe: a length (u32, little-endian) and that many bytes of JSON.

use std::io::{self, Read, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Longer frames are taken for garbage. A report of 440 shapes with all samples stays well under it.
pub const MAX_FRAME_BYTES: u32 = 64 << 20;

/// Why no message came out of a pipe.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    #[error("the pipe: {0}")]
    Pipe(#[from] io::Error),
    #[error("a frame of {0} bytes, over the limit of {MAX_FRAME_BYTES}: not one of our messages")]
    TooLong(u32),
    #[error("not a message: {0}")]
    Garbage(#[from] serde_json::Error),
}

fn encode(message: &impl Serialize) -> Result<Vec<u8>, FrameError> {
    let mut bytes = vec![0; 4];
    serde_json::to_writer(&mut bytes, message)?;
    let length = u32::try_from(bytes.len() - 4).unwrap_or(u32::MAX);
    if length > MAX_FRAME_BYTES {
        return Err(FrameError::TooLong(length));
    }
    bytes[..4].copy_from_slice(&length.to_le_bytes());
    Ok(bytes)
}

fn length(header: [u8; 4]) -> Result<usize, FrameError> {
    let length = u32::from_le_bytes(header);
    if length > MAX_FRAME_BYTES {
        return Err(FrameError::TooLong(length));
    }
    Ok(length as usize)
}

/// Writes one message and flushes.
pub fn write(to: &mut impl Write, message: &impl Serialize) -> Result<(), FrameError> {
    to.write_all(&encode(message)?)?;
    Ok(to.flush()?)
}

/// Reads one message; `None` at the end of the pipe between messages.
pub fn read<T: DeserializeOwned>(from: &mut impl Read) -> Result<Option<T>, FrameError> {
    let mut header = [0; 4];
    match from.read_exact(&mut header) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    }
    let mut bytes = vec![0; length(header)?];
    from.read_exact(&mut bytes)?;
    Ok(Some(serde_json::from_slice(&bytes)?))
}

/// As [`write()`].
pub async fn send(to: &mut (impl AsyncWrite + Unpin), message: &impl Serialize) -> Result<(), FrameError> {
    to.write_all(&encode(message)?).await?;
    Ok(to.flush().await?)
}

/// As [`read`].
pub async fn receive<T: DeserializeOwned>(from: &mut (impl AsyncRead + Unpin)) -> Result<Option<T>, FrameError> {
    let mut header = [0; 4];
    match from.read_exact(&mut header).await {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    };
    let mut bytes = vec![0; length(header)?];
    from.read_exact(&mut bytes).await?;
    Ok(Some(serde_json::from_slice(&bytes)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker::protocol::ToWorker;

    #[test]
    fn messages_round_trip() {
        let mut pipe = Vec::new();
        write(&mut pipe, &ToWorker::Cancel { job: 7 }).unwrap();
        write(&mut pipe, &ToWorker::Shutdown).unwrap();
        let mut from = pipe.as_slice();
        assert_eq!(read(&mut from).unwrap(), Some(ToWorker::Cancel { job: 7 }));
        assert_eq!(read(&mut from).unwrap(), Some(ToWorker::Shutdown));
        assert_eq!(read::<ToWorker>(&mut from).unwrap(), None);
    }

    #[test]
    fn garbage_is_refused_without_allocating_for_it() {
        let error = read::<ToWorker>(&mut b"Hello, world".as_slice()).unwrap_err();
        assert!(matches!(error, FrameError::TooLong(_)), "{error}");
        let mut text = 4_u32.to_le_bytes().to_vec();
        text.extend(b"nope");
        assert!(matches!(
            read::<ToWorker>(&mut text.as_slice()),
            Err(FrameError::Garbage(_))
        ));
        let half = 100_u32.to_le_bytes();
        assert!(matches!(
            read::<ToWorker>(&mut half.as_slice()),
            Err(FrameError::Pipe(_))
        ));
    }
}
