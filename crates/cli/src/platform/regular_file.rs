//! Opening files whose names anybody may have given to something else.
//!
//! A pipe, a device or a socket in the place of a file would make whoever opens it wait, perhaps for
//! ever; a hook of git waits for nobody.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::OFlags;

/// Opens a regular file, never waiting.
pub fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    open_with(path, options, OFlags::empty())
}

/// The same of a file that Siglum keeps in a repository. A link in its place, which came with the repository, may lead
/// anywhere.
pub fn open_own(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    open_with(path, options, OFlags::NOFOLLOW)
}

/// Makes such a file anew. What has its name goes, and nothing is written to what else it may be a name of.
pub fn create_own(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = OpenOptions::new();
    open_own(path, options.write(true).create_new(true).mode(0o600))
}

fn open_with(path: &Path, options: &mut OpenOptions, more: OFlags) -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY | more;
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
    text_of(open(path, OpenOptions::new().read(true))?, most)
}

/// The same of a file that Siglum keeps in a repository.
pub fn read_own_text(path: &Path, most: u64) -> io::Result<String> {
    text_of(open_own(path, OpenOptions::new().read(true))?, most)
}

fn text_of(file: File, most: u64) -> io::Result<String> {
    let mut text = String::new();
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

    #[test]
    fn nothing_is_read_or_written_behind_a_name_of_ours() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("file"), "text").unwrap();
        std::os::unix::fs::symlink(at("file"), at("link")).unwrap();
        fs::hard_link(at("file"), at("same")).unwrap();
        assert_eq!(read_text(&at("link"), 9).unwrap(), "text");
        assert!(read_own_text(&at("link"), 9).is_err());
        for name in ["link", "same", "new"] {
            create_own(&at(name)).unwrap();
            assert_eq!(read_own_text(&at(name), 9).unwrap(), "", "{name}");
            assert_eq!(read_own_text(&at("file"), 9).unwrap(), "text", "{name}");
        }
    }
}
