"""Hostile import files, small on disk, one per threat.

A name says what an importer of plain messages would have to do with the file; none of them is an export, so all of them
are refused here: at once, in bounded time and memory. `ROWS` puts the same bytes into a real export, as a line of it.
"""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from pathlib import Path
from typing import Any


def line(**keys: Any) -> bytes:
    return json.dumps(keys).encode() + b"\n"


OK = line(role="user", content="hello")
EMOJI = "👩‍👩‍👧‍👦 \u202eevil\u202c ﷽ e\u0301"
HTML = (
    "<img src=x onerror=alert(1)><svg><style><img src=x onerror=alert(2)></style></svg></script>"
    "<script>alert(3)</script>[x](javascript:alert(4))"
)
ANSI = "\x1b]0;owned\x07\x1b[2J\x1b]8;;http://x\x07link\x1b]8;;\x07\x1b]52;c;ZXZpbA==\x07"
SQL = "'; DROP TABLE messages;-- \" OR 1=1 %_* NEAR(a b) col:x ^y -z"
FILES: dict[str, bytes] = {
    "refuse-deep-array.jsonl": b"[" * 200_000 + b"]" * 200_000,
    "refuse-deep-object.jsonl": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "refuse-huge-int.jsonl": b'{"content":"x","tokens":' + b"9" * 5000 + b"}\n",
    "refuse-int-2e63.jsonl": b'{"role":"user","content":"x","tokens":9223372036854775808}\n',
    "refuse-nan.jsonl": b'{"role":"user","content":"x","cost":NaN}\n',
    "refuse-infinity.jsonl": b'{"role":"user","content":"x","cost":-Infinity}\n',
    "refuse-1e999.jsonl": b'{"role":"user","content":"x","cost":1e999}\n',
    "refuse-dup-keys.jsonl": b'{"role":"user","role":"system","content":"x"}\n',
    "refuse-not-json.jsonl": b"\x00\x01\x02PK",
    "skip-invalid-utf8.jsonl": OK + b'{"role":"user","content":"\xff\xfe"}\n' + OK,
    "skip-torn-last-line.jsonl": OK + OK + b'{"role":"user","content":"cut of',
    "skip-torn-middle.jsonl": OK + b'{"role":"user","cont' + b"\n" + OK,
    "skip-nul-hole.jsonl": OK + b"\0" * 4096 + b"\n" + OK,
    "accept-bom-crlf.jsonl": b"\xef\xbb\xbf" + OK.rstrip() + b"\r\n" + OK.rstrip() + b"\r\n",
    "accept-nul-escape.jsonl": b'{"role":"user","content":"a\\u0000b"}\n',
    "accept-lone-surrogate.jsonl": b'{"role":"user","content":"a\\ud800b"}\n',
    "accept-emoji-rtl-zwj.jsonl": json.dumps({"role": "user", "content": EMOJI}, ensure_ascii=False).encode() + b"\n",
    "accept-u2028.jsonl": json.dumps({"role": "user", "content": "a\u2028b\u0085c"}, ensure_ascii=False).encode()
    + b"\n",
    "accept-html.jsonl": line(role="assistant", content=HTML),
    "accept-ansi.jsonl": line(role="assistant", content=ANSI),
    "accept-sql.jsonl": line(role="user", content=SQL),
    "accept-formula.jsonl": line(role="user", content='=HYPERLINK("http://x","y")'),
    "accept-traversal-name.jsonl": line(role="user", content="f", file={"filename": "../../../../etc/cron.d/x"}),
    "accept-nul-name.jsonl": line(role="user", content="f", file={"filename": "a\0b/..\\..\\con.txt"}),
    "accept-ssrf-url.jsonl": line(role="user", content="f", file={"url": "http://127.0.0.1:9/latest/meta-data/"}),
    "accept-proto-keys.jsonl": line(role="user", content="x", __proto__={"polluted": 1}, constructor={"prototype": {}}),
}
ROWS = {name: content.split(b"\n")[-2 if content.endswith(b"\n") else -1] + b"\n" for name, content in FILES.items()}
WORDS = (EMOJI, HTML, ANSI, SQL, "a\0b", '=HYPERLINK("http://x","y")', "../../../../etc/cron.d/x", "a\u2028b\u0085c")


def write(folder: Path) -> list[Path]:
    """All of them, the large ones small on disk."""
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    with open(folder / "refuse-huge-line.jsonl", "wb") as sparse:
        sparse.write(b'{"role":"user","content":"')
        sparse.seek(1 << 30)
        sparse.write(b'"}\n')
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as bomb:
        for _ in range(64):
            bomb.write(b" " * (1 << 20))
    (folder / "refuse-gzip-bomb.jsonl.gz").write_bytes(packed.getvalue())
    with zipfile.ZipFile(folder / "refuse-zip-slip.zip", "w") as slip:
        slip.writestr("../../escape.jsonl", OK)
        slip.writestr("/abs.jsonl", OK)
        link = zipfile.ZipInfo("link")
        link.external_attr = 0o120777 << 16
        slip.writestr(link, "/etc/passwd")
    with zipfile.ZipFile(folder / "refuse-zip-bomb.zip", "w", zipfile.ZIP_DEFLATED) as bomb_zip:
        bomb_zip.writestr("0.jsonl", b"0" * (64 << 20))
    (folder / "refuse-symlink.jsonl").symlink_to("/etc/passwd")
    return sorted(folder.iterdir())
