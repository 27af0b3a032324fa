# SPDX-License-Identifier: Apache-2.0
"""Release files, from a server on this machine that serves whole, wrong, short and absent ones."""

import hashlib
import http.server
import io
import socket
import tarfile
import threading
import time

import pytest

from tests.harness import download

pytestmark = pytest.mark.unit

CONTENT = b"\x7fELF the program\n" * 100_000  # more than one chunk
SHA256 = hashlib.sha256(CONTENT).hexdigest()
PROGRAM = download.Release("https://dl.example/v1/kubelet", "https://dl.example/v1/kubelet.sha256")


class Server(http.server.ThreadingHTTPServer):
    """`files`: path → body; `short`: paths whose connection closes half-way; `silent`: paths that never answer."""

    def __init__(self):
        self.files, self.short, self.silent, self.asked = {}, set(), set(), []
        super().__init__(("127.0.0.1", 0), Handler)


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        if self.path in self.server.silent:
            time.sleep(3)
        body = self.server.files.get(self.path)
        if body is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if self.path in self.server.short else body)

    def log_message(self, *_):
        pass


@pytest.fixture
def server(monkeypatch):
    with Server() as served:
        thread = threading.Thread(target=served.serve_forever, daemon=True)
        thread.start()
        monkeypatch.setenv("GPU_SIM_RELEASES", f"http://127.0.0.1:{served.server_port}")
        served.files = {"/dl.example/v1/kubelet": CONTENT, "/dl.example/v1/kubelet.sha256": SHA256.encode() + b"\n"}
        yield served
        served.shutdown()


def test_a_whole_file_is_kept_and_executable(server, tmp_path):
    notes = []
    download.fetch(PROGRAM, download.checksum(PROGRAM), tmp_path / "kubelet.download", notes.append)
    download.unpack(PROGRAM, tmp_path / "kubelet.download", tmp_path)
    assert (tmp_path / "kubelet").read_bytes() == CONTENT
    assert (tmp_path / "kubelet").stat().st_mode & 0o777 == 0o755
    assert [path.name for path in tmp_path.iterdir()] == ["kubelet"]
    assert notes[-1] == "kubelet: 1 of 1 MiB"
    assert server.asked == ["/dl.example/v1/kubelet.sha256", "/dl.example/v1/kubelet"]


def test_a_file_that_does_not_match_its_checksum_is_refused(server, tmp_path):
    server.files["/dl.example/v1/kubelet"] = CONTENT[:-1] + b"!"
    with pytest.raises(
        download.ChecksumError, match=r"is not the published one, got [0-9a-f]{64} instead of " + SHA256
    ):
        download.fetch(PROGRAM, download.checksum(PROGRAM), tmp_path / "kubelet")
    assert list(tmp_path.iterdir()) == []


def test_a_file_cut_off_is_not_kept(server, tmp_path):
    server.short.add("/dl.example/v1/kubelet")
    with pytest.raises(download.UnavailableError, match=r"cut off after 850000 (of 1700000 )?bytes"):
        download.fetch(PROGRAM, SHA256, tmp_path / "kubelet")
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_there_is_unavailable(server):
    del server.files["/dl.example/v1/kubelet.sha256"]
    with pytest.raises(download.UnavailableError, match=r"kubelet\.sha256: answered 404"):
        download.checksum(PROGRAM)


def test_nobody_listening_is_unavailable(monkeypatch):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound but not listening: refused
        monkeypatch.setenv("GPU_SIM_RELEASES", f"http://127.0.0.1:{taken.getsockname()[1]}")
        with pytest.raises(download.UnavailableError, match="Connection refused"):
            download.checksum(PROGRAM)


def test_a_server_that_does_not_answer_costs_little(server):
    server.silent.add("/dl.example/v1/kubelet.sha256")
    began = time.monotonic()
    with pytest.raises(download.UnavailableError, match=r"timed out|no answer within"):
        download.checksum(PROGRAM, timeout=0.3)
    assert time.monotonic() - began < 2


def test_a_checksum_file_without_one(server):
    server.files["/dl.example/v1/kubelet.sha256"] = b"<html>welcome to the hotel</html>"
    with pytest.raises(
        download.UnavailableError, match="kubelet: its checksum file has no SHA-256 for it, got '<html>"
    ):
        download.checksum(PROGRAM)


@pytest.mark.parametrize(
    "text",
    [SHA256, f"{SHA256}  tool.tar.gz", f"{SHA256} *tool.tar.gz", f"{'0' * 64}  other\n{SHA256}  _dist/tool.tar.gz\n",
     SHA256.upper()],
)  # fmt: skip
def test_forms_of_checksum_files(text):
    assert download.parse_checksum(text, "tool.tar.gz") == SHA256


def test_another_files_checksum_is_not_taken():
    with pytest.raises(download.UnavailableError, match="has no SHA-256 for it"):
        download.parse_checksum(f"{SHA256}  tool.tar.gz.asc", "tool.tar.gz")


def _archive(members):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, body in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(body)
            tar.addfile(entry, io.BytesIO(body))
    return packed.getvalue()


def test_only_the_named_programs_come_out_of_an_archive(tmp_path):
    release = download.Release("https://x.example/t.tar.gz", "", {"bin/ctr": "ctr", "etcd-v1/etcd": "etcd"})
    (tmp_path / "t").write_bytes(_archive({"bin/ctr": b"one", "etcd-v1/etcd": b"two", "../escaped": b"no"}))
    (tmp_path / "out").mkdir()
    download.unpack(release, tmp_path / "t", tmp_path / "out")
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == {"ctr": b"one", "etcd": b"two"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]


def test_an_archive_without_the_program(tmp_path):
    release = download.Release("https://x.example/t.tar.gz", "", {"bin/ctr": "ctr"})
    (tmp_path / "t").write_bytes(_archive({"ctr": b"one"}))
    with pytest.raises(download.UnavailableError, match=r"t.tar.gz: has no file bin/ctr"):
        download.unpack(release, tmp_path / "t", tmp_path)
