"""Writes src/legwork/_sync.py from src/legwork/_async.py. Run it after every change of that file."""

import re
from pathlib import Path

FOLDER = Path(__file__).parent / "src" / "legwork"
REPLACED = [
    (r"async (def|with|for) ", r"\1 "),
    (r"\bawait ", ""),
    (r"\bimport asyncio\n", ""),
    (r"\basyncio\.sleep\(", "time.sleep("),
    (r"\b__a(iter|next|enter|exit)__", r"__\1__"),
    (r"\baclose\(", "close("),
    (r"\baread\(", "read("),
    (r"\baiter_bytes\(", "iter_bytes("),
    (r"\bStopAsyncIteration\b", "StopIteration"),
    (r"\bAsync([A-Z]\w*)", r"\1"),
]


def made_synchronous(code: str) -> str:
    for pattern, replacement in REPLACED:
        code = re.sub(pattern, replacement, code)
    return code


def synchronous() -> str:
    _, rest = made_synchronous((FOLDER / "_async.py").read_text()).split("\n", 1)
    return '"""The synchronous client, made by generate_sync.py from _async.py. Do not edit it."""\n' + rest


if __name__ == "__main__":
    (FOLDER / "_sync.py").write_text(synchronous())
