"""Files that are replaced where other users may write, too, and saves that fail: nothing of ours or theirs is lost.

The names X12 and X14 are the rows of docs/odd_inputs.md that each test answers for.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import resource
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from cwlearn.cli import merge as cli_merge
from cwlearn.cli import predict as cli_predict
from cwlearn.cli import train as cli_train
from cwlearn.core import model_file
from cwlearn.text.run import Run
from cwlearn.utils.atomic_file import check_writable, open_in_place, replaced_file
from cwlearn.utils.lock_file import HeldError, held_lock
from tests.text_cases import ENVIRONMENT, explained, fail, outcome_of, succeed

NOBODY = 65534  # another user, and a group of his
root_only = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of other users, and mounts")


def replace(path, data=b"new"):
    with replaced_file(path) as file:
        file.write(data)


def mode_of(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def give_away(path, user=NOBODY, group=NOBODY):
    os.chown(path, user, group, follow_symlinks=False)


@pytest.fixture
def shared(tmp_path):
    """A folder that all may write to, in which only the owner of a file may remove it."""
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o1777)
    return folder


@pytest.fixture
def victim(tmp_path):
    path = tmp_path / "private" / "m.npz"
    path.parent.mkdir()
    path.write_bytes(b"precious")
    return path


# -- links -------------------------------------------------------------------------------------------------------------


@root_only
@pytest.mark.parametrize("mode", [0o1777, 0o777], ids=["sticky", "not sticky"])
@pytest.mark.parametrize("to", ["file", "folder", "nothing"])
def test_x12_another_users_link_in_a_folder_open_to_all_is_not_followed(to, mode, text, shared, victim):
    shared.chmod(mode)
    link = shared / "link"
    target = {"file": victim, "folder": victim.parent, "nothing": victim.with_name("new.npz")}[to]
    link.symlink_to(target)
    give_away(link)
    path = link / "m.npz" if to == "folder" else link
    for call in (check_writable, replace):
        with pytest.raises(PermissionError, match="the link 'link' is another user's, in a folder that all may write"):
            call(path)
    message = fail("train", "-a", "arow", text, "-m", path)
    assert message.startswith(f"cwlearn: error: {path}: the link 'link' is another user's")
    assert os.listdir(victim.parent) == ["m.npz"]
    assert victim.read_bytes() == b"precious"
    assert os.readlink(link) == str(target)
    assert os.listdir(shared) == ["link"]


def append(path, data=b"new"):
    with os.fdopen(open_in_place(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), "wb") as file:
        file.write(data)


def test_a_journal_is_no_folder(tmp_path):
    with pytest.raises(IsADirectoryError):
        append(f"{tmp_path}/new/")
    assert os.listdir(tmp_path) == []


@root_only
@pytest.mark.parametrize("to", ["file", "folder", "nothing"])
def test_x12_another_users_link_does_not_lead_a_journal_elsewhere(to, shared, victim):
    link = shared / "link"
    link.symlink_to({"file": victim, "folder": victim.parent, "nothing": victim.with_name("j.jsonl")}[to])
    give_away(link)
    with pytest.raises(PermissionError, match="the link 'link' is another user's, in a folder that all may write"):
        append(link / "m.npz" if to == "folder" else link)
    assert os.listdir(victim.parent) == ["m.npz"]
    assert victim.read_bytes() == b"precious"


@root_only
def test_x12_a_journal_is_no_file_of_another_user_in_a_folder_open_to_all(shared):
    path = shared / "j.jsonl"
    path.touch()
    give_away(path)
    with pytest.raises(PermissionError, match=r"the file there is another user's, .* it is not written to") as caught:
        append(path)
    assert (caught.value.filename, path.read_bytes()) == (str(path), b"")
    shared.chmod(0o755)
    append(path)
    append(path)
    assert path.read_bytes() == b"newnew"


def test_a_journal_is_opened_by_any_path_that_leads_to_it(tmp_path):
    (tmp_path / "link").symlink_to("j.jsonl")
    append(tmp_path / "link")
    append(tmp_path / "." / "j.jsonl")
    assert (tmp_path / "j.jsonl").read_bytes() == b"newnew"
    assert mode_of(tmp_path / "j.jsonl") & 0o077 == 0o066 & ~os.umask(os.umask(0o22)) & 0o077
    with pytest.raises(IsADirectoryError):
        append(tmp_path)
    with pytest.raises(FileNotFoundError, match="there is no such folder to write to"):
        append(tmp_path / "none" / "j.jsonl")


def locked(path):
    with held_lock(path):
        return True


def test_a_lock_file_is_no_other_name_of_a_file_and_no_pipe(tmp_path):
    path, precious = tmp_path / "m.npz.lock", tmp_path / "precious"
    precious.write_bytes(b"precious")
    for make in (lambda: os.link(precious, path), lambda: os.mkfifo(path)):
        make()
        with pytest.raises(OSError, match="not a lock file") as caught:
            locked(path)
        assert caught.value.filename == path
        os.unlink(path)
    path.symlink_to(precious)
    with pytest.raises(OSError, match=r"m\.npz\.lock"):
        locked(path)
    path.unlink()
    assert precious.read_bytes() == b"precious"
    with held_lock(path):
        assert path.read_text() == f"{os.getpid()}\n"
        with pytest.raises(HeldError) as held:
            locked(path)
        assert held.value.holder == str(os.getpid())
    assert not path.exists()


@root_only
@pytest.mark.parametrize("why", ["ours", "the folder's owner's", "in a folder of ours"])
def test_x12_a_link_is_followed_where_nobody_else_can_have_put_it(why, shared, victim):
    link = shared / "link"
    link.symlink_to(victim)
    if why == "the folder's owner's":
        give_away(link)
        give_away(shared)
    if why == "in a folder of ours":
        give_away(link)
        shared.chmod(0o755)
    check_writable(link)
    replace(link)
    assert victim.read_bytes() == b"new"
    assert link.is_symlink()


@pytest.mark.parametrize(
    "path",
    ["link", "chain", "folder/m.npz", "a/../chain", "./a//back/folder/./m.npz", "absolute", "up"],
)
def test_links_and_folders_are_followed_as_the_system_does(path, tmp_path, monkeypatch):
    (tmp_path / "a" / "b").mkdir(parents=True)
    target = tmp_path / "a" / "b" / "m.npz"
    target.write_bytes(b"old")
    for name, text in {
        "link": "a/b/m.npz",
        "chain": "folder/m.npz",
        "folder": "a/b/",
        "a/back": "..",
        "absolute": str(tmp_path / "chain"),
        "up": "a/b/../b/m.npz",
    }.items():
        (tmp_path / name).symlink_to(text)
    monkeypatch.chdir(tmp_path)
    assert os.path.realpath(path) == str(target)
    for given in (path, os.path.join(tmp_path, path)):
        check_writable(given)
        replace(given, given.encode())
        assert target.read_bytes() == given.encode()
    assert os.listdir(target.parent) == ["m.npz"]


def test_links_that_lead_nowhere_are_errors_and_links_to_what_is_not_there_are_names(tmp_path):
    (tmp_path / "round").symlink_to("round")
    (tmp_path / "far").symlink_to("none/m.npz")
    (tmp_path / "new").symlink_to("m.npz")
    for path, error in ((tmp_path / "round", errno.ELOOP), (tmp_path / "far", errno.ENOENT)):
        for call in (check_writable, replace):
            with pytest.raises(OSError) as caught:
                call(path)
            assert (caught.value.errno, caught.value.filename) == (error, str(path))
    replace(tmp_path / "new")
    assert (tmp_path / "m.npz").read_bytes() == b"new"


def test_x12_a_folder_that_is_exchanged_while_a_file_is_written_does_not_lead_it_elsewhere(tmp_path, victim):
    folder = tmp_path / "folder"
    folder.mkdir()

    with replaced_file(folder / "m.npz") as file:
        file.write(b"new")
        folder.rename(tmp_path / "moved")
        folder.symlink_to(victim.parent)
    assert (tmp_path / "moved" / "m.npz").read_bytes() == b"new"
    assert victim.read_bytes() == b"precious"
    assert os.listdir(victim.parent) == os.listdir(tmp_path / "moved") == ["m.npz"]


# -- owners and modes --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [None, 0o600, 0o640, 0o666, 0o4755])
def test_x12_a_file_is_at_no_time_open_to_more_than_the_one_that_it_replaces(mode, tmp_path):
    path = tmp_path / "m.npz"
    if mode is not None:
        path.touch()
        path.chmod(mode)
    before = os.umask(0o022)
    try:
        with replaced_file(path) as file:
            mode_while_written = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
    finally:
        os.umask(before)
    assert mode_while_written == (0o644 if mode is None else 0o600)
    assert mode_of(path) == (0o644 if mode is None else mode & 0o777)


@root_only
@pytest.mark.parametrize("mode", [0o640, 0o6754])
def test_x12_a_file_keeps_its_owner_and_its_group(mode, tmp_path):
    path = tmp_path / "m.npz"
    path.touch()
    give_away(path, 4321, 1234)
    path.chmod(mode)
    check_writable(path)
    replace(path)
    found = path.stat()
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (4321, 1234, mode & 0o777)
    assert path.read_bytes() == b"new"


@root_only
@pytest.mark.parametrize(("mode", "left"), [(0o664, 0o604), (0o660, 0o600), (0o606, 0o600), (0o646, 0o604)])
def test_x12_where_the_group_cannot_be_kept_nobody_gains_a_right(mode, left, tmp_path, monkeypatch):
    path = tmp_path / "m.npz"
    path.touch()
    give_away(path, 0, 1234)
    path.chmod(mode)

    def refuse(*_):
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "fchown", refuse)
    replace(path)
    assert (path.stat().st_gid, mode_of(path)) == (os.getegid(), left)


# -- what others are writing -------------------------------------------------------------------------------------------


def test_x12_a_file_that_is_being_written_is_not_taken_for_a_stale_one(tmp_path):
    """However long it has not changed."""
    with replaced_file(tmp_path / "slow") as file:
        file.write(b"slow")
        file.flush()
        (temporary,) = tmp_path.iterdir()
        os.utime(temporary, (0, 0))
        replace(tmp_path / "quick", b"quick")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"slow": b"slow", "quick": b"quick"}


def test_x12_a_file_is_locked_until_it_has_its_name(tmp_path, monkeypatch):
    rename = os.replace

    def age_and_rename(name, *args, **kwargs):
        os.utime(tmp_path / name, (0, 0))
        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", rename)
            replace(tmp_path / "other", b"other")
        rename(name, *args, **kwargs)

    monkeypatch.setattr(os, "replace", age_and_rename)
    replace(tmp_path / "m.npz")
    assert sorted(os.listdir(tmp_path)) == ["m.npz", "other"]


@root_only
def test_x12_only_stale_files_of_ours_are_removed(shared):
    names = {kind: shared / f".cwlearn-{kind}.tmp" for kind in ("ours", "theirs", "link", "pipe", "folder")}
    for kind in ("ours", "theirs"):
        names[kind].touch()
    give_away(names["theirs"])
    names["link"].symlink_to(names["theirs"])
    os.mkfifo(names["pipe"])
    names["folder"].mkdir()
    for path in names.values():
        os.utime(path, (0, 0), follow_symlinks=False)
    replace(shared / "m.npz")
    left = {path.name for kind, path in names.items() if kind != "ours"} | {"m.npz"}
    assert set(os.listdir(shared)) == left


def test_where_there_are_no_locks_the_age_tells_what_is_stale(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    old, new = tmp_path / ".cwlearn-old.tmp", tmp_path / ".cwlearn-new.tmp"
    for path in (old, new):
        path.touch()
    os.utime(old, (0, 0))
    replace(tmp_path / "m.npz")
    assert sorted(os.listdir(tmp_path)) == [new.name, "m.npz"]


# -- what can be known before the work ---------------------------------------------------------------------------------


@pytest.fixture
def refused_before_training(text, tmp_path, monkeypatch):
    """Call a command that must fail before it reads a row, and change nothing in a folder."""

    def train(run):
        raise AssertionError("the training has begun")

    monkeypatch.setattr(Run, "train", train)

    def call(path, *words):
        folder = os.path.dirname(path)

        def state():
            return [(entry.name, entry.stat().st_mtime_ns, entry.stat().st_ino) for entry in os.scandir(folder)]

        before = state()
        message = fail("train", "-a", "arow", text, "-m", path, *words)
        assert state() == before
        start = f"cwlearn: error: {path}"
        assert message.startswith(start)
        return message.removeprefix(start).removeprefix(".checkpoint").removeprefix(": ")

    return call


def test_x14_a_name_that_is_too_long_is_refused_before_training(refused_before_training, tmp_path):
    assert refused_before_training(f"{tmp_path}/{'m' * 252}.npz") == "File name too long"
    fits = f"{tmp_path}/{'m' * 250}.npz"
    check_writable(fits)
    assert refused_before_training(fits, "--checkpoint", 1) == "File name too long"


@root_only
def test_x14_another_users_file_in_a_shared_folder_is_refused_before_training(refused_before_training, shared):
    """For root, too: what it writes there would be his."""
    path = shared / "m.npz"
    path.write_bytes(b"his")
    give_away(path)
    assert "another user's, in a folder that all may write to" in refused_before_training(str(path))
    shared.chmod(0o755)
    check_writable(path)


@pytest.fixture
def mounted():
    """Mount something, until the test ends."""
    places = []

    def mount(*words):
        done = subprocess.run(["mount", *map(str, words)], capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"nothing can be mounted here: {done.stderr}")
        places.append(words[-1])

    yield mount
    for place in places:
        subprocess.run(["umount", place], check=True)


@root_only
def test_x14_a_mount_point_is_refused_before_training(refused_before_training, mounted, tmp_path):
    path, other = tmp_path / "m.npz", tmp_path / "other"
    for file in (path, other):
        file.write_bytes(b"old")
    check_writable(path)
    mounted("--bind", other, path)
    assert refused_before_training(str(path)) == "the file there is a mount point, which cannot be replaced"


@root_only
@pytest.mark.parametrize(
    ("option", "message"), [("ro", "Read-only file system"), ("nr_inodes=2", "No space left on device")]
)
def test_x14_a_file_system_that_takes_nothing_is_refused_before_training(
    option, message, refused_before_training, mounted, tmp_path
):
    folder = tmp_path / "folder"
    folder.mkdir()
    mounted("-t", "tmpfs", "-o", f"size=64k,{option}", "tmpfs", folder)
    if option != "ro":
        (folder / "full").touch()
    assert refused_before_training(str(folder / "m.npz")) == message


@root_only
def test_x14_a_full_file_system_is_refused_before_training(refused_before_training, mounted, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    mounted("-t", "tmpfs", "-o", "size=64k", "tmpfs", folder)
    with contextlib.suppress(OSError), open(folder / "full", "wb", buffering=0) as file:
        while file.write(bytes(4096)):
            pass
    assert refused_before_training(str(folder / "m.npz")) == "No space left on device"


@root_only
@pytest.mark.parametrize(
    ("flag", "of", "message"),
    [
        ("i", "file", "the file there is read-only"),
        ("a", "file", "the file there may not be replaced: Operation not permitted"),
        ("i", "folder", "the folder is not writable"),
    ],
)
def test_x14_what_is_protected_is_refused_before_training(flag, of, message, refused_before_training, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    path = folder / "m.npz"
    path.write_bytes(b"old")
    with protected(flag, path if of == "file" else folder):
        assert refused_before_training(str(path)) == message


@root_only
@pytest.mark.parametrize("name", ["m.npz", "new.npz"])
def test_x14_a_folder_in_which_nothing_can_be_renamed_is_found_out(name, tmp_path):
    (tmp_path / "m.npz").write_bytes(b"old")
    with protected("a", tmp_path), pytest.raises(PermissionError, match="Operation not permitted"):
        check_writable(tmp_path / name)


@contextlib.contextmanager
def protected(flag, path):
    """Let nobody change a file or a folder (i), or what is in it already (a)."""
    if shutil.which("chattr") is None or subprocess.run(["chattr", f"+{flag}", path]).returncode:
        pytest.skip("this file system protects nothing")
    try:
        yield
    finally:
        subprocess.run(["chattr", f"-{flag}", path], check=True)


def test_x14_a_limit_on_the_size_of_files_is_met_before_training(text, tmp_path):
    limit = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))}
    (tmp_path / "bad.svm").write_text("this would be an error, if it were read\n")
    outcome = outcome_of("train", "-a", "arow", tmp_path / "bad.svm", "-m", tmp_path / "m.npz", **limit)
    assert explained(outcome.err) == f"cwlearn: error: {tmp_path / 'm.npz'}: File too large"
    assert sorted(os.listdir(tmp_path)) == ["bad.svm", "data.svm"]


PROTECTED = ["the file there may not be replaced: Operation not permitted", "Operation not permitted"]
HIS = "the file there is another user's, in a folder that all may write to: it is not replaced"
AS_NOBODY = """
import os, sys
from cwlearn.utils.atomic_file import check_writable, replaced_file
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
def replace(path):
    with replaced_file(path):
        pass
for call in (check_writable, replace):
    try:
        call(sys.argv[1])
        print("done")
    except OSError as error:
        print(error.strerror)
"""


@root_only
@pytest.mark.parametrize(
    ("folder_mode", "file_mode", "owner", "told"),
    [
        (0o1770, 0o666, 0, PROTECTED),
        (0o1777, 0o666, 0, PROTECTED),
        (0o1777, 0o666, 1, [HIS, HIS]),
        (0o1777, 0o644, NOBODY, ["done", "done"]),
        (0o770, 0o666, 0, ["done", "done"]),
        (0o770, 0o644, 0, ["the file there is read-only"] * 2),
        (0o750, 0o666, 0, ["the folder is not writable"] * 2),
        (0o730, 0o666, 0, ["done", "done"]),
        (0o1730, 0o666, 0, PROTECTED),
    ],
)
def test_x14_whether_a_user_may_replace_a_file_is_known_before(folder_mode, file_mode, owner, told):
    with tempfile.TemporaryDirectory() as name:
        outside, folder = Path(name), Path(name, "folder")
        outside.chmod(0o755)
        folder.mkdir()
        path = folder / "m.npz"
        path.write_bytes(b"old")
        give_away(folder, 0, NOBODY)
        give_away(path, owner, NOBODY if owner == NOBODY else 0)
        folder.chmod(folder_mode)
        path.chmod(file_mode)
        line = [sys.executable, "-c", AS_NOBODY, path]
        done = subprocess.run(line, capture_output=True, text=True, env=ENVIRONMENT, timeout=30)
        assert (done.stdout.splitlines(), done.stderr) == (told, "")
        assert os.listdir(folder) == ["m.npz"]
        found = path.stat()
        if told == ["done", "done"]:  # by one who could not give it to anybody
            assert (found.st_uid, found.st_gid) == (NOBODY, NOBODY)
            assert stat.S_IMODE(found.st_mode) == (0o606 if owner == 0 else file_mode)
        else:
            assert (found.st_uid, stat.S_IMODE(found.st_mode), path.read_bytes()) == (owner, file_mode, b"old")


# -- saves that fail all the same --------------------------------------------------------------------------------------


def then_in_the_way(monkeypatch, module, act=os.mkdir):
    """Let something happen to an output after it was checked that it can be written."""
    original = module.check_writable

    def check(path):
        original(path)
        act(path)

    monkeypatch.setattr(module, "check_writable", check)


def rescued(message, path):
    """Where the model is that could not be saved under its name."""
    found = re.fullmatch(rf"cwlearn: error: {re.escape(str(path))}: (.*); the model is in (.*) instead", message)
    assert found, message
    assert mode_of(found[2]) == 0o600
    return found[1], Path(found[2])


@pytest.mark.parametrize("verb", ["train", "train in shards", "merge"])
def test_x14_a_model_that_cannot_have_its_name_is_saved_under_another_one(verb, text, model, tmp_path, monkeypatch):
    module = cli_merge if verb == "merge" else cli_train
    train = ["train", "-a", "arow", text]
    words = {"train": train, "train in shards": [*train, "--workers", 2], "merge": ["merge", model]}
    good, path = tmp_path / "good.npz", tmp_path / "m.npz"
    succeed(*words[verb], "-m", good, "--quiet")
    before = set(os.listdir(tmp_path))
    then_in_the_way(monkeypatch, module)
    why, place = rescued(fail(*words[verb], "-m", path), path)
    assert why == "a folder, expected the name of a file"
    assert re.fullmatch(r"m-[0-9a-f]{8}\.npz", place.name)
    assert place.parent == tmp_path
    assert place.read_bytes() == good.read_bytes()
    assert set(os.listdir(tmp_path)) == before | {"m.npz", place.name}


@pytest.mark.parametrize("where", ["the working directory", "the folder for temporary files", "nowhere"])
def test_x14_a_model_whose_folder_is_gone_is_saved_elsewhere(where, text, tmp_path, monkeypatch):
    folder, working, temporary = (tmp_path / name for name in ("folder", "working", "temporary"))
    for one in (folder, working, temporary):
        one.mkdir()
    path = folder / "m.npz"
    monkeypatch.chdir(working)
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    gone = [folder, *([] if where == "the working directory" else [working])]
    gone += [temporary] if where == "nowhere" else []
    then_in_the_way(monkeypatch, cli_train, lambda _: [shutil.rmtree(one) for one in gone])
    message = fail("train", "-a", "arow", text, "-m", path)
    if where == "nowhere":
        assert message == f"cwlearn: error: {path}: there is no such folder to write to"
        return
    why, place = rescued(message, path)
    assert why == "there is no such folder to write to"
    assert place.parent == (working if where == "the working directory" else temporary)
    assert model_file.load(place).statistics["rows"] == 305


def test_x14_a_checkpoint_stays_where_the_model_cannot_be_saved(text, tmp_path, monkeypatch):
    path = tmp_path / "m.npz"
    then_in_the_way(monkeypatch, cli_train, lambda path: path.endswith("checkpoint") or os.mkdir(path))
    _, place = rescued(fail("train", "-a", "arow", text, "-m", path, "--checkpoint", 1e-9), path)
    assert model_file.load(place).statistics["rows"] == 305
    assert model_file.load(f"{path}.checkpoint").unfinished["done"] == 305


@pytest.mark.parametrize("name", ["out", "o" * 250 + ".txt", "ö" * 125])
@pytest.mark.parametrize("through_a_link", [False, True])
def test_x14_predictions_that_cannot_have_their_name_are_kept(name, through_a_link, text, model, tmp_path, monkeypatch):
    folder = tmp_path / "folder"
    folder.mkdir()
    expected = succeed("predict", text, "-m", model).out
    given = path = folder / name
    if through_a_link:
        given = tmp_path / "link"
        given.symlink_to(path)
    then_in_the_way(monkeypatch, cli_predict, lambda _: None)
    original = os.replace

    def busy(old, new, **kwargs):
        if new == name:
            raise OSError(errno.EBUSY, "Device or resource busy", old)
        original(old, new, **kwargs)

    monkeypatch.setattr(os, "replace", busy)
    message = fail("predict", text, "-m", model, "-o", given)
    start = f"cwlearn: error: {given}: Device or resource busy; what was to stand there is in "
    assert message.startswith(start)
    kept = Path(message.removeprefix(start))
    assert kept.read_text() == expected
    assert os.listdir(folder) == [kept.name]
    assert kept.parent == folder
    assert re.fullmatch(r".{3,40}-[0-9a-f]{8}(\.txt)?", kept.name)


def test_x14_predictions_that_are_not_whole_are_not_kept(text, model, tmp_path):
    text.write_text("1 1:1\n" * 1000 + "bad\n")
    fail("predict", text, "-m", model, "-o", tmp_path / "out")
    assert sorted(os.listdir(tmp_path)) == ["data.svm", "model.npz"]


def test_a_folder_that_cannot_be_listed_can_be_written_to(tmp_path, monkeypatch):
    """As a box for letters; root may list it all the same, so the system is replaced."""
    original = os.open

    def refuse(path, flags, *args, **kwargs):
        if path == os.curdir and not flags & os.O_PATH:
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return original(path, flags, *args, **kwargs)

    monkeypatch.setattr(os, "open", refuse)
    replace(tmp_path / "m.npz")
    assert (tmp_path / "m.npz").read_bytes() == b"new"


def test_no_descriptor_stays_open(tmp_path):
    def fail_to_write(path):
        with replaced_file(path):
            raise OSError(errno.ENOSPC, "No space left on device")

    (tmp_path / "link").symlink_to("m.npz")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        replace(tmp_path / "link")
        check_writable(tmp_path / "link")
        for path, call in (("none/m.npz", replace), ("link", fail_to_write), (".", replace)):
            with pytest.raises(OSError):
                call(tmp_path / path)
    assert len(os.listdir("/proc/self/fd")) == before
