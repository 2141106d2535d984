"""Writes small WARC, WET and tar files, and checks the corpus that neardup writes for them with other programs.

archives.py write FOLDER      writes the files of testdata/archives, the same bytes each time
archives.py check IN CORPUS REMOVED
                              exits with an error unless CORPUS has the records of IN without the ids in the Parquet
                              folder REMOVED, byte for byte as they are stored
"""

import gzip
import io
import pathlib
import sys
import tarfile

from warcio.archiveiterator import ArchiveIterator
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

WORDS = "amber birch cedar dune ember fjord grove heath islet juniper kelp lagoon moss nettle opal pine quartz reed sedge tarn".split()


def text(seed, changed=None):
    """Returns sixty words that depend on the seed, perhaps with one changed."""
    words = [WORDS[(seed * 7 + i * i + i * seed) % len(WORDS)] + str((i * seed) % 10) for i in range(60)]
    if changed is not None:
        words[changed] = "other"
    return " ".join(words)


# Page 1 is similar to page 0, and page 3 to page 2 and of the same length in bytes.
TEXTS = [text(3), text(3, 30), text(5), text(5).upper(), text(8), text(11)]


def page(i):
    return f"<html><head><title>Page {i // 2}</title><style>p {{}}</style></head><body><p>{TEXTS[i]}</p></body></html>".encode()


def warc(path, compressed, wet):
    def uuid(i):
        return f"<urn:uuid:00000000-0000-4000-8000-{i:012}>"

    with open(path, "wb") as f:
        writer = WARCWriter(f, gzip=compressed, warc_version="1.1" if wet else "1.0")

        def write(kind, number, payload, content_type, http=None):
            headers = {"WARC-Record-ID": uuid(number), "WARC-Date": f"2024-01-0{1 + number % 9}T00:00:00Z"}
            writer.write_record(writer.create_warc_record(
                f"https://example.org/{number}", kind, payload=io.BytesIO(payload), http_headers=http,
                warc_content_type=content_type, warc_headers_dict=headers))

        write("warcinfo", 100, b"software: archives.py\r\n", "application/warc-fields")
        for i in range(len(TEXTS)):
            if wet:
                write("conversion", i, TEXTS[i].encode(), "text/plain")
                continue
            body, fields = page(i), [("Content-Type", "text/html; charset=utf-8")]
            if i % 3 == 1:
                body, fields = gzip.compress(body, mtime=0), fields + [("Content-Encoding", "gzip")]
            if i % 3 == 2:
                body, fields = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body), fields + [("Transfer-Encoding", "chunked")]
            write("request", 200 + i, b"", "application/http; msgtype=request", StatusAndHeaders(f"GET /{i} HTTP/1.1", [("Host", "example.org")], is_http_request=True))
            write("response", i, body, "application/http; msgtype=response", StatusAndHeaders("200 OK", fields, protocol="HTTP/1.1"))


def tar(path):
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as archive:
        def add(name, content=None, **fields):
            info = tarfile.TarInfo(name)
            for key, value in fields.items():
                setattr(info, key, value)
            if content is not None:
                info.size = len(content)
            archive.addfile(info, io.BytesIO(content) if content is not None else None)

        add("pages", type=tarfile.DIRTYPE, mode=0o755)
        for i, content in enumerate(TEXTS):
            add(f"pages/{'long-name-' * 11 if i == 4 else ''}{i}.txt", content.encode())
        add("link", type=tarfile.SYMTYPE, linkname="pages/0.txt")


def write(folder):
    warc(folder / "pages.warc", False, False)
    warc(folder / "pages.warc.gz", True, False)
    warc(folder / "pages.wet.gz", True, True)
    tar(folder / "pages.tar")


def records(path):
    """Yields the id and the stored bytes of each record or member of a file."""
    content = path.read_bytes()
    if path.suffix == ".tar":
        with tarfile.open(path) as archive:
            members = archive.getmembers()
        ends = [m.offset for m in members[1:]] + [len(content)]
        # Zeros end an archive, and do not belong to its last member.
        return [(m.name, content[m.offset:end].rstrip(b"\0")) for m, end in zip(members, ends)]
    found = []
    with open(path, "rb") as f:
        records = ArchiveIterator(f, check_digests="raise")
        for record in records:
            identifier = record.rec_headers.get_header("WARC-Record-ID")
            if record.rec_type == "response":
                assert b"<title>" in record.content_stream().read(), identifier
            begin = records.get_record_offset()
            found.append((identifier, content[begin:begin + records.get_record_length()]))
    return found


def check(source, corpus, removed):
    import pyarrow.parquet

    gone = {(row["source"], row["id"]) for row in pyarrow.parquet.read_table(removed).to_pylist()}
    for path in sorted(source.iterdir()):
        want = [r for r in records(path) if (path.name, r[0]) not in gone]
        got = records(corpus / path.name)
        assert got == want, f"{path.name}: {[i for i, _ in got]}, want {[i for i, _ in want]}"
        assert len(want) < len(records(path)), f"{path.name}: nothing was removed"
        print(f"{path.name}: {len(got)} records of {len(records(path))}, byte for byte")


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(pathlib.Path(sys.argv[2]))
    else:
        check(*map(pathlib.Path, sys.argv[2:]))
