//! Programs by their names: what each has to do with a commit that is made below it.
//!
//! Names mislead, so no list makes anybody the committer: they tell what may have a will of its own, and
//! whose a terminal is. What is in none of them is taken for a program that may commit by itself.

pub(super) const SHELLS: &[&str] = &[
    "sh", "bash", "dash", "zsh", "fish", "ksh", "mksh", "ash", "busybox", "tcsh", "csh",
];
pub(super) const RUNNERS: &[&str] = &[
    "npx", "npm", "pnpm", "yarn", "bunx", "uvx", "pipx", "env", "timeout", "nice", "setsid",
    "script", "sudo", "xargs",
];

/// Programs that build or run tasks: what they start is asked for by whoever started them.
pub(super) const BUILD_TOOLS: &[&str] = &[
    "make",
    "gmake",
    "ninja",
    "just",
    "task",
    "cargo",
    "cmake",
    "ctest",
    "bazel",
    "gradle",
    "mvn",
    "rake",
    "tox",
    "nox",
    "pre-commit",
    "lefthook",
    "parallel",
    "find",
    "watch",
    "entr",
];

/// Editors and clients of git in which a person works at a terminal.
pub(super) const TERMINAL_EDITORS: &[&str] = &[
    "vim",
    "vi",
    "nvim",
    "vim.basic",
    "vim.tiny",
    "emacs",
    "emacs-nox",
    "nano",
    "hx",
    "helix",
    "kak",
    "micro",
    "joe",
    "ne",
    "mc",
    "lazygit",
    "gitui",
    "tig",
    "less",
    "more",
    "gh",
    "hub",
    "glab",
];

/// Windows in which a person works: what runs below them was clicked or typed there.
pub(super) const PERSONS_WINDOWS: &[&str] = &[
    "code",
    "code-insiders",
    "codium",
    "code-oss",
    "cursor",
    "windsurf",
    "zed",
    "zed-editor",
    "idea",
    "idea64",
    "pycharm",
    "webstorm",
    "goland",
    "clion",
    "rider",
    "phpstorm",
    "rubymine",
    "rustrover",
    "studio",
    "fleet",
    "eclipse",
    "java",
    "electron",
    "sublime_text",
    "subl",
    "sublime_merge",
    "smerge",
    "gitkraken",
    "fork",
    "sourcetree",
    "smartgit",
    "git-cola",
    "gitg",
    "gitk",
    "wish",
    "git-gui",
    "github-desktop",
    "emacs-gtk",
    "gvim",
    "kate",
    "gedit",
    "xcode",
    "Xcode",
    "qtcreator",
    "kdevelop",
    "devenv",
];

/// Programs that let a person in, or show a person a terminal, and type nothing by themselves.
pub(super) const LOGIN_PROGRAMS: &[&str] = &[
    "login",
    "sshd",
    "sshd-session",
    "dropbear",
    "mosh-server",
    "gnome-terminal-server",
    "gnome-terminal-",
    "konsole",
    "xterm",
    "uxterm",
    "urxvt",
    "rxvt",
    "urxvtd",
    "kitty",
    "alacritty",
    "wezterm-gui",
    "foot",
    "footserver",
    "st",
    "ghostty",
    "ptyxis-agent",
    "ptyxis",
    "kgx",
    "gnome-console",
    "xfce4-terminal",
    "mate-terminal",
    "lxterminal",
    "qterminal",
    "terminology",
    "tilix",
    "deepin-terminal",
    "iTerm2",
    "iTermServer",
    "Terminal",
    "WezTerm",
    "Alacritty",
    "Ghostty",
    "Hyper",
    "warp",
    "stable",
    "WindowsTerminal",
];

/// Those that let somebody in from elsewhere, who may be a program.
pub(super) const REMOTE_LOGINS: &[&str] = &["sshd", "sshd-session", "dropbear", "mosh-server"];

/// Programs that own a terminal and have commands that type into it.
pub(super) const MULTIPLEXERS: &[&str] = &[
    "tmux",
    "tmux: server",
    "screen",
    "zellij",
    "byobu",
    "dtach",
    "abduco",
    "dvtm",
    "mtm",
    "ttyd",
];

/// Programs that change who somebody is, within one terminal.
pub(super) const USER_SWITCHES: &[&str] = &["login", "sudo", "su", "doas", "newgrp", "sg", "run0"];

/// First processes of a whole system, and not of a container.
pub(super) const SYSTEM_INITS: &[&str] = &[
    "systemd",
    "init",
    "launchd",
    "runit",
    "openrc-init",
    "s6-svscan",
];

/// What orphans are given to.
pub(super) const ADOPTERS: &[&str] = &[
    "systemd",
    "init",
    "launchd",
    "tini",
    "dumb-init",
    "docker-init",
];
