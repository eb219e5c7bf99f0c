//! The simple commands of a shell's command line: words as the shell makes them, what follows each,
//! and where its output goes. What a variable holds is not known, and what is only text (in quotes, in
//! a here-document, in a comment) is no command. A line that is not understood has no commands at all.

/// How deep commands may stand within commands.
const DEEPEST: u32 = 24;

/// What follows a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Joint {
    /// Nothing.
    End,
    /// The next one, in any case.
    Next,
    /// The next one, if it ended well.
    And,
    /// The next one, if it did not.
    Or,
    /// The next one reads what it prints.
    Pipe,
    /// The next one, without waiting for it.
    Background,
}

/// One simple command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Run {
    words: Vec<String>,
    pub(crate) joint: Joint,
    /// How it ended does not say how the whole did: it stands in a branch, a group or a word.
    pub(crate) inner: bool,
    pub(crate) stdout_elsewhere: bool,
    pub(crate) stderr_elsewhere: bool,
}

impl Run {
    const fn empty() -> Self {
        Self {
            words: Vec::new(),
            joint: Joint::End,
            inner: false,
            stdout_elsewhere: false,
            stderr_elsewhere: false,
        }
    }

    /// All its words, as the shell would give them to the program.
    pub(crate) fn words(&self) -> &[String] {
        &self.words
    }

    fn ends_a_block(&self) -> bool {
        let first = self.words.first();
        first.is_some_and(|word| matches!(word.as_str(), "fi" | "done" | "}"))
    }

    /// The end of a group, if what the group prints is seen as it is.
    fn if_seen(self) -> Option<Self> {
        let seen = self.joint != Joint::Pipe && !self.stdout_elsewhere && !self.stderr_elsewhere;
        seen.then_some(self)
    }

    /// The program that it starts and its arguments, behind what only prepares it.
    pub(crate) fn program(&self) -> Option<(&str, &[String])> {
        let mut words = self.words.as_slice();
        loop {
            let (first, rest) = words.split_first()?;
            let name = first.rsplit('/').next().unwrap_or(first);
            words = match name {
                _ if is_assignment(first) => rest,
                "env" | "command" | "nohup" | "time" | "exec" | "sudo" => {
                    // Its own flags may take values, or ask for something else.
                    if rest.first().is_some_and(|word| word.starts_with('-')) {
                        return None;
                    }
                    rest
                }
                "timeout" => rest.get(1..)?,
                _ => return Some((name, rest)),
            };
        }
    }
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        let name = name.strip_suffix('+').unwrap_or(name);
        let mut bytes = name.bytes();
        let starts = bytes
            .next()
            .is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
        starts && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
    })
}

/// The commands of a line, in the order in which they begin.
pub(crate) fn runs(line: &str) -> Option<Vec<Run>> {
    let mut reader = Reader {
        rest: line,
        runs: Vec::new(),
        documents: Vec::new(),
    };
    reader.list(Place::default(), None)?;
    Some(reader.runs)
}

/// Where commands stand.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    depth: u32,
    inner: bool,
    /// What they print becomes a part of a word.
    captured: bool,
    /// A back quote ends them.
    quoted_back: bool,
}

impl Place {
    /// Within a group, or within a word.
    fn within(self, captured: bool) -> Option<Self> {
        let depth = self.depth + 1;
        (depth <= DEEPEST).then_some(Self {
            depth,
            inner: true,
            captured: captured || self.captured,
            quoted_back: self.quoted_back && !captured,
        })
    }
}

struct Reader<'a> {
    rest: &'a str,
    runs: Vec<Run>,
    /// The ends of the here-documents that begin with the next line, and whether tabs stand before.
    documents: Vec<(String, bool)>,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.rest = &self.rest[next.len_utf8()..];
        Some(next)
    }

    fn takes(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn blanks(&mut self) {
        while self.takes(" ") || self.takes("\t") || self.takes("\\\n") || self.takes("\r") {}
        if self.rest.starts_with('#') {
            let end = self.rest.find('\n').unwrap_or(self.rest.len());
            self.rest = &self.rest[end..];
        }
    }

    /// Reads commands up to the end, or to the sign that closes them.
    fn list(&mut self, place: Place, close: Option<char>) -> Option<()> {
        let mut blocks = 0_u32;
        loop {
            self.blanks();
            let before = self.rest.len();
            match self.peek() {
                None => return close.is_none().then_some(()),
                Some(sign) if Some(sign) == close => {
                    self.next();
                    return Some(());
                }
                Some(')') => return None,
                Some('(') => {
                    self.next();
                    self.list(place.within(false)?, Some(')'))?;
                    let mut group = Run::empty();
                    self.redirects(place, &mut group)?;
                    group.inner = place.inner;
                    group.joint = self.joint()?;
                    self.runs.push(group.if_seen()?);
                }
                Some(_) => {
                    let at = self.runs.len();
                    let mut run = self.command(place, &mut blocks)?;
                    run.joint = self.joint()?;
                    if run.ends_a_block() {
                        run = run.if_seen()?;
                    }
                    // Commands within its words stand behind it.
                    self.runs.insert(at, run);
                }
            }
            if self.rest.len() == before {
                return None;
            }
        }
    }

    /// What follows a command. The sign that closes a list stays.
    fn joint(&mut self) -> Option<Joint> {
        self.blanks();
        let signs = [
            ("&&", Joint::And),
            ("||", Joint::Or),
            ("|&", Joint::Pipe),
            ("|", Joint::Pipe),
            ("&", Joint::Background),
            (";", Joint::Next),
        ];
        let found = signs.into_iter().find(|(sign, _)| self.takes(sign));
        let joint = match found {
            Some((_, joint)) => joint,
            None if self.rest.starts_with('\n') => Joint::Next,
            None => return matches!(self.peek(), None | Some(')' | '`')).then_some(Joint::End),
        };
        loop {
            self.blanks();
            if !self.takes("\n") {
                break;
            }
            self.read_documents();
        }
        Some(match self.peek() {
            None if joint == Joint::Next => Joint::End,
            _ => joint,
        })
    }

    /// Passes over the here-documents that begin here.
    fn read_documents(&mut self) {
        for (end, tabs) in std::mem::take(&mut self.documents) {
            while !self.rest.is_empty() {
                let (line, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
                self.rest = rest;
                let line = if tabs {
                    line.trim_start_matches('\t')
                } else {
                    line
                };
                if line == end {
                    break;
                }
            }
        }
    }

    /// One simple command, up to what follows it.
    fn command(&mut self, place: Place, blocks: &mut u32) -> Option<Run> {
        let mut run = Run::empty();
        let mut branch = false;
        loop {
            self.blanks();
            match self.peek() {
                None | Some('\n' | ';' | '|' | ')') => break,
                Some('&') if !self.rest.starts_with("&>") => break,
                Some('`') if place.quoted_back => break,
                Some('(') => return None,
                _ => {}
            }
            if self.redirect(place, &mut run)? {
                continue;
            }
            let word = self.word(place)?;
            if !run.words.is_empty() {
                run.words.push(word);
                continue;
            }
            match word.as_str() {
                "if" | "while" | "until" | "for" | "select" | "{" => *blocks += 1,
                "fi" | "done" | "}" => *blocks = blocks.saturating_sub(1),
                "case" | "function" | "[[" => return None,
                _ => {}
            }
            match word.as_str() {
                "!" => branch = true,
                "if" | "while" | "until" | "then" | "else" | "elif" | "do" | "{" => {}
                _ => run.words.push(word),
            }
        }
        run.inner = place.inner || branch || *blocks > 0;
        Some(run)
    }

    fn redirects(&mut self, place: Place, run: &mut Run) -> Option<()> {
        self.blanks();
        while self.redirect(place, run)? {
            self.blanks();
        }
        Some(())
    }

    /// Reads a redirection, if there is one.
    fn redirect(&mut self, place: Place, run: &mut Run) -> Option<bool> {
        let digits = self.rest.len()
            - self
                .rest
                .trim_start_matches(|c: char| c.is_ascii_digit())
                .len();
        let behind = &self.rest[digits..];
        let both = digits == 0 && behind.starts_with("&>");
        if !both && !behind.starts_with(['<', '>']) {
            return Some(false);
        }
        let number = &self.rest[..digits];
        self.rest = behind;
        if self.takes("<<<") {
            self.blanks();
            return self.word(place).map(|_| true);
        }
        if self.takes("<<") {
            let tabs = self.takes("-");
            self.blanks();
            let end = self.word(place)?;
            self.documents.push((end, tabs));
            return Some(true);
        }
        let reads = self.rest.starts_with('<');
        if self.rest.starts_with("<(") || self.rest.starts_with(">(") {
            return None;
        }
        let copies = if both {
            self.takes("&>");
            self.takes(">");
            false
        } else {
            self.next();
            let _ = self.takes(">") || self.takes("|");
            self.takes("&")
        };
        self.blanks();
        let target = self.word(place)?;
        if reads {
            return Some(true);
        }
        let of_output = matches!(number, "" | "1");
        match (copies, target.as_str()) {
            // It goes where the other one goes.
            (true, "1") if number == "2" => {
                run.stderr_elsewhere |= run.stdout_elsewhere || place.captured;
            }
            (true, "2") if of_output => run.stdout_elsewhere |= run.stderr_elsewhere,
            _ => {
                run.stderr_elsewhere |= both || number == "2" || copies;
                run.stdout_elsewhere |= both || of_output;
            }
        }
        Some(true)
    }

    /// One word, without its quotes.
    fn word(&mut self, place: Place) -> Option<String> {
        let mut word = String::new();
        let from = self.rest.len();
        while let Some(sign) = self.peek() {
            match sign {
                ' ' | '\t' | '\r' | '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')' => break,
                '`' if place.quoted_back => break,
                '\'' => {
                    self.next();
                    let (text, rest) = self.rest.split_once('\'')?;
                    word.push_str(text);
                    self.rest = rest;
                }
                '"' => {
                    self.next();
                    self.quoted(place, &mut word)?;
                }
                '\\' => {
                    self.next();
                    if !self.takes("\n") {
                        word.push(self.next()?);
                    }
                }
                '$' | '`' => self.expansion(place, &mut word)?,
                _ => word.extend(self.next()),
            }
        }
        (self.rest.len() < from).then_some(word)
    }

    /// What stands between double quotes.
    fn quoted(&mut self, place: Place, word: &mut String) -> Option<()> {
        loop {
            match self.peek()? {
                '"' => {
                    self.next();
                    return Some(());
                }
                '\\' => {
                    self.next();
                    word.push(self.next()?);
                }
                '$' | '`' => self.expansion(place, word)?,
                _ => word.extend(self.next()),
            }
        }
    }

    /// A `$` or a back quote. What it stands for is not known; commands in it are commands.
    fn expansion(&mut self, place: Place, word: &mut String) -> Option<()> {
        word.push('$');
        if self.takes("`") {
            let mut within = place.within(true)?;
            within.quoted_back = true;
            return self.substituted(within, '`');
        }
        self.next();
        if self.takes("((") {
            let (_, rest) = self.rest.split_once("))")?;
            self.rest = rest;
        } else if self.takes("(") {
            self.substituted(place.within(true)?, ')')?;
        } else if self.takes("{") {
            let (_, rest) = self.rest.split_once('}')?;
            self.rest = rest;
        } else if self.takes("'") {
            loop {
                match self.next()? {
                    '\'' => break,
                    '\\' => self.next().map(drop)?,
                    _ => {}
                }
            }
        }
        Some(())
    }

    /// Commands in place of what they print. Here-documents around them begin after them.
    fn substituted(&mut self, place: Place, close: char) -> Option<()> {
        let around = std::mem::take(&mut self.documents);
        self.list(place, Some(close))?;
        let own = std::mem::replace(&mut self.documents, around);
        own.is_empty().then_some(())
    }
}
