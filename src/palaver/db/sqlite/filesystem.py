"""Where a store may live: a real file in a private directory on a local file system."""

from __future__ import annotations

import os
import stat

from ...errors import BadValue, NotAStore, StoreReadOnly, UnsafeFileSystem
from ..os_errors import refuse_too_many, told

TYPE_CHECKING = False  # typing's own would cost its import, and `palaver ls` starts without it
if TYPE_CHECKING:
    Mount = tuple[str, str]  # where, and which type of file system

MOUNTS = "/proc/self/mountinfo"
_UNSAFE = {
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "smbfs",
    "9p",
    "afs",
    "ceph",
    "glusterfs",
    "lustre",
    "virtiofs",
    "vboxsf",
}


def locate(path: str) -> str:
    """The one name that a file has, by whichever way it is named: its locks and its log lie beside it."""
    if not path or "\0" in path:
        raise BadValue(f"{path!r} is no path; give that of a database file, or ':memory:'")
    try:
        path.encode()
    except UnicodeEncodeError:
        raise BadValue(f"{path!r} is not UTF-8, and SQLite opens nothing else; choose another name") from None
    return os.path.realpath(os.path.expanduser(path))


def prepare(path: str, *, create: bool = True) -> None:
    """Make the directory (0700) and the file (0600) if they are missing; refuse what cannot be a store."""
    if not create and not os.path.exists(path):
        raise NotAStore(f"there is no store at {path}")
    folder = os.path.dirname(path) or "."
    _make_folder(folder)
    mounts = _mounts()
    refuse_unsafe(folder, mounts)
    if not _is_there(path, mounts):
        _make_file(path)


def require(path: str) -> None:
    """Something that can be a store lies there. Nothing is made."""
    mounts = _mounts()
    refuse_unsafe(os.path.dirname(path) or ".", mounts)
    if not _is_there(path, mounts):
        raise NotAStore(f"there is no store at {path}; with readonly=True none is made")


def tighten(path: str) -> list[str]:
    """Make a store of this user private if other users may write to it; what there is to say about that. That other
    users may read it can be wanted."""
    if not _is_open_to_others(path):
        return []
    for name in (path, *(path + end for end in ("-wal", "-shm", "-queue"))):
        if _is_open_to_others(name):
            os.chmod(name, 0o600)
    return [f"others could write {path}; it is yours alone now (mode 600, and so are the files beside it)"]


def _is_open_to_others(name: str) -> bool:
    try:
        seen = os.lstat(name)
    except OSError:
        return False
    return bool(seen.st_mode & 0o022) and stat.S_ISREG(seen.st_mode) and seen.st_uid == os.geteuid()


def can_write(path: str) -> bool:
    """This process may write the file, and make files beside it, where SQLite's log lies."""
    return os.access(path, os.W_OK) and os.access(os.path.dirname(path) or ".", os.W_OK | os.X_OK)


def unreadable(path: str) -> list[str]:
    """Of a store's files, those that are there and that we may not read."""
    names = [path + end for end in ("", "-wal", "-shm")]
    return [name for name in names if os.path.exists(name) and not os.access(name, os.R_OK)]


def is_mounted_readonly(path: str) -> bool:
    """The mount is read-only: no process can change the file, not even root's. A missing permission is another case."""
    return bool(os.statvfs(path).f_flag & os.ST_RDONLY)


def _is_there(path: str, mounts: list[Mount]) -> bool:
    """There is a file that may be a store."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return False
    except OSError as error:
        raise NotAStore(f"cannot use {path}: {error.strerror}; choose another place for the store") from None
    if not stat.S_ISREG(mode):
        what = "a directory" if stat.S_ISDIR(mode) else "not a regular file"
        raise NotAStore(f"{path} is {what}; give the path of a database file")
    if any(point == path for point, _ in mounts):
        raise UnsafeFileSystem(
            f"{path} is mounted by itself, so its log and its locks would lie elsewhere for each who mounts it; "
            "mount the folder that holds it"
        )
    return True


def _make_folder(folder: str) -> None:
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise NotAStore(f"{folder} is not a directory; choose another place for the store") from None
    except OSError as error:
        raise told(error, folder, "choose a writable place", verb="create") from None


def _make_file(path: str) -> None:
    """O_EXCL: a file that exists is never opened here, for closing it would drop SQLite's locks on it."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        return
    except OSError as error:
        raise told(error, path, "choose a writable place", verb="create") from None
    os.chmod(path, 0o600)


def refuse_unsafe(folder: str, mounts: list[Mount] | None = None) -> None:
    kind = kind_of(folder, mounts)
    if kind in _UNSAFE or kind.startswith("fuse"):
        raise UnsafeFileSystem(
            f"{folder} is on a {kind} file system, where SQLite's locks cannot be trusted; "
            "keep the store on a local disk, or use Postgres for many machines"
        )


def refuse_link(name: str) -> None:
    """A file beside a store lies there itself: a link would let others choose which files are locked or removed."""
    if os.path.islink(name):
        raise StoreReadOnly(f"{name} is a symbolic link, which is not followed; remove it")


def kind_of(folder: str, mounts: list[Mount] | None = None) -> str:
    """The file system type of the mount that holds `folder`; '' where the system does not tell."""
    real = os.path.realpath(folder)
    best, kind = -1, ""
    for point, found in _mounts() if mounts is None else mounts:
        if _holds(point, real) and len(point) >= best:
            best, kind = len(point), found
    return kind


def _mounts() -> list[Mount]:
    """All of them; nothing where the system does not tell."""
    try:
        with open(MOUNTS, errors="surrogateescape") as file:
            lines = file.read().splitlines()
    except OSError as error:
        refuse_too_many(error, MOUNTS)  # that is not "the system does not tell"
        return []
    return [_mount(line) for line in lines]


def _mount(line: str) -> Mount:
    """`36 35 98:0 /of/it /where/it/is rw,noatime master:1 - ext4 /dev/root rw`"""
    place, _, rest = line.partition(" - ")
    _, _, _, _, point, *_ = place.split(" ")
    kind, *_ = rest.split(" ")
    return point.replace("\\040", " "), kind


def _holds(mount: str, path: str) -> bool:
    return path == mount or path.startswith(mount.rstrip("/") + "/")
