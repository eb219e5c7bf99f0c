"""Follows a page of the guide literally on a clean machine: each command of its `sh` blocks, in order, as pasted by a person.

follow_page.py PAGE STORE ROOT SITE [BEFORE]: the store is sqlite or postgresql, ROOT a clean root of Debian, SITE a
directory with `releases`, which the upgrade takes with a higher version; BEFORE is one for what is installed first, otherwise
SITE. As root. Prints each command, its output and its seconds, and stops at the first that fails.

The machine runs systemd in namespaces of its own. A comment in front of a block says where it differs:

    <!-- on: sqlite -->, <!-- on: postgresql -->     only with this store
    <!-- on: rolling -->, <!-- on: migration -->     only if both releases have one schema, or two
    <!-- on: laptop -->                              on a laptop, in a repository that has sessions
    <!-- on: dates -->                               its dates are examples: today's are taken, and as a moment
                                                     that before the first restore
    <!-- skip: REASON -->                            needs what a clean machine cannot have

Conditions are joined by a comma.

What stands in for the world: releases are served from SITE by the name that the page has, siglum.example.org is the machine,
and a proxy there encrypts where the gateway does not. All certificates are of one authority, which the machine trusts.
"""

import contextlib
import datetime
import fcntl
import http.server
import json
import os
import re
import select
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from ctypes import CDLL
from pathlib import Path

HERE = Path(__file__).resolve().parent
STORES, UPGRADES, PLACES = {"sqlite", "postgresql"}, {"rolling", "migration"}, {"laptop", "dates"}
GATEWAY = "siglum.example.org"
FORGE, RELEASES = "github.com", "/siglum/siglum/releases"
LIBC = CDLL(None, use_errno=True)
NEW_NETWORK, DIE_WITH_PARENT, UNLOCK, TERMINAL_NUMBER = 0x4000_0000, 1, 0x4004_5431, 0x8004_5430
MOST_SECONDS = 300
# What a program asks a person, and what the person types.
QUESTION = re.compile(rb"(\[Y/n\]|\[y/N\]|\(y/n\)) *$")
# A day, or a moment.
DATE = re.compile(r"20\d\d-\d\d-\d\d( \d\d:\d\d:\d\d\+00)?")
# Each section is read in a shell of its own: what it needs of earlier ones must outlive a shell.
SHELL = 'while read -r file <&3; do . "$file" 3<&- 4>&-; echo $? >&4; done'


class Block:
    """One block of commands, with the section that it is in and what its marker says."""

    def __init__(self, section, marker, text):
        self.section, self.text = section, text
        key, _, value = marker.partition(": ")
        self.skip = value if key == "skip" else None
        self.on = set(value.split(", ")) if key == "on" else set()

    def commands(self):
        """Its commands: lines, as many as the shell needs."""
        lines = []
        for line in self.text.splitlines():
            lines.append(line)
            text = "\n".join(lines)
            if not text.strip() or line.endswith("\\"):
                continue
            read = subprocess.run(["bash", "-n"], input=text.encode(), capture_output=True)
            # An unfinished here-document is a warning.
            if read.returncode == 0 and not read.stderr:
                if any(part and not part.startswith("#") for part in map(str.strip, lines)):
                    yield text
                lines = []
        assert not lines, f"this is no command: {lines}"


def blocks(page):
    """The blocks of commands of a page; one that has an unknown marker is an error."""
    found, titles, marker = [], [], ""
    lines = iter(page.read_text().splitlines())
    for line in lines:
        if heading := re.match(r"(#+) (.*)", line):
            titles = [*titles[: len(heading[1]) - 1], heading[2]]
        elif comment := re.fullmatch(r" *<!-- ((?:on|skip): .*) -->", line):
            marker = comment[1]
        elif fence := re.fullmatch(r"( *)```(\w*)", line):
            text = []
            for line in lines:
                if line == fence[1] + "```":
                    break
                text.append(line.removeprefix(fence[1]))
            if fence[2] == "sh":
                found.append(Block(titles, marker, "\n".join(text)))
            marker = ""
    unknown = set().union(*(each.on for each in found)) - STORES - UPGRADES - PLACES
    assert not unknown, unknown
    return found


def run(*command, **options):
    return subprocess.run(command, check=True, **options)


class Authority:
    """Signs certificates for the names of the page."""

    def __init__(self, directory):
        self.directory = directory
        self.openssl("req", "-x509", "-subj", "/CN=A test", "-keyout", "ca.key", "-out", "ca.crt", "-days", "2")

    def openssl(self, command, *arguments):
        run("openssl", command, "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
            *arguments, cwd=self.directory, stderr=subprocess.DEVNULL)  # fmt: skip

    def sign(self, name):
        """Makes NAME.crt and NAME.key."""
        self.openssl("req", "-x509", "-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}", "-days", "2",
            "-addext", "basicConstraints=critical,CA:FALSE", "-CA", "ca.crt", "-CAkey", "ca.key",
            "-keyout", f"{name}.key", "-out", f"{name}.crt")  # fmt: skip
        return self.directory / f"{name}.crt", self.directory / f"{name}.key"

    def server_context(self, name):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self.sign(name))
        return context


class Machine:
    """A clean root that systemd runs, in namespaces of its own."""

    def __init__(self, root, scratch, stack):
        group = cgroup_tree() / f"siglum-{os.getpid()}"
        group.mkdir()
        stack.callback(remove_group, group)

        def begin():
            LIBC.prctl(DIE_WITH_PARENT, signal.SIGKILL)
            (group / "cgroup.procs").write_text(str(os.getpid()))

        self.log = open(scratch / "console", "wb")
        flags = ["--mount", "--net", "--ipc", "--uts", "--pid", "--cgroup", "--fork", "--kill-child"]
        (scratch / "machine").mkdir()
        boot = [HERE / "boot_clean_root.sh", root, scratch / "machine"]
        machine = subprocess.Popen(["unshare", *flags, *boot], preexec_fn=begin, stdin=subprocess.DEVNULL,
            stdout=self.log, stderr=subprocess.STDOUT)  # fmt: skip
        stack.callback(machine.wait)
        stack.callback(machine.kill)
        children = Path(f"/proc/{machine.pid}/task/{machine.pid}/children")
        self.pid = int(until(lambda: machine.poll() is None and children.read_text().strip()))
        self.root = Path(f"/proc/{self.pid}/root")
        until(lambda: (self.root / "run/systemd/private").exists())
        self.inside("systemctl", "is-system-running", "--wait", check=False)

    def inside(self, *command, check=True, **options):
        return subprocess.run(["nsenter", "--target", str(self.pid), "--all", *command], check=check, **options)

    def id_of(self, user):
        return (self.root / "home" / user).stat().st_uid

    def prepare(self, hosts, certificate):
        with open(self.root / "etc/hosts", "w") as file:
            file.write("127.0.0.1 localhost gateway\n")
            file.writelines(f"{address} {name}\n" for name, address in hosts.items())
        # What a person has from the installer: an account that may use sudo.
        for user in ("olga", "ann"):
            self.inside("useradd", "--create-home", "--shell", "/bin/bash", user)
        path = self.root / "etc/sudoers.d/olga"
        path.write_text("olga ALL=(ALL) NOPASSWD: ALL\n")
        # Taken up as soon as something brings the programs that trust authorities.
        trusted = self.root / "usr/local/share/ca-certificates/test.crt"
        trusted.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(certificate, trusted)

    @contextlib.contextmanager
    def network(self):
        """This thread is in the machine's network."""
        with open("/proc/thread-self/ns/net") as own, open(f"/proc/{self.pid}/ns/net") as its:
            assert LIBC.setns(its.fileno(), NEW_NETWORK) == 0
            try:
                yield
            finally:
                assert LIBC.setns(own.fileno(), NEW_NETWORK) == 0

    def listen(self, address, port):
        with self.network():
            return socket.create_server((address, port))

    def connect(self, address):
        with self.network():
            return socket.create_connection(address)


class Shell:
    """A shell in which a person of the machine types commands."""

    def __init__(self, machine, user, directory=None):
        self.machine, self.count = machine, 0
        # A terminal of the machine, as it belongs to whoever logs in.
        terminals = machine.root / "dev/pts"
        self.terminal = os.open(terminals / "ptmx", os.O_RDWR | os.O_NOCTTY)
        fcntl.ioctl(self.terminal, UNLOCK, struct.pack("i", 0))
        [number] = struct.unpack("I", fcntl.ioctl(self.terminal, TERMINAL_NUMBER, b"\0" * 4))
        tty = os.open(terminals / str(number), os.O_RDWR | os.O_NOCTTY)
        os.fchown(tty, machine.id_of(user), -1)
        settings = termios.tcgetattr(tty)
        settings[1] &= ~termios.ONLCR
        settings[3] &= ~termios.ECHO
        termios.tcsetattr(tty, termios.TCSANOW, settings)
        files_read, self.files = os.pipe()
        self.codes, codes_write = os.pipe()
        self.folder = machine.root / f"mnt/{user}-{time.monotonic_ns()}"
        self.folder.mkdir()
        command = f"cd {directory or '~'}; {SHELL}"
        enter = ["nsenter", "--target", str(machine.pid), "--all", "setsid", "--ctty", "setpriv", "--reuid", user, "--regid", user,
            "--init-groups", "--reset-env", "bash", "-lc", 'exec bash -c "$0" 3<&"$1" 4>&"$2"',
            command, str(files_read), str(codes_write)]  # fmt: skip
        self.process = subprocess.Popen(enter, stdin=tty, stdout=tty, stderr=tty, pass_fds=(files_read, codes_write),
            start_new_session=True, env={"TERM": "dumb", "LC_ALL": "C.UTF-8", "PATH": os.environ["PATH"]})  # fmt: skip
        for each in (tty, files_read, codes_write):
            os.close(each)

    def run(self, text):
        """Runs one command. Gives its code, what a person sees of its output in the end, and its seconds."""
        self.count += 1
        path = self.folder / str(self.count)
        path.write_text(f"set -o pipefail\n{text}\n")
        began = time.monotonic()
        inside = "/" + str(path.relative_to(self.machine.root))
        os.write(self.files, f"{inside}\n".encode())
        output, code = b"", None
        while code is None:
            left = began + MOST_SECONDS - time.monotonic()
            ready, _, _ = select.select([self.terminal, self.codes], [], [], max(left, 0))
            if not ready:
                return None, seen(output), time.monotonic() - began
            if self.terminal in ready:
                read = os.read(self.terminal, 65536)
                output += read
                if QUESTION.search(output[-80:]):
                    os.write(self.terminal, b"y\n")
                    output += b"y\n"
            else:
                code = int(os.read(self.codes, 64) or b"-1")
        return code, seen(output), time.monotonic() - began

    def close(self):
        os.close(self.files)
        self.process.kill()
        self.process.wait()
        os.close(self.terminal)
        os.close(self.codes)


def seen(output):
    """The lines that stay on a terminal: without colours, and without what was written over."""
    lines = re.sub(r"\x1b\[[0-9;]*[A-Za-z]|\x1b[78]", "", output.decode(errors="replace")).split("\n")
    return [line.rstrip("\r").rpartition("\r")[2].rstrip() for line in lines if line.strip()]


def until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)
    return value


def cgroup_tree():
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, path, kind, *_ = line.split()
        if kind == "cgroup2":
            return Path(path)
    raise SystemExit("error: there is no tree of cgroups of version 2")


def remove_group(group):
    def is_gone():
        with contextlib.suppress(OSError):
            for path, _, _ in os.walk(group, topdown=False):
                os.rmdir(path)
        return not group.exists()

    until(is_gone)


def relay(listener, connect):
    """Hands on what comes to a listener."""

    def copy(source, target):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)

    def serve(client):
        with contextlib.suppress(OSError), client, connect() as server:
            back = threading.Thread(target=copy, args=(server, client), daemon=True)
            back.start()
            copy(client, server)
            back.join()

    def accept():
        while True:
            with contextlib.suppress(OSError):
                client, _ = listener.accept()
                threading.Thread(target=serve, args=(client,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()


class Releases(http.server.SimpleHTTPRequestHandler):
    """What the forge offers."""

    def translate_path(self, path):
        return str(self.server.site) + path.removeprefix(RELEASES.removesuffix("/releases"))

    def log_message(self, *_):
        pass


def serve_releases(listener, site, context):
    server = http.server.ThreadingHTTPServer(("", 0), Releases, bind_and_activate=False)
    server.socket.close()
    server.socket, server.site = context.wrap_socket(listener, server_side=True), site
    threading.Thread(target=server.serve_forever, daemon=True).start()


def publish(site, releases):
    shutil.copytree(site / "releases/latest/download", releases, dirs_exist_ok=True)


def schema(site):
    return json.loads((site / "releases/latest/download/release.json").read_text()).get("schema")


def raise_version(latest, scratch):
    """The newest release becomes the next one: the same program with a higher version."""
    description = latest / "release.json"
    release = json.loads(description.read_text())
    major, minor, patch = release["version"].split(".")
    release["version"] = f"{major}.{minor}.{int(patch) + 1}"
    description.write_text(json.dumps(release))
    for package in latest.glob("*.deb"):
        tree = scratch / "raised"
        run("dpkg-deb", "--raw-extract", package, tree)
        control = tree / "DEBIAN/control"
        control.write_text(re.sub(r"(?m)^Version: .*", f"Version: {release['version']}", control.read_text()))
        run("dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "--build", tree, package, stdout=subprocess.DEVNULL)
        shutil.rmtree(tree)


def mirrors(root):
    """The servers of Debian's packages."""
    files = [root / "etc/apt/sources.list", *(root / "etc/apt/sources.list.d").glob("*")]
    text = "\n".join(file.read_text() for file in files if file.is_file())
    return sorted(set(re.findall(r"http://([a-z0-9.-]+)", text)))


def follow(page, store, root, site, before, scratch):
    upgrade = "rolling" if schema(site) == schema(before) else "migration"
    with contextlib.ExitStack() as stack:
        authority = Authority(scratch)
        began = time.monotonic()
        machine = Machine(root, scratch, stack)
        hosts = {GATEWAY: "127.0.0.1", FORGE: "127.0.0.2"}
        for number, mirror in enumerate(mirrors(root)):
            hosts[mirror] = f"127.0.1.{number + 1}"
            relay(machine.listen(hosts[mirror], 80), lambda mirror=mirror: socket.create_connection((mirror, 80)))
        machine.prepare(hosts, scratch / "ca.crt")
        releases = scratch / "site/releases/latest/download"
        publish(before, releases)
        serve_releases(machine.listen(hosts[FORGE], 443), scratch / "site", authority.server_context(FORGE))
        certificate, key = authority.sign(GATEWAY)
        home = machine.root / "home/olga"
        public = machine.listen(hosts[GATEWAY], 443)
        if store == "sqlite":
            shutil.copy(certificate, home / "fullchain.pem")
            shutil.copy(key, home / "privkey.pem")
        else:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate, key)
            public = context.wrap_socket(public, server_side=True)
        relay(public, lambda: machine.connect(("127.0.0.1", 7477)))
        print(f"systemd runs after {time.monotonic() - began:.1f} s")
        steps = Steps(machine)
        stack.callback(steps.close)
        is_raised = False
        for block in blocks(page):
            if not block.on - PLACES <= {store, upgrade}:
                continue
            if block.section[1:2] == ["Upgrade"] and not is_raised:
                publish(site, releases)
                raise_version(releases, scratch)
                is_raised = True
            steps.take(block)
        steps.report()


class Steps:
    """What was done, section by section."""

    def __init__(self, machine):
        self.machine = machine
        self.section, self.shells, self.done = None, {}, []
        self.moment = None

    def take(self, block):
        if block.section[:2] != self.section:
            self.close()
            self.section = block.section[:2]
            if self.section[1:] == ["Restore"]:
                self.moment = datetime.datetime.now(datetime.timezone.utc)
        title = " / ".join(block.section[1:])
        if block.skip:
            print(f"\n== {title}: left out, {block.skip}")
            self.done.append((title, f"left out: {block.skip}", None))
            return
        user = "ann" if "laptop" in block.on else "olga"
        if user not in self.shells:
            directory = self.laptop() if user == "ann" else None
            self.shells[user] = Shell(self.machine, user, directory)
        print(f"\n== {title}")
        if "dates" in block.on:
            block.text = DATE.sub(self.dated, block.text)
        for command in block.commands():
            print(f"{user}$ {command}", flush=True)
            code, lines, seconds = self.shells[user].run(command)
            print(*lines, f"-- {seconds:.1f} s", sep="\n", flush=True)
            if code != 0:
                why = "did not end" if code is None else f"exited {code}"
                self.machine.inside("journalctl", "--no-pager", "--lines=50", "--unit=siglum*", check=False)
                raise SystemExit(f"error: {title}: {command!r} {why}")
            self.done.append((title, command, (seconds, lines)))

    def dated(self, example):
        return self.moment.isoformat(" ") if example[1] else datetime.date.today().isoformat()

    def close(self):
        for shell in self.shells.values():
            shell.close()
        self.shells = {}

    def laptop(self):
        """What a laptop has: the program, a repository with sessions, and the token that somebody gave it."""
        as_ann = ["setpriv", "--reuid", "ann", "--regid", "ann", "--init-groups", "--reset-env", "bash", "-lc"]
        self.machine.inside(*as_ann, "cd; TMPDIR=~ siglum demo --keep >demo.log 2>&1")
        [demo] = (self.machine.root / "home/ann").glob("siglum-demo-*")
        shop, inside = demo / "shop", "/" + str(demo.relative_to(self.machine.root))
        with open(self.machine.root / "home/ann/.profile", "a") as profile:
            profile.write(f"\nexport SIGLUM_HOME={inside}/siglum\n")
        shutil.copy(self.machine.root / "home/olga/ann.token", shop / "ann.token")
        self.machine.inside("chown", "ann:ann", f"{inside}/shop/ann.token")
        return f"{inside}/shop"

    def report(self):
        print("\n== summary")
        for title, command, ended in self.done:
            first = command.splitlines()[0][:100]
            if ended is None:
                print(f"{title}: {first}")
                continue
            seconds, lines = ended
            print(f"{title}: {first}  [{seconds:.1f} s]  {lines[-1].strip()[:120] if lines else ''}")


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("error: ended by a signal"))
    page, store, root, site, *before = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="siglum-operate-") as scratch:
        sites = (Path(each) for each in (site, *before, site))
        follow(Path(page), store, Path(root).resolve(), next(sites), next(sites), Path(scratch))
