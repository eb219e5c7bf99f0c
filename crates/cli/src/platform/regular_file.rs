//! Opening files whose names anybody may have given to something else.
//!
//! A pipe, a device or a socket in the place of a file would make whoever opens it wait, perhaps for
//! ever; a hook of git waits for nobody.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// Opens a regular file, never waiting.
pub fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    options.custom_flags(flags.bits().cast_signed());
    let file = options.open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("not a regular file")),
    }
}

/// Reads a regular file up to a size in bytes.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    let file = open(path, OpenOptions::new().read(true))?;
    file.take(most).read_to_end(&mut content)?;
    Ok(content)
}

/// Reads a regular file as text, up to a size in bytes.
pub fn read_text(path: &Path, most: u64) -> io::Result<String> {
    let mut text = String::new();
    let file = open(path, OpenOptions::new().read(true))?;
    file.take(most).read_to_string(&mut text)?;
    Ok(text)
}

/// Reads a whole regular file that people or Siglum write, such as settings.
pub fn read_settings(path: &Path) -> io::Result<String> {
    let text = read_text(path, SETTINGS_MOST + 1)?;
    match text.len() as u64 > SETTINGS_MOST {
        true => Err(io::Error::other("too large")),
        false => Ok(text),
    }
}

/// No settings are larger, in bytes.
const SETTINGS_MOST: u64 = 16 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_are_opened_and_nobody_waits() {
        let dir = tempfile::tempdir().unwrap();
        let (file, pipe) = (dir.path().join("file"), dir.path().join("pipe"));
        std::fs::write(&file, "text").unwrap();
        let fifo = rustix::fs::FileType::Fifo;
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, fifo, mode, 0).unwrap();
        assert_eq!(read_text(&file, 3).unwrap(), "tex");
        for other in [pipe.as_path(), dir.path(), Path::new("/dev/null")] {
            assert!(read_text(other, 3).is_err(), "{other:?}");
            let mut options = OpenOptions::new();
            assert!(open(other, options.append(true)).is_err(), "{other:?}");
        }
    }
}
