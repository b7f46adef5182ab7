"""Interleaves columns: for every repeat, every column runs once, in rotating order, next to the raw limit."""

from __future__ import annotations

import json
import os
import shutil
import statistics as st
import subprocess
import sys
import tempfile
import time

from . import corpus

BASE = "raw_sqlite3"
COLUMNS = ["raw_sqlite3", "raw_apsw", "raw_full", "ours", "ours_boundary"]
DEEP = {"raw_sqlite3", "raw_apsw", "ours"}
REPEATS = 5


class Proc:
    def __init__(self, name: str, root: str, mode: str) -> None:
        self.name = name
        self.err = open(os.path.join(root, f"{name}-{mode}.err"), "w")
        self.p = subprocess.Popen(
            [sys.executable, "-m", "bench.worker", name, root, mode],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.err,
            text=True,
        )
        info = json.loads(self.p.stdout.readline() or '{"error":"died"}')
        self.can, self.notes, self.error = set(info.get("can", [])), info.get("notes", {}), info.get("error")

    def __call__(self, op: str, **kw) -> dict:
        try:
            self.p.stdin.write(json.dumps([op, kw]) + "\n")
            self.p.stdin.flush()
            return json.loads(self.p.stdout.readline())
        except (BrokenPipeError, ValueError) as e:
            return {"error": f"worker died: {e!r}"}

    def stop(self) -> None:
        self.p.stdin.close()
        self.p.wait(30)
        self.err.close()


def summary(vals: list[float], base: list[float]) -> dict:
    """Median of per-repeat values, and of per-repeat ratios against the limit measured in the same repeat."""
    ratios = [v / b for v, b in zip(vals, base, strict=False)]
    return {
        "median": st.median(vals),
        "min": min(vals),
        "max": max(vals),
        "repeats": len(vals),
        "ratio": st.median(ratios),
        "ratio_min": min(ratios),
        "ratio_max": max(ratios),
    }


def interleave(procs, cap, fn, repeats=REPEATS):
    """fn(proc, repeat) -> dict. Returns {name: [dict, ...]}; a column that errors is dropped and its error kept."""
    out = {p.name: [] for p in procs if cap in p.can}
    live = [p for p in procs if cap in p.can]
    for r in range(repeats):
        for p in live[r % len(live) :] + live[: r % len(live)] if live else []:
            if out[p.name] and "error" in out[p.name][-1]:
                continue
            out[p.name].append(fn(p, r))
    return out


def table(res, key, base=BASE):
    rows = {}
    ok = {n: v for n, v in res.items() if v and not any("error" in x for x in v)}
    for n, v in res.items():
        if n not in ok:
            rows[n] = {"error": next((x["error"] for x in v if "error" in x), "no result")}
        elif base in ok:
            rows[n] = summary([key(x) for x in v], [key(x) for x in ok[base]])
    return rows


def pct(xs, q):
    xs = sorted(xs)
    return xs[min(len(xs) - 1, int(len(xs) * q))] if xs else None


def w1(procs, shipped):
    res = interleave(procs, "append", lambda p, r: p("w1", n=1000, start=r * 1000, budget=8))
    rows = table(res, lambda x: x["s"] / x["n"] * 1e6)  # mean: includes checkpoint stalls
    p50 = table(res, lambda x: st.median(x["lat"]))  # typical call: code and SQL only
    for n, v in res.items():
        if "error" in rows[n]:
            continue
        lat = [x for b in v for x in b["lat"]]
        rows[n].update(
            p50_us=p50[n]["median"],
            p50_ratio=p50[n]["ratio"],
            p50_ratio_min=p50[n]["ratio_min"],
            p50_ratio_max=p50[n]["ratio_max"],
            p99_us=pct(lat, 0.99),
            messages=len(lat),
            first500_us=st.median(lat[:500]),
            last500_us=st.median(lat[-500:]),
            growth=st.median(lat[-500:]) / max(1, st.median(lat[:500])),
            disk=v[-1]["disk"],
        )
    for p in procs:
        if p.name in DEEP and "error" not in rows.get(p.name, {"error": 1}):
            d = p("w1_deep", have=5000, upto=50000)
            rows[p.name]["at50k_us"] = d.get("us", d.get("error"))
    sres = interleave(shipped, "append", lambda p, r: p("w1", n=40, start=r * 1000, budget=8, tag="w1s"))
    return {"equalised": rows, "as_shipped": table(sres, lambda x: st.median(x["lat"]))}


def w2(procs, _):
    out = {}
    for size, k in ((1_000, 200), (10_000, 200), (100_000, 100), (1_000_000, 20)):
        res = interleave(procs, "stream", lambda p, r: p("w2", size_=size, k=k))
        rows = table(res, lambda x: x["us"])
        for n, v in res.items():
            if "error" not in rows[n]:
                rows[n]["wbytes_per_chunk"] = st.median(x["wbytes"] for x in v)
        out[str(size)] = rows
    res = interleave(procs, "stream", lambda p, r: p("w2_full", k=5000, budget=4))
    rows = table(res, lambda x: x["s"] / x["n"] * 1e6)
    for n, v in res.items():
        if "error" not in rows[n]:
            rows[n].update(chunks=min(x["n"] for x in v), wbytes_total=st.median(x["wbytes"] for x in v))
    out["full5000"] = rows
    return out


def w3(procs, _):
    for p in procs:
        if "load" in p.can:
            p("w3_prep")
    res = interleave(procs, "load", lambda p, r: p("w3"))
    rows = table(res, lambda x: x["s"] * 1e3)
    for n, v in res.items():
        rows[n]["n"] = v[-1].get("n")
    return rows


def w4(procs, _, n=100_000):
    fill = {p.name: p("w4_prep", n=n) for p in procs if "list" in p.can}
    res = interleave(procs, "list", lambda p, r: p("w4"))
    rows = table(res, lambda x: x["s"] * 1e3)
    for k, v in res.items():
        rows[k].update(n=v[-1].get("n"), fill=fill[k])
    return rows


def w5(procs, _, n=200_000):
    fill = {p.name: p("w5_prep", n=n) for p in procs if "search" in p.can}
    out = {"fill": fill}
    for kind, q in {**corpus.QUERIES, "common_newest": corpus.QUERIES["common"]}.items():
        res = interleave(procs, "search", lambda p, r: p("w5", kind=kind, query=q))
        out[kind] = table(res, lambda x: x["s"] * 1e3)
        for k, v in res.items():
            out[kind][k]["n"] = v[-1].get("n")
    return out


def w6(procs, shipped, k=8):
    def one(ps, per):
        res = interleave(ps, "contend", lambda p, r: p("w6", procs=k, per=per, first=r == 0, budget=10))
        rows = table(res, lambda x: x["s"] / max(1, x["n"]) * 1e6)
        for p in ps:
            v = res.get(p.name)
            if not v or "error" in rows[p.name]:
                continue
            lat, done = [x for b in v for x in b["lat"]], sum(b["n"] for b in v)
            if not done:
                rows[p.name] = {"error": "nothing acked: " + next((b["why"] for b in v if b["why"]), "?")}
                continue
            rows[p.name].update(
                p50_us=pct(lat, 0.5),
                p99_us=pct(lat, 0.99),
                max_us=max(lat, default=None),
                acked=done,
                errors=sum(b["errs"] for b in v),
                why=next((b["why"] for b in v if b["why"]), ""),
                lost=done - p("w6_count", procs=k).get("n", 0),
            )
        return rows

    return {"equalised": one(procs, 100), "as_shipped": one(shipped, 20)}


def w7(procs, _):
    for p in procs:
        if "fork" in p.can:
            p("w7_prep")
    interleave(procs, "fork", lambda p, r: p("w7"), repeats=1)  # warm
    res = interleave(procs, "fork", lambda p, r: p("w7"))
    rows = table(res, lambda x: x["s"] * 1e3)
    for n, v in res.items():
        if "error" not in rows[n]:
            rows[n]["wbytes"] = st.median(x["wbytes"] for x in v)
    return rows


def w8(procs, _, root=None):
    for p in procs:
        if "cold" in p.can:
            p("w8_prep")

    def one(p, r):
        t = time.perf_counter()
        o = subprocess.run(
            [sys.executable, "-m", "bench.cold", p.name, os.path.join(root, f"{p.name}-w8.db")],
            capture_output=True,
            text=True,
        )
        dt = time.perf_counter() - t
        if o.returncode or not o.stdout.split():
            return {"error": o.stderr[-200:]}
        return {"s": dt, "rss": int(o.stdout.split()[-1])}

    interleave(procs, "cold", one, repeats=1)  # warm the page cache and bytecode
    res = interleave(procs, "cold", one)
    rows = table(res, lambda x: x["s"] * 1e3)
    for n, v in res.items():
        if "error" not in rows[n]:
            rows[n]["rss_mb"] = st.median(x["rss"] for x in v) / 1024
    t = []
    for _ in range(5):
        a = time.perf_counter()
        subprocess.run([sys.executable, "-c", "import sqlite3"])
        t.append((time.perf_counter() - a) * 1e3)
    rows["(python -c 'import sqlite3')"] = {"median": st.median(t), "min": min(t), "max": max(t)}
    return rows


def w9(procs, _, root=None):
    """All of `palaver ls` on 100,000 sessions, beside the least a program on SQLite does: import the driver."""
    path = os.path.join(root, "ours-w4.db")
    if not os.path.exists(path):
        next(p for p in procs if p.name == "ours")("w4_prep", n=100_000)
    palaver = os.path.join(os.path.dirname(sys.executable), "palaver")
    commands = {"import apsw": ["-c", "import apsw"], "palaver ls": [palaver, "--store", path, "ls"]}
    times = {name: [] for name in commands}
    for _ in range(12):
        for name, arguments in commands.items():
            began = time.perf_counter()
            subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)
            times[name].append((time.perf_counter() - began) * 1e3)
    return {name: summary(spent[2:], times["import apsw"][2:]) for name, spent in times.items()}


ALL = {"w1": w1, "w2": w2, "w3": w3, "w4": w4, "w6": w6, "w7": w7, "w8": w8, "w9": w9}


def run(workloads, only, out_path):
    here = os.path.dirname(__file__)
    names = [c for c in (only or COLUMNS) if os.path.exists(os.path.join(here, "adapters", c + ".py"))]
    if BASE not in names:
        names.insert(0, BASE)
    root = tempfile.mkdtemp(prefix="bench-")
    out = json.load(open(out_path)) if os.path.exists(out_path) else {}
    try:
        procs = [Proc(n, root, "equal") for n in names]
        need = {"w1", "w6"} & set(workloads)
        os.mkdir(root + "/shipped")
        shipped = [Proc(n, root + "/shipped", "shipped") for n in names] if need else []
        out["notes"] = {p.name: p.notes for p in procs}
        out["unavailable"] = {p.name: p.error for p in procs if p.error}
        for w in workloads:
            t = time.perf_counter()
            out[w] = ALL[w](procs, shipped, **({"root": root} if w in ("w8", "w9") else {}))
            out.setdefault("seconds", {})[w] = round(time.perf_counter() - t, 1)
            print(f"{w} done in {out['seconds'][w]}s", file=sys.stderr, flush=True)
            with open(out_path, "w") as f:
                json.dump(out, f, indent=1)
        for p in procs + shipped:
            p.stop()
    finally:
        shutil.rmtree(root, ignore_errors=True)
    return out
